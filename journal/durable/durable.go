// Package durable writes files that survive a crash: after power loss a reader
// finds the old bytes or the new bytes, never a mixture.
//
// Three steps make a file durable, and leaving one out loses data on some
// file system: sync the file (fsync(2): "does not necessarily ensure that the
// entry in the directory containing the file has also reached disk"), rename
// it into place (rename(2) is atomic), then sync the directory. [WriteFile]
// does all three; use it for anything small that is replaced whole. For a file
// that grows, open it with [FS.Append] and call [File.Sync] before acting on
// what was written: a write that was not synced never happened.
//
// An error of [File.Sync] is final. Linux drops the dirty pages it could not
// write and reports the error once (PostgreSQL's "fsyncgate", fixed in no
// kernel), so a second Sync that succeeds proves nothing. Close the file, and
// go on only from what can be read back.
//
// Code that must be durable takes an [FS], so that a test can hand it a
// [Crash] and stop the world after any call.
package durable

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// An FS is the handful of calls that decide durability. Every method may be
// called from any goroutine; names are paths of the operating system.
type FS interface {
	// Create opens name for writing, empty, whether or not it existed. It
	// refuses symbolic links, devices and pipes.
	Create(name string, perm os.FileMode) (File, error)
	// Append opens name so that every write lands at its end, and creates it
	// when it is missing. It refuses what Create refuses.
	Append(name string, perm os.FileMode) (File, error)
	// Rename moves old over new. It lasts only after SyncDir of the directory.
	Rename(old, new string) error
	// SyncDir makes renames, removals and new names in directory name last.
	SyncDir(name string) error
	// Remove deletes a file or an empty directory. It lasts only after SyncDir.
	Remove(name string) error
	// MkdirAll makes name with all its parents, and they last when it returns.
	MkdirAll(name string, perm os.FileMode) error
}

// A File is open for writing. It belongs to one goroutine at a time.
type File interface {
	Write(p []byte) (int, error)
	// Sync returns once all that was written is on the device.
	Sync() error
	// Truncate cuts the file to size bytes; Sync makes it last.
	Truncate(size int64) error
	Close() error
}

// OS returns the file system of this machine. Its Sync is fdatasync(2) where
// there is one: the size is flushed, the modification time is not, which saves
// a second write of the file system's own journal for every append.
func OS() FS { return osFS{} }

// WriteFile replaces the content of name: a temporary file in the same
// directory, sync, rename, sync of the directory. When it returns nil the new
// bytes last; when it returns an error, name holds the old bytes or the new
// ones. A process killed half-way leaves a file .name.tmp-… behind, which
// nothing reads.
func WriteFile(fs FS, name string, data []byte, perm os.FileMode) error {
	dir, base := filepath.Split(name)
	temp := filepath.Join(dir, "."+base+".tmp-"+rand.Text())
	if err := writeNew(fs, temp, data, perm); err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", name, err), discard(fs, temp))
	}
	if err := fs.Rename(temp, name); err != nil {
		return errors.Join(fmt.Errorf("replace %s: %w", name, err), discard(fs, temp))
	}
	if err := fs.SyncDir(filepath.Dir(name)); err != nil {
		return fmt.Errorf("replace %s: %w", name, err)
	}
	return nil
}

func writeNew(fs FS, name string, data []byte, perm os.FileMode) error {
	f, err := fs.Create(name, perm)
	if err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := f.Sync(); err != nil {
		return errors.Join(err, f.Close())
	}
	return f.Close()
}

// discard removes a temporary file; one that was never made is fine.
func discard(fs FS, name string) error {
	if err := fs.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove %s: %w", name, err)
	}
	return nil
}

type osFS struct{}

func (osFS) Create(name string, perm os.FileMode) (File, error) {
	return openRegular(name, os.O_TRUNC, perm)
}

func (osFS) Append(name string, perm os.FileMode) (File, error) {
	return openRegular(name, os.O_APPEND, perm)
}

// openRegular never waits for the reader of a pipe (O_NONBLOCK has no effect
// on regular files, open(2)) and never follows a link to somewhere else.
func openRegular(name string, flag int, perm os.FileMode) (File, error) {
	const safe = os.O_WRONLY | os.O_CREATE | syscall.O_NOFOLLOW | syscall.O_NONBLOCK
	f, err := os.OpenFile(name, safe|flag, perm)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if !info.Mode().IsRegular() {
		refused := &fs.PathError{Op: "open", Path: name, Err: errors.New("not a regular file")}
		return nil, errors.Join(refused, f.Close())
	}
	return osFile{f}, nil
}

func (osFS) Rename(old, new string) error { return os.Rename(old, new) }

func (osFS) Remove(name string) error { return os.Remove(name) }

func (osFS) SyncDir(name string) error {
	dir, err := os.Open(name)
	if err != nil {
		return err
	}
	err = dir.Sync()
	// fsync(2) EINVAL: the file system has nothing to sync for a directory.
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		err = nil
	}
	return errors.Join(err, dir.Close())
}

func (o osFS) MkdirAll(name string, perm os.FileMode) error {
	missing, err := missingDirs(name)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(name, perm); err != nil {
		return err
	}
	for _, dir := range missing {
		if err := o.SyncDir(filepath.Dir(dir)); err != nil {
			return fmt.Errorf("sync parent of %s: %w", dir, err)
		}
	}
	return nil
}

// missingDirs lists name and its ancestors that don't exist, outermost first.
func missingDirs(name string) ([]string, error) {
	var missing []string
	for dir := filepath.Clean(name); ; dir = filepath.Dir(dir) {
		_, err := os.Stat(dir)
		if err == nil {
			slices.Reverse(missing)
			return missing, nil
		}
		if !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		missing = append(missing, dir)
		if dir == filepath.Dir(dir) {
			return nil, err
		}
	}
}

type osFile struct{ *os.File }

func (f osFile) Sync() error { return syncData(f.File) }
