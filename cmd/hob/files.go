package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// maxFile is more than any file hob reads in one piece may hold: settings of 256 KiB,
// a TODO.md of 1 MiB. What is cut at it is refused by its own limit.
const maxFile = 2 << 20

// readRegular reads a file whose path others may have chosen: it doesn't wait for who
// writes into a pipe, and doesn't read devices or without end.
func readRegular(name string) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errors.New("not a regular file")}
	}
	return io.ReadAll(io.LimitReader(f, maxFile))
}

// resolved follows the links of the longest part of a path that exists.
func resolved(name string) (string, error) {
	name, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	rest := ""
	for dir := name; ; dir = filepath.Dir(dir) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, rest), nil
		}
		if dir == filepath.Dir(dir) {
			return name, nil
		}
		rest = filepath.Join(filepath.Base(dir), rest)
	}
}

// inside reports whether a path, links followed, lies in a folder.
func inside(dir, name string) (bool, error) {
	dir, err := resolved(dir)
	if err != nil {
		return false, err
	}
	if name, err = resolved(name); err != nil {
		return false, fmt.Errorf("resolve %s: %w", name, err)
	}
	rel, err := filepath.Rel(dir, name)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)), nil
}
