package repo_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/repo"
)

func TestBaseFollowsHead(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name       string
		set        func(b *box) (want string)
		configured string
		branch     string
		warns      bool
		err        error
	}{
		{"branch", func(b *box) string { return b.commit(map[string]string{"a": "1\n"}) }, "", "main", false, nil},
		{"configured branch", func(b *box) string {
			oid := b.commit(map[string]string{"a": "1\n"})
			b.git("checkout", "-q", "-b", "topic")
			b.commit(map[string]string{"a": "2\n"})
			return oid
		}, "main", "main", false, nil},
		{"configured remote branch", func(b *box) string {
			oid := b.commit(map[string]string{"a": "1\n"})
			b.git("update-ref", "refs/remotes/origin/stable", oid)
			b.commit(map[string]string{"a": "2\n"})
			return oid
		}, "origin/stable", "origin/stable", false, nil},
		{"configured but missing", func(b *box) string { b.commit(nil); return "" }, "nope", "", false, repo.ErrNoBase},
		{"configured like an option", func(b *box) string { b.commit(nil); return "" }, "--all", "", false, repo.ErrNoBase},
		{"detached", func(b *box) string {
			oid := b.commit(map[string]string{"a": "1\n"})
			b.commit(map[string]string{"a": "2\n"})
			b.git("checkout", "-q", "--detach", oid)
			return oid
		}, "", "", true, nil},
		{"detached on a commit no branch holds", func(b *box) string {
			b.commit(map[string]string{"a": "1\n"})
			b.git("checkout", "-q", "--detach")
			return b.commit(map[string]string{"a": "2\n"})
		}, "", "", true, nil},
		{"rebase", func(b *box) string {
			b.commit(map[string]string{"a.txt": "0\n"})
			b.commit(map[string]string{"a.txt": "1\n"})
			midRebase(b)
			return b.git("rev-parse", "refs/heads/main")
		}, "", "main", false, nil},
		{"unborn", func(b *box) string { return "" }, "", "", false, repo.ErrNoCommits},
		{"unborn and configured", func(b *box) string { return "" }, "main", "", false, repo.ErrNoCommits},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBox(t)
			want := tt.set(b)
			got, err := b.open("").Base(t.Context(), tt.configured, agent)
			if !errors.Is(err, tt.err) {
				t.Fatalf("Base = %v, want %v", err, tt.err)
			}
			if got.OID != want && tt.err == nil || tt.err == nil && got.Branch != tt.branch || (len(got.Warnings) > 0) != tt.warns {
				t.Errorf("Base = %+v, want %s on %q, warnings %v", got, want, tt.branch, tt.warns)
			}
		})
	}
}

func TestBaseOfLinkedWorkTreeIsItsOwnHead(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.commit(map[string]string{"a": "1\n"})
	linked := filepath.Join(t.TempDir(), "linked")
	b.git("worktree", "add", "-q", "--detach", linked)
	b.dir = linked
	want := b.commit(map[string]string{"a": "2\n"})
	got, err := b.open("").Base(t.Context(), "", agent)
	must(t, err)
	if got.OID != want {
		t.Errorf("Base = %s, want %s", got.OID, want)
	}
}

// TestBaseWeighsTheCopies walks through what people do to the agent branch between
// two items. Each starts with one landed item and returns the base that must follow.
func TestBaseWeighsTheCopies(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		remote bool
		do     func(b *box, origin, landed string) (want string)
		want   repo.Base // OID aside
		err    error
	}{
		{"nothing", true, func(b *box, _, landed string) string { return landed }, repo.Base{OnAgent: true}, nil},
		{"base moved on", true, func(b *box, _, landed string) string {
			b.commit(map[string]string{"b": "1\n"})
			b.commit(map[string]string{"b": "2\n"})
			return landed
		}, repo.Base{OnAgent: true, Behind: 2}, nil},
		{"merged by fast-forward", true, func(b *box, _, landed string) string {
			b.git("merge", "-q", "--ff-only", agent)
			return landed
		}, repo.Base{}, nil},
		{"merged, moved on and deleted everywhere", true, func(b *box, origin, _ string) string {
			b.git("merge", "-q", "--ff-only", agent)
			oid := b.commit(map[string]string{"b": "1\n"})
			b.git("branch", "-q", "-D", agent)
			gitIn(b.t, origin, "update-ref", "-d", "refs/heads/"+agent)
			return oid
		}, repo.Base{}, nil},
		{"a person committed in the repository", true, func(b *box, _, _ string) string {
			return personCommits(b, b.dir)
		}, repo.Base{OnAgent: true}, nil},
		{"a person committed on the remote", true, func(b *box, origin, _ string) string {
			return personCommits(b, origin)
		}, repo.Base{OnAgent: true}, nil},
		{"people committed on both", true, func(b *box, origin, _ string) string {
			personCommits(b, origin)
			personCommits(b, b.dir, "other")
			return ""
		}, repo.Base{}, repo.ErrDiverged},
		{"deleted, no remote", false, func(b *box, _, _ string) string {
			b.git("branch", "-q", "-D", agent)
			return b.git("rev-parse", "main")
		}, repo.Base{Warnings: []string{"refs/heads/agent-dev was taken back in the repository: what it held is not done again"}}, nil},
		{"moved back, no remote", false, func(b *box, _, _ string) string {
			b.git("branch", "-q", "-f", agent, "main")
			return b.git("rev-parse", "main")
		}, repo.Base{Warnings: []string{"refs/heads/agent-dev was taken back in the repository: what it held is not done again"}}, nil},
		{"deleted on both", true, func(b *box, origin, _ string) string {
			b.git("branch", "-q", "-D", agent)
			gitIn(b.t, origin, "update-ref", "-d", "refs/heads/"+agent)
			return b.git("rev-parse", "main")
		}, repo.Base{Warnings: []string{"refs/heads/agent-dev was taken back in the repository: what it held is not done again"}}, nil},
		{"deleted on the remote only", true, func(b *box, origin, _ string) string {
			gitIn(b.t, origin, "update-ref", "-d", "refs/heads/"+agent)
			return ""
		}, repo.Base{}, repo.ErrDiverged},
		{"rewritten on the remote", true, func(b *box, origin, _ string) string {
			gitIn(b.t, origin, "update-ref", "refs/heads/"+agent, "main")
			personCommits(b, origin)
			return ""
		}, repo.Base{}, repo.ErrDiverged},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b, origin, remote := newBox(t), "", ""
			b.commit(map[string]string{"a": "1\n"})
			if tt.remote {
				remote, origin = "origin", b.bare()
				b.git("push", "-q", "origin", "main")
			}
			r := b.open(remote)
			landed, _ := land(t, r, "t1", "n", "x\n", remote)
			want := tt.do(b, origin, landed)
			got, err := r.Base(t.Context(), "", agent)
			if !errors.Is(err, tt.err) {
				t.Fatalf("Base = %v, want %v", err, tt.err)
			}
			if err != nil {
				return
			}
			tt.want.OID, tt.want.Branch = want, "main"
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Base (-want +got):\n%s", diff)
			}
			if oid, targets := land(t, r, "t2", "m", "y\n", remote); b.git("rev-parse", agent) != oid {
				t.Errorf("the next item didn't reach the branch: %v", targets)
			}
		})
	}
}

// personCommits adds an empty commit to the agent branch without checking it out.
func personCommits(b *box, dir string, message ...string) string {
	b.t.Helper()
	oid := gitIn(b.t, dir, "commit-tree", "-p", agent, "-m", "by a person"+strings.Join(message, ""), agent+"^{tree}")
	gitIn(b.t, dir, "update-ref", "refs/heads/"+agent, oid)
	return oid
}

func TestBaseAdoptsAForeignAgentBranchOnlyOnTopOfTheBase(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.commit(map[string]string{"a": "1\n"})
	b.git("branch", agent)
	above := personCommits(b, b.dir)
	r := b.open("")
	got, err := r.Base(t.Context(), "", agent)
	must(t, err)
	if got.OID != above || !got.OnAgent {
		t.Errorf("Base = %+v, want %s", got, above)
	}
	b.commit(map[string]string{"a": "2\n"})
	if _, err := r.Base(t.Context(), "", agent); !errors.Is(err, repo.ErrDiverged) {
		t.Errorf("Base = %v, want diverged", err)
	}
	b.git("checkout", "-q", "--orphan", "unrelated")
	b.commit(nil)
	if _, err := r.Base(t.Context(), "", agent); !errors.Is(err, repo.ErrDiverged) {
		t.Errorf("Base with unrelated histories = %v, want diverged", err)
	}
}

func TestBaseKeepsWhatWasNeverPublished(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.commit(map[string]string{"a": "1\n"})
	r := b.open("")
	base, err := r.Base(t.Context(), "", agent)
	must(t, err)
	oid, err := r.WriteCommit(t.Context(), spec("t1", b.git("rev-parse", "HEAD^{tree}"), base.OID))
	must(t, err)
	must(t, r.Advance(t.Context(), agent, oid, base.OID))
	got, err := r.Base(t.Context(), "", agent)
	must(t, err)
	if got.OID != oid || !got.OnAgent {
		t.Errorf("Base = %+v, want %s", got, oid)
	}
}

func TestUnreachableRemoteIsAWarning(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	want := b.commit(map[string]string{"a": "1\n"})
	b.git("remote", "add", "origin", filepath.Join(t.TempDir(), "nowhere.git"))
	got, err := b.open("origin").Base(t.Context(), "", agent)
	must(t, err)
	if got.OID != want || len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "origin") {
		t.Errorf("Base = %+v", got)
	}
}

func TestBaseRefusesBadNames(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.commit(nil)
	r := b.open("")
	for _, name := range []string{"", "-x", "a..b", "a b", "x.lock", "/a", "a/", "a//b", ".a", "a/.b", "@", "a@{b", "a\x00", "a~1", "a:b", `a\b`} {
		if _, err := r.Base(t.Context(), "", name); err == nil {
			t.Errorf("Base with branch %q succeeded", name)
		}
	}
}

func TestTheUsersGarbageCollectionTakesNothing(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.commit(map[string]string{"a": "1\n"})
	b.commit(map[string]string{"a": "2\n"})
	r := b.open("")
	ws := snapshot(t, r, "t1")
	b.git("reset", "-q", "--hard", "HEAD~1")
	b.git("reflog", "expire", "--expire=now", "--all")
	b.git("gc", "-q", "--prune=now")
	write(t, filepath.Join(ws.Dir, "a"), "3\n")
	if _, err := ws.Freeze(t.Context()); err != nil {
		t.Errorf("Freeze after gc: %v", err)
	}
	if out, err := tryGit(b.home, "--git-dir="+filepath.Join(b.state, "store.git"), "fsck", "--strict"); err != nil {
		t.Errorf("fsck: %v %s", err, out)
	}
}

func TestStoreOfBorrowedAndOddlyPackedObjects(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	oid := b.commit(map[string]string{"a": "1\n"})
	b.git("repack", "-q", "-a", "-d")
	packs, err := filepath.Glob(filepath.Join(b.dir, ".git/objects/pack/pack-*"))
	must(t, err)
	for _, p := range packs {
		must(t, os.Rename(p, strings.Replace(p, "pack-", "loose-", 1)))
	}
	shared := filepath.Join(t.TempDir(), "shared")
	gitIn(t, b.home, "clone", "-q", "--shared", b.dir, shared)
	for _, dir := range []string{b.dir, shared} {
		b.dir, b.state = dir, filepath.Join(t.TempDir(), "state")
		ws := snapshot(t, b.open(""), "t1")
		if ws.BaseOID != oid || read(t, filepath.Join(ws.Dir, "a")) != "1\n" {
			t.Errorf("snapshot of %s is wrong", dir)
		}
		if exists(filepath.Join(b.state, "store.git/objects/info/alternates")) {
			t.Error("the store borrows objects")
		}
	}
}
