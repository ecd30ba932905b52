package validators

import (
	"fmt"
	"slices"
)

// Judgement is what all results together say about a tree.
type Judgement struct {
	// Verdict is Broken when a required validator is broken on either tree, else Fail when one
	// fails in a way the base doesn't, else Pass. Optional validators never change it.
	Verdict Verdict

	// Reason is one of the Reason constants when Broken, and Message is the line that explains it.
	Reason, Message string

	// Failing are the required results behind a verdict of Fail or Broken; they go to [Feedback].
	Failing []Result

	// Preexisting says, a line for each, which failures the base has too. They are allowed and listed.
	Preexisting []string

	// Advisory are optional validators that didn't pass.
	Advisory []Result
}

// Judge compares the results on the new tree with those on the base, by validator. Where both
// sides name the tests that failed, a test is new if the base doesn't name it; elsewhere the same
// exit is taken for the same failure, and Preexisting says that this is all that was compared.
// A validator without a result on the base is judged by the new tree alone.
func Judge(base, now []Result) Judgement {
	j := Judgement{Verdict: Pass}
	if len(now) == 0 {
		return Judgement{Reason: ReasonMissing, Message: "no validator is configured, so nothing was checked"}
	}
	for _, r := range now {
		before, known := find(base, r.Name)
		switch {
		case !r.Required:
			if r.Verdict == Fail || r.Verdict == Broken {
				j.Advisory = append(j.Advisory, r)
			}
		case known && before.Verdict == Broken:
			j.broken(before, "on the base: ")
		case r.Verdict == Broken:
			j.broken(r, "")
		case r.Verdict == Fail:
			j.fail(before, r)
		}
	}
	return j
}

func find(rs []Result, name string) (Result, bool) {
	i := slices.IndexFunc(rs, func(r Result) bool { return r.Name == name })
	if i < 0 {
		return Result{Verdict: Skipped}, false
	}
	return rs[i], true
}

func (j *Judgement) broken(r Result, where string) {
	j.Failing = append(j.Failing, r)
	if j.Verdict == Broken {
		return // the first one is the one to mend
	}
	j.Verdict, j.Reason = Broken, r.Reason
	if where != "" && j.Reason == ReasonInternal {
		j.Reason = ReasonBaseline
	}
	j.Message = fmt.Sprintf("%s%s: %s", where, r.Name, r.Message)
}

func (j *Judgement) fail(before, r Result) {
	if before.Verdict != Fail {
		j.add(r)
		return
	}
	known, had := r.Tests.FailedNames, before.Tests.FailedNames
	if len(known) == 0 || len(had) == 0 || r.Exit.End != before.Exit.End {
		if len(known) == 0 && len(had) == 0 && sameEnd(before, r) {
			j.Preexisting = append(j.Preexisting, fmt.Sprintf("%s: %s (compared by how it ended and what it said)", r.Name, r.Message))
			return
		}
		j.add(r)
		return
	}
	fresh := slices.DeleteFunc(slices.Clone(known), func(name string) bool { return slices.Contains(had, name) })
	for _, name := range known {
		if !slices.Contains(fresh, name) {
			j.Preexisting = append(j.Preexisting, r.Name+": "+name)
		}
	}
	// More failures than names: the list was cut, so the rest can't be told apart.
	if len(fresh) > 0 || (len(known) >= maxNames && r.Tests.Failed > before.Tests.Failed) {
		r.Tests.FailedNames = fresh
		j.add(r)
	}
}

func (j *Judgement) add(r Result) {
	j.Failing = append(j.Failing, r)
	if j.Verdict == Pass {
		j.Verdict = Fail
	}
}

// sameEnd compares two failures whose tests have no names: they are one only when the
// output says the same as well, but for times, places and the like.
func sameEnd(a, b Result) bool {
	return a.Exit.End == b.Exit.End && a.Exit.Code == b.Exit.Code && Signature([]Result{a}) == Signature([]Result{b})
}
