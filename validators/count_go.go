package validators

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// goCounter reads `go test`, with or without -v and -json (go doc cmd/go, "Test packages"; go doc
// cmd/test2json). Without -v only packages can be counted.
type goCounter struct {
	tally
	verbose  bool
	packages struct{ ran, failed int }
	pending  []string // failed tests whose package hasn't been named yet
	hung     bool     // inside the list of tests that were running at a time-out
	setup    []string // packages that could not even be loaded
	gone     int      // how many of them because their folder isn't there
}

var (
	hungTest = regexp.MustCompile(`^\s+((?:Test|Fuzz|Example|Benchmark)\S*) \(`)
	goGone   = regexp.MustCompile(`^stat .*: directory not found$|^pattern .*: lstat .*: no such file or directory$`)
)

func (g *goCounter) line(s string) {
	if g.hung {
		if m := hungTest.FindStringSubmatch(s); m != nil {
			g.fail(m[1])
			return
		}
		g.hung = false
	}
	switch {
	case strings.HasPrefix(s, "=== RUN"):
		g.seen, g.verbose = true, true
	case strings.HasPrefix(s, "ok  \t"):
		g.packagePassed(s)
	case strings.HasPrefix(s, "FAIL\t"):
		g.packageFailed(s)
	case strings.HasPrefix(s, "?   \t"), strings.HasSuffix(s, "matched no packages"), s == "no packages to test":
		g.nothing(s)
	case (strings.HasPrefix(s, "stat ") || strings.HasPrefix(s, "pattern ")) && goGone.MatchString(s):
		g.gone++
		g.nothing(s)
	case s == "signal: killed" || s == "signal: terminated":
		g.killed = s
	case strings.HasSuffix(s, "running tests:"):
		g.hung = g.seen || strings.HasPrefix(s, "\t")
	case strings.HasPrefix(s, `{"`) && strings.Contains(s, `"Action":"`):
		g.event(s)
	default:
		g.test(strings.TrimLeft(s, " "))
	}
}

// test reads "--- FAIL: TestX/sub (0.01s)".
func (g *goCounter) test(s string) {
	what, ok := strings.CutPrefix(s, "--- ")
	if !ok {
		return
	}
	word, rest, _ := strings.Cut(what, ": ")
	name, _, timed := strings.Cut(rest, " (")
	if !timed {
		return
	}
	g.outcome(word, name)
}

func (g *goCounter) outcome(word, name string) {
	switch word {
	case "PASS":
		g.ran++
	case "FAIL":
		g.ran++
		g.failed++
		g.fail(name)
	case "SKIP":
		g.skipped++
	default:
		return
	}
	g.seen = true
}

func (g *goCounter) fail(name string) {
	if len(g.pending) < maxNames {
		g.pending = append(g.pending, name)
	}
}

func (g *goCounter) nothing(s string) {
	g.seen = true
	if g.none == "" {
		g.none = s
	}
}

func (g *goCounter) packagePassed(s string) {
	g.seen = true
	g.pending = nil // a passing test may have printed another's failure
	if strings.Contains(s, "[no tests to run]") || strings.Contains(s, "[no test files]") {
		g.nothing(s)
		return
	}
	g.packages.ran++
}

// packageFailed reads "FAIL\tpath\t0.01s" and "FAIL\tpath [build failed]".
func (g *goCounter) packageFailed(s string) {
	g.seen = true
	path, _, _ := strings.Cut(s[len("FAIL\t"):], "\t")
	if strings.HasSuffix(path, "[setup failed]") {
		g.setup = append(g.setup, path)
		return
	}
	built := !strings.HasSuffix(path, "failed]")
	if built {
		g.packages.ran++
	}
	g.packages.failed++
	g.flush(path)
}

// flush names the pending tests of a package that has failed, or the package where none is known.
func (g *goCounter) flush(path string) {
	if len(g.pending) == 0 {
		g.name(path)
	}
	for _, name := range g.pending {
		parent := slices.ContainsFunc(g.pending, func(other string) bool { return strings.HasPrefix(other, name+"/") })
		if !parent {
			g.name(path + "." + name)
		}
	}
	g.pending = nil
}

// event reads a line of -json.
func (g *goCounter) event(s string) {
	var e struct{ Action, Package, Test, Output string }
	if json.Unmarshal([]byte(s), &e) != nil || e.Package == "" {
		return
	}
	g.seen, g.verbose = true, true
	switch {
	case e.Action == "output" && strings.HasPrefix(e.Output, "signal: "):
		g.line(strings.TrimSpace(e.Output))
	case e.Test != "":
		g.outcome(strings.ToUpper(e.Action), e.Test)
	case e.Action == "fail":
		g.packages.failed++
		g.flush(e.Package)
	case e.Action == "pass":
		g.pending = nil
	case e.Action == "skip":
		g.nothing("?   \t" + e.Package + "\t[no test files]")
	}
}

func (g *goCounter) total() tally {
	t := g.tally
	for _, name := range g.pending { // the run ended before it named their package
		t.name(name)
	}
	// A suite that the line names but that isn't there hasn't failed. Both streams share a pipe,
	// so either message may come first.
	if len(g.setup) > g.gone {
		g.packages.failed += len(g.setup)
		for _, path := range g.setup {
			t.name(path)
		}
	}
	if !g.verbose {
		t.ran, t.failed = g.packages.ran, g.packages.failed
	}
	// A package that doesn't build or that panics outside of its tests fails without a failed test.
	t.failed = max(t.failed, g.packages.failed)
	return t
}
