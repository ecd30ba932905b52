package edit

import (
	"fmt"
	"slices"
	"strings"
)

const (
	// maxFeedback is the length of the feedback in lines: what a model still reads in full.
	maxFeedback = 60
	// maxDetailed is how many failures are told with the file's text; the rest get a line each.
	maxDetailed = 3
)

// A refusal is why one edit fails. detail is asked for only when there is room to tell it.
type refusal struct {
	code    Code
	message string
	path    string
	lines   int
	detail  func() []string
}

func refuse(code Code, format string, args ...any) *refusal {
	return &refusal{code: code, message: fmt.Sprintf(format, args...)}
}

// at returns the refusal with the path as written; refusals may be shared.
func (r *refusal) at(path string) *refusal {
	c := *r
	c.path = path
	return &c
}

// in returns the refusal with the file it is about.
func (r *refusal) in(f *file) *refusal {
	c := *r
	c.path, c.lines = f.path, f.length()
	return &c
}

// A report gathers what failed in one reply.
type report struct {
	total    int
	format   Format
	view     *overlay
	failures []Failure
	refusals []*refusal
	quotes   [][]string
}

// add records a failure of the edit o, or of the reply as a whole when o is nil.
func (r *report) add(o *op, no *refusal, afterFailed bool) {
	f := Failure{Code: no.code, Path: no.path, Message: no.message, AfterFailed: afterFailed, Lines: no.lines}
	var quote []string
	if o != nil {
		f.N, quote = o.n, o.quote
	}
	r.failures, r.refusals, r.quotes = append(r.failures, f), append(r.refusals, no), append(r.quotes, quote)
}

func (r *report) result() Result {
	return Result{Code: r.failures[0].Code, Failures: r.failures, Feedback: r.feedback(), Tried: true}
}

// refuseWhole is the result of a reply without an edit that could be tried.
func refuseWhole(f Format, found reading) Result {
	r := report{format: f}
	r.add(nil, found.no, false)
	res := r.result()
	res.Tried = found.tried
	return res
}

// feedback writes what the model is told. The first line holds for every failure: half-applied state makes
// models loop (Aider-AI/aider#4098), so there is none, and all edits are wanted again.
func (r *report) feedback() string {
	out := []string{"Nothing was changed; resend every edit."}
	var tail []string
	if slices.ContainsFunc(r.failures, func(f Failure) bool { return f.Code.class() == formed }) {
		tail = example(r.format)
	}
	room := maxFeedback - len(tail) - 1 // one line for what has no room
	for i, f := range r.failures {
		told := []string{"", r.title(f)}
		if i < maxDetailed {
			told = append(told, r.details(i)...)
		} else {
			told = told[1:]
			told[0] += ": " + f.Message
		}
		if len(out)+len(told) > room {
			told = told[:max(room-len(out), 0)]
		}
		if len(told) < 2 && i < maxDetailed || len(told) == 0 {
			out = append(out, fmt.Sprintf("… and %d more", len(r.failures)-i))
			break
		}
		out = append(out, told...)
	}
	return strings.Join(append(out, tail...), "\n") + "\n"
}

func (r *report) title(f Failure) string {
	if f.N == 0 {
		return "Your reply: " + string(f.Code)
	}
	title := fmt.Sprintf("Edit %d of %d", f.N, r.total)
	if f.Path != "" {
		title += ", " + show(f.Path)
	}
	title += ": " + string(f.Code)
	if f.AfterFailed {
		title += " (an earlier edit of this file failed, which may be why)"
	}
	return title
}

// details tells failure i at length. A path that reaches for what it must not gets no content back.
func (r *report) details(i int) []string {
	var told []string
	if r.failures[i].Code.class() != security {
		for _, line := range r.quotes[i][:min(3, len(r.quotes[i]))] {
			told = append(told, "> "+show(line))
		}
	}
	told = append(told, r.failures[i].Message+".")
	if hint := r.failures[i].Code.hint(); hint != "" {
		told = append(told, hint)
	}
	if r.refusals[i].detail != nil {
		told = append(told, r.refusals[i].detail()...)
	}
	return told
}

// hint is the advice that does not depend on the edit.
func (c Code) hint() string {
	switch c {
	case NoMatch:
		return "SEARCH must be whole lines, copied exactly from the file as it is now."
	case AmbiguousMatch:
		return "Add lines above or below to SEARCH until it fits one place."
	case Truncated:
		return "Send fewer edits in this reply; continue with the rest in the next one."
	case BinaryFile, BadEncoding, TooLarge:
		return "Edit it by search/replace blocks in plain ASCII where that is possible, or leave it."
	case NoOp:
		return "If nothing is left to do, say so without edits."
	}
	return ""
}

// example shows the format that is asked for.
func example(f Format) []string {
	if f == FullFile {
		return []string{
			"", "Write each file like this, with a fence longer than any inside:",
			"path/to/file.go", "````", "the whole file, every line", "````",
		}
	}
	return []string{
		"", "Write each edit like this:",
		"path/to/file.go", "<<<<<<< SEARCH", "lines exactly as they are now", "=======", "lines as they should be", ">>>>>>> REPLACE",
	}
}

// maxShown is how much of a line is shown, in bytes.
const maxShown = 160

// show makes a line safe and its blanks visible: models cannot tell a tab from spaces.
func show(line string) string {
	cut := len(line) > maxShown
	if cut {
		line = strings.ToValidUTF8(line[:maxShown], "") // a rune cut in two, and what never was one
	}
	text := strings.TrimRight(line, " \t")
	tail := strings.NewReplacer(" ", "·", "\t", "→").Replace(line[len(text):])
	text = strings.ReplaceAll(text, "\t", "→")
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029' || r == '\u0085' {
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	if cut {
		return text + tail + " […]"
	}
	return text + tail
}
