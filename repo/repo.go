// Package repo turns a commit of the user's repository into a tree to work in,
// and the finished tree into a commit on the agent branch.
//
// It is the only package that touches git, and its promise is that the user's
// repository is the same before and after, but for the agent branch: work tree,
// index, HEAD, configuration, stash, hooks and every other ref. The promise
// holds by construction, not by care:
//
//   - Everything happens in a bare store of hob's own, [Open]ed in the state
//     folder and refreshed by git fetch. The user's repository is read through
//     upload-pack and a few plumbing questions, and written by one command: the
//     push of [Repo.Publish], whose receive-pack is told to run no hook and to
//     refuse a branch that is checked out anywhere (git-config(1),
//     receive.denyCurrentBranch).
//   - The tree the agent works in ([Workspace]) holds no .git. A .git file, a
//     hook, a filter or an attribute put there by a hostile commit or command
//     configures nothing, because git is never run with a repository from there.
//   - git runs in an environment built from nothing (gitcmd.go): no configuration
//     of the user or the system, no prompt, no inherited GIT_ variable. Only talk
//     with the remote sees the user's own configuration, for credentials.
//   - Content is bytes: no filter, no line-end conversion, no LFS. A file nobody
//     touched keeps its blob.
//
// Blobs, trees and commits are written by go-git into the store, synced, and read
// back before a ref names them. Refs move by git update-ref, which compares and
// swaps under a lock. The same [CommitSpec] always gives the same commit, so each
// step can be repeated after a crash: [Repo.WriteCommit], [Repo.Advance] and
// [Repo.Publish] do nothing the second time. Nothing is ever forced: what can't be
// pushed as a fast-forward is reported by the state of its [Target].
//
// Read base.go for where an item starts, workspace.go for where it is worked,
// freeze.go for how it becomes a tree, publish.go for how that leaves the machine.
package repo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"hob/journal/redact"
)

// Options are what [Open] needs besides the place.
type Options struct {
	// State is the state folder of this repository, outside its work tree. It is
	// made when missing, mode 0700. The caller holds its lock.
	State string
	// Remote is the name of the remote whose agent branch [Repo.Base] looks at;
	// "" looks at none.
	Remote string
	// Redact masks held secrets in whatever git says; nil masks none.
	Redact *redact.Set
	// Step, when set, is called after each effect that lasts: see the Step
	// constants. Crash tests kill the process there.
	Step func(point string)
	// Env is the environment to take PATH, HOME, proxies and the ssh agent from,
	// in the form of [os.Environ]; nil is the process's own.
	Env []string
}

// The points [Options.Step] is called at. A push names its target after a colon.
const (
	StepStore   = "repo.store"   // the store exists
	StepBase    = "repo.base"    // refs/hob/base/<task> is written
	StepObjects = "repo.objects" // blobs and trees are synced
	StepCommit  = "repo.commit"  // a commit object is synced
	StepRef     = "repo.ref"     // the agent branch of the store moved
	StepPush    = "repo.push"    // a target took the branch
)

var (
	// ErrNoCommits is returned by [Repo.Base] for a repository without commits.
	ErrNoCommits = errors.New("the repository has no commits yet")
	// ErrNoBase is returned by [Repo.Base] when the configured base names nothing.
	ErrNoBase = errors.New("no such base")
	// ErrDiverged is returned by [Repo.Base] when copies of the agent branch, or
	// the branch and the base, can't be reconciled by moving forward.
	ErrDiverged = errors.New("diverged")
	// ErrMoved is returned by [Repo.Advance] when the branch isn't where the caller thought.
	ErrMoved = errors.New("the agent branch moved")
)

// Repo is an opened repository: hob's store of it. Only one process may hold the
// state folder. Base, Advance and Publish belong to one goroutine at a time; the
// other methods may be called from any.
type Repo struct {
	place Place
	opt   Options
	git   *git
	store string // the bare repository of hob
	// damaged is where an unusable store was put aside.
	damaged string

	mu    sync.Mutex
	taken map[int]bool // slots in use
}

// Open prepares the state folder: on the first call the store is cloned, with
// hard links where the file system has them. A half-made store of a killed
// process is thrown away. It fails with *[UnsupportedError] when git is too old
// or missing, or the state folder lies within the work tree.
func Open(ctx context.Context, p Place, o Options) (*Repo, error) {
	if o.Env == nil {
		o.Env = os.Environ()
	}
	if err := prepareState(p, o.State); err != nil {
		return nil, err
	}
	r := &Repo{place: p, opt: o, git: newGit(o), store: filepath.Join(o.State, "store.git"), taken: map[int]bool{}}
	if err := r.git.writeSealed(p); err != nil {
		return nil, err
	}
	if err := r.git.checkVersion(ctx); err != nil {
		return nil, err
	}
	if err := r.makeStore(ctx); err != nil {
		return nil, fmt.Errorf("make store of %s: %w", p.Root, err)
	}
	return r, nil
}

// Place returns what the repository was opened at.
func (r *Repo) Place() Place { return r.place }

// step tells a crash test that something lasts now.
func (r *Repo) step(point string) {
	if r.opt.Step != nil {
		r.opt.Step(point)
	}
}

// prepareState makes the folders of the state and empties tmp, which holds only
// what a git command leaves when it is killed.
func prepareState(p Place, state string) error {
	if !filepath.IsAbs(state) {
		return fmt.Errorf("open state folder %q: not an absolute path", state)
	}
	real, err := resolveExisting(state)
	if err != nil {
		return fmt.Errorf("resolve state folder: %w", err)
	}
	if !p.Bare && within(p.Root, real) {
		return &UnsupportedError{Why: "the state folder " + state + " lies inside the work tree"}
	}
	if err := os.RemoveAll(filepath.Join(state, "tmp")); err != nil {
		return fmt.Errorf("empty tmp of the state folder: %w", err)
	}
	for _, dir := range []string{"", "tmp", "home", "gitcfg", "slots", "verdict"} {
		if err := os.MkdirAll(filepath.Join(state, dir), 0o700); err != nil {
			return fmt.Errorf("make state folder: %w", err)
		}
	}
	return nil
}

// resolveExisting follows the links in the part of a path that exists.
func resolveExisting(name string) (string, error) {
	real, err := filepath.EvalSymlinks(name)
	if errors.Is(err, fs.ErrNotExist) && filepath.Dir(name) != name {
		real, err = resolveExisting(filepath.Dir(name))
		return filepath.Join(real, filepath.Base(name)), err
	}
	return real, err
}

// within reports whether name is dir or lies below it; both are resolved paths.
func within(dir, name string) bool {
	rel, err := filepath.Rel(dir, name)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
