package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"hob/engine/edit"
	"hob/engine/task"
	"hob/engine/todo"
	"hob/journal"
	"hob/repo"
)

var errNoChange = errors.New("in the end nothing differs from the base")

// freeze turns the slot into a tree object: what the model changed, hob's own
// files as the base has them, and the item's box ticked. This tree is checked,
// and this tree is committed. The tick stays out of the slot, which is the model's.
func (a *attempt) freeze(ctx context.Context) error {
	for _, name := range a.own() {
		if err := a.ws.Restore(name); err != nil {
			return err
		}
	}
	dirty, err := a.ws.Dirty()
	if err != nil {
		return err
	}
	if !dirty {
		return errNoChange
	}
	name := a.own()[0]
	ticked, err := a.tick(name)
	if err != nil {
		return err
	}
	if ticked != nil {
		if err := a.ws.Apply(ticked); err != nil {
			return fmt.Errorf("tick %s: %w", name, err)
		}
	}
	frozen, err := a.ws.Freeze(ctx)
	if err != nil {
		return err
	}
	for _, f := range frozen.Findings {
		a.Log.Warn("left_out", "task", a.task.ID, "path", f.Path, "why", f.Message)
	}
	if err := a.ws.Restore(name); err != nil {
		return err
	}
	if !slices.ContainsFunc(frozen.Changes, func(c repo.FileChange) bool { return c.Path != name }) {
		return errNoChange // all that the model did was left out
	}
	a.frozen = frozen
	return nil
}

// tick is the edit that marks the item done in the TODO file. There is none when
// the base's file lacks the item: it may be saved and not yet committed, and then
// the trailers alone record it.
func (a *attempt) tick(name string) ([]edit.Change, error) {
	if !a.ticks() {
		return nil, nil
	}
	info, err := a.ws.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		a.Log.Info("not_ticked", "task", a.task.ID, "why", "the base has no "+name)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		a.Log.Info("not_ticked", "task", a.task.ID, "why", name+" is a link")
		return nil, nil
	}
	before, err := a.ws.Read(name)
	if err != nil {
		return nil, err
	}
	after, err := todo.Tick(before, a.item.ID)
	if errors.Is(err, todo.ErrNoItem) {
		a.Log.Info("not_ticked", "task", a.task.ID, "why", "the item is not in the committed "+name)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return []edit.Change{{Path: name, Before: before, After: after, Existed: true, Mode: info.Mode()}}, nil
}

// ticks reports whether boxes are ticked: parallel branches would conflict there.
func (a *attempt) ticks() bool {
	mark := a.Config.Todo.Mark
	return mark == "branch" || mark == "auto" && !strings.Contains(a.Config.Autonomous.GitBranch, "{task}")
}

// land commits the tree that passed and advances the agent branch to it. The
// commit's id is on disk, in the task's file, before the branch moves: killed
// anywhere after that, the next start makes the branch point at the same commit.
func (a *attempt) land(ctx context.Context) error {
	oid, err := a.commit(ctx)
	if err != nil {
		return err
	}
	if err := a.Repo.Advance(ctx, a.task.Branch, oid, a.base.OID); err != nil {
		return err
	}
	if err := a.run.Record(journal.CommitCreated{Branch: a.task.Branch, Commit: oid, Tree: a.task.Tree, Parent: a.base.OID}); err != nil {
		return err
	}
	if err := a.move(task.Committed, task.None, a.landedOver(), nil); err != nil {
		return err
	}
	t, err := a.publish(ctx, a.task, a.run)
	if err == nil {
		a.task = t
	}
	return err
}

// landedOver says what still fails, where the base failed already: it is let through,
// but never without a word.
func (a *attempt) landedOver() string {
	if len(a.red) == 0 {
		return ""
	}
	return "landed over what fails on the base, too: " + strings.Join(a.red, "; ")
}

// commit writes the commit's objects, which nothing names yet, and then its id
// into the task's file.
func (a *attempt) commit(ctx context.Context) (string, error) {
	spec := repo.CommitSpec{
		Tree: a.frozen.Tree, Parent: a.base.OID,
		Message: repo.Message(a.item.Text, repo.Trailers{
			Task: landingID(a.task), Item: a.item.Text, Run: a.run.ID(), Base: a.base.OID, ValidatedTree: a.frozen.Tree,
		}),
		Author: repo.Ident{Name: a.Config.Git.AuthorName, Email: a.Config.Git.AuthorEmail},
		Date:   time.Now(),
	}
	if err := a.run.Record(journal.CommitIntended{Branch: a.branch(), Tree: spec.Tree, Parent: spec.Parent, Message: a.keep(spec.Message)}); err != nil {
		return "", err
	}
	oid, err := a.Repo.WriteCommit(ctx, spec)
	if err != nil {
		return "", err
	}
	if err := a.called(ctx); err != nil {
		return "", err // the last moment at which nothing has to be taken back
	}
	return oid, a.move(task.Committing, task.None, "", func(t *task.Task) {
		t.Base, t.Branch, t.Commit, t.Tree, t.Last = spec.Parent, a.branch(), oid, spec.Tree, ""
	})
}

// landingID is the item's name in a commit: its id, and its generation when it was
// opened again after it had landed.
func landingID(t task.Task) string {
	if t.Generation > 1 {
		return fmt.Sprintf("%s#%d", t.ID, t.Generation)
	}
	return t.ID
}

// publish pushes a landed commit to the user's repository and the remote. What
// doesn't go through now is tried again by deliver.
func (e *Engine) publish(ctx context.Context, t task.Task, run *journal.Run) (task.Task, error) {
	remote := e.Config.Autonomous.GitRemote
	ref := t.Commit + ":refs/heads/" + t.Branch
	for _, target := range targetsOf(remote) {
		if err := run.Record(journal.PushIntended{Target: target, Remote: target, Refspec: ref, New: t.Commit}); err != nil {
			return t, err
		}
	}
	targets, err := e.Repo.Publish(ctx, t.Branch, t.Commit, remote)
	if err != nil {
		return t, err
	}
	reason, message := task.None, ""
	for _, to := range targets {
		ref, err := run.Keep([]byte(to.Message))
		if err != nil {
			return t, err
		}
		if err := run.Record(journal.PushResult{Target: to.Name, Remote: to.Name, New: t.Commit, State: to.State, Message: ref}); err != nil {
			return t, err
		}
		if r := pushReasons[to.State]; r != task.None && reason == task.None {
			reason, message = r, strings.TrimRight(to.Name+": "+to.Message, ": ")
		}
	}
	if reason != task.None {
		return e.Tasks.Update(t.ID, func(t *task.Task) {
			t.Reason, t.Message, t.NotBefore = reason, message, time.Now().Add(pushAgain(reason))
		})
	}
	said := t.Message
	if t.Reason != task.None {
		said = "" // why it was not pushed before
	}
	return e.Tasks.Move(t.ID, task.Pushed, task.None, said, time.Now(), nil)
}

// targetsOf lists where a commit has to go: no remote is fine.
func targetsOf(remote string) []string {
	if remote == "" {
		return []string{repo.Here}
	}
	return []string{repo.Here, remote}
}

// pushReasons is why a target doesn't hold the commit; states that are not here do.
var pushReasons = map[string]task.Reason{
	repo.CheckedOut:  task.BranchCheckedOut,
	repo.Unreachable: task.RemoteUnreachable,
	repo.Locked:      task.UserRepoLocked,
	repo.Diverged:    task.Diverged,
	repo.Rejected:    task.PushRejected,
}

// pushAgain is how long to wait before a target is tried again: one that said no
// wants a person, one that said nothing may be back soon.
func pushAgain(r task.Reason) time.Duration {
	if r == task.RemoteUnreachable || r == task.BranchCheckedOut || r == task.UserRepoLocked {
		return 5 * time.Minute
	}
	return recheck
}

// deliver brings what has landed further: it ends a landing that was cut short,
// notices what people have merged, and pushes again what isn't everywhere yet.
// asked: a person asks now, and no target is waited for.
func (e *Engine) deliver(ctx context.Context, asked bool) error {
	var all error
	for _, t := range e.Tasks.List() {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var err error
		if t.State == task.Committing {
			t, err = e.landAgain(ctx, t)
		}
		if err == nil && (t.State == task.Committed || t.State == task.Pushed) {
			err = e.deliverOne(ctx, t, asked)
		}
		all = errors.Join(all, err)
	}
	return all
}

// landAgain finishes a commit that was about to land: its objects are on disk and
// its id is in the task's file, so advancing the branch again is the same act. Only
// a branch that has gone elsewhere makes it start over.
func (e *Engine) landAgain(ctx context.Context, t task.Task) (task.Task, error) {
	err := e.Repo.Advance(ctx, t.Branch, t.Commit, t.Base)
	switch {
	case errors.Is(err, repo.ErrMoved):
		e.Log.Warn("requeued", "task", t.ID, "why", err)
		return e.Tasks.Move(t.ID, task.Queued, task.Interrupted, err.Error(), time.Now(), func(t *task.Task) {
			t.Commit, t.Tree = "", ""
		})
	case err != nil:
		return t, err
	}
	e.tell(journal.CommitCreated{Branch: t.Branch, Commit: t.Commit, Tree: t.Tree, Parent: t.Base})
	return e.Tasks.Move(t.ID, task.Committed, task.None, "", time.Now(), nil)
}

// stillThere notices that a person deleted the agent branch, or moved it back, with
// the item's commit unmerged: that is a no to the work, and it is not done again.
func (e *Engine) stillThere(ctx context.Context, t task.Task) error {
	gone, err := e.Repo.Gone(ctx, t.Branch, t.Commit)
	if err != nil || !gone {
		return err
	}
	return e.end(t, task.Rejected)
}

// end is the end of an item that a person brought about.
func (e *Engine) end(t task.Task, s task.State) error {
	t, err := e.Tasks.Move(t.ID, s, task.None, "", time.Now(), nil)
	if err == nil {
		e.tell(journal.TaskFinished{Task: t.ID, State: string(s), Attempt: t.Attempts, Commit: t.Commit, CostMicroUSD: t.CostMicroUSD})
	}
	return err
}

func (e *Engine) deliverOne(ctx context.Context, t task.Task, asked bool) error {
	merged, err := e.Repo.Merged(ctx, e.Config.Git.Base, t.Branch, t.Commit)
	switch {
	case err != nil:
		return err
	case merged:
		err = e.end(t, task.Merged)
	case t.State == task.Pushed:
		err = e.stillThere(ctx, t)
	case t.State == task.Committed && (asked || !time.Now().Before(t.NotBefore)):
		_, err = e.publish(ctx, t, e.Daemon)
	}
	return err
}
