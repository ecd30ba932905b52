package edit_test

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"hob/engine/edit"
)

// rootTree is a Tree on disk that cannot leave its folder, and the writer that goes with it.
type rootTree struct{ root *os.Root }

func openRoot(tb testing.TB, dir string) rootTree {
	tb.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { root.Close() })
	return rootTree{root}
}

func (t rootTree) Lstat(name string) (fs.FileInfo, error)     { return t.root.Lstat(name) }
func (t rootTree) Readlink(name string) (string, error)       { return t.root.Readlink(name) }
func (t rootTree) Read(name string) ([]byte, error)           { return t.root.ReadFile(name) }
func (t rootTree) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(t.root.FS(), name) }

func (t rootTree) write(changes []edit.Change) error {
	for _, c := range changes {
		if err := t.root.MkdirAll(path.Dir(c.Path), 0o755); err != nil {
			return err
		}
		if err := t.root.WriteFile(c.Path, c.After, c.Mode); err != nil {
			return err
		}
		if err := t.root.Chmod(c.Path, c.Mode); err != nil {
			return err
		}
	}
	return nil
}

// memTree is a Tree in memory: plain files, folders by implication. It fails the test when it is asked for a
// name that leaves it.
type memTree struct {
	tb    testing.TB
	files map[string]string
	links map[string]string
}

func newMemTree(tb testing.TB, files map[string]string) *memTree {
	return &memTree{tb: tb, files: files, links: map[string]string{}}
}

func (m *memTree) local(name string) {
	if !fs.ValidPath(name) && !strings.ContainsRune(name, '\uFFFD') {
		m.tb.Errorf("the tree was asked for %q", name)
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if _, ok := m.links[dir]; ok {
			m.tb.Errorf("the tree was asked for %q, through the link %s", name, dir)
		}
	}
}

func (m *memTree) Lstat(name string) (fs.FileInfo, error) {
	m.local(name)
	if body, ok := m.files[name]; ok {
		return info{name: path.Base(name), size: int64(len(body)), mode: 0o644}, nil
	}
	if _, ok := m.links[name]; ok {
		return info{name: path.Base(name), mode: fs.ModeSymlink | 0o777}, nil
	}
	for _, set := range []map[string]string{m.files, m.links} {
		for file := range set {
			if name == "." || strings.HasPrefix(file, name+"/") {
				return info{name: path.Base(name), mode: fs.ModeDir | 0o755}, nil
			}
		}
	}
	return nil, &fs.PathError{Op: "lstat", Path: name, Err: fs.ErrNotExist}
}

func (m *memTree) Readlink(name string) (string, error) {
	m.local(name)
	if to, ok := m.links[name]; ok {
		return to, nil
	}
	return "", &fs.PathError{Op: "readlink", Path: name, Err: fs.ErrInvalid}
}

func (m *memTree) Read(name string) ([]byte, error) {
	m.local(name)
	body, ok := m.files[name]
	if !ok {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fs.ErrNotExist}
	}
	return []byte(body), nil
}

// after returns the files as the changes leave them.
func (m *memTree) after(changes []edit.Change) map[string]string {
	out := map[string]string{}
	maps.Copy(out, m.files)
	for _, c := range changes {
		out[c.Path] = string(c.After)
	}
	return out
}

type info struct {
	fs.FileInfo
	name string
	size int64
	mode fs.FileMode
}

func (i info) Name() string      { return i.name }
func (i info) Size() int64       { return i.size }
func (i info) Mode() fs.FileMode { return i.mode }
func (i info) IsDir() bool       { return i.mode.IsDir() }

// snapshot describes everything under dir: mode and content of files, targets of links.
func snapshot(tb testing.TB, dir string) map[string]string {
	tb.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		fi, err := d.Info()
		if err != nil {
			return err
		}
		switch {
		case d.IsDir():
			return nil
		case fi.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(p)
			all[rel] = "link " + to
			return err
		}
		b, err := os.ReadFile(p)
		all[rel] = fi.Mode().Perm().String() + " " + string(b)
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		tb.Fatal(err)
	}
	return all
}
