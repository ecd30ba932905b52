package validators

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"hob/validators/sandbox"
)

func notStarted(err error) (reason string) {
	if errors.Is(err, sandbox.ErrNotFound) {
		return ReasonMissing
	}
	return ReasonInternal
}

// judge turns a run that took place into a verdict. The order of the questions matters: first
// whether hob ended it, then whether anybody else did, then whether there was anything to run,
// and only then what the run itself says.
func (c *check) judge(e sandbox.Exit, ev evidence, output []byte) (v Verdict, reason, message string) {
	t := ev.tests
	switch e.End {
	case sandbox.Canceled:
		return Broken, ReasonInterrupted, "stopped before it finished"
	case sandbox.Timeout:
		return Fail, "", fmt.Sprintf("timed out after %v", c.Timeout.Duration)
	case sandbox.Idle:
		return Fail, "", fmt.Sprintf("neither output nor work for %v", c.Idle.Duration)
	}
	if e.Code == 0 {
		return passed(t, ev)
	}
	if by := killedBy(e, ev); by != "" {
		return Broken, ReasonNoTests, "killed (" + by + ") before it finished, so there is no verdict"
	}
	if t.Ran == 0 {
		if line, ok := missing(c.Run != "", e.Code, output); ok {
			return Broken, ReasonMissing, line
		}
		if t.Known && t.Failed == 0 && ev.none != "" {
			return Broken, ReasonNoTests, ev.none
		}
	}
	return Fail, "", failed(e, t)
}

// passed judges an exit code of 0, which proves nothing by itself: a pipe, "|| true" and an empty
// suite exit with it too.
func passed(t Tests, ev evidence) (v Verdict, reason, message string) {
	switch {
	case t.Failed > 0:
		return Fail, "", fmt.Sprintf("exit 0, but %s; is its exit code lost in a pipe?", ofTests(t))
	case t.Known && t.Ran == 0 && ev.none != "":
		return Broken, ReasonNoTests, "exit 0, but no test ran: " + ev.none
	case t.Known && t.Ran == 0:
		return Broken, ReasonNoTests, "exit 0, but the output of " + t.Tool + " shows no test that ran"
	}
	return Pass, "", ""
}

func failed(e sandbox.Exit, t Tests) string {
	if t.Known && t.Failed > 0 {
		return fmt.Sprintf("exit %d: %s", e.Code, ofTests(t))
	}
	if e.Signal != "" {
		return "crashed by " + e.Signal
	}
	return fmt.Sprintf("exit %d", e.Code)
}

func ofTests(t Tests) string {
	return fmt.Sprintf("%d of %d failed (%s)", t.Failed, max(t.Ran, t.Failed), t.Tool)
}

// outside are signals that come from elsewhere: the kernel's memory killer, a person, a script.
// SEGV, ABRT, BUS, FPE, ILL, SYS, TRAP and PIPE are what code does to itself; those are failures.
var outside = map[int]string{1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 9: "SIGKILL", 15: "SIGTERM", 24: "SIGXCPU", 25: "SIGXFSZ"}

// killedBy names the signal that ended the run or one of its test processes, "" if none did. A
// shell reports a child's death by signal n as 128+n (POSIX, Shell Command Language 2.8.2).
func killedBy(e sandbox.Exit, ev evidence) string {
	if name, ok := outside[e.Code-128]; ok {
		return name
	}
	return ev.killed
}

// absent are the ways in which shells and launchers say that what they should run isn't there,
// whatever exit code they then choose.
var absent = regexp.MustCompile(`(?m)^(?:` + strings.Join([]string{
	`(?:\S*/)?(?:sh|dash|bash|ash|zsh|ksh): .*(?:not found|No such file or directory|[Pp]ermission denied|cannot execute.*|Is a directory)`,
	`zsh: command not found: .*`,
	`\S+: line \d+: .*: (?:command not found|No such file or directory|Permission denied)`,
	`env: .*: No such file or directory`,
	`\S*python[\d.]*(?:\.exe)?: No module named \S+`,
	`\S*python[\d.]*(?:\.exe)?: can't open file .*`,
	`make(?:\[\d+\])?: \*\*\* .* Error 12[67]`,
	`make(?:\[\d+\])?: \S+: (?:No such file or directory|Permission denied)`,
	`make(?:\[\d+\])?: \*\*\* No rule to make target '[^']*'\.  Stop\.`,
	`make(?:\[\d+\])?: \*\*\* No targets specified and no makefile found\.  Stop\.`,
	`npm (?:ERR!|error) Missing script: .*`,
	`error: no such (?:sub)?command: .*`,
	`pyenv: .*: command not found`,
	`error: toolchain '.*' is not installed`,
	`go: .*: toolchain not available`,
}, "|") + `)\s*$`)

// longestMessage keeps a status line a line.
const longestMessage = 300

// missing reports whether a run that failed did so because there was nothing to run. 126 and 127
// mean that when a shell ends with them (POSIX, Shell Command Language 2.8.2); a program that was
// started directly may mean anything.
func missing(shell bool, code int, output []byte) (line string, yes bool) {
	if said := bytes.TrimSpace(absent.Find(output)); len(said) > 0 {
		return strings.ToValidUTF8(string(said[:min(len(said), longestMessage)]), ""), true
	}
	if shell && slices.Contains([]int{126, 127}, code) {
		return fmt.Sprintf("exit %d: a command of the shell line is missing or can't be executed", code), true
	}
	return "", false
}
