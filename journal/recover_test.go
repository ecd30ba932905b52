package journal_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/journal"
	"hob/journal/durable"
)

// openRun15 makes a run of 15 events that isn't finished, closes it, and
// returns the name of its events file.
func openRun15(t testing.TB, dir string) (l *journal.Log, run, events string) {
	t.Helper()
	l = open(t, dir, journal.Options{FS: unsynced{durable.OS()}, Content: true})
	r, err := l.Begin(journal.Manifest{Kind: "item"})
	if err != nil {
		t.Fatal(err)
	}
	record(t, r, twenty(t, r)[:15]...)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return l, r.ID(), filepath.Join(dir, "runs", r.ID(), "events.ndjson")
}

func TestRecoverTornTail(t *testing.T) {
	for _, tc := range []struct {
		name    string
		tear    func(whole []byte) []byte
		events  int // left
		dropped int // bytes; 0 is nothing to mend
	}{
		{"whole", func(b []byte) []byte { return b }, 15, 0},
		{"no line break", func(b []byte) []byte { return b[:len(b)-1] }, 14, -1},
		{"half a line", func(b []byte) []byte { return b[:len(b)-37] }, 14, -1},
		{"one byte", func(b []byte) []byte { return append(b, '{') }, 15, 1},
		{"one NUL", func(b []byte) []byte { return append(b, 0) }, 15, 1},
		{"NULs", func(b []byte) []byte { return append(b, make([]byte, 4096)...) }, 15, 4096},
		{"many NULs", func(b []byte) []byte { return append(b, make([]byte, 300<<10)...) }, 15, 300 << 10},
		{"half a line and NULs", func(b []byte) []byte { return append(b, "{\"v\":1,\x00\x00\x00"...) }, 15, 10},
		{"NULs in a line", func(b []byte) []byte { return append(b, "{\"v\":1,\x00\x00\x00}\n"...) }, 15, 12},
		{"only half a line", func(b []byte) []byte { return b[:100] }, 0, 100},
		{"nothing", func([]byte) []byte { return nil }, 0, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			l, run, events := openRun15(t, dir)
			whole, err := os.ReadFile(events)
			if err != nil {
				t.Fatal(err)
			}
			torn := tc.tear(whole)
			if err := os.WriteFile(events, torn, 0o600); err != nil {
				t.Fatal(err)
			}
			wantCode, wantExit := journal.OKOpen, 0
			if tc.dropped != 0 {
				wantCode, wantExit = journal.IncompleteTail, 3
			}
			if before := l.Verify(run); before.Code != wantCode || before.Exit() != wantExit || tc.dropped != 0 && before.AtSeq != tc.events {
				t.Errorf("Verify before = %+v", before)
			}
			if got := read(t, l, run); len(got) != tc.events {
				t.Errorf("Read shows %d events of the torn run, want %d", len(got), tc.events)
			}
			for range 2 { // mending twice is mending once
				if err := l.Recover(); err != nil {
					t.Fatal(err)
				}
			}
			if after := l.Verify(run); after.Code != journal.OKOpen {
				t.Errorf("Verify after = %+v", after)
			}
			checkMended(t, read(t, l, run), whole, torn, tc.events, tc.dropped)
		})
	}
}

func checkMended(t *testing.T, got []journal.Entry, whole, torn []byte, events, dropped int) {
	t.Helper()
	if dropped == 0 {
		if len(got) != events {
			t.Errorf("%d events, want %d", len(got), events)
		}
		return
	}
	kept := bytes.Join(bytes.SplitAfter(whole, []byte("\n"))[:events], nil)
	tail := torn[len(kept):]
	if dropped > 0 && len(tail) != dropped {
		t.Fatalf("the tail has %d bytes, the case says %d", len(tail), dropped)
	}
	if len(got) != events+1 {
		t.Fatalf("%d events, want %d and tail.recovered", len(got), events)
	}
	event, err := journal.Decode(got[events])
	if err != nil {
		t.Fatal(err)
	}
	want := journal.TailRecovered{Bytes: int64(len(tail)), Digest: sum(string(tail))}
	if diff := cmp.Diff(journal.Event(want), event); diff != "" {
		t.Errorf("last event (-want +got):\n%s", diff)
	}
}

func TestResume(t *testing.T) {
	dir := t.TempDir()
	l, run, events := openRun15(t, dir)
	before := read(t, l, run)
	if err := os.Truncate(events, fileSize(t, events)-1); err != nil {
		t.Fatal(err)
	}
	// A text without an event is what a crash between the two leaves.
	bodies := filepath.Join(dir, "runs", run, "bodies.log")
	kept := fileSize(t, bodies)
	appendBytes(t, bodies, "\x00\x00\x00\x09half")
	r, err := l.Resume(run)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if n, _ := r.Head(); n != 15 || fileSize(t, bodies) != kept {
		t.Errorf("%d events after Resume and %d bytes of texts, want 15 and %d", n, fileSize(t, bodies), kept)
	}
	ref := keep(t, r, "after the crash")
	record(t, r, journal.RunFinished{Outcome: "interrupted", Message: ref})
	if report := l.Verify(run); report.Code != journal.OK {
		t.Errorf("Verify = %+v", report)
	}
	if body, err := l.Body(run, ref); err != nil || string(body) != "after the crash" {
		t.Errorf("Body = %q, %v", body, err)
	}
	after := read(t, l, run)
	if diff := cmp.Diff(before[:14], after[:14]); diff != "" {
		t.Errorf("events before the crash (-before +after):\n%s", diff)
	}
	if after[15].Mono < before[13].Mono {
		t.Errorf("mono went back from %v to %v", before[13].Mono, after[15].Mono)
	}
}

func fileSize(t testing.TB, name string) int64 {
	t.Helper()
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

func appendBytes(t testing.TB, name, text string) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
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

func TestResumeRefuses(t *testing.T) {
	l := open(t, t.TempDir(), journal.Options{})
	live := begin(t, l)
	record(t, live, journal.RunStarted{})
	if _, err := l.Resume(live.ID()); !errors.Is(err, journal.ErrConflict) || !strings.Contains(err.Error(), "pid") {
		t.Errorf("Resume of a run that is being written: %v", err)
	}
	record(t, live, journal.RunFinished{})
	if err := live.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Resume(live.ID()); !errors.Is(err, journal.ErrFinished) {
		t.Errorf("Resume of a finished run: %v", err)
	}
	if _, err := l.Resume("../runs"); err == nil {
		t.Error("Resume took a path")
	}

	dir := t.TempDir()
	l, run, events := openRun15(t, dir)
	b, err := os.ReadFile(events)
	if err != nil {
		t.Fatal(err)
	}
	altered := bytes.Replace(b, []byte(`"exit":1`), []byte(`"exit":0`), 1)
	altered = altered[:len(altered)-5] // a torn tail excuses nothing before it
	if err := os.WriteFile(events, altered, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Resume(run); !errors.Is(err, journal.ErrDamaged) {
		t.Errorf("Resume of an altered run: %v", err)
	}
	if err := l.Recover(); !errors.Is(err, journal.ErrDamaged) {
		t.Errorf("Recover with an altered run: %v", err)
	}
	if got, err := os.ReadFile(events); err != nil || !bytes.Equal(got, altered) {
		t.Errorf("the altered run was touched (%v)", err)
	}
}

// One damaged run does not keep the others from being mended.
func TestRecoverGoesOn(t *testing.T) {
	dir := t.TempDir()
	_, bad, badEvents := openRun15(t, dir)
	l, good, goodEvents := openRun15(t, dir)
	appendBytes(t, goodEvents, "{")
	if err := os.WriteFile(badEvents, []byte("rubbish\n{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := l.Recover(); err == nil || !strings.Contains(err.Error(), bad) || strings.Contains(err.Error(), good) {
		t.Errorf("Recover: %v, want an error that names %s only", err, bad)
	}
	if report := l.Verify(good); report.Code != journal.OKOpen {
		t.Errorf("Verify of the good run = %+v", report)
	}
}

// A run at work is left alone, also when it is in the middle of a line.
func TestRecoverLeavesWriterAlone(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, journal.Options{})
	r := begin(t, l)
	record(t, r, journal.RunStarted{})
	events := filepath.Join(dir, "runs", r.ID(), "events.ndjson")
	appendBytes(t, events, "{")
	size := fileSize(t, events)
	if err := l.Recover(); err != nil {
		t.Error(err)
	}
	if got := fileSize(t, events); got != size {
		t.Errorf("Recover changed a live run from %d to %d bytes", size, got)
	}
}

// work does what a run does, and tells each step that was acknowledged.
func work(l *journal.Log, acknowledged func(run, text string)) (err error) {
	r, err := l.Begin(journal.Manifest{Kind: "item"})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	for i := range 4 {
		text := fmt.Sprintf("text %d", i)
		ref, err := r.Keep([]byte(text))
		if err != nil {
			return err
		}
		if err := r.Record(journal.ToolCall{Turn: i, Args: ref}); err != nil {
			return err
		}
		acknowledged(r.ID(), text)
	}
	return r.Record(journal.RunFinished{})
}

var deaths = []struct {
	name string
	at   func(n int) *durable.Crash
}{
	{"kill", func(n int) *durable.Crash { return durable.NewCrash(unsynced{durable.OS()}, n) }},
	{"power cut", func(n int) *durable.Crash { return durable.NewPowerCut(unsynced{durable.OS()}, n) }},
}

// Wherever a run dies, and wherever mending it dies, in the end the chain
// verifies and every acknowledged event is there with its text.
func TestCrashAtEveryCall(t *testing.T) {
	for _, death := range deaths {
		t.Run(death.name, func(t *testing.T) {
			for n, done := 0, false; !done; n++ {
				for m, mended := 0, false; !mended; m++ {
					done, mended = crash(t, death.at(n), death.at(m))
				}
			}
		})
	}
}

// crash reports whether each of the two FS survived.
func crash(t *testing.T, first, second *durable.Crash) (done, mended bool) {
	t.Helper()
	dir := t.TempDir()
	acked := map[string][]string{}
	err := durable.OS().MkdirAll(filepath.Join(dir, "runs"), 0o700)
	if err != nil {
		t.Fatal(err)
	}
	l, err := journal.Open(dir, journal.Options{FS: first, Content: true})
	if err == nil {
		err = work(l, func(run, text string) { acked[run] = append(acked[run], text) })
	}
	if first.Crashed() != errors.Is(err, durable.ErrCrashed) {
		t.Fatalf("work: %v", err)
	}
	l, err = journal.Open(dir, journal.Options{FS: second, Content: true})
	if err == nil {
		err = l.Recover()
	}
	if second.Crashed() != errors.Is(err, durable.ErrCrashed) {
		t.Fatalf("recover: %v", err)
	}
	l = open(t, dir, journal.Options{Content: true})
	if err := l.Recover(); err != nil {
		t.Fatal(err)
	}
	checkAcknowledged(t, l, acked)
	if left, err := os.ReadDir(filepath.Join(dir, "staging")); err != nil || len(left) > 0 {
		t.Errorf("staging has %v, %v", left, err)
	}
	return !first.Crashed(), !second.Crashed()
}

func checkAcknowledged(t *testing.T, l *journal.Log, acked map[string][]string) {
	t.Helper()
	runs, err := l.Runs()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range runs {
		if report := l.Verify(m.Run); !report.OK {
			t.Errorf("Verify = %+v", report)
		}
		var got []string
		for _, e := range read(t, l, m.Run) {
			event, err := journal.Decode(e)
			if err != nil {
				t.Fatal(err)
			}
			call, ok := event.(journal.ToolCall)
			if !ok {
				continue
			}
			body, err := l.Body(m.Run, call.Args)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, string(body))
		}
		want := acked[m.Run]
		delete(acked, m.Run)
		// The one more may be there or not: nobody was told.
		if len(got) < len(want) || len(got) > len(want)+1 || !slices.Equal(want, got[:len(want)]) {
			t.Errorf("events with %q, acknowledged were %q", got, want)
		}
	}
	if len(acked) > 0 {
		t.Errorf("acknowledged runs are gone: %v", acked)
	}
}

// Whatever stands in an events file, reading, verifying and mending end, and a
// run that was mended verifies.
func FuzzRecover(f *testing.F) {
	f.Add([]byte{}, 0)
	f.Add([]byte("{\x00\x00\n"), 3)
	f.Add(make([]byte, 70<<10), 15)
	f.Add([]byte(`{"v":1,"run":"`), 14)
	dir := f.TempDir()
	l, run, events := openRun15(f, dir)
	bodies := filepath.Join(dir, "runs", run, "bodies.log")
	texts, err := os.ReadFile(bodies)
	if err != nil {
		f.Fatal(err)
	}
	whole, err := os.ReadFile(events)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, tail []byte, lines int) {
		kept := bytes.Join(bytes.SplitAfter(whole, []byte("\n"))[:min(max(lines, 0), 15)], nil)
		if err := os.WriteFile(events, append(kept, tail...), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(bodies, texts, 0o600); err != nil {
			t.Fatal(err)
		}
		before := l.Verify(run)
		err := l.Recover()
		after := l.Verify(run)
		switch before.Exit() {
		case 0:
			if err != nil || after.Code != before.Code {
				t.Errorf("%s became %s, %v", before.Code, after.Code, err)
			}
		case 3:
			if (err == nil) != after.OK {
				t.Errorf("mended with %v, Verify = %+v", err, after)
			}
		default:
			if after.Code != before.Code {
				t.Errorf("damaged run went from %s to %s", before.Code, after.Code)
			}
		}
		if entries, err := l.Read(run); after.OK && (err != nil || len(entries) != after.Checked.Events) {
			t.Errorf("%d events, %v, but %d verified", len(entries), err, after.Checked.Events)
		}
	})
}
