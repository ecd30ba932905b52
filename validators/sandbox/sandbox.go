// Package sandbox runs one command within bounds.
//
// Commands come from a repository and from a model, so none of them is trusted to end, to be
// quiet, or to clean up. Every run has a wall clock and a silence clock, reads from /dev/null,
// writes both its streams into one pipe, and is killed with everything it started. Nothing of
// hob's own environment reaches it: [Env] builds one from zero.
//
// A [Runner] is a tier of isolation. The only one so far is "none", and none means none: files,
// network and other processes of the user are open to the command. It is used only when the
// configuration says [sandbox] mode = "off"; for any other mode [Pick] returns [ErrUnavailable],
// because running without a cage must be somebody's decision and never a fallback.
//
// What ends with the command: its session (setsid(2), so no terminal can be asked for a
// password), and on Linux also every process that left the session but still carries the run's
// mark in its environment. The same ends with hob, even if that ends by SIGKILL: a guard
// process holds the other end of a pipe. A process that both leaves the session and clears its
// environment survives tier "none"; only a process namespace prevents that.
package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

var (
	// ErrNotFound says that the program, or the interpreter its first line names, isn't there or
	// may not be executed. The command didn't start.
	ErrNotFound = errors.New("program not found")

	// ErrStart says that the command didn't start for a reason that lies outside of it: its folder
	// is missing, or the machine is out of processes. Trying later may help.
	ErrStart = errors.New("start command")

	// ErrUnavailable says that the wanted isolation can't be had here. Callers park the work with
	// the reason sandbox_unavailable; running without isolation instead is never right.
	ErrUnavailable = errors.New(`no isolation is available in this version; to run commands without any, write mode = "off" under [sandbox] by hand`)
)

// Command is what to run.
type Command struct {
	Argv []string  // program and arguments; without a slash the program is looked up in Env's PATH
	Dir  string    // absolute; must exist
	Env  []string  // complete, "NAME=value"; nothing is inherited
	Out  io.Writer // standard output and error, merged; nil drops them; called from one goroutine
}

// Limits bound one run. A zero field is no limit of that kind.
type Limits struct {
	Wall   time.Duration // from start to the first SIGTERM
	Idle   time.Duration // without output and, on Linux, with next to no CPU used by any of its processes
	Output int64         // bytes handed to Out; the rest is read and dropped, so that the command isn't blocked
}

// End says what ended a run.
type End string

// The ends of a run.
const (
	Exited   End = "exit"     // by itself, or killed by a signal that didn't come from here
	Timeout  End = "timeout"  // Limits.Wall was over
	Idle     End = "idle"     // Limits.Idle was over
	Canceled End = "canceled" // the context ended
)

// Exit describes a run that has ended.
type Exit struct {
	Code   int           `json:"code"`             // exit status; 128 + n when the program itself died by signal n
	Signal string        `json:"signal,omitempty"` // the name of that signal, such as SIGKILL
	End    End           `json:"end"`
	Took   time.Duration `json:"took_ns"`
	CPU    time.Duration `json:"cpu_ns"`      // user and system, of the program and of the children it waited for
	MaxRSS int64         `json:"max_rss"`     // bytes, of the largest single process
	Cut    int64         `json:"cut_bytes"`   // bytes not handed to Out, for Limits.Output or because Out failed
	Left   int           `json:"left_behind"` // processes that outlived the program and were killed
}

// Runner runs commands at one tier of isolation. It may be used from any goroutine.
type Runner interface {
	// Name is the tier, as it is written into evidence.
	Name() string

	// Run returns when the command and what it started are gone, at the latest a few seconds after
	// a limit is reached or ctx ends: SIGTERM, a grace of 5 s, SIGKILL. A command that ran, however
	// it ended, is not an error; errors wrap [ErrNotFound] or [ErrStart].
	Run(ctx context.Context, c Command, l Limits) (Exit, error)
}

// Pick returns the runner for a [sandbox] mode. The error wraps [ErrUnavailable] for every mode but "off".
func Pick(mode string) (Runner, error) {
	if mode == "off" {
		return None(), nil
	}
	return nil, fmt.Errorf("sandbox mode %q: %w", mode, ErrUnavailable)
}
