package repo

import (
	"bytes"
	"fmt"
	"io"
	"sort"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// freezeFile writes the blob of one change and returns what its folder's tree shall
// hold; nil when the file turns out as the base has it.
func (w *Workspace) freezeFile(o *objects, c *FileChange) (*leaf, *Finding, error) {
	if c.Kind == Deleted {
		return &leaf{}, nil, nil
	}
	mode, err := filemode.New(c.Mode)
	if err != nil {
		return nil, nil, err
	}
	content, err := w.contentNow(c.Path, mode)
	if err != nil {
		return nil, nil, err
	}
	if len(content) > MaxFile {
		return nil, &Finding{Path: c.Path, Code: TooLarge, Message: "the file grew while it was read"}, nil
	}
	if c.Kind == Modified && mode.IsFile() && mode != filemode.Symlink {
		old, err := o.content(plumbing.NewHash(c.OldBlob))
		if err != nil {
			return nil, nil, err
		}
		if isBinary(content) && !isBinary(old) {
			return nil, &Finding{Path: c.Path, Code: BinaryFile, Message: "the base has text here"}, nil
		}
		content = keepLineEnds(old, content)
	}
	hash, err := o.blob(content)
	if err != nil {
		return nil, nil, err
	}
	c.Blob, c.Size = hash.String(), int64(len(content))
	if c.Blob == c.OldBlob && c.Mode == c.OldMode {
		return nil, nil, nil
	}
	return &leaf{mode: mode, hash: hash}, nil, nil
}

// contentNow reads a file, or the target of a link, up to just above MaxFile.
func (w *Workspace) contentNow(name string, mode filemode.FileMode) ([]byte, error) {
	if mode == filemode.Symlink {
		target, err := w.root.Readlink(name)
		return []byte(target), err
	}
	f, err := openRegular(w.root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, MaxFile+1))
}

// isBinary is git's guess: a NUL among the first 8000 bytes (xdiff-interface.c).
func isBinary(b []byte) bool {
	return bytes.IndexByte(b[:min(len(b), 8000)], 0) >= 0
}

// keepLineEnds undoes a command that rewrote a file's line ends as a whole: when more
// than nine in ten lines are those of the base but for a carriage return, the base's
// line ends come back. Anything less is left as it is.
func keepLineEnds(old, now []byte) []byte {
	crlf := []byte("\r\n")
	oldCR, nowCR := bytes.Count(old, crlf), bytes.Count(now, crlf)
	oldLF, nowLF := bytes.Count(old, []byte("\n")), bytes.Count(now, []byte("\n"))
	toCRLF := oldLF > 0 && oldCR == oldLF && nowCR == 0
	toLF := oldLF > 0 && oldCR == 0 && nowCR == nowLF && nowCR > 0
	if !toCRLF && !toLF {
		return now
	}
	plain := bytes.ReplaceAll(now, crlf, []byte("\n"))
	had := map[string]int{}
	for line := range bytes.Lines(bytes.ReplaceAll(old, crlf, []byte("\n"))) {
		had[string(line)]++
	}
	same, all := 0, 0
	for line := range bytes.Lines(plain) {
		all++
		if had[string(line)] > 0 {
			had[string(line)]--
			same++
		}
	}
	if same*10 <= all*9 {
		return now
	}
	if toCRLF {
		return bytes.ReplaceAll(plain, []byte("\n"), crlf)
	}
	return plain
}

// A leaf is what a tree shall hold at a name; a zero hash means nothing.
type leaf struct {
	mode filemode.FileMode
	hash plumbing.Hash
}

// A node is a folder of changes. A name may have both a leaf and a child, when a file
// became a folder or the other way round.
type node struct {
	leaves   map[string]*leaf
	children map[string]*node
}

func (n *node) set(name string, l *leaf) {
	dir, rest, below := strings.Cut(name, "/")
	if !below {
		if n.leaves == nil {
			n.leaves = map[string]*leaf{}
		}
		n.leaves[name] = l
		return
	}
	if n.children == nil {
		n.children = map[string]*node{}
	}
	if n.children[dir] == nil {
		n.children[dir] = &node{}
	}
	n.children[dir].set(rest, l)
}

// rewrite returns the tree that base becomes under the changes of n; only the folders
// on the way to a change are read and written. A base of zero is an empty folder.
func (o *objects) rewrite(base plumbing.Hash, n *node) (plumbing.Hash, error) {
	if len(n.leaves) == 0 && len(n.children) == 0 {
		return base, nil
	}
	entries := map[string]object.TreeEntry{}
	if !base.IsZero() {
		tree, err := object.GetTree(o, base)
		if err != nil {
			return plumbing.ZeroHash, fmt.Errorf("read folder %s: %w", base, err)
		}
		for _, e := range tree.Entries {
			entries[e.Name] = e
		}
	}
	if err := o.rewriteFolders(entries, n); err != nil {
		return plumbing.ZeroHash, err
	}
	for name, l := range n.leaves {
		switch {
		case !l.hash.IsZero():
			entries[name] = object.TreeEntry{Name: name, Mode: l.mode, Hash: l.hash}
		case entries[name].Mode != filemode.Dir:
			delete(entries, name)
		}
	}
	list := make([]object.TreeEntry, 0, len(entries))
	for _, e := range entries {
		list = append(list, e)
	}
	sort.Sort(object.TreeEntrySorter(list))
	return o.encode(&object.Tree{Entries: list})
}

func (o *objects) rewriteFolders(entries map[string]object.TreeEntry, n *node) error {
	for name, child := range n.children {
		var was plumbing.Hash
		if e := entries[name]; e.Mode == filemode.Dir {
			was = e.Hash
		}
		hash, err := o.rewrite(was, child)
		if err != nil {
			return err
		}
		switch {
		case !o.isEmptyTree(hash):
			entries[name] = object.TreeEntry{Name: name, Mode: filemode.Dir, Hash: hash}
		case entries[name].Mode == filemode.Dir:
			delete(entries, name) // git keeps no empty folders
		}
	}
	return nil
}

// isEmptyTree compares with the id every repository has for the empty tree.
func (o *objects) isEmptyTree(h plumbing.Hash) bool {
	return h == plumbing.ComputeHash(plumbing.TreeObject, nil)
}
