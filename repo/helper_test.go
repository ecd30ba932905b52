package repo_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

	"hob/engine/edit"
	"hob/repo"
)

// box is a user's repository. The home of its user is shared and set up by TestMain,
// so that no test depends on the git configuration of the machine; home is what hob
// is given instead.
type box struct {
	t     *testing.T
	home  string
	dir   string // the work tree
	state string
	steps []string
}

func newBox(t *testing.T) *box {
	t.Helper()
	top := t.TempDir()
	b := &box{t: t, home: filepath.Join(top, "home"), dir: filepath.Join(top, "user"), state: filepath.Join(top, "state")}
	for _, dir := range []string{b.home, b.dir} {
		must(t, os.MkdirAll(dir, 0o755))
	}
	b.git("init", "-q", "-b", "main")
	return b
}

// commit writes files, name to content, and commits all that is there.
func (b *box) commit(files map[string]string) string {
	b.t.Helper()
	for name, content := range files {
		write(b.t, filepath.Join(b.dir, name), content)
	}
	b.git("add", "-A")
	b.git("commit", "-q", "--allow-empty", "-m", "change")
	return b.git("rev-parse", "HEAD")
}

// git runs the user's own git in the work tree.
func (b *box) git(args ...string) string {
	b.t.Helper()
	return gitIn(b.t, b.dir, args...)
}

// store runs git on hob's store.
func (b *box) store(args ...string) string {
	b.t.Helper()
	return gitIn(b.t, b.home, append([]string{"--git-dir=" + filepath.Join(b.state, "store.git")}, args...)...)
}

func gitIn(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := tryGit(dir, args...)
	if err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return out
}

func tryGit(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_AUTHOR_DATE=2026-01-02T03:04:05Z", "GIT_COMMITTER_DATE=2026-01-02T03:04:05Z", "GIT_EDITOR=true")
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func (b *box) open(remote string) *repo.Repo {
	b.t.Helper()
	place, err := repo.Find(b.t.Context(), b.dir)
	must(b.t, err)
	r, err := repo.Open(b.t.Context(), place, repo.Options{
		State: b.state, Remote: remote, Env: append(os.Environ(), "HOME="+b.home),
		Step: func(point string) { b.steps = append(b.steps, point) },
	})
	must(b.t, err)
	return r
}

// bare makes a bare repository and adds it as the remote origin.
func (b *box) bare() string {
	b.t.Helper()
	dir := filepath.Join(b.t.TempDir(), "origin.git")
	gitIn(b.t, b.home, "init", "-q", "--bare", "-b", "main", dir)
	b.git("remote", "add", "origin", dir)
	return dir
}

const agent = "agent-dev"

var (
	date = time.Date(2026, 5, 6, 7, 8, 9, 0, time.UTC)
	hob  = repo.Ident{Name: "hob", Email: "hob@localhost"}
)

// land makes one commit of hob's with a file and publishes it.
func land(t *testing.T, r *repo.Repo, task, name, content, remote string) (oid string, targets []repo.Target) {
	t.Helper()
	ctx := t.Context()
	base, err := r.Base(ctx, "", agent)
	must(t, err)
	ws, err := r.Snapshot(ctx, task, base.OID)
	must(t, err)
	defer ws.Remove()
	write(t, filepath.Join(ws.Dir, name), content)
	frozen, err := ws.Freeze(ctx)
	must(t, err)
	oid, err = r.WriteCommit(ctx, spec(task, frozen.Tree, base.OID))
	must(t, err)
	must(t, r.Advance(ctx, agent, oid, base.OID))
	targets, err = r.Publish(ctx, agent, oid, remote)
	must(t, err)
	return oid, targets
}

func spec(task, tree, parent string) repo.CommitSpec {
	return repo.CommitSpec{
		Tree: tree, Parent: parent, Author: hob, Date: date,
		Message: repo.Message("do "+task, repo.Trailers{Task: task, Item: "do " + task, Run: "01RUN", Base: parent, ValidatedTree: tree}),
	}
}

func states(ts []repo.Target) string {
	var s []string
	for _, t := range ts {
		s = append(s, t.Name+"="+t.State)
	}
	return strings.Join(s, " ")
}

// fingerprint is everything of a repository that must never change: names, bytes,
// modes and times of the work tree, index, HEAD, configuration, hooks, stash, and all
// refs but the agent branch.
func fingerprint(t *testing.T, trees ...string) string {
	t.Helper()
	var lines []string
	for _, top := range trees {
		must(t, filepath.WalkDir(top, func(name string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			rel, _ := filepath.Rel(top, name)
			if unimportant(rel) {
				return nil
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			line := fmt.Sprintf("%s %s %v", top, rel, info.Mode())
			if !d.IsDir() {
				line += fmt.Sprint(" ", info.ModTime().UnixNano())
			}
			if info.Mode().IsRegular() {
				b, err := os.ReadFile(name)
				if err != nil {
					return err
				}
				line += fmt.Sprintf(" %x", sha256.Sum256(b))
			}
			lines = append(lines, line)
			return nil
		}))
	}
	sort.Strings(lines)
	return strings.Join(lines, "\n")
}

// unimportant says what git may add to for the agent branch: its ref, its reflog,
// objects. Everything else in .git counts.
func unimportant(rel string) bool {
	rel = filepath.ToSlash(rel)
	for _, prefix := range []string{".git/objects", ".git/refs/heads/agent-dev", ".git/logs/refs/heads/agent-dev"} {
		if strings.HasPrefix(rel, prefix) {
			return true
		}
	}
	return false
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, name, content string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(name), 0o755))
	must(t, os.WriteFile(name, []byte(content), 0o644))
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	must(t, err)
	return string(b)
}

func snapshot(t *testing.T, r *repo.Repo, task string) *repo.Workspace {
	t.Helper()
	base, err := r.Base(t.Context(), "", agent)
	must(t, err)
	ws, err := r.Snapshot(t.Context(), task, base.OID)
	must(t, err)
	t.Cleanup(func() { must(t, ws.Remove()) })
	return ws
}

func change(path, before, after string) edit.Change {
	return edit.Change{Path: path, Before: []byte(before), After: []byte(after), Existed: true}
}
