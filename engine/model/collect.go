package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// A Reply is one whole turn.
type Reply struct {
	Text      string
	Reasoning string
	Calls     []Call // in the model's order; Args are valid JSON
	Usage     Usage
	Estimated bool   // the provider didn't report usage: it was reckoned from bytes
	Stop      string // StopLength: Text ends where the limit cut it
}

// Collect asks once and waits for the whole turn. A turn that isn't whole is an
// error and leaves no reply: a sequence that ends without Done is
// StreamTruncated; neither text nor calls, a call without a name or with
// arguments that aren't JSON is Unusable, or MaxTokens when the output limit is
// why; a refusal is ContentFilter.
func Collect(ctx context.Context, p Provider, req Request) (Reply, error) {
	fail := func(c Class, message string, cause error) (Reply, error) {
		return Reply{}, &Error{Class: c, Provider: p.Info().ID, Message: message, Err: cause}
	}
	t := newTally(req)
	for ev, err := range p.Stream(ctx, req) {
		if err != nil {
			if _, ok := errors.AsType[*Error](err); !ok && ctx.Err() != nil {
				return fail(Cancelled, "", err)
			}
			return Reply{}, err
		}
		t.add(ev)
		if ev.Done != nil {
			break
		}
	}
	if !t.done {
		return fail(StreamTruncated, "the stream ended without its end", nil)
	}
	reply := t.reply()
	switch c, why := reply.flaw(); c {
	case "":
		return reply, nil
	default:
		return fail(c, why, nil)
	}
}

// flaw names what makes a finished reply impossible to work with.
func (r Reply) flaw() (class Class, why string) {
	if r.Stop == StopFilter {
		return ContentFilter, "the model refused"
	}
	class = Unusable
	if r.Stop == StopLength {
		class = MaxTokens
	}
	if strings.TrimSpace(r.Text) == "" && len(r.Calls) == 0 {
		return class, "the reply has neither text nor tool calls"
	}
	for _, c := range r.Calls {
		if c.Name == "" {
			return class, "a tool call has no name"
		}
		if !json.Valid(c.Args) {
			return class, fmt.Sprintf("the arguments of a call of %s are not JSON", c.Name)
		}
	}
	return "", ""
}

// A tally gathers the events of one turn.
type tally struct {
	promptBytes     int
	text, reasoning strings.Builder
	calls           []Call
	callBytes       int
	usage           *Usage
	done            bool
	stop            string
}

func newTally(req Request) *tally { return &tally{promptBytes: req.bytes()} }

func (t *tally) add(ev Event) {
	t.text.WriteString(ev.Text)
	t.reasoning.WriteString(ev.Reasoning)
	if ev.Call != nil {
		t.calls = append(t.calls, *ev.Call)
		t.callBytes += len(ev.Call.Name) + len(ev.Call.Args)
	}
	if ev.Usage != nil {
		t.usage = ev.Usage
	}
	if ev.Done != nil {
		t.done, t.stop = true, ev.Done.Stop
	}
}

// empty tells whether nothing has come yet.
func (t *tally) empty() bool {
	return t.usage == nil && t.text.Len()+t.reasoning.Len()+len(t.calls) == 0
}

func (t *tally) reply() Reply {
	usage, estimated := t.spent()
	return Reply{
		Text:      t.text.String(),
		Reasoning: t.reasoning.String(),
		Calls:     t.calls,
		Usage:     usage,
		Estimated: estimated,
		Stop:      t.stop,
	}
}

// spent is the last reported usage, or what the bytes so far suggest.
func (t *tally) spent() (u Usage, estimated bool) {
	if t.usage != nil && *t.usage != (Usage{}) {
		return *t.usage, false
	}
	return Usage{
		InputUncached:   tokens(t.promptBytes),
		OutputVisible:   tokens(t.text.Len() + t.callBytes),
		OutputReasoning: tokens(t.reasoning.Len()),
	}, true
}

// bytes is the size of all that the model has to read.
func (r Request) bytes() int {
	n := 0
	for _, m := range r.Messages {
		n += len(m.Role) + len(m.Text) + len(m.CallID)
		for _, c := range m.Calls {
			n += len(c.ID) + len(c.Name) + len(c.Args)
		}
	}
	for _, t := range r.Tools {
		n += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	return n
}
