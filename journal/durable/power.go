package durable

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// power remembers what a power cut would take back.
type power struct {
	fs FS

	mu      sync.Mutex
	extents []*extent
	entries []entry
}

// An extent is a file that was opened, and how much of it is on the device.
type extent struct {
	name string
	size int64
}

// An entry is a change of a directory that is not on the device.
type entry struct {
	dir  string
	undo func() error
}

func (p *power) opened(name string, created bool) (*extent, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	name = filepath.Clean(name)
	if created {
		p.note(name, func() error { return os.Remove(name) })
	}
	for _, e := range p.extents {
		if e.name == name {
			return e, nil
		}
	}
	info, err := os.Lstat(name)
	if err != nil {
		return nil, err
	}
	e := &extent{name, info.Size()}
	p.extents = append(p.extents, e)
	return e, nil
}

// note is called with mu held.
func (p *power) note(name string, undo func() error) {
	p.entries = append(p.entries, entry{filepath.Dir(name), undo})
}

// kept says that all of a file is on the device.
func (p *power) kept(e *extent) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	info, err := os.Lstat(e.name)
	if err == nil {
		e.size = info.Size()
	}
	return err
}

// synced says that the changes of a directory are on the device.
func (p *power) synced(dir string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	dir = filepath.Clean(dir)
	p.entries = slices.DeleteFunc(p.entries, func(e entry) bool { return e.dir == dir })
}

func (p *power) rename(old, new string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	old, new = filepath.Clean(old), filepath.Clean(new)
	restore, err := backup(new)
	if err != nil {
		return err
	}
	if err := p.fs.Rename(old, new); err != nil {
		return err
	}
	p.extents = slices.DeleteFunc(p.extents, func(e *extent) bool { return e.name == new })
	for _, e := range p.extents {
		if rest, ok := strings.CutPrefix(e.name, old); ok && (rest == "" || rest[0] == filepath.Separator) {
			e.name = new + rest
		}
	}
	p.note(new, func() error { return errors.Join(os.Rename(new, old), restore()) })
	return nil
}

func (p *power) remove(name string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	name = filepath.Clean(name)
	restore, err := backup(name)
	if err != nil {
		return err
	}
	if err := p.fs.Remove(name); err != nil {
		return err
	}
	p.extents = slices.DeleteFunc(p.extents, func(e *extent) bool { return e.name == name })
	p.note(name, restore)
	return nil
}

// backup returns what brings a file back; of a name that isn't there, nothing.
// Folders come back empty, as only empty ones can be removed.
func backup(name string) (restore func() error, err error) {
	info, err := os.Lstat(name)
	if errors.Is(err, os.ErrNotExist) {
		return func() error { return nil }, nil
	}
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return func() error { return os.Mkdir(name, info.Mode().Perm()) }, nil
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return func() error { return os.WriteFile(name, data, info.Mode().Perm()) }, nil
}

// cut takes back what is not on the device, the latest first.
func (p *power) cut() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	for _, e := range p.extents {
		info, err := os.Lstat(e.name)
		if err == nil && info.Size() > e.size {
			err = os.Truncate(e.name, e.size)
		}
		errs = append(errs, err)
	}
	for _, e := range slices.Backward(p.entries) {
		errs = append(errs, e.undo())
	}
	return errors.Join(errs...)
}
