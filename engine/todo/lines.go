package todo

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// A span is one line of the file without its terminator: b[start:end].
type span struct{ start, end int }

// frontMatterLines is how far the closing rule of front matter is looked for:
// a "---" on line 1 is far more often a rule than the start of a long header.
const frontMatterLines = 64

// split finds the lines of b. LF, CRLF and CR end a line; a byte order mark is
// left out of the first. ok is false beyond the limits.
func split(b []byte) (lines []span, ok bool) {
	if len(b) > MaxBytes {
		return nil, false
	}
	start := 0
	if bytes.HasPrefix(b, []byte("\ufeff")) {
		start = len("\ufeff")
	}
	for i := start; i < len(b); i++ {
		if b[i] != '\n' && b[i] != '\r' {
			continue
		}
		lines = append(lines, span{start, i})
		if b[i] == '\r' && i+1 < len(b) && b[i+1] == '\n' {
			i++
		}
		start = i + 1
		if len(lines) > MaxLines {
			return nil, false
		}
	}
	if start < len(b) {
		lines = append(lines, span{start, len(b)})
	}
	return lines, len(lines) <= MaxLines
}

// frontMatter returns how many lines a YAML or TOML header takes, 0 for none.
func frontMatter(b []byte, lines []span) int {
	if len(lines) == 0 {
		return 0
	}
	rule := strings.TrimRight(string(b[lines[0].start:lines[0].end]), " \t")
	if rule != "---" && rule != "+++" {
		return 0
	}
	for i, l := range lines[1:min(len(lines), frontMatterLines)] {
		if strings.TrimRight(string(b[l.start:l.end]), " \t") == rule {
			return i + 2
		}
	}
	return 0
}

// decode returns raw as text: every byte that is no UTF-8, and NUL (CommonMark
// §2.3; it also joins texts in ids), becomes U+FFFD. clean is false if any did.
func decode(raw []byte) (text string, clean bool) {
	if utf8.Valid(raw) && bytes.IndexByte(raw, 0) < 0 {
		return string(raw), true
	}
	runes := []rune(string(raw))
	for i, r := range runes {
		if r == 0 {
			runes[i] = utf8.RuneError
		}
	}
	return string(runes), false
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// advance returns the column behind c at column col. Tab stops are 4 apart.
func advance(col int, c byte) int {
	if c == '\t' {
		return col + 4 - col%4
	}
	return col + 1
}

// indent returns the column and the offset of the first byte that is no blank.
func indent(line []byte) (col, at int) {
	for at < len(line) && isBlank(line[at]) {
		col = advance(col, line[at])
		at++
	}
	return col, at
}

// dedent takes up to cols columns of blanks off the line; what a tab reaches
// beyond them stays as spaces.
func dedent(line string, cols int) string {
	col, at := 0, 0
	for at < len(line) && col < cols && isBlank(line[at]) {
		col = advance(col, line[at])
		at++
	}
	if col > cols {
		return strings.Repeat(" ", col-cols) + line[at:]
	}
	return line[at:]
}
