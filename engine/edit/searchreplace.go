package edit

import (
	"slices"
	"strings"
)

// block reads the search/replace block that opens at line i.
func (s *scanner) block(i int, open mark) int {
	path := s.pathAbove(i)
	if path != "" {
		s.last = path
	}
	s.within.used = true
	end, next, code := s.marks.blockEnd(i, open)
	switch code {
	case Truncated:
		s.fail(i, Truncated, s.last, "the reply ends inside the block that line %d of it opens", i+1)
		return len(s.lines)
	case Malformed:
		s.fail(i, Malformed, s.last, "line %d of the reply opens a block inside the one that line %d opens", next+1, i+1)
		s.barrier = next
		return next
	}
	s.barrier = end + 1
	body := outdent(s.lines[i+1:end], open.indent)
	dividers := dividersOf(s.lines[i+1:end], open)
	switch {
	case len(dividers) == 0:
		s.fail(i, Malformed, s.last, "the block at line %d of the reply has no divider line of %d equals signs", i+1, open.length)
	case s.last == "":
		s.fail(i, MissingPath, "", "the block at line %d of the reply has no file name; write the path on the line above it", i+1)
	default:
		s.blocks = append(s.blocks, op{
			format: SearchReplace, line: i + 1, path: s.last, body: body, dividers: dividers,
			quote: body[:min(3, len(body))],
		})
	}
	return end + 1
}

// blockEnd finds the line that closes a block, or why there is none. next is the open marker in the way.
func (all *marks) blockEnd(i int, open mark) (end, next int, code Code) {
	end = after(all.closes[mark{'>', open.length, open.indent}], i)
	if end < 0 {
		end = all.nearestClose(i, open.indent)
	}
	next = after(all.opens[open.length], i)
	switch {
	case next >= 0 && (end < 0 || next < end):
		return -1, next, Malformed
	case end < 0:
		return -1, -1, Truncated
	}
	return end, -1, ""
}

// nearestClose returns the first closing line of any length after i, or -1: models miscount.
func (all *marks) nearestClose(i int, indent string) int {
	end := -1
	for n := minMark; n <= maxMark; n++ {
		if k := after(all.closes[mark{'>', n, indent}], i); k >= 0 && (end < 0 || k < end) {
			end = k
		}
	}
	return end
}

// dividersOf returns the lines that may divide a block: of the marker's length, or if none has it of any.
func dividersOf(body []string, open mark) []int {
	var same, any []int
	for i, line := range body {
		if m, ok := markOf(line); ok && m.kind == '=' && m.indent == open.indent {
			any = append(any, i)
			if m.length == open.length {
				same = append(same, i)
			}
		}
	}
	if len(same) > 0 {
		return same
	}
	return any
}

// outdent strips the indentation of the markers from the body.
func outdent(lines []string, indent string) []string {
	if indent == "" {
		return lines
	}
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = strings.TrimPrefix(line, indent)
	}
	return out
}

// searchReplace applies one block.
func (v *overlay) searchReplace(o *op, f *file) (Op, *refusal) {
	if no := f.text.writable(o.body); no != nil {
		return Op{}, no
	}
	search, replace, no := v.split(o, f)
	if no != nil {
		return Op{}, no
	}
	if slices.ContainsFunc(search, func(s string) bool { return strings.Contains(s, "\uFFFD") }) {
		return Op{}, refuse(BadEncoding, "SEARCH holds U+FFFD, which stands for bytes that could not be shown; quote only lines without it")
	}
	if blank(search) {
		return v.fill(f, replace)
	}
	if !f.present {
		return Op{}, v.notFound(o.path)
	}
	if slices.Equal(search, replace) {
		return Op{Kind: "update", Warnings: []string{"noop_skipped"}}, nil
	}
	h, name, no := v.locate(f, search, replace)
	if no != nil {
		return Op{}, no
	}
	if no := unelided(f, h.lines); no != nil {
		return Op{}, no
	}
	if name == "exact" && f.text.style == crlf {
		name = "eol"
	}
	made := Op{Kind: "update", Tier: name, StartLine: h.at + 1, LinesRemoved: h.n, LinesAdded: len(h.lines), Warnings: []string{}}
	return made, v.put(f, f.text.replace(h.at, h.n, h.lines, nearby))
}

// fill applies a block with an empty SEARCH: it creates a file, or fills one that shows nothing.
func (v *overlay) fill(f *file, replace []string) (Op, *refusal) {
	if !f.text.blank() {
		return Op{}, refuse(EmptySearch, "SEARCH is empty, but the file has content; quote the lines to change, or the line to add after")
	}
	if no := unelided(f, replace); no != nil {
		return Op{}, no
	}
	made := Op{Kind: "update", Tier: "exact", StartLine: 1, LinesRemoved: f.length(), LinesAdded: len(replace), Warnings: []string{}}
	if !f.present {
		made.Kind, made.Tier = "create", ""
	}
	return made, v.put(f, f.text.replace(0, f.length(), replace, nearby))
}

// split divides the body. Where several lines may be the divider (an underlined title, a conflict marker), the
// file decides: the longest SEARCH that stands in it, trailing blanks aside.
func (v *overlay) split(o *op, f *file) (search, replace []string, no *refusal) {
	d := o.dividers[0]
	if len(o.dividers) > 1 && f.present && !f.text.blank() {
		_, n := longest(trimmed(o.body), trimmed(f.text.lines))
		i, _ := slices.BinarySearch(o.dividers, n+1) // the dividers before i leave a SEARCH that is there
		if i == 0 || blank(o.body[:o.dividers[i-1]]) {
			return nil, nil, refuse(Malformed, "the block has %d divider lines, and with none of them SEARCH is in the file; use longer markers", len(o.dividers))
		}
		d = o.dividers[i-1]
	}
	return o.body[:d], o.body[d+1:], nil
}
