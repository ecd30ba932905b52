package validators

import (
	"regexp"
	"strconv"
	"strings"
)

// pytestCounter reads pytest at any verbosity down to -qq (docs.pytest.org, "Managing pytest's
// output", "Exit codes").
type pytestCounter struct {
	tally
	summed   bool // a line of totals was seen
	summary  bool // inside "short test summary info"
	progress tally
}

var (
	pytestTotals   = regexp.MustCompile(`^(?:=+ )?((?:\d+ [a-z]+(?:, )?)+|no tests ran) in [\d.]+s(?: \([\d:, a-z]+\))?(?: =+)?$`)
	pytestProgress = regexp.MustCompile(`^([.FEsxX]+) +\[ *\d+%\]$`)
	pytestNothing  = regexp.MustCompile(`^ERROR: (?:file or directory not found|not found|found no collectors for)\b`)
	counted        = regexp.MustCompile(`(\d+) ([a-z]+)`)
)

func (p *pytestCounter) line(s string) {
	switch {
	case s[0] >= '0' && s[0] <= '9', s[0] == '=', strings.HasPrefix(s, "no tests ran"):
		p.totals(s)
	case strings.HasPrefix(s, "collected 0 items"):
		p.nothing(s)
	case strings.HasPrefix(s, "collected ") && strings.Contains(s, " item"):
		p.seen = true
	case strings.HasPrefix(s, "ERROR: ") && pytestNothing.MatchString(s):
		p.nothing(s)
	case strings.HasPrefix(s, "!!") && strings.Contains(s, " KeyboardInterrupt "):
		p.killed = "KeyboardInterrupt"
	case p.summary:
		p.failure(s)
	default:
		p.dots(s)
	}
}

func (p *pytestCounter) nothing(s string) {
	p.seen = true
	if p.none == "" {
		p.none = s
	}
}

func (p *pytestCounter) totals(s string) {
	if strings.HasPrefix(s, "=") && strings.Contains(s, " short test summary info ") {
		p.seen, p.summary = true, true
		return
	}
	m := pytestTotals.FindStringSubmatch(s)
	if m == nil {
		return
	}
	p.seen, p.summed, p.summary = true, true, false
	ran, failed := p.ran, p.failed
	for _, c := range counted.FindAllStringSubmatch(m[1], -1) {
		n := atoi(c[1])
		switch c[2] {
		case "passed", "xfailed", "xpassed":
			p.ran += n
		case "failed", "error", "errors":
			p.failed += n
			if c[2] == "failed" {
				p.ran += n
			}
		case "skipped":
			p.skipped += n
		}
	}
	if p.ran == ran && p.failed == failed {
		p.nothing(strings.Trim(s, "= "))
	}
}

// failure reads "FAILED tests/test_a.py::test_x - AssertionError: …".
func (p *pytestCounter) failure(s string) {
	rest, ok := strings.CutPrefix(s, "FAILED ")
	if !ok {
		rest, ok = strings.CutPrefix(s, "ERROR ")
	}
	if ok {
		id, _, _ := strings.Cut(rest, " - ")
		p.name(id)
	}
}

// dots reads "..F.s  [100%]", which is all that -qq leaves of a run that passes.
func (p *pytestCounter) dots(s string) {
	if !strings.HasSuffix(s, "%]") {
		return
	}
	m := pytestProgress.FindStringSubmatch(s)
	if m == nil {
		return
	}
	p.seen = true
	failed := strings.Count(m[1], "F") + strings.Count(m[1], "E")
	skipped := strings.Count(m[1], "s")
	p.progress.failed += failed
	p.progress.skipped += skipped
	p.progress.ran += len(m[1]) - skipped
}

func (p *pytestCounter) total() tally {
	t := p.tally
	if !p.summed {
		t.ran, t.failed, t.skipped = p.progress.ran, p.progress.failed, p.progress.skipped
	}
	return t
}

// unittestCounter reads unittest's text runner, which Django and others use too.
type unittestCounter struct {
	tally
	ruled bool // the last line was a double rule, which stands above every failure's name
}

var (
	unittestRan     = regexp.MustCompile(`^Ran (\d+) tests? in [\d.]+s$`)
	unittestSkipped = regexp.MustCompile(`^(?:OK|FAILED|NO TESTS RAN) \((.*)\)$`)
	unittestFailure = regexp.MustCompile(`^(?:FAIL|ERROR): (\S+) \(([^)]*)\)(.*)$`)
)

func (u *unittestCounter) line(s string) {
	ruled := u.ruled
	u.ruled = strings.HasPrefix(s, "======") && strings.Trim(s, "=") == ""
	switch {
	case strings.HasPrefix(s, "Ran "):
		u.totals(s)
	case u.seen && unittestSkipped.MatchString(s):
		u.kinds(s)
	case strings.HasPrefix(s, "NO TESTS RAN"):
		u.seen, u.none = true, s
	case strings.HasPrefix(s, "ImportError: Start directory is not importable"):
		u.seen, u.none = true, s
	case ruled:
		u.failure(s)
	}
}

func (u *unittestCounter) totals(s string) {
	m := unittestRan.FindStringSubmatch(s)
	if m == nil {
		return
	}
	u.seen = true
	n := atoi(m[1])
	u.ran += n
	if n == 0 && u.none == "" {
		u.none = s
	}
}

// kinds reads "FAILED (failures=1, errors=2, skipped=3)".
func (u *unittestCounter) kinds(s string) {
	for kind := range strings.SplitSeq(unittestSkipped.FindStringSubmatch(s)[1], ", ") {
		name, value, _ := strings.Cut(kind, "=")
		switch name {
		case "failures", "errors", "unexpected successes":
			u.failed += atoi(value)
		case "skipped":
			u.skipped += atoi(value)
			u.ran -= min(u.ran, atoi(value))
		}
	}
}

// failure reads "FAIL: test_x (pkg.Case.test_x)"; before Python 3.11 the parentheses hold the
// case alone.
func (u *unittestCounter) failure(s string) {
	m := unittestFailure.FindStringSubmatch(s)
	if m == nil {
		return
	}
	id := m[2]
	if !strings.HasSuffix(id, "."+m[1]) {
		id += "." + m[1]
	}
	u.name(id + m[3])
}

func (u *unittestCounter) total() tally { return u.tally }

// atoi reads digits that a regexp has matched; what doesn't fit an int is no count of tests.
func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}
