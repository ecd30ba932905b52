package todo

import "strings"

const (
	commentOpen  = "<!--"
	commentClose = "-->"
)

// cut removes HTML comments from one line of text. unclosed is true when the
// last one has no end on this line and goes on (continues says whether it may;
// otherwise it is ordinary text, CommonMark §6.6). Code spans keep theirs.
func cut(text string, continues bool) (clean string, unclosed bool) {
	if !strings.Contains(text, commentOpen) {
		return text, false
	}
	var out strings.Builder
	spans := findSpans(text)
	for i := 0; i < len(text); {
		switch {
		case text[i] == '\\' && i+1 < len(text):
			out.WriteString(text[i : i+2])
			i += 2
		case text[i] == '`':
			end := spans.end(text, i)
			out.WriteString(text[i:end])
			i = end
		case strings.HasPrefix(text[i:], commentOpen):
			n := commentLen(text[i:])
			if n < 0 && continues {
				return out.String(), true
			}
			if n < 0 {
				out.WriteString(text[i:])
				return out.String(), false
			}
			i += n
			if s := out.String(); s == "" || isBlank(s[len(s)-1]) {
				i += len(text[i:]) - len(strings.TrimLeft(text[i:], " \t"))
			}
		default:
			out.WriteByte(text[i])
			i++
		}
	}
	return out.String(), false
}

// commentLen returns the length of the comment that text starts with, -1 if it
// has no end. "<!-->" and "<!--->" are whole comments.
func commentLen(text string) int {
	for _, short := range []string{"<!-->", "<!--->"} {
		if strings.HasPrefix(text, short) {
			return len(short)
		}
	}
	end := strings.Index(text[len(commentOpen):], commentClose)
	if end < 0 {
		return -1
	}
	return len(commentOpen) + end + len(commentClose)
}

// codeSpans finds the ends of code spans (CommonMark §6.1): it has, by length,
// the offsets of the runs of backticks that are still to the right.
type codeSpans map[int][]int

func findSpans(text string) codeSpans {
	spans := codeSpans{}
	for i := 0; i < len(text); i++ {
		if text[i] == '`' {
			n := runLen(text[i:])
			spans[n] = append(spans[n], i)
			i += n - 1
		}
	}
	return spans
}

// end returns the offset behind the code span that the run of backticks at
// offset at opens, or behind the run if no run of equal length follows. Asking
// from left to right passes each run once, so that a line of nothing but
// backticks takes linear time.
func (s codeSpans) end(text string, at int) int {
	n := runLen(text[at:])
	for len(s[n]) > 0 && s[n][0] < at+n {
		s[n] = s[n][1:]
	}
	if len(s[n]) == 0 {
		return at + n
	}
	return s[n][0] + n
}

func runLen(text string) int { return len(text) - len(strings.TrimLeft(text, "`")) }
