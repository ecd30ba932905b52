package task_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hob/engine/task"
	"hob/engine/todo"
	"hob/journal/durable"
)

// start is any moment; the tests advance from it by hand.
var start = time.Date(2026, 11, 30, 20, 0, 0, 0, time.UTC)

// table is the list of legal moves, kept apart from the one in the code.
const table = `
queued: waiting blocked preparing withdrawn accepted
waiting: queued blocked withdrawn accepted
blocked: queued withdrawn accepted
preparing: running blocked failed throttled queued withdrawn
running: validating noop failed blocked paused throttled queued withdrawn
validating: committing repairing failed paused blocked queued
repairing: validating noop failed blocked paused throttled queued
throttled: preparing queued withdrawn
failed: queued paused withdrawn
paused: queued withdrawn accepted rejected
noop: queued withdrawn accepted
committing: committed paused queued
committed: pushed merged rejected accepted
pushed: merged accepted rejected committed
merged: queued
accepted: queued
rejected: queued
withdrawn: queued
`

func legal() map[task.State][]task.State {
	moves := map[task.State][]task.State{}
	for line := range strings.Lines(strings.TrimSpace(table)) {
		from, to, _ := strings.Cut(line, ":")
		for s := range strings.FieldsSeq(to) {
			moves[task.State(from)] = append(moves[task.State(from)], task.State(s))
		}
	}
	return moves
}

func TestLegalOverAllPairs(t *testing.T) {
	want := legal()
	if len(want) != len(task.States()) {
		t.Fatalf("States() has %d states, the table %d", len(task.States()), len(want))
	}
	for _, from := range append(task.States(), "unheard of", "") {
		for _, to := range append(task.States(), "unheard of", "") {
			if got := task.Legal(from, to); got != slices.Contains(want[from], to) {
				t.Errorf("Legal(%q, %q) = %v, want %v", from, to, got, !got)
			}
		}
	}
}

// reasonFor is a reason that a task may have in the state.
func reasonFor(s task.State) task.Reason {
	for _, r := range task.Reasons() {
		if slices.Contains(r.States(), s) {
			return r
		}
	}
	return task.None
}

func TestMoveOverAllPairs(t *testing.T) {
	for _, from := range task.States() {
		for _, to := range task.States() {
			dir := t.TempDir()
			place(t, dir, task.Task{ID: "a", State: from, Reason: reasonFor(from), Present: true})
			s := open(t, dir)
			before := get(t, s, "a")
			moved, err := s.Move("a", to, reasonFor(to), "why", start, nil)
			if task.Legal(from, to) {
				if err != nil || moved.State != to || moved.Message != "why" || !moved.Since.Equal(start) {
					t.Errorf("Move from %s to %s = %+v, %v", from, to, moved, err)
				}
			} else if !errors.Is(err, task.ErrIllegal) {
				t.Errorf("Move from %s to %s: error %v, want ErrIllegal", from, to, err)
			} else {
				moved = before
			}
			if diff := cmp.Diff(moved, get(t, open(t, dir), "a")); diff != "" {
				t.Errorf("on disk after %s to %s (-want +got):\n%s", from, to, diff)
			}
		}
	}
}

func TestMoveRefusesReasonOfAnotherState(t *testing.T) {
	s := open(t, t.TempDir())
	sync(t, s, "- [ ] a ^a\n")
	for _, tc := range []struct {
		to     task.State
		reason task.Reason
	}{
		{task.Blocked, task.None},
		{task.Blocked, task.BudgetDay},
		{task.Blocked, "made_up"},
		{task.Blocked, task.Disk},
		{task.Waiting, task.Auth},
	} {
		if _, err := s.Move("a", tc.to, tc.reason, "", start, nil); !errors.Is(err, task.ErrIllegal) {
			t.Errorf("Move to %s for %q: error %v, want ErrIllegal", tc.to, tc.reason, err)
		}
	}
	if _, err := s.Move("b", task.Blocked, task.Auth, "", start, nil); !errors.Is(err, task.ErrNoTask) {
		t.Errorf("Move of an unknown task: error %v, want ErrNoTask", err)
	}
}

func TestReasons(t *testing.T) {
	exists := []string{
		"hob trust", "hob status", "hob show TASK", "hob config check", "hob once", "hob run", "hob todo list", "hob runs list",
	}
	command := regexp.MustCompile("`(hob [^`]*)`")
	bare := regexp.MustCompile(`\bhob (retry|resume|answer|drop|accept|raise|undo|logs|doctor|diff)\b`)
	seen := map[task.Reason]bool{}
	for _, r := range task.Reasons() {
		hint := r.Hint()
		if seen[r] {
			t.Errorf("%s is listed twice", r)
		}
		seen[r] = true
		if hint == "" || strings.ContainsAny(hint, "\n\r") || len(hint) > 200 {
			t.Errorf("hint of %s is %q, want one line of at most 200 bytes", r, hint)
		}
		for _, m := range command.FindAllStringSubmatch(hint, -1) {
			if !slices.Contains(exists, m[1]) {
				t.Errorf("hint of %s names %q, which does not exist", r, m[1])
			}
		}
		if bare.MatchString(hint) {
			t.Errorf("hint of %s names a command that does not exist: %q", r, hint)
		}
	}
	if task.None.Hint() != "" || len(task.None.States()) != 0 || task.Reason("made_up").Hint() != "" {
		t.Error("None and unknown reasons must have no hint and no state")
	}
}

func TestReasonStates(t *testing.T) {
	const want = `
tests_weakened scope_protected scope_outside too_large secret_added validator_mutates api_break: paused
validators_failed edits_refused script_mismatch model_unusable model_request no_progress repeat_call turns_spent wall_spent context_exhausted model_refused internal: failed paused
budget_run budget_item budget_day budget_month crash_loop security_refused: paused
nothing_to_do claimed_without_change: noop
no_commits todo_unreadable repo_unsupported bad_attr duplicate_id dependency_cycle question dependencies_changed sandbox_unavailable validator_missing no_tests_ran baseline_broken auth bad_config untrusted_config: blocked
push_rejected branch_checked_out remote_unreachable user_repo_locked: committed
diverged: committed blocked
rate_limited provider_down budget_wait: throttled
disk daemon_degraded:
interrupted: queued
`
	listed := 0
	for line := range strings.Lines(strings.TrimSpace(want)) {
		names, states, _ := strings.Cut(line, ":")
		for name := range strings.FieldsSeq(names) {
			listed++
			var got []string
			for _, s := range task.Reason(name).States() {
				got = append(got, string(s))
			}
			if !slices.Equal(got, strings.Fields(states)) {
				t.Errorf("States of %s = %v, want %v", name, got, strings.Fields(states))
			}
		}
	}
	if n := len(task.Reasons()); n != listed {
		t.Errorf("Reasons() has %d reasons, want %d", n, listed)
	}
}

func TestClaimOrder(t *testing.T) {
	s := open(t, t.TempDir())
	sync(t, s, "- [ ] later ^c {priority=low}\n- [ ] normal ^b\n- [ ] also normal ^d\n- [ ] first ^a {priority=urgent}\n- [~] held ^e {priority=urgent}\n")
	var got []string
	for {
		c, ok, err := s.Claim(start, task.ClaimOptions{Skip: map[string]bool{"d": true}})
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			break
		}
		if c.State != task.Preparing || c.Attempts != 1 || c.TotalAttempts != 1 {
			t.Errorf("claimed %s in state %s with attempts %d of %d", c.ID, c.State, c.Attempts, c.TotalAttempts)
		}
		got = append(got, c.ID)
	}
	if want := []string{"a", "b", "c"}; !slices.Equal(got, want) {
		t.Errorf("claimed %v, want %v", got, want)
	}
}

func TestFailBacksOffThenPauses(t *testing.T) {
	s := open(t, t.TempDir())
	sync(t, s, "- [ ] a ^a\n")
	now := start
	for n, wait := range []time.Duration{5 * time.Minute, 10 * time.Minute, 0} {
		begin(t, s, now, "a")
		got, err := s.Fail("a", task.TurnsSpent, "40 turns", 3, now, nil)
		if err != nil {
			t.Fatal(err)
		}
		if wait == 0 {
			if got.State != task.Paused || got.Reason != task.TurnsSpent || !got.NotBefore.IsZero() {
				t.Errorf("after attempt %d: %s %s not before %s, want paused for good", n+1, got.State, got.Reason, got.NotBefore)
			}
			continue
		}
		if got.State != task.Failed || !got.NotBefore.Equal(now.Add(wait)) {
			t.Errorf("after attempt %d: %s not before %s, want failed for %s", n+1, got.State, got.NotBefore, wait)
		}
		if _, ok, err := s.Claim(now.Add(wait-time.Second), task.ClaimOptions{}); ok || err != nil {
			t.Fatalf("claimed before the backoff ended: %v %v", ok, err)
		}
		if due, ok := s.Due(); !ok || !due.Equal(now.Add(wait)) {
			t.Errorf("Due() = %s, %v, want %s", due, ok, now.Add(wait))
		}
		now = now.Add(wait)
	}
	if _, ok, err := s.Claim(now.Add(1000*time.Hour), task.ClaimOptions{Now: true}); ok || err != nil {
		t.Errorf("claimed a paused task: %v %v", ok, err)
	}
	if _, ok := s.Due(); ok {
		t.Error("a paused task is due")
	}
}

func TestBackoff(t *testing.T) {
	want := []time.Duration{5 * time.Minute, 5 * time.Minute, 10 * time.Minute, 20 * time.Minute, 40 * time.Minute, 80 * time.Minute, 160 * time.Minute, 320 * time.Minute, 6 * time.Hour, 6 * time.Hour}
	for attempts, d := range want {
		if got := task.Backoff(attempts); got != d {
			t.Errorf("Backoff(%d) = %s, want %s", attempts, got, d)
		}
	}
	if got := task.Backoff(1 << 40); got != 6*time.Hour {
		t.Errorf("Backoff(1<<40) = %s, want 6h", got)
	}
}

func TestFailPausesOnSameFingerprint(t *testing.T) {
	s := open(t, t.TempDir())
	sync(t, s, "- [ ] a ^a\n")
	for n, want := range []task.State{task.Failed, task.Failed, task.Paused} {
		begin(t, s, start, "a")
		print := []string{"x", "y", "x"}[n]
		got, err := s.Fail("a", task.ValidatorsFailed, "", 0, start, func(t *task.Task) { t.Seen = append(t.Seen, print) })
		if err != nil || got.State != want {
			t.Errorf("failure %d: %s, %v, want %s", n+1, got.State, err, want)
		}
	}
}

func TestClaimNowTakesFailedOnceSkipped(t *testing.T) {
	s := open(t, t.TempDir())
	sync(t, s, "- [ ] a ^a\n- [ ] b ^b\n")
	for _, id := range []string{"a", "b"} {
		begin(t, s, start, id)
		if _, err := s.Fail(id, task.TurnsSpent, "", 3, start, nil); err != nil {
			t.Fatal(err)
		}
	}
	o := task.ClaimOptions{Now: true, Skip: map[string]bool{"a": true}}
	c, ok, err := s.Claim(start, o)
	if err != nil || !ok || c.ID != "b" || c.Attempts != 2 {
		t.Fatalf("Claim = %+v, %v, %v, want b at its second attempt", c, ok, err)
	}
	if a := get(t, s, "a"); a.State != task.Failed || a.NotBefore.IsZero() {
		t.Errorf("the skipped task is %s, not before %s", a.State, a.NotBefore)
	}
}

func TestThrottledGivesTheAttemptBack(t *testing.T) {
	s := open(t, t.TempDir())
	sync(t, s, "- [ ] a ^a\n")
	begin(t, s, start, "a")
	later := start.Add(time.Minute)
	got, err := s.Move("a", task.Throttled, task.RateLimited, "", start, func(t *task.Task) {
		t.NotBefore = later
		t.Attempts-- // what an edit does to this counter does not matter
	})
	if err != nil || got.Attempts != 0 || got.TotalAttempts != 1 {
		t.Fatalf("Move = attempts %d of %d, %v, want 0 of 1", got.Attempts, got.TotalAttempts, err)
	}
	if _, ok, _ := s.Claim(start, task.ClaimOptions{}); ok {
		t.Error("claimed a throttled task before its time")
	}
	if c, ok, err := s.Claim(later, task.ClaimOptions{}); !ok || err != nil || c.Attempts != 1 {
		t.Errorf("Claim = %+v, %v, %v, want its first attempt", c, ok, err)
	}
}

func TestRecover(t *testing.T) {
	for _, from := range task.States() {
		t.Run(string(from), func(t *testing.T) {
			dir := t.TempDir()
			place(t, dir, task.Task{ID: "a", State: from, Reason: reasonFor(from), Present: true, Attempts: 1, TotalAttempts: 1})
			s := open(t, dir)
			before := get(t, s, "a")
			moved, err := s.Recover(start)
			if err != nil {
				t.Fatal(err)
			}
			got := get(t, open(t, dir), "a")
			if !from.Active() || from == task.Committing {
				if diff := cmp.Diff(before, got); diff != "" || len(moved) != 0 {
					t.Errorf("Recover changed it (-want +got):\n%s", diff)
				}
				return
			}
			if len(moved) != 1 || got.State != task.Queued || got.Reason != task.Interrupted ||
				got.Attempts != 0 || got.TotalAttempts != 1 || got.Interruptions != 1 {
				t.Errorf("Recover made it %+v", got)
			}
		})
	}
}

func TestThreeCrashesPause(t *testing.T) {
	for _, at := range []task.State{task.Preparing, task.Running, task.Validating} {
		t.Run(string(at), func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir)
			sync(t, s, "- [ ] a ^a\n")
			for n := 1; n <= 3; n++ {
				reach(t, s, start, "a", at)
				s = open(t, dir)
				if _, err := s.Recover(start); err != nil {
					t.Fatal(err)
				}
				want := task.Queued
				if n == 3 {
					want = task.Paused
				}
				if got := get(t, s, "a"); got.State != want || got.Attempts != 0 {
					t.Fatalf("after crash %d: %s with %d attempts, want %s with none", n, got.State, got.Attempts, want)
				}
			}
			if got := get(t, s, "a"); got.Reason != task.CrashLoop {
				t.Errorf("reason %s, want crash_loop", got.Reason)
			}
		})
	}
}

func TestStopsAreNoCrashes(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	sync(t, s, "- [ ] a ^a\n")
	for range 5 {
		begin(t, s, start, "a")
		if _, err := s.Move("a", task.Queued, task.Interrupted, "", start, nil); err != nil {
			t.Fatal(err)
		}
		begin(t, s, start, "a")
		s = open(t, dir)
		if _, err := s.Recover(start); err != nil {
			t.Fatal(err)
		}
	}
	if got := get(t, s, "a"); got.State != task.Queued || got.Interruptions != 10 || got.Attempts != 0 {
		t.Errorf("%s after %d interruptions with %d attempts, want queued, 10, 0", got.State, got.Interruptions, got.Attempts)
	}
}

func TestRekey(t *testing.T) {
	s := open(t, t.TempDir())
	sync(t, s, "- [ ] a ^a\n")
	work := task.Work{Base: "t1", Checks: "c", Models: "m"}
	for _, tc := range []struct {
		name string
		edit func()
		at   time.Time
		want int // attempts that count, this one included
	}{
		{"first", func() {}, start, 1},
		{"same work", func() {}, start.Add(time.Hour), 2},
		{"base moved", func() { work.Base = "t2" }, start.Add(2 * time.Hour), 3},
		{"base moved after a day", func() { work.Base = "t3" }, start.Add(25 * time.Hour), 1},
		{"base moved again", func() { work.Base = "t4" }, start.Add(26 * time.Hour), 2},
		{"validators changed", func() { work.Checks = "c2" }, start.Add(27 * time.Hour), 1},
		{"models changed", func() { work.Models = "m2" }, start.Add(28 * time.Hour), 1},
		{"base moved at once", func() { work.Base = "t5" }, start.Add(29 * time.Hour), 2},
	} {
		tc.edit()
		begin(t, s, tc.at, "a")
		got, err := s.Update("a", func(t *task.Task) { t.Rekey(work, tc.at) })
		if err != nil || got.Attempts != tc.want {
			t.Errorf("%s: %d attempts, %v, want %d", tc.name, got.Attempts, err, tc.want)
		}
		if _, err := s.Fail("a", task.TurnsSpent, "", 0, tc.at, func(t *task.Task) { t.NotBefore = time.Time{} }); err != nil {
			t.Fatal(err)
		}
	}
	if got := get(t, s, "a"); got.TotalAttempts != 8 {
		t.Errorf("%d attempts in all, want 8", got.TotalAttempts)
	}
}

func TestUnpark(t *testing.T) {
	s := open(t, t.TempDir())
	sync(t, s, "- [ ] a ^a\n- [ ] b ^b\n- [ ] c ^c {budget=much}\n- [ ] d ^d\n")
	park := func(id string, to task.State, r task.Reason, config string) {
		begin(t, s, start, id)
		if _, err := s.Move(id, to, r, "", start, func(t *task.Task) { t.Config = config }); err != nil {
			t.Fatal(err)
		}
	}
	park("a", task.Blocked, task.SandboxUnavailable, "old")
	park("b", task.Paused, task.BudgetDay, "new")
	park("d", task.Paused, task.BudgetItem, "old")
	moved, err := s.Unpark(start, func(t task.Task) bool { return t.Config != "new" })
	if err != nil || len(moved) != 2 {
		t.Fatalf("Unpark = %+v, %v, want two tasks", moved, err)
	}
	want := map[string]task.State{"a": task.Queued, "b": task.Paused, "c": task.Blocked, "d": task.Queued}
	if diff := cmp.Diff(want, states(s)); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
	if got := get(t, s, "d"); got.Attempts != 0 || got.TotalAttempts != 1 {
		t.Errorf("attempts %d of %d, want 0 of 1", got.Attempts, got.TotalAttempts)
	}
}

func TestBudgetWindowEndsByItself(t *testing.T) {
	s := open(t, t.TempDir())
	sync(t, s, "- [ ] a ^a\n")
	begin(t, s, start, "a")
	midnight := start.Add(4 * time.Hour)
	if _, err := s.Move("a", task.Paused, task.BudgetDay, "", start, func(t *task.Task) { t.NotBefore = midnight }); err != nil {
		t.Fatal(err)
	}
	if _, ok, _ := s.Claim(midnight.Add(-time.Second), task.ClaimOptions{Now: true}); ok {
		t.Error("claimed before the window ended")
	}
	if _, ok, err := s.Claim(midnight, task.ClaimOptions{}); !ok || err != nil {
		t.Errorf("not claimed when the window ended: %v", err)
	}
}

func TestUpdateLeavesIdentityAndStateAlone(t *testing.T) {
	s := open(t, t.TempDir())
	sync(t, s, "- [ ] a ^a\n")
	for name, edit := range map[string]func(*task.Task){
		"state":  func(t *task.Task) { t.State = task.Pushed },
		"id":     func(t *task.Task) { t.ID = "b" },
		"serial": func(t *task.Task) { t.Serial = 7 },
		"rev":    func(t *task.Task) { t.Rev = 7 },
		"schema": func(t *task.Task) { t.Schema = 7 },
	} {
		before := get(t, s, "a")
		if _, err := s.Update("a", edit); err == nil {
			t.Errorf("an update may change the %s", name)
		}
		if diff := cmp.Diff(before, get(t, s, "a")); diff != "" {
			t.Errorf("a refused update of the %s changed (-want +got):\n%s", name, diff)
		}
	}
}

func TestValuesAreCopies(t *testing.T) {
	s := open(t, t.TempDir())
	sync(t, s, "- [ ] a ^a\n")
	got, err := s.Update("a", func(t *task.Task) { t.Runs = []string{"r1"} })
	if err != nil {
		t.Fatal(err)
	}
	got.Runs[0] = "changed"
	get(t, s, "a").Runs[0] = "changed"
	s.List()[0].Runs[0] = "changed"
	if got := get(t, s, "a").Runs[0]; got != "r1" {
		t.Errorf("a copy reached the store: %q", got)
	}
}

// Helpers.

func open(t *testing.T, dir string) *task.Store {
	t.Helper()
	s, err := task.Open(dir, unsynced{durable.OS()})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func sync(t *testing.T, s *task.Store, text string) task.Changes {
	t.Helper()
	c, err := s.Sync(todo.Parse([]byte(text)), start)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func get(t *testing.T, s *task.Store, id string) task.Task {
	t.Helper()
	got, ok := s.Get(id)
	if !ok {
		t.Fatalf("no task %s", id)
	}
	return got
}

func states(s *task.Store) map[string]task.State {
	m := map[string]task.State{}
	for _, t := range s.List() {
		m[t.ID] = t.State
	}
	return m
}

// begin claims the task id, whatever its backoff, and starts the model on it.
func begin(t *testing.T, s *task.Store, now time.Time, id string) {
	t.Helper()
	reach(t, s, now, id, task.Running)
}

// reach claims the task id and takes it to the state by legal moves.
func reach(t *testing.T, s *task.Store, now time.Time, id string, to task.State) {
	t.Helper()
	skip := map[string]bool{}
	for _, o := range s.List() {
		skip[o.ID] = o.ID != id
	}
	if _, ok, err := s.Claim(now, task.ClaimOptions{Skip: skip, Now: true}); !ok || err != nil {
		t.Fatalf("claim %s: %v %v", id, ok, err)
	}
	way := []task.State{
		task.Preparing, task.Running, task.Validating, task.Committing, task.Committed, task.Pushed, task.Merged,
	}
	i := slices.Index(way, to)
	if i < 0 {
		t.Fatalf("no way to %s", to)
	}
	for _, next := range way[1 : i+1] {
		if _, err := s.Move(id, next, task.None, "", now, nil); err != nil {
			t.Fatal(err)
		}
	}
}

// place writes a task file as an earlier hob would have.
func place(t *testing.T, dir string, it task.Task) {
	t.Helper()
	s := open(t, dir)
	if _, err := s.Sync(todo.Parse([]byte("- [ ] "+it.ID+" ^"+it.ID+"\n")), start.Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, it.ID+".json")
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(data), `"state": "queued",`, `"state": "`+string(it.State)+`",`+"\n"+`"reason": "`+string(it.Reason)+`",`, 1)
	text = strings.Replace(text, `"attempts": 0`, `"attempts": `+string(rune('0'+it.Attempts)), 1)
	text = strings.Replace(text, `"total_attempts": 0`, `"total_attempts": `+string(rune('0'+it.TotalAttempts)), 1)
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
