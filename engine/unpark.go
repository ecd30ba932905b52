package engine

import (
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
	changed := t.Config != "" && t.Config != e.Boot.ConfigDigest
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

// sameDay compares two times on the budget's own calendar.
func (e *Engine) sameDay(a, b time.Time, layout string) bool {
	loc, err := time.LoadLocation(e.Config.Budget.Timezone)
	if err != nil {
		loc = time.Local // the config has been checked
	}
	return a.In(loc).Format(layout) == b.In(loc).Format(layout)
}
