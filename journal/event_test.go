package journal_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/journal"
)

// vocabulary has a value of each kind, with every field set, so that a field
// that is lost on the way shows.
func vocabulary(tb testing.TB) []journal.Event {
	tb.Helper()
	events := []journal.Event{
		journal.RunStarted{},
		journal.SnapshotTaken{},
		journal.LLMRequest{},
		journal.LLMResponse{},
		journal.LLMError{},
		journal.ToolCall{},
		journal.ToolResult{},
		journal.EditOutcome{},
		journal.ValidatorStarted{},
		journal.ValidatorFinished{},
		journal.RepairStarted{},
		journal.RepairFinished{},
		journal.BudgetAlert{},
		journal.CommitIntended{},
		journal.CommitCreated{},
		journal.PushIntended{},
		journal.PushResult{},
		journal.SecretMasked{},
		journal.Gap{},
		journal.TailRecovered{},
		journal.TaskQueued{},
		journal.TaskClaimed{},
		journal.TaskPaused{},
		journal.TaskResumed{},
		journal.TaskRenamed{},
		journal.TaskWithdrawn{},
		journal.TaskFinished{},
		journal.ScheduleWoken{},
		journal.IllegalTransition{},
		journal.ConfigReloaded{},
		journal.RunFinished{},
	}
	for i, e := range events {
		v := reflect.New(reflect.TypeOf(e)).Elem()
		fill(tb, v)
		events[i] = v.Interface().(journal.Event)
	}
	return events
}

func fill(tb testing.TB, v reflect.Value) {
	tb.Helper()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Interface().(type) {
		case string:
			f.SetString("text <" + v.Type().Field(i).Name + ">")
		case int, int64:
			f.SetInt(int64(1)<<53 + int64(i)) // more than a float holds
		case bool:
			f.SetBool(true)
		case []string:
			f.Set(reflect.ValueOf([]string{"a b", "c"}))
		case journal.Ref:
			f.Set(reflect.ValueOf(journal.Ref{I: -1, Len: 3, H: sum("x"), Trunc: 9, Masked: 1}))
		default:
			tb.Fatalf("%s.%s: an event has integers, strings and Refs only", v.Type(), v.Type().Field(i).Name)
		}
	}
}

func TestVocabulary(t *testing.T) {
	l := open(t, t.TempDir(), journal.Options{Content: true})
	r := begin(t, l)
	want := vocabulary(t)
	record(t, r, want...)
	var got []journal.Event
	kinds := map[string]bool{}
	for _, e := range read(t, l, r.ID()) {
		event, err := journal.Decode(e)
		if err != nil {
			t.Fatal(err)
		}
		if kinds[e.Kind] || event.Kind() != e.Kind || !regexp.MustCompile(`^[a-z]+\.[a-z]+$`).MatchString(e.Kind) {
			t.Errorf("kind %q of %T: listed twice, or not noun.verb", e.Kind, event)
		}
		kinds[e.Kind] = true
		if last, ok := event.(journal.RunFinished); ok {
			last.Check = want[len(want)-1].(journal.RunFinished).Check // filled in by Record
			event = last
		}
		got = append(got, event)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-recorded +decoded):\n%s", diff)
	}
	if report := l.Verify(r.ID()); report.Code != journal.OK {
		t.Errorf("Verify = %+v", report)
	}
	if _, err := journal.Decode(journal.Entry{Kind: "pig.flew"}); !errors.Is(err, journal.ErrUnknownKind) {
		t.Errorf("Decode of an unknown kind: %v", err)
	}
	if _, err := journal.Decode(journal.Entry{Kind: "tool.call", Body: json.RawMessage(`{"turn":"x"}`)}); err == nil {
		t.Error("Decode took a string for a number")
	}
}

// Every struct of event.go is in the test above.
func TestVocabularyIsWhole(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "event.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var declared, tested []string
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.TypeSpec); ok {
			if _, ok := spec.Type.(*ast.StructType); ok {
				declared = append(declared, spec.Name.Name)
			}
		}
		return true
	})
	for _, e := range vocabulary(t) {
		tested = append(tested, reflect.TypeOf(e).Name())
	}
	slices.Sort(declared)
	slices.Sort(tested)
	if diff := cmp.Diff(declared, tested); diff != "" {
		t.Errorf("structs of event.go (-declared +tested):\n%s", diff)
	}
}

func TestSpans(t *testing.T) {
	l := open(t, t.TempDir(), journal.Options{})
	r := begin(t, l)
	record(
		t, r,
		journal.RunStarted{},
		journal.LLMRequest{},
		journal.LLMResponse{},
		journal.ToolCall{CallID: "a"},
		journal.ToolCall{CallID: "b"},
		journal.ToolResult{CallID: "a"},
		journal.ToolResult{CallID: "b"},
		journal.ToolResult{CallID: "c"},
		journal.CommitIntended{},
		journal.CommitCreated{},
		journal.PushIntended{Target: "origin"},
		journal.PushIntended{Target: "here"},
		journal.PushResult{Target: "origin"},
		journal.RunFinished{},
	)
	var got []string
	for _, e := range read(t, l, r.ID()) {
		got = append(got, e.Span)
	}
	want := strings.Fields("0 1 1 3 4 3 4 0 8 8 a b a 0")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
}
