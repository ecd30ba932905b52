package edit

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// maxFile is the largest file that is edited, before and after. Beyond it quoted text is hardly ever unique,
// and files of that size are generated.
const maxFile = 2 << 20

const bom = "\xEF\xBB\xBF"

// An eol is how one line ends in the file. It is never part of the text that is compared.
type eol uint8

const (
	none eol = iota // the last line of a file without a final newline
	lf
	crlf
)

var eolText = [...]string{none: "", lf: "\n", crlf: "\r\n"}

// A text is a file's content as lines. It is never changed in place: feedback may still hold an older one.
type text struct {
	bom   bool
	utf8  bool
	lines []string
	ends  []eol // one for each line
	style eol   // what most lines have; lf for an empty file
	mixed bool
}

// decode splits a file. A file with NUL bytes or in UTF-16 is no text: its bytes could not be kept.
func decode(b []byte) (*text, *refusal) {
	if bytes.IndexByte(b, 0) >= 0 || bytes.HasPrefix(b, []byte("\xFF\xFE")) || bytes.HasPrefix(b, []byte("\xFE\xFF")) {
		return nil, refuse(BinaryFile, "the file is binary (NUL bytes or UTF-16), not text")
	}
	t := &text{utf8: utf8.Valid(b)}
	s := string(b)
	s, t.bom = strings.CutPrefix(s, bom)
	for s != "" {
		line, rest, ended := strings.Cut(s, "\n")
		end := none
		if ended {
			end = lf
			if strings.HasSuffix(line, "\r") {
				line, end = line[:len(line)-1], crlf
			}
		}
		t.lines, t.ends, s = append(t.lines, line), append(t.ends, end), rest
	}
	t.judge()
	return t, nil
}

// fresh is the content of a file that does not exist yet.
func fresh() *text { return &text{utf8: true, style: lf} }

// judge finds the style of line ending from the lines.
func (t *text) judge() {
	var n [len(eolText)]int
	for _, e := range t.ends {
		n[e]++
	}
	t.mixed = n[lf] > 0 && n[crlf] > 0
	t.style = lf
	if n[crlf] > n[lf] {
		t.style = crlf
	}
}

// encode is the inverse of decode.
func (t *text) encode() []byte {
	b := make([]byte, 0, t.size())
	if t.bom {
		b = append(b, bom...)
	}
	for i, line := range t.lines {
		b = append(append(b, line...), eolText[t.ends[i]]...)
	}
	return b
}

func (t *text) size() int {
	n := len(bom)
	for i, line := range t.lines {
		n += len(line) + len(eolText[t.ends[i]])
	}
	return n
}

// blank reports whether no line shows anything.
func (t *text) blank() bool { return blank(t.lines) }

func blank(lines []string) bool {
	for _, line := range lines {
		if strings.TrimSpace(line) != "" {
			return false
		}
	}
	return true
}

// unterminated reports whether the file lacks its final newline.
func (t *text) unterminated() bool {
	return len(t.ends) > 0 && t.ends[len(t.ends)-1] == none
}

// An endRule says which line ending a new line gets in a file that mixes them.
type endRule uint8

const (
	nearby   endRule = iota // that of the first line replaced at this place, else of the line before
	majority                // that of most lines
)

// replace returns the text with n lines from at on replaced. Lines of repl that stand in the old range, in the
// same order, are the file's own lines and keep their ending. A file without a final newline stays without,
// unless its last line is deleted.
func (t *text) replace(at, n int, repl []string, rule endRule) *text {
	keep := align(t.lines[at:at+n], repl)
	size := len(t.lines) - n + len(repl)
	out := &text{
		bom: t.bom, utf8: t.utf8, style: t.style, mixed: t.mixed,
		lines: make([]string, 0, size), ends: make([]eol, 0, size),
	}
	out.lines = append(append(append(out.lines, t.lines[:at]...), repl...), t.lines[at+n:]...)
	out.ends = append(out.ends, t.ends[:at]...)
	follow := following(keep, n)
	next := 0 // the old line, counted from at, that the next new line stands in for
	for j := range repl {
		if keep[j] < 0 {
			out.ends = append(out.ends, t.endFor(at+next, at+follow[j], rule))
			continue
		}
		out.ends = append(out.ends, t.ends[at+keep[j]])
		next = keep[j] + 1
	}
	out.ends = append(out.ends, t.ends[at+n:]...)
	if last := len(repl) - 1; last >= 0 && t.unterminated() && at+n == len(t.lines) && keep[last] < 0 && repl[last] != "" {
		out.ends[len(out.ends)-1] = none
	}
	for i := range max(len(out.ends)-1, 0) {
		if out.ends[i] == none {
			out.ends[i] = t.endBefore(len(t.lines) - 1)
		}
	}
	return out
}

// following returns for each new line the first old line at or after it that is kept, or n.
func following(keep []int, n int) []int {
	next := make([]int, len(keep))
	for j := len(keep) - 1; j >= 0; j-- {
		if keep[j] >= 0 {
			n = keep[j]
		}
		next[j] = n
	}
	return next
}

// endFor returns the ending for a new line that replaces the old lines from start up to stop, if any.
func (t *text) endFor(start, stop int, rule endRule) eol {
	if !t.mixed || rule == majority {
		return t.style
	}
	if start < stop && t.ends[start] != none {
		return t.ends[start]
	}
	return t.endBefore(start)
}

// endBefore returns the ending of the line before i, or the style of the file at its top.
func (t *text) endBefore(i int) eol {
	if i > 0 && t.mixed {
		return t.ends[i-1]
	}
	return t.style
}

// rewrite returns the text with all lines replaced: the whole-file format, which cannot express a missing
// final newline, so that the old file decides.
func (t *text) rewrite(lines []string) *text {
	out := t.replace(0, len(t.lines), lines, majority)
	if last := len(lines) - 1; t.unterminated() && last >= 0 && lines[last] != "" {
		out.ends[last] = none
	}
	return out
}

// maxCells bounds the table of align; beyond it only the common head and tail are kept.
const maxCells = 1 << 16

// align pairs lines of repl with equal lines of old, in order: keep[j] is the index in old, or -1. Head and
// tail first, then the longest common subsequence of what is left.
func align(old, repl []string) (keep []int) {
	keep = make([]int, len(repl))
	head := 0
	for head < min(len(old), len(repl)) && old[head] == repl[head] {
		keep[head] = head
		head++
	}
	o, r := len(old), len(repl)
	for o > head && r > head && old[o-1] == repl[r-1] {
		o, r = o-1, r-1
		keep[r] = o
	}
	for j := head; j < r; j++ {
		keep[j] = -1
	}
	if w := r - head + 1; (o-head+1)*w <= maxCells {
		subsequence(old[head:o], repl[head:r], func(i, j int) { keep[head+j] = head + i })
	}
	return keep
}

// subsequence calls pair for each element of a longest common subsequence of a and b, in order.
func subsequence(a, b []string, pair func(i, j int)) {
	w := len(b) + 1
	longest := make([]uint16, (len(a)+1)*w) // longest[i*w+j] is that of a[i:] and b[j:]
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				longest[i*w+j] = longest[(i+1)*w+j+1] + 1
			} else {
				longest[i*w+j] = max(longest[(i+1)*w+j], longest[i*w+j+1])
			}
		}
	}
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			pair(i, j)
			i, j = i+1, j+1
		case longest[(i+1)*w+j] >= longest[i*w+j+1]:
			i++
		default:
			j++
		}
	}
}

// writable refuses new text that would spoil the file's encoding. A file that is not UTF-8 takes ASCII alone:
// those bytes mean the same in every encoding that has no NULs.
func (t *text) writable(lines []string) *refusal {
	for _, line := range lines {
		if strings.IndexByte(line, 0) >= 0 {
			return refuse(BinaryFile, "the edit holds a NUL byte")
		}
		if !utf8.ValidString(line) {
			return refuse(BadEncoding, "the edit holds bytes that are not UTF-8")
		}
		if !t.utf8 && !ascii(line) {
			return refuse(BadEncoding, "the file is not UTF-8 (perhaps Latin-1): only edits in plain ASCII keep its bytes")
		}
	}
	return nil
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
