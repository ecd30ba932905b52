package validators_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"hob/configs"
	"hob/validators"
	"hob/validators/sandbox"
)

type failure struct{ Phase, Validator, Exit, Output string }

// result makes what a real run of something that prints and exits like that gives.
func (f failure) result(t *testing.T) validators.Result {
	t.Helper()
	dir := t.TempDir()
	plant(t, dir, map[string]string{"said": f.Output})
	code := f.Exit
	if _, err := strconv.Atoi(code); err != nil {
		code = "1"
	}
	set := newSet(t, configs.Validator{Name: f.Validator, Run: "cat said; exit " + code, Required: true})
	r := set.Run(t.Context(), dir, nil, validators.Watch{})[0]
	if f.Exit == string(sandbox.Timeout) {
		r.Exit = sandbox.Exit{Code: 143, Signal: "SIGTERM", End: sandbox.Timeout}
	}
	return r
}

func TestSignatureCases(t *testing.T) {
	names, err := filepath.Glob("../testdata/signature/*.json")
	if err != nil || len(names) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			var c struct {
				A, B failure
				Same bool
				Why  string
			}
			if err := json.Unmarshal(b, &c); err != nil {
				t.Fatal(err)
			}
			sa, sb := validators.Signature([]validators.Result{c.A.result(t)}), validators.Signature([]validators.Result{c.B.result(t)})
			if sa == "" || sb == "" || (sa == sb) != c.Same {
				t.Errorf("signatures %.8s and %.8s, want same = %v: %s", sa, sb, c.Same, c.Why)
			}
		})
	}
}

func TestSignatureMasks(t *testing.T) {
	tests := []struct {
		name string
		a, b string
		same bool
	}{
		{"address", "fatal: bad pointer 0xc000012345", "fatal: bad pointer 0xc0000fff10", true},
		{"process id", "error: child 4711 failed", "error: child 12 failed", true},
		{"commit", "error: no object 3f2a9bc01d", "error: no object 77aa01bcde", true},
		{"date", "2026-11-30T20:12:00Z error: no tide", "2026-12-01T08:00:01Z error: no tide", true},
		{"column", "src/io.c:4:17: error: expected ';'", "src/io.c:9:2: error: expected ';'", true},
		{"tsc place", "src/io.ts(4,17): error TS2304: Cannot find name 'x'", "src/io.ts(5,1): error TS2304: Cannot find name 'x'", true},
		{"another file", "src/io.c:4:17: error: expected ';'", "src/ui.c:4:17: error: expected ';'", false},
		{"another rule", "error[E0425]: cannot find it", "error[E0433]: cannot find it", false},
		{"another word", "error: no tide", "error: no moon", false},
		{"noise", "compiling 1 of 3\nerror: no tide", "compiling 1 of 7, slowly\nerror: no tide", true},
		{"repeats", "error: no tide", "error: no tide\nok\nerror: no tide", true},
	}
	for _, tt := range tests {
		sign := func(output string) string {
			r := res(validators.Fail, func(r *validators.Result) { r.Output = []byte(output + "\n") })
			return validators.Signature([]validators.Result{r})
		}
		if a, b := sign(tt.a), sign(tt.b); (a == b) != tt.same {
			t.Errorf("%s: signatures %.8s of %q and %.8s of %q, want same = %v", tt.name, a, tt.a, b, tt.b, tt.same)
		}
	}
}

func TestSignatureOfSuccessIsEmpty(t *testing.T) {
	r := res(validators.Pass, func(r *validators.Result) { r.Output = []byte("error: this is only text\n") })
	optional := res(validators.Fail, func(r *validators.Result) { r.Required = false })
	if got := validators.Signature([]validators.Result{r, optional}); got != "" {
		t.Errorf("Signature = %q, want none", got)
	}
}
