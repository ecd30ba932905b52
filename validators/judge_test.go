package validators_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/validators"
	"hob/validators/sandbox"
)

func res(v validators.Verdict, more func(*validators.Result)) validators.Result {
	r := validators.Result{Name: "test", Required: true, Verdict: v, Message: v.String(), Exit: sandbox.Exit{End: sandbox.Exited}}
	if v == validators.Fail {
		r.Exit.Code = 1
	}
	if more != nil {
		more(&r)
	}
	return r
}

func failing(names ...string) validators.Result {
	return res(validators.Fail, func(r *validators.Result) {
		r.Tests = validators.Tests{Known: true, Tool: "go", Ran: 5, Failed: len(names), FailedNames: names}
	})
}

func TestJudge(t *testing.T) {
	broken := res(validators.Broken, func(r *validators.Result) { r.Reason = validators.ReasonNoTests })
	timeout := res(validators.Fail, func(r *validators.Result) { r.Exit = sandbox.Exit{Code: 143, End: sandbox.Timeout} })
	optional := func(r validators.Result) validators.Result { r.Required = false; return r }
	pass, fail, skipped := res(validators.Pass, nil), res(validators.Fail, nil), res(validators.Skipped, nil)
	one := func(r validators.Result) []validators.Result { return []validators.Result{r} }
	tests := []struct {
		name        string
		base, now   []validators.Result
		verdict     validators.Verdict
		reason      string
		failing     []string // names of the tests that are new
		preexisting []string
		advisory    int
	}{
		{name: "nothing configured", verdict: validators.Broken, reason: validators.ReasonMissing},
		{name: "pass on both", base: one(pass), now: one(pass), verdict: validators.Pass},
		{name: "mended", base: one(failing("a.TestX")), now: one(pass), verdict: validators.Pass},
		{name: "no baseline", now: one(failing("a.TestX")), verdict: validators.Fail, failing: []string{"a.TestX"}},
		{name: "new failure", base: one(pass), now: one(failing("a.TestX")), verdict: validators.Fail, failing: []string{"a.TestX"}},
		{name: "same failure", base: one(failing("a.TestX", "a.TestY")), now: one(failing("a.TestX")), verdict: validators.Pass, preexisting: []string{"test: a.TestX"}},
		{name: "one more", base: one(failing("a.TestX")), now: one(failing("a.TestX", "a.TestZ")), verdict: validators.Fail, failing: []string{"a.TestZ"}, preexisting: []string{"test: a.TestX"}},
		{name: "same exit, no names", base: one(fail), now: one(fail), verdict: validators.Pass, preexisting: []string{"test: fail (compared by how it ended and what it said)"}},
		{name: "names are gone", base: one(failing("a.TestX")), now: one(fail), verdict: validators.Fail},
		{name: "hangs now", base: one(failing("a.TestX")), now: one(timeout), verdict: validators.Fail},
		{name: "hangs on both", base: one(timeout), now: one(timeout), verdict: validators.Pass, preexisting: []string{"test: fail (compared by how it ended and what it said)"}},
		{name: "skipped on the base", base: one(skipped), now: one(fail), verdict: validators.Fail},
		{name: "skipped now", base: one(fail), now: one(skipped), verdict: validators.Pass},
		{name: "broken now", base: one(pass), now: one(broken), verdict: validators.Broken, reason: validators.ReasonNoTests},
		{name: "broken base", base: one(broken), now: one(pass), verdict: validators.Broken, reason: validators.ReasonNoTests},
		{
			name: "base that did not start", now: one(pass), verdict: validators.Broken, reason: validators.ReasonBaseline,
			base: one(res(validators.Broken, func(r *validators.Result) { r.Reason = validators.ReasonInternal })),
		},
		{name: "optional failure", base: one(pass), now: one(optional(fail)), verdict: validators.Pass, advisory: 1},
		{name: "optional broken", base: one(optional(broken)), now: one(optional(broken)), verdict: validators.Pass, advisory: 1},
		{
			name: "broken outweighs failure", verdict: validators.Broken, reason: validators.ReasonNoTests, failing: []string{"a.TestX"},
			now: []validators.Result{failing("a.TestX"), res(validators.Broken, func(r *validators.Result) { r.Name, r.Reason = "b", validators.ReasonNoTests })},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			j := validators.Judge(tt.base, tt.now)
			if j.Verdict != tt.verdict || j.Reason != tt.reason {
				t.Errorf("Judge = %v, %q; want %v, %q", j.Verdict, j.Reason, tt.verdict, tt.reason)
			}
			var names []string
			for _, r := range j.Failing {
				names = append(names, r.Tests.FailedNames...)
			}
			if diff := cmp.Diff(tt.failing, names); diff != "" {
				t.Errorf("new failures (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.preexisting, j.Preexisting); diff != "" {
				t.Errorf("Preexisting (-want +got):\n%s", diff)
			}
			if len(j.Advisory) != tt.advisory {
				t.Errorf("%d advisory results, want %d", len(j.Advisory), tt.advisory)
			}
			if (j.Verdict == validators.Pass) == (len(j.Failing) > 0) && len(tt.now) > 0 {
				t.Errorf("verdict %v with %d failing results", j.Verdict, len(j.Failing))
			}
		})
	}
}
