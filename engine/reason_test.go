package engine

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hob/engine/agent"
	"hob/engine/model"
	"hob/engine/task"
	"hob/repo"
)

// TestEveryReasonHasAWay walks every reason an attempt can end with, from every state
// it can end in: the move must be one that the task machine takes. A move that isn't
// would leave the item at work for ever.
func TestEveryReasonHasAWay(t *testing.T) {
	var named []task.Reason
	for _, r := range reasons {
		named = append(named, r.reason)
	}
	for _, r := range classes {
		named = append(named, r)
	}
	named = append(named, task.Question, task.BudgetRun, task.BudgetItem, task.BudgetDay, task.BudgetMonth, task.ProviderDown,
		task.NoTestsRan, task.BaselineBroken, task.Internal)
	inPrepare := []task.Reason{
		task.UntrustedConfig, task.BadConfig, task.ValidatorMissing, task.SandboxUnavailable, task.TodoUnreadable, task.NoCommits,
		task.Diverged, task.RepoUnsupported, task.BaselineBroken, task.Interrupted, task.Internal, task.Auth,
	}
	inModel := []task.Reason{task.NoCommits, task.Diverged, task.RepoUnsupported, task.UntrustedConfig, task.SandboxUnavailable, task.TodoUnreadable}
	inValidate := []task.Reason{task.ValidatorsFailed, task.NoProgress, task.ValidatorMissing, task.NoTestsRan, task.BaselineBroken, task.Interrupted, task.Internal}
	for _, r := range named {
		to := stateFor(r)
		if !slices.Contains(r.States(), to) {
			t.Errorf("%s leaves the item %s, which isn't a state of it", r, to)
		}
		for from, ends := range map[task.State]bool{
			task.Preparing:  slices.Contains(inPrepare, r),
			task.Running:    !slices.Contains(inModel, r),
			task.Repairing:  !slices.Contains(inModel, r),
			task.Validating: slices.Contains(inValidate, r),
		} {
			if ends && !task.Legal(from, to) {
				t.Errorf("%s from %s to %s is no legal move", r, from, to)
			}
		}
	}
}

func TestReasonFor(t *testing.T) {
	for _, c := range []struct {
		err  error
		want task.Reason
	}{
		{nil, task.None},
		{errors.New("something new"), task.Internal},
		{fmt.Errorf("turn: %w", &agent.Question{Text: "which?"}), task.Question},
		{fmt.Errorf("ask: %w", &model.Error{Class: model.RateLimited}), task.RateLimited},
		{&model.Error{Class: model.Silent}, task.ProviderDown},
		{&model.BudgetError{Reason: "budget_day"}, task.BudgetDay},
		{&brokenError{task.NoTestsRan, "none"}, task.NoTestsRan},
		{&repo.UnsupportedError{Why: "sha256"}, task.RepoUnsupported},
		{context.Canceled, task.Interrupted},
		{errors.Join(errors.New("first"), agent.ErrTurns), task.TurnsSpent},
	} {
		if got := reasonFor(c.err); got != c.want {
			t.Errorf("reasonFor(%v) = %q, want %q", c.err, got, c.want)
		}
	}
}

// unnamed are exported errors of the module that no attempt ends with, or for which
// internal is right.
var unnamed = map[string]string{
	"durable.ErrLocked": "before any attempt", "durable.ErrCrashed": "tests", "repo.ErrNoRepository": "before any attempt",
	"journal.ErrConflict": "wraps ErrWrite's fate: the run is over", "journal.ErrFinished": "a bug", "journal.ErrTooLong": "a bug",
	"journal.ErrDamaged": "reading only", "journal.ErrWithheld": "reading only", "journal.ErrNoRun": "reading only", "journal.ErrUnknownKind": "reading only",
	"task.ErrIllegal": "a bug", "task.ErrNoTask": "a bug", "task.ErrSchema": "before any attempt", "todo.ErrNoItem": "handled by tick",
	"status.ErrSchema": "reading only", "model.ErrLedger": "before any attempt", "wire.ErrSilent": "inside a model.Error",
	"sandbox.ErrNotFound": "a result of a validator", "sandbox.ErrStart": "a result of a validator",
}

// TestEveryErrorIsNamed finds all exported error values of the module and wants each
// to have a reason, or a word on why it has none.
func TestEveryErrorIsNamed(t *testing.T) {
	table := string(mustRead(t, "reason.go"))
	for _, name := range sentinels(t) {
		local := strings.TrimPrefix(name, "engine.")
		if !strings.Contains(table, "{"+local+",") && unnamed[name] == "" {
			t.Errorf("%s has neither a reason nor a word on why not", name)
		}
	}
}

// sentinels lists package.ErrName of all packages, tests left out.
func sentinels(t *testing.T) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		for _, decl := range file.Decls {
			gen, ok := decl.(*ast.GenDecl)
			if !ok || gen.Tok != token.VAR {
				continue
			}
			for _, spec := range gen.Specs {
				for _, n := range spec.(*ast.ValueSpec).Names {
					if strings.HasPrefix(n.Name, "Err") {
						names = append(names, file.Name.Name+"."+n.Name)
					}
				}
			}
		}
		return nil
	})
	if err != nil || len(names) < 20 {
		t.Fatalf("found %q, %v", names, err)
	}
	return names
}

func mustRead(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestSignatures(t *testing.T) {
	for _, c := range []struct {
		name         string
		sigs         string
		again, stuck string // one character a signature: y or n
	}{
		{"different ones", "abc", "nnn", "nnn"},
		{"the same twice", "aa", "ny", "nn"},
		{"the same three times", "aaa", "nyy", "nny"},
		{"there and back", "aba", "nnn", "nny"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var s signatures
			for i, sig := range strings.Split(c.sigs, "") {
				again, stuck := s.add(sig)
				if again != (c.again[i] == 'y') || stuck != (c.stuck[i] == 'y') {
					t.Errorf("%s, failure %d: again %v, stuck %v", c.sigs, i+1, again, stuck)
				}
			}
		})
	}
}
