package repo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
)

// A slot is a tree that is used again and again: going from one base to the next
// costs what differs between them, and build caches keep hitting because files that
// didn't change keep their times. Its index lies beside it, out of reach of whatever
// runs in the tree.
type slot struct {
	tree  string
	index string
}

func (r *Repo) slot(n int) slot {
	dir := filepath.Join(r.opt.State, "slots", strconv.Itoa(n))
	return slot{tree: filepath.Join(dir, "tree"), index: filepath.Join(dir, "index")}
}

// Snapshot readies a slot with the tree of a commit for one task and pins the commit
// as refs/hob/base/<task>. The tree holds no .git, no file that the commit doesn't,
// and every byte as it is in the commit. The caller must call Remove.
func (r *Repo) Snapshot(ctx context.Context, task, base string) (*Workspace, error) {
	if !validRef(task) {
		return nil, fmt.Errorf("snapshot for task %q: not a valid name", task)
	}
	if err := r.pin(ctx, "refs/hob/base/"+task, base); err != nil {
		return nil, fmt.Errorf("pin base of %s: %w", task, err)
	}
	r.step(StepBase)
	n := r.takeSlot()
	ws, err := r.workspace(ctx, n, base)
	if err != nil {
		r.freeSlot(n)
		return nil, fmt.Errorf("snapshot of %s: %w", base, err)
	}
	return ws, nil
}

// pin points a ref of hob's own at a commit, wherever it was before.
func (r *Repo) pin(ctx context.Context, name, oid string) error {
	_, err := r.inStore(ctx, "update-ref", name, oid)
	return err
}

func (r *Repo) takeSlot() int {
	r.mu.Lock()
	defer r.mu.Unlock()

	n := 0
	for r.taken[n] {
		n++
	}
	r.taken[n] = true
	return n
}

func (r *Repo) freeSlot(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()

	delete(r.taken, n)
}

// Checkout puts a tree, by object id, at a fixed path of the state folder and
// returns that path. It is for judging: nothing that ran in a workspace can have
// left a file there. Called again with another tree it changes only what differs.
func (r *Repo) Checkout(ctx context.Context, tree, name string) (string, error) {
	if !validRef(name) || path.Base(name) != name {
		return "", fmt.Errorf("check out %q: not a valid name", name)
	}
	dir := filepath.Join(r.opt.State, "verdict", name)
	s := slot{tree: dir, index: dir + ".index"}
	if _, err := r.fill(ctx, s, tree); err != nil {
		return "", fmt.Errorf("check out %s as %s: %w", tree, name, err)
	}
	return dir, nil
}

// fill makes a slot hold exactly one tree. A slot that can't be brought there, for
// whatever a command did to it, is made anew.
func (r *Repo) fill(ctx context.Context, s slot, rev string) (*manifest, error) {
	m, err := r.refill(ctx, s, rev)
	if err == nil || ctx.Err() != nil {
		return m, err
	}
	if err := errors.Join(scrap(s.tree), os.RemoveAll(s.index)); err != nil {
		return nil, fmt.Errorf("clear slot: %w", err)
	}
	return r.refill(ctx, s, rev)
}

func (r *Repo) refill(ctx context.Context, s slot, rev string) (*manifest, error) {
	if err := readySlot(s); err != nil {
		return nil, err
	}
	for _, args := range [][]string{{"read-tree", "--reset", "-u", rev}, {"clean", "-ffdxq"}} {
		_, err := r.git.run(ctx, call{
			dir: s.tree, gitDir: r.store, workTree: s.tree, timeout: copyTimeout,
			env: []string{"GIT_INDEX_FILE=" + s.index}, args: args,
		})
		if err != nil {
			return nil, err
		}
	}
	return r.takeStock(ctx, s, rev)
}

// readySlot makes the slot's folder and takes out of it what would mislead git: a
// link in place of the folder, anything that looks like a .git, folders without
// write permission, the lock of a killed git.
func readySlot(s slot) error {
	info, err := os.Lstat(s.tree)
	if err == nil && !info.IsDir() {
		if err := os.Remove(s.tree); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(s.tree, 0o700); err != nil {
		return err
	}
	if err := os.Remove(s.index + ".lock"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	root, err := os.OpenRoot(s.tree)
	if err != nil {
		return err
	}
	defer root.Close()
	return sweep(root, ".")
}

// sweep removes git folders and files below dir and makes folders writable.
func sweep(root *os.Root, dir string) error {
	entries, err := readDir(root, dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		switch {
		case isDotGit(e.Name()):
			if e.IsDir() {
				if err := sweep(root, name); err != nil {
					return err
				}
			}
			if err := root.RemoveAll(name); err != nil {
				return err
			}
		case e.IsDir():
			if err := sweep(root, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// readDir lists a folder, giving the owner's rights back first where they are gone:
// modes of folders aren't part of a tree, and go mod cache is not alone in taking them.
func readDir(root *os.Root, dir string) ([]fs.DirEntry, error) {
	const owner = 0o700
	info, err := root.Lstat(dir)
	if err != nil {
		return nil, err
	}
	if info.IsDir() && info.Mode().Perm()&owner != owner {
		if err := root.Chmod(dir, info.Mode().Perm()|owner); err != nil {
			return nil, err
		}
	}
	f, err := root.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.ReadDir(-1)
}

// scrap removes a tree, whatever its modes.
func scrap(tree string) error {
	root, err := os.OpenRoot(tree)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return os.RemoveAll(tree)
	}
	err = errors.Join(sweep(root, "."), root.Close())
	return errors.Join(err, os.RemoveAll(tree))
}
