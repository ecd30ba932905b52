package configs

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Problem is one reason why a configuration is refused, told to a person.
// It never holds the value of a key that may carry a secret.
type Problem struct {
	File      string // as given in [File.Name], "environment" or "flag"; empty when no place is to blame
	Line, Col int    // from 1, in bytes; 0 outside files
	Key       string // "budget.daily_usd", "model[0].price.input"; empty for broken TOML
	What      string // what is wrong
	Hint      string // what to write instead; may be empty
}

// String is one line: `hob.toml:3:5: budget.daily_us: unknown key, did you mean "daily_usd"?`.
func (p Problem) String() string {
	var b strings.Builder
	if p.File != "" {
		b.WriteString(p.File)
		if p.Line > 0 {
			fmt.Fprintf(&b, ":%d:%d", p.Line, p.Col)
		}
		b.WriteString(": ")
	}
	if p.Key != "" {
		b.WriteString(p.Key + ": ")
	}
	b.WriteString(p.What)
	if p.Hint != "" {
		b.WriteString(", " + p.Hint)
	}
	return b.String()
}

// Problems are all that is wrong with a configuration: by layer from the user's file up, then
// by position. It is the error type of [Load].
type Problems []Problem

// Error has one line for each problem.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// Hint is what to do about any problems, for the line below them.
func (ps Problems) Hint() string { return "correct the lines named above, then run hob config check" }

// maxProblems bounds what a hostile file can make hob print; nobody reads more.
const maxProblems = 100

// A report collects problems. Past maxProblems it only counts.
type report struct {
	found []ranked
	more  int
}

// ranked remembers which layer a problem belongs to, because two files may share a name.
type ranked struct {
	layer layer
	Problem
}

func (r *report) add(in layer, p Problem) {
	if len(r.found) == maxProblems {
		r.more++
		return
	}
	r.found = append(r.found, ranked{in, p})
}

// err returns the problems in order, or nil: a nil Problems in an error would not be nil.
func (r *report) err() error {
	if len(r.found) == 0 {
		return nil
	}
	slices.SortStableFunc(r.found, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(a.layer, b.layer), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	all := make(Problems, 0, len(r.found)+1)
	for _, p := range r.found {
		all = append(all, p.Problem)
	}
	if r.more > 0 {
		all = append(all, Problem{What: fmt.Sprintf("and %d more problems", r.more)})
	}
	return all
}

// quoteLimit keeps an echoed value on one line of a terminal.
const quoteLimit = 60

// quote makes text from a file fit to print: bounded, on one line, without control characters,
// and masked when it looks like a key that was pasted into the wrong place.
func quote(s string) string {
	if looksLikeSecret(s) {
		return `"…"`
	}
	if len(s) > quoteLimit {
		s = strings.ToValidUTF8(s[:quoteLimit], "") + "…"
	}
	return strconv.Quote(s)
}

// keyName is a part of a key as it can stand in a message: bare where TOML allows it.
func keyName(name string) string {
	if name != "" && len(name) <= quoteLimit && strings.Trim(name, bareKeyChars) == "" && !looksLikeSecret(name) {
		return name
	}
	return quote(name)
}

// keyPath is keyName for a dotted key.
func keyPath(key string) string {
	parts := strings.Split(key, ".")
	for i, part := range parts {
		parts[i] = keyName(part)
	}
	return strings.Join(parts, ".")
}

const bareKeyChars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"

// didYouMean offers the known name nearest to what was written, or nothing.
func didYouMean(written string, known []string) string {
	if near := nearest(written, known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return ""
}

// nearest returns the name that was probably meant: the same in another case, one that the
// written text extends or begins (interval_secs, git_rem), or the one with the fewest typing
// slips, if those are few for its length.
func nearest(written string, known []string) string {
	if len(written) > quoteLimit || !utf8.ValidString(written) {
		return ""
	}
	best, fewest := "", max(1, len(written)/3)+1
	for _, name := range known {
		switch {
		case strings.EqualFold(name, written):
			return name
		case len(name) >= 4 && strings.HasPrefix(written, name+"_"),
			len(written) >= 4 && strings.HasPrefix(name, written) && !strings.HasPrefix(name, written+"."):
			if fewest > 1 {
				best, fewest = name, 1
			}
		default:
			if n := slips(strings.ToLower(written), name); n < fewest {
				best, fewest = name, n
			}
		}
	}
	return best
}

// slips counts single-character insertions, deletions, replacements and swaps of neighbours
// that turn a into b: the optimal string alignment distance.
func slips(a, b string) int {
	before, row := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next := make([]int, len(b)+1)
		next[0] = i + 1
		for j := range len(b) {
			change := row[j]
			if a[i] != b[j] {
				change++
			}
			next[j+1] = min(change, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}
