package repo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// MaxTodo is how many bytes of a TODO.md are read: its grammar allows 1 MiB, and one
// byte more tells that there is more.
const MaxTodo = 1<<20 + 1

// Todo returns the first MaxTodo bytes of a file of the user's work tree, saved or
// not committed. It only reads, never follows a link out of the tree, and never waits
// for a pipe. The error is [fs.ErrNotExist] when the file is missing, and in a bare
// repository always.
func (r *Repo) Todo(name string) ([]byte, error) {
	if r.place.Bare {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fs.ErrNotExist}
	}
	root, err := os.OpenRoot(r.place.Root)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := openRegular(root, name)
	if errors.Is(err, syscall.ENOTDIR) {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fs.ErrNotExist}
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, MaxTodo))
}

// A Landing is where an item's work stands on a branch.
type Landing struct {
	Commit string
	Run    string // the run that made it; "" when the commit doesn't say
}

// Landed finds, by its trailers, every item that has a commit on a branch of the store
// or below a commit given by id; the newest commit counts. It is what keeps an item
// from being done twice when all other state is lost.
func (r *Repo) Landed(ctx context.Context, branch string) (map[string]Landing, error) {
	landed := map[string]Landing{}
	rev, err := r.commitOf(ctx, branch)
	if err != nil || rev == "" {
		return landed, err
	}
	const format = "--format=%H%x00%(trailers:key=Hob-Task,valueonly,separator=%x01)%x00%(trailers:key=Hob-Run,valueonly,separator=%x01)"
	out, err := r.inStore(ctx, "log", "--grep=^Hob-Task: ", format, rev)
	if err != nil {
		return nil, fmt.Errorf("read history of %s: %w", branch, err)
	}
	for line := range strings.Lines(string(out)) {
		parts := strings.Split(strings.TrimSuffix(line, "\n"), "\x00")
		if len(parts) != 3 {
			continue
		}
		run, _, _ := strings.Cut(parts[2], "\x01")
		for task := range strings.SplitSeq(parts[1], "\x01") {
			if _, newer := landed[task]; task != "" && !newer {
				landed[task] = Landing{Commit: parts[0], Run: run}
			}
		}
	}
	return landed, nil
}

// commitOf returns the commit a branch of the store is at, or the one with this id;
// "" when there is neither.
func (r *Repo) commitOf(ctx context.Context, branch string) (string, error) {
	if ref, err := branchRef(branch); err == nil {
		if oid, err := r.ref(ctx, ref); err != nil || oid != "" {
			return oid, err
		}
	}
	return r.ref(ctx, branch+"^{commit}")
}

// Contains reports whether a branch of the store holds a commit. What can't be
// answered counts as no.
func (r *Repo) Contains(ctx context.Context, branch, oid string) bool {
	tip, err := r.commitOf(ctx, branch)
	if err != nil || tip == "" {
		return false
	}
	holds, err := r.contains(ctx, tip, oid)
	return err == nil && holds
}

// Log returns the last n commits of a branch or commit that touched path ("" = all),
// newest first, one line each: id, day, author, subject.
func (r *Repo) Log(ctx context.Context, branch, path string, n int) (string, error) {
	rev, err := r.commitOf(ctx, branch)
	if err != nil || rev == "" {
		return "", err
	}
	args := []string{
		"log", "--no-ext-diff", "--no-textconv", "--no-show-signature", "--no-color", "--no-decorate",
		"--date=short", "--format=%h %ad %an: %s", "--max-count=" + strconv.Itoa(n), rev, "--",
	}
	if path != "" {
		args = append(args, ":(literal)"+path)
	}
	out, err := r.inStore(ctx, args...)
	if err != nil {
		return "", fmt.Errorf("read log of %s: %w", branch, err)
	}
	return string(out), nil
}

// Blame returns lines from to to of a file at a commit, counted from 1 and inclusive,
// each with the commit, author and day it is from.
func (r *Repo) Blame(ctx context.Context, rev, path string, from, to int) (string, error) {
	commit, err := r.commitOf(ctx, rev)
	if err != nil || commit == "" {
		return "", errors.Join(err, fmt.Errorf("blame %s: no commit %s", path, rev))
	}
	lines := fmt.Sprintf("%d,%d", max(1, from), max(1, from, to))
	out, err := r.inStore(ctx, "blame", "--date=short", "-L", lines, commit, "--", path)
	if err != nil {
		return "", fmt.Errorf("blame %s: %w", path, err)
	}
	return string(out), nil
}

// maxRules bounds a file of house rules in bytes: longer ones are left out, as they
// would crowd the work out of the model's window.
const maxRules = 64 << 10

// AgentFiles returns the house rules at the top of a commit, AGENTS.md and CLAUDE.md,
// by name. Only regular files count: a link there usually points at the other one.
func (r *Repo) AgentFiles(ctx context.Context, rev string) map[string]string {
	files := map[string]string{}
	for _, name := range []string{"AGENTS.md", "CLAUDE.md"} {
		if b, err := r.File(ctx, rev, name); err == nil && len(b) <= maxRules {
			files[name] = strings.ToValidUTF8(string(b), "\ufffd")
		}
	}
	return files
}
