package repo_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hob/repo"
)

func TestMerged(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.commit(map[string]string{"a": "1\n"})
	r := b.open("")
	oid, _ := land(t, r, "t1", "n", "x\n", "")
	for _, want := range []bool{false, true} {
		if got, err := r.Merged(t.Context(), "", agent, oid); err != nil || got != want {
			t.Errorf("Merged = %v, %v, want %v", got, err, want)
		}
		b.git("checkout", "-q", agent)
		looking, err := r.Looking(t.Context(), agent)
		if merged, merr := r.Merged(t.Context(), "", agent, oid); err != nil || merr != nil || !looking || merged {
			t.Errorf("on the agent branch: Looking = %v, %v, Merged = %v, %v", looking, err, merged, merr)
		}
		b.git("checkout", "-q", "main")
		b.git("merge", "-q", "--no-ff", "-m", "merge", agent)
	}
	if got, err := r.Merged(t.Context(), "", agent, strings.Repeat("1", 40)); err != nil || got {
		t.Errorf("Merged of an unknown commit = %v, %v", got, err)
	}
	if _, err := r.Merged(t.Context(), "nope", agent, oid); err == nil {
		t.Error("Merged into a base that isn't there succeeded")
	}
}

func TestCreate(t *testing.T) {
	t.Parallel()
	dir, remote := filepath.Join(t.TempDir(), "r"), filepath.Join(t.TempDir(), "remote.git")
	must(t, repo.Create(t.Context(), dir, remote, map[string][]byte{"a": []byte("1\n"), "d/b": []byte("2\n")}, os.Environ()))
	if got := gitIn(t, remote, "ls-tree", "-r", "--name-only", "main"); got != "a\nd/b" {
		t.Errorf("the remote has %q", got)
	}
	place, err := repo.Find(t.Context(), dir)
	must(t, err)
	for branch, want := range map[string]bool{"main": true, "hob": false} {
		if got, err := repo.HasBranch(t.Context(), place, branch, os.Environ()); err != nil || got != want {
			t.Errorf("HasBranch(%s) = %v, %v", branch, got, err)
		}
	}
	gitIn(t, dir, "checkout", "-q", "-b", agent)
	gitIn(t, dir, "commit", "-q", "--allow-empty", "-m", "one more")
	log, err := repo.ShowLog(t.Context(), dir, agent, os.Environ())
	if err != nil || !strings.Contains(log, "one more") || strings.Contains(log, "tide") {
		t.Errorf("ShowLog = %q, %v", log, err)
	}
}
