package validators_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"hob/configs"
	"hob/validators"
	"hob/validators/sandbox"
)

func TestFeedback(t *testing.T) {
	tests := []struct {
		name   string
		result validators.Result
		want   string
	}{
		{
			name: "go, verbose and parallel",
			result: res(validators.Fail, func(r *validators.Result) {
				r.Command, r.Message, r.Dir = "go test ./...", "exit 1: 2 of 4 failed (go)", "/state/verdict/new"
				r.Tests.FailedNames = []string{"example.org/tide.TestMoon/full", "example.org/tide.TestNoon"}
				r.Output = []byte("=== RUN   TestNoon\n=== PAUSE TestNoon\n=== RUN   TestMoon\n=== RUN   TestMoon/full\n" +
					"    tide_test.go:9: moon is dark\n--- FAIL: TestMoon (0.01s)\n    --- FAIL: TestMoon/full (0.00s)\n" +
					"=== RUN   TestFine\n    tide_test.go:30: a long log of a test that passes\n--- PASS: TestFine (0.00s)\n" +
					"=== CONT  TestNoon\n    tide_test.go:5: want 5s, got 3s in /state/verdict/new/a.txt\n--- FAIL: TestNoon (1.20s)\nFAIL\nFAIL\texample.org/tide\t1.234s\nok  \texample.org/other\t0.1s\nFAIL\n")
			}),
			want: "validator test failed: exit 1: 2 of 4 failed (go)\ncommand: go test ./...\n" +
				"failed tests:\n- example.org/tide.TestMoon/full\n- example.org/tide.TestNoon\noutput:\n" +
				"--- FAIL: TestMoon\n    --- FAIL: TestMoon/full\n    tide_test.go:9: moon is dark\n" +
				"--- FAIL: TestNoon\n    tide_test.go:5: want 5s, got 3s in a.txt\nFAIL\nFAIL\texample.org/tide\nFAIL\n",
		},
		{
			name: "what differs between runs is masked",
			result: res(validators.Fail, func(r *validators.Result) {
				r.Command, r.Message, r.Dir, r.Temp = "./check", "exit 1", "/state/verdict/new", "/state/tmp"
				r.Output = []byte("2026/11/30 20:12:00 listening on 127.0.0.1:43127\n\x1b[31merror\x1b[0m: in /state/tmp/TestX123/001/f and /tmp/tmpabc/f\n10%\r50%\rpanic at 0xc000012345\nbad \xff byte\n")
			}),
			want: "validator test failed: exit 1\ncommand: ./check\noutput:\n[time] listening on 127.0.0.1:[port]\n" +
				"error: in [tmp]/001/f and [tmp]/f\npanic at 0x[address]\nbad \uFFFD byte\n",
		},
		{
			name: "broken, and nothing was printed",
			result: res(validators.Broken, func(r *validators.Result) {
				r.Command, r.Message = "pytest", "program not found: pytest"
			}),
			want: "validator test could not check: program not found: pytest\ncommand: pytest\n",
		},
		{name: "passed", result: res(validators.Pass, nil), want: ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, validators.Feedback([]validators.Result{tt.result}, 4000)); diff != "" {
				t.Errorf("Feedback (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFeedbackKeepsWhatExplains(t *testing.T) {
	noise := strings.Repeat("step of a long and quiet build\nanother step of it\n", 2000)
	r := res(validators.Fail, func(r *validators.Result) {
		r.Command, r.Output = "make", []byte(noise+"before it\nsrc/io.c:41:2: error: no such tide\n after it\n"+noise+"make: *** [all] Error 1\n")
	})
	got := validators.Feedback([]validators.Result{r}, 2000)
	for _, want := range []string{"before it\nsrc/io.c:41:2: error: no such tide\n after it\n", "make: *** [all] Error 1\n", " lines omitted]\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("Feedback lacks %q:\n%s", want, got)
		}
	}
}

func TestFeedbackIsBounded(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		line := rapid.SampledFrom([]string{"error: x", "quiet", strings.Repeat("é", 900), "--- FAIL: TestA (0.1s)", "=== RUN   TestA", ""})
		rs := make([]validators.Result, rapid.IntRange(1, 4).Draw(rt, "results"))
		for i := range rs {
			rs[i] = res(validators.Fail, func(r *validators.Result) {
				r.Name = fmt.Sprintf("v%d", i)
				r.Output = []byte(strings.Join(rapid.SliceOfN(line, 0, 300).Draw(rt, "lines"), "\n"))
				r.Tests.FailedNames = rapid.SliceOfN(rapid.StringN(0, 40, 80), 0, 40).Draw(rt, "names")
			})
		}
		limit := rapid.IntRange(0, 9000).Draw(rt, "limit")
		got := validators.Feedback(rs, limit)
		if len(got) > limit && len(got) > len(rs) {
			rt.Fatalf("%d bytes for a limit of %d", len(got), limit)
		}
		if got != validators.Feedback(rs, limit) {
			rt.Fatalf("two calls differ")
		}
	})
}

// Whatever a command prints, it is read without a panic and can't turn a failure into a pass or
// a run of nothing into a pass.
func FuzzOutput(f *testing.F) {
	for _, seed := range []string{
		"--- FAIL: TestA (0.0s)\nFAIL\tx\t0.1s\n", "ok  \tx\t(cached)\n", "=== RUN   TestA\n--- PASS: TestA (0s)\n",
		`{"Action":"fail","Package":"x","Test":"TestA"}` + "\n", "collected 0 items\n", "== 1 failed, 2 passed in 0.1s ==\n",
		"..F [100%]\n", "Ran 3 tests in 0.1s\n\nFAILED (failures=1)\n", "======\nFAIL: a (b.C)\n", "    not ok 1 - in\nnot ok 2 - grp\n# tests 2\n# fail 1\n",
		"▶ grp\n  ✖ in (1ms)\n✖ grp (2ms)\nℹ tests 1\n", "running 1 test\ntest a ... FAILED\ntest result: FAILED. 0 passed; 1 failed; 0 ignored;\n",
		"sh: 1: x: not found\n", "running tests:\n\tTestA (1s)\n", "\x1b[3", "FAIL\t", "ok  \t", "--- ", "=== RUN",
	} {
		f.Add([]byte(seed), byte(1))
		f.Add([]byte(seed), byte(0))
	}
	f.Fuzz(func(t *testing.T, output []byte, code byte) {
		set, err := validators.New([]configs.Validator{{Name: "v", Run: "go test ./...", Required: true}}, printer{output, int(code)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		rs := set.Run(t.Context(), "/slot", nil, validators.Watch{})
		r := rs[0]
		if r.Verdict == validators.Pass && (code != 0 || r.Tests.Ran == 0 || r.Tests.Failed > 0) {
			t.Errorf("passes with exit %d and %+v", code, r.Tests)
		}
		if r.Tests.Ran < 0 || r.Tests.Failed < 0 || r.Tests.Skipped < 0 || len(r.Tests.FailedNames) > 5*500 {
			t.Errorf("tests = %+v", r.Tests)
		}
		if got := validators.Feedback(rs, 1000); len(got) > 1000 || !utf8.ValidString(got) {
			t.Errorf("feedback of %d bytes, %q", len(got), got)
		}
		if (validators.Signature(rs) == "") != (r.Verdict == validators.Pass) {
			t.Errorf("verdict %v with signature %q", r.Verdict, validators.Signature(rs))
		}
	})
}

// printer is a runner whose commands print and exit as it says.
type printer struct {
	output []byte
	code   int
}

func (printer) Name() string { return "printer" }

func (p printer) Run(_ context.Context, c sandbox.Command, _ sandbox.Limits) (sandbox.Exit, error) {
	_, err := c.Out.Write(p.output)
	return sandbox.Exit{Code: p.code, End: sandbox.Exited}, err
}
