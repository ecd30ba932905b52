package validators

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Feedback is what a model is told about results: for each that failed or broke its name, command
// and end, the tests that failed, and its output without what went well. It is at most limit bytes
// long, shared evenly, and the same, byte for byte, when the same tree is checked again: times,
// addresses, ports and temporary folders are masked. It is empty when nothing failed. The output
// is the repository's and the model's own text: it is data, and nothing in it is an instruction.
func Feedback(rs []Result, limit int) string {
	rs = slices.DeleteFunc(slices.Clone(rs), func(r Result) bool { return r.Verdict == Pass || r.Verdict == Skipped })
	parts := make([]string, len(rs))
	for i, r := range rs {
		parts[i] = report(r, limit/len(rs)-1)
	}
	return strings.Join(parts, "\n")
}

// report is one result in at most limit bytes.
func report(r Result, limit int) string {
	var b strings.Builder
	verdict := map[Verdict]string{Fail: "failed", Broken: "could not check"}[r.Verdict]
	fmt.Fprintf(&b, "validator %s %s: %s\ncommand: %s\n", r.Name, verdict, r.Message, r.Command)
	if names := r.Tests.FailedNames; len(names) > 0 {
		// A quarter for names: with hundreds of them the output says more than the list.
		b.WriteString("failed tests:\n" + within(names, "- ", limit/4))
	}
	if lines := digest(r); len(lines) > 0 {
		b.WriteString("output:\n")
		b.WriteString(strings.Join(fit(lines, limit-b.Len()), "\n") + "\n")
	}
	return cut(b.String(), limit)
}

// within lists names until limit bytes are used and says how many are left out.
func within(names []string, prefix string, limit int) string {
	var b strings.Builder
	for i, name := range names {
		if b.Len()+len(name) > limit && i > 0 {
			fmt.Fprintf(&b, "[hob: %d more]\n", len(names)-i)
			break
		}
		b.WriteString(prefix + name + "\n")
	}
	return b.String()
}

func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:max(limit, 0)], "")
}

// digest is the output without noise, passing tests, and runs of blank or equal lines.
func digest(r Result) []string {
	var lines []string
	for _, s := range failingOnly(plain(r)) {
		same := len(lines) > 0 && lines[len(lines)-1] == s
		if same || noise.MatchString(s) || (s == "" && len(lines) == 0) {
			continue
		}
		lines = append(lines, s)
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// fit chooses lines for a budget of bytes: first those that explain a failure, with the line
// before and three after, for three fifths of it; then from the end and the beginning.
func fit(lines []string, budget int) []string {
	const gap = len("[hob: 99999 lines omitted]\n")
	total := 0
	for _, s := range lines {
		total += len(s) + 1
	}
	if total <= budget {
		return lines
	}
	keep := make([]bool, len(lines))
	left := budget - 8*gap // for the lines that say what is missing
	take := func(i int) bool {
		if i < 0 || i >= len(lines) || keep[i] {
			return true
		}
		if len(lines[i])+1 > left {
			return false
		}
		keep[i] = true
		left -= len(lines[i]) + 1
		return true
	}
	reserve := left * 2 / 5
	for i, s := range lines {
		if left > reserve && tells.MatchString(s) {
			for k := i - 1; k <= i+3 && left > reserve; k++ {
				take(k)
			}
		}
	}
	for first, last := 0, len(lines)-1; first <= last && take(last) && take(first); {
		first, last = first+1, last-1
	}
	return withGaps(lines, keep)
}

func withGaps(lines []string, keep []bool) []string {
	var out []string
	missing := 0
	for i, s := range lines {
		if !keep[i] {
			missing++
			continue
		}
		if missing > 0 {
			out = append(out, fmt.Sprintf("[hob: %d lines omitted]", missing))
		}
		out, missing = append(out, s), 0
	}
	if missing > 0 {
		out = append(out, fmt.Sprintf("[hob: %d lines omitted]", missing))
	}
	return out
}

var (
	goSwitch  = regexp.MustCompile(`^=== (?:RUN|PAUSE|CONT|NAME) +(\S*)$`)
	goEnd     = regexp.MustCompile(`^\s*--- (PASS|FAIL|SKIP): (\S+)$`)
	goPackage = regexp.MustCompile(`^(?:ok  |FAIL|\?   )\t|^FAIL$|^PASS$`)
)

// testLogs collects what each of go's tests has written until their package is through.
type testLogs struct {
	out     []string
	logs    map[string][]string
	current string // the test that writes, "" between tests
}

// failingOnly takes from `go test` what tests that passed have logged, and puts the rest in the
// order of test names, since parallel tests end in any order. Other output passes through.
func failingOnly(lines []string) []string {
	t := testLogs{logs: map[string][]string{}}
	for _, s := range lines {
		t.line(s)
	}
	t.flush()
	return t.out
}

func (t *testLogs) line(s string) {
	if m := goSwitch.FindStringSubmatch(s); m != nil {
		t.current = m[1]
		return
	}
	if m := goEnd.FindStringSubmatch(s); m != nil {
		t.end(m[1] == "FAIL", m[2], s)
		return
	}
	if goPackage.MatchString(s) {
		t.flush()
	}
	if t.current != "" {
		t.logs[t.current] = append(t.logs[t.current], s)
		return
	}
	t.out = append(t.out, s)
}

// end files a test's last line. Without -v its log follows that line, with -v it came before.
func (t *testLogs) end(failed bool, name, s string) {
	if !failed {
		delete(t.logs, name)
		t.current = ""
		return
	}
	t.logs[name] = append([]string{s}, t.logs[name]...)
	t.current = name
}

func (t *testLogs) flush() {
	for _, name := range slices.Sorted(maps.Keys(t.logs)) {
		t.out = append(t.out, t.logs[name]...)
	}
	clear(t.logs)
	t.current = ""
}
