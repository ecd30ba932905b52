package journal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/journal"
	"hob/journal/durable"
)

// What a writer finds cut or spoilt under its hands never verifies afterwards.
func TestConflictIsSeen(t *testing.T) {
	for _, tc := range []struct {
		name  string
		spoil func(s *scene, lines []string)
		want  journal.Code
	}{
		{"cut at a line end", func(s *scene, lines []string) { s.write(s.a, lines[:10]) }, journal.SeqGap},
		{"rubbish added", func(s *scene, lines []string) { s.write(s.a, append(lines, "rubbish")) }, journal.MalformedLine},
		{"half a line added", func(s *scene, _ []string) {
			appendBytes(s.t, s.file(s.a, "events.ndjson"), `{"v":1`)
		}, journal.MalformedLine},
		{"emptied", func(s *scene, _ []string) {
			s.must(os.Truncate(s.file(s.a, "events.ndjson"), 0))
		}, journal.SeqGap},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newScene(t, "open15")
			tc.spoil(s, s.lines(s.a))
			if err := s.live.Record(journal.RepairStarted{}); !errors.Is(err, journal.ErrConflict) {
				t.Errorf("Record: %v, want ErrConflict", err)
			}
			if report := s.log.Verify(s.a); report.Code != tc.want || report.Exit() != 1 {
				t.Errorf("Verify = %+v, want %s", report, tc.want)
			}
		})
	}
}

func TestVerifyLines(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 70) + "1" + strings.Repeat("}", 70)
	replace := func(old, new string) func(string) string {
		return func(line string) string { return strings.Replace(line, old, new, 1) }
	}
	for _, tc := range []struct {
		name string
		edit func(line string) string // of event 3, chained on afterwards
		want journal.Code
	}{
		{"empty line", func(string) string { return "" }, journal.MalformedLine},
		{"no object", func(string) string { return "[1]" }, journal.MalformedLine},
		{"another object", func(string) string { return `{"v":1}` }, journal.MalformedLine},
		{"no version", replace(`"v":1,`, ``), journal.MalformedLine},
		{"two objects", func(line string) string { return line + line }, journal.MalformedLine},
		{"too deep", replace(`"verdict":"fail"`, `"verdict":`+deep), journal.MalformedLine},
		{"very deep", func(string) string { return strings.Repeat("[", 60000) }, journal.MalformedLine},
		{"carriage return", func(line string) string { return line + "\r" }, journal.NoncanonicalEnvelope},
		{"space", replace(`,"seq"`, `, "seq"`), journal.NoncanonicalEnvelope},
		{"one key more", replace(`"seq"`, `"sep":1,"seq"`), journal.NoncanonicalEnvelope},
		{"seq as 3.0", replace(`"seq":3`, `"seq":3.0`), journal.NoncanonicalEnvelope},
		{"seq as text", replace(`"seq":3`, `"seq":"3"`), journal.NoncanonicalEnvelope},
		{"seq below zero", replace(`"seq":3`, `"seq":-3`), journal.NoncanonicalEnvelope},
		{"seq beyond integers", replace(`"seq":3`, `"seq":99999999999999999999`), journal.NoncanonicalEnvelope},
		{"version as 1.0", replace(`"v":1`, `"v":1.0`), journal.NoncanonicalEnvelope},
		{"version of tomorrow", replace(`"v":1`, `"v":2`), journal.UnsupportedVersion},
		{"time with an offset", replace(`Z","mono"`, `+00:00","mono"`), journal.NoncanonicalEnvelope},
		{"escaped slash in kind", replace(`validator.f`, `validator\u002ef`), journal.NoncanonicalEnvelope},
		{"space in body", replace(`"verdict":"fail"`, `"verdict": "fail"`), journal.NoncanonicalEnvelope},
		{"body keys out of order", replace(`"verdict":"fail"`, `"verdict":"fail","a":1`), journal.NoncanonicalEnvelope},
		{"escape in body", replace(`"verdict":"fail"`, `"verdict":"f\u0061il"`), journal.NoncanonicalEnvelope},
		{"float in body", replace(`"exit":1`, `"exit":1.5`), journal.NoncanonicalEnvelope},
		{"exponent in body", replace(`"exit":1`, `"exit":1e3`), journal.NoncanonicalEnvelope},
		{"minus zero in body", replace(`"exit":1`, `"exit":-0`), journal.NoncanonicalEnvelope},
		{"body is a list", func(line string) string {
			return regexp.MustCompile(`"body":\{.*\},"prev"`).ReplaceAllString(line, `"body":[],"prev"`)
		}, journal.NoncanonicalEnvelope},
		{"prev in capitals", func(line string) string { return line[:len(line)-66] + strings.ToUpper(line[len(line)-66:]) }, journal.NoncanonicalEnvelope},
		{"key twice in the envelope", replace(`"seq":3`, `"seq":3,"seq":3`), journal.DuplicateKey},
		{"bad UTF-8", replace(`"fail"`, "\"f\xffil\""), journal.InvalidUTF8},
		{"just too long", replace(`"fail"`, `"`+strings.Repeat("x", 64<<10)+`"`), journal.LineTooLong},
		{"seq again", replace(`"seq":3`, `"seq":2`), journal.SeqRepeat},
		{"another run", func(line string) string {
			return regexp.MustCompile(`"run":"\w+"`).ReplaceAllString(line, `"run":"01ARZ3NDEKTSV4RRFFQ69G5FAV"`)
		}, journal.ForeignRun},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newScene(t, "sealed20")
			lines := s.lines(s.a)
			line := tc.edit(lines[3])
			if line == lines[3] {
				t.Fatal("the case changes nothing")
			}
			lines[3] = line
			chain(lines, 4)
			s.write(s.a, lines)
			report := s.log.Verify(s.a)
			if report.Code != tc.want || report.AtSeq != 3 || report.OK {
				t.Errorf("Verify = %+v, want %s at 3", report, tc.want)
			}
		})
	}
}

func TestVerifyRemarks(t *testing.T) {
	for _, tc := range []struct {
		name string
		do   func(s *scene)
		want journal.Code
	}{
		{"kind of tomorrow", func(s *scene) {
			lines := s.lines(s.a)
			lines[3] = strings.Replace(lines[3], "validator.finished", "validator.yawned", 1)
			chain(lines, 4)
			s.write(s.a, lines)
		}, journal.UnknownKind},
		{"second name", func(s *scene) {
			s.must(os.Link(s.file(s.a, "events.ndjson"), filepath.Join(s.dir, "second")))
		}, journal.UnsafeLink},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newScene(t, "sealed20")
			tc.do(s)
			report := s.log.Verify(s.a)
			if !report.OK || len(report.Findings) != 1 || report.Findings[0].Code != tc.want {
				t.Errorf("Verify = %+v, want ok and %s", report, tc.want)
			}
		})
	}
}

func TestVerifyFiles(t *testing.T) {
	for _, tc := range []struct {
		name string
		do   func(s *scene) (run string)
		want journal.Code
		exit int
	}{
		{"no such run", func(*scene) string { return "01ARZ3NDEKTSV4RRFFQ69G5FAV" }, journal.RunNotFound, 1},
		{"no id", func(*scene) string { return "yesterday" }, journal.RunNotFound, 1},
		{"path", func(s *scene) string { return "../runs/" + s.a }, journal.UnsafePath, 1},
		{"nothing", func(*scene) string { return "" }, journal.UnsafePath, 1},
		{"file for a folder", func(s *scene) string {
			s.must(os.RemoveAll(s.file(s.a, "")))
			s.must(os.WriteFile(s.file(s.a, ""), nil, 0o600))
			return s.a
		}, journal.UnsafePath, 1},
		{"link to a file", func(s *scene) string {
			events := s.file(s.a, "events.ndjson")
			s.must(os.Rename(events, events+".old"))
			s.must(os.Symlink("events.ndjson.old", events))
			return s.a
		}, journal.UnsafePath, 1},
		{"folder for a file", func(s *scene) string {
			s.must(os.Remove(s.file(s.a, "bodies.log")))
			s.must(os.Mkdir(s.file(s.a, "bodies.log"), 0o700))
			return s.a
		}, journal.NotRegularFile, 1},
		{"no events", func(s *scene) string {
			s.must(os.Remove(s.file(s.a, "events.ndjson")))
			return s.a
		}, journal.RunMissing, 1},
		{"no manifest", func(s *scene) string {
			s.must(os.Remove(s.file(s.a, "manifest.json")))
			return s.a
		}, journal.ManifestMismatch, 1},
		{"huge manifest", func(s *scene) string {
			s.must(os.Truncate(s.file(s.a, "manifest.json"), 1<<30))
			return s.a
		}, journal.ManifestMismatch, 1},
		{"manifest of tomorrow", func(s *scene) string {
			s.must(os.WriteFile(s.file(s.a, "manifest.json"), []byte(`{"version":2}`), 0o600))
			return s.a
		}, journal.UnsupportedVersion, 5},
		{"events added to the end", func(s *scene) string {
			lines := s.lines(s.a)
			lines = append(lines, strings.Replace(lines[18], `"seq":18`, `"seq":20`, 1))
			chain(lines, 20)
			s.write(s.a, lines)
			return s.a
		}, journal.WriterConflict, 1},
		{"last event without its check", func(s *scene) string {
			lines := s.lines(s.a)
			lines[19] = strings.Replace(lines[19], `"check":`, `"chalk":`, 1)
			s.write(s.a, lines)
			return s.a
		}, journal.PrevMismatch, 1},
		{"half a line after the end", func(s *scene) string {
			appendBytes(s.t, s.file(s.a, "events.ndjson"), "{")
			return s.a
		}, journal.MalformedLine, 1},
		{"text altered", func(s *scene) string {
			name := s.file(s.a, "bodies.log")
			b, err := os.ReadFile(name)
			s.must(err)
			s.must(os.WriteFile(name, bytes.Replace(b, []byte("please"), []byte("pleasE"), 1), 0o600))
			return s.a
		}, journal.BodyMismatch, 1},
		{"text cut off", func(s *scene) string {
			s.must(os.Truncate(s.file(s.a, "bodies.log"), 100))
			return s.a
		}, journal.BodyMissing, 2},
		{"false length of a text", func(s *scene) string {
			f, err := os.OpenFile(s.file(s.a, "bodies.log"), os.O_WRONLY, 0)
			s.must(err)
			_, err = f.Write([]byte{0xff, 0xff, 0xff, 0xff})
			s.must(errors.Join(err, f.Close()))
			return s.a
		}, journal.BodyMissing, 2},
		{"no permission", func(s *scene) string {
			s.must(os.RemoveAll(filepath.Join(s.dir, "runs")))
			s.must(os.WriteFile(filepath.Join(s.dir, "runs"), nil, 0o600))
			return s.a
		}, journal.IOError, 4},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newScene(t, "sealed20")
			report := s.log.Verify(tc.do(s))
			if report.Code != tc.want || report.Exit() != tc.exit || report.OK {
				t.Errorf("Verify = %+v, want %s and exit %d", report, tc.want, tc.exit)
			}
		})
	}
}

// Any one byte of any file of a run, changed in any one bit, is found.
func TestFlipEachByte(t *testing.T) {
	s := newScene(t, "sealed20")
	if report := s.log.Verify(s.a); report.Code != journal.OK || report.Exit() != 0 || len(report.Findings) != 0 {
		t.Fatalf("Verify of the whole run = %+v", report)
	}
	for _, name := range []string{"manifest.json", "events.ndjson", "bodies.log"} {
		f, err := os.OpenFile(s.file(s.a, name), os.O_RDWR, 0)
		s.must(err)
		defer f.Close()
		whole, err := os.ReadFile(f.Name())
		s.must(err)
		for at, c := range whole {
			flipped := []byte{c ^ 1<<(at%8)}
			_, err := f.WriteAt(flipped, int64(at))
			s.must(err)
			if report := s.log.Verify(s.a); report.OK || report.Exit() == 0 || report.Exit() == 4 {
				t.Errorf("%s: byte %d from %q to %q: Verify = %+v", name, at, c, flipped, report)
			}
			_, err = f.WriteAt([]byte{c}, int64(at))
			s.must(err)
		}
	}
}

// Cut at any offset a run never verifies as finished, and only whole lines
// lost from the end go unnoticed: what the package's doc admits.
func TestTruncateEverywhere(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, journal.Options{Content: true})
	r := begin(t, l)
	events := twenty(t, r)
	record(t, r, events[0], events[3], events[8], events[19])
	name := filepath.Join(dir, "runs", r.ID(), "events.ndjson")
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for size := len(whole) - 1; size >= 0; size-- {
		if err := os.Truncate(name, int64(size)); err != nil {
			t.Fatal(err)
		}
		report := l.Verify(r.ID())
		want := journal.IncompleteTail
		if size == 0 || whole[size-1] == '\n' {
			want = journal.OKOpen
		}
		if report.Code != want {
			t.Errorf("cut to %d bytes: Verify = %+v, want %s", size, report, want)
		}
	}
}

func TestReportJSON(t *testing.T) {
	s := newScene(t, "open15")
	b, err := json.Marshal(s.log.Verify(s.a))
	if err != nil {
		t.Fatal(err)
	}
	b = regexp.MustCompile(`"(bytes|ms)":\d+`).ReplaceAll(b, []byte(`"$1":0`))
	want := fmt.Sprintf(`{"run":%s,"ok":true,"code":"ok_open","class":"ok","at_seq":-1,"trust":"unsigned",`+
		`"binding":"unchecked","findings":[],"checked":{"events":15,"bytes":0,"ms":0}}`, strconv.Quote(s.a))
	if diff := cmp.Diff(want, string(b)); diff != "" {
		t.Errorf("JSON (-want +got):\n%s", diff)
	}
}

// A report is bounded, whatever the file is.
func TestFindingsAreBounded(t *testing.T) {
	s := newScene(t, "sealed20")
	s.must(os.WriteFile(s.file(s.a, "events.ndjson"), bytes.Repeat([]byte("x\n"), 10000), 0o600))
	report := s.log.Verify(s.a)
	if len(report.Findings) != 100 || report.Checked.Events != 10000 || report.Code != journal.MalformedLine {
		t.Errorf("%d findings of %d events, %s", len(report.Findings), report.Checked.Events, report.Code)
	}
}

// No line makes a verifier panic or hang, and none can be put between those of
// a run, or behind its end, even if the others are chained to it.
func FuzzVerify(f *testing.F) {
	f.Add([]byte("{}"), []byte("{"), 0)
	f.Add([]byte(`{"v":1,"run":"01ARZ3NDEKTSV4RRFFQ69G5FAV","seq":0,"ts":"2026-11-30T20:31:02.123456Z","mono":1,"kind":"tool.result","span":"a3","body":{},"prev":"00"}`), []byte{}, 3)
	f.Add([]byte(`{"v":1,"run":"A","seq":0,"ts":"","mono":1,"kind":"a","span":"a","body":{"h":{"h":"","ref":9}},"prev":""}`), []byte("\x00\x00"), 19)
	s := newScene(f, "sealed20")
	whole, err := os.ReadFile(s.file(s.a, "bodies.log"))
	s.must(err)
	before := s.lines(s.a)
	f.Fuzz(func(t *testing.T, line, bodies []byte, at int) {
		at = min(max(at, 0), len(before))
		lines := slices.Concat(before[:at], []string{string(line)}, before[at:])
		chain(lines, at)
		events := []byte(strings.Join(lines, "\n") + "\n")
		if err := os.WriteFile(s.file(s.a, "events.ndjson"), events, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(s.file(s.a, "bodies.log"), slices.Concat(whole, bodies), 0o600); err != nil {
			t.Fatal(err)
		}
		report := s.log.Verify(s.a)
		if report.OK {
			t.Errorf("Verify = %+v with another line at %d", report, at)
		}
		if entries, err := s.log.Read(s.a); err == nil && len(entries) > len(lines) {
			t.Errorf("Read shows %d events of %d lines", len(entries), len(lines))
		}
	})
}

func BenchmarkVerify(b *testing.B) {
	l := open(b, b.TempDir(), journal.Options{FS: unsynced{durable.OS()}, Content: true})
	r := begin(b, l)
	why := strings.Repeat("because of that ", 60)
	for i := range 2000 {
		record(b, r, journal.ToolCall{CallID: "call_0123456789", Turn: i, Args: keep(b, r, "{}"), Why: why})
	}
	report := l.Verify(r.ID())
	b.SetBytes(report.Checked.Bytes)
	for b.Loop() {
		if report := l.Verify(r.ID()); !report.OK {
			b.Fatal(report)
		}
	}
}

// unsynced is an FS without its slowest call.
type unsynced struct{ durable.FS }

func (u unsynced) Append(name string, perm os.FileMode) (durable.File, error) {
	f, err := u.FS.Append(name, perm)
	return unsyncedFile{f}, err
}

func (unsynced) SyncDir(string) error { return nil }

type unsyncedFile struct{ durable.File }

func (unsyncedFile) Sync() error { return nil }
