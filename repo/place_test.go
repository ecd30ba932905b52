package repo_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/repo"
)

func TestFind(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.commit(map[string]string{"sub/x": "x\n"})
	linked := filepath.Join(t.TempDir(), "linked")
	b.git("worktree", "add", "-q", "-b", "feature", linked)
	alias := filepath.Join(t.TempDir(), "alias")
	must(t, os.Symlink(b.dir, alias))
	bare := filepath.Join(t.TempDir(), "bare.git")
	gitIn(t, b.home, "init", "-q", "--bare", bare)

	main, err := repo.Find(t.Context(), b.dir)
	must(t, err)
	real, err := filepath.EvalSymlinks(b.dir)
	must(t, err)
	want := repo.Place{Root: real, GitDir: filepath.Join(real, ".git"), CommonDir: filepath.Join(real, ".git"), ID: main.ID}
	if diff := cmp.Diff(want, main); diff != "" || len(main.ID) != 16 {
		t.Errorf("Find (-want +got):\n%s", diff)
	}
	for _, dir := range []string{filepath.Join(b.dir, "sub"), alias} {
		if got, err := repo.Find(t.Context(), dir); err != nil || got != main {
			t.Errorf("Find(%s) = %+v, %v", dir, got, err)
		}
	}
	other, err := repo.Find(t.Context(), linked)
	must(t, err)
	if other.ID != main.ID || other.Root == main.Root || other.GitDir == main.GitDir || other.CommonDir != main.CommonDir {
		t.Errorf("Find of a linked work tree = %+v", other)
	}
	naked, err := repo.Find(t.Context(), bare)
	must(t, err)
	if !naked.Bare || naked.Root != naked.GitDir {
		t.Errorf("Find of a bare repository = %+v", naked)
	}
}

func TestFindRefuses(t *testing.T) {
	b := newBox(t)
	b.commit(map[string]string{"sub/x": "x\n"})
	outside := t.TempDir()
	initAt := func(name string, args ...string) string {
		dir := filepath.Join(outside, name)
		gitIn(t, b.home, append(append([]string{"init", "-q"}, args...), dir)...)
		return dir
	}
	reftable := initAt("reftable")
	gitIn(t, reftable, "config", "core.repositoryformatversion", "1")
	gitIn(t, reftable, "config", "extensions.refstorage", "reftable")
	partial := initAt("partial")
	gitIn(t, partial, "config", "remote.origin.promisor", "true")

	sha256 := initAt("sha256", "--object-format=sha256")
	t.Setenv("GIT_DIR", filepath.Join(b.dir, ".git")) // must not count
	t.Setenv("GIT_CEILING_DIRECTORIES", b.dir)
	for _, tt := range []struct {
		name, dir   string
		unsupported string // what the reason says; "" = no repository
	}{
		{"outside", outside, ""},
		{"below a ceiling", filepath.Join(b.dir, "sub"), ""},
		{"inside the git folder", filepath.Join(b.dir, ".git"), "work tree"},
		{"sha256", sha256, "sha256"},
		{"reftable", reftable, "ref"},
		{"partial clone", partial, "partial clone"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := repo.Find(t.Context(), tt.dir)
			var no *repo.UnsupportedError
			switch {
			case tt.unsupported == "" && !errors.Is(err, repo.ErrNoRepository):
				t.Errorf("Find = %v, want no repository", err)
			case tt.unsupported != "" && (!errors.As(err, &no) || !strings.Contains(no.Why, tt.unsupported)):
				t.Errorf("Find = %v, want unsupported: %s", err, tt.unsupported)
			}
		})
	}
}

func TestOpenWantsTheStateOutsideTheWorkTree(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.commit(nil)
	place, err := repo.Find(t.Context(), b.dir)
	must(t, err)
	link := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(b.dir, link))
	for _, state := range []string{"relative", filepath.Join(b.dir, "state"), filepath.Join(link, "state")} {
		if _, err := repo.Open(t.Context(), place, repo.Options{State: state}); err == nil {
			t.Errorf("Open with state %s succeeded", state)
		}
	}
	if exists(filepath.Join(b.dir, "state")) {
		t.Error("a refused state folder was made in the work tree")
	}
}

func TestOpenWantsGit(t *testing.T) {
	b := newBox(t)
	b.commit(nil)
	place, err := repo.Find(t.Context(), b.dir)
	must(t, err)
	for _, tt := range []struct{ name, script, why string }{
		{"old", "#!/bin/sh\necho git version 2.37.9\n", "2.38"},
		{"silent", "#!/bin/sh\n", "2.38"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bin := t.TempDir()
			write(t, filepath.Join(bin, "git"), tt.script)
			must(t, os.Chmod(filepath.Join(bin, "git"), 0o755))
			t.Setenv("PATH", bin)
			_, err := repo.Open(t.Context(), place, repo.Options{State: b.state})
			var no *repo.UnsupportedError
			if !errors.As(err, &no) || !strings.Contains(no.Why, tt.why) {
				t.Errorf("Open = %v", err)
			}
		})
	}
	t.Setenv("PATH", t.TempDir())
	var no *repo.UnsupportedError
	if _, err := repo.Open(t.Context(), place, repo.Options{State: b.state}); !errors.As(err, &no) {
		t.Errorf("Open without git = %v", err)
	}
}

func TestShallowClonesWork(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.commit(map[string]string{"a": "1\n"})
	b.commit(map[string]string{"a": "2\n"})
	full := b.dir
	b.dir = filepath.Join(t.TempDir(), "shallow")
	gitIn(t, b.home, "clone", "-q", "--depth=1", "file://"+full, b.dir)
	r := b.open("")
	oid, targets := land(t, r, "t1", "n", "x\n", "origin")
	if got, want := states(targets), "repository=pushed origin=pushed"; got != want {
		t.Errorf("Publish = %v, want %s", targets, want)
	}
	if got := gitIn(t, full, "rev-parse", agent); got != oid {
		t.Errorf("origin has %s, want %s", got, oid)
	}
	b.commit(map[string]string{"a": "3\n"})
	b.git("fetch", "-q", "--unshallow")
	if base, err := r.Base(t.Context(), "", agent); err != nil || base.OID != oid || base.Behind != 1 {
		t.Errorf("Base after unshallowing = %+v, %v", base, err)
	}
}

func TestTodo(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.commit(map[string]string{"TODO.md": "committed\n"})
	r := b.open("")
	write(t, filepath.Join(b.dir, "TODO.md"), "saved\n")
	if got, err := r.Todo("TODO.md"); err != nil || string(got) != "saved\n" {
		t.Errorf("Todo = %q, %v", got, err)
	}
	for _, name := range []string{"missing.md", "TODO.md/x"} {
		if _, err := r.Todo(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Todo(%s) = %v, want not exist", name, err)
		}
	}
	outside := filepath.Join(t.TempDir(), "secret")
	write(t, outside, "secret")
	must(t, os.Symlink(outside, filepath.Join(b.dir, "link.md")))
	must(t, syscall.Mkfifo(filepath.Join(b.dir, "pipe.md"), 0o600))
	for _, name := range []string{"link.md", "pipe.md", "../user/TODO.md/..", ".git"} {
		if got, err := r.Todo(name); err == nil {
			t.Errorf("Todo(%s) = %q", name, got)
		}
	}
	must(t, os.Symlink("TODO.md", filepath.Join(b.dir, "inside.md")))
	if got, err := r.Todo("inside.md"); err != nil || string(got) != "saved\n" {
		t.Errorf("Todo through a link inside = %q, %v", got, err)
	}
	write(t, filepath.Join(b.dir, "big.md"), strings.Repeat("x", 2<<20))
	if got, err := r.Todo("big.md"); err != nil || len(got) != repo.MaxTodo {
		t.Errorf("Todo of 2 MiB has %d bytes, %v", len(got), err)
	}
}

func TestFilesOfACommit(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.commit(map[string]string{"AGENTS.md": "rules\n", "d/f": "1\n2\n3\n"})
	must(t, os.Symlink("AGENTS.md", filepath.Join(b.dir, "CLAUDE.md")))
	oid := b.commit(map[string]string{"d/f": "1\ntwo\n3\n"})
	r := b.open("")
	_, err := r.Base(t.Context(), "", agent)
	must(t, err)
	for _, rev := range []string{oid, b.git("rev-parse", "HEAD^{tree}")} {
		if got, err := r.File(t.Context(), rev, "d/f"); err != nil || string(got) != "1\ntwo\n3\n" {
			t.Errorf("File at %s = %q, %v", rev, got, err)
		}
	}
	for _, path := range []string{"nope", "d/nope", "nope/f", "d/f/x"} {
		if _, err := r.File(t.Context(), oid, path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("File(%s) = %v, want not exist", path, err)
		}
	}
	for _, path := range []string{"d", "CLAUDE.md"} {
		if got, err := r.File(t.Context(), oid, path); err == nil {
			t.Errorf("File(%s) = %q", path, got)
		}
	}
	if _, err := r.File(t.Context(), "nope", "d/f"); err == nil {
		t.Error("File of an unknown commit succeeded")
	}
	if diff := cmp.Diff(map[string]string{"AGENTS.md": "rules\n"}, r.AgentFiles(t.Context(), oid)); diff != "" {
		t.Errorf("AgentFiles (-want +got):\n%s", diff)
	}
	log, err := r.Log(t.Context(), oid, "d/f", 1)
	if err != nil || !strings.HasSuffix(log, " 2026-01-02 U: change\n") || strings.Count(log, "\n") != 1 {
		t.Errorf("Log = %q, %v", log, err)
	}
	blame, err := r.Blame(t.Context(), oid, "d/f", 2, 3)
	if err != nil || strings.Count(blame, "\n") != 2 || !strings.Contains(blame, "2) two") {
		t.Errorf("Blame = %q, %v", blame, err)
	}
	if _, err := r.Blame(t.Context(), oid, "nope", 1, 1); err == nil {
		t.Error("Blame of nothing succeeded")
	}
}
