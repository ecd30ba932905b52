package edit_test

import (
	"strings"
	"testing"

	"hob/engine/edit"
)

// create is a block that would make or fill the file at path, whatever its name.
func create(path string) string {
	return "```x title=\"" + path + "\"\n" + block("", "", "boo\n") + "```\n"
}

func TestPaths(t *testing.T) {
	tests := []struct {
		path string
		want string // the file changed, or
		code edit.Code
	}{
		{path: "new/deep/x.go", want: "new/deep/x.go"},
		{path: "./a/../x.go", want: "x.go"},
		{path: "a/x.go", want: "a/x.go"},
		{path: "b/empty.go", want: "empty.go"},
		{path: `dir\new.go`, want: "dir/new.go"},
		{path: `odd\name.go`, want: `odd\name.go`},
		{path: ".github/x.yml", want: ".github/x.yml"},
		{path: ".gitmodules.txt", want: ".gitmodules.txt"},
		{path: "in/x.go", want: "dir/x.go"},
		{path: "chain/x.go", want: "dir/x.go"},
		{path: "dir/up.go", want: "empty.go"},
		{path: "file.go", code: edit.EmptySearch},

		{path: "a\x01b.go", code: edit.BadPath},
		{path: "a\tb.go", code: edit.BadPath},
		{path: "\u0085/../x.go", code: edit.BadPath},
		{path: "x/" + strings.Repeat("n", 256) + ".go", code: edit.BadPath},
		{path: "file.go/x.go", code: edit.BadPath},
		{path: "/etc/x.conf", code: edit.PathEscape},
		{path: `\etc\x.conf`, code: edit.PathEscape},
		{path: `\\host\share\x.go`, code: edit.PathEscape},
		{path: "~/x.go", code: edit.PathEscape},
		{path: "~root/x.go", code: edit.PathEscape},
		{path: `C:\x.go`, code: edit.PathEscape},
		{path: "c:/x.go", code: edit.PathEscape},
		{path: "../x.go", code: edit.PathEscape},
		{path: "dir/../../x.go", code: edit.PathEscape},
		{path: `dir\..\..\x.go`, code: edit.PathEscape},
		{path: `dir/..\..\x.go`, code: edit.PathEscape},
		{path: "../.git/x.go", code: edit.PathEscape},
		{path: ".git/config", code: edit.ProtectedPath},
		{path: "sub/.GiT/hooks/x.sh", code: edit.ProtectedPath},
		{path: `sub\.git\x.sh`, code: edit.ProtectedPath},
		{path: "sub/.git", code: edit.ProtectedPath},
		{path: ".git /x.sh", code: edit.ProtectedPath},
		{path: "GIT~1/x.sh", code: edit.ProtectedPath},
		{path: ".g\u200cit/x.sh", code: edit.ProtectedPath},
		{path: ".git::$INDEX_ALLOCATION/x.sh", code: edit.ProtectedPath},
		{path: "x/../.git/config", code: edit.ProtectedPath},
		{path: "dir/", code: edit.IsDirectory},
		{path: "none/", code: edit.IsDirectory},
		{path: "none/.", code: edit.IsDirectory},
		{path: "dir/sub.d", code: edit.IsDirectory},
		{path: "in/sub.d", code: edit.IsDirectory},
		{path: "out/x.go", code: edit.SymlinkEscape},
		{path: "abs/x.go", code: edit.SymlinkEscape},
		{path: "climb.go", code: edit.SymlinkEscape},
		{path: "nowhere.go", code: edit.SymlinkEscape},
		{path: "nowhere.d/x.go", code: edit.SymlinkEscape},
		{path: "loop/x.go", code: edit.SymlinkEscape},
		{path: "hooks/x.sh", code: edit.ProtectedPath},
	}
	for _, tt := range tests {
		tree := newMemTree(t, map[string]string{"file.go": "content\n", "empty.go": "", `odd\name.go`: "", "dir/a.go": "a\n", "dir/sub.d/b.go": "b\n", ".git/hooks/sample": "x\n"})
		tree.links = map[string]string{
			"in": "dir", "chain": "./in", "dir/up.go": "../empty.go", "out": "../elsewhere", "abs": "/etc",
			"climb.go": "dir/../../file.go", "nowhere.go": "missing.go", "nowhere.d": "missing", "loop": "loop", "hooks": ".git/hooks",
		}
		got := edit.Apply(create(tt.path), edit.SearchReplace, tree)
		changed := ""
		for _, c := range got.Changes {
			changed = c.Path
		}
		if got.Code != tt.code || changed != tt.want {
			t.Errorf("path %q: code %q, changed %q; want %q, %q\n%s", tt.path, got.Code, changed, tt.code, tt.want, got.Feedback)
		}
	}
}

func TestDeviceIsNotRead(t *testing.T) {
	tree := deviceTree{newMemTree(t, map[string]string{"pipe": "x\n"})}
	got := edit.Apply(block("pipe", "x\n", "y\n"), edit.SearchReplace, tree)
	if got.Code != edit.BadPath {
		t.Errorf("edit of a pipe: code %q, want %q", got.Code, edit.BadPath)
	}
}
