package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hob/engine/schedule"
	"hob/engine/status"
	"hob/engine/task"
	"hob/journal"
)

// Run works items one at a time until claim ends. The item at work may finish its
// current turn then, as long as work lasts; cancelling work ends it at once.
// Either way it goes back to the queue.
func (e *Engine) Run(claim, work context.Context, wake <-chan schedule.Cause) error {
	beat := time.NewTicker(Heartbeat)
	defer beat.Stop()
	e.grumble(work, e.look(work, true))
	var busy chan struct{} // closed when the item at work has ended; nil while idle
	for {
		if err := e.Daemon.Err(); err != nil && busy == nil {
			return err // nothing may be done that the journal can't hold
		}
		if busy == nil && e.todo.readAlready() {
			var err error
			if busy, err = e.start(claim, work); err != nil {
				return err
			}
		}
		select {
		case <-claim.Done():
			e.report(status.Stopping)
			if busy != nil {
				<-busy
			}
			return nil
		case cause := <-wake:
			e.woken(work, cause, busy == nil)
		case <-busy:
			busy = nil
			e.grumble(work, e.look(work, false))
		case <-beat.C:
			e.beat(busy != nil)
		}
	}
}

// start begins the next ready item, if there is one, and returns what is closed at its end.
func (e *Engine) start(claim, work context.Context) (chan struct{}, error) {
	t, ok, err := e.next(claim, task.ClaimOptions{})
	if err != nil || !ok {
		e.report(status.Idle)
		return nil, err
	}
	done := make(chan struct{})
	go func() { // Run waits for it, on busy
		defer close(done)
		e.Do(work, claim.Done(), t)
	}()
	return done, nil
}

func (e *Engine) beat(busy bool) {
	state := status.Idle
	if busy {
		state = status.Working
	}
	e.report(state)
}

// woken reads TODO.md again. What touches git waits until no item is at work.
func (e *Engine) woken(ctx context.Context, cause schedule.Cause, idle bool) {
	var err error
	if idle {
		err = e.look(ctx, false)
	} else {
		err = e.sweep(ctx)
	}
	if err != nil {
		e.Log.Warn("look", "cause", cause, "err", err)
	} else if cause != schedule.Swept { // the interval's own looks would fill the journal
		e.tell(journal.ScheduleWoken{Cause: string(cause), Digest: e.todo.digest()})
	}
}

// look brings everything in step between two items: merges first, since a merged
// branch brings its ticks along, then TODO.md, then what is on the branch already.
// Its error is TODO.md's; git is asked again next time.
func (e *Engine) look(ctx context.Context, asked bool) error {
	e.grumble(ctx, e.deliver(ctx, asked))
	if err := e.sweep(ctx); err != nil {
		return err
	}
	if err := e.unpark(asked); err != nil {
		return err
	}
	e.grumble(ctx, e.remember(ctx))
	return nil
}

func (e *Engine) grumble(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		e.Log.Warn("git", "err", err)
	}
}

// An Outcome says how one call of Once went.
type Outcome struct {
	Ended []Ended // what needed no attempt first, then in the order they were worked
}

// Ended is an item as it stands after an attempt, and how long that took.
type Ended struct {
	task.Task
	Took time.Duration
}

// Once works every ready item, each at most once, and returns. Failed items are
// ready before their time: who calls is the schedule (DECISIONS 4). The error is
// for what kept it from looking at all; how items ended is in the outcome.
func (e *Engine) Once(claim, work context.Context) (Outcome, error) {
	var out Outcome
	e.report(status.Starting)
	tried := map[string]bool{}
	for {
		if err := e.look(work, len(tried) == 0); err != nil {
			return out, err
		}
		if len(tried) == 0 {
			out.Ended = e.noticed()
		}
		t, ok, err := e.next(claim, task.ClaimOptions{Skip: tried, Now: true})
		if err != nil || !ok {
			return out, err
		}
		tried[t.ID] = true
		began := time.Now()
		t = e.doBeating(work, claim.Done(), t)
		out.Ended = append(out.Ended, Ended{t, time.Since(began)})
	}
}

// doBeating is Do with a heartbeat beside it: a call to a model may take longer than
// readers of the status file wait.
func (e *Engine) doBeating(work context.Context, stop <-chan struct{}, t task.Task) task.Task {
	beat := time.NewTicker(Heartbeat)
	defer beat.Stop()
	done := make(chan task.Task)
	go func() { done <- e.Do(work, stop, t) }() // the loop below waits for it, on done
	for {
		select {
		case t := <-done:
			return t
		case <-beat.C:
			e.beat(true)
		}
	}
}

// noticed are the items that came to rest without an attempt since the start: refused
// as they are written, given up after crashes, or pushed, or still not, from before.
func (e *Engine) noticed() []Ended {
	var out []Ended
	for _, t := range e.Tasks.List() {
		was := e.before[t.ID]
		switch {
		case t.State == task.Blocked && was != task.Blocked,
			t.State == task.Paused && was != task.Paused,
			t.State == task.Committed,
			t.State == task.Pushed && was == task.Committed:
			out = append(out, Ended{Task: t})
		}
	}
	return out
}

// next claims the next ready item.
func (e *Engine) next(claim context.Context, o task.ClaimOptions) (t task.Task, ok bool, err error) {
	if claim.Err() != nil {
		return t, false, nil
	}
	t, ok, err = e.Tasks.Claim(time.Now(), o)
	if err != nil {
		return t, false, fmt.Errorf("claim an item: %w", err)
	}
	if ok {
		e.tell(journal.TaskClaimed{Task: t.ID, WorkKey: t.WorkKey, Attempt: t.Attempts})
	}
	return t, ok, nil
}

// Do works one claimed item to its end for now and returns it as it stands then.
// A panic ends the attempt, not the daemon.
func (e *Engine) Do(ctx context.Context, stop <-chan struct{}, t task.Task) (end task.Task) {
	a, err := e.begin(t, stop)
	if err != nil {
		return e.drop(t, err)
	}
	defer func() {
		if p := recover(); p != nil {
			end = a.finish(ctx, fmt.Errorf("%w: %v\n%s", errPanic, p, stack()))
		}
	}()
	if err = a.prepare(ctx); err == nil {
		err = a.work(ctx)
	}
	if err == nil {
		err = a.repair(ctx)
	}
	if err == nil {
		err = a.land(ctx)
	}
	return a.finish(ctx, err)
}

var errPanic = errors.New("panic")

// drop puts back an item that couldn't even begin: it left TODO.md this moment, or
// the journal or the task's file can't be written. That is no failure of the item.
func (e *Engine) drop(t task.Task, err error) task.Task {
	e.Log.Error("begin", "task", t.ID, "err", err)
	moved, merr := e.Tasks.Move(t.ID, task.Queued, task.Interrupted, err.Error(), time.Now(), nil)
	if merr != nil {
		e.Log.Error("task", "task", t.ID, "err", merr)
		return t
	}
	return moved
}
