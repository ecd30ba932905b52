package model

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"
)

// A Script is a provider that says what its author wrote down. It is for the
// demo, for tests, and for rehearsing a repository's validators without paying
// a model.
//
//	[[item]]
//	match = "regexp on the item's text"
//	  [[item.step]]
//	  expect = "regexp on the last user or tool message"
//	  text = """…"""
//	  calls = [{ name = "read", args = { path = "a.go" } }]
//	  usage = { input = 1200, output = 80 }
//	  [[item.step]]
//	  error = { class = "rate_limited", status = 429, retry_after = "3s" }
//
// The first item that matches [Item].Text is played. Its steps are used in
// order, one for each call whatever comes of it: step number [Item].Answers is
// the answer, so that a script goes on where it was after a restart. An expect
// that doesn't match is a ScriptMismatch which shows both sides; write one
// wherever the point is that feedback reached the model. Beyond the last step
// every answer is Unusable. A step with neither text, calls nor error answers
// with nothing, which is Unusable too. Without usage the reply's is estimated.
// Nothing about a script is random.
type Script struct {
	info  Info
	items []scriptItem
}

type scriptItem struct {
	Match pattern      `toml:"match"`
	Step  []scriptStep `toml:"step"`
}

type scriptStep struct {
	Expect pattern      `toml:"expect"`
	Text   string       `toml:"text"`
	Calls  []scriptCall `toml:"calls"`
	Usage  *struct {
		Input  int64 `toml:"input"`
		Output int64 `toml:"output"`
	} `toml:"usage"`
	Error *struct {
		Class      className `toml:"class"`
		Status     int       `toml:"status"`
		RetryAfter span      `toml:"retry_after"`
	} `toml:"error"`
}

type scriptCall struct {
	Name string         `toml:"name"`
	Args map[string]any `toml:"args"`

	args json.RawMessage
}

// A pattern is a regular expression that TOML can hold.
type pattern struct{ *regexp.Regexp }

func (p *pattern) UnmarshalText(text []byte) (err error) {
	p.Regexp, err = regexp.Compile(string(text))
	return err
}

// A className is a class that TOML can hold. It is a struct, as span is, because
// go-toml doesn't ask a named string or integer to read itself.
type className struct{ Class }

func (c *className) UnmarshalText(text []byte) error {
	c.Class = Class(text)
	if _, ok := rules[c.Class]; !ok {
		known := slices.Sorted(maps.Keys(rules))
		return fmt.Errorf("error class %q is none of %q", text, known)
	}
	return nil
}

// A span is a duration that TOML can hold as a string.
type span struct{ time.Duration }

func (s *span) UnmarshalText(text []byte) (err error) {
	s.Duration, err = time.ParseDuration(string(text))
	if err != nil || s.Duration < 0 {
		return fmt.Errorf("retry_after %q is no duration such as \"3s\"", text)
	}
	return nil
}

// NewScript reads a script. It is as strict as hob.toml: unknown keys, bad patterns
// and values that make no sense are errors, which begin with line:column where
// TOML knows it and else name item and step. info is what the script pretends to
// be, see [InfoOf].
func NewScript(data []byte, info Info) (*Script, error) {
	var file struct {
		Item []scriptItem `toml:"item"`
	}
	d := toml.NewDecoder(bytes.NewReader(data)).DisallowUnknownFields()
	if err := d.Decode(&file); err != nil {
		return nil, placed(err)
	}
	if len(file.Item) == 0 {
		return nil, errors.New("1:1: a script needs at least one [[item]]")
	}
	for i, it := range file.Item {
		if it.Match.Regexp == nil {
			return nil, fmt.Errorf("item %d: match is missing", i+1)
		}
		for n := range it.Step {
			if err := it.Step[n].prepare(); err != nil {
				return nil, fmt.Errorf("item %d, step %d: %w", i+1, n+1, err)
			}
		}
	}
	return &Script{info, file.Item}, nil
}

// placed puts the position first.
func placed(err error) error {
	if strict, ok := errors.AsType[*toml.StrictMissingError](err); ok {
		first := &strict.Errors[0]
		row, column := first.Position()
		return fmt.Errorf("%d:%d: unknown key %s", row, column, strings.Join(first.Key(), "."))
	}
	if bad, ok := errors.AsType[*toml.DecodeError](err); ok {
		row, column := bad.Position()
		return fmt.Errorf("%d:%d: %w", row, column, err)
	}
	return err
}

// prepare checks a step and encodes its arguments: once, so that each use of
// the step gives the same bytes.
func (s *scriptStep) prepare() error {
	if s.Error != nil {
		switch {
		case s.Error.Class.Class == "":
			return errors.New("error has no class")
		case s.Text != "" || len(s.Calls) > 0 || s.Usage != nil:
			return errors.New("an error stands instead of text, calls and usage")
		}
	}
	if s.Usage != nil && (s.Usage.Input < 0 || s.Usage.Output < 0) {
		return errors.New("usage is negative")
	}
	for i := range s.Calls {
		c := &s.Calls[i]
		if c.Name == "" {
			return errors.New("a call has no name")
		}
		if c.Args == nil {
			c.Args = map[string]any{}
		}
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(c.Args); err != nil {
			return fmt.Errorf("arguments of %s: %w", c.Name, err)
		}
		c.args = bytes.TrimSpace(b.Bytes())
	}
	return nil
}

// Info returns what the script was said to be.
func (s *Script) Info() Info { return s.info }

// Find returns the number, from 0, of the item that is played for text. It is
// for doubles of real wires that count the answers themselves.
func (s *Script) Find(text string) (n int, ok bool) {
	n = slices.IndexFunc(s.items, func(i scriptItem) bool { return i.Match.MatchString(text) })
	return n, n >= 0
}

// Stream plays the step that is due.
func (s *Script) Stream(ctx context.Context, req Request) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if err := context.Cause(ctx); err != nil {
			yield(Event{}, s.fail(Cancelled, "", err))
			return
		}
		step, err := s.due(req)
		if err != nil {
			yield(Event{}, err)
			return
		}
		for _, ev := range step.events(req.Item.Answers) {
			if !yield(ev, nil) {
				return
			}
		}
	}
}

// due finds the step that answers req.
func (s *Script) due(req Request) (scriptStep, error) {
	n, ok := s.Find(req.Item.Text)
	if !ok {
		return scriptStep{}, s.fail(ScriptMismatch, fmt.Sprintf("no item matches %q", shown(req.Item.Text)), nil)
	}
	steps := s.items[n].Step
	if req.Item.Answers < 0 || req.Item.Answers >= len(steps) {
		return scriptStep{}, s.fail(Unusable, fmt.Sprintf("item %d has %d steps and all are used", n+1, len(steps)), nil)
	}
	step := steps[req.Item.Answers]
	if last := lastHeard(req.Messages); step.Expect.Regexp != nil && !step.Expect.MatchString(last) {
		return scriptStep{}, s.fail(ScriptMismatch, fmt.Sprintf("item %d, step %d expected %q, heard %q",
			n+1, req.Item.Answers+1, step.Expect, shown(last)), nil)
	}
	if e := step.Error; e != nil {
		return scriptStep{}, &Error{
			Class: e.Class.Class, Status: e.Status, RetryAfter: e.RetryAfter.Duration,
			Provider: s.info.ID, Message: "as scripted",
		}
	}
	return step, nil
}

// events are what a turn with this step looks like. Ids hold the position, so
// that no two calls of an item share one.
func (s scriptStep) events(answers int) []Event {
	var evs []Event
	if s.Text != "" {
		evs = append(evs, Event{Text: s.Text})
	}
	for i, c := range s.Calls {
		id := fmt.Sprintf("call_%d_%d", answers+1, i+1)
		evs = append(evs, Event{Call: &Call{ID: id, Name: c.Name, Args: slices.Clone(c.args)}})
	}
	if s.Usage != nil {
		evs = append(evs, Event{Usage: &Usage{InputUncached: s.Usage.Input, OutputVisible: s.Usage.Output}})
	}
	stop := StopEnd
	if len(s.Calls) > 0 {
		stop = StopCalls
	}
	return append(evs, Event{Done: &Done{Stop: stop}})
}

func (s *Script) fail(c Class, message string, cause error) *Error {
	return &Error{Class: c, Provider: s.info.ID, Message: message, Err: cause}
}

// lastHeard is what was said to the model last.
func lastHeard(ms []Message) string {
	for _, m := range slices.Backward(ms) {
		if m.Role == User || m.Role == Tool {
			return m.Text
		}
	}
	return ""
}

// shown bounds a text for an error: the end of feedback matters as much as its
// beginning.
func shown(text string) string {
	const most = 2000
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most/2], "") + " […] " + strings.ToValidUTF8(text[len(text)-most/2:], "")
}
