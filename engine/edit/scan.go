package edit

import (
	"slices"
	"strings"
)

// An op is one edit as the reply has it, or one that could not be read.
type op struct {
	n        int // position in the reply, from 1
	format   Format
	line     int    // where it starts in the reply, from 1
	path     string // as written
	quote    []string
	code     Code // it could not be read
	note     string
	warnings []string

	body     []string // search/replace: everything between the outer markers
	dividers []int    // the lines of body that may divide it

	content []string // whole file
	comment string   // its first line, when that names the file
}

func (o *op) length() int { return len(o.body) + len(o.content) }

// identity is equal for edits that are byte-identical; "" for those that are never dropped. A block's body
// holds its divider and so tells its halves apart.
func (o *op) identity() string {
	if o.code != "" {
		return ""
	}
	lines := o.body
	if o.format == FullFile {
		lines = o.content
	}
	return string(o.format) + "\x00" + o.path + "\x00" + strings.Join(lines, "\n")
}

// A reading is what a scan found.
type reading struct {
	ops   []op
	tried bool     // the reply tried to edit, if only in a form that is not read
	no    *refusal // why there are no ops
}

// maxEdits is the number of edits read from one reply. The longest output of any model holds a third of it.
const maxEdits = 10_000

// A scanner reads a reply from top to bottom, each line once.
type scanner struct {
	lines   []string
	whole   bool // whole files are read
	view    *overlay
	marks   marks
	barrier int    // the first line that belongs to no earlier edit
	last    string // the path of the edit before
	within  fence  // the fence that the scan is inside of, transparently
	hidden  []bool // lines of closed fences that are examples: no path is taken from them
	blocks  []op
	files   []op
	headed  heading // the newest whole file that has a path
	tried   bool
	bare    bool
}

// scan finds the edits of a normalised reply in order of appearance. Whole files count only when there is
// nothing else.
func scan(reply string, f Format, v *overlay) reading {
	lines := strings.Split(strings.TrimSuffix(reply, "\n"), "\n")
	s := &scanner{
		lines: lines, view: v, marks: findMarks(lines), hidden: make([]bool, len(lines)),
		whole: f == FullFile || f == Auto,
	}
	for i := 0; i < len(lines); {
		i = s.step(i)
		if len(s.blocks)+len(s.files) > maxEdits {
			return reading{tried: true, no: refuse(TooLarge, "the reply holds more than %d edits", maxEdits)}
		}
	}
	return s.reading()
}

// reading numbers what was found. Whole files beside blocks are examples.
func (s *scanner) reading() reading {
	ops := s.blocks
	switch {
	case len(s.blocks) > 0 && len(s.files) > 0:
		ops[0].warnings = append(ops[0].warnings, "ignored_fence")
	case len(s.blocks) == 0:
		ops = s.files
	}
	for i := range ops {
		ops[i].n = i + 1
	}
	found := reading{ops: ops, tried: s.tried || s.bare || len(ops) > 0, no: refuse(NoEdits, "the reply holds no edit")}
	if s.bare {
		found.no = refuse(MissingPath, "the reply holds fences, but none has a file name; write the path on the line above the fence")
	}
	return found
}

// step reads what starts at line i and returns the line after it.
func (s *scanner) step(i int) int {
	line := s.lines[i]
	if line == "" {
		return i + 1
	}
	m, marked := markOf(line)
	switch {
	case marked && m.kind == '<':
		return s.block(i, m)
	case marked && m.kind == '>':
		s.fail(i, Malformed, "", "line %d of the reply closes a block that was never opened", i+1)
		s.barrier = i + 1
		return i + 1
	case patchAt(s.lines, i):
		return s.patch(i)
	}
	if f, ok := fenceOf(line); ok {
		return s.fence(i, f)
	}
	return i + 1
}

// fail records an edit that could not be read.
func (s *scanner) fail(i int, code Code, path, format string, args ...any) {
	no := refuse(code, format, args...)
	s.blocks = append(s.blocks, op{
		format: SearchReplace, line: i + 1, path: path, code: code, note: no.message,
		quote: s.lines[i:min(i+3, len(s.lines))],
	})
}

// fence reads a fence line. Where whole files are wanted and the fence does not start with a block or a patch,
// it is content from here to its end; else the scan goes on inside.
func (s *scanner) fence(i int, f fence) int {
	if s.within.closedBy(f) {
		if s.within.info != "" && !s.within.used {
			for k := s.within.line; k <= i; k++ {
				s.hidden[k] = true
			}
		}
		s.within = fence{}
		return i + 1
	}
	f.line = i
	if s.whole && !s.editInside(i) {
		return s.wholeFile(i, f)
	}
	if s.within.length == 0 {
		s.within = f
		s.tried = s.tried || s.titled(i, f) // a whole file nobody asked for is still an attempt
	}
	return i + 1
}

// editInside reports whether the first line inside the fence at i is a marker or the head of a patch.
func (s *scanner) editInside(i int) bool {
	k := i + 1
	for k < len(s.lines) && strings.TrimSpace(s.lines[k]) == "" {
		k++
	}
	if k == len(s.lines) {
		return false
	}
	m, marked := markOf(s.lines[k])
	return marked && m.kind == '<' || patchAt(s.lines, k)
}

// patch records a patch, which is not read yet, and skips it, so that its lines are taken for nothing else.
func (s *scanner) patch(i int) int {
	s.fail(i, NoEdits, "", "line %d of the reply starts a patch; patches are not accepted", i+1)
	k := i + 1
	if strings.HasPrefix(s.lines[i], "*** ") {
		for k < len(s.lines) && strings.TrimSpace(s.lines[k]) != "*** End Patch" {
			if f, ok := fenceOf(s.lines[k]); ok && s.within.closedBy(f) {
				break
			}
			k++
		}
		k = min(k+1, len(s.lines))
	} else {
		for k < len(s.lines) && hunkLine(s.lines[k]) {
			k++
		}
	}
	s.barrier = k
	return k
}

// patchAt reports whether a patch starts at line i: an envelope, a git header, or the three lines of a unified
// diff, which together tell it from a rule or a list.
func patchAt(lines []string, i int) bool {
	line := lines[i]
	if line == "" || strings.IndexByte("*d-", line[0]) < 0 {
		return false
	}
	for _, head := range [...]string{"*** Begin Patch", "*** Update File:", "*** Add File:", "*** Delete File:", "diff --git "} {
		if strings.HasPrefix(line, head) {
			return true
		}
	}
	return strings.HasPrefix(line, "--- ") && i+2 < len(lines) &&
		strings.HasPrefix(lines[i+1], "+++ ") && strings.HasPrefix(lines[i+2], "@@")
}

func hunkLine(line string) bool {
	if line == "" {
		return false
	}
	if strings.IndexByte(` +-@\`, line[0]) >= 0 {
		return true
	}
	for _, head := range [...]string{"index ", "new file mode", "deleted file mode", "old mode", "new mode", "similarity index", "rename ", "copy ", "Binary files"} {
		if strings.HasPrefix(line, head) {
			return true
		}
	}
	return false
}

// A fence is a line of at least three backticks or tildes.
type fence struct {
	char   byte
	length int
	indent string
	info   string
	line   int
	used   bool // a block was read inside
}

func fenceOf(line string) (fence, bool) {
	body := strings.TrimLeft(line, " \t")
	if !strings.HasPrefix(body, "```") && !strings.HasPrefix(body, "~~~") {
		return fence{}, false
	}
	f := fence{char: body[0], indent: line[:len(line)-len(body)]}
	info := strings.TrimLeft(body, body[:1])
	f.length = len(body) - len(info)
	f.info = strings.TrimSpace(info)
	if f.char == '`' && strings.Contains(f.info, "`") {
		return fence{}, false // code within a line, CommonMark 0.31 4.5
	}
	return f, true
}

// closedBy reports whether g ends f.
func (f fence) closedBy(g fence) bool {
	return f.length > 0 && g.char == f.char && g.length >= f.length && g.info == ""
}

// The lengths of a marker. Seven is what git writes; longer ones let a block quote shorter ones.
const minMark, maxMark = 5, 9

// A mark is a line of a block: kind '<' opens it, '=' divides it, '>' closes it.
type mark struct {
	kind   byte
	length int
	indent string
}

func markOf(line string) (mark, bool) {
	body := strings.TrimLeft(line, " \t")
	if body == "" || body[0] != '<' && body[0] != '=' && body[0] != '>' {
		return mark{}, false
	}
	m := mark{kind: body[0], indent: line[:len(line)-len(body)]}
	word := strings.TrimLeft(body, body[:1])
	m.length = len(body) - len(word)
	if m.length < minMark || m.length > maxMark {
		return mark{}, false
	}
	word = strings.TrimRight(word, " \t")
	switch word = strings.TrimPrefix(word, " "); m.kind {
	case '<':
		return m, word == "SEARCH" || word == "SEARCH>"
	case '>':
		return m, word == "REPLACE"
	default:
		return m, word == ""
	}
}

// marks knows where every opening and closing line stands, so that a block's end is found without reading on.
type marks struct {
	opens  [maxMark + 1][]int // by length
	closes map[mark][]int
}

func findMarks(lines []string) marks {
	all := marks{closes: map[mark][]int{}}
	for i, line := range lines {
		switch m, ok := markOf(line); {
		case !ok:
		case m.kind == '<':
			all.opens[m.length] = append(all.opens[m.length], i)
		case m.kind == '>':
			all.closes[m] = append(all.closes[m], i)
		}
	}
	return all
}

// after returns the first element of list over i, or -1.
func after(list []int, i int) int {
	if k, _ := slices.BinarySearch(list, i+1); k < len(list) {
		return list[k]
	}
	return -1
}
