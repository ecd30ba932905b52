package validators

import (
	"regexp"
	"strings"
)

// nodeCounter reads the TAP and the spec reporter of `node --test` (nodejs.org/api/test.html,
// "Test reporters"). Both end with the same totals and name parents after their children.
type nodeCounter struct {
	tally
	open  [][]string // failures by depth whose parent hasn't been named yet
	named bool       // the spec reporter repeats all failures at the end
}

var (
	nodeTotal = regexp.MustCompile(`^(?:#|ℹ) (tests|pass|fail|cancelled|skipped|todo) +(\d+)$`)
	tapPoint  = regexp.MustCompile(`^((?:    )*)(not ok|ok) \d+(?: - (.*))?$`)
	specPoint = regexp.MustCompile(`^((?:  )*)([✖✔﹣]) (.*?)(?: \([\d.]+ms\))?( # .*)?$`)
	directive = regexp.MustCompile(`(?i) # (?:skip|todo)\b.*$`)
)

// deepest bounds nesting; nobody nests tests so deep, and a hostile line is no reason to allocate.
const deepest = 32

func (n *nodeCounter) line(s string) {
	word, _, _ := strings.Cut(strings.TrimLeft(s, " "), " ")
	switch word {
	case "#", "ℹ":
		n.totals(s)
	case "signal:":
		n.signal(strings.TrimSpace(s))
	case "ok", "not":
		n.point(tapPoint.FindStringSubmatch(s), 4, "not ok")
	case "✖", "✔", "﹣":
		n.named = n.named || s == "✖ failing tests:"
		if !n.named {
			n.point(specPoint.FindStringSubmatch(s), 2, "✖")
		}
	case "Could":
		if strings.HasPrefix(s, "Could not find ") {
			n.seen, n.none = true, s
		}
	}
}

func (n *nodeCounter) signal(s string) {
	for _, name := range outside {
		if s == "signal: '"+name+"'" {
			n.killed = name
		}
	}
}

func (n *nodeCounter) totals(s string) {
	m := nodeTotal.FindStringSubmatch(s)
	if m == nil {
		return
	}
	n.seen = true
	count := atoi(m[2])
	switch m[1] {
	case "tests":
		n.ran += count
		if count == 0 && n.none == "" {
			n.none = s
		}
	case "fail", "cancelled":
		n.failed += count
	case "skipped":
		n.skipped += count
		n.ran -= min(n.ran, count)
	}
}

// point takes one test's outcome: indent, mark, name.
func (n *nodeCounter) point(m []string, width int, bad string) {
	if m == nil || len(m[1])/width >= deepest {
		return
	}
	depth := len(m[1]) / width
	for len(n.open) <= depth+1 {
		n.open = append(n.open, nil)
	}
	children := n.open[depth+1]
	n.open[depth+1] = nil
	name := directive.ReplaceAllString(m[3], "")
	if m[2] == bad && len(children) == 0 && name == m[3] {
		children = []string{""}
	}
	for _, child := range children {
		if child != "" {
			child = " > " + child
		}
		if len(n.open[depth]) < maxNames {
			n.open[depth] = append(n.open[depth], name+child)
		}
	}
}

func (n *nodeCounter) total() tally {
	t := n.tally
	for _, names := range n.open {
		for _, name := range names {
			t.name(name)
		}
	}
	return t
}
