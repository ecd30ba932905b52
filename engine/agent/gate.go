package agent

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"hob/engine/model"
	"hob/journal"
)

// A Verdict is the gate's answer about one call.
type Verdict string

const (
	Allow  Verdict = "allow"
	Refuse Verdict = "refuse"
	Park   Verdict = "park"
)

// A Decision of the gate. Why is told to the model on Refuse and to a person on Park.
type Decision struct {
	Verdict Verdict
	Why     string
}

// A Gate is the one choke point: every tool call and every command the model
// wants passes it before anything happens. It must not block.
type Gate func(ctx context.Context, call model.Call) Decision

type result struct {
	call model.Call
	text string
}

// head names a call in the text protocol's answer: the tool, then its plain arguments.
func (r result) head() string {
	head := r.call.Name
	var args map[string]any
	if json.Unmarshal(r.call.Args, &args) != nil {
		return head
	}
	for _, k := range []string{"path", "lines", "pattern", "command"} {
		if v, ok := args[k].(string); ok && v != "" {
			head += " " + cut(v)
		}
	}
	return head
}

// call runs the reply's calls in order. When its edits were refused, only those
// that look around run: the others were written for a tree that doesn't exist.
func (s *Session) call(ctx context.Context, calls []model.Call, editsRefused bool) ([]result, error) {
	var results []result
	for _, c := range calls {
		text, err := s.one(ctx, c, editsRefused)
		if err != nil {
			return nil, err
		}
		text = bound(text)
		results = append(results, result{c, text})
		if s.seen.add(c, text) {
			return nil, fmt.Errorf("%w: %s", ErrRepeatedCall, c.Name)
		}
	}
	return results, nil
}

// one takes a call through the gate and runs it. Its error ends the session;
// what merely went wrong is text for the model.
func (s *Session) one(ctx context.Context, c model.Call, editsRefused bool) (string, error) {
	tool, known := s.byName[c.Name]
	decision := s.decide(ctx, c, known, editsRefused && !tool.ReadOnly)
	args, err := s.opt.Keep(c.Args)
	if err != nil {
		return "", err
	}
	if err := s.opt.Record(journal.ToolCall{
		CallID: c.ID, Name: c.Name, Turn: s.turns, Args: args, Decision: string(decision.Verdict), Why: decision.Why,
	}); err != nil {
		return "", err
	}
	began := time.Now()
	text, failure, err := s.do(ctx, tool, c, decision)
	if err != nil {
		return "", err
	}
	out, err := s.opt.Keep([]byte(text))
	if err != nil {
		return "", err
	}
	return text, s.opt.Record(journal.ToolResult{
		CallID: c.ID, Name: c.Name, Error: failure, MS: time.Since(began).Milliseconds(), Bytes: int64(len(text)), Out: out,
	})
}

// do carries the gate's decision out. failure is why there is no real answer.
func (s *Session) do(ctx context.Context, tool Tool, c model.Call, d Decision) (text, failure string, err error) {
	switch d.Verdict {
	case Allow:
		text, err = tool.Run(ctx, c.Args)
		if err == nil {
			return text, "", nil
		}
		if end := ends(ctx, err); end != nil {
			return "", "", end
		}
		return "error: " + err.Error(), err.Error(), nil
	case Park:
		return "", "", &Question{Text: d.Why}
	default:
		return "not run: " + d.Why, d.Why, nil
	}
}

func (s *Session) decide(ctx context.Context, c model.Call, known, editsRefused bool) Decision {
	switch {
	case !known:
		return Decision{Refuse, fmt.Sprintf("there is no tool %q", c.Name)}
	case editsRefused:
		return Decision{Refuse, "edits refused"}
	}
	return s.opt.Gate(ctx, c)
}

// ends tells errors that end the session from those the model should hear about.
func ends(ctx context.Context, err error) error {
	var q *Question
	if errors.As(err, &q) || errors.Is(err, journal.ErrWrite) {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

type blockedArgs struct {
	Question string `json:"question"`
}

func blockedTool() Tool {
	return Define("blocked", "Stop and ask a person one question, when a fact is missing that nobody could find out from the code.",
		`{"type":"object","properties":{"question":{"type":"string"}},"required":["question"]}`,
		true, func(_ context.Context, a blockedArgs) (string, error) {
			if a.Question == "" {
				return "", errors.New("blocked: the question is empty")
			}
			return "", &Question{Text: a.Question}
		})
}

// A model that makes the same call with the same result repeatTimes times within
// repeatWindow calls is nudged once; when it goes on, the attempt ends.
const (
	repeatTimes  = 3
	repeatWindow = 6
)

// repeats watches for calls that get nowhere.
type repeats struct {
	recent  [][32]byte
	nudged  bool
	pending string // the nudge to put into the next message
}

// add notes one call and its result. It reports whether the attempt should end.
func (r *repeats) add(c model.Call, text string) (end bool) {
	key := sha256.Sum256([]byte(c.Name + "\x00" + canonical(c.Args) + "\x00" + text))
	r.recent = append(r.recent, key)
	if len(r.recent) > repeatWindow {
		r.recent = r.recent[1:]
	}
	n := 0
	for _, k := range r.recent {
		if k == key {
			n++
		}
	}
	if n < repeatTimes {
		return false
	}
	if r.nudged {
		return true
	}
	r.nudged = true
	r.pending = render("repeat", map[string]any{"Times": n, "Call": result{call: c}.head()})
	return false
}

// note hands over a pending nudge, once.
func (r *repeats) note() string {
	n := r.pending
	r.pending = ""
	return n
}

// canonical makes equal arguments equal text whatever their spacing or key order.
func canonical(args json.RawMessage) string {
	var v any
	if json.Unmarshal(args, &v) != nil {
		return string(args)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return string(args)
	}
	return string(b)
}
