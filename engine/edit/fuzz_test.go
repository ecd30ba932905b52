package edit_test

import (
	"io/fs"
	"strings"
	"testing"
	"unicode/utf8"

	"hob/engine/edit"
)

// checkSafe checks what must hold whatever the reply says.
func checkSafe(t *testing.T, reply string, f edit.Format, files, links map[string]string) {
	t.Helper()
	tree := newMemTree(t, files)
	tree.links = links
	got := edit.Apply(reply, f, tree)
	checkResult(t, got)
	if !utf8.ValidString(got.Feedback) {
		t.Errorf("feedback is not UTF-8: %q", got.Feedback)
	}
	seen := map[string]bool{}
	for _, c := range got.Changes {
		if !fs.ValidPath(c.Path) || strings.Contains("/"+strings.ToLower(c.Path)+"/", "/.git/") || links[c.Path] != "" || seen[c.Path] {
			t.Errorf("change of %q", c.Path)
		}
		seen[c.Path] = true
		if string(c.Before) != files[c.Path] || string(c.Before) == string(c.After) && c.Existed {
			t.Errorf("change of %s from %q to %q", c.Path, c.Before, c.After)
		}
	}
	again := edit.Apply(reply, f, tree)
	if again.Code != got.Code || again.Feedback != got.Feedback {
		t.Errorf("a second run gives %q, the first gave %q", again.Feedback, got.Feedback)
	}
}

func seeds(f *testing.F, add func(reply, file string)) {
	for _, c := range loadCases(f) {
		for _, file := range c.Files {
			add(c.Reply, file.Text)
		}
	}
}

func FuzzSearchReplace(f *testing.F) {
	seeds(f, func(reply, file string) { f.Add(reply, file) })
	f.Fuzz(func(t *testing.T, reply, file string) {
		checkSafe(t, reply, edit.SearchReplace, map[string]string{"a.txt": file, "dir/b.go": "x\n", ".git/config": "c\n"}, nil)
		checkSafe(t, block("a.txt", reply, file), edit.SearchReplace, map[string]string{"a.txt": file}, nil)
	})
}

func FuzzFullFile(f *testing.F) {
	seeds(f, func(reply, file string) { f.Add(reply, file) })
	f.Fuzz(func(t *testing.T, reply, file string) {
		files := map[string]string{"a.txt": file, "README.md": "# A\n", ".git/config": "c\n"}
		checkSafe(t, reply, edit.FullFile, files, nil)
		checkSafe(t, "a.txt\n```\n"+reply, edit.Auto, files, nil)
	})
}

func FuzzPath(f *testing.F) {
	for _, c := range loadCases(f) {
		for name, file := range c.Files {
			f.Add(name, file.Symlink)
		}
	}
	f.Add(".GIT/config", "../../x")
	f.Add(`a\..\..\x.go`, "dir/../.git")
	f.Fuzz(func(t *testing.T, path, target string) {
		files := map[string]string{"a.txt": "", "dir/b.go": "", ".git/config": "c\n"}
		links := map[string]string{"in": "dir", "to": target, "dir/up": ".." + "/" + target}
		checkSafe(t, create(path), edit.SearchReplace, files, links)
		checkSafe(t, create("to/"+path), edit.SearchReplace, files, links)
		checkSafe(t, create("dir/up"), edit.SearchReplace, files, links)
	})
}
