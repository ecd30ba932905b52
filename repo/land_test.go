package repo_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hob/repo"
)

// odd prepares the states a user's repository can be in; it returns the work trees to
// watch and how the publish to the repository shall end.
func odd() []struct {
	name  string
	set   func(b *box) []string
	state string
} {
	return []struct {
		name  string
		set   func(b *box) []string
		state string
	}{
		{"clean", func(b *box) []string { return nil }, repo.Pushed},
		{"dirty", func(b *box) []string { dirty(b); return nil }, repo.Pushed},
		{"mid-rebase", func(b *box) []string { midRebase(b); dirtyUntracked(b); return nil }, repo.Pushed},
		{"detached", func(b *box) []string { b.git("checkout", "-q", "--detach"); dirty(b); return nil }, repo.Pushed},
		{"update instead", func(b *box) []string {
			dirty(b)
			b.git("config", "receive.denyCurrentBranch", "updateInstead")
			return nil
		}, repo.Pushed},
		{"ignore", func(b *box) []string { dirty(b); b.git("config", "receive.denyCurrentBranch", "ignore"); return nil }, repo.Pushed},
		{"update instead, agent branch checked out", func(b *box) []string {
			b.git("checkout", "-q", "-b", agent)
			b.git("config", "receive.denyCurrentBranch", "updateInstead")
			return nil
		}, repo.CheckedOut},
		{"ignore, agent branch checked out", func(b *box) []string {
			b.git("checkout", "-q", "-b", agent)
			dirty(b)
			b.git("config", "receive.denyCurrentBranch", "ignore")
			return nil
		}, repo.CheckedOut},
		{"agent branch checked out in a linked work tree", func(b *box) []string {
			linked := filepath.Join(b.t.TempDir(), "linked")
			b.git("worktree", "add", "-q", "-b", agent, linked)
			return []string{linked}
		}, repo.CheckedOut},
		{"from a linked work tree", func(b *box) []string {
			linked, main := filepath.Join(b.t.TempDir(), "linked"), b.dir
			b.git("worktree", "add", "-q", "-b", "feature", linked)
			b.dir = linked
			return []string{main}
		}, repo.Pushed},
		{"agent branch being rebased", func(b *box) []string {
			b.git("checkout", "-q", "-b", agent)
			midRebase(b)
			return nil
		}, repo.CheckedOut},
	}
}

func dirty(b *box) {
	write(b.t, filepath.Join(b.dir, "stashed.txt"), "stashed\n")
	b.git("stash", "push", "-q", "-u")
	write(b.t, filepath.Join(b.dir, "staged.txt"), "staged\n")
	b.git("add", "staged.txt")
	write(b.t, filepath.Join(b.dir, "a.txt"), "unstaged\n")
	dirtyUntracked(b)
}

func dirtyUntracked(b *box) {
	write(b.t, filepath.Join(b.dir, "untracked.txt"), "untracked\n")
	must(b.t, os.Chmod(filepath.Join(b.dir, "untracked.txt"), 0o640))
}

// midRebase leaves a rebase of the branch HEAD is on stopped at a conflict.
func midRebase(b *box) {
	branch := b.git("symbolic-ref", "--short", "HEAD")
	b.git("checkout", "-q", "-b", "other", "HEAD~1")
	b.commit(map[string]string{"a.txt": "theirs\n"})
	b.git("checkout", "-q", branch)
	b.commit(map[string]string{"a.txt": "ours\n"})
	if out, err := tryGit(b.dir, "rebase", "other"); err == nil {
		b.t.Fatalf("the rebase went through: %s", out)
	}
}

// hooks puts a hook of every kind that a push or commit could run into the user's
// repository; each leaves a file.
func hooks(b *box, witness string) {
	common := b.git("rev-parse", "--git-common-dir")
	if !filepath.IsAbs(common) {
		common = filepath.Join(b.dir, common)
	}
	for _, name := range []string{
		"pre-receive", "update", "post-receive", "post-update", "reference-transaction", "proc-receive", "push-to-checkout",
		"pre-push", "pre-commit", "post-commit", "post-checkout", "post-index-change", "pre-auto-gc",
	} {
		file := filepath.Join(common, "hooks", name)
		write(b.t, file, "#!/bin/sh\necho "+name+" >> '"+witness+"'\n")
		must(b.t, os.Chmod(file, 0o755))
	}
}

func TestLandingLeavesTheUsersRepositoryAsItWas(t *testing.T) {
	t.Parallel()
	for _, tt := range odd() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBox(t)
			b.commit(map[string]string{"a.txt": "one\n", "TODO.md": "- [ ] x\n"})
			b.commit(map[string]string{"b/c.txt": "two\n"})
			origin := b.bare()
			watched := append(tt.set(b), b.dir)
			witness := filepath.Join(t.TempDir(), "hooks-ran")
			hooks(b, witness)
			before := fingerprint(t, watched...)
			refs := otherRefs(b)

			oid, targets := land(t, b.open("origin"), "t1", "new.txt", "hello\n", "origin")

			if got, want := states(targets), "repository="+tt.state+" origin=pushed"; got != want {
				t.Errorf("Publish = %s, want %s (%v)", got, want, targets)
			}
			if after := fingerprint(t, watched...); after != before {
				t.Errorf("the user's repository changed\nbefore:\n%s\nafter:\n%s", before, after)
			}
			if got := otherRefs(b); got != refs {
				t.Errorf("refs = %s, want %s", got, refs)
			}
			if _, err := os.Stat(witness); err == nil {
				t.Errorf("hooks of the user ran: %s", read(t, witness))
			}
			if got := gitIn(t, origin, "rev-parse", agent); got != oid {
				t.Errorf("origin's %s = %s, want %s", agent, got, oid)
			}
			if tt.state == repo.Pushed {
				if got := b.git("rev-parse", agent); got != oid {
					t.Errorf("%s = %s, want %s", agent, got, oid)
				}
			}
			if out, err := tryGit(origin, "fsck", "--strict", "--full"); err != nil || strings.Contains(out, "error") {
				t.Errorf("fsck: %v %s", err, out)
			}
		})
	}
}

// otherRefs lists every ref of the user's repository but the agent branch.
func otherRefs(b *box) string {
	var keep []string
	for line := range strings.Lines(b.git("for-each-ref")) {
		if !strings.Contains(line, "refs/heads/"+agent) {
			keep = append(keep, strings.TrimSpace(line))
		}
	}
	return strings.Join(keep, "\n")
}

func TestTheStoreHoldsOnlyHobsRefs(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.commit(map[string]string{"a": "1\n"})
	b.git("tag", "v1")
	b.git("branch", "topic")
	land(t, b.open(""), "t1", "n", "x\n", "")
	got := b.store("for-each-ref", "--format=%(refname)")
	if want := "refs/heads/agent-dev\nrefs/hob/base/t1"; got != want {
		t.Errorf("refs = %q, want %q", got, want)
	}
	if out, err := tryGit(b.home, "--git-dir="+filepath.Join(b.state, "store.git"), "remote"); err != nil || out != "" {
		t.Errorf("remotes of the store = %q, %v", out, err)
	}
}

func TestItemsMakeOneLinearBranch(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	first := b.commit(map[string]string{"a": "1\n"})
	r := b.open("origin")
	c1, targets := land(t, r, "t1", "n1", "x\n", "origin")
	if got, want := states(targets), "repository=pushed origin=none"; got != want {
		t.Errorf("Publish = %s, want %s", got, want)
	}
	c2, _ := land(t, r, "t2", "n2", "y\n", "origin")
	if got, want := b.git("rev-list", agent), strings.Join([]string{c2, c1, first}, "\n"); got != want {
		t.Errorf("history = %s, want %s", got, want)
	}
	want := "do t2\n\nHob-Task: t2\nHob-Item: do t2\nHob-Run: 01RUN\nHob-Base: " + c1 + "\nHob-Validated-Tree: " + b.git("rev-parse", agent+"^{tree}")
	if got := b.git("log", "-1", "--format=%B", agent); got != want {
		t.Errorf("message = %q, want %q", got, want)
	}
	landed, err := r.Landed(t.Context(), agent)
	must(t, err)
	if len(landed) != 2 || landed["t1"] != (repo.Landing{Commit: c1, Run: "01RUN"}) || landed["t2"].Commit != c2 {
		t.Errorf("Landed = %v", landed)
	}
	if !r.Contains(t.Context(), agent, c1) || r.Contains(t.Context(), agent, strings.Repeat("1", 40)) {
		t.Error("Contains is wrong")
	}
}
