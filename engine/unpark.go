package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"hob/engine/task"
	"hob/journal"
)

// outside are reasons whose fact lies outside the item and costs no model call to
// look at again: a program, a key, a commit, a setting.
var outside = []task.Reason{
	task.UntrustedConfig, task.BadConfig, task.Auth, task.SandboxUnavailable, task.TodoUnreadable,
	task.ValidatorMissing, task.BaselineBroken, task.NoCommits, task.RepoUnsupported, task.Diverged,
}

// personal are reasons that no setting heals: a person has to look first.
var personal = []task.Reason{task.Question, task.CrashLoop, task.SecurityRefused}

// recheck is how often the daemon looks again at a fact outside the item. Each look
// lays out a tree and runs the base's checks, so it is hours that are cheap, not minutes.
const recheck = time.Hour

// unpark queues again what stopped for a fact that has changed. asked: a person is
// asking right now, which is the moment to look at facts outside.
func (e *Engine) unpark(asked bool) error {
	now := time.Now()
	moved, err := e.Tasks.Unpark(now, func(t task.Task) bool { return e.mayGoOn(t, now, asked) })
	for _, t := range moved {
		e.tell(journal.TaskResumed{Task: t.ID, From: "parked"})
	}
	return err
}

func (e *Engine) mayGoOn(t task.Task, now time.Time, asked bool) bool {
	changed := t.Config != "" && t.Config != e.terms()
	switch {
	case slices.Contains(personal, t.Reason):
		return false
	case changed:
		return true
	case t.Reason == task.BudgetDay:
		return !e.sameDay(t.Since, now, time.DateOnly)
	case t.Reason == task.BudgetMonth:
		return !e.sameDay(t.Since, now, "2006-01")
	case t.State == task.Blocked && slices.Contains(outside, t.Reason):
		return asked || now.Sub(t.Since) >= recheck
	}
	return false
}

// terms names the settings that decide what an attempt is: others, such as how to
// log, are no reason to try anything again.
func (e *Engine) terms() string {
	c := e.Config
	b, err := json.Marshal([]any{c.Agent, c.Model, c.Budget, c.Validators, c.Sandbox, c.Git.Base, c.Autonomous.GitBranch, c.Autonomous.MaxFailuresPerState, c.Untrusted})
	if err != nil {
		return e.Boot.ConfigDigest
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8])
}

// sameDay compares two times on the budget's own calendar.
func (e *Engine) sameDay(a, b time.Time, layout string) bool {
	return e.calendar(a).Format(layout) == e.calendar(b).Format(layout)
}

// calendar is a time as the budget's wall clock shows it.
func (e *Engine) calendar(t time.Time) time.Time {
	loc, err := time.LoadLocation(e.Config.Budget.Timezone)
	if err != nil {
		loc = time.Local // the config has been checked
	}
	return t.In(loc)
}
