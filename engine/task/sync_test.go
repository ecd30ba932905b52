package task_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hob/engine/task"
	"hob/engine/todo"
)

// ids lists what a Sync reported, as "list:id" in the order of Changes.
func ids(c task.Changes) []string {
	got := []string{}
	add := func(list string, tasks []task.Task) {
		for _, t := range tasks {
			got = append(got, list+":"+t.ID)
		}
	}
	add("queued", c.Queued)
	add("parked", c.Parked)
	for _, r := range c.Renamed {
		got = append(got, "renamed:"+r.From+">"+r.To.ID)
	}
	add("withdrawn", c.Withdrawn)
	add("accepted", c.Accepted)
	add("recalled", c.Recalled)
	add("ticked", c.Ticked)
	return got
}

// TestSyncOneItem follows one item through a change of TODO.md, from each
// state it can be in.
func TestSyncOneItem(t *testing.T) {
	const (
		plain  = "- [ ] fix the dial ^a\n"
		edited = "- [ ] fix the dial ^a\n  it sticks\n"
		ticked = "- [x] fix the dial ^a\n"
		held   = "- [~] fix the dial ^a\n"
		wrong  = "- [ ] fix the dial {budget=much} ^a\n"
		gone   = "- [x] something else\n"
	)
	type in struct {
		state task.State
		todo  string
	}
	for _, tc := range []struct {
		from, to, after task.State
		todo            string
		recall          task.Recall
	}{
		{from: task.Queued, todo: edited, to: task.Queued},
		{from: task.Queued, todo: ticked, to: task.Accepted},
		{from: task.Queued, todo: held, to: task.Waiting, after: task.Queued},
		{from: task.Queued, todo: wrong, to: task.Blocked, after: task.Queued},
		{from: task.Queued, todo: gone, to: task.Withdrawn, after: task.Queued},

		{from: task.Blocked, todo: plain, to: task.Blocked},
		{from: task.Blocked, todo: edited, to: task.Queued},
		{from: task.Blocked, todo: ticked, to: task.Accepted},
		{from: task.Blocked, todo: gone, to: task.Withdrawn, after: task.Queued},

		{from: task.Failed, todo: plain, to: task.Failed},
		{from: task.Failed, todo: edited, to: task.Queued},
		{from: task.Failed, todo: ticked, to: task.Accepted},
		{from: task.Failed, todo: gone, to: task.Withdrawn, after: task.Queued},
		{from: task.Failed, todo: wrong, to: task.Blocked, after: task.Queued},

		{from: task.Paused, todo: plain, to: task.Paused},
		{from: task.Paused, todo: held, to: task.Waiting, after: task.Queued},
		{from: task.Paused, todo: edited, to: task.Queued},
		{from: task.Paused, todo: ticked, to: task.Accepted},
		{from: task.Paused, todo: gone, to: task.Withdrawn, after: task.Queued},
		{from: task.Paused, todo: wrong, to: task.Blocked, after: task.Queued},

		{from: task.Noop, todo: plain, to: task.Noop},
		{from: task.Noop, todo: edited, to: task.Queued},
		{from: task.Noop, todo: ticked, to: task.Accepted},
		{from: task.Noop, todo: gone, to: task.Withdrawn, after: task.Queued},

		{from: task.Throttled, todo: plain, to: task.Throttled},
		{from: task.Throttled, todo: edited, to: task.Queued},
		{from: task.Throttled, todo: ticked, to: task.Accepted},
		{from: task.Throttled, todo: gone, to: task.Withdrawn, after: task.Queued},

		{from: task.Preparing, todo: gone, to: task.Preparing, recall: task.Gone},
		{from: task.Running, todo: plain, to: task.Running},
		{from: task.Running, todo: edited, to: task.Running, recall: task.Stale},
		{from: task.Running, todo: wrong, to: task.Running, recall: task.Stale},
		{from: task.Running, todo: ticked, to: task.Running, recall: task.Done},
		{from: task.Running, todo: held, to: task.Running, recall: task.OnHold},
		{from: task.Running, todo: gone, to: task.Running, recall: task.Gone},
		{from: task.Validating, todo: gone, to: task.Validating, recall: task.Gone},
		{from: task.Committing, todo: ticked, to: task.Committing, recall: task.Done},

		{from: task.Committed, todo: edited, to: task.Committed},
		{from: task.Committed, todo: gone, to: task.Committed, after: task.Committed},
		{from: task.Pushed, todo: gone, to: task.Pushed, after: task.Pushed},
		{from: task.Pushed, todo: ticked, to: task.Pushed, after: task.Pushed},
		{from: task.Merged, todo: plain, to: task.Merged},
		{from: task.Merged, todo: edited, to: task.Merged},
		{from: task.Merged, todo: gone, to: task.Merged, after: task.Merged},
		{from: task.Merged, todo: ticked, to: task.Merged, after: task.Queued},
		{from: task.Accepted, todo: ticked, to: task.Accepted, after: task.Queued},
		{from: task.Rejected, todo: plain, to: task.Rejected},
		{from: task.Rejected, todo: ticked, to: task.Rejected, after: task.Rejected},
		{from: task.Rejected, todo: edited, to: task.Queued},
		{from: task.Withdrawn, todo: plain, to: task.Withdrawn},
		{from: task.Withdrawn, todo: edited, to: task.Queued},
	} {
		name := string(tc.from) + "/" + strings.TrimSpace(tc.todo)
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir)
			sync(t, s, plain)
			drive(t, s, tc.from)
			for _, step := range []in{{tc.to, tc.todo}, {tc.after, plain}} {
				if step.state == "" {
					continue
				}
				sync(t, s, step.todo)
				got := get(t, s, "a")
				if got.State != step.state {
					t.Fatalf("after %q: %s (%s), want %s", step.todo, got.State, got.Message, step.state)
				}
				if step.state == tc.to && got.Recall() != tc.recall {
					t.Errorf("after %q: recall %q, want %q", step.todo, got.Recall(), tc.recall)
				}
				// The disk knows as much, and saying it twice changes nothing.
				again := open(t, dir)
				if c := sync(t, again, step.todo); len(ids(c)) != 0 {
					t.Errorf("the same file again: %v", ids(c))
				}
				if diff := cmp.Diff(got, get(t, again, "a")); diff != "" {
					t.Errorf("after reopening (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// drive takes the only task of s to a state.
func drive(t *testing.T, s *task.Store, to task.State) {
	t.Helper()
	move := func(to task.State, r task.Reason) {
		t.Helper()
		if _, err := s.Move("a", to, r, "", start, func(t *task.Task) {
			if to == task.Failed || to == task.Throttled {
				t.NotBefore = start.Add(time.Hour)
			}
		}); err != nil {
			t.Fatal(err)
		}
	}
	switch to {
	case task.Queued:
	case task.Preparing, task.Running, task.Validating, task.Committing, task.Committed, task.Pushed, task.Merged:
		reach(t, s, start, "a", to)
	case task.Accepted, task.Withdrawn:
		move(to, task.None)
	case task.Rejected:
		reach(t, s, start, "a", task.Pushed)
		move(to, task.None)
	default:
		begin(t, s, start, "a")
		move(to, reasonFor(to))
	}
}

func TestSyncReports(t *testing.T) {
	s := open(t, t.TempDir())
	for _, tc := range []struct {
		name, todo string
		want       []string
	}{
		{"first", "- [ ] sort imports ^s\n- [x] pin node\n- [~] later ^l\n", []string{"queued:s", "queued:l"}},
		{"nothing new", "- [ ] sort imports ^s\n- [x] pin node\n- [~] later ^l\n", []string{}},
		{"off hold", "- [ ] sort imports ^s\n- [x] pin node\n- [ ] later ^l\n", []string{"queued:l"}},
		{"ticked and removed", "- [x] sort imports ^s\n", []string{"withdrawn:l", "accepted:s"}},
		{"unticked", "- [ ] sort imports ^s\n", []string{"queued:s"}},
		{"twice the same id", "- [ ] sort imports ^s\n- [ ] sort exports ^s\n", []string{"parked:s"}},
	} {
		if got := ids(sync(t, s, tc.todo)); !cmp.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
	if got := get(t, s, "s"); got.Reason != task.DuplicateID || got.Generation != 2 {
		t.Errorf("blocked for %q in generation %d, want duplicate_id in 2", got.Reason, got.Generation)
	}
}

func TestRewordedItemKeepsItsHistory(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	sync(t, s, "- [ ] cache the map tiles on disk\n")
	old := s.List()[0].ID
	begin(t, s, start, old)
	if _, err := s.Fail(old, task.ValidatorsFailed, "", 1, start, func(t *task.Task) {
		t.CostMicroUSD, t.Runs, t.Seen = 700_000, []string{"r1"}, []string{"f1"}
	}); err != nil {
		t.Fatal(err)
	}
	c := sync(t, s, "- [ ] cache the map tiles on local disk\n")
	if len(c.Renamed) != 1 || c.Renamed[0].From != old || len(c.Withdrawn) != 0 {
		t.Fatalf("Sync reported %v", ids(c))
	}
	s = open(t, dir)
	got := s.List()
	if len(got) != 1 {
		t.Fatalf("%d tasks, want 1", len(got))
	}
	n := got[0]
	if n.ID == old || n.State != task.Queued || n.Attempts != 0 || n.TotalAttempts != 1 ||
		n.CostMicroUSD != 700_000 || !cmp.Equal(n.Runs, []string{"r1"}) || n.Seen != nil {
		t.Errorf("the task became %+v", n)
	}
	if by, ok := s.Get(old); !ok || by.ID != n.ID {
		t.Errorf("Get(%q) = %q, %v, want the task by its former id", old, by.ID, ok)
	}
}

func TestRewordedWhileUnderWay(t *testing.T) {
	s := open(t, t.TempDir())
	const after = "- [ ] cache the map tiles on local disk\n"
	sync(t, s, "- [ ] cache the map tiles on disk\n")
	old := s.List()[0].ID
	begin(t, s, start, old)
	for range 2 {
		sync(t, s, after)
		if got := get(t, s, old); len(s.List()) != 1 || got.ID != old || got.Recall() != task.Stale {
			t.Fatalf("while under way: %+v", s.List())
		}
	}
	if _, err := s.Move(old, task.Queued, task.Interrupted, "", start, nil); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := s.Claim(start, task.ClaimOptions{}); ok || err != nil {
		t.Errorf("claimed the old text: %v", err)
	}
	c := sync(t, s, after)
	if len(c.Renamed) != 1 || len(s.List()) != 1 || s.List()[0].State != task.Queued {
		t.Errorf("after its end: %v, %+v", ids(c), s.List())
	}
}

func TestRewordedIntoAnEndedTask(t *testing.T) {
	s := open(t, t.TempDir())
	sync(t, s, "- [ ] cache the map tiles on local disk\n")
	first := s.List()[0].ID
	if _, err := s.Update(first, func(t *task.Task) { t.CostMicroUSD, t.Runs = 5, []string{"r1"} }); err != nil {
		t.Fatal(err)
	}
	sync(t, s, "- [ ] nothing of the kind\n")
	sync(t, s, "- [ ] cache the map tiles on disk\n")
	second := s.List()
	for _, o := range second {
		if o.State == task.Queued {
			if _, err := s.Update(o.ID, func(t *task.Task) { t.CostMicroUSD, t.Runs = 7, []string{"r2"} }); err != nil {
				t.Fatal(err)
			}
		}
	}
	sync(t, s, "- [ ] cache the map tiles on local disk\n")
	if got := get(t, s, first); got.CostMicroUSD != 12 || !cmp.Equal(got.Runs, []string{"r1", "r2"}) || got.State != task.Queued {
		t.Errorf("both together are %+v", got)
	}
}

// An item done before hob saw it is no task, and must not be taken for the new
// words of one.
func TestDoneItemIsNoCandidateForRewording(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	const done = "- [x] cache the map tiles on the local disk\n"
	sync(t, s, done+"- [ ] cache the map tiles on disk\n")
	if n := len(s.List()); n != 1 {
		t.Fatalf("%d tasks, want 1", n)
	}
	s = open(t, dir)
	c := sync(t, s, done)
	if len(c.Withdrawn) != 1 || len(c.Renamed) != 0 {
		t.Errorf("removing the open one: %v, want it withdrawn", ids(c))
	}
}

func TestDependencies(t *testing.T) {
	s := open(t, t.TempDir())
	const text = "- [ ] roof ^roof {depends=walls}\n- [ ] walls ^walls\n- [ ] sign ^sign {depends=plot}\n- [x] plot ^plot\n"
	sync(t, s, text)
	want := map[string]task.State{"roof": task.Waiting, "walls": task.Queued, "sign": task.Queued}
	if diff := cmp.Diff(want, states(s)); diff != "" {
		t.Errorf("at first (-want +got):\n%s", diff)
	}
	reach(t, s, start, "walls", task.Committed)
	if c := sync(t, s, text); len(ids(c)) != 0 {
		t.Errorf("a commit that is not pushed freed %v", ids(c))
	}
	if _, err := s.Move("walls", task.Pushed, task.None, "", start, nil); err != nil {
		t.Fatal(err)
	}
	skip := map[string]bool{"sign": true}
	if c, ok, err := s.Claim(start, task.ClaimOptions{Skip: skip}); err != nil || !ok || c.ID != "roof" {
		t.Errorf("Claim = %q, %v, %v, want roof", c.ID, ok, err)
	}
}

func TestSplitItemsGoInOrder(t *testing.T) {
	s := open(t, t.TempDir())
	const text = "- [ ] house ^house\n  split: true\n  - [ ] walls ^walls\n    - [ ] a door ^door\n  - [ ] roof ^roof\n- [ ] party ^party {depends=house}\n"
	sync(t, s, text)
	want := map[string]task.State{"walls": task.Queued, "roof": task.Waiting, "party": task.Waiting}
	if diff := cmp.Diff(want, states(s)); diff != "" {
		t.Fatalf("at first (-want +got):\n%s", diff)
	}
	for _, next := range []string{"walls", "roof", "party"} {
		c, ok, err := s.Claim(start, task.ClaimOptions{})
		if err != nil || !ok || c.ID != next {
			t.Fatalf("Claim = %q, %v, %v, want %s", c.ID, ok, err, next)
		}
		for _, to := range []task.State{task.Running, task.Validating, task.Committing, task.Committed, task.Pushed} {
			if _, err := s.Move(next, to, task.None, "", start, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestAfter(t *testing.T) {
	s := open(t, t.TempDir())
	when := start.Add(48 * time.Hour)
	sync(t, s, "- [ ] renew ^a {after="+when.Format(time.RFC3339)+"}\n")
	if got := get(t, s, "a"); got.State != task.Waiting {
		t.Fatalf("%s, want waiting", got.State)
	}
	if due, ok := s.Due(); !ok || !due.Equal(when) {
		t.Errorf("Due() = %s, %v, want %s", due, ok, when)
	}
	if _, ok, _ := s.Claim(when.Add(-time.Second), task.ClaimOptions{Now: true}); ok {
		t.Error("claimed before its time")
	}
	if _, ok, err := s.Claim(when, task.ClaimOptions{}); !ok || err != nil {
		t.Errorf("not claimed at its time: %v", err)
	}
}

func TestWithdrawnAndBackKeepsItsAttempts(t *testing.T) {
	s := open(t, t.TempDir())
	const text = "- [ ] a ^a\n"
	sync(t, s, text)
	begin(t, s, start, "a")
	if _, err := s.Fail("a", task.TurnsSpent, "", 1, start, nil); err != nil {
		t.Fatal(err)
	}
	sync(t, s, "another branch has another list\n")
	sync(t, s, text)
	if got := get(t, s, "a"); got.State != task.Queued || got.Attempts != 1 || got.Generation != 2 {
		t.Errorf("%s with %d attempts in generation %d, want queued, 1, 2", got.State, got.Attempts, got.Generation)
	}
}

// Looking at the agent branch shows hob's own ticks, and looking away hides
// them. Neither may make hob do the item again.
func TestOwnTicksComeAndGo(t *testing.T) {
	s := open(t, t.TempDir())
	sync(t, s, "- [ ] a ^a\n")
	reach(t, s, start, "a", task.Pushed)
	for range 2 {
		if c := sync(t, s, "- [x] a ^a\n"); !cmp.Equal(ids(c), []string{"ticked:a"}) {
			t.Errorf("on the agent branch: %v, want ticked:a", ids(c))
		}
		if c := sync(t, s, "- [ ] a ^a\n"); len(ids(c)) != 0 {
			t.Errorf("back again: %v", ids(c))
		}
	}
	if got := get(t, s, "a"); got.State != task.Pushed || got.Generation != 1 {
		t.Errorf("%s in generation %d, want pushed in 1", got.State, got.Generation)
	}
}

func TestTooLargeFileChangesNothing(t *testing.T) {
	s := open(t, t.TempDir())
	sync(t, s, "- [ ] a ^a\n")
	before := s.List()
	if c := sync(t, s, strings.Repeat("x", todo.MaxBytes+1)); len(ids(c)) != 0 {
		t.Errorf("Sync reported %v", ids(c))
	}
	if diff := cmp.Diff(before, s.List()); diff != "" {
		t.Errorf("tasks (-want +got):\n%s", diff)
	}
}
