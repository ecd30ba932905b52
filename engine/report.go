package engine

import (
	"sync"
	"time"

	"hob/engine/status"
	"hob/engine/task"
	"hob/repo"
)

// now is what the attempt under way is doing, for the status file. The attempt
// writes it on its own goroutine, the report reads it on another.
type now struct {
	mu sync.Mutex

	step     string
	since    time.Time
	deadline time.Time
	base     repo.Base // where the last item started
}

// doing tells what the attempt does next.
func (a *attempt) doing(step string) {
	a.now.mu.Lock()
	a.now.step, a.now.since = step, time.Now()
	a.now.deadline, a.now.base = a.deadline(), a.base
	a.now.mu.Unlock()
	a.report(status.Working)
}

func (a *attempt) idle() {
	a.now.mu.Lock()
	a.now.step = ""
	a.now.mu.Unlock()
	a.report(status.Idle)
}

// Stopped writes the last report.
func (e *Engine) Stopped() { e.report(status.Stopped) }

// report publishes the whole state of things.
func (e *Engine) report(state status.State) {
	e.publishing.Lock()
	defer e.publishing.Unlock()
	if e.last.State == status.Stopping && state != status.Stopped {
		state = status.Stopping // whatever the item at work is still doing
	}
	if state != e.last.State {
		e.last.StateSince = time.Now()
	}
	e.last.Seq++
	r := status.Report{
		Seq: e.last.Seq, Boot: e.Boot.ID, PID: e.Boot.PID, Version: e.Boot.Version, WrittenAt: time.Now(),
		HeartbeatS: int(Heartbeat / time.Second), State: state, StateSince: e.last.StateSince,
		Repo: status.Repo{Root: e.Repo.Place().Root, Base: e.Config.Git.Base, Remote: e.Config.Autonomous.GitRemote},
		Todo: e.todo.report(e.Config.Autonomous.TodoPath),
	}
	if e.Blocked != nil {
		r.Reason = string(reasonFor(e.Blocked))
	}
	b := e.Config.Budget
	r.Budget = status.Budget{
		Currency: "USD", Day: e.calendar(time.Now()).Format(time.DateOnly),
		Spent: status.Dollars(e.Ledger.Day(time.Now()) - e.Ledger.Reserved()), Reserved: status.Dollars(e.Ledger.Reserved()), Limit: status.Dollars(b.DailyUSD.MicroUSD()),
	}
	if at, ok := e.Tasks.Due(); ok {
		r.NextWake = at
	}
	tasks := e.Tasks.List()
	r.Tasks(tasks)
	r.LastSuccess = lastSuccess(tasks)
	e.now.mu.Lock()
	if e.now.base.OID != "" {
		r.Repo.Base, r.Repo.BaseCommit, r.Repo.Behind = e.now.base.Branch, e.now.base.OID, e.now.base.Behind
	}
	for i := range r.Current {
		r.Current[i].Step, r.Current[i].LastProgress, r.Current[i].Deadline = e.now.step, e.now.since, e.now.deadline
	}
	e.now.mu.Unlock()
	r.Journal.Entries, r.Journal.Head = e.Daemon.Head()
	e.last.State = state
	e.Status(r)
}

// lastSuccess is the newest commit that every target holds.
func lastSuccess(tasks []task.Task) status.LastSuccess {
	var last status.LastSuccess
	for _, t := range tasks {
		if t.State == task.Pushed && t.Since.After(last.At) {
			last = status.LastSuccess{ID: t.ID, Commit: t.Commit, Branch: t.Branch, At: t.Since}
		}
	}
	return last
}

func (f *todoFacts) report(path string) status.Todo {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := status.Todo{Path: path, SHA256: f.doc.Digest, ReadAt: f.read, Diagnostics: len(f.doc.Diagnostics), Stale: f.err != nil}
	for _, it := range f.doc.Items {
		switch {
		case it.Done:
			t.Done++
		case it.Hold:
			t.Held++
		default:
			t.Open++
		}
	}
	return t
}
