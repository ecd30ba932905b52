package agent

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/engine/model"
)

func TestTextCalls(t *testing.T) {
	fence := func(lines ...string) string { return "```hob\n" + strings.Join(lines, "\n") + "\n```\n" }
	for _, c := range []struct {
		name, reply, rest string
		calls             []model.Call
		wrong             string
	}{
		{"none", "just words\n", "just words\n", nil, ""},
		{
			"two", "before\n" + fence(`{"tool":"read","path":"a.go"}`, "", `{"tool":"diff"}`) + "after\n", "before\nafter\n",
			[]model.Call{{ID: "t1.1", Name: "read", Args: json.RawMessage(`{"path":"a.go"}`)}, {ID: "t1.2", Name: "diff", Args: json.RawMessage(`{}`)}},
			"",
		},
		{"unclosed", "```hob\n" + `{"tool":"diff"}`, "", []model.Call{{ID: "t1.1", Name: "diff", Args: json.RawMessage(`{}`)}}, ""},
		{"another fence", "```go\nx\n```\n", "```go\nx\n```\n", nil, ""},
		{"inside an edit", "a.md\n<<<<<<< SEARCH\n=======\n" + fence(`{"tool":"diff"}`) + ">>>>>>> REPLACE\n", "a.md\n<<<<<<< SEARCH\n=======\n" + fence(`{"tool":"diff"}`) + ">>>>>>> REPLACE\n", nil, ""},
		{"inside a longer fence", "a.md\n````\n" + fence(`{"tool":"diff"}`) + "````\n", "a.md\n````\n" + fence(`{"tool":"diff"}`) + "````\n", nil, ""},
		{"after an edit", "<<<<<<< SEARCH\n=======\nx\n>>>>>>> REPLACE\n" + fence(`{"tool":"diff"}`), "<<<<<<< SEARCH\n=======\nx\n>>>>>>> REPLACE\n", []model.Call{{ID: "t1.1", Name: "diff", Args: json.RawMessage(`{}`)}}, ""},
		{"no tool", fence(`{"path":"a"}`), "", nil, `not a tool call: {"path":"a"}`},
		{"two objects", fence(`{"tool":"diff"} {"tool":"diff"}`), "", nil, "more than one object"},
		{"no object", fence(`diff`), "", nil, "not a tool call: diff"},
	} {
		t.Run(c.name, func(t *testing.T) {
			rest, calls, wrong := textCalls(c.reply, 1)
			if rest != c.rest || !strings.Contains(wrong, c.wrong) || (wrong != "") != (c.wrong != "") {
				t.Errorf("textCalls(%q) = %q, wrong %q, want %q, %q", c.reply, rest, wrong, c.rest, c.wrong)
			}
			if diff := cmp.Diff(c.calls, calls); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}

// What the model is shown of its own calls reads back as the same calls.
func FuzzTextCalls(f *testing.F) {
	f.Add("before\n```hob\n{\"tool\":\"read\",\"path\":\"a.go\"}\n```\nafter\n")
	f.Add("```hob\nnot json\n{\"tool\":\"x\",\"a\":[1,{}]}\n")
	f.Fuzz(func(t *testing.T, reply string) {
		rest, calls, _ := textCalls(reply, 1)
		var end outside
		for line := range strings.Lines(rest) {
			end.all(strings.TrimSpace(line))
		}
		if end.block || end.fence != "" {
			return // what follows would stand inside it
		}
		_, again, wrong := textCalls(withTextCalls(rest, calls), 1)
		if diff := cmp.Diff(calls, again); diff != "" || wrong != "" && len(calls) > 0 {
			t.Errorf("calls of %q (-first +again), wrong %q:\n%s", reply, wrong, diff)
		}
	})
}

func TestRepeats(t *testing.T) {
	read := model.Call{Name: "read", Args: json.RawMessage(`{"path":"a", "lines":"1"}`)}
	same := model.Call{Name: "read", Args: json.RawMessage(`{"lines":"1","path":"a"}`)}
	other := model.Call{Name: "list", Args: json.RawMessage(`{}`)}
	var r repeats
	for i, c := range []model.Call{read, other, same, other} {
		if r.add(c, "answer") {
			t.Fatalf("call %d ends the session", i)
		}
	}
	if r.note() != "" {
		t.Error("nudged after two equal calls")
	}
	if r.add(read, "another answer") || r.note() != "" {
		t.Error("another result is no repetition")
	}
	if r.add(read, "answer") || r.note() == "" {
		t.Error("three equal calls within six are not nudged")
	}
	if r.note() != "" {
		t.Error("nudged twice for one thing")
	}
	if !r.add(read, "answer") {
		t.Error("going on after the nudge doesn't end the session")
	}
}

func TestBound(t *testing.T) {
	long := strings.Repeat("ä", maxAnswer) + "the end"
	got := bound(long)
	if len(got) > maxAnswer+64 || !strings.HasPrefix(got, "ää") || !strings.HasSuffix(got, "the end") || !strings.Contains(got, "left out") {
		t.Errorf("bound: %d bytes, ends %q", len(got), got[len(got)-20:])
	}
	if bound("short") != "short" {
		t.Error("a short answer is changed")
	}
}
