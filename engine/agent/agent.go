// Package agent is the conversation about one item: ask the model, apply its
// edits, run its tools, stop.
//
// A [Session] works on one tree, the slot. Each turn sends the whole transcript,
// applies the edits of the reply all or none, then runs its tool calls in order;
// what came of both is the next message. The session is over when a reply holds
// neither: the engine judges the tree then, and comes back through
// [Session.Continue] with what the checks found. The model's words never decide
// anything; they only end the turn.
//
// Whatever the model wants done passes one choke point, [Gate], which allows,
// refuses or parks it. Edits come as text, looking around as tool calls; a model
// without native calls writes them in a fenced block named hob (see textcalls.go).
//
// Everything that costs money goes through Options.Ask, which the engine backs
// with budget and journal. The package touches no disk but through the slot.
package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"hob/engine/edit"
	"hob/engine/model"
	"hob/journal"
)

// The ways a session ends other than with work to judge. The engine turns them into reasons.
var (
	ErrNothingToDo  = errors.New("the model says there is nothing to do and changed nothing")
	ErrRepeatedCall = errors.New("the same call gave the same result again and again")
	ErrTurns        = errors.New("all turns are spent")
	ErrWall         = errors.New("the time for the attempt is spent")
	ErrContext      = errors.New("the conversation no longer fits the model's window")
	ErrEdits        = errors.New("the edits were refused again and again")
	ErrStopping     = errors.New("hob is stopping")
	ErrUnsafe       = errors.New("the model went on asking for something that is never allowed")
)

// A Question parks the item until a person has answered.
type Question struct{ Text string }

func (q *Question) Error() string { return q.Text }

// A Slot is the tree a session edits; repo.Workspace is the real one.
type Slot interface {
	edit.Tree
	// Apply writes all changes or none.
	Apply([]edit.Change) error
	// Restore puts a path back to the base's content.
	Restore(path string) error
	// Dirty reports whether the tree differs from the base.
	Dirty() (bool, error)
}

// Options are what a session is made of. All fields but Stop, Called, Window, Own and Rules are needed.
type Options struct {
	Slot   Slot
	Ask    func(context.Context, model.Request) (model.Reply, error)
	Tools  []Tool
	Gate   Gate
	Ladder *edit.Ladder
	// Record journals an event; an error ends the session, because nothing may
	// happen that the journal doesn't hold.
	Record func(journal.Event) error
	// Keep stores text beside the journal and answers its reference.
	Keep func([]byte) (journal.Ref, error)

	Prompts Prompts
	Rules   []Rules
	Own     []string // files hob keeps itself: changes to them are undone

	Native    bool                        // the model takes tool calls natively
	Turns     int                         // replies asked for in the whole session, repairs included
	Deadline  time.Time                   // wall clock end of the session
	Stop      <-chan struct{}             // closed when no further turn may begin; nil = never
	Called    func(context.Context) error // what a person did meanwhile that ends the session; nil = nothing
	Window    int                         // tokens the model can read; 0 = unknown, not bounded
	MaxOutput int                         // tokens of a reply
}

// A Session is one conversation. It is not safe for concurrent use.
type Session struct {
	opt     Options
	msgs    []model.Message
	tools   []model.ToolSpec
	byName  map[string]Tool
	turns   int
	nudged  bool
	refused error // the last edits were refused, and none was applied since
	seen    repeats
}

// New starts a conversation about item; nothing is asked yet.
func New(opt Options, item Item) *Session {
	opt.Tools = append(opt.Tools, blockedTool())
	s := &Session{opt: opt, tools: specs(opt.Tools), byName: map[string]Tool{}}
	for _, t := range opt.Tools {
		s.byName[t.Spec.Name] = t
	}
	s.msgs = []model.Message{
		{Role: model.System, Text: opt.Prompts.system(opt.Own, opt.Ladder.Format(), s.tools, opt.Native, opt.Rules)},
		{Role: model.User, Text: render("item", item)},
	}
	return s
}

// Work lets the model work until it says it is done. A nil error means that the
// tree differs from the base and waits for judgement.
func (s *Session) Work(ctx context.Context) error {
	ctx, cancel := context.WithDeadlineCause(ctx, s.opt.Deadline, ErrWall)
	defer cancel()
	for {
		done, err := s.turn(ctx)
		if err != nil || done {
			return err
		}
	}
}

// Finding is what the checks found, for [Session.Continue].
type Finding struct {
	N, Max int    // which repair this is, of how many
	Text   string // the checks' output as the model shall see it
	Again  bool   // the same failure as after the last repair
}

// Continue tells the model what the checks found and lets it work again.
func (s *Session) Continue(ctx context.Context, f Finding) error {
	s.say(render("repair", map[string]any{"N": f.N, "Max": f.Max, "Findings": f.Text, "Tried": f.Again}))
	s.nudged = false
	return s.Work(ctx)
}

// Turns is the number of replies so far.
func (s *Session) Turns() int { return s.turns }

// handoverTokens bounds the hand-over note; the engine keeps that much money in reserve.
const handoverTokens = 400

// Handover asks for a short note on where things stand, for whoever continues.
// It is best effort: no note is an empty string.
func (s *Session) Handover(ctx context.Context, why string) string {
	s.say(render("handover", map[string]any{"Why": why}))
	req := s.request()
	req.MaxOutput = handoverTokens
	reply, err := s.opt.Ask(ctx, req)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(reply.Text)
}

// turn asks once and does what the reply wants. done means the model has finished.
func (s *Session) turn(ctx context.Context) (done bool, err error) {
	if err := s.within(ctx); err != nil {
		return false, err
	}
	reply, err := s.opt.Ask(ctx, s.request())
	if err != nil {
		return false, err
	}
	s.turns++
	calls := reply.Calls
	var badCalls string
	if !s.opt.Native {
		reply.Text, calls, badCalls = textCalls(reply.Text, s.turns)
	}
	s.msgs = append(s.msgs, s.assistant(reply, calls))

	edits, err := s.edit(ctx, reply)
	if err != nil {
		return false, err
	}
	if !edits.tried && len(calls) == 0 && badCalls == "" {
		return s.quiet()
	}
	s.nudged = false
	results, err := s.call(ctx, calls, edits.refused)
	if err != nil {
		return false, err
	}
	s.answer(edits.feedback, results, badCalls)
	return false, nil
}

// within checks the bounds before money is spent.
func (s *Session) within(ctx context.Context) error {
	select {
	case <-s.opt.Stop:
		return ErrStopping
	default:
	}
	if s.opt.Called != nil {
		if err := s.opt.Called(ctx); err != nil {
			return err
		}
	}
	switch {
	case s.turns >= s.opt.Turns:
		return ErrTurns
	case !time.Now().Before(s.opt.Deadline):
		return ErrWall
	case s.opt.Window > 0 && s.request().Tokens()+s.opt.MaxOutput > s.opt.Window:
		return ErrContext
	}
	return nil
}

func (s *Session) request() model.Request {
	req := model.Request{Messages: s.msgs, MaxOutput: s.opt.MaxOutput}
	if s.opt.Native {
		req.Tools = s.tools
	}
	return req
}

// assistant keeps the reply in the transcript as the model gave it.
func (s *Session) assistant(reply model.Reply, calls []model.Call) model.Message {
	m := model.Message{Role: model.Assistant, Text: reply.Text}
	if s.opt.Native {
		m.Calls = calls
	} else {
		m.Text = withTextCalls(reply.Text, calls)
	}
	return m
}

// quiet handles a reply with neither edit nor call: done if the tree has
// changed, else one nudge, else nothing to do.
func (s *Session) quiet() (done bool, err error) {
	dirty, err := s.opt.Slot.Dirty()
	if err != nil {
		return false, err
	}
	if dirty {
		return true, nil
	}
	switch {
	case s.nudged && s.refused != nil:
		return false, s.refused // it wanted to change something after all
	case s.nudged:
		return false, ErrNothingToDo
	}
	s.nudged = true
	s.say(render("nudge", map[string]any{"Format": formatHelp(s.opt.Ladder.Format())}))
	return false, nil
}

// answer appends what came of the turn: native results each in a message of
// their own, everything else as one text.
func (s *Session) answer(feedback string, results []result, badCalls string) {
	var text []string
	if feedback != "" {
		text = append(text, feedback)
	}
	for _, r := range results {
		if s.opt.Native {
			s.msgs = append(s.msgs, model.Message{Role: model.Tool, CallID: r.call.ID, Name: r.call.Name, Text: r.text})
			continue
		}
		text = append(text, fmt.Sprintf("[%s]\n%s", r.head(), r.text))
	}
	if badCalls != "" {
		text = append(text, badCalls)
	}
	if note := s.seen.note(); note != "" {
		text = append(text, note)
	}
	if len(text) > 0 {
		s.say(strings.Join(text, "\n\n"))
	}
}

func (s *Session) say(text string) {
	s.msgs = append(s.msgs, model.Message{Role: model.User, Text: text})
}
