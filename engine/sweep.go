package engine

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"hob/configs"
	"hob/engine/task"
	"hob/engine/todo"
	"hob/journal"
	"hob/repo"
)

// readAlready reports whether TODO.md could be read since the start: before that no
// item can be claimed.
func (f *todoFacts) readAlready() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.read.IsZero()
}

// todoFacts is the last good reading of the TODO file. Sweeps write it while an
// attempt may read it.
type todoFacts struct {
	mu sync.Mutex

	doc  todo.Doc
	read time.Time
	err  error // of the last reading
}

func (f *todoFacts) set(doc todo.Doc, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err = err; err == nil {
		f.doc, f.read = doc, time.Now()
	}
}

func (f *todoFacts) digest() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.doc.Digest
}

// item finds an item by id.
func (f *todoFacts) item(id string) (todo.Item, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := slices.IndexFunc(f.doc.Items, func(it todo.Item) bool { return it.ID == id })
	if i < 0 {
		return todo.Item{}, false
	}
	return f.doc.Items[i], true
}

// children are the acceptance criteria of an item.
func (f *todoFacts) children(of todo.Item) []todo.Item {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []todo.Item
	for _, it := range f.doc.Items {
		if it.Parent >= 0 && f.doc.Items[it.Parent].ID == of.ID {
			out = append(out, it)
		}
	}
	return out
}

// sweep reads TODO.md and brings the tasks in step with it. A file that can't be
// read leaves the queue as it was: an editor's half-written save empties nothing.
func (e *Engine) sweep(ctx context.Context) error {
	doc, err := e.readTodo()
	e.todo.set(doc, err)
	if err != nil {
		return err
	}
	changes, err := e.Tasks.Sync(doc, time.Now())
	if err != nil {
		return err
	}
	e.tellChanges(changes)
	return e.accept(ctx, changes.Ticked)
}

// changedTodo reports whether TODO.md is another than at the last reading. What can't
// be read hasn't changed.
func (e *Engine) changedTodo() bool {
	data, err := e.Repo.Todo(e.Config.Autonomous.TodoPath)
	return err == nil && todo.Parse(data).Digest != e.todo.digest()
}

func (e *Engine) readTodo() (todo.Doc, error) {
	name := e.Config.Autonomous.TodoPath
	data, err := e.Repo.Todo(name)
	if err != nil {
		return todo.Doc{}, fmt.Errorf("%w: %w", ErrTodo, err)
	}
	doc := todo.Parse(data)
	if doc.TooLarge {
		return todo.Doc{}, fmt.Errorf("%w: %s is larger than 1 MiB or 20,000 lines", ErrTodo, name)
	}
	for i := range doc.Items {
		if it := &doc.Items[i]; it.Blocked == "" {
			if why := Unfit(*it, e.Config.Budget); why != "" {
				it.Blocked, it.Why = string(task.BadAttr), why
			}
		}
	}
	return doc, nil
}

// later are attributes of the grammar that hob doesn't act on yet. An item that
// asks for one is blocked, not worked without it.
var later = []string{"run", "every", "base", "model", "tests", "split", "validators", "paths", "attempts"}

// Unfit says why an item can't be worked as it is written; empty if it can.
// Nothing is ignored: an item that asks for a cap must not run without one.
func Unfit(it todo.Item, b configs.Budget) string {
	for _, key := range later {
		if _, set := it.Attrs[key]; set {
			return "the attribute " + key + " is not available yet"
		}
	}
	if own, ok := it.BudgetMicroUSD(); ok && b.Enabled && b.PerItemUSD.MicroUSD() > 0 && own > b.PerItemUSD.MicroUSD() {
		return "budget is above [budget] per_item_usd: an item can only tighten it"
	}
	return ""
}

// accept ends items that have landed and whose box a person ticked: a merge that
// keeps the commits was noticed before, so this is a squash, or a person's word. On
// the agent branch itself the tick is hob's own.
func (e *Engine) accept(ctx context.Context, ticked []task.Task) error {
	for _, t := range ticked {
		looking, err := e.Repo.Looking(ctx, t.Branch)
		if err != nil {
			return err
		}
		if looking {
			continue
		}
		if err := e.end(t, task.Accepted); err != nil {
			return err
		}
	}
	return nil
}

// remember settles tasks that were never worked but whose commit is on the branch:
// the state folder may be lost, what landed is never done twice.
func (e *Engine) remember(ctx context.Context) error {
	known := map[string]map[string]repo.Landing{} // by branch, then by item
	for _, t := range e.Tasks.List() {
		if t.State != task.Queued || e.remembered[t.ID] || len(t.Runs) > 0 && t.Reason != task.Interrupted {
			continue
		}
		e.remembered[t.ID] = true
		branch := branchOf(e.Config.Autonomous.GitBranch, t.ID)
		if _, ok := known[branch]; !ok {
			var err error
			if known[branch], err = e.landed(ctx, branch); err != nil {
				return err
			}
		}
		l, ok := known[branch][landingID(t)]
		if !ok {
			continue
		}
		t, err := e.Tasks.Move(t.ID, task.Accepted, task.None, "it is on "+branch+" already", time.Now(), func(t *task.Task) {
			t.Commit, t.Branch = l.Commit, branch
		})
		if err != nil {
			return err
		}
		e.tell(journal.TaskFinished{Task: t.ID, State: string(t.State), Attempt: t.Attempts, Commit: t.Commit, CostMicroUSD: t.CostMicroUSD})
	}
	return nil
}

// landed finds the items that have a commit on a branch, or on the base it would
// start from, after a look at the user's repository and the remote. What keeps it
// from looking is for the attempt to say.
func (e *Engine) landed(ctx context.Context, branch string) (map[string]repo.Landing, error) {
	base, err := e.Repo.Base(ctx, e.Config.Git.Base, branch)
	if err != nil {
		e.Log.Debug("landed", "branch", branch, "err", err)
		return nil, nil
	}
	return e.Repo.Landed(ctx, base.OID)
}

func (e *Engine) tellChanges(c task.Changes) {
	for _, t := range c.Queued {
		e.tell(journal.TaskQueued{Task: t.ID, Generation: t.Generation, Priority: t.Priority, ContentHash: t.ContentHash})
	}
	for _, t := range c.Parked {
		e.tell(journal.TaskPaused{Task: t.ID, State: string(t.State), Reason: string(t.Reason)})
	}
	for _, r := range c.Renamed {
		e.tell(journal.TaskRenamed{Task: r.To.ID, Old: r.From})
	}
	for _, t := range c.Withdrawn {
		e.tell(journal.TaskWithdrawn{Task: t.ID, From: string(t.State)})
	}
	for _, t := range c.Accepted {
		e.tell(journal.TaskFinished{Task: t.ID, State: string(t.State), Attempt: t.Attempts, CostMicroUSD: t.CostMicroUSD})
	}
}
