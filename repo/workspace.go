package repo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/utils/merkletrie"
)

// A Workspace is the tree one attempt works in. It reads and writes as a [Tree];
// commands may change it behind hob's back, which Changed and Freeze find out by
// looking at the disk. It belongs to one goroutine.
type Workspace struct {
	*Tree

	Dir      string // where commands run; no .git here or above belongs to it
	BaseOID  string // commit the tree was taken from
	BaseTree string // its tree

	repo  *Repo
	slot  int
	stock *manifest
	rules rules
}

func (r *Repo) workspace(ctx context.Context, n int, base string) (*Workspace, error) {
	s := r.slot(n)
	stock, err := r.fill(ctx, s, base)
	if err != nil {
		return nil, err
	}
	tree, err := OpenTree(s.tree)
	if err != nil {
		return nil, err
	}
	rules, err := readRules(r.objects(), stock)
	if err != nil {
		return nil, errors.Join(err, tree.Close())
	}
	return &Workspace{
		Tree: tree, Dir: s.tree, BaseOID: base, BaseTree: stock.tree.String(),
		repo: r, slot: n, stock: stock, rules: rules,
	}, nil
}

// Remove gives the slot back. The files stay until the next Snapshot resets them.
func (w *Workspace) Remove() error {
	w.repo.freeSlot(w.slot)
	return w.Close()
}

// Restore puts a path back to what the base has there, or removes it when the base
// has nothing there.
func (w *Workspace) Restore(name string) error {
	if err := checkEditable(name); err != nil {
		return err
	}
	e, ok := w.stock.entries[name]
	if !ok {
		return w.root.RemoveAll(name)
	}
	content, err := w.repo.objects().content(e.hash)
	if err != nil {
		return fmt.Errorf("restore %s: %w", name, err)
	}
	if info, err := w.root.Lstat(name); err == nil && info.IsDir() {
		if err := w.root.RemoveAll(name); err != nil {
			return err
		}
	}
	put := writer{root: w.root}
	if err := put.makeFolders(path.Dir(name)); err != nil {
		return fmt.Errorf("restore %s: %w", name, err)
	}
	if e.mode == filemode.Symlink {
		if err := w.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return w.root.Symlink(string(content), name)
	}
	temp, err := put.writeTemp(name, content, permOf(e.mode))
	if err != nil {
		return fmt.Errorf("restore %s: %w", name, err)
	}
	return w.root.Rename(temp, name)
}

// permOf returns the permissions a file of the base gets on disk.
func permOf(m filemode.FileMode) fs.FileMode {
	if m == filemode.Executable {
		return 0o755
	}
	return 0o644
}

// Frozen is a workspace's content as objects in the store.
type Frozen struct {
	Tree     string       // object id; the base's tree when nothing changed
	Changes  []FileChange // what the tree has that the base hasn't, by path
	Findings []Finding    // what was left out of the tree
}

// Freeze writes what changed as blobs and trees, syncs them, and checks that the
// tree, read back, differs from the base in exactly the changed paths. What can't go
// into a commit is a finding and stays as the base has it. Freezing the same files
// again gives the same tree.
func (w *Workspace) Freeze(ctx context.Context) (Frozen, error) {
	found, err := w.scan()
	if err != nil {
		return Frozen{}, err
	}
	o := w.repo.objects()
	root := &node{}
	out := Frozen{Findings: found.findings}
	for _, c := range found.changes {
		if err := ctx.Err(); err != nil {
			return Frozen{}, err
		}
		leaf, finding, err := w.freezeFile(o, &c)
		if err != nil {
			return Frozen{}, fmt.Errorf("freeze %s: %w", c.Path, err)
		}
		if finding != nil {
			out.Findings = append(out.Findings, *finding)
			continue
		}
		if leaf == nil {
			continue // only its line ends differed
		}
		root.set(c.Path, leaf)
		out.Changes = append(out.Changes, c)
	}
	tree, err := o.rewrite(w.stock.tree, root)
	if err != nil {
		return Frozen{}, fmt.Errorf("write tree: %w", err)
	}
	if err := o.sync(); err != nil {
		return Frozen{}, fmt.Errorf("sync objects: %w", err)
	}
	out.Tree = tree.String()
	if err := w.selfCheck(tree, out.Changes); err != nil {
		return Frozen{}, err
	}
	w.repo.step(StepObjects)
	return out, nil
}

// selfCheck compares two trees as they are on disk now with what should differ.
func (w *Workspace) selfCheck(tree plumbing.Hash, changes []FileChange) error {
	o := w.repo.objects()
	want := map[string]bool{}
	for _, c := range changes {
		want[c.Path] = true
		if c.Kind == Deleted {
			continue
		}
		if _, err := o.content(plumbing.NewHash(c.Blob)); err != nil {
			return fmt.Errorf("read back %s: %w", c.Path, err)
		}
	}
	from, err := object.GetTree(o, w.stock.tree)
	if err != nil {
		return fmt.Errorf("read back base: %w", err)
	}
	to, err := object.GetTree(o, tree)
	if err != nil {
		return fmt.Errorf("read back tree: %w", err)
	}
	diff, err := object.DiffTree(from, to)
	if err != nil {
		return fmt.Errorf("read back tree: %w", err)
	}
	for _, d := range diff {
		name := d.To.Name
		if action, err := d.Action(); err != nil || action == merkletrie.Delete {
			name = d.From.Name
		}
		if !want[name] {
			return fmt.Errorf("check tree %s: it changes %s, which nobody changed", tree, name)
		}
		delete(want, name)
	}
	for name := range want {
		return fmt.Errorf("check tree %s: it doesn't change %s", tree, name)
	}
	return nil
}
