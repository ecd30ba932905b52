package todo

import (
	"bytes"
	"fmt"
	"strings"
)

// none stands for "no item" among item indexes.
const none = -1

// A place is where the parts of an item's line stand in the file.
type place struct {
	content   int // offset of box or text
	open, end int // of the box's brackets; open is none when there is no box
}

// A draft is what the reader knows of an item besides the Item.
type draft struct {
	col, contentCol int
	body            []string
	braces          []setting
	caret           string // of a trailing ^id
	hold            bool   // by box or section, which no attribute undoes
}

// A reader goes through the file once, line by line. The methods stand in the
// order in which a line is decided.
type reader struct {
	b         []byte
	lines     []span
	lastClose int // offset of the last "-->" of the file

	items   []Item
	drafts  []draft
	places  []place
	refused [][]string // by item: settings that could not be taken
	notes   []Diagnostic

	line       int    // 1-based
	raw        []byte // the line
	sections   sections
	open       []int // items that may still get lines, outermost first
	lazy       int   // item that an unindented line directly below continues
	blanks     int   // blank lines since the last line with something on it
	afterBlank bool
	inCode     bool  // in indented code
	fence      fence // open if its length is not 0
	hidden     bool  // in a comment
	owner      int   // item that the open fence or comment began in
}

func newReader(b []byte, lines []span) *reader {
	return &reader{
		b: b, lines: lines, lastClose: bytes.LastIndex(b, []byte(commentClose)),
		items: []Item{}, lazy: none, owner: none, afterBlank: true,
	}
}

func (r *reader) read() {
	for i := frontMatter(r.b, r.lines); i < len(r.lines); i++ {
		r.line = i + 1
		r.raw = r.b[r.lines[i].start:r.lines[i].end]
		if _, clean := decode(r.raw); !clean {
			r.noteLine(r.line, codeBadUTF8, "bytes that are no UTF-8 text are read as U+FFFD")
		}
		switch {
		case r.fence.length > 0:
			r.fenced()
		case r.hidden:
			r.commented()
		case len(bytes.TrimSpace(r.raw)) == 0:
			r.blank()
		default:
			r.block()
		}
	}
	if r.fence.length > 0 {
		r.noteLine(r.fence.line, codeUnclosedFence, "this fence is never closed: the rest of the file is inside it")
	}
}

// fenced takes a line inside a fence.
func (r *reader) fenced() {
	if r.owner != none {
		text, _ := decode(r.raw)
		r.addBody(r.owner, dedent(text, r.drafts[r.owner].contentCol))
	}
	if r.fence.closedBy(r.raw) {
		r.fence = fence{}
		r.lazy = r.owner
	}
}

// commented takes a line that begins inside a comment. What follows the comment
// goes on with the text it interrupted; it never starts something.
func (r *reader) commented() {
	end := bytes.Index(r.raw, []byte(commentClose))
	if end < 0 {
		return
	}
	r.hidden = false
	r.lazy = r.owner
	if r.owner == none {
		r.afterBlank = true
		return
	}
	if text := strings.TrimSpace(r.visible(r.raw[end+len(commentClose):], r.owner)); text != "" {
		r.addBody(r.owner, text)
	}
}

func (r *reader) blank() {
	r.lazy = none
	r.blanks++
	r.afterBlank = true
}

// block takes any other line: it belongs to the deepest open item whose marker
// is at least two columns to the left.
func (r *reader) block() {
	col, at := indent(r.raw)
	afterBlank := r.afterBlank
	r.afterBlank = false
	depth := len(r.open)
	for depth > 0 && r.drafts[r.open[depth-1]].col+2 > col {
		depth--
	}
	switch {
	case depth > 0:
		r.open = r.open[:depth]
		r.inCode = false
		r.inItem(col, at)
	case col >= 4 && (afterBlank || r.inCode):
		r.closeAll()
		r.inCode = true
	default:
		r.inCode = false
		r.topLevel(col, at)
	}
	r.blanks = 0
}

// inItem takes a line of the innermost open item: a child or its body.
func (r *reader) inItem(col, at int) {
	item := r.open[len(r.open)-1]
	if f, ok := readFence(r.raw[at:]); ok {
		f.maxCol = max(r.drafts[item].contentCol, col) + 3
		text, _ := decode(r.raw)
		r.addBody(item, dedent(text, r.drafts[item].contentCol))
		r.enterFence(f, item)
		return
	}
	if m, b, boxed, ok := r.list(col, at); ok && boxed {
		r.addItem(m, &b)
		return
	}
	text := r.visible(r.raw, item)
	if strings.TrimSpace(text) == "" {
		r.lazy = none
		return
	}
	r.addBody(item, strings.TrimRight(dedent(text, r.drafts[item].contentCol), " \t"))
	r.lazy = item
}

// topLevel takes a line that belongs to no open item.
func (r *reader) topLevel(col, at int) {
	line := r.raw[at:]
	if col <= 3 && r.leaf(line) {
		return
	}
	m, b, boxed, ok := r.list(col, at)
	if !ok {
		r.paragraph(line)
		return
	}
	class := r.sections.class()
	r.closeAll()
	switch {
	case boxed:
		r.addItem(m, &b)
	case col <= 3 && (class == open || class == done):
		r.addItem(m, nil)
	default:
		r.visible(r.raw[m.content:], none)
	}
}

// leaf takes the blocks that hold no items and end a list.
func (r *reader) leaf(line []byte) bool {
	if f, ok := readFence(line); ok {
		f.maxCol = 3
		r.closeAll()
		r.enterFence(f, none)
		return true
	}
	if level, title, ok := heading(line); ok {
		r.closeAll()
		r.sections.enter(level, strings.TrimSpace(r.visible(title, none)))
		return true
	}
	if line[0] == '>' || isRule(line) {
		r.closeAll()
		return true
	}
	return false
}

// paragraph takes top-level text: it continues the item directly above or ends
// the list. A comment on a line of its own does neither; without an end it hides
// the rest of the file, as it does when rendered (CommonMark §4.6).
func (r *reader) paragraph(line []byte) {
	startsHidden := bytes.HasPrefix(line, []byte(commentOpen))
	owner := r.lazy
	if startsHidden {
		owner = none
	}
	if startsHidden && r.lastClose < r.lines[r.line-1].start {
		r.closeAll()
		r.hidden, r.owner = true, none
		r.noteLine(r.line, codeUnclosedComment, "this comment is never closed: the rest of the file is inside it")
		return
	}
	text := strings.TrimSpace(r.visible(line, owner))
	switch {
	case text == "":
		r.lazy = none
		r.afterBlank = true
	case owner != none:
		r.addBody(owner, text)
	default:
		r.closeAll()
	}
}

// list recognises a list line and its box.
func (r *reader) list(col, at int) (m marker, b box, boxed, ok bool) {
	m, ok = readMarker(r.raw, at, col)
	if !ok {
		return m, b, false, false
	}
	b, boxed = readBox(r.raw, m.content)
	if m.glued && !(boxed && b.known()) {
		return m, b, false, false
	}
	return m, b, boxed, true
}

// visible returns raw as text without its comments, and remembers one that goes
// on in the next line, together with the item it interrupts.
func (r *reader) visible(raw []byte, owner int) string {
	text, _ := decode(raw)
	clean, unclosed := cut(text, r.lastClose >= r.lines[r.line-1].end)
	if unclosed {
		r.hidden, r.owner = true, owner
	}
	return clean
}

// addItem starts an item at marker m of the current line; b is nil without a box.
func (r *reader) addItem(m marker, b *box) {
	p := place{content: m.content, open: none}
	content := m.content
	if b != nil {
		p.open, p.end, content = b.open, b.end, b.end
	}
	index := len(r.items)
	written := r.visible(r.raw[content:], index)
	text, braces, caret := takeTrailing(written)
	if text == "" {
		r.noteLine(r.line, codeEmptyItem, "an item without text is ignored")
		r.owner, r.lazy = none, none
		return
	}
	it := Item{
		Text: text, Section: r.sections.title, Line: r.line,
		Attrs: map[string]any{}, Diagnostics: []string{}, Parent: none,
	}
	if len(r.open) > 0 {
		it.Parent = r.open[len(r.open)-1]
		it.Depth = r.items[it.Parent].Depth + 1
	}
	start := r.lines[r.line-1].start
	p.content += start
	if b != nil {
		p.open, p.end = p.open+start, p.end+start
	}
	r.items = append(r.items, it)
	r.drafts = append(r.drafts, draft{col: m.col, contentCol: m.contentCol, braces: braces, caret: caret})
	r.places = append(r.places, p)
	r.refused = append(r.refused, nil)
	if key := typo(written); key != "" && braces == nil {
		r.refuse(index, key, "looks like a key of an item and is none; write \\{ if it is text")
	}
	r.setState(index, m, b)
	r.open = append(r.open, index)
	r.lazy = index
}

// setState derives done and hold from box and section.
func (r *reader) setState(index int, m marker, b *box) {
	it := &r.items[index]
	state := unticked
	if b != nil {
		state = b.state
		if m.glued || b.odd {
			r.note(index, codeOddBox, "read as a box; Markdown wants \"- [ ] text\"")
		}
		if !b.known() {
			r.note(index, codeUnknownBox, fmt.Sprintf("a box with %q means nothing here; the item is held", state))
		}
	}
	switch {
	case strings.ContainsRune(doneStates, state):
		it.Done = true
	case state == cancelled:
		it.Done = true
		it.Attrs["state"] = "cancelled"
	}
	switch r.sections.class() {
	case done:
		if b != nil && !it.Done {
			r.note(index, codeOpenInDone, "an open box below a finished heading counts as done")
		}
		it.Done = true
	case parked:
		r.drafts[index].hold = true
	}
	if !it.Done && state != unticked {
		r.drafts[index].hold = true
	}
}

// addBody adds a line to an item's body, with the blank lines in front of it.
func (r *reader) addBody(item int, text string) {
	d := &r.drafts[item]
	if len(d.body) > 0 {
		for range r.blanks {
			d.body = append(d.body, "")
		}
	}
	r.blanks = 0
	d.body = append(d.body, text)
}

func (r *reader) enterFence(f fence, owner int) {
	f.line = r.line
	r.fence, r.owner = f, owner
}

// closeAll ends the list.
func (r *reader) closeAll() {
	r.open = r.open[:0]
	r.lazy = none
}

// finish settles attributes and bodies and returns the items.
func (r *reader) finish() []Item {
	for i := range r.items {
		it, d := &r.items[i], &r.drafts[i]
		lines, settings, typo := takeLeading(d.body, len(d.braces) > 0)
		it.Body = strings.Trim(strings.Join(lines, "\n"), "\n")
		settings = append(d.braces, settings...)
		if d.caret != "" {
			settings = append(settings, setting{key: "id", value: d.caret})
		}
		r.settle(i, settings)
		if typo != "" {
			r.refuse(i, typo, "looks like a setting, but no such key is known")
		}
		if d.hold {
			it.Attrs["hold"] = true
		}
	}
	return r.items
}

// settle fills Attrs. The first setting of a key wins; one that cannot be taken
// blocks the item.
func (r *reader) settle(index int, settings []setting) {
	it := &r.items[index]
	seen := map[string]int{}
	for _, s := range settings {
		parse, known := keys[s.key]
		if !known {
			r.refuse(index, s.key, "is no key of an item")
			continue
		}
		if seen[s.key]++; seen[s.key] == 2 {
			r.note(index, codeAttrRepeated, s.key+" is set more than once; the first counts")
		}
		if seen[s.key] > 1 {
			continue
		}
		value, problem := parse(s.value)
		if problem != "" {
			r.refuse(index, s.key+"="+s.value, problem)
			continue
		}
		it.Attrs[s.key] = value
	}
}

// refuse blocks an item over one setting.
func (r *reader) refuse(index int, what, problem string) {
	r.refused[index] = append(r.refused[index], what)
	r.items[index].block(BadAttr, quote(what)+" "+problem)
}

func (r *reader) note(item int, code, message string) {
	it := &r.items[item]
	it.Diagnostics = append(it.Diagnostics, code)
	r.noteLine(it.Line, code, message)
}

func (r *reader) noteLine(line int, code, message string) {
	r.notes = append(r.notes, Diagnostic{Line: line, Code: code, Message: message})
}

// maxWhy is where the reasons of one item are cut short, in bytes: a line can
// hold half a million unknown dependencies.
const maxWhy = 500

// block sets Blocked, unless something else already did, and adds to Why.
func (it *Item) block(reason, why string) {
	if it.Blocked == "" {
		it.Blocked = reason
	}
	switch {
	case it.Why == "":
		it.Why = why
	case len(it.Why)+len(why) < maxWhy:
		it.Why += "; " + why
	case !strings.HasSuffix(it.Why, "; …"):
		it.Why += "; …"
	}
}
