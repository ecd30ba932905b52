package model_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hob/engine/model"
)

const script = `
[[item]]
match = "greeting"
  [[item.step]]
  text = "let me look"
  calls = [{ name = "read", args = { path = "a.go", lines = "1-<9>" } }, { name = "list" }]
  usage = { input = 1200, output = 80 }
  [[item.step]]
  expect = "FAIL: TestGreet"
  text = "repaired"
  [[item.step]]
  error = { class = "rate_limited", status = 429, retry_after = "3s" }
  [[item.step]]

[[item]]
match = "."
  [[item.step]]
  text = "other"
`

func newScript(t *testing.T, data string) *model.Script {
	t.Helper()
	s, err := model.NewScript([]byte(data), model.Info{ID: "script"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func asked(item string, answers int, heard ...model.Message) model.Request {
	return model.Request{Item: model.Item{Text: item, Answers: answers}, Messages: heard}
}

func TestScriptPlaysTheStepThatIsDue(t *testing.T) {
	s := newScript(t, script)
	said := func(text string) model.Message { return model.Message{Role: model.User, Text: text} }
	result := func(text string) model.Message { return model.Message{Role: model.Tool, Text: text} }
	answered := model.Message{Role: model.Assistant, Text: "FAIL: TestGreet"}
	tests := []struct {
		name string
		req  model.Request
		want model.Reply
		err  *model.Error
	}{
		{
			name: "calls",
			req:  asked("add a greeting", 0),
			want: model.Reply{
				Text: "let me look",
				Calls: []model.Call{
					{ID: "call_1_1", Name: "read", Args: json.RawMessage(`{"lines":"1-<9>","path":"a.go"}`)},
					{ID: "call_1_2", Name: "list", Args: json.RawMessage(`{}`)},
				},
				Usage: model.Usage{InputUncached: 1200, OutputVisible: 80},
				Stop:  model.StopCalls,
			},
		},
		{
			name: "expected feedback, usage estimated",
			req:  asked("greeting", 1, said("hello"), result("x\n--- FAIL: TestGreet (0s)"), answered),
			want: model.Reply{
				Text: "repaired", Estimated: true, Stop: model.StopEnd,
				Usage: model.Usage{InputUncached: 18, OutputVisible: 3},
			},
		},
		{
			name: "unexpected feedback shows both sides",
			req:  asked("greeting", 1, result("FAIL: TestGreet"), said("all\ngood"), answered),
			err: &model.Error{
				Class: model.ScriptMismatch, Provider: "script",
				Message: `item 1, step 2 expected "FAIL: TestGreet", heard "all\ngood"`,
			},
		},
		{
			name: "scripted error",
			req:  asked("greeting", 2),
			err: &model.Error{
				Class: model.RateLimited, Status: 429, RetryAfter: 3 * time.Second,
				Provider: "script", Message: "as scripted",
			},
		},
		{
			name: "a step that says nothing",
			req:  asked("greeting", 3),
			err:  &model.Error{Class: model.Unusable, Provider: "script", Message: "the reply has neither text nor tool calls"},
		},
		{
			name: "used up",
			req:  asked("greeting", 4),
			err:  &model.Error{Class: model.Unusable, Provider: "script", Message: "item 1 has 4 steps and all are used"},
		},
		{
			name: "the first match is played",
			req:  asked("something else", 0),
			want: model.Reply{
				Text: "other", Estimated: true, Stop: model.StopEnd,
				Usage: model.Usage{OutputVisible: 2},
			},
		},
		{
			name: "no match",
			req:  asked("", 0),
			err:  &model.Error{Class: model.ScriptMismatch, Provider: "script", Message: `no item matches ""`},
		},
		{
			name: "a position before the first",
			req:  asked("greeting", -1),
			err:  &model.Error{Class: model.Unusable, Provider: "script", Message: "item 1 has 4 steps and all are used"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for range 2 { // nothing is remembered between calls
				got, err := model.Collect(t.Context(), s, tt.req)
				e, _ := errors.AsType[*model.Error](err)
				if diff := cmp.Diff(tt.err, e); diff != "" {
					t.Errorf("error (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("reply (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestScriptGoesOnAfterARetriedError(t *testing.T) {
	s := newScript(t, `
[[item]]
match = "."
  [[item.step]]
  error = { class = "server", status = 500, retry_after = "1ns" }
  [[item.step]]
  text = "better"
`)
	reply, err := model.Ask(t.Context(), s, asked("x", 0), nil)
	if err != nil || reply.Text != "better" {
		t.Errorf("Ask = %q, %v; want the step after the error", reply.Text, err)
	}
}

func TestScriptHonoursItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := model.Collect(ctx, newScript(t, script), asked("greeting", 0)); classOf(err) != model.Cancelled {
		t.Errorf("Collect error = %v, want class cancelled", err)
	}
}

func TestScriptShowsLongFeedbackFromBothEnds(t *testing.T) {
	long := "begin" + strings.Repeat("é", 5000) + "end"
	_, err := model.Collect(t.Context(), newScript(t, script), asked("greeting", 1, model.Message{Role: model.User, Text: long}))
	e, _ := errors.AsType[*model.Error](err)
	if e == nil || len(e.Message) > 2500 || !strings.Contains(e.Message, "begin") || !strings.Contains(e.Message, "end\"") {
		t.Errorf("error = %v, want both ends of the feedback and no more than 2500 bytes", err)
	}
}

func TestScriptFind(t *testing.T) {
	s := newScript(t, script)
	for text, want := range map[string]int{"a greeting": 0, "b": 1, "": -1} {
		if n, ok := s.Find(text); n != want || ok != (want >= 0) {
			t.Errorf("Find(%q) = %d, %t; want %d", text, n, ok, want)
		}
	}
}

func TestNewScriptRefuses(t *testing.T) {
	step := "[[item]]\nmatch = '.'\n[[item.step]]\n"
	tests := []struct{ name, data, want string }{
		{"nothing", "", "1:1: a script needs at least one [[item]]"},
		{"no TOML", "[[item]\n", "1:7: "},
		{"unknown key", "[[item]]\nmatch = '.'\nmatches = 'x'\n", "3:1: unknown key item.matches"},
		{"unknown key in a step", step + "texts = 'x'\n", "4:1: unknown key item.step.texts"},
		{"wrong type", step + "text = 5\n", "4:8: "},
		{"bad pattern", "[[item]]\nmatch = '('\n", "2:9: "},
		{"bad expectation", step + "expect = '['\n", "4:10: "},
		{"no match", "[[item]]\n[[item.step]]\ntext = 'x'\n", "item 1: match is missing"},
		{"unknown class", step + "error = { class = 'tired' }\n", "4:19: "},
		{"no class", step + "error = { status = 500 }\n", "item 1, step 1: error has no class"},
		{"bare duration", step + "error = { class = 'server', retry_after = 5 }\n", `retry_after "5" is no duration`},
		{"negative duration", step + "error = { class = 'server', retry_after = '-5s' }\n", "4:43: "},
		{"error beside text", step + "text = 'x'\nerror = { class = 'server' }\n", "item 1, step 1: an error stands instead of"},
		{"negative usage", step + "usage = { input = -1 }\n", "item 1, step 1: usage is negative"},
		{"nameless call", step + "calls = [{ args = {} }]\n", "item 1, step 1: a call has no name"},
		{"arguments that JSON lacks", step + "calls = [{ name = 'x', args = { n = nan } }]\n", "item 1, step 1: arguments of x: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := model.NewScript([]byte(tt.data), model.Info{})
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("NewScript error = %v, want one that begins with %q", err, tt.want)
			}
		})
	}
}

func FuzzNewScript(f *testing.F) {
	f.Add([]byte(script), "greeting", 1)
	f.Add([]byte("[[item]]\nmatch = '.'\n[[item.step]]\ncalls = [{ name = 'x', args = { a = [1, { b = 1979-05-27 }] } }]\n"), "x", 0)
	f.Fuzz(func(t *testing.T, data []byte, item string, answers int) {
		s, err := model.NewScript(data, model.Info{ID: "script"})
		if err != nil {
			return
		}
		reply, err := model.Collect(t.Context(), s, asked(item, answers))
		if (err != nil) != (classOf(err) != "") {
			t.Fatalf("Collect error = %v, want none or a *model.Error", err)
		}
		for _, c := range reply.Calls {
			if !json.Valid(c.Args) {
				t.Fatalf("arguments %q are not JSON", c.Args)
			}
		}
	})
}
