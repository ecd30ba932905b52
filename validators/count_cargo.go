package validators

import (
	"regexp"
	"strings"
)

// cargoCounter reads `cargo test`: libtest's output, once per test binary (doc.rust-lang.org/rustc,
// "Tests"; doc.rust-lang.org/cargo, "cargo test").
type cargoCounter struct {
	tally
	binary string // the source file of the binary whose tests are being run
}

var (
	cargoBinary = regexp.MustCompile(`^ +(?:Running (?:unittests )?|Doc-tests )(\S+)`)
	cargoResult = regexp.MustCompile(`^test result: \S+ (\d+) passed; (\d+) failed; (\d+) ignored;`)
	cargoTest   = regexp.MustCompile(`^test (.+?)(?: - should panic)? \.\.\. FAILED$`)
	cargoSignal = regexp.MustCompile(`\(signal: \d+, (SIG[A-Z]+)`)
	cargoNone   = regexp.MustCompile("^error: no .*target .*(?:named|matches|found)|^error: could not find `Cargo.toml`")
)

func (c *cargoCounter) line(s string) {
	switch {
	case strings.HasPrefix(s, "test "):
		c.test(s)
	case strings.HasPrefix(s, "running ") && (strings.HasSuffix(s, " tests") || s == "running 1 test"):
		c.seen = true
	case strings.HasPrefix(s, " ") && strings.Contains(s, "unning ") || strings.HasPrefix(s, "   Doc-tests "):
		if m := cargoBinary.FindStringSubmatch(s); m != nil {
			c.binary = m[1]
		}
	case strings.Contains(s, "(signal: "):
		c.signal(s)
	case strings.HasPrefix(s, "error: no "), strings.HasPrefix(s, "error: could not find "):
		if cargoNone.MatchString(s) {
			c.seen, c.none = true, s
		}
	}
}

func (c *cargoCounter) test(s string) {
	if m := cargoTest.FindStringSubmatch(s); m != nil {
		name := m[1]
		if c.binary != "" {
			name = c.binary + ": " + name
		}
		c.name(name)
		return
	}
	m := cargoResult.FindStringSubmatch(s)
	if m == nil {
		return
	}
	c.seen = true
	c.ran += atoi(m[1]) + atoi(m[2])
	c.failed += atoi(m[2])
	c.skipped += atoi(m[3])
	if atoi(m[1])+atoi(m[2]) == 0 && c.none == "" {
		c.none = s
	}
}

func (c *cargoCounter) signal(s string) {
	m := cargoSignal.FindStringSubmatch(s)
	if m == nil {
		return
	}
	for _, name := range outside {
		if name == m[1] {
			c.killed = name
		}
	}
}

func (c *cargoCounter) total() tally { return c.tally }
