package main

import (
	"fmt"
	"io"
	"strings"

	"hob/journal"
)

// A story tells the journal's events in a person's words, for who watches the demo:
// a line an item, with what happened to it in the order it happened.
type story struct {
	out   io.Writer
	begun bool     // the line of an item stands open
	said  []string // what the open line says already
}

// tell adds what an event means, if it means something to a spectator.
func (s *story) tell(en journal.Entry) {
	ev, err := journal.Decode(en)
	if err != nil {
		return
	}
	switch ev := ev.(type) {
	case journal.TaskClaimed:
		s.begun, s.said = false, nil
	case journal.ValidatorStarted:
		if ev.Phase == "base" {
			s.say("checking what is there")
		}
	case journal.LLMRequest:
		s.say("asking the model")
	case journal.EditOutcome:
		if ev.Applied {
			s.say("edited " + ev.Path)
		} else {
			s.say("edit refused: " + ev.Failure)
		}
	case journal.ValidatorFinished:
		if ev.Phase == "new" {
			s.say(strings.ToUpper(ev.Verdict) + " " + ev.Name)
		}
	case journal.RepairStarted:
		s.say(fmt.Sprintf("repair %d of %d", ev.N, ev.Max))
	case journal.RunFinished:
		if s.begun {
			fmt.Fprintf(s.out, " · %s\n", ev.Outcome)
		}
		s.begun = false
	}
}

// say adds to the open line, not the same twice in a row.
func (s *story) say(what string) {
	if n := len(s.said); n > 0 && s.said[n-1] == what {
		return
	}
	s.said = append(s.said, what)
	lead := " · "
	if !s.begun {
		lead = "  "
	}
	s.begun = true
	fmt.Fprint(s.out, lead+what)
}
