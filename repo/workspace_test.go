package repo_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/repo"
)

// kinds renders changes for comparison.
func kinds(changes []repo.FileChange) []string {
	var out []string
	for _, c := range changes {
		out = append(out, string(c.Kind)+" "+c.Path+" "+c.OldMode+">"+c.Mode)
	}
	return out
}

func findings(fs []repo.Finding) []string {
	var out []string
	for _, f := range fs {
		out = append(out, string(f.Code)+" "+f.Path)
	}
	return out
}

func TestSnapshotIsTheCommitByteForByte(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	files := map[string]string{
		".gitattributes": "*.txt text eol=crlf ident filter=evil\n",
		"lf.txt":         "$Id$\na\nb\n", "doc.md": "ä\n", "d/ünïcode ☃.txt": "x\n", "run.sh": "#!/bin/sh\n",
	}
	for name, content := range files {
		write(t, filepath.Join(b.dir, name), content)
	}
	must(t, os.WriteFile(filepath.Join(b.dir, "crlf.bat"), []byte("a\r\nb\r\n"), 0o644))
	must(t, os.Chmod(filepath.Join(b.dir, "run.sh"), 0o755))
	must(t, os.Symlink("d", filepath.Join(b.dir, "link")))
	must(t, os.Symlink("/etc/passwd", filepath.Join(b.dir, "out")))
	b.git("-c", "core.attributesFile=/dev/null", "-c", "core.safecrlf=false", "add", "-A")
	b.git("commit", "-q", "-m", "all")
	witness := filepath.Join(t.TempDir(), "filter-ran")
	b.git("config", "filter.evil.smudge", "touch "+witness+"; cat")
	write(t, filepath.Join(b.home, ".gitconfig"), "[filter \"evil\"]\n\tsmudge = touch "+witness+"; cat\n\tclean = touch "+witness+"; cat\n")

	ws := snapshot(t, b.open(""), "t1")

	for line := range strings.Lines(b.git("-c", "core.quotePath=false", "ls-tree", "-r", "--format=%(objectmode) %(objectname) %(path)", "HEAD")) {
		mode, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		oid, name, _ := strings.Cut(rest, " ")
		file := filepath.Join(ws.Dir, name)
		var got string
		if mode == "120000" {
			target, err := os.Readlink(file)
			must(t, err)
			got = hashOf(t, b, target)
		} else {
			got = gitIn(t, b.home, "hash-object", "--no-filters", file)
		}
		if got != oid {
			t.Errorf("%s = %s, want %s", name, got, oid)
		}
		info, err := os.Lstat(file)
		must(t, err)
		if exec := info.Mode().Perm()&0o100 != 0; mode != "120000" && exec != (mode == "100755") {
			t.Errorf("%s has mode %v, want %s", name, info.Mode(), mode)
		}
	}
	if _, err := os.Lstat(filepath.Join(ws.Dir, ".git")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the slot has a .git")
	}
	if _, err := os.Lstat(witness); err == nil {
		t.Error("a filter ran")
	}
	frozen, err := ws.Freeze(t.Context())
	must(t, err)
	if want := b.git("rev-parse", "HEAD^{tree}"); frozen.Tree != want || len(frozen.Changes)+len(frozen.Findings) != 0 {
		t.Errorf("Freeze of an untouched tree = %+v, want tree %s", frozen, want)
	}
}

func hashOf(t *testing.T, b *box, content string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "content")
	must(t, os.WriteFile(name, []byte(content), 0o600))
	return gitIn(t, b.home, "hash-object", "--no-filters", name)
}

func TestFreezeWritesWhatGitWouldWrite(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.commit(map[string]string{
		".gitignore": "*.log\n/build/\n!keep.log\n[!a-y]gone\n", "a.txt": "1\n", "dir/x": "x\n", "dir/y": "y\n", "dir.c": "c\n",
		"file": "f\n", "deep/er/est": "e\n", "run.sh": "r\n", "gone": "g\n", "tracked.log": "t\n",
	})
	b.git("add", "-f", "tracked.log")
	b.git("commit", "-q", "-m", "log", "--allow-empty")
	ws := snapshot(t, b.open(""), "t1")
	edit := func(top string) {
		write(t, filepath.Join(top, "a.txt"), "2\n")
		must(t, os.RemoveAll(filepath.Join(top, "dir")))
		write(t, filepath.Join(top, "dir"), "now a file\n")
		must(t, os.Remove(filepath.Join(top, "file")))
		write(t, filepath.Join(top, "file/inside"), "now a folder\n")
		must(t, os.RemoveAll(filepath.Join(top, "deep")))
		must(t, os.Chmod(filepath.Join(top, "run.sh"), 0o755))
		must(t, os.Remove(filepath.Join(top, "gone")))
		write(t, filepath.Join(top, "new/ünï ☃"), "n\n")
		write(t, filepath.Join(top, "empty"), "")
		must(t, os.Symlink("a.txt", filepath.Join(top, "sym")))
		write(t, filepath.Join(top, "x.log"), "ignored\n")
		write(t, filepath.Join(top, "zgone"), "ignored\n")
		write(t, filepath.Join(top, "build/o"), "ignored\n")
		write(t, filepath.Join(top, "sub/keep.log"), "kept\n")
		write(t, filepath.Join(top, "tracked.log"), "changed\n")
		write(t, filepath.Join(top, ".gitignore"), read(t, filepath.Join(top, ".gitignore")))
	}
	edit(ws.Dir)
	frozen, err := ws.Freeze(t.Context())
	must(t, err)
	edit(b.dir)
	b.git("add", "-A")
	if want := b.git("write-tree"); frozen.Tree != want {
		t.Errorf("tree = %s, git says %s\n%s", frozen.Tree, want, b.git("diff", "--stat", "--cached", "HEAD"))
	}
	want := []string{
		"modified a.txt 100644>100644", "deleted deep/er/est 100644>", "added dir >100644", "deleted dir/x 100644>",
		"deleted dir/y 100644>", "added empty >100644", "deleted file 100644>", "added file/inside >100644", "deleted gone 100644>",
		"added new/ünï ☃ >100644", "modified run.sh 100644>100755", "added sub/keep.log >100644", "added sym >120000", "modified tracked.log 100644>100644",
	}
	if diff := cmp.Diff(want, kinds(frozen.Changes)); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	again, err := ws.Freeze(t.Context())
	must(t, err)
	if again.Tree != frozen.Tree {
		t.Errorf("a second Freeze = %s, want %s", again.Tree, frozen.Tree)
	}
	if out, err := tryGit(b.home, "--git-dir="+filepath.Join(b.state, "store.git"), "fsck", "--strict"); err != nil {
		t.Errorf("fsck: %v %s", err, out)
	}
}

func TestFreezeLeavesOutWhatACommitMustNotHold(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.commit(map[string]string{
		"text": "t\n", "sub/keep": "k\n", "model.bin": "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3\n",
		".gitattributes": "*.psd filter=lfs\nassets/** filter=lfs\nassets/*.txt -filter\n", ".gitmodules": "",
	})
	lib := filepath.Join(t.TempDir(), "lib")
	gitIn(t, b.home, "init", "-q", lib)
	gitIn(t, lib, "commit", "-q", "--allow-empty", "-m", "lib")
	b.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", lib, "lib")
	b.git("commit", "-q", "-m", "submodule")

	tests := []struct {
		name string
		do   func(dir string) error
		want string
	}{
		{"git folder", func(d string) error { return os.MkdirAll(filepath.Join(d, "sub/.GIT/hooks"), 0o755) }, "git_dir sub/.GIT"},
		{"git file", func(d string) error { return os.WriteFile(filepath.Join(d, ".git"), []byte("gitdir: /"), 0o600) }, "git_dir .git"},
		{"git for NTFS", func(d string) error { return os.WriteFile(filepath.Join(d, "GIT~1"), nil, 0o600) }, "git_dir GIT~1"},
		{"git for HFS", func(d string) error { return os.WriteFile(filepath.Join(d, ".g\u200cit"), nil, 0o600) }, "git_dir .g\u200cit"},
		{"git with a dot", func(d string) error { return os.WriteFile(filepath.Join(d, ".git. ."), nil, 0o600) }, "git_dir .git. ."},
		{"control character", func(d string) error { return os.WriteFile(filepath.Join(d, "a\nb"), nil, 0o600) }, "bad_name a\nb"},
		{"backslash", func(d string) error { return os.WriteFile(filepath.Join(d, `a\b`), nil, 0o600) }, `bad_name a\b`},
		{"absolute link", func(d string) error { return os.Symlink("/etc/passwd", filepath.Join(d, "l")) }, "symlink_escape l"},
		{"climbing link", func(d string) error { return os.Symlink("../../x", filepath.Join(d, "sub/l")) }, "symlink_escape sub/l"},
		{"link to git", func(d string) error { return os.Symlink("../.git/config", filepath.Join(d, "sub/l")) }, "symlink_escape sub/l"},
		{"link loop", func(d string) error { return os.Symlink("l", filepath.Join(d, "l")) }, "symlink_escape l"},
		{"pipe", func(d string) error { return syscall.Mkfifo(filepath.Join(d, "p"), 0o600) }, "special_file p"},
		{"pipe for a file", func(d string) error {
			return errors.Join(os.Remove(filepath.Join(d, "text")), syscall.Mkfifo(filepath.Join(d, "text"), 0o600))
		}, "special_file text"},
		{"set-id", func(d string) error {
			return errors.Join(os.WriteFile(filepath.Join(d, "s"), nil, 0o600), os.Chmod(filepath.Join(d, "s"), 0o755|fs.ModeSetuid))
		}, "bad_mode s"},
		{"large", func(d string) error {
			return os.WriteFile(filepath.Join(d, "big"), make([]byte, repo.MaxFile+1), 0o600)
		}, "too_large big"},
		{"binary over text", func(d string) error { return os.WriteFile(filepath.Join(d, "text"), []byte("a\x00b"), 0o600) }, "binary_file text"},
		{"pointer", func(d string) error { return os.WriteFile(filepath.Join(d, "model.bin"), []byte("raw"), 0o600) }, "filtered_file model.bin"},
		{"pointer deleted", func(d string) error { return os.Remove(filepath.Join(d, "model.bin")) }, "filtered_file model.bin"},
		{"new filtered", func(d string) error { return os.WriteFile(filepath.Join(d, "a.psd"), []byte("raw"), 0o600) }, "filtered_file a.psd"},
		{"filtered folder", func(d string) error {
			return errors.Join(os.MkdirAll(filepath.Join(d, "assets/x/y"), 0o755), os.WriteFile(filepath.Join(d, "assets/x/y/z"), nil, 0o600))
		}, "filtered_file assets/x/y/z"},
		{"attributes", func(d string) error { return os.WriteFile(filepath.Join(d, "sub/.gitattributes"), nil, 0o600) }, "git_control sub/.gitattributes"},
		{"modules", func(d string) error { return os.Remove(filepath.Join(d, ".gitmodules")) }, "git_control .gitmodules"},
		{"workflow", func(d string) error {
			return errors.Join(os.MkdirAll(filepath.Join(d, ".github/workflows"), 0o755), os.WriteFile(filepath.Join(d, ".github/workflows/ci.yml"), nil, 0o600))
		}, "git_control .github/workflows/ci.yml"},
		{"inside a submodule", func(d string) error { return os.WriteFile(filepath.Join(d, "lib/x"), nil, 0o600) }, "git_link lib"},
		{"submodule removed", func(d string) error { return os.Remove(filepath.Join(d, "lib")) }, "git_link lib"},
		{"submodule replaced", func(d string) error {
			return errors.Join(os.Remove(filepath.Join(d, "lib")), os.WriteFile(filepath.Join(d, "lib"), nil, 0o600))
		}, "git_link lib"},
	}
	r := b.open("")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ws := snapshot(t, r, "t1")
			write(t, filepath.Join(ws.Dir, "fine"), "fine\n")
			must(t, tt.do(ws.Dir))
			frozen, err := ws.Freeze(t.Context())
			must(t, err)
			if diff := cmp.Diff([]string{tt.want}, findings(frozen.Findings)); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"added fine >100644"}, kinds(frozen.Changes)); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFreezeOfAllowedOddities(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.commit(map[string]string{".gitattributes": "assets/** filter=lfs\nassets/*.txt -filter\n[attr]big filter=lfs\n/only big\n", "dos": "1\r\n2\r\n3\r\n"})
	ws := snapshot(t, b.open(""), "t1")
	write(t, filepath.Join(ws.Dir, "assets/note.txt"), "plain\n")
	write(t, filepath.Join(ws.Dir, "sub/only"), "not at the top\n")
	write(t, filepath.Join(ws.Dir, "only"), "filtered by a macro\n")
	write(t, filepath.Join(ws.Dir, "dos"), "1\n2\n3\n")
	must(t, os.Chmod(filepath.Join(ws.Dir, "sub"), 0))
	frozen, err := ws.Freeze(t.Context())
	must(t, err)
	if diff := cmp.Diff([]string{"added assets/note.txt >100644", "added sub/only >100644"}, kinds(frozen.Changes)); diff != "" {
		t.Errorf("changes (-want +got): line ends alone are no change\n%s", diff)
	}
	if diff := cmp.Diff([]string{"filtered_file only"}, findings(frozen.Findings)); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	write(t, filepath.Join(ws.Dir, "dos"), strings.Repeat("same\n", 1)+"1\n2\n3\n")
	frozen, err = ws.Freeze(t.Context())
	must(t, err)
	if got := b.store("cat-file", "blob", frozen.Changes[1].Blob); frozen.Changes[1].Path != "dos" || got != "same\n1\n2\n3" {
		t.Errorf("%v = %q: a file with more changes keeps what was written", frozen.Changes[1], got)
	}
}

func TestChangedSeesEditsThatKeepSizeAndTime(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.commit(map[string]string{"a": "1\n"})
	ws := snapshot(t, b.open(""), "t1")
	info, err := os.Stat(filepath.Join(ws.Dir, "a"))
	must(t, err)
	write(t, filepath.Join(ws.Dir, "a"), "2\n")
	must(t, os.Chtimes(filepath.Join(ws.Dir, "a"), info.ModTime(), info.ModTime()))
	changes, err := ws.Changed()
	must(t, err)
	if diff := cmp.Diff([]string{"modified a 100644>100644"}, kinds(changes)); diff != "" {
		t.Errorf("Changed (-want +got):\n%s", diff)
	}
}

func TestSlotIsUsedAgainWithoutLeaks(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.commit(map[string]string{"a": "1\n", "d/b": "2\n", ".gitignore": "*.o\n"})
	r := b.open("")
	first, err := r.Snapshot(t.Context(), "t1", b.git("rev-parse", "HEAD"))
	must(t, err)
	kept, err := os.Stat(filepath.Join(first.Dir, "d/b"))
	must(t, err)
	write(t, filepath.Join(first.Dir, "x.o"), "ignored\n")
	write(t, filepath.Join(first.Dir, "d/untracked"), "u\n")
	write(t, filepath.Join(first.Dir, "a"), "changed\n")
	gitIn(t, b.home, "init", "-q", filepath.Join(first.Dir, "nested"))
	gitIn(t, b.home, "init", "-q", first.Dir)
	write(t, filepath.Join(first.Dir, "locked/f"), "f\n")
	must(t, os.Chmod(filepath.Join(first.Dir, "locked"), 0o500))
	must(t, first.Remove())

	second := snapshot(t, r, "t2")
	if second.Dir != first.Dir {
		t.Errorf("Dir = %s, want the same slot %s", second.Dir, first.Dir)
	}
	var names []string
	must(t, filepath.WalkDir(second.Dir, func(name string, d fs.DirEntry, err error) error {
		if rel, _ := filepath.Rel(second.Dir, name); !d.IsDir() {
			names = append(names, rel)
		}
		return err
	}))
	if diff := cmp.Diff([]string{".gitignore", "a", "d/b"}, names); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if got := read(t, filepath.Join(second.Dir, "a")); got != "1\n" {
		t.Errorf("a = %q", got)
	}
	now, err := os.Stat(filepath.Join(second.Dir, "d/b"))
	must(t, err)
	if !now.ModTime().Equal(kept.ModTime()) || !os.SameFile(now, kept) {
		t.Error("an untouched file was written again: build caches would miss")
	}
}

func TestSlotReplacedByALinkIsMadeAnew(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	oid := b.commit(map[string]string{"a": "1\n"})
	r := b.open("")
	ws, err := r.Snapshot(t.Context(), "t1", oid)
	must(t, err)
	outside := t.TempDir()
	write(t, filepath.Join(outside, "precious"), "p\n")
	must(t, os.RemoveAll(ws.Dir))
	must(t, os.Symlink(outside, ws.Dir))
	must(t, ws.Remove())
	again := snapshot(t, r, "t1")
	if got := read(t, filepath.Join(outside, "precious")) + read(t, filepath.Join(again.Dir, "a")); got != "p\n1\n" {
		t.Errorf("content = %q", got)
	}
}

func TestTwoWorkspacesDoNotShareASlot(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.commit(map[string]string{"a": "1\n"})
	r := b.open("")
	if one, two := snapshot(t, r, "t1"), snapshot(t, r, "t2"); one.Dir == two.Dir {
		t.Errorf("both are at %s", one.Dir)
	}
}

func TestCheckoutIsCleanAndKeepsTimes(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.commit(map[string]string{"a": "1\n", "b": "1\n"})
	r := b.open("")
	ws := snapshot(t, r, "t1")
	dir, err := r.Checkout(t.Context(), ws.BaseTree, "base")
	must(t, err)
	kept, err := os.Stat(filepath.Join(dir, "b"))
	must(t, err)
	write(t, filepath.Join(dir, "left-over"), "x")
	write(t, filepath.Join(ws.Dir, "a"), "2\n")
	frozen, err := ws.Freeze(t.Context())
	must(t, err)
	again, err := r.Checkout(t.Context(), frozen.Tree, "base")
	must(t, err)
	if again != dir || !strings.HasPrefix(dir, filepath.Join(b.state, "verdict")) {
		t.Errorf("Checkout = %s, then %s", dir, again)
	}
	if _, err := os.Lstat(filepath.Join(dir, "left-over")); err == nil {
		t.Error("a file of an earlier run is still there")
	}
	now, err := os.Stat(filepath.Join(dir, "b"))
	must(t, err)
	if read(t, filepath.Join(dir, "a")) != "2\n" || !now.ModTime().Equal(kept.ModTime()) {
		t.Error("the tree is wrong or an unchanged file was written again")
	}
	for _, name := range []string{"", "..", "a/b", ".git"} {
		if _, err := r.Checkout(t.Context(), frozen.Tree, name); err == nil {
			t.Errorf("Checkout(%q) succeeded", name)
		}
	}
}

func TestRestorePutsBackTheBase(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.commit(map[string]string{"TODO.md": "- [ ] x\n", "d/run.sh": "r\n"})
	must(t, os.Chmod(filepath.Join(b.dir, "d/run.sh"), 0o755))
	must(t, os.Symlink("TODO.md", filepath.Join(b.dir, "l")))
	b.commit(nil)
	ws := snapshot(t, b.open(""), "t1")
	write(t, filepath.Join(ws.Dir, "TODO.md"), "- [x] x\n")
	must(t, os.RemoveAll(filepath.Join(ws.Dir, "d")))
	must(t, os.Remove(filepath.Join(ws.Dir, "l")))
	write(t, filepath.Join(ws.Dir, "l/folder"), "f")
	write(t, filepath.Join(ws.Dir, "hob.toml"), "new")
	for _, name := range []string{"TODO.md", "d/run.sh", "l", "hob.toml", "never/was"} {
		must(t, ws.Restore(name))
	}
	if dirty, err := ws.Dirty(); err != nil || dirty {
		t.Errorf("Dirty = %v, %v", dirty, err)
	}
}

func TestDiff(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.commit(map[string]string{"a": "1\n2\n3\n", "gone": "g\n", "run": "r\n"})
	ws := snapshot(t, b.open(""), "t1")
	write(t, filepath.Join(ws.Dir, "a"), "1\ntwo\n3\n")
	write(t, filepath.Join(ws.Dir, "bin"), "\x00\n")
	must(t, os.Remove(filepath.Join(ws.Dir, "gone")))
	must(t, os.Chmod(filepath.Join(ws.Dir, "run"), 0o755))
	got, err := ws.Diff()
	must(t, err)
	want := `diff --git a/a b/a
--- a/a
+++ b/a
@@ -1,3 +1,3 @@
 1
-2
+two
 3
diff --git a/bin b/bin
new file mode 100644
Binary files /dev/null and b/bin differ
diff --git a/gone b/gone
deleted file mode 100644
--- a/gone
+++ /dev/null
@@ -1 +0,0 @@
-g
diff --git a/run b/run
old mode 100644
new mode 100755
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Diff (-want +got):\n%s", diff)
	}
	write(t, filepath.Join(ws.Dir, "a"), strings.Repeat("line\n", 60_000))
	got, err = ws.Diff()
	must(t, err)
	if len(got) > 132<<10 || !strings.Contains(got, "bytes of this file's diff cut") {
		t.Errorf("Diff has %d bytes and ends %q", len(got), got[len(got)-100:])
	}
}
