package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"hob/configs"
	"hob/engine"
	"hob/engine/model"
	"hob/engine/model/wire"
	"hob/engine/task"
	"hob/journal"
	"hob/journal/durable"
	"hob/repo"
)

// Exit codes; README has the table. New ones may come, old ones keep their meaning.
const (
	exitFailed    = 1
	exitUsage     = 2
	exitPartial   = 3
	exitAuth      = 4
	exitBudget    = 7
	exitNothing   = 8
	exitNoRepo    = 10
	exitLocked    = 11
	exitIntegrity = 12
)

// An exitCode ends a command that has said everything already.
type exitCode int

func (e exitCode) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// A usageError is a call that can't be understood.
type usageError struct {
	cmd *cobra.Command
	err error
}

func (e *usageError) Error() string { return e.err.Error() }

func usagef(format string, args ...any) error {
	return &usageError{err: fmt.Errorf(format, args...)}
}

// A hinted error carries the next command to type.
type hinted struct {
	error
	hint string
}

func (h *hinted) Unwrap() error { return h.error }

func withHint(err error, hint string) error { return &hinted{err, hint} }

// fail prints err, if there is something to say, and returns the exit code. It is
// the one place where errors become codes.
func (w *world) fail(err error) int {
	var code exitCode
	if err == nil {
		return 0
	}
	if errors.As(err, &code) {
		return int(code)
	}
	name, exit, hint := classify(err)
	w.complain(name, err, hint)
	return exit
}

func classify(err error) (name string, exit int, hint string) {
	var usage *usageError
	var problems configs.Problems
	var h *hinted
	reason := engine.ErrorReason(err)
	name, exit, hint = string(reason), exitFailed, reason.Hint()
	switch {
	case errors.As(err, &usage):
		name, exit, hint = "usage", exitUsage, "hob --help"
		if usage.cmd != nil {
			hint = usage.cmd.CommandPath() + " --help"
		}
	case errors.As(err, &problems):
		name, exit, hint = string(task.BadConfig), exitUsage, "hob config check shows all of it; `hob config reference` explains each setting"
	case errors.Is(err, wire.ErrSecret), reason == task.Auth:
		exit = exitAuth
	case errors.Is(err, repo.ErrNoRepository):
		name, exit, hint = "no_repository", exitNoRepo, "run hob inside a git repository, or name one with --repo DIR"
	case errors.Is(err, journal.ErrDamaged), errors.Is(err, model.ErrLedger), errors.Is(err, task.ErrSchema):
		name, exit, hint = "integrity", exitIntegrity, "look at the named file in hob's state folder; `hob runs verify` checks the record"
	case errors.Is(err, durable.ErrLocked):
		name, exit, hint = "locked", exitLocked, "`hob status` shows what the running hob does"
	case errors.Is(err, context.Canceled):
		name, exit, hint = string(task.Interrupted), 130, task.Interrupted.Hint()
	case errors.Is(err, fs.ErrNotExist) && name == "":
		name = "not_found"
	}
	if errors.As(err, &h) {
		hint = h.hint
	}
	if name == "" {
		name = "failed"
	}
	return name, exit, hint
}

// complain prints an error: one line with its code, then a hint. Lists of
// problems keep one line each.
func (w *world) complain(name string, err error, hint string) {
	if w.json {
		type body struct {
			Code    string `json:"code"`
			Message string `json:"message"`
			Hint    string `json:"hint,omitempty"`
		}
		b, merr := json.Marshal(map[string]body{"error": {name, err.Error(), hint}})
		if merr == nil {
			fmt.Fprintf(w.Err, "%s\n", b)
			return
		}
	}
	for line := range strings.Lines(err.Error()) {
		fmt.Fprintf(w.Err, "hob: %s: %s\n", name, plain(strings.TrimRight(line, "\n")))
	}
	if hint != "" {
		fmt.Fprintf(w.Err, "hint: %s\n", plain(hint))
	}
}

// outcomeExit is the exit code of once: the first that applies of a fixed order.
func outcomeExit(tasks []engine.Ended) int {
	exit := 0
	for _, t := range tasks {
		exit = worse(exit, taskExit(t.Task))
	}
	return exit
}

func taskExit(t task.Task) int {
	switch {
	case t.State == task.Pushed || t.State == task.Merged || t.State == task.Noop:
		return 0
	case t.Reason == task.Auth:
		return exitAuth
	case t.Reason == task.BadConfig || t.Reason == task.UntrustedConfig:
		return exitUsage
	case t.Reason == task.BudgetRun || t.Reason == task.BudgetItem || t.Reason == task.BudgetDay || t.Reason == task.BudgetMonth:
		return exitBudget
	}
	return exitPartial
}

// worse picks the code that stands first in the documented order.
func worse(a, b int) int {
	for _, c := range []int{exitIntegrity, exitLocked, exitNoRepo, exitUsage, exitAuth, exitBudget, exitPartial, exitNothing} {
		if a == c || b == c {
			return c
		}
	}
	return max(a, b)
}
