// Package validators decides whether a tree is acceptable.
//
// A validator is a command of the repository's owner: its test suite, its linter. hob runs it in
// a clean tree, once on the base and once on what the model made, and believes it only as far as
// there is a reason to. An exit code of 0 is such a reason when something was checked; where a
// test runner's output can be counted (go, pytest, unittest, node --test, cargo test) hob counts,
// and a run of no test is no success.
//
// Verdicts are [Pass], [Fail] and [Broken]. Broken means "could not check": the program is
// missing, no test ran, or something outside killed the run. It is never a pass, and it is no
// failure of the tree either, so no repair is asked of a model for it. The zero Verdict is Broken.
//
// The path of a run: [New] checks the configuration, [Set.Run] makes results, [Judge] subtracts
// what was wrong on the base already, [Feedback] says the rest to a model, [Signature] names it so
// that a repair that changes nothing is noticed.
//
// Where a tool can be told from its output only (a Makefile that runs pytest), its tests are
// counted all the same. Where none can be told, Tests.Known is false and the exit code decides alone.
package validators

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"hob/configs"
	"hob/validators/sandbox"
)

// A Verdict is what one validator, or all of them, say about a tree.
type Verdict uint8

// The verdicts.
const (
	Broken  Verdict = iota // the check could not be made; never counts as Pass
	Fail                   // the tree is bad
	Pass                   // the tree is good as far as this was checked
	Skipped                // not asked: paths don't match, or an earlier fail_fast validator failed
)

var verdicts = [...]string{"broken", "fail", "pass", "skipped"}

// String returns the verdict in lower case, as the journal and the status file write it.
func (v Verdict) String() string {
	if int(v) < len(verdicts) {
		return verdicts[v]
	}
	return "invalid"
}

// MarshalText is [Verdict.String].
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads what MarshalText wrote and refuses everything else.
func (v *Verdict) UnmarshalText(b []byte) error {
	i := slices.Index(verdicts[:], string(b))
	if i < 0 {
		return fmt.Errorf("read verdict: %q is none", b)
	}
	*v = Verdict(i)
	return nil
}

// The reasons a Broken result carries. They are those of a task, which is blocked with the same word.
const (
	ReasonMissing     = "validator_missing" // the program, or what it was told to run, isn't there
	ReasonNoTests     = "no_tests_ran"      // it ended without a test having run, or was killed before it could tell
	ReasonBaseline    = "baseline_broken"   // the base could not be checked, so nothing can be compared with it
	ReasonInterrupted = "interrupted"       // hob itself stopped it
	ReasonInternal    = "internal"          // the machine could not start it
)

// Result is one validator's verdict with its evidence.
type Result struct {
	Name     string       `json:"name"`
	Command  string       `json:"command"` // as configured; argv joined by spaces
	Required bool         `json:"required"`
	Verdict  Verdict      `json:"verdict"`
	Reason   string       `json:"reason,omitempty"`  // one of the Reason constants when Broken
	Message  string       `json:"message,omitempty"` // why, for people, in one line; empty for a plain pass
	Exit     sandbox.Exit `json:"exit"`
	Output   []byte       `json:"-"`                // bounded: head, tail, and lines between that look like errors
	Digest   string       `json:"digest,omitempty"` // SHA-256 of the whole output in hexadecimal
	Tests    Tests        `json:"tests"`
	Dir      string       `json:"-"` // the tree it ran in; Feedback and Signature write paths relative to it
	Temp     string       `json:"-"` // its TMPDIR, masked by them
}

// Watch is told about a run while it goes on, on the goroutine of [Set.Run]. Its fields may be nil.
type Watch struct {
	Started  func(name string, argv []string)
	Finished func(Result) // also for those that were skipped
}

// Set is a configured list of validators. It is immutable and may be used from any goroutine.
type Set struct {
	checks []check
	runner sandbox.Runner
	digest string
}

type check struct {
	configs.Validator
	argv []string
	line string   // for people, and to tell the tool from
	env  []string // complete
}

// 15 min is [autonomous] command_timeout's own default: a run is never without a bound.
const defaultTimeout = 15 * time.Minute

// New prepares validators to be run by r in the environment env, to which each adds its own. It
// refuses a validator without a name, two of one name, one with neither or both of run and argv,
// and globs that can't be read.
func New(cfg []configs.Validator, r sandbox.Runner, env []string) (*Set, error) {
	s := &Set{runner: r}
	seen := map[string]bool{}
	for _, v := range cfg {
		c, err := newCheck(v, env)
		if err == nil && seen[v.Name] {
			err = errors.New("another one has the same name")
		}
		if err != nil {
			return nil, fmt.Errorf("validator %q: %w", v.Name, err)
		}
		seen[v.Name] = true
		s.checks = append(s.checks, c)
	}
	text, err := json.Marshal(cfg)
	if err != nil {
		return nil, fmt.Errorf("digest validators: %w", err)
	}
	sum := sha256.Sum256(text)
	s.digest = hex.EncodeToString(sum[:])
	return s, nil
}

func newCheck(v configs.Validator, env []string) (check, error) {
	c := check{Validator: v, argv: v.Argv, line: strings.Join(v.Argv, " ")}
	switch {
	case v.Name == "":
		return c, errors.New("name is empty")
	case (v.Run == "") == (len(v.Argv) == 0):
		return c, errors.New("exactly one of run and argv must be set")
	case v.Run != "":
		c.argv, c.line = []string{"/bin/sh", "-c", v.Run}, v.Run
	}
	for _, glob := range v.Paths {
		if !doublestar.ValidatePattern(glob) {
			return c, fmt.Errorf("paths: %q is not a glob", glob)
		}
	}
	if c.Timeout.Duration <= 0 {
		c.Timeout.Duration = defaultTimeout
	}
	c.env = slices.Clone(env)
	for _, name := range slices.Sorted(maps.Keys(v.Env)) {
		c.env = setenv(c.env, name, v.Env[name])
	}
	if goTest.MatchString(c.line) {
		// -v makes go name each test, so that they can be counted; a cached run replays the names.
		c.env = setenv(c.env, "GOFLAGS", strings.TrimSpace(getenv(c.env, "GOFLAGS")+" -v"))
	}
	return c, nil
}

// Names lists the validators in the order they run.
func (s *Set) Names() []string {
	names := make([]string, len(s.checks))
	for i, c := range s.checks {
		names[i] = c.Name
	}
	return names
}

// Digest names the configuration in hexadecimal: results made under another one can't be compared.
func (s *Set) Digest() string { return s.digest }

// Run runs the validators one after another in dir, which should be a clean checkout and is
// hostile input afterwards. changed are the slash paths that differ from the base: a validator
// with paths runs only if one of them matches; nil runs all. There is one result for each
// validator, in order. When ctx ends the rest are Broken with the reason interrupted.
func (s *Set) Run(ctx context.Context, dir string, changed []string, watch Watch) []Result {
	results := make([]Result, 0, len(s.checks))
	stopped := ""
	for _, c := range s.checks {
		var r Result
		switch {
		case stopped != "":
			r = c.result(dir, Skipped, "not run: "+stopped+" failed and has fail_fast")
		case !c.wanted(changed):
			r = c.result(dir, Skipped, "not run: no changed path matches its paths")
		default:
			if watch.Started != nil {
				watch.Started(c.Name, slices.Clone(c.argv))
			}
			r = c.run(ctx, s.runner, dir)
		}
		if c.FailFast && (r.Verdict == Fail || r.Verdict == Broken) {
			stopped = c.Name
		}
		if watch.Finished != nil {
			watch.Finished(r)
		}
		results = append(results, r)
	}
	return results
}

func (c *check) result(dir string, v Verdict, message string) Result {
	return Result{
		Name: c.Name, Command: c.line, Required: c.Required, Verdict: v, Message: message,
		Dir: dir, Temp: getenv(c.env, "TMPDIR"),
	}
}

func (c *check) wanted(changed []string) bool {
	if len(c.Paths) == 0 || changed == nil {
		return true
	}
	return slices.ContainsFunc(changed, func(path string) bool {
		return slices.ContainsFunc(c.Paths, func(glob string) bool {
			return doublestar.MatchUnvalidated(glob, path)
		})
	})
}

func (c *check) run(ctx context.Context, r sandbox.Runner, dir string) Result {
	var out sandbox.Output
	counts := newCounts(c.line)
	exit, err := r.Run(ctx, sandbox.Command{
		Argv: c.argv, Dir: dir, Env: c.env, Out: tee{&out, counts},
	}, sandbox.Limits{Wall: c.Timeout.Duration, Idle: c.Idle.Duration})
	res := c.result(dir, Broken, "")
	res.Exit = exit
	res.Output, res.Digest = out.Bytes(), out.Digest()
	evidence := counts.finish(dir)
	res.Tests = evidence.tests
	if err != nil {
		res.Reason, res.Message = notStarted(err), err.Error()
		return res
	}
	res.Verdict, res.Reason, res.Message = c.judge(exit, evidence, res.Output)
	return res
}

// tee writes to the kept output and to the counters; neither fails.
type tee struct {
	out    *sandbox.Output
	counts *counts
}

func (t tee) Write(p []byte) (int, error) {
	t.counts.write(p)
	return t.out.Write(p)
}

func getenv(env []string, name string) string {
	for _, kv := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}
	return ""
}

func setenv(env []string, name, value string) []string {
	env = slices.DeleteFunc(env, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
	return append(env, name+"="+value)
}
