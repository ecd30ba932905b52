package edit

import (
	"path"
	"regexp"
	"strings"
)

// proseSuffixes are the kinds of file in which dots and remarks are ordinary text.
var proseSuffixes = [...]string{".md", ".mdx", ".rst", ".txt", ".adoc"}

// prose reports whether a path names a document rather than code.
func prose(name string) bool {
	ext := strings.ToLower(path.Ext(name))
	for _, p := range proseSuffixes {
		if ext == p {
			return true
		}
	}
	return false
}

const opener = `^\s*(?:/{2,}|#+|-{2,}|;+|%+|\{?/\*+|\*|<!--|\(\*)\s*`

var (
	// bareDots and lonelyDots are lines of dots without and within a comment.
	bareDots   = regexp.MustCompile(`^\s*(?:\.{3,}|…)\s*$`)
	lonelyDots = regexp.MustCompile(opener + `(?:\.{3,}|…)\s*(?:\*/\}?|-->|\*\))?\s*$`)

	// dotsThenWord is "// ... existing code"; wordThenDots is its mirror, held to nouns of code, since
	// "// keep polling..." is an honest comment; phrase needs no dots.
	dotsThenWord = regexp.MustCompile(`(?i)` + opener + `(?:\.{2,}|…).*\b(?:existing|rest of|remaining|unchanged|previous|same as before|omitted|keep|other (?:code|methods|functions)|as before)\b`)
	wordThenDots = regexp.MustCompile(`(?i)` + opener + `(?:the )?(?:rest of|existing|remaining|other)\b.*\b(?:code|methods?|functions?|file|class|implementation|logic|imports?|fields?|tests?)\s*(?:\.{3,}|…)`)
	phrase       = regexp.MustCompile(`(?i)` + opener + `.*\b(?:rest of|remaining|existing)\b.*\b(?:unchanged|same|here|as before|stays)\b`)
)

// maxRemark is the longest line that may be a placeholder; real ones have a few words.
const maxRemark = 400

// remarkable reports whether a line is worth a regular expression: nearly none is.
func remarkable(line string) bool {
	text := strings.TrimLeft(line, " \t")
	return text != "" && len(line) <= maxRemark && (strings.IndexByte(".#/-;%{*<(", text[0]) >= 0 || strings.HasPrefix(text, "…"))
}

// placeholder reports whether a line stands for code that it does not show. A bare "..." is a body in Python.
func placeholder(line string, python bool) bool {
	if !remarkable(line) {
		return false
	}
	if bareDots.MatchString(line) {
		return !python
	}
	for _, re := range [...]*regexp.Regexp{lonelyDots, dotsThenWord, wordThenDots, phrase} {
		if re.MatchString(line) {
			return true
		}
	}
	return false
}

// unelided refuses new lines that are placeholders, unless the file has that line already.
func unelided(f *file, lines []string) *refusal {
	if prose(f.path) {
		return nil
	}
	ext := strings.ToLower(path.Ext(f.path))
	python := ext == ".py" || ext == ".pyi"
	var known map[string]bool
	for _, line := range lines {
		if !placeholder(line, python) {
			continue
		}
		if known == nil {
			known = make(map[string]bool, f.length())
			for _, old := range f.text.lines {
				known[strings.TrimSpace(old)] = true
			}
		}
		if !known[strings.TrimSpace(line)] {
			no := refuse(ElidedContent, "the new text stands for code it does not show; write out all lines")
			no.detail = func() []string { return []string{"placeholder: " + show(line)} }
			return no
		}
	}
	return nil
}

// countDots counts the lines that leave something out.
func countDots(lines []string) int {
	n := 0
	for _, line := range lines {
		if remarkable(line) && (bareDots.MatchString(line) || lonelyDots.MatchString(line)) {
			n++
		}
	}
	return n
}
