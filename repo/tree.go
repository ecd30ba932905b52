package repo

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"hob/engine/edit"
)

// StaleError says that a file isn't what an edit was computed from.
type StaleError struct{ Path string }

func (e *StaleError) Error() string {
	return "stale_file: " + e.Path + " changed since it was read"
}

// maxRead bounds one file read through a [Tree]: what an agent may edit is smaller,
// and a command may have left a file that fills the memory.
const maxRead = 16 << 20

// A Tree is a folder that edits are read from and written to. Every access goes
// through [os.Root], so a symbolic link leading out, even one put there between
// check and use, is refused. It needs no git: hob edit apply uses it anywhere.
//
// A Tree is not safe for concurrent use.
type Tree struct {
	root *os.Root
}

var _ edit.Tree = (*Tree)(nil)

// OpenTree opens a folder; Close it.
func OpenTree(dir string) (*Tree, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &Tree{root: root}, nil
}

// Close releases the folder; the files stay.
func (t *Tree) Close() error { return t.root.Close() }

// FS is the tree for looking around: links can't lead out of it, and opening a pipe
// doesn't wait for who writes into it.
func (t *Tree) FS() fs.FS { return patient{t.root} }

// ReadDir lists a folder; "." is the root.
func (t *Tree) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(t.FS(), name) }

type patient struct{ root *os.Root }

func (p patient) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	return p.root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// Lstat describes what is at name, slash-separated, without following a link there.
func (t *Tree) Lstat(name string) (fs.FileInfo, error) { return t.root.Lstat(name) }

// Readlink returns the target of the symbolic link at name as it is written.
func (t *Tree) Readlink(name string) (string, error) { return t.root.Readlink(name) }

// Read returns the content of the regular file at name, following links that stay
// inside. It never waits for the writer of a pipe.
func (t *Tree) Read(name string) ([]byte, error) {
	f, err := openRegular(t.root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxRead+1))
	if err == nil && len(b) > maxRead {
		err = &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("larger than %d bytes", maxRead)}
	}
	return b, err
}

// openRegular opens a file for reading unless it is a folder, pipe or device.
func openRegular(root *os.Root, name string) (*os.File, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "read", Path: name, Err: errors.New("not a regular file")}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Apply writes all changes or none. Each file must still be what its change was
// computed from, else the error is a *[StaleError]. New content is written beside
// the file, synced and renamed over it; the mode is kept. On any error the files
// written so far get their old content back and folders that were made are removed.
func (t *Tree) Apply(changes []edit.Change) error {
	w := writer{root: t.root}
	err := w.prepare(changes)
	if err == nil {
		err = w.commit()
	}
	if err != nil {
		return errors.Join(err, w.rollback())
	}
	return w.syncDirs()
}

// writer is one Apply.
type writer struct {
	root    *os.Root
	files   []*staged
	folders []string // made by this Apply, parents first
}

// staged is one change on its way.
type staged struct {
	edit.Change

	mode fs.FileMode // permission bits the file shall have
	was  fs.FileMode // those it had
	temp string      // new content, not yet in place; "" for a deletion
	done bool        // in place
}

// prepare checks everything and writes the temporary files.
func (w *writer) prepare(changes []edit.Change) error {
	for _, c := range changes {
		s := &staged{Change: c}
		w.files = append(w.files, s)
		if err := w.check(s); err != nil {
			return err
		}
		if c.Delete {
			continue
		}
		if err := w.makeFolders(path.Dir(c.Path)); err != nil {
			return err
		}
		temp, err := w.writeTemp(c.Path, c.After, s.mode)
		if err != nil {
			return fmt.Errorf("write %s: %w", c.Path, err)
		}
		s.temp = temp
	}
	return nil
}

// check compares the disk with what the change was computed from, and fills the modes.
func (w *writer) check(s *staged) error {
	if err := checkEditable(s.Path); err != nil {
		return err
	}
	info, err := w.root.Lstat(s.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
		if s.Existed {
			return &StaleError{Path: s.Path}
		}
		s.mode = 0o644
	case err != nil:
		return fmt.Errorf("look at %s: %w", s.Path, err)
	case !s.Existed || !info.Mode().IsRegular():
		return &StaleError{Path: s.Path}
	default:
		s.mode, s.was = info.Mode().Perm(), info.Mode().Perm()
		now, err := (&Tree{root: w.root}).Read(s.Path)
		if err != nil {
			return fmt.Errorf("read %s: %w", s.Path, err)
		}
		if !bytes.Equal(now, s.Before) {
			return &StaleError{Path: s.Path}
		}
	}
	if m := s.Mode.Perm(); m != 0 {
		s.mode = m
	}
	return nil
}

// checkEditable is the last line of defence below the edit protocol's own rules.
func checkEditable(name string) error {
	if !fs.ValidPath(name) || name == "." {
		return &fs.PathError{Op: "write", Path: name, Err: fs.ErrInvalid}
	}
	for part := range strings.SplitSeq(name, "/") {
		if isDotGit(part) {
			return &fs.PathError{Op: "write", Path: name, Err: errors.New("inside a git folder")}
		}
	}
	return nil
}

// makeFolders makes dir and its missing parents and remembers which it made.
func (w *writer) makeFolders(dir string) error {
	if dir == "." {
		return nil
	}
	if err := w.makeFolders(path.Dir(dir)); err != nil {
		return err
	}
	err := w.root.Mkdir(dir, 0o755)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("make folder %s: %w", dir, err)
	}
	w.folders = append(w.folders, dir)
	return nil
}

// writeTemp writes content beside name and syncs it.
func (w *writer) writeTemp(name string, content []byte, mode fs.FileMode) (string, error) {
	temp := path.Join(path.Dir(name), ".hob-"+rand.Text())
	f, err := w.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	_, err = f.Write(content)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err != nil {
		return "", errors.Join(err, w.root.Remove(temp))
	}
	return temp, nil
}

// commit puts the prepared files in place.
func (w *writer) commit() error {
	for _, s := range w.files {
		var err error
		if s.Delete {
			err = w.root.Remove(s.Path)
		} else {
			err = w.root.Rename(s.temp, s.Path)
		}
		if err != nil {
			return fmt.Errorf("write %s: %w", s.Path, err)
		}
		s.temp, s.done = "", true
	}
	return nil
}

// rollback undoes, last change first, whatever prepare and commit did.
func (w *writer) rollback() error {
	var errs []error
	for i := len(w.files) - 1; i >= 0; i-- {
		s := w.files[i]
		switch {
		case s.temp != "":
			errs = append(errs, w.root.Remove(s.temp))
		case s.done && !s.Existed:
			errs = append(errs, w.root.Remove(s.Path))
		case s.done:
			errs = append(errs, w.restore(s))
		}
	}
	for i := len(w.folders) - 1; i >= 0; i-- {
		errs = append(errs, w.root.Remove(w.folders[i]))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("undo: %w", err)
	}
	return nil
}

func (w *writer) restore(s *staged) error {
	temp, err := w.writeTemp(s.Path, s.Before, s.was)
	if err != nil {
		return err
	}
	return w.root.Rename(temp, s.Path)
}

// syncDirs makes the new names last.
func (w *writer) syncDirs() error {
	synced := map[string]bool{}
	for _, s := range w.files {
		dir := path.Dir(s.Path)
		if synced[dir] {
			continue
		}
		synced[dir] = true
		f, err := w.root.Open(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a later change took the folder away
		}
		if err != nil {
			return fmt.Errorf("sync folder %s: %w", dir, err)
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return fmt.Errorf("sync folder %s: %w", dir, err)
		}
	}
	return nil
}
