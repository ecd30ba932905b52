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
	for line := range strings.Lines(reply) {
		trimmed := strings.TrimSpace(line)
		switch {
		case !open && trimmed == callFence:
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
