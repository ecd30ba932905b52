package repo_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/engine/edit"
	"hob/repo"
)

func TestApplyIsAllOrNothing(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		changes []edit.Change
		ok      bool
		stale   string
	}{
		{"write, add, delete", []edit.Change{
			change("a", "1\n", "2\n"), {Path: "new/deep/f", After: []byte("n\n")}, {Path: "d/b", Before: []byte("2\n"), Existed: true, Delete: true},
		}, true, ""},
		{"changed since", []edit.Change{change("a", "1\n", "2\n"), change("run.sh", "other", "x")}, false, "run.sh"},
		{"gone since", []edit.Change{{Path: "new/f", After: []byte("n")}, change("gone", "x", "y")}, false, "gone"},
		{"appeared since", []edit.Change{{Path: "a", After: []byte("n")}}, false, "a"},
		{"a link by now", []edit.Change{change("link", "1\n", "x")}, false, "link"},
		{"into a link out", []edit.Change{change("a", "1\n", "2\n"), {Path: "out/f", After: []byte("x")}}, false, ""},
		{"below a file", []edit.Change{change("a", "1\n", "2\n"), {Path: "run.sh/f", After: []byte("x")}}, false, ""},
		{"climbing", []edit.Change{{Path: "../f", After: []byte("x")}}, false, ""},
		{"git", []edit.Change{{Path: "x/.Git/hooks/f", After: []byte("x")}}, false, ""},
		{"a folder", []edit.Change{change("a", "1\n", "2\n"), {Path: "d", After: []byte("x")}}, false, "d"},
		{"last one can't be put in place", []edit.Change{
			change("a", "1\n", "2\n"), {Path: "new/f", After: []byte("n")}, {Path: "e", After: []byte("x")}, {Path: "e/f", After: []byte("x")},
		}, false, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir, outside := t.TempDir(), t.TempDir()
			write(t, filepath.Join(dir, "a"), "1\n")
			write(t, filepath.Join(dir, "d/b"), "2\n")
			write(t, filepath.Join(dir, "run.sh"), "#!\n")
			must(t, os.Chmod(filepath.Join(dir, "run.sh"), 0o755))
			must(t, os.Symlink("a", filepath.Join(dir, "link")))
			must(t, os.Symlink(outside, filepath.Join(dir, "out")))
			tree, err := repo.OpenTree(dir)
			must(t, err)
			defer tree.Close()
			before := contents(t, dir)
			err = tree.Apply(tt.changes)
			if (err == nil) != tt.ok {
				t.Fatalf("Apply = %v, want success %v", err, tt.ok)
			}
			var stale *repo.StaleError
			if got := errors.As(err, &stale); got != (tt.stale != "") || got && stale.Path != tt.stale {
				t.Errorf("Apply = %v, want stale %q", err, tt.stale)
			}
			if diff := cmp.Diff(before, contents(t, dir)); !tt.ok && diff != "" {
				t.Errorf("a refused Apply changed (-before +after):\n%s", diff)
			}
			if tt.ok && (read(t, filepath.Join(dir, "a")) != "2\n" || read(t, filepath.Join(dir, "new/deep/f")) != "n\n" || exists(filepath.Join(dir, "d/b"))) {
				t.Errorf("after Apply: %v", contents(t, dir))
			}
			if left := contents(t, outside); len(left) != 1 {
				t.Errorf("outside: %v", left)
			}
		})
	}
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}

// contents maps every name below dir to its mode and bytes.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	must(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, name)
		all[rel] = info.Mode().String()
		if info.Mode().IsRegular() {
			all[rel] += " " + read(t, name)
		}
		return nil
	}))
	return all
}

func TestApplyKeepsModes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "run.sh"), "1")
	must(t, os.Chmod(filepath.Join(dir, "run.sh"), 0o750))
	tree, err := repo.OpenTree(dir)
	must(t, err)
	defer tree.Close()
	must(t, tree.Apply([]edit.Change{change("run.sh", "1", "2"), {Path: "tool", Mode: 0o755}, {Path: "plain"}}))
	for name, want := range map[string]fs.FileMode{"run.sh": 0o750, "tool": 0o755, "plain": 0o644} {
		info, err := os.Stat(filepath.Join(dir, name))
		must(t, err)
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %v, want %v", name, got, want)
		}
	}
}

func TestReadDoesNotWaitForAPipe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, syscall.Mkfifo(filepath.Join(dir, "p"), 0o600))
	tree, err := repo.OpenTree(dir)
	must(t, err)
	defer tree.Close()
	if _, err := tree.Read("p"); err == nil {
		t.Error("Read of a pipe succeeded")
	}
	if _, err := tree.Read("missing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Read of nothing = %v", err)
	}
}
