package task

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"hob/journal/durable"
)

var (
	// ErrIllegal is wrapped by the refusal of a move that the table does not
	// have, or of a reason that does not belong to the state.
	ErrIllegal = errors.New("illegal move")
	// ErrNoTask is wrapped when an id belongs to no task.
	ErrNoTask = errors.New("no such task")
)

// Bounds of trying again.
const (
	firstBackoff = 5 * time.Minute
	maxBackoff   = 6 * time.Hour
	// maxCrashes in a row, and the item is taken for their cause.
	maxCrashes = 3
)

// A Store holds the tasks of one repository. Its methods may be called from
// any goroutine; each that returns nil has its result on disk, and one that
// returns an error may be called again.
type Store struct {
	folder  folder
	damaged []Damage

	mu         sync.Mutex // orders writers, so it is held while they write; readers never take it
	bystanders []bystander
	serial     int

	// tasks is what readers see. Neither the map nor the tasks in it change.
	tasks atomic.Pointer[map[string]*Task]
}

// Open reads all tasks of dir, which holds nothing else and is made if it is
// missing. A damaged file is set aside ([Store.Damaged]); a file of a newer
// hob is an error ([ErrSchema]). What a killed process left without use is
// removed. One process at a time opens a store: hold the lock of the state
// folder, or use [Read].
func Open(dir string, fs durable.FS) (*Store, error) {
	s := &Store{folder: folder{dir: filepath.Clean(dir), fs: fs}}
	if err := fs.MkdirAll(s.folder.dir, 0o700); err != nil {
		return nil, fmt.Errorf("make task folder: %w", err)
	}
	tasks, litter, err := s.folder.read(func(name string, cause error) error {
		kept, err := s.folder.setAside(name)
		s.damaged = append(s.damaged, Damage{Name: name, Kept: kept, Err: cause})
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := s.folder.remove(litter...); err != nil {
		return nil, err
	}
	s.bystanders = s.folder.readBystanders()
	for _, t := range tasks {
		s.serial = max(s.serial, t.Serial)
	}
	s.tasks.Store(&tasks)
	return s, nil
}

// Read returns the tasks of dir in the order of [Store.Claim] and touches
// nothing, so that it may be called beside a running hob. Damaged files are
// left out; a folder that is missing has no tasks.
func Read(dir string) ([]Task, error) {
	tasks, _, err := folder{dir: filepath.Clean(dir)}.read(func(string, error) error { return nil })
	if err != nil {
		return nil, err
	}
	return copies(tasks), nil
}

// Damaged lists the files that [Open] set aside.
func (s *Store) Damaged() []Damage { return slices.Clone(s.damaged) }

// Get returns the task with that id, or the one that had it before its item
// was reworded.
func (s *Store) Get(id string) (Task, bool) {
	tasks := *s.tasks.Load()
	if t := tasks[id]; t != nil {
		return t.clone(), true
	}
	for _, t := range sorted(tasks) {
		if slices.Contains(t.Former, id) {
			return t.clone(), true
		}
	}
	return Task{}, false
}

// List returns all tasks, those that ended too, in the order of [Store.Claim].
func (s *Store) List() []Task { return copies(*s.tasks.Load()) }

func copies(tasks map[string]*Task) []Task {
	list := make([]Task, 0, len(tasks))
	for _, t := range sorted(tasks) {
		list = append(list, t.clone())
	}
	return list
}

// sorted returns the tasks by priority, then by place in the file.
func sorted(tasks map[string]*Task) []*Task {
	return slices.SortedFunc(maps.Values(tasks), func(a, b *Task) int {
		return cmp.Or(
			cmp.Compare(a.Priority, b.Priority),
			cmp.Compare(a.Order, b.Order),
			cmp.Compare(a.ID, b.ID),
		)
	})
}

// ClaimOptions narrow or widen a claim. The zero value is the daemon's.
type ClaimOptions struct {
	Skip map[string]bool // ids not to hand out
	Now  bool            // take failed and throttled tasks before their time: a person asked
}

// Claim marks the first ready task, by priority and then file order, as
// preparing and returns it with one attempt more; ok is false when none is
// ready. The mark is on disk before Claim returns. Tasks whose time has come,
// and those that waited for one that landed, are ready. Sync comes first: a
// task that TODO.md called back is not claimed until Sync has seen to it.
func (s *Store) Claim(now time.Time, o ClaimOptions) (t Task, ok bool, err error) {
	err = s.write(func(w *writing) error {
		if _, err := w.wake(now, o); err != nil {
			return err
		}
		for _, c := range sorted(w.tasks) {
			if c.State != Queued || !c.Present || c.Ticked || c.Edited || o.Skip[c.ID] {
				continue
			}
			n := c.clone()
			n.enter(Preparing, None, "", now)
			n.NotBefore = time.Time{}
			n.Attempts++
			n.TotalAttempts++
			err := w.save(&n)
			t, ok = n, true
			return err
		}
		return nil
	})
	return t, ok && err == nil, err
}

// Move takes the task one step of the table and returns it as it stands then.
// edit, which may be nil, changes other fields in the same write; it sees the
// new state. A move that the table does not have, or a reason that does not
// belong to the state, wraps [ErrIllegal] and changes nothing.
//
// The counters that go with a move are the store's, whatever edit does to
// them: a task that goes back to queued as interrupted, or to throttled, gets
// its attempt back, and one that leaves its end for queued begins a new
// generation.
func (s *Store) Move(id string, to State, r Reason, message string, now time.Time, edit func(*Task)) (Task, error) {
	return s.change(id, func(t *Task) error {
		from := t.clone()
		if !Legal(from.State, to) {
			return fmt.Errorf("%w from %s to %s", ErrIllegal, from.State, to)
		}
		t.step(to, r, message, now)
		if err := t.apply(edit); err != nil {
			return err
		}
		t.count(from)
		return nil
	})
}

// Fail ends an attempt. The task is failed and tried again after [Backoff]. It
// is paused, with the same reason, when it has had limit attempts on this work,
// or when edit adds a fingerprint to Seen that is there already: the same
// change failed the same way, so a third try would buy nothing. limit 0 is no
// limit.
func (s *Store) Fail(id string, r Reason, message string, limit int, now time.Time, edit func(*Task)) (Task, error) {
	return s.change(id, func(t *Task) error {
		from := t.clone()
		if !Legal(from.State, Failed) {
			return fmt.Errorf("%w from %s to %s", ErrIllegal, from.State, Failed)
		}
		t.step(Failed, r, message, now)
		if err := t.apply(edit); err != nil {
			return err
		}
		t.count(from)
		if limit > 0 && t.Attempts >= limit || repeats(t.Seen) {
			t.step(Paused, r, t.Message, now)
			return nil
		}
		t.NotBefore = stamp(now).Add(Backoff(t.Attempts))
		return nil
	})
}

// repeats reports whether the newest of the fingerprints is not new.
func repeats(seen []string) bool {
	return len(seen) > 1 && slices.Contains(seen[:len(seen)-1], seen[len(seen)-1])
}

// Backoff is how long a failed task rests after so many attempts on the same
// work: 5 minutes, doubled with each attempt, 6 hours at most.
func Backoff(attempts int) time.Duration {
	d := firstBackoff
	for range attempts - 1 {
		if d = min(2*d, maxBackoff); d == maxBackoff {
			break
		}
	}
	return d
}

// Update changes what a task has taken so far and returns it. State and
// identity change by moves and by TODO.md only: an edit that touches them is
// refused.
func (s *Store) Update(id string, edit func(*Task)) (Task, error) {
	return s.change(id, func(t *Task) error { return t.apply(edit) })
}

// Unpark queues the blocked, paused and failed tasks for which pick says that
// the fact they stopped for has changed, with fresh attempts, and returns
// them. What is wrong with the item itself keeps it blocked.
func (s *Store) Unpark(now time.Time, pick func(Task) bool) (moved []Task, err error) {
	err = s.write(func(w *writing) error {
		for _, t := range sorted(w.tasks) {
			if t.State != Blocked && t.State != Paused && t.State != Failed || t.Wrong != None || !pick(t.clone()) {
				continue
			}
			n := t.clone()
			n.startAnew()
			n.travel(w.gate(&n, now), now)
			if err := w.save(&n); err != nil {
				return err
			}
			moved = append(moved, n)
		}
		return nil
	})
	return moved, err
}

// Recover settles what a killed process left: attempts under way go back to
// queued and are not counted; the third time in a row the task is paused, since
// it may be the cause. It returns the tasks it moved. A committing task stays:
// only git knows whether its commit exists. Call it once, before the first Sync.
func (s *Store) Recover(now time.Time) (moved []Task, err error) {
	err = s.write(func(w *writing) error {
		for _, t := range sorted(w.tasks) {
			if !t.State.Active() || t.State == Committing {
				continue
			}
			n := t.clone()
			n.crashed(now)
			if err := w.save(&n); err != nil {
				return err
			}
			moved = append(moved, n)
		}
		return nil
	})
	return moved, err
}

// Due returns the earliest time at which a resting task becomes ready by
// itself; ok is false when none does.
func (s *Store) Due() (at time.Time, ok bool) {
	for _, t := range *s.tasks.Load() {
		when := t.NotBefore
		if t.State == Waiting && !t.Held {
			when = t.After
		}
		if t.State.Active() || !t.Present || when.IsZero() {
			continue
		}
		if !ok || when.Before(at) {
			at, ok = when, true
		}
	}
	return at, ok
}

// change writes what edit makes of one task.
func (s *Store) change(id string, edit func(*Task) error) (changed Task, err error) {
	err = s.write(func(w *writing) error {
		t := w.tasks[id]
		if t == nil {
			return fmt.Errorf("task %s: %w", id, ErrNoTask)
		}
		n := t.clone()
		if err := edit(&n); err != nil {
			return fmt.Errorf("task %s: %w", id, err)
		}
		if !n.Reason.fits(n.State) {
			return fmt.Errorf("task %s: %w: reason %q in state %s", id, ErrIllegal, n.Reason, n.State)
		}
		err := w.save(&n)
		changed = n
		return err
	})
	if err != nil {
		return Task{}, err
	}
	return changed, nil
}

// A writing is one writer's turn. Readers see its result when it ends.
type writing struct {
	*Store

	tasks map[string]*Task
}

// write gives f its turn. What f saved before an error stays: it is on disk.
func (s *Store) write(f func(*writing) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := &writing{Store: s, tasks: maps.Clone(*s.tasks.Load())}
	err := f(w)
	s.tasks.Store(&w.tasks)
	return err
}

// save puts a task on disk, then into the index. n learns its revision.
func (w *writing) save(n *Task) error {
	if old := w.tasks[n.ID]; old == nil || !same(*old, *n) {
		n.Rev++
		if err := w.folder.write(n); err != nil {
			return fmt.Errorf("save task %s: %w", n.ID, err)
		}
	}
	kept := n.clone()
	w.tasks[n.ID] = &kept
	return nil
}
