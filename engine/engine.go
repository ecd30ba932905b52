// Package engine carries a TODO item from the file to a pushed branch.
//
// Read run.go first, then attempt.go: the story of one item is
//
//	Run or Once     wake, sweep TODO.md into tasks, claim the next one
//	Do              begin its journal run, then prepare, work, repair, land
//	  prepare       what is the base; do its own checks pass; a tree to edit
//	  work          the model edits the tree (package agent)
//	  repair        judge and repair: freeze the tree, run the checks in a second, clean one;
//	                what they find goes back to the model, a bounded number of times
//	  land          commit exactly the tree that passed, advance the agent branch,
//	                push it to the user's repository and the remote
//	  finish        the error, if any, becomes a state and a reason (reason.go)
//
// Only facts decide: a tree that changed, required checks that ran on that very tree
// and passed, or failed just as they do on the base. Nothing the model says moves a
// state.
//
// The other files: sweep.go turns TODO.md into tasks, ask.go and replay.go speak with
// the model, tools.go is what it may ask for, checks.go runs the checks, land.go also
// delivers what has landed, unpark.go says what goes on after a stop.
//
// Every step that must not happen twice is on disk, in the journal or the task's
// file, before it happens. What a killed process left half-way, the next start
// settles: [Engine.Recover] queues an unfinished attempt again, which replays the
// answers that were paid for already; the first look lands a commit that was about
// to land, with the same id.
package engine

import (
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
	ErrNoChecks  = errors.New("no required [[validators]] are configured")
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
	Env     []string // of the model's commands
	Prompts agent.Prompts
	Blocked error // the fact that keeps every item from being worked, or nil
	Log     *slog.Logger
	Boot    Boot
	Status  func(status.Report) // gets each new report; must not block for long

	bases map[string][]validators.Result // what the checks say of each base
	// remembered are the items whose branch was looked at since the start.
	remembered map[string]bool
	before     map[string]task.State // of each task at the start
	todo       todoFacts
	now        now

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
	e.before = states(e.Tasks.List())
	e.bases, e.remembered = map[string][]validators.Result{}, map[string]bool{}
	cut, err := e.Tasks.Recover(time.Now())
	if err != nil {
		return err
	}
	for _, t := range cut {
		e.tell(journal.TaskFinished{Task: t.ID, State: string(t.State), Reason: string(t.Reason), Attempt: t.Attempts, CostMicroUSD: t.CostMicroUSD})
	}
	return nil
}

func states(tasks []task.Task) map[string]task.State {
	m := map[string]task.State{}
	for _, t := range tasks {
		m[t.ID] = t.State
	}
	return m
}

// tell journals a fact that belongs to no item and that nothing waits for.
func (e *Engine) tell(ev journal.Event) {
	if err := e.Daemon.Record(ev); err != nil {
		e.Log.Error("journal", "err", err)
	}
}
