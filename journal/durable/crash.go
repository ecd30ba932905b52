package durable

import (
	"errors"
	"os"
	"sync"
)

// ErrCrashed is what a [Crash] answers from its last moment on.
var ErrCrashed = errors.New("crashed")

// A Crash is an FS for tests that dies at a chosen call: that call and all
// later ones return [ErrCrashed] and do nothing, except that the write that
// dies leaves its first half, as a killed process can. A test runs the same
// work for n = 0, 1, 2 … until [Crash.Crashed] is false, and after each run
// opens the files again through [OS].
//
// Every call of the FS and of its files counts, Close excepted: it releases
// the descriptor whatever happens.
type Crash struct {
	fs FS

	mu    sync.Mutex
	left  int
	dead  bool
	power *power // nil: what was written stays
}

// NewCrash returns an FS that does the first n calls on fs and then dies like
// a killed process: the system still has all that was written.
func NewCrash(fs FS, n int) *Crash { return &Crash{fs: fs, left: n} }

// NewPowerCut returns an FS that does the first n calls on fs and then dies
// like a machine without power, in the worst way POSIX allows: bytes that were
// not synced are gone, and so are new names, renames and removals in
// directories that were not. It undoes them itself, so fs needn't really sync,
// but its names must be those of the operating system.
func NewPowerCut(fs FS, n int) *Crash { return &Crash{fs: fs, left: n, power: &power{fs: fs}} }

// Crashed reports whether the moment came.
func (c *Crash) Crashed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dead
}

// step counts a call. It returns ErrCrashed when the call must not happen;
// first is true for the one that dies.
func (c *Crash) step() (first bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left > 0 {
		c.left--
		return false, nil
	}
	first = !c.dead
	c.dead = true
	if first && c.power != nil {
		return false, errors.Join(ErrCrashed, c.power.cut())
	}
	return first, ErrCrashed
}

// Create implements [FS].
func (c *Crash) Create(name string, perm os.FileMode) (File, error) {
	if _, err := c.step(); err != nil {
		return nil, err
	}
	return c.open(c.fs.Create, name, perm)
}

// Append implements [FS].
func (c *Crash) Append(name string, perm os.FileMode) (File, error) {
	if _, err := c.step(); err != nil {
		return nil, err
	}
	return c.open(c.fs.Append, name, perm)
}

func (c *Crash) open(open func(string, os.FileMode) (File, error), name string, perm os.FileMode) (File, error) {
	_, missing := os.Lstat(name)
	f, err := open(name, perm)
	if err != nil {
		return nil, err
	}
	if c.power == nil {
		return &crashFile{File: f, c: c}, nil
	}
	e, err := c.power.opened(name, missing != nil)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &crashFile{File: f, c: c, extent: e}, nil
}

// Rename implements [FS].
func (c *Crash) Rename(old, new string) error {
	if _, err := c.step(); err != nil {
		return err
	}
	if c.power == nil {
		return c.fs.Rename(old, new)
	}
	return c.power.rename(old, new)
}

// SyncDir implements [FS].
func (c *Crash) SyncDir(name string) error {
	if _, err := c.step(); err != nil {
		return err
	}
	if c.power != nil {
		c.power.synced(name)
	}
	return c.fs.SyncDir(name)
}

// Remove implements [FS].
func (c *Crash) Remove(name string) error {
	if _, err := c.step(); err != nil {
		return err
	}
	if c.power == nil {
		return c.fs.Remove(name)
	}
	return c.power.remove(name)
}

// MkdirAll implements [FS].
func (c *Crash) MkdirAll(name string, perm os.FileMode) error {
	if _, err := c.step(); err != nil {
		return err
	}
	return c.fs.MkdirAll(name, perm)
}

type crashFile struct {
	File

	c      *Crash
	extent *extent // nil: what was written stays
}

func (f *crashFile) Write(p []byte) (int, error) {
	first, err := f.c.step()
	if err == nil {
		return f.File.Write(p)
	}
	if !first {
		return 0, err
	}
	n, torn := f.File.Write(p[:len(p)/2])
	return n, errors.Join(err, torn)
}

func (f *crashFile) Sync() error {
	if _, err := f.c.step(); err != nil {
		return err
	}
	if err := f.File.Sync(); err != nil || f.extent == nil {
		return err
	}
	return f.c.power.kept(f.extent)
}

func (f *crashFile) Truncate(size int64) error {
	if _, err := f.c.step(); err != nil {
		return err
	}
	return f.File.Truncate(size)
}
