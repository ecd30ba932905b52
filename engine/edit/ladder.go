package edit

// maxWholeFile is the longest file that is asked for as a whole, in lines. A longer one costs more output than
// the retries it saves, and is cut off more often.
const maxWholeFile = 400

// maxRefused is how many replies in a row may be refused, whatever for. The turn limit ends a session too, but
// a model that has not landed an edit in six tries does not land the seventh.
const maxRefused = 6

// A Step is what to do after a reply.
type Step string

const (
	// Applied means that the reply applied; carry on.
	Applied Step = "applied"
	// Retry means to send the feedback and ask in the same format.
	Retry Step = "retry"
	// Promoted means to send the feedback and explain the format, since the rung has changed: up after repeated
	// failures, or back down where whole files were cut off or abridged.
	Promoted Step = "promoted"
	// GiveUp means that more replies will not help: the item ends as it is.
	GiveUp Step = "give_up"
	// Blocked means that the model insists on a path it must not touch: stop, and tell a person.
	Blocked Step = "blocked"
)

// A class is how the ladder treats a code.
type class uint8

const (
	formed   class = iota // the form is wrong: the second in a row goes up
	matched               // the text does not fit: the second on a file goes up
	elided                // something is left out: whole files make that worse
	cut                   // so does a limit on output
	told                  // a fact to heed; another format would not help
	stuck                 // a file that cannot be edited: one retry
	idle                  // nothing changes: one retry
	security              // one retry, then a person
	free                  // not the model's fault
	broken                // neither, and it will not pass by itself
)

// class sorts the codes. One that is not listed is a fact to heed.
func (c Code) class() class {
	switch c {
	case NoEdits, Malformed, MissingPath, AmbiguousFence:
		return formed
	case NoMatch, AmbiguousMatch, MissingContext:
		return matched
	case BadElision, ElidedContent:
		return elided
	case Truncated:
		return cut
	case BinaryFile, BadEncoding, TooLarge:
		return stuck
	case NoOp:
		return idle
	case PathEscape, SymlinkEscape, ProtectedPath, UnsupportedMode:
		return security
	case StaleFile:
		return free
	case IOError:
		return broken
	}
	return told
}

// A Ladder chooses the format to ask for while one item is worked. It has two rungs: [SearchReplace], then
// [FullFile]. Each file has its own rung and keeps it; the format asked for is that of the file that failed
// last, and the first rung again once a reply applies, so that an excerpt of some other file is not taken for
// the whole of it. A Ladder belongs to one goroutine.
type Ladder struct {
	override Format
	now      Format
	files    map[string]*rung
	refused  int // replies in a row
	formed   int // of these, the newest in a row whose form was wrong
	idle     int
	attacks  int // over the whole item
}

// A rung is where one file stands.
type rung struct {
	whole   bool
	strikes int // refusals on this rung
}

// NewLadder returns a ladder on its first rung. With an override it stays on that format for good; replies are
// still read in every form they may have.
func NewLadder(override Format) *Ladder {
	l := &Ladder{override: override, now: SearchReplace, files: map[string]*rung{}}
	if override != "" {
		l.now = override
	}
	return l
}

// Format is what to ask for now, and what to give to [Apply] with the reply.
func (l *Ladder) Format() Format { return l.now }

// Note takes what became of a reply and says what to do next. A reply that did not try to edit costs nothing.
func (l *Ladder) Note(r Result) Step {
	if r.Code == "" {
		l.refused, l.formed, l.idle = 0, 0, 0
		l.ask(SearchReplace)
		return Applied
	}
	kind := r.Code.class()
	if !r.Tried || kind == free {
		return Retry
	}
	if l.refused++; l.refused >= maxRefused || kind == broken {
		return GiveUp
	}
	if kind != formed {
		l.formed = 0
	}
	if kind != idle {
		l.idle = 0
	}
	return l.step(kind, r.Failures)
}

// step applies the rule of a class.
func (l *Ladder) step(kind class, failures []Failure) Step {
	first := Failure{}
	if len(failures) > 0 {
		first = failures[0]
	}
	at := l.rung(first.Path)
	switch kind {
	case security:
		if l.attacks++; l.attacks > 1 {
			return Blocked
		}
	case idle:
		if l.idle++; l.idle > 1 {
			return GiveUp
		}
	case stuck:
		if at.strikes++; at.strikes > 1 {
			return GiveUp
		}
	case formed:
		if l.formed++; l.formed > 1 {
			l.formed = 0
			return l.up(first)
		}
	case matched:
		return l.strike(failures)
	case elided, cut:
		at.whole, at.strikes = false, 0
		return l.follow(at)
	}
	return Retry
}

// strike counts a failed match against every file that has one, and follows the first that goes up.
func (l *Ladder) strike(failures []Failure) Step {
	step := Step("")
	seen := map[string]bool{}
	for _, f := range failures {
		if f.Code.class() != matched || seen[f.Path] {
			continue
		}
		seen[f.Path] = true
		at := l.rung(f.Path)
		next := Retry
		if at.strikes++; at.strikes > 1 {
			next = l.up(f)
		} else if step == "" {
			next = l.follow(at)
		}
		if step == "" || next == Promoted {
			step = next
		}
	}
	return step
}

func (l *Ladder) rung(path string) *rung {
	if l.files[path] == nil {
		l.files[path] = &rung{}
	}
	return l.files[path]
}

// up moves a file to whole files, if it is short enough.
func (l *Ladder) up(f Failure) Step {
	at := l.rung(f.Path)
	if !at.whole && f.Lines <= maxWholeFile {
		at.whole, at.strikes = true, 0
	}
	return l.follow(at)
}

// follow asks in the format of a rung.
func (l *Ladder) follow(at *rung) Step {
	f := SearchReplace
	if at.whole {
		f = FullFile
	}
	if l.ask(f) {
		return Promoted
	}
	return Retry
}

// ask sets the format unless it is pinned, and reports whether it changed.
func (l *Ladder) ask(f Format) bool {
	if l.override != "" || l.now == f {
		return false
	}
	l.now = f
	return true
}
