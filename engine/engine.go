// Package engine carries a TODO item from the file to a pushed branch.
//
// Read run.go first, then attempt.go: the story of one item is
//
//	Run or Once     wake, sweep TODO.md into tasks, claim the next one
//	Do              begin its journal run, then prepare, work, repair, land
//	  prepare       what is the base; do its own checks pass; a tree to edit
//	  work          the model edits the tree (package agent)
//	  repair        freeze the tree, run the checks in a second, clean one;
//	                what they find goes back to the model, a bounded number of times
//	  land          commit exactly the tree that passed, advance the agent branch,
//	                push it to the user's repository and the remote
//	  finish        the error, if any, becomes a state and a reason (reason.go)
//
// Only facts decide: a tree that changed, required checks that ran and passed on
// that very tree. Nothing the model says moves a state.
//
// Every step that must not happen twice is on disk, in the journal or the task's
// file, before it happens, and [Engine.Recover] settles what a killed process left
// behind: an unfinished attempt is queued again and replays the answers that were
// paid for already; a commit that was about to land lands with the same id.
package engine

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"hob/configs"
	"hob/engine/agent"
	"hob/engine/model"
	"hob/engine/status"
	"hob/engine/task"
	"hob/journal"
	"hob/repo"
	"hob/validators"
	"hob/validators/sandbox"
)

// Facts of the set-up that block every item until a person changes them.
var (
	ErrUntrusted = errors.New("hob.toml asks for what only a trusted one may have")
	ErrNoModel   = errors.New("no [[model]] is configured")
	ErrNoChecks  = errors.New("no [[validators]] are configured")
)

// ErrTodo says that the TODO file can't be read, or is too large. The queue stays
// as it was.
var ErrTodo = errors.New("the TODO file can't be read")

// Heartbeat is how often the status file is written when nothing happens.
const Heartbeat = 30 * time.Second

// An Engine works one repository. All exported fields have to be set; only Model,
// Checks and Runner may be nil, and then Blocked says why.
type Engine struct {
	Config  *configs.Loaded
	Repo    *repo.Repo
	Tasks   *task.Store
	Journal *journal.Log
	Daemon  *journal.Run // of kind daemon, for what belongs to no item
	Ledger  *model.Ledger
	Model   model.Provider
	Checks  *validators.Set
	Runner  sandbox.Runner
	Env     []string // of every command
	Prompts agent.Prompts
	Blocked error // the fact that keeps every item from being worked, or nil
	Log     *slog.Logger
	Boot    Boot
	Status  func(status.Report) // gets each new report; must not block for long

	bases map[string][]validators.Result // what the checks say of each base
	todo  todoFacts
	now   now

	publishing sync.Mutex
	last       status.Report // what the last report said; guarded by publishing
}

// Boot identifies this start of hob.
type Boot struct {
	ID, Version, ConfigDigest, Host, Trigger string
	PID                                      int
}

// Recover puts back what a killed process left half-way. Call it once, under the lock
// of the state folder, before Run or Once, whose first look ends a landing that was
// cut short.
func (e *Engine) Recover() error {
	e.bases = map[string][]validators.Result{}
	cut, err := e.Tasks.Recover(time.Now())
	if err != nil {
		return err
	}
	for _, t := range cut {
		e.tell(journal.TaskFinished{Task: t.ID, State: string(t.State), Reason: string(t.Reason), Attempt: t.Attempts, CostMicroUSD: t.CostMicroUSD})
	}
	return nil
}

// landAgain finishes a commit that was about to land: its objects are on disk and
// its id is in the task's file, so advancing the branch again is the same act.
func (e *Engine) landAgain(ctx context.Context, t task.Task) (task.Task, error) {
	err := e.Repo.Advance(ctx, t.Branch, t.Commit, t.Base)
	if err == nil {
		return e.Tasks.Move(t.ID, task.Committed, task.None, "", time.Now(), nil)
	}
	e.Log.Warn("requeued", "task", t.ID, "why", err)
	return e.Tasks.Move(t.ID, task.Queued, task.Interrupted, err.Error(), time.Now(), func(t *task.Task) {
		t.Commit, t.Tree = "", ""
	})
}

// tell journals a fact that belongs to no item and that nothing waits for.
func (e *Engine) tell(ev journal.Event) {
	if err := e.Daemon.Record(ev); err != nil {
		e.Log.Error("journal", "err", err)
	}
}
