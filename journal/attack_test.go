package journal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"hob/journal"
	"hob/journal/durable"
)

// twenty are the events of a finished run, in the order that the attacks in
// testdata build on.
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
	t    testing.TB
	dir  string
	log  *journal.Log
	a, b string       // runs; b may be ""
	live *journal.Run // a's writer
}

func newScene(t testing.TB, base string) *scene {
	t.Helper()
	dir := t.TempDir()
	s := &scene{t: t, dir: dir, log: open(t, dir, journal.Options{FS: unsynced{durable.OS()}, Content: true})}
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

// An attack is one of the cases in testdata.
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

// Each attack is played that a bare chain can answer; the others are listed
// with what they wait for.
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
	if played < 20 {
		t.Errorf("played %d attacks of %d", played, len(file.Cases))
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
