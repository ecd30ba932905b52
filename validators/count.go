package validators

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
)

// Tests is what the output of test runners adds up to.
type Tests struct {
	// Known is false when no runner that can be counted was named or recognised; then nothing
	// else here means anything.
	Known bool `json:"known"`

	// Tool is the runner: go, pytest, unittest, node, cargo; several are joined by "+".
	Tool string `json:"tool,omitempty"`

	// Ran counts tests that ran, passed or not, as the runner itself counts them: go's subtests
	// one by one, its packages instead when a script runs it without -v; a file as one where node
	// finds no test in it. Skipped ones are apart.
	Ran     int `json:"ran"`
	Failed  int `json:"failed"`
	Skipped int `json:"skipped"`

	// FailedNames are sorted and each there once, the first 500 of them; go's carry the import
	// path, and a parent isn't named beside its subtest.
	FailedNames []string `json:"failed_names,omitempty"`
}

// maxNames bounds what one run can keep in memory and in the journal.
const maxNames = 500

// tally is what one runner's output says.
type tally struct {
	seen                 bool // something was written that only this runner writes
	ran, failed, skipped int
	names                []string
	killed               string // the signal that ended one of its test processes from outside
	none                 string // the line in which it says that there is nothing to run
}

func (t *tally) name(s string) {
	if len(t.names) < maxNames {
		t.names = append(t.names, s)
	}
}

// counter reads one runner's output line by line and adds up. Lines come without their end,
// without escape sequences, and cut at 4 KiB.
type counter interface {
	line(s string)
	total() tally
}

// command matches where a program's name may stand in a shell line.
const command = `(?:^|[\n;&|(]\s*|\b(?:run|exec|time|then|do|else|env|command|nice|uv|python[\d.]*\s+-m)\s+|\w+=\S*\s+)(?:\S*/)?`

// goTest matches lines in which go's tests are run, wherever in the line that stands.
var goTest = regexp.MustCompile(`\bgo\s+test\b`)

// tools is every runner that can be counted. A new one is a file with a counter and a line here.
var tools = [...]struct {
	name    string
	named   *regexp.Regexp // matches a validator's line that runs it
	counter func() counter
}{
	{"go", goTest, func() counter { return new(goCounter) }},
	{"pytest", regexp.MustCompile(command + `(?:pytest|py\.test)\b|-m\s+pytest\b`), func() counter { return new(pytestCounter) }},
	{"unittest", regexp.MustCompile(`-m\s+unittest\b`), func() counter { return new(unittestCounter) }},
	{"node", regexp.MustCompile(`\bnode\s(?:[^;&|\n]*\s)?--test(?:\s|$)`), func() counter { return new(nodeCounter) }},
	{"cargo", regexp.MustCompile(`\bcargo\s+(?:\+\S+\s+)?(?:test|t)\b`), func() counter { return new(cargoCounter) }},
}

// evidence is what the counters found together.
type evidence struct {
	tests        Tests
	killed, none string
}

// counts feeds a stream to all counters at once: which runner it comes from shows only in it.
type counts struct {
	named    [len(tools)]bool
	counters [len(tools)]counter
	partial  []byte
}

func newCounts(line string) *counts {
	c := new(counts)
	for i, t := range tools {
		c.named[i] = t.named.MatchString(line)
		c.counters[i] = t.counter()
	}
	return c
}

// longestLine: what runners say about tests is shorter; the rest of a longer line is skipped.
const longestLine = 4 << 10

func (c *counts) write(p []byte) {
	for {
		line, rest, whole := bytes.Cut(p, []byte("\n"))
		room := longestLine - len(c.partial)
		c.partial = append(c.partial, line[:min(len(line), room)]...)
		if !whole {
			return
		}
		c.line(c.partial)
		c.partial, p = c.partial[:0], rest
	}
}

// escapes are ANSI control sequences (ECMA-48 5.4); some runners colour although NO_COLOR is set.
var escapes = regexp.MustCompile(`\x1b\[[0-?]*[ -/]*[@-~]`)

func (c *counts) line(b []byte) {
	b = bytes.TrimRight(b, " \r")
	b = b[bytes.LastIndexByte(b, '\r')+1:] // progress bars write over their line
	if bytes.IndexByte(b, 0x1b) >= 0 {
		b = escapes.ReplaceAll(b, nil)
	}
	if len(b) < 2 {
		return
	}
	s := strings.ToValidUTF8(string(b), "\uFFFD") // names and reasons go into JSON
	for _, counter := range c.counters {
		counter.line(s)
	}
}

// finish adds up. A runner that the line names counts as seen even if it wrote nothing:
// `test -d tests && pytest || true` must not pass because the suite is gone.
func (c *counts) finish(dir string) evidence {
	c.line(c.partial)
	var ev evidence
	var used []string
	for i, t := range tools {
		got := c.counters[i].total()
		if !got.seen && !c.named[i] {
			continue
		}
		used = append(used, t.name)
		ev.tests.Ran += got.ran
		ev.tests.Failed += got.failed
		ev.tests.Skipped += got.skipped
		for _, name := range got.names {
			ev.tests.FailedNames = append(ev.tests.FailedNames, strings.ReplaceAll(name, dir+"/", ""))
		}
		if ev.killed == "" {
			ev.killed = got.killed
		}
		if ev.none == "" {
			ev.none = strings.ReplaceAll(got.none, dir+"/", "")
		}
	}
	ev.tests.Known = len(used) > 0
	ev.tests.Tool = strings.Join(used, "+")
	slices.Sort(ev.tests.FailedNames)
	ev.tests.FailedNames = slices.Compact(ev.tests.FailedNames)
	return ev
}
