package validators_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hob/configs"
	"hob/validators"
	"hob/validators/sandbox"
)

func newSet(t *testing.T, cfg ...configs.Validator) *validators.Set {
	t.Helper()
	set, err := validators.New(cfg, sandbox.None(), []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestVerdicts(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, map[string]string{"Makefile": "test:\n\thob-no-such-program\n", "plain": "text"})
	tests := []struct {
		name    string
		run     string
		argv    []string
		timeout time.Duration
		idle    time.Duration
		verdict validators.Verdict
		reason  string
		message string // is part of it
	}{
		{name: "exit code alone", run: "true", verdict: validators.Pass},
		{name: "failure", run: "exit 3", verdict: validators.Fail, message: "exit 3"},
		{name: "argv", argv: []string{"sh", "-c", "exit 4"}, verdict: validators.Fail, message: "exit 4"},
		{name: "missing, argv", argv: []string{"hob-no-such-program"}, verdict: validators.Broken, reason: validators.ReasonMissing, message: "hob-no-such-program"},
		{name: "missing, shell", run: "hob-no-such-program --all", verdict: validators.Broken, reason: validators.ReasonMissing, message: "hob-no-such-program"},
		{name: "missing, silenced", run: "hob-no-such-program 2>/dev/null", verdict: validators.Broken, reason: validators.ReasonMissing, message: "exit 127"},
		{name: "not executable", run: "./plain", verdict: validators.Broken, reason: validators.ReasonMissing},
		{name: "missing, below make", run: "make test", verdict: validators.Broken, reason: validators.ReasonMissing},
		{name: "no such target", run: "make chekc", verdict: validators.Broken, reason: validators.ReasonMissing, message: "No rule to make target"},
		{name: "a program's own 127", argv: []string{"sh", "-c", "exit 127"}, verdict: validators.Fail, message: "exit 127"},
		{name: "python module", run: "echo \"/usr/bin/python3: No module named pytest\" >&2; exit 1", verdict: validators.Broken, reason: validators.ReasonMissing, message: "No module named pytest"},
		{name: "an import that fails is the tree's", run: "echo \"ModuleNotFoundError: No module named 'tide'\" >&2; exit 1", verdict: validators.Fail},
		{name: "killed", run: "kill -9 $$", verdict: validators.Broken, reason: validators.ReasonNoTests, message: "SIGKILL"},
		{name: "a killed child", run: "sh -c 'kill -9 $$'; exit $?", verdict: validators.Broken, reason: validators.ReasonNoTests, message: "SIGKILL"},
		{name: "a crash is the tree's", run: "sh -c 'kill -SEGV $$'; exit $?", verdict: validators.Fail, message: "exit 139"},
		{name: "time-out", run: "sleep 60", timeout: 200 * time.Millisecond, verdict: validators.Fail, message: "timed out after 200ms"},
		{name: "silence", run: "sleep 60", idle: 300 * time.Millisecond, verdict: validators.Fail, message: "300ms"},
		{name: "suite hidden behind a test", run: "test -d tests && pytest tests || true", verdict: validators.Broken, reason: validators.ReasonNoTests, message: "pytest"},
		{name: "exit code lost in a pipe", run: "printf 'FAIL\\texample.org/a\\t0.1s\\n' | cat", verdict: validators.Fail, message: "exit 0, but 1 of 1 failed (go)"},
		{name: "unknown runner", run: "echo '12 examples, 0 failures'", verdict: validators.Pass},
		{name: "go told by its output", run: "printf 'ok  \\texample.org/a\\t(cached)\\n'", verdict: validators.Pass},
		{name: "no test files, told by its output", run: "printf '?   \\texample.org/a\\t[no test files]\\n'", verdict: validators.Broken, reason: validators.ReasonNoTests},
		{name: "no tests to run", run: "printf 'ok  \\texample.org/a\\t0.1s [no tests to run]\\n'", verdict: validators.Broken, reason: validators.ReasonNoTests},
		{name: "does not build", run: "printf 'FAIL\\texample.org/a [build failed]\\n'; exit 1", verdict: validators.Fail, message: "exit 1"},
		{name: "a lint failure before the tests", run: "echo vet: bad; exit 1; go test ./...", verdict: validators.Fail, message: "exit 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			set := newSet(t, configs.Validator{
				Name: "v", Run: tt.run, Argv: tt.argv, Required: true,
				Timeout: configs.Duration{Duration: tt.timeout}, Idle: configs.Duration{Duration: tt.idle},
			})
			r := set.Run(t.Context(), dir, nil, validators.Watch{})[0]
			wantResult(t, tt.name, r, tt.verdict, tt.reason)
			if !strings.Contains(r.Message, tt.message) {
				t.Errorf("message %q, want it to contain %q", r.Message, tt.message)
			}
		})
	}
}

func TestRunOrderPathsAndFailFast(t *testing.T) {
	set := newSet(
		t,
		configs.Validator{Name: "docs", Run: "exit 1", Paths: []string{"docs/**", "*.md"}},
		configs.Validator{Name: "code", Run: "exit 0", Paths: []string{"**/*.go"}},
		configs.Validator{Name: "env", Run: `test "$TIDE" = high`, Env: map[string]string{"TIDE": "high"}},
		configs.Validator{Name: "first", Run: "exit 1", FailFast: true},
		configs.Validator{Name: "later", Run: "touch ran"},
	)
	tests := []struct {
		name    string
		changed []string
		want    string
	}{
		{"unknown changes", nil, "docs=fail code=pass env=pass first=fail later=skipped"},
		{"code changed", []string{"a/b/c.go"}, "docs=skipped code=pass env=pass first=fail later=skipped"},
		{"docs changed", []string{"README.md", "docs/x/y.txt"}, "docs=fail code=skipped env=pass first=fail later=skipped"},
		{"nothing changed", []string{}, "docs=skipped code=skipped env=pass first=fail later=skipped"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			var got, watched, started []string
			watch := validators.Watch{
				Started:  func(name string, argv []string) { started = append(started, name+" "+argv[0]) },
				Finished: func(r validators.Result) { watched = append(watched, r.Name+"="+r.Verdict.String()) },
			}
			for _, r := range set.Run(t.Context(), dir, tt.changed, watch) {
				got = append(got, r.Name+"="+r.Verdict.String())
			}
			if s := strings.Join(got, " "); s != tt.want || s != strings.Join(watched, " ") {
				t.Errorf("Run(changed %q) = %s, watched %q; want %s", tt.changed, s, watched, tt.want)
			}
			if len(started) != len(got)-strings.Count(tt.want, "skipped") {
				t.Errorf("Run(changed %q) started %q", tt.changed, started)
			}
			if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
				t.Errorf("the validator behind fail_fast ran")
			}
		})
	}
	if diff := cmp.Diff([]string{"docs", "code", "env", "first", "later"}, set.Names()); diff != "" {
		t.Errorf("Names (-want +got):\n%s", diff)
	}
}

func TestRunCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	set := newSet(t, configs.Validator{Name: "a", Run: "sleep 60", Required: true}, configs.Validator{Name: "b", Run: "true", Required: true})
	rs := set.Run(ctx, t.TempDir(), nil, validators.Watch{Started: func(string, []string) { cancel() }})
	for _, r := range rs {
		wantResult(t, r.Name, r, validators.Broken, validators.ReasonInterrupted)
	}
	if j := validators.Judge(nil, rs); j.Verdict != validators.Broken || j.Reason != validators.ReasonInterrupted {
		t.Errorf("Judge = %v, %q; want broken, interrupted", j.Verdict, j.Reason)
	}
}

func TestRunInFolderThatIsGone(t *testing.T) {
	set := newSet(t, configs.Validator{Name: "a", Run: "true", Required: true})
	r := set.Run(t.Context(), filepath.Join(t.TempDir(), "gone"), nil, validators.Watch{})[0]
	wantResult(t, "no folder", r, validators.Broken, validators.ReasonInternal)
}

func TestNewRefuses(t *testing.T) {
	tests := []struct {
		name string
		cfg  []configs.Validator
		want string
	}{
		{"no name", []configs.Validator{{Run: "true"}}, "name is empty"},
		{"no command", []configs.Validator{{Name: "a"}}, "exactly one of run and argv"},
		{"two commands", []configs.Validator{{Name: "a", Run: "true", Argv: []string{"true"}}}, "exactly one of run and argv"},
		{"same name", []configs.Validator{{Name: "a", Run: "true"}, {Name: "a", Run: "false"}}, "same name"},
		{"bad glob", []configs.Validator{{Name: "a", Run: "true", Paths: []string{"[a"}}}, "not a glob"},
	}
	for _, tt := range tests {
		if _, err := validators.New(tt.cfg, sandbox.None(), nil); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("New(%s) = %v, want an error with %q", tt.name, err, tt.want)
		}
	}
}

func TestDigestNamesTheConfiguration(t *testing.T) {
	a := configs.Validator{Name: "a", Run: "true", Timeout: configs.Duration{Duration: time.Minute}}
	b := a
	b.Timeout.Duration = time.Hour
	c := a
	c.Env = map[string]string{"X": "1"}
	seen := map[string]bool{}
	for _, cfg := range [][]configs.Validator{nil, {a}, {b}, {c}, {a, {Name: "b", Run: "true"}}} {
		seen[newSet(t, cfg...).Digest()] = true
	}
	if len(seen) != 5 || !seen[newSet(t, a).Digest()] {
		t.Errorf("digests of five configurations: %v", seen)
	}
}

func TestVerdictText(t *testing.T) {
	for _, v := range []validators.Verdict{validators.Broken, validators.Fail, validators.Pass, validators.Skipped} {
		b, err := json.Marshal(v)
		var back validators.Verdict
		if err != nil || json.Unmarshal(b, &back) != nil || back != v {
			t.Errorf("%v goes to %s and comes back as %v (%v)", v, b, back, err)
		}
	}
	var v validators.Verdict
	if v != validators.Broken || json.Unmarshal([]byte(`"passed"`), &v) == nil {
		t.Errorf("the zero verdict is %v, and an unknown word is read as one", v)
	}
}
