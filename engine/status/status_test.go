package status_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"hob/engine/status"
	"hob/engine/task"
	"hob/journal/durable"
)

var at = time.Date(2026, 11, 30, 20, 30, 0, 0, time.UTC)

// full has all parts, each with values that can be told apart.
func full() status.Report {
	return status.Report{
		Schema: status.Schema, Seq: 4711, Boot: "01JD", PID: 4242, Version: "0.3.0", WrittenAt: at, HeartbeatS: 30,
		State: status.Working, StateSince: at.Add(-18 * time.Minute), NextWake: at.Add(5 * time.Minute),
		Repo:        status.Repo{Root: "/home/u/my app", Base: "main", BaseCommit: "c0ffee", Behind: 2, Remote: "origin"},
		Todo:        status.Todo{Path: "TODO.md", SHA256: "ab", ReadAt: at, Open: 7, Done: 12, Held: 2, Diagnostics: 1},
		Schedule:    status.Schedule{Spec: "0 1 * * *", TZ: "Europe/Berlin", NextSlot: at.Add(time.Hour)},
		Budget:      status.Budget{Currency: "USD", Day: "2026-11-30", Spent: 3.12, Reserved: 0.4, Limit: 10},
		Counts:      status.Counts{Queued: 3, Waiting: 1, Blocked: 1, Paused: 1, Running: 1, Pushed: 4, FailedAttempts: 2},
		Current:     []status.Current{{ID: "9f", Text: "retry uploads", State: "validating", Run: "01JD", Attempt: 2, MaxAttempts: 3, Since: at, Deadline: at, Cost: 0.61, Branch: "hob/9f", Step: "validator go-test", LastProgress: at}},
		LastSuccess: status.LastSuccess{ID: "aa", Commit: "bb", Branch: "agent-dev", At: at},
		Task:        []status.Task{{ID: "9f", Text: "retry uploads", State: "paused", Since: at, Attempts: 3, Cost: 1.9, Summary: "TestTide: expected 7, got 6", Resume: "edit the item"}},
		Validator:   []status.Validator{{Name: "go-test", Required: true, Verdict: "fail", Exit: 1, DurationS: 12.4, Tree: "t", At: at, NewFailures: 1, Log: "runs/01JD/go-test.log"}},
		Attention:   []status.Attention{{Code: "tests_weakened", Task: "9f", Since: at, Message: "a test is gone", Action: "hob show 9f"}},
		Journal:     status.Journal{Head: "sha256:00", Entries: 812, VerifiedAt: at},
	}
}

func TestRenderWholeFile(t *testing.T) {
	got := status.Render(full(), nil)
	name := filepath.Join("testdata", "full.toml")
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("Render (-%s +got):\n%s", name, diff)
	}
}

func TestParseIsTheInverseOfRender(t *testing.T) {
	for name, r := range map[string]status.Report{
		"full":  full(),
		"empty": {Schema: status.Schema, State: status.Starting, WrittenAt: at},
	} {
		got, err := status.Parse(status.Render(r, nil))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(r, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestAbsentPartsAreLeftOut: what is not known is not shown as nothing.
func TestAbsentPartsAreLeftOut(t *testing.T) {
	got := string(status.Render(status.Report{State: status.Idle, WrittenAt: at}, nil))
	for _, key := range []string{"repo", "todo", "schedule", "budget", "current", "last_success", "task", "validator", "attention", "journal", "truncated", "next_wake"} {
		if strings.Contains(got, key) {
			t.Errorf("%q is there:\n%s", key, got)
		}
	}
}

func TestOneKeyALine(t *testing.T) {
	line := regexp.MustCompile(`^($|\[\[?[a-z_]+\]\]?$|[a-z0-9_]+ = [^{[]*$)`)
	for s := range strings.Lines(string(status.Render(full(), nil))) {
		if s = strings.TrimSuffix(s, "\n"); !line.MatchString(s) {
			t.Errorf("line %q", s)
		}
	}
}

// TestTagsAgree: hob status --json has the names of the file.
func TestTagsAgree(t *testing.T) {
	var walk func(reflect.Type)
	walk = func(s reflect.Type) {
		for f := range s.Fields() {
			if a, b := f.Tag.Get("toml"), f.Tag.Get("json"); a != b || a == "" {
				t.Errorf("%s.%s: toml %q, json %q", s, f.Name, a, b)
			}
			in := f.Type
			if in.Kind() == reflect.Slice {
				in = in.Elem()
			}
			if in.Kind() == reflect.Struct && in.PkgPath() == s.PkgPath() {
				walk(in)
			}
		}
	}
	walk(reflect.TypeFor[status.Report]())
}

func TestJSONOfParsedFile(t *testing.T) {
	r, err := status.Parse(status.Render(full(), nil))
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if got["written_at"] != "2026-11-30T20:30:00Z" || got["budget"].(map[string]any)["spent"] != 3.12 {
		t.Errorf("JSON %s", data)
	}
}

func TestHostileStrings(t *testing.T) {
	r := full()
	hostile := "a\x1b[2J\r\nb\x00\u202ec\u0085\x7f\xff\t\"'''\"\"\"\\ ]] key = 1" + strings.Repeat("€", 400)
	r.Task[0].Text, r.Repo.Root, r.Reason, r.Attention[0].Message = hostile, hostile, hostile, hostile
	data := status.Render(r, nil)
	got, err := status.Parse(data)
	if err != nil {
		t.Fatalf("%v in\n%s", err, data)
	}
	for _, s := range []string{got.Task[0].Text, got.Repo.Root, got.Reason, got.Attention[0].Message} {
		if len(s) > 500 || !utf8.ValidString(s) || strings.ContainsAny(s, "\x1b\r\n\x00\x7f\t\u202e\u0085") {
			t.Errorf("%d bytes: %q", len(s), s)
		}
		if !strings.HasPrefix(s, "a[2J  bc") || !strings.HasSuffix(s, "…") {
			t.Errorf("cut to %q", s)
		}
	}
	if r.Task[0].Text != hostile {
		t.Error("Render changed its argument")
	}
}

// TestSecretsAreMaskedBeforeTheyAreCut: half a secret is still one.
func TestSecretsAreMaskedBeforeTheyAreCut(t *testing.T) {
	const secret = "sk-0123456789abcdef"
	mask := func(s string) string { return strings.ReplaceAll(s, secret, "[redacted:held]") }
	r := full()
	fill(reflect.ValueOf(&r).Elem(), strings.Repeat("x", 480)+secret)
	if data := status.Render(r, mask); bytes.Contains(data, []byte("sk-0")) {
		t.Errorf("a secret is in the file:\n%s", data)
	}
}

// fill sets all strings in v.
func fill(v reflect.Value, s string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(s)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for _, field := range v.Fields() {
			fill(field, s)
		}
	case reflect.Slice:
		for i := range v.Len() {
			fill(v.Index(i), s)
		}
	}
}

func TestLargeReportsAreCut(t *testing.T) {
	r := full()
	for range 5000 {
		r.Task = append(r.Task, r.Task[0])
		r.Validator = append(r.Validator, r.Validator[0])
		r.Attention = append(r.Attention, r.Attention[0])
		r.Current = append(r.Current, r.Current[0])
	}
	fill(reflect.ValueOf(&r).Elem(), strings.Repeat(`\"'`, 300))
	data := status.Render(r, nil)
	if len(data) > status.MaxBytes {
		t.Fatalf("%d bytes, want at most %d", len(data), status.MaxBytes)
	}
	got, err := status.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	if !got.Truncated || len(got.Task) == 0 || len(got.Attention) == 0 || len(got.Current) == 0 {
		t.Errorf("truncated %v, with %d tasks, %d attentions, %d current", got.Truncated, len(got.Task), len(got.Attention), len(got.Current))
	}
}

func TestRenderIsTotal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := full()
		text := rapid.SliceOfN(rapid.Byte(), 0, 600)
		r.Reason, r.Repo.Root = string(text.Draw(t, "reason")), string(text.Draw(t, "root"))
		r.Task[0].Summary, r.State = string(text.Draw(t, "summary")), status.State(text.Draw(t, "state"))
		r.Budget.Spent = status.USD(rapid.Float64().Draw(t, "spent"))
		r.WrittenAt = time.Unix(rapid.Int64Range(-1e11, 2e11).Draw(t, "unix"), 0)
		once := status.Render(r, nil)
		back, err := status.Parse(once)
		if err != nil {
			t.Fatalf("%v in\n%s", err, once)
		}
		if again := status.Render(back, nil); !bytes.Equal(once, again) {
			t.Fatalf("rendered again (-once +again):\n%s", cmp.Diff(string(once), string(again)))
		}
	})
}

func TestNumbersThatAreNone(t *testing.T) {
	r := full()
	r.Budget.Spent, r.Task[0].Cost, r.Validator[0].DurationS = status.USD(math.NaN()), status.USD(math.Inf(1)), math.Inf(-1)
	got, err := status.Parse(status.Render(r, nil))
	if err != nil || got.Budget.Spent != 0 || got.Task[0].Cost != 0 || got.Validator[0].DurationS != 0 {
		t.Errorf("Parse = %+v, %v", got.Budget, err)
	}
}

func TestParse(t *testing.T) {
	for _, tc := range []struct {
		name, in, err string
		is            error
	}{
		{name: "unknown keys", in: "schema = 1\nstate = 'idle'\nmood = 'fine'\n[weather]\nsun = true\n"},
		{name: "newer", in: "schema = 2\nstate = ['idle']\n", is: status.ErrSchema, err: "schema 2"},
		{name: "none", in: "state = 'idle'\n", is: status.ErrSchema},
		{name: "empty", in: "", is: status.ErrSchema},
		{name: "not TOML", in: "{\"schema\": 1}", err: "toml"},
		{name: "wrong type", in: "schema = 1\npid = 'x'\n", err: "PID"},
		{name: "too large", in: "schema = 1\n#" + strings.Repeat("x", status.MaxBytes), err: "larger"},
		{name: "cut", in: "schema = 1\nstate = 'id", err: "toml"},
	} {
		_, err := status.Parse([]byte(tc.in))
		switch {
		case tc.err == "" && tc.is == nil:
			if err != nil {
				t.Errorf("%s: %v", tc.name, err)
			}
		case err == nil || !strings.Contains(err.Error(), tc.err) || tc.is != nil && !errors.Is(err, tc.is):
			t.Errorf("%s: error %v, want %q", tc.name, err, tc.err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(status.Render(full(), nil))
	f.Add([]byte("schema = 1\n[[task]]\nid = 'a'\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := status.Parse(b)
		if err != nil {
			return
		}
		if _, err := status.Parse(status.Render(r, nil)); err != nil {
			t.Errorf("what was read can't be written: %v", err)
		}
	})
}

func TestStale(t *testing.T) {
	for _, tc := range []struct {
		name string
		beat int
		age  time.Duration
		want bool
	}{
		{"fresh", 30, 0, false},
		{"just in time", 30, 90 * time.Second, false},
		{"three beats missed", 30, 91 * time.Second, true},
		{"slow beat", 600, 29 * time.Minute, false},
		{"no beat given", 0, 91 * time.Second, true},
		{"senseless beat", math.MaxInt, 91 * time.Second, true},
		{"clock a little behind", 30, -time.Minute, false},
		{"clock set back", 30, -24 * time.Hour, true},
		{"ages ago", 30, math.MaxInt64, true},
	} {
		r := status.Report{WrittenAt: at, HeartbeatS: tc.beat}
		if got := r.Stale(at.Add(tc.age)); got != tc.want {
			t.Errorf("%s: Stale = %v, want %v", tc.name, got, tc.want)
		}
	}
	if never := (status.Report{}); !never.Stale(at) {
		t.Error("a report that was never written is fresh")
	}
}

func TestCheck(t *testing.T) {
	look := []status.Attention{{Code: "auth"}}
	for _, tc := range []struct {
		state     status.State
		attention []status.Attention
		age       time.Duration
		want      int
	}{
		{status.Starting, nil, 0, status.Fine},
		{status.Idle, nil, 0, status.Fine},
		{status.Working, nil, 0, status.Fine},
		{status.Throttled, nil, 0, status.Fine},
		{status.Stopping, nil, 0, status.Fine},
		{status.Idle, look, 0, status.Attend},
		{status.Paused, nil, 0, status.Halted},
		{status.Paused, look, 0, status.Halted},
		{status.Degraded, nil, 0, status.Halted},
		{status.Error, nil, 0, status.Halted},
		{status.Stopped, nil, 0, status.NotRunning},
		{status.Working, nil, time.Hour, status.NotRunning},
		{status.Paused, look, time.Hour, status.NotRunning},
	} {
		r := status.Report{State: tc.state, Attention: tc.attention, WrittenAt: at, HeartbeatS: 30}
		if got := r.Check(at.Add(tc.age)); got != tc.want {
			t.Errorf("Check of %s with %d attentions after %s = %d, want %d", tc.state, len(tc.attention), tc.age, got, tc.want)
		}
	}
}

func TestUSD(t *testing.T) {
	for micro, want := range map[int64]string{
		0: "0.00", 3_120_000: "3.12", 400_000: "0.40", 13: "0.000013", 10_000_000: "10.00", 1_234_567: "1.234567",
	} {
		if got := status.Dollars(micro).String(); got != want {
			t.Errorf("Dollars(%d) = %s, want %s", micro, got, want)
		}
	}
}

func TestTasks(t *testing.T) {
	var list []task.Task
	add := func(id string, s task.State, r task.Reason, edit func(*task.Task)) {
		it := task.Task{ID: id, Text: "do " + id, State: s, Reason: r, Since: at.Add(time.Duration(len(list)) * time.Second)}
		if edit != nil {
			edit(&it)
		}
		list = append(list, it)
	}
	add("run", task.Validating, task.None, func(t *task.Task) { t.Attempts, t.Runs, t.CostMicroUSD = 2, []string{"r1", "r2"}, 610_000 })
	add("queued", task.Queued, task.None, nil)
	add("waiting", task.Waiting, task.None, nil)
	add("auth", task.Blocked, task.Auth, func(t *task.Task) { t.Message = "401" })
	add("weak", task.Paused, task.TestsWeakened, func(t *task.Task) { t.Attempts = 1 })
	add("budget", task.Paused, task.BudgetDay, func(t *task.Task) { t.NotBefore = at })
	add("failed", task.Failed, task.TurnsSpent, func(t *task.Task) { t.Attempts, t.NotBefore = 2, at })
	add("noop", task.Noop, task.NothingToDo, nil)
	add("stuck", task.Committed, task.PushRejected, nil)
	add("pushed", task.Pushed, task.None, func(t *task.Task) { t.Attempts = 1 })
	for range 30 {
		add("merged"+string(rune('A'+len(list))), task.Merged, task.None, nil)
	}
	var r status.Report
	r.Tasks(list)
	wantCounts := status.Counts{Queued: 1, Waiting: 1, Blocked: 1, Paused: 2, Running: 1, Committed: 1, Pushed: 1, FailedAttempts: 4}
	if diff := cmp.Diff(wantCounts, r.Counts); diff != "" {
		t.Errorf("Counts (-want +got):\n%s", diff)
	}
	wantCurrent := []status.Current{{ID: "run", Text: "do run", State: "validating", Run: "r2", Attempt: 2, Since: at, Cost: 0.61}}
	if diff := cmp.Diff(wantCurrent, r.Current); diff != "" {
		t.Errorf("Current (-want +got):\n%s", diff)
	}
	if len(r.Task) != 10+20 || r.Task[0].ID != "run" || r.Task[len(r.Task)-1].ID != list[len(list)-1].ID || r.Task[10].ID != list[20].ID {
		t.Errorf("%d tasks, from %s to %s, want all that go on and the last 20 that ended", len(r.Task), r.Task[0].ID, r.Task[len(r.Task)-1].ID)
	}
	var attention []string
	for _, a := range r.Attention {
		attention = append(attention, a.Task+" "+a.Code)
		if a.Action == "" || strings.Contains(a.Action, "TASK") || a.Message == "" {
			t.Errorf("attention %+v", a)
		}
	}
	want := []string{"auth auth", "weak tests_weakened", "noop nothing_to_do", "stuck push_rejected"}
	if diff := cmp.Diff(want, attention); diff != "" {
		t.Errorf("Attention (-want +got):\n%s", diff)
	}
}

func TestWriteMakesItsFolder(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a folder with spaces", "ü'\"", "status.toml")
	if err := status.Write(durable.OS(), name, full(), nil); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(name)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v, want 0600", info.Mode(), err)
	}
	if dir, err := os.Stat(filepath.Dir(name)); err != nil || dir.Mode().Perm() != 0o700 {
		t.Errorf("folder mode %v, %v, want 0700", dir.Mode(), err)
	}
	data, err := os.ReadFile(name)
	if err != nil || !bytes.Equal(data, status.Render(full(), nil)) {
		t.Errorf("the file holds %q, %v", data, err)
	}
}

// A full disk, or a process killed at any call, leaves the last report whole.
func TestWriteThatFailsKeepsTheOldFile(t *testing.T) {
	before, after := full(), full()
	after.Seq++
	for n := 0; ; n++ {
		name := filepath.Join(t.TempDir(), "status.toml")
		if err := status.Write(durable.OS(), name, before, nil); err != nil {
			t.Fatal(err)
		}
		fs := durable.NewCrash(durable.OS(), n)
		werr := status.Write(fs, name, after, nil)
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := status.Parse(data)
		if err != nil {
			t.Fatalf("after call %d: %v", n, err)
		}
		if !fs.Crashed() {
			if werr != nil || got.Seq != after.Seq {
				t.Errorf("seq %d, %v, want the new report", got.Seq, werr)
			}
			return
		}
		if werr == nil || got.Seq != before.Seq && got.Seq != after.Seq {
			t.Errorf("after call %d: seq %d, error %v", n, got.Seq, werr)
		}
	}
}

// unsynced leaves out the waiting for the device, which readers don't see.
type unsynced struct{ durable.FS }

func (unsynced) SyncDir(string) error { return nil }

func (u unsynced) Create(name string, perm os.FileMode) (durable.File, error) {
	f, err := u.FS.Create(name, perm)
	return unsyncedFile{f}, err
}

type unsyncedFile struct{ durable.File }

func (unsyncedFile) Sync() error { return nil }

func TestReadersNeverSeeAPart(t *testing.T) {
	const writes, readers = 1000, 2
	name := filepath.Join(t.TempDir(), "status.toml")
	disk, r := unsynced{durable.OS()}, full()
	if err := status.Write(disk, name, r, nil); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var group sync.WaitGroup
	for range readers {
		group.Go(func() {
			for last := int64(0); ; {
				select {
				case <-done:
					return
				default:
				}
				data, err := os.ReadFile(name)
				if err != nil {
					t.Errorf("read: %v", err)
					return
				}
				got, err := status.Parse(data)
				if err != nil || got.Journal.Entries != 812 || got.Seq < last {
					t.Errorf("after seq %d: seq %d, journal %+v, %v", last, got.Seq, got.Journal, err)
					return
				}
				last = got.Seq
			}
		})
	}
	for range writes {
		r.Seq++
		if err := status.Write(disk, name, r, nil); err != nil {
			t.Error(err)
			break
		}
	}
	close(done)
	group.Wait()
}
