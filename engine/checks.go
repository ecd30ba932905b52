package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"hob/engine/task"
	"hob/journal"
	"hob/repo"
	"hob/validators"
	"hob/validators/sandbox"
)

var (
	errChecks     = errors.New("the checks do not pass")
	errNoProgress = errors.New("the same failure came back after each repair")
)

// brokenError is a check that could not be made. It is never success and never
// the model's fault; Reason is what it blocks the item with.
type brokenError struct {
	Reason  task.Reason
	Message string
}

func (e *brokenError) Error() string { return "could not check: " + e.Message }

func broken(r validators.Result) error {
	return &brokenError{task.Reason(r.Reason), r.Name + ": " + r.Message}
}

// checkBase runs the checks on the untouched base, once for each base and
// configuration. A base whose tests fail is worked all the same; one that can't
// be checked is not, except that it may have no tests yet (DECISIONS 5).
func (a *attempt) checkBase(ctx context.Context) ([]validators.Result, error) {
	key := a.ws.BaseTree + " " + a.Checks.Digest()
	if rs, ok := a.bases[key]; ok {
		return rs, nil
	}
	rs, err := a.check(ctx, "base", a.ws.BaseTree, nil)
	if err != nil {
		return nil, err
	}
	var told []validators.Result
	for _, r := range rs {
		switch {
		case r.Required && r.Verdict == validators.Fail && unfinished(r):
			return nil, &brokenError{task.BaselineBroken, r.Name + " on the base: " + r.Message}
		case !r.Required || r.Verdict != validators.Broken:
			told = append(told, r)
		case r.Reason != validators.ReasonNoTests:
			return nil, broken(r)
		}
	}
	a.bases[key] = told
	return told, nil
}

// unfinished reports whether a validator was ended by its time or a crash. On the base
// that is nothing to compare with: the same end on the new tree would prove nothing.
func unfinished(r validators.Result) bool {
	return r.Exit.End != sandbox.Exited || r.Exit.Signal != "" || r.Exit.Code > 128
}

// judge freezes the tree and runs the checks on exactly that tree, in a clean
// second copy that the model never worked in. What fails is in a.failing.
func (a *attempt) judge(ctx context.Context) (good bool, err error) {
	if err := a.freeze(ctx); err != nil {
		return false, err
	}
	if err := a.to(ctx, task.Validating); err != nil {
		return false, err
	}
	now, err := a.check(ctx, "new", a.frozen.Tree, paths(a.frozen.Changes))
	if err != nil {
		return false, err
	}
	j := validators.Judge(a.baseline, now)
	a.failing = j.Failing
	a.red = j.Preexisting
	if j.Verdict == validators.Broken {
		return false, &brokenError{task.Reason(j.Reason), j.Message}
	}
	return j.Verdict == validators.Pass, nil
}

// check lays out tree at its fixed place, runs the checks there and journals each.
func (a *attempt) check(ctx context.Context, phase, tree string, changed []string) ([]validators.Result, error) {
	dir, err := a.Repo.Checkout(ctx, tree, phase)
	if err != nil {
		return nil, err
	}
	var failed error
	rs := a.Checks.Run(ctx, dir, changed, validators.Watch{
		Started: func(name string, argv []string) {
			a.doing("validator " + name + " on the " + phase + " tree")
			failed = errors.Join(failed, a.run.Record(journal.ValidatorStarted{
				Name: name, Phase: phase, Argv: argv, Cwd: phase, Sandbox: a.Runner.Name(), Tree: tree,
			}))
		},
		Finished: func(r validators.Result) {
			failed = errors.Join(failed, a.run.Record(a.verdict(r, phase, tree)))
		},
	})
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return rs, failed
}

func (a *attempt) verdict(r validators.Result, phase, tree string) journal.Event {
	return journal.ValidatorFinished{
		Name: r.Name, Phase: phase, Tree: tree, Verdict: r.Verdict.String(), Reason: r.Reason,
		Exit: r.Exit.Code, Signal: r.Exit.Signal, MS: r.Exit.Took.Milliseconds(), CPUMS: r.Exit.CPU.Milliseconds(), MaxRSS: r.Exit.MaxRSS,
		Digest: r.Digest, Out: a.keep(string(r.Output)),
		Tool: r.Tests.Tool, Ran: r.Tests.Ran, Failed: r.Tests.Failed, Skipped: r.Tests.Skipped,
	}
}

// summary is the failing checks in one line for people.
func summary(rs []validators.Result) string {
	var parts []string
	for _, r := range rs {
		part := r.Name + ": " + r.Message
		if len(r.Tests.FailedNames) > 0 {
			part = r.Name + ": " + strings.Join(r.Tests.FailedNames, ", ")
		} else if r.Message == "" {
			part = fmt.Sprintf("%s: exit %d", r.Name, r.Exit.Code)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "; ")
}

func paths(changes []repo.FileChange) []string {
	out := make([]string, 0, len(changes))
	for _, c := range changes {
		out = append(out, c.Path)
	}
	return out
}
