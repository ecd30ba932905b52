package journal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/journal"
	"hob/journal/durable"
)

// twenty are the events of a finished run, in the order that the shared
// attacks build on.
func twenty(tb testing.TB, r *journal.Run) []journal.Event {
	tb.Helper()
	tree := strings.Repeat("ab", 20)
	return []journal.Event{
		journal.RunStarted{Hob: "0.1", Task: "t-4f2a", Item: keep(tb, r, "say hello"), Trigger: "cron"},
		journal.SnapshotTaken{Head: tree, Branch: "main", Base: tree, Tree: tree, Method: "archive"},
		journal.ValidatorStarted{Name: "test", Phase: "base", Argv: []string{"go", "test"}, Env: []string{"PATH"}},
		journal.ValidatorFinished{Name: "test", Phase: "base", Exit: 1, Verdict: "fail", Tool: "go", Out: keep(tb, r, "FAIL")},
		journal.LLMRequest{Provider: "script", Model: "m", Turn: 1, Prompt: keep(tb, r, "please")},
		journal.ToolResult{CallID: "c0", Name: "read", Exit: 1, Out: keep(tb, r, "no such file")},
		journal.LLMResponse{Model: "m", Turn: 1, CostMicroUSD: 1234, Body: keep(tb, r, "sure")},
		journal.EditOutcome{Turn: 1, N: 1, Format: "full_file", Applied: true, Path: "a.go"},
		journal.ToolCall{CallID: "c1", Name: "run", Args: keep(tb, r, "{}"), Decision: "allow"},
		journal.ToolResult{CallID: "c1", Name: "run", Out: keep(tb, r, "fine")},
		journal.LLMRequest{Provider: "script", Model: "m", Turn: 2, Prompt: keep(tb, r, "go on")},
		journal.LLMResponse{Model: "m", Turn: 2, Body: keep(tb, r, "done")},
		journal.EditOutcome{Turn: 2, N: 1, Format: "search_replace", Applied: true, Path: "a.go"},
		journal.ValidatorStarted{Name: "test", Phase: "verdict", Argv: []string{"go", "test"}, Tree: tree},
		journal.ValidatorFinished{Name: "test", Phase: "verdict", Verdict: "pass", Tool: "go", Ran: 3},
		journal.CommitIntended{Branch: "agent-dev", Tree: tree, Trailers: []string{"Hob-Task: t-4f2a"}},
		journal.CommitCreated{Branch: "agent-dev", Commit: tree, Tree: tree},
		journal.PushIntended{Target: "origin", Remote: "https://h/r.git", New: tree},
		journal.PushResult{Target: "origin", Remote: "https://h/r.git", New: tree, State: "pushed"},
		journal.RunFinished{Outcome: "pushed", Events: 20},
	}
}

// A scene is a journal with one or two runs, and what an attacker can do.
type scene struct {
	t    *testing.T
	dir  string
	log  *journal.Log
	a, b string       // runs; b may be ""
	live *journal.Run // a's writer
}

func newScene(t *testing.T, base string) *scene {
	t.Helper()
	dir := t.TempDir()
	s := &scene{t: t, dir: dir, log: open(t, dir, journal.Options{Content: true})}
	s.live = begin(t, s.log)
	s.a = s.live.ID()
	events := twenty(t, s.live)
	if base == "open15" {
		events = events[:15]
	}
	record(t, s.live, events...)
	if base == "two_runs" {
		other := begin(t, s.log)
		record(t, other, twenty(t, other)...)
		s.b = other.ID()
	}
	return s
}

func (s *scene) file(run, name string) string { return filepath.Join(s.dir, "runs", run, name) }

func (s *scene) lines(run string) []string {
	s.t.Helper()
	b, err := os.ReadFile(s.file(run, "events.ndjson"))
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}

func (s *scene) write(run string, lines []string) {
	s.t.Helper()
	s.must(os.WriteFile(s.file(run, "events.ndjson"), []byte(strings.Join(lines, "\n")+"\n"), 0o600))
}

func (s *scene) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// chain gives lines[from:] the prev that fits, as somebody without a key can.
func chain(lines []string, from int) {
	prev := regexp.MustCompile(`[0-9a-f]{64}"}$`)
	for i := max(from, 1); i < len(lines); i++ {
		lines[i] = prev.ReplaceAllString(lines[i], sum("\x00"+lines[i-1])+`"}`)
	}
}

// An attack is one of the shared cases.
type attack struct {
	ID, Title, Base string
	Ops             []op
	Expect          struct {
		Exit  int
		Code  journal.Code
		Class string
		AtSeq *int `json:"at_seq"`
	}
}

type op struct {
	Op, File, Find, With, Text, Hex, Key, To string
	Seq, A, B, After, Over, From, N, V       int
	FromEnd                                  int64 `json:"from_end"`
	Bytes                                    int64
	Run                                      string
	TS                                       struct {
		Seq   int
		Delta int
	}
}

// UnmarshalJSON copes with "from", which is a line of some ops and a run of
// another that isn't played.
func (o *op) UnmarshalJSON(b []byte) error {
	type plain op
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(b, &raw); err != nil {
		return err
	}
	if bytes.HasPrefix(raw["from"], []byte(`"`)) {
		delete(raw, "from")
	}
	b, err := json.Marshal(raw)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, (*plain)(o))
}

// notYet says what an attack needs that doesn't exist.
func notYet(a attack) string {
	switch a.Base {
	case "log3", "log3_pushed":
		return "the log across runs"
	case "bound20":
		return "the log across runs and commit trailers"
	case "capsule", "capsule_evil":
		return "capsules"
	}
	switch a.Expect.Code {
	case "root_mismatch", "size_mismatch", "seal_signature_invalid":
		return "seals"
	case "log_entry_mismatch":
		return "the log across runs"
	case "head_rollback":
		return "signed heads"
	case "key_not_valid_at", "unknown_key":
		return "keys"
	}
	return ""
}

// played are the shared attacks that a bare chain must answer, and how many
// wait for each other part.
func TestAttacks(t *testing.T) {
	b, err := os.ReadFile("../testdata/attacks/attacks.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Cases []attack }
	if err := json.Unmarshal(b, &file); err != nil {
		t.Fatal(err)
	}
	played := 0
	waiting := map[string]int{}
	for _, a := range file.Cases {
		if why := notYet(a); why != "" {
			waiting[why]++
			continue
		}
		played++
		t.Run(a.ID, func(t *testing.T) { play(t, a) })
	}
	t.Logf("played %d, waiting for %v", played, waiting)
	want := map[string]int{
		"the log across runs": 4, "the log across runs and commit trailers": 3, "capsules": 3,
		"seals": 5, "signed heads": 1, "keys": 1,
	}
	if diff := cmp.Diff(want, waiting); diff != "" || played != 20 {
		t.Errorf("played %d attacks, waiting (-want +got):\n%s", played, diff)
	}
}

func play(t *testing.T, a attack) {
	t.Helper()
	s := newScene(t, a.Base)
	target := s.a
	for _, o := range a.Ops {
		if run := s.apply(o); run != "" {
			target = run
		}
	}
	if a.ID == "second-writer" {
		_, err := s.log.Resume(s.a)
		if !errors.Is(err, journal.ErrConflict) {
			t.Errorf("Resume: %v, want ErrConflict", err)
		}
		if n := len(s.lines(s.a)); n != 15 {
			t.Errorf("the second writer left %d events, want 15", n)
		}
		return
	}
	report := s.log.Verify(target)
	if report.Code != a.Expect.Code || report.Class != a.Expect.Class || report.Exit() != a.Expect.Exit {
		t.Errorf("%s: Verify = %+v, want %+v", a.Title, report, a.Expect)
	}
	if want := a.Expect.AtSeq; want != nil && report.AtSeq != *want {
		t.Errorf("%s: at %d, want %d", a.Title, report.AtSeq, *want)
	}
	if report.OK != (a.Expect.Exit == 0) || report.Trust != "unsigned" {
		t.Errorf("%s: ok %t, trust %q", a.Title, report.OK, report.Trust)
	}
	if _, err := s.log.Resume(target); err == nil && report.Exit() == 1 {
		t.Errorf("%s: the run could be resumed", a.Title)
	}
}

// apply does one step of an attack, and returns the run to verify if it isn't
// the first one. Steps about seals and logs do nothing: there are none.
func (s *scene) apply(o op) (run string) {
	s.t.Helper()
	events := s.file(s.a, "events.ndjson")
	lines := s.lines(s.a)
	edit := func(seq int, f func(line string) string) {
		s.t.Helper()
		changed := f(lines[seq])
		if changed == lines[seq] {
			s.t.Fatalf("%s changes nothing in %s", o.Op, lines[seq])
		}
		lines[seq] = changed
		s.write(s.a, lines)
	}
	switch o.Op {
	case "replace":
		edit(o.Seq, func(line string) string { return strings.Replace(line, o.Find, o.With, 1) })
	case "insert":
		edit(o.Seq, func(line string) string { return strings.Replace(line, `"verdict":"`, `"verdict":"`+o.Text, 1) })
	case "reorder_envelope":
		edit(o.Seq, func(line string) string {
			return regexp.MustCompile(`("kind":"[a-z.]+"),("span":"[0-9a-f]+")`).ReplaceAllString(line, `$2,$1`)
		})
	case "rechain":
		chain(lines, o.From)
		s.write(s.a, lines)
	case "rebuild":
		s.rebuild(o, lines)
	case "swap":
		lines[o.A], lines[o.B] = lines[o.B], lines[o.A]
		s.write(s.a, lines)
	case "copy_line":
		lines[o.Over] = s.lines(s.b)[o.Seq]
		s.write(s.a, lines)
	case "copy_run":
		for _, name := range []string{"manifest.json", "events.ndjson", "bodies.log"} {
			b, err := os.ReadFile(s.file(s.a, name))
			s.must(err)
			s.must(os.WriteFile(s.file(s.b, name), b, 0o600))
		}
		return s.b
	case "cut_bytes":
		s.must(os.Truncate(events, fileSize(s.t, events)-o.FromEnd))
		s.must(s.live.Close())
	case "prepend_hex":
		s.write(s.a, append([]string{"\xef\xbb\xbf" + lines[0]}, lines[1:]...))
	case "huge_line":
		s.write(s.a, lines[:o.After+1])
		s.must(os.Truncate(events, fileSize(s.t, events)+o.Bytes)) // NULs, sparse
		appendBytes(s.t, events, "\n"+strings.Join(lines[o.After+1:], "\n")+"\n")
	case "symlink_run":
		s.must(os.Rename(s.file(s.b, ""), filepath.Join(s.dir, "elsewhere")))
		s.must(os.Symlink("../elsewhere", s.file(s.b, "")))
		return s.b
	case "mkfifo":
		s.must(os.Remove(events))
		s.must(syscall.Mkfifo(events, 0o600))
	case "append_foreign":
		s.appendForeign(lines)
	case "remove":
		s.must(os.Remove(s.file(s.a, o.File)))
	case "replace_file":
		name := s.file(s.a, o.File)
		b, err := os.ReadFile(name)
		s.must(err)
		s.must(os.WriteFile(name, bytes.Replace(b, []byte(`"item"`), []byte(`"itch"`), 1), 0o600))
	case "reseal", "relog", "open_second_writer":
	default:
		s.t.Fatalf("op %q is unknown", o.Op)
	}
	return ""
}

// rebuild writes the whole chain anew with one thing changed.
func (s *scene) rebuild(o op, lines []string) {
	s.t.Helper()
	for i, line := range lines {
		if o.V != 0 {
			lines[i] = strings.Replace(line, `{"v":1,`, fmt.Sprintf(`{"v":%d,`, o.V), 1)
		}
		if o.TS.Delta != 0 && i == o.TS.Seq {
			lines[i] = regexp.MustCompile(`"ts":"\d{4}`).ReplaceAllString(line, `"ts":"1999`)
		}
	}
	chain(lines, 1)
	s.write(s.a, lines)
}

// appendForeign adds a good line behind the living writer's back, which finds
// out when it writes next, and leaves a note of it.
func (s *scene) appendForeign(lines []string) {
	s.t.Helper()
	line := strings.Replace(lines[14], `"seq":14`, `"seq":15`, 1)
	lines = append(lines, line)
	chain(lines, 15)
	s.write(s.a, lines)
	if err := s.live.Record(journal.RepairStarted{N: 1}); !errors.Is(err, journal.ErrConflict) {
		s.t.Errorf("Record: %v, want ErrConflict", err)
	}
	if err := s.live.Record(journal.RepairStarted{N: 1}); !errors.Is(err, journal.ErrConflict) {
		s.t.Errorf("second Record: %v, want ErrConflict", err)
	}
}

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
	s := newScene(t, "sealed20")
	events := s.file(s.a, "events.ndjson")
	whole, err := os.ReadFile(events)
	s.must(err)
	for size := len(whole) - 1; size >= 0; size-- {
		s.must(os.Truncate(events, int64(size)))
		report := s.log.Verify(s.a)
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
	s.must(os.WriteFile(s.file(s.a, "events.ndjson"), bytes.Repeat([]byte("x\n"), 100000), 0o600))
	report := s.log.Verify(s.a)
	if len(report.Findings) != 100 || report.Checked.Events != 100000 || report.Code != journal.MalformedLine {
		t.Errorf("%d findings of %d events, %s", len(report.Findings), report.Checked.Events, report.Code)
	}
}

// No text makes a verifier panic or hang, and nothing but what Record wrote
// verifies: a line in front of it or between does not.
func FuzzVerify(f *testing.F) {
	f.Add([]byte("{}"), []byte("{"), 0)
	f.Add([]byte(`{"v":1,"run":"01ARZ3NDEKTSV4RRFFQ69G5FAV","seq":0,"ts":"2026-11-30T20:31:02.123456Z","mono":1,"kind":"tool.result","span":"a3","body":{},"prev":"00"}`), []byte{}, 3)
	f.Add([]byte(`{"v":1,"run":"A","seq":0,"ts":"","mono":1,"kind":"a","span":"a","body":{"h":{"h":"","ref":9}},"prev":""}`), []byte("\x00\x00"), 19)
	f.Fuzz(func(t *testing.T, line, bodies []byte, at int) {
		s := newScene(t, "sealed20")
		lines := s.lines(s.a)
		at = min(max(at, 0), len(lines))
		before := strings.Join(lines, "\n")
		lines = append(lines[:at:at], append([]string{string(line)}, lines[at:]...)...)
		chain(lines, at)
		s.write(s.a, lines)
		appendBytes(t, s.file(s.a, "bodies.log"), string(bodies))
		report := s.log.Verify(s.a)
		if report.OK && strings.Join(s.lines(s.a), "\n") != before {
			t.Errorf("Verify = %+v with another line at %d", report, at)
		}
		if _, err := s.log.Read(s.a); err != nil && report.OK {
			t.Errorf("Read: %v, but Verify = %+v", err, report)
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

type unsyncedFile struct{ durable.File }

func (unsyncedFile) Sync() error { return nil }
