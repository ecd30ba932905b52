package repo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// A Kind is how a file differs from the base.
type Kind string

// The kinds of change. A rename is a deletion and an addition.
const (
	Added    Kind = "added"
	Modified Kind = "modified"
	Deleted  Kind = "deleted"
)

// A FileChange is one path at which a workspace differs from its base.
type FileChange struct {
	Path    string
	Kind    Kind
	OldMode string // as in a tree: 100644, 100755 or 120000; "" when added
	Mode    string // the same after; "" when deleted
	OldBlob string // object id; "" when added
	Blob    string // object id after; "" when deleted
	Size    int64  // bytes after
}

// A Finding is something in a workspace that can't go into a commit.
type Finding struct {
	Path, Message string
	Code          FindingCode
}

// A FindingCode classifies a [Finding].
type FindingCode string

// The closed set of findings.
const (
	GitDir        FindingCode = "git_dir"        // something a file system may take for .git
	GitLink       FindingCode = "git_link"       // a submodule's folder was touched
	GitControl    FindingCode = "git_control"    // .gitattributes, .gitmodules, workflow files
	FilteredFile  FindingCode = "filtered_file"  // LFS or another filter owns the content
	BadName       FindingCode = "bad_name"       // a name some system can't hold or shows wrongly
	SymlinkEscape FindingCode = "symlink_escape" // a link out of the tree
	SpecialFile   FindingCode = "special_file"   // a pipe, socket or device
	BadMode       FindingCode = "bad_mode"       // set-id or sticky bits
	TooLarge      FindingCode = "too_large"      // more than MaxFile bytes
	BinaryFile    FindingCode = "binary_file"    // binary where the base has text
)

// MaxFile is the size in bytes above which a changed file is not committed.
const MaxFile = 5 << 20

// entry is one file of the base with how it looked on disk when it was last known
// to be equal.
type entry struct {
	mode filemode.FileMode
	hash plumbing.Hash
	stat stat
	seen time.Time // when stat was taken
}

// stat is what changes when a file does. ctime can't be set back by a program.
type stat struct {
	size         int64
	mtime, ctime time.Time
	inode        uint64
	mode         fs.FileMode
}

// granularity is how far apart two changes must be for the coarsest file system to
// give them different times (HFS+: 1 s, FAT: 2 s).
const granularity = 2 * time.Second

// trusted reports whether an equal stat proves an equal file: one changed within
// the clock's granularity after it was looked at would have the same times
// (git's Documentation/technical/racy-git.txt).
func (e *entry) trusted(now stat) bool {
	return e.stat == now && e.stat.ctime.Add(granularity).Before(e.seen)
}

// manifest is the content of a base tree as a slot holds it.
type manifest struct {
	tree    plumbing.Hash
	entries map[string]*entry // files, links and submodules by path
	folders map[string]bool   // every folder that holds one of them, "." included
}

// takeStock reads the tree of rev and compares the slot with it: every file must be
// there as the right kind, and nothing else.
func (r *Repo) takeStock(ctx context.Context, s slot, rev string) (*manifest, error) {
	o := r.objects()
	tree, err := r.treeOf(ctx, o, rev)
	if err != nil {
		return nil, err
	}
	m := &manifest{tree: tree.Hash, entries: map[string]*entry{}, folders: map[string]bool{".": true}}
	walker := object.NewTreeWalker(tree, true, nil)
	defer walker.Close()
	for {
		name, e, err := walker.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if errors.Is(err, plumbing.ErrObjectNotFound) {
			return nil, fmt.Errorf("read tree of %s: %w", rev, err)
		}
		if err != nil { // the walker refuses names that are no safe path
			return nil, &UnsupportedError{Why: fmt.Sprintf("its tree has a path that can't be handled: %v", err)}
		}
		if e.Mode == filemode.Dir {
			continue
		}
		m.entries[name] = &entry{mode: e.Mode, hash: e.Hash}
		for dir := path.Dir(name); !m.folders[dir]; dir = path.Dir(dir) {
			m.folders[dir] = true
		}
	}
	root, err := os.OpenRoot(s.tree)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return m, m.compare(root)
}

// compare fills in how the files look on disk.
func (m *manifest) compare(root *os.Root) error {
	found := 0
	err := walk(root, ".", func(name string, d fs.DirEntry) (bool, error) {
		if d.IsDir() && m.folders[name] {
			return true, nil
		}
		e := m.entries[name]
		if e == nil {
			return false, fmt.Errorf("check slot: %s is not in the tree", name)
		}
		info, err := d.Info()
		if err != nil {
			return false, err
		}
		if kind := modeOf(info); kind != e.mode && !(e.mode == filemode.Deprecated && kind == filemode.Regular) {
			return false, fmt.Errorf("check slot: %s has mode %v, the tree says %v", name, kind, e.mode)
		}
		e.stat, e.seen = statOf(info), time.Now()
		found++
		if e.mode == filemode.Submodule {
			return false, emptyFolder(root, name)
		}
		return false, nil
	})
	if err == nil && found != len(m.entries) {
		err = fmt.Errorf("check slot: %d of %d files are there", found, len(m.entries))
	}
	return err
}

// emptyFolder removes what is inside a submodule's folder: git clean leaves it alone.
func emptyFolder(root *os.Root, dir string) error {
	inside, err := readDir(root, dir)
	if err != nil {
		return err
	}
	for _, d := range inside {
		if err := root.RemoveAll(path.Join(dir, d.Name())); err != nil {
			return err
		}
	}
	return nil
}

// modeOf returns the mode a tree would give a file; Submodule for a folder, which is
// how git checks one out, and Empty for what no tree holds.
func modeOf(info fs.FileInfo) filemode.FileMode {
	switch m := info.Mode(); {
	case m.IsDir():
		return filemode.Submodule
	case m&fs.ModeSymlink != 0:
		return filemode.Symlink
	case !m.IsRegular():
		return filemode.Empty
	case m.Perm()&0o100 != 0:
		return filemode.Executable
	}
	return filemode.Regular
}

// walk calls visit for everything below dir, in order of names, folders before what
// they hold; it goes into a folder when visit says so.
func walk(root *os.Root, dir string, visit func(name string, d fs.DirEntry) (bool, error)) error {
	entries, err := readDir(root, dir)
	if err != nil {
		return err
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, d := range entries {
		name := path.Join(dir, d.Name())
		in, err := visit(name, d)
		if err != nil {
			return err
		}
		if !in {
			continue
		}
		if err := walk(root, name, visit); err != nil {
			return err
		}
	}
	return nil
}

// scanned is what a look at the disk found.
type scanned struct {
	changes  []FileChange
	findings []Finding
}

// scan compares the workspace with its base.
func (w *Workspace) scan() (scanned, error) {
	s := &scanner{w: w, ignored: map[string]bool{}, seen: map[string]bool{}}
	if err := walk(w.root, ".", s.visit); err != nil {
		return scanned{}, fmt.Errorf("scan workspace: %w", err)
	}
	s.deletions()
	slices.SortFunc(s.changes, func(a, b FileChange) int { return strings.Compare(a.Path, b.Path) })
	slices.SortFunc(s.findings, func(a, b Finding) int { return strings.Compare(a.Path, b.Path) })
	return s.scanned, nil
}

// deletions adds what the base has and the disk hasn't. What lies below a name that
// was left out stays as the base has it.
func (s *scanner) deletions() {
	leftOut := map[string]bool{}
	for _, f := range s.findings {
		leftOut[f.Path] = true
	}
	for name, e := range s.w.stock.entries {
		switch {
		case s.seen[name] || below(name, leftOut):
		case e.mode == filemode.Submodule:
			s.find(name, GitLink, "a submodule can't be removed")
		case !s.forbidden(name, e.hash):
			s.changes = append(s.changes, FileChange{
				Path: name, Kind: Deleted, OldMode: treeMode(e.mode), OldBlob: e.hash.String(),
			})
		}
	}
}

// below reports whether a folder of name is in the set.
func below(name string, set map[string]bool) bool {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if set[dir] {
			return true
		}
	}
	return false
}

type scanner struct {
	scanned

	w       *Workspace
	ignored map[string]bool // folders below an ignore rule
	seen    map[string]bool // paths of the base that are accounted for
}

func (s *scanner) find(name string, code FindingCode, message string) {
	s.findings = append(s.findings, Finding{Path: name, Code: code, Message: message})
}

// visit looks at one name and says whether to go into it.
func (s *scanner) visit(name string, d fs.DirEntry) (bool, error) {
	e := s.w.stock.entries[name]
	if e != nil && e.mode == filemode.Submodule {
		s.seen[name] = true
		return false, s.visitSubmodule(name, d)
	}
	ignored := s.ignored[path.Dir(name)] || s.w.rules.ignores(name, d.IsDir())
	if isDotGit(d.Name()) {
		s.find(name, GitDir, "a git folder or file has no place in the tree")
		return false, nil
	}
	if why := badName(d.Name()); why != "" && e == nil && !s.w.stock.folders[name] {
		if !ignored {
			s.find(name, BadName, why)
		}
		return false, nil
	}
	if d.IsDir() {
		s.ignored[name] = ignored
		return !ignored || s.w.stock.folders[name], nil
	}
	if e == nil && ignored {
		return false, nil
	}
	s.seen[name] = true
	return false, s.visitFile(name, d, e)
}

func (s *scanner) visitSubmodule(name string, d fs.DirEntry) error {
	if !d.IsDir() {
		s.find(name, GitLink, "a submodule can't be replaced")
		return nil
	}
	inside, err := readDir(s.w.root, name)
	if len(inside) > 0 {
		s.find(name, GitLink, "what is inside a submodule isn't committed")
	}
	return err
}

// visitFile compares one file with the base's entry, which is nil for a new file.
func (s *scanner) visitFile(name string, d fs.DirEntry, e *entry) error {
	info, err := d.Info()
	if err != nil {
		return err
	}
	now := statOf(info)
	if e != nil && e.trusted(now) {
		return nil
	}
	mode := modeOf(info)
	if mode == filemode.Empty {
		s.find(name, SpecialFile, "a pipe, socket or device can't be committed")
		return nil
	}
	if info.Size() > MaxFile && (e == nil || e.stat.size != info.Size()) {
		s.refused(name, info, e) // too much to read for nothing
		return nil
	}
	seen := time.Now()
	hash, err := s.w.hash(name, mode, info.Size())
	if err != nil {
		return err
	}
	if e != nil && hash == e.hash && treeMode(mode) == treeMode(e.mode) {
		e.stat, e.seen = now, seen
		return nil
	}
	if s.refused(name, info, e) {
		return nil
	}
	c := FileChange{Path: name, Kind: Added, Mode: treeMode(mode), Blob: hash.String(), Size: info.Size()}
	if e != nil {
		c.Kind, c.OldMode, c.OldBlob = Modified, treeMode(e.mode), e.hash.String()
	}
	s.changes = append(s.changes, c)
	return nil
}

// refused adds a finding when a changed file can't be committed.
func (s *scanner) refused(name string, info fs.FileInfo, e *entry) bool {
	old := plumbing.ZeroHash
	if e != nil {
		old = e.hash
	}
	switch {
	case s.forbidden(name, old):
		return true
	case len(name) > maxPath:
		s.find(name, BadName, "the path is longer than a file system can hold")
	case info.Mode()&fs.ModeSymlink != 0:
		return s.linkRefused(name)
	case info.Mode()&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky) != 0:
		s.find(name, BadMode, "set-id and sticky bits can't be committed")
	case info.Size() > MaxFile:
		s.find(name, TooLarge, fmt.Sprintf("%d bytes, at most %d are committed", info.Size(), MaxFile))
	default:
		return false
	}
	return true
}

// forbidden adds a finding for paths the agent may neither change nor delete.
func (s *scanner) forbidden(name string, old plumbing.Hash) bool {
	base := path.Base(name)
	switch {
	case strings.EqualFold(base, ".gitmodules"), strings.EqualFold(base, ".gitattributes"),
		strings.HasPrefix(strings.ToLower(name), ".github/workflows/"):
		s.find(name, GitControl, "this file steers git or the host and is changed by people")
	case s.w.rules.filtered(name), s.w.rules.pointers[old]:
		s.find(name, FilteredFile, "a filter such as LFS owns the content of this file")
	default:
		return false
	}
	return true
}

func (s *scanner) linkRefused(name string) bool {
	target, err := s.w.root.Readlink(name)
	if err != nil || leadsOut(name, target) {
		s.find(name, SymlinkEscape, fmt.Sprintf("the link to %q leaves the tree", target))
		return true
	}
	// The target may be a link itself: os.Root follows it and refuses to leave.
	if _, err := s.w.root.Stat(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.find(name, SymlinkEscape, fmt.Sprintf("the link to %q leads nowhere in the tree", target))
		return true
	}
	return false
}

// hash returns the blob id of a file or link without keeping its content.
func (w *Workspace) hash(name string, mode filemode.FileMode, size int64) (plumbing.Hash, error) {
	if mode == filemode.Symlink {
		target, err := w.root.Readlink(name)
		return plumbing.ComputeHash(plumbing.BlobObject, []byte(target)), err
	}
	f, err := openRegular(w.root, name)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	defer f.Close()
	h := plumbing.NewHasher(plumbing.BlobObject, size)
	if _, err := io.Copy(h, f); err != nil {
		return plumbing.ZeroHash, err
	}
	return h.Sum(), nil
}

// treeMode writes a mode as git does, the odd group-writable one as plain.
func treeMode(m filemode.FileMode) string {
	if m == filemode.Deprecated {
		m = filemode.Regular
	}
	return fmt.Sprintf("%06o", uint32(m))
}

// Changed lists what differs from the base now, whoever changed it, by path. Files
// with findings aren't listed. What only a close look at the content tells, line ends
// that come back and binary files, is left to [Workspace.Freeze].
func (w *Workspace) Changed() ([]FileChange, error) {
	found, err := w.scan()
	return found.changes, err
}

// Dirty reports whether anything that could be committed differs from the base.
func (w *Workspace) Dirty() (bool, error) {
	changes, err := w.Changed()
	return len(changes) > 0, err
}
