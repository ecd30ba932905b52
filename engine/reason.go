package engine

import (
	"context"
	"errors"

	"hob/engine/agent"
	"hob/engine/model"
	"hob/engine/model/wire"
	"hob/engine/task"
	"hob/journal"
	"hob/repo"
	"hob/validators/sandbox"
)

// reasons maps errors to reasons; the first match wins. It is the only place that
// does, so that one failure has one name everywhere.
var reasons = []struct {
	err    error
	reason task.Reason
}{
	{ErrUntrusted, task.UntrustedConfig},
	{ErrNoModel, task.BadConfig},
	{model.ErrUnknownPrice, task.BadConfig},
	{repo.ErrNoBase, task.BadConfig},
	{wire.ErrSecret, task.Auth},
	{ErrNoChecks, task.ValidatorMissing},
	{sandbox.ErrUnavailable, task.SandboxUnavailable},
	{ErrTodo, task.TodoUnreadable},
	{repo.ErrNoCommits, task.NoCommits},
	{repo.ErrDiverged, task.Diverged},
	{agent.ErrNothingToDo, task.ClaimedWithoutChange},
	{errNoChange, task.NothingToDo},
	{agent.ErrRepeatedCall, task.RepeatCall},
	{agent.ErrTurns, task.TurnsSpent},
	{agent.ErrWall, task.WallSpent},
	{agent.ErrContext, task.ContextExhausted},
	{agent.ErrEdits, task.EditsRefused},
	{agent.ErrUnsafe, task.SecurityRefused},
	{agent.ErrStopping, task.Interrupted},
	{errRecalled, task.Interrupted},
	{journal.ErrWrite, task.Interrupted},
	{repo.ErrMoved, task.Interrupted},
	{context.Canceled, task.Interrupted},
	{errChecks, task.ValidatorsFailed},
	{errNoProgress, task.NoProgress},
}

// classes maps what a provider did to reasons. Classes that are not here are a
// provider that is down.
var classes = map[model.Class]task.Reason{
	model.Auth:            task.Auth,
	model.RateLimited:     task.RateLimited,
	model.QuotaExhausted:  task.RateLimited,
	model.BadRequest:      task.ModelRequest,
	model.ContextOverflow: task.ContextExhausted,
	model.ContentFilter:   task.ModelRefused,
	model.Unusable:        task.ModelUnusable,
	model.MaxTokens:       task.ModelUnusable,
	model.ScriptMismatch:  task.ScriptMismatch,
	model.Cancelled:       task.Interrupted,
	model.Unknown:         task.ModelUnusable,
}

// reasonFor names an error. What it doesn't know is a bug: internal.
func reasonFor(err error) task.Reason {
	var question *agent.Question
	var unchecked *brokenError
	var unsupported *repo.UnsupportedError
	var over *model.BudgetError
	var me *model.Error
	switch {
	case err == nil:
		return task.None
	case errors.As(err, &question):
		return task.Question
	case errors.As(err, &unchecked):
		return unchecked.Reason
	case errors.As(err, &unsupported):
		return task.RepoUnsupported
	case errors.As(err, &over):
		return task.Reason(over.Reason)
	case errors.As(err, &me):
		if r, ok := classes[me.Class]; ok {
			return r
		}
		return task.ProviderDown
	}
	for _, r := range reasons {
		if errors.Is(err, r.err) {
			return r.reason
		}
	}
	return task.Internal
}

// stateFor is where a reason leaves the item. For failed, pausing after too many
// attempts is the task store's.
func stateFor(r task.Reason) task.State {
	switch r {
	case task.Interrupted:
		return task.Queued
	case task.Diverged:
		return task.Blocked
	}
	if states := r.States(); len(states) > 0 {
		return states[0]
	}
	return task.Failed
}

// ErrorReason names an error that kept a command from working, for its last line
// on the screen; None when the message is all there is to say.
func ErrorReason(err error) task.Reason {
	if r := reasonFor(err); r != task.Internal {
		return r
	}
	return task.None
}
