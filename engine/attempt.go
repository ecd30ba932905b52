package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"hob/engine/agent"
	"hob/engine/edit"
	"hob/engine/task"
	"hob/engine/todo"
	"hob/journal"
	"hob/repo"
	"hob/validators"
)

// An attempt is one try at one item. It lives on one goroutine.
type attempt struct {
	*Engine
	task  task.Task
	item  todo.Item
	run   *journal.Run
	began time.Time
	stop  <-chan struct{} // closed when hob wants to stop

	asked    int    // answers this item has had, over all attempts
	replay   replay // those an interrupted attempt has paid for
	ending   bool   // the note at the end is being asked for
	base     repo.Base
	baseline []validators.Result
	ws       *repo.Workspace
	sess     *agent.Session
	frozen   repo.Frozen         // the tree that was last checked
	failing  []validators.Result // what failed on it
	red      []string            // what failed on it and on the base as well
}

// begin opens the attempt's journal run and notes it in the task's file, so that
// a killed process leaves a trace of which run was its own.
func (e *Engine) begin(t task.Task, stop <-chan struct{}) (*attempt, error) {
	item, ok := e.todo.item(t.ID)
	if !ok {
		return nil, fmt.Errorf("%w: item %s is not there any more", ErrTodo, t.ID)
	}
	run, err := e.Journal.Begin(journal.Manifest{
		Kind: "item", Task: t.ID, Item: t.Text, Trigger: e.Boot.Trigger, Hob: e.Boot.Version,
		ConfigDigest: e.Boot.ConfigDigest, Host: e.Boot.Host, Parent: e.Daemon.ID(),
	})
	if err != nil {
		return nil, err
	}
	a := &attempt{Engine: e, task: t, item: item, stop: stop, run: run, began: time.Now()}
	a.resume(t.Runs)
	if err := a.update(func(t *task.Task) {
		t.Runs, t.Config = append(t.Runs, run.ID()), e.terms()
	}); err != nil {
		return nil, errors.Join(err, run.Close())
	}
	a.note(journal.RunStarted{
		Hob: e.Boot.Version, ConfigDigest: e.Boot.ConfigDigest, Task: t.ID, Item: a.keep(item.Text + "\n\n" + item.Body),
		Attempt: t.Attempts, Trigger: e.Boot.Trigger, Host: e.Boot.Host, PID: e.Boot.PID,
	})
	return a, nil
}

// prepare finds the base, runs its own checks, and lays out a tree to edit.
func (a *attempt) prepare(ctx context.Context) error {
	if a.Blocked != nil {
		return a.Blocked
	}
	var err error
	if a.base, err = a.Repo.Base(ctx, a.Config.Git.Base, a.branch()); err != nil {
		return err
	}
	for _, w := range a.base.Warnings {
		a.Log.Warn("base", "task", a.task.ID, "warning", w)
	}
	if a.ws, err = a.Repo.Snapshot(ctx, a.task.ID, a.base.OID); err != nil {
		return err
	}
	if err := a.run.Record(journal.SnapshotTaken{
		Branch: a.base.Branch, Base: a.base.OID, Tree: a.ws.BaseTree, OnAgent: a.base.OnAgent, Behind: a.base.Behind,
		Method: "read-tree", MS: time.Since(a.began).Milliseconds(),
	}); err != nil {
		return err
	}
	work := task.Work{Base: a.ws.BaseTree, Checks: a.Checks.Digest(), Models: a.Model.Info().ID}
	if err := a.update(func(t *task.Task) { t.Rekey(work, time.Now()) }); err != nil {
		return err
	}
	if a.baseline, err = a.checkBase(ctx); err != nil {
		return err
	}
	a.sess = a.session(ctx)
	return nil
}

// branch is the agent branch of this item.
func (a *attempt) branch() string { return branchOf(a.Config.Autonomous.GitBranch, a.task.ID) }

func branchOf(pattern, id string) string { return strings.ReplaceAll(pattern, "{task}", id) }

// session makes the conversation; nothing is asked yet.
func (a *attempt) session(ctx context.Context) *agent.Session {
	info := a.Model.Info()
	prompts := a.Prompts
	prompts.Class = agent.ClassOf(info.ContextWindow)
	turns := a.Config.Agent.MaxTurns
	if n := a.item.MaxTurns(); n > 0 {
		turns = min(turns, n)
	}
	return agent.New(agent.Options{
		Slot: a.ws, Ask: a.ask, Called: a.called, Tools: a.tools(), Gate: a.gate,
		Ladder: edit.NewLadder(edit.Format(cmp.Or(a.Config.Agent.EditFormatOverride, a.Config.Model[0].EditFormat))),
		Record: a.run.Record, Keep: a.run.Keep,
		Prompts: prompts, Rules: a.rules(ctx), Own: a.own(),
		Native: info.Tools, Turns: turns, Deadline: a.deadline(), Stop: a.stop,
		Window: info.ContextWindow, MaxOutput: info.MaxOutput,
	}, a.brief())
}

// deadline is when the model's time for the item is over: as configured, or sooner
// where the item says so.
func (a *attempt) deadline() time.Time {
	wall := a.Config.Agent.MaxWall.Duration
	if d := a.item.Timeout(); d > 0 {
		wall = min(wall, d)
	}
	return a.began.Add(wall)
}

// rules are the house rules of the base commit.
func (a *attempt) rules(ctx context.Context) []agent.Rules {
	files := a.Repo.AgentFiles(ctx, a.base.OID)
	var rules []agent.Rules
	for _, name := range slices.Sorted(maps.Keys(files)) {
		rules = append(rules, agent.Rules{Path: name, Text: strings.TrimSpace(files[name])})
	}
	return rules
}

// own lists the files hob keeps itself.
func (a *attempt) own() []string {
	return []string{filepath.ToSlash(a.Config.Autonomous.TodoPath), "hob.toml"}
}

// brief is the item as the model is told it.
func (a *attempt) brief() agent.Item {
	item := agent.Item{
		Path: a.Config.Autonomous.TodoPath, Section: a.item.Section, Text: a.item.Text, Body: a.item.Body,
		Checks: strings.Join(a.required(), ", "), Before: a.task.Last, BaseRed: strings.Join(validators.Judge(a.baseline, a.baseline).Preexisting, ", "),
	}
	for _, c := range a.todo.children(a.item) {
		if !c.Done {
			item.Criteria = append(item.Criteria, c.Text)
		}
	}
	return item
}

// required names the validators that decide, with their commands.
func (a *attempt) required() []string {
	var names []string
	for _, v := range a.Config.Validators {
		if v.Required {
			names = append(names, fmt.Sprintf("%s (%s)", v.Name, cmp.Or(v.Run, strings.Join(v.Argv, " "))))
		}
	}
	return names
}

// work lets the model work until it says that it is done.
func (a *attempt) work(ctx context.Context) error {
	if err := a.to(ctx, task.Running); err != nil {
		return err
	}
	return a.sess.Work(ctx)
}

// repair judges the tree, and lets the model repair it a bounded number of times.
func (a *attempt) repair(ctx context.Context) error {
	var seen signatures
	limit := a.Config.Agent.MaxRepairAttempts
	for n := 1; ; n++ {
		good, err := a.judge(ctx)
		if err != nil || good {
			return err
		}
		again, stuck := seen.add(validators.Signature(a.failing))
		switch {
		case stuck:
			return fmt.Errorf("%w: %s", errNoProgress, summary(a.failing))
		case n > limit:
			return fmt.Errorf("%w: %s", errChecks, summary(a.failing))
		}
		found := agent.Finding{N: n, Max: limit, Text: validators.Feedback(a.failing, feedbackLimit), Again: again}
		if err := a.repairOnce(ctx, found); err != nil {
			return err
		}
	}
}

// feedbackLimit bounds what one round of checks may say to the model, in bytes:
// some 5,000 tokens, which leaves a small window room for code.
const feedbackLimit = 16 << 10

func (a *attempt) repairOnce(ctx context.Context, f agent.Finding) error {
	if err := a.to(ctx, task.Repairing); err != nil {
		return err
	}
	if err := a.run.Record(journal.RepairStarted{N: f.N, Max: f.Max, Signature: validators.Signature(a.failing), Feedback: a.keep(f.Text)}); err != nil {
		return err
	}
	began := time.Now()
	err := a.sess.Continue(ctx, f)
	outcome := "answered"
	if err != nil {
		outcome = string(reasonFor(err))
	}
	a.note(journal.RepairFinished{N: f.N, Outcome: outcome, MS: time.Since(began).Milliseconds()})
	return err
}

// signatures are the failures of this attempt so far, oldest first.
type signatures []string

// add notes a failure. again: it is the one that the last repair was to mend.
// stuck: it came a third time, or came back after another one.
func (s *signatures) add(sig string) (again, stuck bool) {
	times := 0
	for _, old := range *s {
		if old == sig {
			times++
		}
	}
	again = len(*s) > 0 && (*s)[len(*s)-1] == sig
	*s = append(*s, sig)
	return again, times >= 2 || times == 1 && !again
}

// to moves the task along. It is also where an attempt ends when hob is stopping:
// between two steps nothing is lost that isn't on disk.
func (a *attempt) to(ctx context.Context, s task.State) error {
	select {
	case <-a.stop:
		return agent.ErrStopping
	default:
	}
	if err := a.called(ctx); err != nil {
		return err
	}
	if err := a.move(s, task.None, "", nil); err != nil {
		return err
	}
	a.doing(string(s))
	return nil
}

// errRecalled ends an attempt whose item a person has changed meanwhile. The next
// reading of TODO.md says what becomes of it.
var errRecalled = errors.New("the item was changed in TODO.md while it was worked")

// called reports that TODO.md has called the attempt back.
func (a *attempt) called(ctx context.Context) error {
	if a.changedTodo() {
		if err := a.sweep(ctx); err != nil {
			a.Log.Warn("sweep", "err", err) // unreadable for a moment: the next look says more
		}
	}
	t, ok := a.Tasks.Get(a.task.ID)
	if why := t.Recall(); ok && why != "" {
		return fmt.Errorf("%w: %s", errRecalled, why)
	}
	return nil
}

// move takes the task one legal step. One that isn't is a bug; it is journalled and
// the task stays where it was.
func (a *attempt) move(to task.State, reason task.Reason, message string, change func(*task.Task)) error {
	t, err := a.Tasks.Move(a.task.ID, to, reason, message, time.Now(), change)
	if err == nil {
		a.task = t
	} else if errors.Is(err, task.ErrIllegal) {
		a.tell(journal.IllegalTransition{Task: a.task.ID, From: string(a.task.State), To: string(to), Reason: string(reason)})
	}
	return err
}

func (a *attempt) update(change func(*task.Task)) error {
	t, err := a.Tasks.Update(a.task.ID, change)
	if err == nil {
		a.task = t
	}
	return err
}

// note journals a fact that nothing waits for. If the journal can't take it, the
// next event that something waits for says so and ends the attempt.
func (a *attempt) note(ev journal.Event) {
	if err := a.run.Record(ev); err != nil {
		a.Log.Error("journal", "err", err)
	}
}

// keep stores text beside the journal. A journal that can't take it is not
// silent: the event that the reference goes into fails next.
func (a *attempt) keep(text string) journal.Ref {
	ref, err := a.run.Keep([]byte(text))
	if err != nil {
		a.Log.Error("journal", "err", err)
	}
	return ref
}

func stack() string { return string(debug.Stack()) }
