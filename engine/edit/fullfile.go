package edit

import (
	"regexp"
	"slices"
	"strings"
)

// A heading is a whole file whose end later fences may put in doubt.
type heading struct {
	fence fence
	index int // in scanner.files
	end   int // the line taken for its closing fence
}

// wholeFile reads the fence at line i as a file's content and returns the line after it.
func (s *scanner) wholeFile(i int, f fence) int {
	end, closed := fenceEnd(s.lines, i, f)
	o := op{format: FullFile, line: i + 1, content: outdent(s.lines[i+1:end], f.indent)}
	o.path = s.headingOf(i, f)
	if o.path == "" && len(o.content) > 0 {
		if name := s.view.pathInComment(o.content[0]); name != "" {
			o.path, o.comment = name, o.content[0]
		}
	}
	o.quote = o.content[:min(3, len(o.content))]
	s.doubt(i, f, o.path)
	s.barrier = min(end+1, len(s.lines))
	switch {
	case !closed:
		no := refuse(Truncated, "the fence at line %d of the reply is never closed: the file may be cut off", i+1)
		o.code, o.note = no.code, no.message
	case o.path == "":
		s.bare = true
		return s.barrier
	default:
		s.headed = heading{f, len(s.files), end}
	}
	s.files = append(s.files, o)
	return s.barrier
}

// headingOf returns the path in the fence's info string or on the last line of text above it, or "".
func (s *scanner) headingOf(i int, f fence) string {
	if found := s.view.pathInInfo(f.info); found != "" {
		return found
	}
	if line := s.lineAbove(i); line != "" {
		return s.view.pathIn(line)
	}
	return ""
}

// titled reports whether the fence is headed by a path and nothing else; a mere mention does not make it a file.
func (s *scanner) titled(i int, f fence) bool {
	if s.view.pathInInfo(f.info) != "" {
		return true
	}
	line := s.lineAbove(i)
	return line != "" && s.view.pathOnly(line) != ""
}

// lineAbove returns the last line with text above i that no earlier edit or fence owns, or "".
func (s *scanner) lineAbove(i int) string {
	for k := i - 1; k >= s.barrier; k-- {
		if _, fenced := fenceOf(s.lines[k]); fenced {
			return ""
		}
		if strings.TrimSpace(s.lines[k]) != "" {
			return s.lines[k]
		}
	}
	return ""
}

// doubt marks the whole file before the fence at i as ambiguous when that fence may be the rest of it: a bare
// fence without a path, or, in prose where fences are common, one whose path follows the end at once
// (Aider-AI/aider#22 emptied a README this way).
func (s *scanner) doubt(i int, f fence, path string) {
	h := s.headed
	if h.fence.length == 0 || f.info != "" || f.char != h.fence.char || f.length < h.fence.length {
		return
	}
	o := &s.files[h.index]
	if path == "" || prose(o.path) && i == h.end+2 {
		no := refuse(AmbiguousFence, "the fence at line %d of the reply may belong to the file that line %d starts; use a longer fence around it", i+1, o.line)
		o.code, o.note = no.code, no.message
	}
}

// fenceEnd returns the line that closes the fence at i. Inside, a fence with an info string opens a level and a
// bare one closes it; shorter fences than the outer one are content.
func fenceEnd(lines []string, i int, outer fence) (end int, closed bool) {
	levels := []int{outer.length} // of open fences
	for k := i + 1; k < len(lines); k++ {
		f, ok := fenceOf(lines[k])
		if !ok || f.char != outer.char || f.length < outer.length {
			continue
		}
		if f.info != "" {
			levels = append(levels, f.length)
		} else if f.length >= levels[len(levels)-1] {
			levels = levels[:len(levels)-1]
		}
		if len(levels) == 0 {
			return k, true
		}
	}
	return len(lines), false
}

var pathComment = regexp.MustCompile(`^\s*(?://|#|--|;|%|/\*|<!--|\{/\*)\s*(.+?)\s*(?:\*/\}?|-->)?\s*$`)

// pathInComment returns the existing path that a comment consists of, or "".
func (v *overlay) pathInComment(line string) string {
	if len(line) > maxHeading {
		return ""
	}
	m := pathComment.FindStringSubmatch(line)
	if m == nil {
		return ""
	}
	if name, _ := unwrap(m[1]); v.isFile(name) {
		return name
	}
	return ""
}

// fullFile applies one whole file.
func (v *overlay) fullFile(o *op, f *file) (Op, *refusal) {
	content := o.content
	if o.comment != "" && (f.length() == 0 || f.text.lines[0] != o.comment) {
		content = content[1:]
	}
	if f.replace {
		if slices.Equal(f.whole, content) {
			return Op{Kind: "update", Warnings: []string{"duplicate_dropped"}}, nil
		}
		return Op{}, refuse(ConflictingEdits, "the reply holds this file twice with different content; send it once")
	}
	if !f.text.utf8 {
		return Op{}, refuse(BadEncoding, "the file is not UTF-8 (perhaps Latin-1): edit it by search/replace blocks in plain ASCII")
	}
	if no := f.text.writable(content); no != nil {
		return Op{}, no
	}
	if blank(content) && !f.text.blank() {
		return Op{}, refuse(EmptyContent, "the fence is empty, but the file has content; a file is never emptied this way")
	}
	if no := unelided(f, content); no != nil {
		return Op{}, no
	}
	made := Op{Kind: "update", StartLine: 1, LinesRemoved: f.length(), LinesAdded: len(content), Warnings: []string{}}
	if !f.present {
		made.Kind = "create"
	}
	if no := v.put(f, f.text.rewrite(content)); no != nil {
		return Op{}, no
	}
	f.whole, f.replace = content, true
	return made, nil
}
