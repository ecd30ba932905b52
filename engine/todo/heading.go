package todo

import (
	"bytes"
	"strings"
)

// A class is what a heading says about the list below it.
type class int

const (
	neutral class = iota
	open
	done
	parked
)

// classOf is the whole vocabulary. Titles are compared after classify's trimming.
func classOf(title string) class {
	switch title {
	case "pending", "todo", "todos", "to do", "to-do", "tasks", "next", "up next", "now", "open":
		return open
	case "implemented", "done", "complete", "completed", "finished", "shipped":
		return done
	case "optional", "future", "future enhancements", "nice to have", "later", "someday",
		"backlog", "icebox", "ideas", "parked", "blocked", "on hold", "won't do", "wontfix":
		return parked
	default:
		return neutral
	}
}

// classify reads a title as people write it: "To do (3):", "DONE [7/9]".
func classify(title string) class {
	title = strings.ToLower(strings.ReplaceAll(title, "’", "'"))
	for {
		shorter := strings.TrimSpace(trimCounter(strings.TrimRight(title, ": \t")))
		if shorter == title {
			return classOf(strings.Join(strings.Fields(title), " "))
		}
		title = shorter
	}
}

// trimCounter takes one trailing "(3)", "[3]", "(7/9)" or "[7/9]" off title.
func trimCounter(title string) string {
	rest := strings.TrimRight(title, ")]")
	if len(rest) != len(title)-1 {
		return title
	}
	pair := "("
	if strings.HasSuffix(title, "]") {
		pair = "["
	}
	digits := strings.TrimRight(rest, "0123456789/")
	count := rest[len(digits):]
	if !strings.HasSuffix(digits, pair) || count == "" || strings.Count(count, "/") > 1 ||
		count[0] == '/' || count[len(count)-1] == '/' {
		return title
	}
	return digits[:len(digits)-1]
}

// heading recognises an ATX heading (CommonMark §4.2) at the start of line,
// whose indentation is already off. Its title may still contain comments.
func heading(line []byte) (level int, title []byte, ok bool) {
	level = len(line) - len(bytes.TrimLeft(line, "#"))
	if level < 1 || level > 6 || level < len(line) && !isBlank(line[level]) {
		return 0, nil, false
	}
	title = bytes.TrimSpace(line[level:])
	bare := bytes.TrimRight(title, "#")
	if len(bare) == 0 || isBlank(bare[len(bare)-1]) {
		title = bytes.TrimSpace(bare)
	}
	return level, title, true
}

// sections remembers the headings a line stands under.
type sections struct {
	title   string
	classed []section // those with a class, each deeper than the one before
}

type section struct {
	level int
	class class
}

// enter starts the section of a heading: it ends those of its level or deeper,
// and a title without a class inherits what is left.
func (s *sections) enter(level int, title string) {
	s.title = title
	for len(s.classed) > 0 && s.classed[len(s.classed)-1].level >= level {
		s.classed = s.classed[:len(s.classed)-1]
	}
	if c := classify(title); c != neutral {
		s.classed = append(s.classed, section{level, c})
	}
}

func (s *sections) class() class {
	if len(s.classed) == 0 {
		return neutral
	}
	return s.classed[len(s.classed)-1].class
}
