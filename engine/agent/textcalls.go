package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"hob/engine/model"
)

// callFence opens a block of tool calls in the text protocol.
const callFence = "```hob"

// textCalls takes the tool calls out of a reply of a model without native calls:
// a fenced block whose info string is hob, one JSON object a line, such as
//
//	{"tool":"read","path":"a.go","lines":"10-40"}
//
// It returns the reply without those blocks, the calls, and what was wrong with
// lines that are no call. turn makes the calls' ids unique in a session.
func textCalls(reply string, turn int) (rest string, calls []model.Call, wrong string) {
	var kept, bad []string
	open := false
	var around outside
	for line := range strings.Lines(reply) {
		trimmed := strings.TrimSpace(line)
		switch {
		case !open && around.all(trimmed) && trimmed == callFence:
			open = true
		case open && trimmed == "```":
			open = false
		case open && trimmed != "":
			call, err := textCall(trimmed)
			if err != nil {
				bad = append(bad, fmt.Sprintf("not a tool call: %s: %v", cut(trimmed), err))
				continue
			}
			call.ID = fmt.Sprintf("t%d.%d", turn, len(calls)+1)
			calls = append(calls, call)
		case !open:
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, ""), calls, strings.Join(bad, "\n")
}

// outside follows a reply's edits and other fences: a call block written inside one is
// the content of a file, not a wish.
type outside struct {
	block bool   // between the markers of a SEARCH/REPLACE block
	fence string // the backticks or tildes of an open fence
}

// all takes the next line and reports whether it stands outside all of them.
func (o *outside) all(line string) bool {
	switch {
	case o.block:
		o.block = !strings.HasPrefix(line, ">>>>>")
		return false
	case strings.HasPrefix(line, "<<<<<"):
		o.block = true
		return false
	case o.fence != "":
		if strings.Trim(line, o.fence[:1]) == "" && len(line) >= len(o.fence) {
			o.fence = ""
		}
		return false
	case line != callFence && (strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~")):
		o.fence = line[:len(line)-len(strings.TrimLeft(line, line[:1]))]
		return false
	}
	return true
}

func textCall(line string) (model.Call, error) {
	var fields map[string]json.RawMessage
	d := json.NewDecoder(bytes.NewReader([]byte(line)))
	if err := d.Decode(&fields); err != nil {
		return model.Call{}, err
	}
	if d.More() {
		return model.Call{}, fmt.Errorf("more than one object on the line")
	}
	var name string
	if err := json.Unmarshal(fields["tool"], &name); err != nil || name == "" {
		return model.Call{}, fmt.Errorf(`want {"tool":"name", …}`)
	}
	delete(fields, "tool")
	args, err := json.Marshal(fields)
	if err != nil {
		return model.Call{}, err
	}
	return model.Call{Name: name, Args: args}, nil
}

// withTextCalls is the inverse, for the transcript: the model sees its calls
// where it made them, at the end of its reply.
func withTextCalls(text string, calls []model.Call) string {
	if len(calls) == 0 {
		return text
	}
	var b strings.Builder
	b.WriteString(strings.TrimRight(text, "\n"))
	b.WriteString("\n\n" + callFence + "\n")
	for _, c := range calls {
		fields := map[string]json.RawMessage{}
		if json.Unmarshal(c.Args, &fields) != nil {
			continue
		}
		fields["tool"], _ = json.Marshal(c.Name) // a string always marshals
		line, err := json.Marshal(fields)
		if err != nil {
			continue
		}
		b.Write(line)
		b.WriteByte('\n')
	}
	b.WriteString("```\n")
	return b.String()
}
