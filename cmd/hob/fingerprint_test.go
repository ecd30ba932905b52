package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// fingerprint describes a repository: every file of the work tree and of .git with
// its bytes, mode and time, but for the object store and one branch, which are
// what hob may add to.
func fingerprint(dir, branch string) []byte {
	mayChange := []string{".git/objects", ".git/refs/heads/" + branch, ".git/logs/refs/heads/" + branch}
	var b bytes.Buffer
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(strings.TrimPrefix(path, dir), "/")
		for _, m := range mayChange {
			if name == m {
				if d.IsDir() {
					return fs.SkipDir
				}
				return nil
			}
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		switch {
		case d.IsDir():
			fmt.Fprintf(&b, "%s %v\n", name, info.Mode())
		case info.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			fmt.Fprintf(&b, "%s -> %s %v\n", name, to, err)
		default:
			data, err := os.ReadFile(path)
			fmt.Fprintf(&b, "%s %v %d %x %v\n", name, info.Mode(), info.ModTime().UnixNano(), sha256.Sum256(data), err)
		}
		return nil
	})
	fmt.Fprintln(&b, err)
	return b.Bytes()
}

// lineDiff lists the lines that only one side has.
func lineDiff(a, b []byte) string {
	lines := func(b []byte) map[string]bool {
		m := map[string]bool{}
		for l := range strings.Lines(string(b)) {
			m[l] = true
		}
		return m
	}
	old, now := lines(a), lines(b)
	var out strings.Builder
	for l := range strings.Lines(string(a)) {
		if !now[l] {
			out.WriteString("- " + l)
		}
	}
	for l := range strings.Lines(string(b)) {
		if !old[l] {
			out.WriteString("+ " + l)
		}
	}
	return out.String()
}
