package journal_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"hob/journal"
	"hob/journal/durable"
	"hob/journal/redact"
)

func open(tb testing.TB, dir string, o journal.Options) *journal.Log {
	tb.Helper()
	l, err := journal.Open(dir, o)
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

func begin(tb testing.TB, l *journal.Log) *journal.Run {
	tb.Helper()
	r, err := l.Begin(journal.Manifest{Kind: "item", Task: "t-4f2a", Item: "say hello", Hob: "0.1", Host: "h1"})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := r.Close(); err != nil {
			tb.Error(err)
		}
	})
	return r
}

func record(tb testing.TB, r *journal.Run, events ...journal.Event) {
	tb.Helper()
	for _, e := range events {
		if err := r.Record(e); err != nil {
			tb.Fatal(err)
		}
	}
}

func keep(tb testing.TB, r *journal.Run, text string) journal.Ref {
	tb.Helper()
	ref, err := r.Keep([]byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	return ref
}

func read(tb testing.TB, l *journal.Log, run string) []journal.Entry {
	tb.Helper()
	entries, err := l.Read(run)
	if err != nil {
		tb.Fatal(err)
	}
	return entries
}

// The format is that of other readers too: it is checked with nothing but the
// standard library, against a line written out by hand.
func TestLineFormat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		l := open(t, dir, journal.Options{Content: true})
		r := begin(t, l)
		<-time.After(1500 * time.Microsecond)
		record(t, r, journal.ScheduleWoken{Cause: "poke <&> é\n"}, journal.ConfigReloaded{Old: "a", New: "b"})

		b, err := os.ReadFile(filepath.Join(dir, "runs", r.ID(), "events.ndjson"))
		if err != nil {
			t.Fatal(err)
		}
		manifest, err := os.ReadFile(filepath.Join(dir, "runs", r.ID(), "manifest.json"))
		if err != nil {
			t.Fatal(err)
		}
		first := fmt.Sprintf(`{"v":1,"run":"%s","seq":0,"ts":"2000-01-01T00:00:00.001500Z","mono":1500000,`+
			`"kind":"schedule.woken","span":"0","body":{"cause":"poke <&> é\n","ready":0},"prev":"%s"}`,
			r.ID(), sum("hob-journal/1\n"+r.ID()+"\n"+sum(string(manifest))))
		second := fmt.Sprintf(`{"v":1,"run":"%s","seq":1,"ts":"2000-01-01T00:00:00.001500Z","mono":1500000,`+
			`"kind":"config.reloaded","span":"0","body":{"digest":"b","old_digest":"a"},"prev":"%s"}`,
			r.ID(), sum("\x00"+first))
		if diff := cmp.Diff(first+"\n"+second+"\n", string(b)); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		n, last := r.Head()
		if n != 2 || last != sum("\x00"+second) {
			t.Errorf("Head = %d, %s", n, last)
		}
	})
}

func sum(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:])
}

func TestManifest(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, journal.Options{Redact: redact.New("correct-horse")})
	want := journal.Manifest{
		Kind: "daemon", Task: "t", Item: "use correct-horse", Trigger: "cron", Hob: "0.1",
		ConfigDigest: "c", Host: "h", Parent: "p", Started: time.Date(2026, 11, 30, 20, 31, 2, 123456789, time.UTC),
	}
	r, err := l.Begin(want)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	second := begin(t, l)
	want.Version, want.Run, want.Item = 1, r.ID(), "use [redacted:held]"
	want.Started = want.Started.Truncate(time.Microsecond)
	if err := os.Mkdir(filepath.Join(dir, "runs", "lost+found"), 0o700); err != nil {
		t.Fatal(err)
	}
	got, err := open(t, dir, journal.Options{}).Runs()
	if err != nil || len(got) != 2 {
		t.Fatalf("Runs = %v, %v", got, err)
	}
	if got[0].Run == second.ID() { // by the time of their beginning
		slices.Reverse(got)
	}
	if diff := cmp.Diff(want, got[0]); diff != "" {
		t.Errorf("manifest (-want +got):\n%s", diff)
	}
}

func TestRunsAreOldestFirst(t *testing.T) {
	l := open(t, t.TempDir(), journal.Options{})
	var want, got []string
	for range 20 {
		want = append(want, begin(t, l).ID())
	}
	runs, err := l.Runs()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range runs {
		got = append(got, m.Run)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Runs (-begun +listed):\n%s", diff)
	}
}

func TestBeginRefusesKind(t *testing.T) {
	l := open(t, t.TempDir(), journal.Options{})
	if _, err := l.Begin(journal.Manifest{Kind: "pig"}); err == nil {
		t.Error("Begin took an unknown kind")
	}
	if runs, err := l.Runs(); err != nil || len(runs) != 0 {
		t.Errorf("Runs = %v, %v", runs, err)
	}
}

func TestRunsSkipsDamagedManifest(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, journal.Options{})
	bad, good := begin(t, l), begin(t, l)
	if err := os.WriteFile(filepath.Join(dir, "runs", bad.ID(), "manifest.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	runs, err := l.Runs()
	if err == nil || !strings.Contains(err.Error(), bad.ID()) {
		t.Errorf("error %v does not name %s", err, bad.ID())
	}
	if len(runs) != 1 || runs[0].Run != good.ID() {
		t.Errorf("Runs = %v, want the good one", runs)
	}
}

// Held values are nowhere in the folder, whatever field they came in by.
func TestSecretsStayOut(t *testing.T) {
	const secret = `correct horse "battery"`
	dir := t.TempDir()
	l := open(t, dir, journal.Options{Content: true, Redact: redact.New(secret)})
	r, err := l.Begin(journal.Manifest{Kind: "item", Item: secret, Host: secret, Parent: secret})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	ref := keep(t, r, "env: "+secret)
	record(t, r,
		journal.ValidatorStarted{Name: secret, Argv: []string{"curl", "-u", "me:" + secret}},
		journal.ToolCall{Name: "run", Why: "because " + secret, Args: ref},
		journal.PushIntended{Remote: "https://me:correct%20horse%20%22battery%22@h/r.git"})
	err = filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(name)
		if bytes.Contains(b, []byte("correct")) || bytes.Contains(b, []byte("battery")) {
			t.Errorf("%s has %q", d.Name(), b)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := read(t, l, r.ID())[1].Body; !bytes.Contains(got, []byte("because [redacted:held]")) {
		t.Errorf("body %s has no mask", got)
	}
}

func TestPermissions(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "journal")
	begin(t, open(t, dir, journal.Options{}))
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestLongStringsAndEvents(t *testing.T) {
	l := open(t, t.TempDir(), journal.Options{})
	r := begin(t, l)
	record(t, r, journal.ToolCall{Why: strings.Repeat("é", 2000)})
	got := read(t, l, r.ID())[0].Body
	if !bytes.Contains(got, []byte("é[cut 1952 bytes]")) || len(got) > 3000 {
		t.Errorf("a long string became %d bytes: %s", len(got), got)
	}
	argv := slices.Repeat([]string{strings.Repeat("x", 1000)}, 17)
	if err := r.Record(journal.ValidatorStarted{Argv: argv}); !errors.Is(err, journal.ErrTooLong) {
		t.Errorf("Record of a huge event: %v", err)
	}
	record(t, r, journal.ValidatorStarted{Argv: argv[:12]}, journal.RunFinished{})
	if report := l.Verify(r.ID()); report.Code != journal.OK || report.Checked.Events != 3 {
		t.Errorf("Verify = %+v", report)
	}
}

func TestFinishedAndClosed(t *testing.T) {
	l := open(t, t.TempDir(), journal.Options{})
	r := begin(t, l)
	record(t, r, journal.RunFinished{})
	if err := r.Record(journal.ScheduleWoken{}); !errors.Is(err, journal.ErrFinished) {
		t.Errorf("Record after run.finished: %v", err)
	}
	other := begin(t, l)
	for range 2 {
		if err := other.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := other.Record(journal.ScheduleWoken{}); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Record after Close: %v", err)
	}
	if _, err := other.Keep(nil); !errors.Is(err, os.ErrClosed) {
		t.Errorf("Keep after Close: %v", err)
	}
	if _, err := l.Read("01ARZ3NDEKTSV4RRFFQ69G5FAV"); !errors.Is(err, journal.ErrNoRun) {
		t.Errorf("Read of a run that isn't there: %v", err)
	}
}

// Events are told in the order of the chain, after they are on disk, one at a
// time, and a subscriber may record.
func TestNotify(t *testing.T) {
	var l *journal.Log
	var daemon *journal.Run
	var got []string
	busy := make(chan struct{}, 1)
	l = open(t, t.TempDir(), journal.Options{Notify: func(e journal.Entry) {
		select {
		case busy <- struct{}{}:
		default:
			t.Error("told two events at once")
		}
		if entries := read(t, l, e.Run); len(entries) <= e.Seq || entries[e.Seq].Hash != e.Hash {
			t.Errorf("event %d is told, and isn't on disk", e.Seq)
		}
		got = append(got, fmt.Sprint(e.Run, e.Seq))
		if e.Kind == "run.finished" {
			record(t, daemon, journal.TaskFinished{Run: e.Run})
		}
		<-busy
	}})
	daemon = begin(t, l)
	var runs sync.WaitGroup
	for range 4 {
		r := begin(t, l)
		runs.Go(func() {
			for i := range 10 {
				if err := r.Record(journal.ToolCall{Turn: i}); err != nil {
					t.Error(err)
				}
			}
			if err := r.Record(journal.RunFinished{}); err != nil {
				t.Error(err)
			}
		})
	}
	runs.Wait()
	next := map[string]int{}
	for _, key := range got {
		run := key[:26]
		if want := fmt.Sprint(run, next[run]); key != want {
			t.Errorf("told %s, want %s", key, want)
		}
		next[run]++
	}
	if len(got) != 4*11+4 || next[daemon.ID()] != 4 {
		t.Errorf("told %d events, %d of the daemon", len(got), next[daemon.ID()])
	}
}

// A subscriber that panics does not silence the events to come.
func TestNotifyAfterPanic(t *testing.T) {
	told := 0
	l := open(t, t.TempDir(), journal.Options{Notify: func(journal.Entry) {
		if told++; told == 1 {
			panic("subscriber")
		}
	}})
	r := begin(t, l)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		record(t, r, journal.RunStarted{})
	}()
	record(t, r, journal.RunFinished{})
	if told != 2 {
		t.Errorf("told %d events, want 2", told)
	}
}

// broken is an FS whose files fail at one call with a cause.
type broken struct {
	durable.FS

	op    string
	cause error
}

func (b *broken) Append(name string, perm os.FileMode) (durable.File, error) {
	f, err := b.FS.Append(name, perm)
	return brokenFile{f, b}, err
}

type brokenFile struct {
	durable.File

	b *broken
}

func (f brokenFile) Write(p []byte) (int, error) {
	if f.b.op == "write" {
		n, err := f.File.Write(p[:len(p)/3])
		return n, errors.Join(f.b.cause, err)
	}
	return f.File.Write(p)
}

func (f brokenFile) Sync() error {
	if f.b.op == "sync" {
		return f.b.cause
	}
	return f.File.Sync()
}

// After an error a run says nothing more, and what it had said stays true.
func TestWriteErrorIsFinal(t *testing.T) {
	for _, op := range []string{"write", "sync"} {
		t.Run(op, func(t *testing.T) {
			fs := &broken{FS: durable.OS(), cause: syscall.ENOSPC}
			told := 0
			dir := t.TempDir()
			l := open(t, dir, journal.Options{FS: fs, Content: true, Notify: func(journal.Entry) { told++ }})
			r := begin(t, l)
			record(t, r, journal.RunStarted{})
			fs.op = op
			err := r.Record(journal.ToolCall{})
			if !errors.Is(err, journal.ErrWrite) || !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("Record: %v, want ErrWrite and its cause", err)
			}
			fs.op = ""
			if err := r.Record(journal.ToolCall{}); !errors.Is(err, journal.ErrWrite) {
				t.Errorf("Record after an error: %v", err)
			}
			if _, err := r.Keep([]byte("x")); !errors.Is(err, journal.ErrWrite) {
				t.Errorf("Keep after an error: %v", err)
			}
			if told != 1 {
				t.Errorf("told %d events, want 1", told)
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
			if err := l.Recover(); err != nil {
				t.Error(err)
			}
			if report := l.Verify(r.ID()); report.Code != journal.OKOpen {
				t.Errorf("Verify = %+v", report)
			}
		})
	}
}

func TestKeepErrorIsFinal(t *testing.T) {
	fs := &broken{FS: durable.OS(), cause: syscall.EIO}
	l := open(t, t.TempDir(), journal.Options{FS: fs, Content: true})
	r := begin(t, l)
	fs.op = "write"
	if _, err := r.Keep([]byte("text")); !errors.Is(err, journal.ErrWrite) || !errors.Is(err, syscall.EIO) {
		t.Errorf("Keep: %v", err)
	}
	fs.op = ""
	if err := r.Record(journal.ToolCall{}); !errors.Is(err, journal.ErrWrite) {
		t.Errorf("Record after a failed Keep: %v", err)
	}
}

func BenchmarkRecord(b *testing.B) {
	l := open(b, b.TempDir(), journal.Options{Content: true})
	r := begin(b, l)
	e := journal.ToolResult{CallID: "call_0123456789", Name: "run", Out: journal.Ref{I: -1, Len: 4000, H: sum("x")}}
	for b.Loop() {
		if err := r.Record(e); err != nil {
			b.Fatal(err)
		}
	}
}
