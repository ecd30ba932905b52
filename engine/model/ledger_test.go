package model_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"hob/engine/model"
	"hob/journal/durable"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// failer is what tests and properties share.
type failer interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

func open(t failer, dir string) *model.Ledger {
	t.Helper()
	l, err := model.OpenLedger(dir, durable.OS(), time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func charge(run, item string, micro int64) model.Charge {
	return model.Charge{Run: run, Item: item, Model: "m", Estimate: micro}
}

func reserve(t failer, l *model.Ledger, c model.Charge, now time.Time) *model.Reservation {
	t.Helper()
	r, err := l.Reserve(model.Limits{}, c, now)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func settle(t failer, r *model.Reservation, micro int64, now time.Time) {
	t.Helper()
	if err := r.Settle(model.Usage{InputUncached: micro}, micro, false, now); err != nil {
		t.Fatal(err)
	}
}

func TestLedgerRefusesWhatDoesNotFit(t *testing.T) {
	tests := []struct {
		name   string
		limits model.Limits
		c      model.Charge
		now    time.Time
		reason string
	}{
		{"no limits", model.Limits{}, charge("r1", "i1", 1000), noon, ""},
		{"exactly what is left", model.Limits{Run: 100}, charge("r1", "i1", 40), noon, ""},
		{"run", model.Limits{Run: 100}, charge("r1", "i1", 41), noon, "budget_run"},
		{"another run", model.Limits{Run: 100}, charge("r2", "i1", 41), noon, ""},
		{"item over runs", model.Limits{Item: 100}, charge("r2", "i1", 41), noon, "budget_item"},
		{"item over months", model.Limits{Item: 100}, charge("r2", "i1", 41), noon.AddDate(0, 3, 0), "budget_item"},
		{"another item", model.Limits{Item: 100}, charge("r1", "i2", 41), noon, ""},
		{"day", model.Limits{Day: 100}, charge("r2", "i2", 41), noon, "budget_day"},
		{"tomorrow", model.Limits{Day: 100}, charge("r2", "i2", 41), noon.AddDate(0, 0, 1), ""},
		{"month", model.Limits{Month: 100}, charge("r2", "i2", 41), noon.AddDate(0, 0, -3), "budget_month"},
		{"next month", model.Limits{Month: 100}, charge("r2", "i2", 41), noon.AddDate(0, 0, 1), ""},
		{"the nearest limit is named", model.Limits{100, 100, 100, 100, 80}, charge("r1", "i1", 41), noon, "budget_run"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := open(t, t.TempDir())
			settle(t, reserve(t, l, charge("r1", "i1", 90), noon), 50, noon)
			reserve(t, l, charge("r1", "i1", 10), noon) // under way
			_, err := l.Reserve(tt.limits, tt.c, tt.now)
			if tt.reason == "" {
				if err != nil {
					t.Fatalf("Reserve error = %v, want none", err)
				}
				return
			}
			want := &model.BudgetError{Reason: tt.reason, Limit: 100, Spent: 60, Need: 41}
			got, _ := errors.AsType[*model.BudgetError](err)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("Reserve error (-want +got):\n%s", diff)
			}
			if l.Item(tt.c.Item) > 60 {
				t.Errorf("a refused call left %d on the item", l.Item(tt.c.Item))
			}
		})
	}
}

func TestLedgerBudgetErrorText(t *testing.T) {
	err := &model.BudgetError{Reason: "budget_day", Limit: 10_000_000, Spent: 9_999_950, Need: 123_456}
	want := "budget_day: 9.9999 USD spent and 0.1234 USD needed of 10.0000 USD"
	if err.Error() != want {
		t.Errorf("Error() = %q, want %q", err, want)
	}
}

func TestLedgerChargesTheDayTheCallEnds(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir)
	before, after := noon.Add(11*time.Hour+59*time.Minute), noon.Add(12*time.Hour+time.Minute)
	r := reserve(t, l, charge("r", "i", 100), before)
	if l.Day(before) != 100 || l.Day(after) != 0 {
		t.Errorf("reserved: %d and %d, want 100 on the first day", l.Day(before), l.Day(after))
	}
	settle(t, r, 70, after)
	for _, l := range []*model.Ledger{l, open(t, dir)} {
		if l.Day(before) != 0 || l.Day(after) != 70 || l.Month(before) != 0 || l.Month(after) != 70 {
			t.Errorf("days %d, %d, months %d, %d; want all 70 on the second", l.Day(before), l.Day(after), l.Month(before), l.Month(after))
		}
		if l.Item("i") != 70 || l.Run("r") != 70 {
			t.Errorf("item %d, run %d; want 70", l.Item("i"), l.Run("r"))
		}
	}
}

func TestLedgerDayIsTheZones(t *testing.T) {
	tokyo := time.FixedZone("JST", 9*60*60)
	dir := t.TempDir()
	l, err := model.OpenLedger(dir, durable.OS(), tokyo)
	if err != nil {
		t.Fatal(err)
	}
	evening := time.Date(2026, 11, 30, 16, 0, 0, 0, time.UTC) // 1 December in Tokyo
	reserve(t, l, charge("r", "i", 5), evening)
	if l.Day(noon) != 0 || l.Day(noon.Add(12*time.Hour)) != 5 {
		t.Errorf("days = %d, %d; want the money on Tokyo's 1 December", l.Day(noon), l.Day(noon.Add(12*time.Hour)))
	}
	if _, err := os.Stat(filepath.Join(dir, "2026-12.jsonl")); err != nil {
		t.Error(err)
	}
	// Opened in another zone, the line keeps the day that it was charged to.
	if got := open(t, dir).Day(noon.AddDate(0, 0, 1)); got != 5 {
		t.Errorf("day in another zone = %d, want 5", got)
	}
}

func TestLedgerWarnsOnceForEachRunAndLimit(t *testing.T) {
	l := open(t, t.TempDir())
	limits := model.Limits{Run: 100, Day: 1000, WarnPercent: 80}
	steps := []struct {
		c    model.Charge
		want []model.Warning
	}{
		{charge("r1", "i", 79), nil},
		{charge("r1", "i", 1), []model.Warning{{Reason: "budget_run", Spent: 80, Limit: 100}}},
		{charge("r1", "i", 5), nil},
		{charge("r2", "i", 90), []model.Warning{{Reason: "budget_run", Spent: 90, Limit: 100}}},
	}
	for i, s := range steps {
		r, err := l.Reserve(limits, s.c, noon)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(s.want, r.Warnings); diff != "" {
			t.Errorf("warnings %d (-want +got):\n%s", i, diff)
		}
	}
}

func TestReservationEndsOnce(t *testing.T) {
	l := open(t, t.TempDir())
	r := reserve(t, l, charge("r", "i", 100), noon)
	settle(t, r, 30, noon)
	settle(t, r, 30, noon)
	if err := r.Release(); err != nil {
		t.Fatal(err)
	}
	if l.Item("i") != 30 {
		t.Errorf("Item = %d, want 30", l.Item("i"))
	}
	released := reserve(t, l, charge("r", "j", 100), noon)
	if err := released.Release(); err != nil {
		t.Fatal(err)
	}
	settle(t, released, 40, noon)
	if l.Item("j") != 0 {
		t.Errorf("Item = %d, want 0", l.Item("j"))
	}
	if _, err := l.Reserve(model.Limits{}, charge("r", "i", -1), noon); err == nil {
		t.Error("a negative reservation was taken")
	}
	if err := reserve(t, l, charge("r", "k", 5), noon).Settle(model.Usage{}, -1, false, noon); err == nil {
		t.Error("a negative cost was taken")
	}
}

func TestLedgerCountsAKilledCallAsSpent(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir)
	settle(t, reserve(t, l, charge("r", "i", 100), noon), 30, noon)
	reserve(t, l, charge("r", "i", 50), noon) // the process dies here
	again := open(t, dir)
	if again.Item("i") != 80 || again.Day(noon) != 80 {
		t.Errorf("item %d, day %d; want 80", again.Item("i"), again.Day(noon))
	}
	if _, err := again.Reserve(model.Limits{Day: 100}, charge("r", "i", 21), noon); classOfBudget(err) != "budget_day" {
		t.Errorf("Reserve error = %v, want budget_day", err)
	}
}

func classOfBudget(err error) string {
	if e, ok := errors.AsType[*model.BudgetError](err); ok {
		return e.Reason
	}
	return ""
}

func TestLedgerRecoversATornLine(t *testing.T) {
	for _, torn := range []string{
		`{"ts":"2026-11-30T12:00:00Z","day":"2026-`,
		`{"ts":"2026-11-30T12:00:00Z","day":"2026-11-30","op":"reserve","id":9,"run":"r","item":"i","usd_micro":7}`,
		"\x00\x00\x00\x00\n", // the end of a line can reach the disk before its beginning
	} {
		dir := t.TempDir()
		l := open(t, dir)
		reserve(t, l, charge("r", "i", 50), noon)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(dir, "2026-11.jsonl")
		add(t, name, torn)
		again := open(t, dir)
		if again.Item("i") != 50 {
			t.Errorf("Item = %d with %q at the end, want 50", again.Item("i"), torn)
		}
		settle(t, reserve(t, again, charge("r", "i", 5), noon), 5, noon)
		if third := open(t, dir); third.Item("i") != 55 {
			t.Errorf("Item = %d after a line behind %q, want 55", third.Item("i"), torn)
		}
	}
}

func add(t *testing.T, name, text string) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestLedgerRefusesToGuess(t *testing.T) {
	const good = `{"ts":"2026-11-30T12:00:00Z","day":"2026-11-30","op":"reserve","id":1,"run":"r","item":"i","model":"m","usd_micro":7}` + "\n"
	for _, bad := range []string{
		"rubbish\n",
		strings.Replace(good, `:7}`, `:-7}`, 1),
		strings.Replace(good, `"reserve"`, `"refund"`, 1),
		strings.Replace(good, `"2026-11-30",`, `"St Andrew's",`, 1),
	} {
		dir := t.TempDir()
		add(t, filepath.Join(dir, "2026-11.jsonl"), good+bad+good)
		_, err := model.OpenLedger(dir, durable.OS(), time.UTC)
		if err == nil || !strings.Contains(err.Error(), "2026-11.jsonl:2: ") {
			t.Errorf("OpenLedger error = %v with line 2 = %q, want one that names it", err, bad)
		}
	}
}

// A settlement can stand in an earlier file than its reservation.
func TestLedgerSurvivesAClockSetBack(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir)
	settle(t, reserve(t, l, charge("r", "i", 100), noon.AddDate(0, 0, 1)), 30, noon)
	if got := open(t, dir).Item("i"); got != 30 {
		t.Errorf("Item = %d, want 30", got)
	}
}

// After a crash at any call the ledger opens again, no acknowledged reservation
// is forgotten, and nothing is counted that was never asked for.
func TestLedgerSurvivesACrashAtEveryCall(t *testing.T) {
	for n := 0; ; n++ {
		dir := filepath.Join(t.TempDir(), "ledger")
		crash := durable.NewCrash(durable.OS(), n)
		least, most := crashingWork(dir, crash)
		got := open(t, dir).Item("i")
		if got < least || got > most {
			t.Errorf("crash at call %d: item = %d, want %d to %d", n, got, least, most)
		}
		if !crash.Crashed() {
			if n < 10 {
				t.Fatalf("the work took only %d calls", n)
			}
			return
		}
	}
}

// crashingWork returns the least and the most that may count afterwards: what was
// acknowledged, and that with the one step that died.
func crashingWork(dir string, fs durable.FS) (least, most int64) {
	l, err := model.OpenLedger(dir, fs, time.UTC)
	if err != nil {
		return 0, 0
	}
	for i := range 4 {
		now := noon.AddDate(0, 0, i/2) // the third call starts a new month
		r, err := l.Reserve(model.Limits{}, charge("r", "i", 100), now)
		if err != nil {
			return least, least + 100
		}
		least += 100
		if i == 1 {
			if err := r.Release(); err != nil {
				return least - 100, least
			}
			least -= 100
			continue
		}
		if err := r.Settle(model.Usage{}, 30, true, now); err != nil {
			return least - 70, least
		}
		least -= 70
	}
	return least, least
}

// flaky is a disk that fails once at a chosen call and then works again.
type flaky struct {
	durable.FS
	left *int
}

type flakyFile struct {
	durable.File
	left *int
}

var errDisk = errors.New("no space left on device")

func (f flaky) Append(name string, perm os.FileMode) (durable.File, error) {
	file, err := f.FS.Append(name, perm)
	return flakyFile{file, f.left}, err
}

func (f flakyFile) Write(p []byte) (int, error) {
	*f.left--
	if *f.left == 0 {
		n, _ := f.File.Write(p[:len(p)/2])
		return n, errDisk
	}
	return f.File.Write(p)
}

func TestLedgerGoesOnAfterAFullDisk(t *testing.T) {
	dir := t.TempDir()
	left := 2
	l, err := model.OpenLedger(dir, flaky{durable.OS(), &left}, time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	r := reserve(t, l, charge("r", "i", 100), noon)
	if err := r.Settle(model.Usage{}, 10, false, noon); !errors.Is(err, errDisk) {
		t.Fatalf("Settle error = %v, want the disk's", err)
	}
	if l.Item("i") != 100 {
		t.Errorf("Item = %d after a failed Settle, want the estimate", l.Item("i"))
	}
	settle(t, r, 10, noon)
	if got := open(t, dir).Item("i"); got != 10 || l.Item("i") != 10 {
		t.Errorf("Item = %d on disk and %d in memory, want 10", got, l.Item("i"))
	}
}

// unsynced is a disk that forgets nothing and so needs no fsync: what a property
// does a thousand times must not wait for platters.
type unsynced struct{ durable.FS }

type unsyncedFile struct{ durable.File }

func (u unsynced) Append(name string, perm os.FileMode) (durable.File, error) {
	f, err := u.FS.Append(name, perm)
	return unsyncedFile{f}, err
}

func (unsynced) SyncDir(string) error { return nil }

func (unsyncedFile) Sync() error { return nil }

// Whatever is done, the counters are the sum of the file, no limit is passed by
// reservations, and no warning is given twice.
func TestLedgerProperty(t *testing.T) {
	root := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp(root, "")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		open := func() *model.Ledger {
			l, err := model.OpenLedger(dir, unsynced{durable.OS()}, time.UTC)
			if err != nil {
				t.Fatal(err)
			}
			return l
		}
		amount := rapid.Int64Range(0, 60)
		limits := model.Limits{Run: 100, Item: 150, Day: 200, Month: 300, WarnPercent: rapid.IntRange(1, 100).Draw(t, "percent")}
		l, now := open(), noon.AddDate(0, 0, -2)
		type held struct {
			r        *model.Reservation
			estimate int64
		}
		var pending []held
		warned := map[string]bool{}
		reopened := false
		t.Repeat(map[string]func(*rapid.T){
			"reserve": func(t *rapid.T) {
				c := charge(rapid.SampledFrom([]string{"r1", "r2"}).Draw(t, "run"), rapid.SampledFrom([]string{"i1", "i2"}).Draw(t, "item"), amount.Draw(t, "estimate"))
				r, err := l.Reserve(limits, c, now)
				if err != nil && classOfBudget(err) == "" {
					t.Fatal(err)
				}
				if err != nil {
					return
				}
				pending = append(pending, held{r, c.Estimate})
				for _, w := range r.Warnings {
					if key := c.Run + w.Reason; warned[key] && !reopened {
						t.Fatalf("warned twice of %s", key)
					} else {
						warned[key] = true
					}
				}
			},
			"end": func(t *rapid.T) {
				if len(pending) == 0 {
					return
				}
				h := pending[0]
				pending = pending[1:]
				if rapid.Bool().Draw(t, "free") {
					if err := h.r.Release(); err != nil {
						t.Fatal(err)
					}
					return
				}
				settle(t, h.r, rapid.Int64Range(0, h.estimate).Draw(t, "cost"), now)
			},
			"later": func(*rapid.T) { now = now.Add(7 * time.Hour) },
			"restart": func(t *rapid.T) {
				if err := l.Close(); err != nil {
					t.Fatal(err)
				}
				fresh := open()
				if diff := cmp.Diff(sums(fresh, now), sums(l, now)); diff != "" {
					t.Fatalf("counters (-file +memory):\n%s", diff)
				}
				l, pending, reopened = fresh, nil, true
			},
			"": func(t *rapid.T) {
				for _, run := range []string{"r1", "r2"} {
					if l.Run(run) > limits.Run {
						t.Fatalf("run %s at %d", run, l.Run(run))
					}
				}
				if l.Day(now) > limits.Day || l.Month(now) > limits.Month || l.Item("i1") > limits.Item || l.Item("i2") > limits.Item {
					t.Fatalf("a limit is passed: %s", sums(l, now))
				}
			},
		})
	})
}

func sums(l *model.Ledger, now time.Time) string {
	return fmt.Sprint(l.Run("r1"), l.Run("r2"), l.Item("i1"), l.Item("i2"), l.Day(now), l.Day(now.AddDate(0, 0, -1)), l.Month(now))
}
