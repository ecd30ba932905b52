package task_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"hob/engine/task"
	"hob/engine/todo"
	"hob/journal/durable"
)

// unsynced leaves out the waiting for the device: these tests cut a run
// between calls, not the power.
type unsynced struct{ durable.FS }

func (unsynced) SyncDir(string) error { return nil }

func (u unsynced) Create(name string, perm os.FileMode) (durable.File, error) {
	f, err := u.FS.Create(name, perm)
	return unsyncedFile{f}, err
}

type unsyncedFile struct{ durable.File }

func (unsyncedFile) Sync() error { return nil }

// story is a life of three items, one store call each.
func story(s *task.Store) []func() error {
	list := func(text string) func() error {
		return func() error {
			_, err := s.Sync(todo.Parse([]byte(text)), start)
			return err
		}
	}
	claim := func() error {
		_, _, err := s.Claim(start, task.ClaimOptions{})
		return err
	}
	move := func(id string, to task.State, r task.Reason) func() error {
		return func() error {
			_, err := s.Move(id, to, r, "", start, nil)
			return err
		}
	}
	return []func() error{
		list("- [ ] a ^a\n- [ ] cache the map tiles on disk\n- [ ] c ^c\n"),
		claim,
		move("a", task.Running, task.None),
		func() error {
			_, err := s.Update("a", func(t *task.Task) { t.CostMicroUSD += 100; t.Runs = append(t.Runs, "r1") })
			return err
		},
		list("- [ ] a ^a\n- [ ] cache the map tiles on local disk\n- [x] c ^c\n"),
		move("a", task.Validating, task.None),
		func() error {
			_, err := s.Fail("a", task.ValidatorsFailed, "red", 3, start, nil)
			return err
		},
		list("- [ ] a ^a\n  and more\n- [ ] cache the map tiles on fast local disk\n"),
		claim,
		func() error {
			_, err := s.Recover(start)
			return err
		},
		list("- [x] c ^c\n"),
	}
}

// bySerial is what counts of the tasks: who they are across rewordings.
func bySerial(list []task.Task) map[int]task.Task {
	m := map[int]task.Task{}
	for _, t := range list {
		t.Order = 0 // on disk it may lag behind
		m[t.Serial] = t
	}
	return m
}

// TestCrashAtEveryCall stops the story at each call of the file system and
// opens the files again: each task is as before the step or as after it, and
// the story can be told to its end from there.
func TestCrashAtEveryCall(t *testing.T) {
	disk := unsynced{durable.OS()}
	told, err := task.Open(t.TempDir(), disk)
	if err != nil {
		t.Fatal(err)
	}
	after := []map[int]task.Task{{}}
	for _, step := range story(told) {
		if err := step(); err != nil {
			t.Fatal(err)
		}
		after = append(after, bySerial(told.List()))
	}
	for name, crash := range map[string]func(durable.FS, int) *durable.Crash{
		"killed": durable.NewCrash, "power cut": durable.NewPowerCut,
	} {
		t.Run(name, func(t *testing.T) {
			for n := 0; ; n++ {
				dir := filepath.Join(t.TempDir(), "tasks")
				fs := crash(disk, n)
				at, err := tell(dir, fs)
				if !fs.Crashed() {
					if err != nil || n == 0 {
						t.Fatalf("after %d calls: %v", n, err)
					}
					return
				}
				if !errors.Is(err, durable.ErrCrashed) {
					t.Fatalf("call %d: error %v, want ErrCrashed", n, err)
				}
				s, err := task.Open(dir, disk)
				if err != nil {
					t.Fatalf("call %d: reopen: %v", n, err)
				}
				intact(t, s, n, after[at], after[at+1])
				for _, step := range story(s)[at:] {
					// A claim that was on disk already leaves nothing to move.
					if err := step(); err != nil && !errors.Is(err, task.ErrIllegal) {
						t.Fatalf("call %d: going on: %v", n, err)
					}
				}
				if litter := hidden(t, dir); len(litter) > 0 {
					t.Fatalf("call %d: left %v", n, litter)
				}
			}
		})
	}
}

// intact reports each task of s that is neither as before nor as after a step.
func intact(t *testing.T, s *task.Store, call int, before, after map[int]task.Task) {
	t.Helper()
	if d := s.Damaged(); len(d) > 0 {
		t.Fatalf("call %d: damaged %v", call, d)
	}
	found := bySerial(s.List())
	for serial, was := range before {
		got, ok := found[serial]
		if !ok {
			t.Fatalf("call %d: lost task %s", call, was.ID)
		}
		if !cmp.Equal(got, was) && !cmp.Equal(got, after[serial]) {
			t.Fatalf("call %d: task %s is neither as before nor as after:\n%s", call, was.ID, cmp.Diff(was, got))
		}
	}
}

// tell runs the story and returns the index of the step that failed.
func tell(dir string, fs durable.FS) (at int, err error) {
	s, err := task.Open(dir, fs)
	if err != nil {
		return 0, err
	}
	for i, step := range story(s) {
		if err := step(); err != nil {
			return i, err
		}
	}
	return 0, nil
}

func hidden(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names
}

// A world drives a store at random beside what must hold of it at any time.
type world struct {
	dir   string
	disk  durable.FS
	store *task.Store
	now   time.Time
	last  map[int]task.Task
}

func TestStateMachine(t *testing.T) {
	base := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp(base, "")
		if err != nil {
			t.Fatal(err)
		}
		w := &world{dir: dir, disk: unsynced{durable.OS()}, now: start, last: map[int]task.Task{}}
		w.reopen(t)
		t.Repeat(map[string]func(*rapid.T){
			"sync":    func(t *rapid.T) { w.must(t, w.sync(t)) },
			"claim":   func(t *rapid.T) { w.must(t, w.claim(t)) },
			"move":    func(t *rapid.T) { w.must(t, w.move(t)) },
			"fail":    func(t *rapid.T) { w.must(t, w.fail(t)) },
			"recover": func(t *rapid.T) { w.must(t, w.recover()) },
			"crash":   w.crash,
			"reopen":  w.reopen,
			"wait": func(t *rapid.T) {
				w.now = w.now.Add(time.Duration(rapid.IntRange(-60, 600).Draw(t, "minutes")) * time.Minute)
			},
			"": w.check,
		})
	})
}

func (w *world) must(t *rapid.T, err error) {
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) sync(t *rapid.T) error {
	var b strings.Builder
	for i := range rapid.IntRange(0, 5).Draw(t, "items") {
		box := rapid.SampledFrom([]string{" ", " ", "x", "~"}).Draw(t, "box")
		text := rapid.SampledFrom([]string{
			"cache the map tiles on disk", "cache the map tiles on local disk", "cache all the map tiles on disk",
			"sort imports ^s", "sort exports ^s", "pin node {depends=s}", "pin node {budget=much}", "",
		}).Draw(t, "text")
		body := rapid.SampledFrom([]string{"", "", "  more of it\n"}).Draw(t, "body")
		fmt.Fprintf(&b, "%s- [%s] %s\n%s", strings.Repeat(" ", 2*(i%2)), box, text, body)
	}
	_, err := w.store.Sync(todo.Parse([]byte(b.String())), w.now)
	return err
}

func (w *world) claim(t *rapid.T) error {
	c, ok, err := w.store.Claim(w.now, task.ClaimOptions{Now: rapid.Bool().Draw(t, "now")})
	if err == nil && ok && (c.State != task.Preparing || !c.Present || c.Ticked || c.Held || c.Wrong != task.None) {
		t.Fatalf("claimed %+v", c)
	}
	return err
}

// any picks a task; ok is false when there is none.
func (w *world) any(t *rapid.T) (task.Task, bool) {
	list := w.store.List()
	if len(list) == 0 {
		return task.Task{}, false
	}
	return rapid.SampledFrom(list).Draw(t, "task"), true
}

func (w *world) move(t *rapid.T) error {
	it, ok := w.any(t)
	if !ok {
		return nil
	}
	to := rapid.SampledFrom(task.States()).Draw(t, "to")
	got, err := w.store.Move(it.ID, to, reasonFor(to), "", w.now, nil)
	switch {
	case !task.Legal(it.State, to) && errors.Is(err, task.ErrIllegal):
		return nil
	case err == nil && (got.State != to || !task.Legal(it.State, to)):
		t.Fatalf("moved from %s to %s, asked for %s", it.State, got.State, to)
	}
	return err
}

func (w *world) fail(t *rapid.T) error {
	it, ok := w.any(t)
	if !ok || !task.Legal(it.State, task.Failed) {
		return nil
	}
	_, err := w.store.Fail(it.ID, task.NoProgress, "", 3, w.now, func(t *task.Task) { t.CostMicroUSD += 10 })
	return err
}

func (w *world) recover() error {
	_, err := w.store.Recover(w.now)
	return err
}

// crash does something on a file system that dies under it, and goes on from
// what is on disk.
func (w *world) crash(t *rapid.T) {
	fs := durable.NewCrash(w.disk, rapid.IntRange(0, 30).Draw(t, "calls"))
	s, err := task.Open(w.dir, fs)
	if err == nil {
		w.store = s
		do := rapid.SampledFrom([]func(*rapid.T) error{
			w.sync, w.claim, w.move, w.fail, func(*rapid.T) error { return w.recover() },
		}).Draw(t, "what")
		err = do(t)
	}
	if fs.Crashed() != (err != nil) || err != nil && !errors.Is(err, durable.ErrCrashed) {
		t.Fatalf("crashed %v with error %v", fs.Crashed(), err)
	}
	w.store, err = task.Open(w.dir, w.disk)
	if err != nil {
		t.Fatal(err)
	}
}

// reopen finds on disk what the store knew.
func (w *world) reopen(t *rapid.T) {
	before := w.store
	var err error
	if w.store, err = task.Open(w.dir, w.disk); err != nil {
		t.Fatal(err)
	}
	if before == nil {
		return
	}
	if diff := cmp.Diff(bySerial(before.List()), bySerial(w.store.List())); diff != "" {
		t.Fatalf("on disk (-store +disk):\n%s", diff)
	}
}

// check compares each task with its last self.
func (w *world) check(t *rapid.T) {
	if d := w.store.Damaged(); len(d) > 0 {
		t.Fatalf("damaged: %v", d)
	}
	found := bySerial(w.store.List())
	ids := map[string]bool{}
	for serial, n := range found {
		if ids[n.ID] {
			t.Fatalf("two tasks %s", n.ID)
		}
		ids[n.ID] = true
		if min(n.Attempts, n.Interruptions, n.Crashes) < 0 || n.Attempts > n.TotalAttempts {
			t.Fatalf("counters of %+v", n)
		}
		was, ok := w.last[serial]
		if !ok {
			continue
		}
		if n.CostMicroUSD < was.CostMicroUSD || n.TotalAttempts < was.TotalAttempts || n.Generation < was.Generation || n.Rev < was.Rev {
			t.Fatalf("history shrank from %+v to %+v", was, n)
		}
		if !reachable(was.State, n.State) {
			t.Fatalf("%s went from %s to %s", n.ID, was.State, n.State)
		}
	}
	for serial, was := range w.last {
		// A reworded item may take the id, and with it the account, of one that ended.
		if _, ok := found[serial]; !ok && !ids[was.ID] {
			t.Fatalf("lost task %s", was.ID)
		}
	}
	w.last = found
}

// reachable reports whether one step of a world may lead from one state to
// the other: at most three moves, the last of them being a claim.
func reachable(from, to task.State) bool {
	near := []task.State{from}
	for range 3 {
		for _, s := range slices.Clone(near) {
			for _, next := range task.States() {
				if task.Legal(s, next) {
					near = append(near, next)
				}
			}
		}
	}
	return slices.Contains(near, to)
}
