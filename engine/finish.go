package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"time"

	"hob/engine/model"
	"hob/engine/task"
	"hob/journal"
	"hob/validators"
)

// finish turns how the attempt ended into a state and a reason, keeps what could
// be of use to the next one, and closes the journal's run.
func (a *attempt) finish(ctx context.Context, err error) task.Task {
	defer a.idle()
	if err != nil {
		reason := reasonFor(err)
		if reason == task.Internal {
			a.Log.Error("attempt", "task", a.task.ID, "err", err)
		}
		note := a.handover(ctx, err, reason)
		a.keepWip()
		if merr := a.rest(reason, err, note); merr != nil {
			a.Log.Error("task", "task", a.task.ID, "err", merr)
			if merr = a.move(task.Queued, task.Interrupted, merr.Error(), nil); merr != nil { // legal from every active state
				a.task.Message = fmt.Sprintf("its state can't be saved, so the next start takes it up again: %v", merr)
			}
		}
	}
	a.close()
	return a.task
}

// bounded are the ends at which the model is asked for a short note on where
// things stand, from what was kept back for it.
var bounded = []task.Reason{task.TurnsSpent, task.WallSpent, task.BudgetRun, task.BudgetItem}

// handoverTime bounds the wait for that note.
const handoverTime = 2 * time.Minute

func (a *attempt) handover(ctx context.Context, err error, reason task.Reason) string {
	if a.sess == nil || !slices.Contains(bounded, reason) || ctx.Err() != nil {
		return ""
	}
	a.ending = true
	ctx, cancel := context.WithTimeout(ctx, handoverTime)
	defer cancel()
	return a.sess.Handover(ctx, err.Error())
}

// rest moves the task to where its reason leaves it.
func (a *attempt) rest(reason task.Reason, err error, note string) error {
	now := time.Now()
	last := func(t *task.Task) {
		if a.sess == nil || a.sess.Turns() == 0 {
			return // what no model was asked for is nothing to tell one
		}
		t.Last = fmt.Sprintf("%s: %v", reason, err)
		if note != "" {
			t.Last += "\n" + note
		}
	}
	if a.task.State == task.Committing || a.task.State == task.Committed {
		return a.update(func(t *task.Task) { t.Message = err.Error() }) // deliver goes on with it
	}
	switch state := stateFor(reason); state {
	case task.Failed:
		return a.fail(reason, err, last)
	case task.Throttled:
		return a.move(state, reason, err.Error(), func(t *task.Task) { t.NotBefore = now.Add(waitOf(err)) })
	case task.Queued:
		return a.move(state, reason, err.Error(), nil)
	default:
		return a.move(state, reason, err.Error(), last)
	}
}

func (a *attempt) fail(reason task.Reason, err error, last func(*task.Task)) error {
	t, ferr := a.Tasks.Fail(a.task.ID, reason, err.Error(), a.Config.Autonomous.MaxFailuresPerState, time.Now(), func(t *task.Task) {
		last(t)
		if fp := a.fingerprint(); fp != "" {
			t.Seen = append(t.Seen, fp)
		}
	})
	if ferr == nil {
		a.task = t
	}
	return ferr
}

// fingerprint names what was tried and how it failed; empty when nothing was judged.
func (a *attempt) fingerprint() string {
	if len(a.failing) == 0 {
		return ""
	}
	sum := sha256.Sum256([]byte(a.task.WorkKey + "\x00" + a.frozen.Tree + "\x00" + validators.Signature(a.failing)))
	return hex.EncodeToString(sum[:8])
}

// throttle is how long an item rests when a provider gives no time itself.
const throttle = 5 * time.Minute

func waitOf(err error) time.Duration {
	var me *model.Error
	if errors.As(err, &me) && me.RetryAfter > 0 {
		return me.RetryAfter
	}
	return throttle
}

// wipTime bounds the work after the end of an attempt: it happens also when hob
// is being stopped.
const wipTime = 30 * time.Second

// keepWip saves an unfinished change as a ref in hob's own store, so that an
// attempt that ends badly can still be looked at. The slot itself is reused.
func (a *attempt) keepWip() {
	if a.ws == nil || a.task.State == task.Committing || a.task.State == task.Committed {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), wipTime)
	defer cancel()
	dirty, err := a.ws.Dirty()
	if err != nil || !dirty {
		return
	}
	frozen, err := a.ws.Freeze(ctx)
	if err == nil {
		_, err = a.Repo.Wip(ctx, a.run.ID(), frozen.Tree, a.base.OID)
	}
	if err != nil {
		a.Log.Warn("wip", "task", a.task.ID, "err", err)
	}
}

// close writes the last events and gives the slot back.
func (a *attempt) close() {
	t := a.task
	took := time.Since(a.began).Milliseconds()
	a.note(journal.RunFinished{
		Outcome: string(t.State), Reason: string(t.Reason), Message: a.keep(t.Message), Turns: a.turn() - 1,
		CostMicroUSD: a.Ledger.Run(a.run.ID()), Commit: t.Commit, MS: took,
	})
	if err := a.run.Close(); err != nil {
		a.Log.Error("journal", "err", err)
	}
	a.tell(journal.TaskFinished{
		Task: t.ID, Run: a.run.ID(), State: string(t.State), Reason: string(t.Reason), Attempt: t.Attempts,
		Commit: t.Commit, CostMicroUSD: t.CostMicroUSD, MS: took,
	})
	if a.ws != nil {
		if err := a.ws.Remove(); err != nil {
			a.Log.Warn("slot", "err", err)
		}
	}
}
