package task

import (
	"errors"
	"slices"
	"strings"
	"time"
)

// A stand is a state with the reason and the words for it.
type stand struct {
	state   State
	reason  Reason
	message string
}

// enter puts t into a state. The move is legal, or t is new.
func (t *Task) enter(to State, r Reason, message string, now time.Time) {
	t.State, t.Reason, t.Since = to, r, stamp(now)
	t.Message = strings.ToValidUTF8(message, "\uFFFD")
}

// step is one legal move with what belongs to the state it leads to.
func (t *Task) step(to State, r Reason, message string, now time.Time) {
	if t.State.Terminal() {
		t.beginGeneration()
	}
	if to == Queued || to.Active() {
		t.NotBefore = time.Time{}
	}
	t.enter(to, r, message, now)
}

// count sets the counters that follow from the end of an attempt: from is the
// task while it was under way.
func (t *Task) count(from Task) {
	if !from.State.Active() || t.State.Active() {
		return
	}
	interrupted := t.State == Queued && t.Reason == Interrupted
	if interrupted || t.State == Throttled {
		t.Attempts = max(0, from.Attempts-1)
	}
	t.Crashes, t.Interruptions = 0, 0
	if interrupted {
		t.Interruptions = from.Interruptions + 1
	}
}

// crashed ends an attempt that its process did not survive.
func (t *Task) crashed(now time.Time) {
	from := t.clone()
	t.step(Queued, Interrupted, "hob stopped in the middle of the attempt", now)
	t.count(from)
	t.Crashes = from.Crashes + 1
	if t.Crashes < maxCrashes {
		return
	}
	t.State, t.Crashes = from.State, 0
	t.travel(stand{Paused, CrashLoop, "hob stopped in the middle of attempt after attempt"}, now)
}

// travel takes t to a stand by legal moves, by way of another state where
// there is no direct one. Where t stands already only the words change, and
// where no way leads it stays.
func (t *Task) travel(to stand, now time.Time) {
	way := route(t.State, to.state)
	for _, next := range way {
		t.step(next, to.reason, to.message, now)
	}
	if way != nil {
		t.Reason, t.Message = to.reason, to.message
	}
}

// apply runs a caller's edit, which must leave identity and state alone.
func (t *Task) apply(edit func(*Task)) error {
	if edit == nil {
		return nil
	}
	before := t.clone()
	edit(t)
	if t.ID != before.ID || t.Schema != before.Schema || t.Serial != before.Serial || t.Rev != before.Rev ||
		t.State != before.State || !slices.Equal(t.Former, before.Former) {
		return errors.New("an edit must leave identity and state alone")
	}
	return nil
}

// gate tells where a task that could be worked stands: queued, waiting or
// blocked.
func (w *writing) gate(t *Task, now time.Time) stand {
	switch {
	case t.Wrong != None:
		return stand{Blocked, t.Wrong, t.WrongWhy}
	case t.Held:
		return stand{Waiting, None, "on hold"}
	case now.Before(t.After):
		return stand{Waiting, None, "until " + t.After.Format(time.RFC3339)}
	}
	for _, id := range t.Depends {
		if d := w.tasks[id]; d == nil || !d.State.Landed() {
			return stand{Waiting, None, "for " + id}
		}
	}
	if t.State == Queued {
		return stand{Queued, t.Reason, t.Message}
	}
	return stand{Queued, None, ""}
}

// A moved task with the state it left.
type moved struct {
	From State
	Task Task
}

// wake moves the tasks whose time has come, and puts queued and waiting ones
// where their conditions say. With o.Now failed and throttled tasks that are
// not to be skipped come before their time. Tasks that left TODO.md rest.
func (w *writing) wake(now time.Time, o ClaimOptions) (list []moved, err error) {
	for _, t := range sorted(w.tasks) {
		if !t.Present || !t.ready(now, o.Now && !o.Skip[t.ID]) {
			continue
		}
		to := w.gate(t, now)
		if to == (stand{t.State, t.Reason, t.Message}) {
			continue
		}
		n := t.clone()
		n.travel(to, now)
		if err := w.save(&n); err != nil {
			return list, err
		}
		if n.State != t.State {
			list = append(list, moved{From: t.State, Task: n.clone()})
		}
	}
	return list, nil
}

// ready reports whether only the gate stands between t and the queue.
func (t *Task) ready(now time.Time, early bool) bool {
	due := !t.NotBefore.IsZero() && !now.Before(t.NotBefore)
	switch t.State {
	case Queued, Waiting:
		return true
	case Failed, Throttled:
		return due || early
	case Paused:
		return due
	default:
		return false
	}
}
