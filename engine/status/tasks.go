package status

import (
	"cmp"
	"slices"
	"strings"

	"hob/engine/task"
)

// recent is how many tasks that came to their end stay in the file.
const recent = 20

// Tasks fills Counts, Current, Task and Attention from the tasks, in their
// order: what is at its end only as far as it is among the last twenty. The
// caller adds to Current what only it knows.
func (r *Report) Tasks(list []task.Task) {
	r.Counts = Counts{}
	r.Current, r.Task, r.Attention = nil, nil, nil
	ended := lately(list)
	for _, t := range list {
		r.Counts.add(t)
		if t.State.Active() {
			r.Current = append(r.Current, current(t))
		}
		if !t.State.Terminal() || ended[t.ID] {
			r.Task = append(r.Task, row(t))
		}
		if needsPerson(t) {
			r.Attention = append(r.Attention, Attention{
				Code: string(t.Reason), Task: t.ID, Since: t.Since,
				Message: cmp.Or(t.Message, t.Text), Action: action(t),
			})
		}
	}
}

// lately returns the ids of the last tasks that came to their end.
func lately(list []task.Task) map[string]bool {
	ended := slices.DeleteFunc(slices.Clone(list), func(t task.Task) bool { return !t.State.Terminal() })
	slices.SortStableFunc(ended, func(a, b task.Task) int { return b.Since.Compare(a.Since) })
	ids := map[string]bool{}
	for _, t := range ended[:min(recent, len(ended))] {
		ids[t.ID] = true
	}
	return ids
}

func (c *Counts) add(t task.Task) {
	switch t.State {
	case task.Queued:
		c.Queued++
	case task.Waiting:
		c.Waiting++
	case task.Blocked:
		c.Blocked++
	case task.Paused:
		c.Paused++
	case task.Committed:
		c.Committed++
	case task.Pushed:
		c.Pushed++
	}
	switch {
	case t.State.Active():
		c.Running++
		c.FailedAttempts += max(0, t.Attempts-1)
	case !t.State.Terminal() && t.State != task.Committed && t.State != task.Pushed:
		c.FailedAttempts += t.Attempts
	}
}

func current(t task.Task) Current {
	c := Current{
		ID: t.ID, Text: t.Text, State: string(t.State), Attempt: t.Attempts,
		Since: t.Since, Cost: Dollars(t.CostMicroUSD), Branch: t.Branch,
	}
	if n := len(t.Runs); n > 0 {
		c.Run = t.Runs[n-1]
	}
	return c
}

func row(t task.Task) Task {
	return Task{
		ID: t.ID, Text: t.Text, State: string(t.State), Reason: string(t.Reason), Since: t.Since,
		Attempts: t.Attempts, Cost: Dollars(t.CostMicroUSD), Branch: t.Branch, Commit: t.Commit,
		Summary: t.Message, NotBefore: t.NotBefore, Resume: action(t),
	}
}

// needsPerson reports whether t goes on only after somebody has done something.
func needsPerson(t task.Task) bool {
	switch t.State {
	case task.Blocked, task.Noop:
		return true
	case task.Paused:
		return t.NotBefore.IsZero() // else its time comes by itself
	case task.Committed:
		return t.Reason != task.None
	default:
		return false
	}
}

// action is the hint of the task's reason, made out to it.
func action(t task.Task) string { return strings.ReplaceAll(t.Reason.Hint(), "TASK", t.ID) }
