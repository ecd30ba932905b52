package todo

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// A marker is the bullet or number that starts a list line.
type marker struct {
	col        int  // column of the marker
	content    int  // offset of the first byte behind it that is no blank
	contentCol int  // column to which the body is dedented (CommonMark §5.2)
	glued      bool // nothing between marker and content: "-[ ]"
}

// readMarker recognises a list marker at offset at, column col of line. A glued
// marker counts only in front of a bracket; whether that is a box is up to the
// caller.
func readMarker(line []byte, at, col int) (marker, bool) {
	end := at
	for end < len(line) && end-at < 9 && line[end] >= '0' && line[end] <= '9' {
		end++
	}
	if end == len(line) {
		return marker{}, false
	}
	signs := ".)"
	if end == at {
		signs = "-*+"
	}
	if strings.IndexByte(signs, line[end]) < 0 {
		return marker{}, false
	}
	end++
	after := col + end - at
	gap, content := after, end
	for content < len(line) && isBlank(line[content]) {
		gap = advance(gap, line[content])
		content++
	}
	m := marker{col: col, content: content, contentCol: gap}
	if content == len(line) || gap-after < 1 || gap-after > 4 {
		m.contentCol = after + 1
	}
	if content == end && end < len(line) {
		m.glued = true
		return m, line[end] == '['
	}
	return m, true
}

// A box is the [ ] of an item. Offsets are into the line.
type box struct {
	open, end int  // of the bracket that opens it; behind the one that closes it
	state     rune // ' ' when empty
	odd       bool // tolerated, but not the form that Markdown renders
}

// The states that a box can name. Anything else is held, since nobody can tell
// what its author meant.
const (
	doneStates = "xX"
	heldStates = "~/>!?"
	cancelled  = '-'
	unticked   = ' '
)

func (b box) known() bool {
	return b.state == unticked || b.state == cancelled ||
		strings.ContainsRune(doneStates+heldStates, b.state)
}

// readBox recognises a box at offset at. A bracket in front of "(", "[" or ":"
// is a link, and one that holds an unknown sign needs a blank behind it:
// "[i]nterface" is a word.
func readBox(line []byte, at int) (box, bool) {
	if at >= len(line) || line[at] != '[' {
		return box{}, false
	}
	b := box{open: at, state: unticked}
	i := skipBlanks(line, at+1)
	if i < len(line) && line[i] != ']' {
		r, size := utf8.DecodeRune(line[i:])
		b.state = r
		i = skipBlanks(line, i+size)
	}
	if i >= len(line) || line[i] != ']' || strings.ContainsRune("[\\`", b.state) {
		return box{}, false
	}
	b.end = i + 1
	inner := line[at+1 : i]
	b.odd = utf8.RuneCount(inner) != 1 || inner[0] == '\t'
	if b.end == len(line) || isBlank(line[b.end]) {
		return b, true
	}
	b.odd = true
	return b, b.known() && strings.IndexByte("([:", line[b.end]) < 0
}

func skipBlanks(line []byte, at int) int {
	for at < len(line) && isBlank(line[at]) {
		at++
	}
	return at
}

// A fence is an open code fence.
type fence struct {
	sign   byte // '`' or '~'
	length int
	maxCol int // a closing fence may be indented up to here
	line   int // 1-based, where it was opened
}

// readFence recognises an opening fence (CommonMark §4.5) at the start of line,
// whose indentation is already off.
func readFence(line []byte) (fence, bool) {
	if len(line) < 3 || line[0] != '`' && line[0] != '~' {
		return fence{}, false
	}
	f := fence{sign: line[0], length: len(line) - len(bytes.TrimLeft(line, string(line[:1])))}
	inline := f.sign == '`' && bytes.IndexByte(line[f.length:], '`') >= 0
	return f, f.length >= 3 && !inline
}

// closedBy tells whether line ends the fence.
func (f fence) closedBy(line []byte) bool {
	col, at := indent(line)
	rest := bytes.TrimRight(line[at:], " \t")
	return col <= f.maxCol && len(rest) >= f.length && len(bytes.Trim(rest, string(rune(f.sign)))) == 0
}

// isRule recognises a thematic break (CommonMark §4.1), of which "- - -" looks
// like a list and "---" like front matter.
func isRule(line []byte) bool {
	if len(line) < 3 || strings.IndexByte("-*_", line[0]) < 0 {
		return false
	}
	return bytes.Count(line, line[:1]) >= 3 && len(bytes.Trim(line, string(line[:1])+" \t")) == 0
}
