package repo

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing/format/gitignore"
	"pgregory.net/rapid"
)

// attributeLines are tried against every path, each alone and all together.
func attributeLines() []string {
	return []string{
		"*.psd filter=lfs", "/top filter=lfs", "assets/** filter=lfs", "assets/*.txt -filter", "**/deep filter=x", "a/**/z filter=x",
		"dir/ filter=x", "name filter=x", "[!b]at filter=x", "\"with space\" filter=x", "*.md text -filter", "x !filter",
		"[attr]big filter=lfs diff", "*.big big", "d/e filter", "# *.c filter=x", "!neg filter=x", "** filter=x\n*.go -filter",
	}
}

func attributePaths() []string {
	return []string{
		"a.psd", "d/a.psd", "top", "d/top", "assets/x", "assets/x/y", "assets/n.txt", "assets/x/n.txt", "deep", "q/deep", "q/r/deep",
		"a/z", "a/b/z", "a/b/c/z", "dir/f", "dir", "name", "name/f", "d/name", "bat", "cat", "with space", "m.md", "x", "f.big", "d/e", "k.c", "neg", "m.go",
	}
}

// TestFilteredAgreesWithGit asks git check-attr about the same files.
func TestFilteredAgreesWithGit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	gitHere(t, dir, "init", "-q")
	lines := attributeLines()
	for _, content := range append(lines, strings.Join(lines, "\n")) {
		if err := os.WriteFile(filepath.Join(dir, ".gitattributes"), []byte(content+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		r := rules{filters: filterRules([]byte(content+"\n"), nil, map[string]bool{})}
		out := gitHere(t, dir, append([]string{"check-attr", "-z", "filter", "--"}, attributePaths()...)...)
		fields := strings.Split(out, "\x00")
		for i := 0; i+2 < len(fields); i += 3 {
			name, value := fields[i], fields[i+2]
			want := value != "unset" && value != "unspecified" && value != "set"
			if got := r.filtered(name); got != want {
				t.Errorf("%q: filtered(%s) = %v, git says %s", content, name, got, value)
			}
		}
	}
}

// TestIgnoresAgreesWithGit asks git check-ignore about the same files.
func TestIgnoresAgreesWithGit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	gitHere(t, dir, "init", "-q")
	paths := []string{"a.log", "d/a.log", "build", "d/build", "keep.log", "bat", "cat", "a/b/c", "a/c", "#x", "!y", "sp ", "sp", "doc/a.txt", "doc/d/a.txt"}
	for _, content := range []string{
		"*.log", "/build", "*.log\n!keep.log", "[!b]at", "a/**/c", "\\#x\n# c", "\\!y", "sp\\ ", "sp  ", "doc/*.txt", "**/a.txt", "doc/**", "*.log\r", "\n \n",
	} {
		if err := os.WriteFile(filepath.Join(dir, ".gitignore"), []byte(content+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		r := rules{ignore: gitignore.NewMatcher(ignorePatterns([]byte(content+"\n"), nil))}
		for _, name := range paths {
			cmd := exec.Command("git", "-C", dir, "check-ignore", "-q", "--no-index", "--", name)
			want := cmd.Run() == nil
			got := false // a file is ignored when it or a folder above it is
			for i := range name {
				got = got || name[i] == '/' && r.ignores(name[:i], true)
			}
			if got = got || r.ignores(name, false); got != want {
				t.Errorf("%q: ignores(%q) = %v, git says %v", content, name, got, want)
			}
		}
	}
}

func gitHere(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).Output()
	if err != nil {
		t.Fatalf("git %q: %v", args, err)
	}
	return string(out)
}

// Line ends come back only as a whole, and nothing else about a file changes.
func TestKeepLineEnds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(rapid.StringMatching(`[a-c]{0,3}`), 1, 30).Draw(t, "lines")
		lf := strings.Join(lines, "\n") + "\n"
		crlf := strings.ReplaceAll(lf, "\n", "\r\n")
		for _, pair := range [][2]string{{lf, crlf}, {crlf, lf}, {lf, lf}, {crlf, crlf}} {
			if got := string(keepLineEnds([]byte(pair[0]), []byte(pair[1]))); got != pair[0] {
				t.Fatalf("keepLineEnds(%q, %q) = %q", pair[0], pair[1], got)
			}
		}
		other := rapid.String().Draw(t, "other")
		got := string(keepLineEnds([]byte(other), []byte(lf)))
		if strings.ReplaceAll(got, "\r", "") != lf {
			t.Fatalf("keepLineEnds(%q, %q) = %q", other, lf, got)
		}
	})
}

func FuzzFilterRules(f *testing.F) {
	for i, line := range attributeLines() {
		f.Add(line, attributePaths()[i])
	}
	f.Add("a/ filter=x", "a/b")
	f.Add("/ filter=x", "a")
	f.Add("\"\" filter=x", "a")
	f.Fuzz(func(t *testing.T, line, name string) {
		all := filterRules([]byte("* filter=first\n"+line), nil, map[string]bool{})
		if len(all) == 0 || !all[0].matches(strings.Split(name, "/")) && name != "" {
			t.Errorf("%q: the first line is lost for %q", line, name)
		}
		r := rules{filters: all}
		if got := r.filtered(name); !got && !strings.Contains(line, "filter") {
			t.Errorf("%q takes the filter from %q without a word of filters", line, name)
		}
	})
}

func FuzzParseRemote(f *testing.F) {
	for _, s := range []string{
		"https://u:p@h/r.git", "https://tok@h/r", "ssh://git@h/r", "git@h:o/r", "../r.git", "/abs", "file:///x", "https://a:b%zz@h/", "--upload-pack=x", "https://u:p/w@h/",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u := parseRemote(text, "/root")
		if strings.HasPrefix(u.text, "-") {
			t.Errorf("parseRemote(%q) = %q, which git takes for an option", text, u.text)
		}
		if rest, ok := strings.CutPrefix(u.text, "https://"); ok {
			host, _, _ := strings.Cut(rest, "/")
			if strings.Contains(host, "@") {
				t.Errorf("parseRemote(%q) = %q: the name and password are still there", text, u.text)
			}
		}
	})
}
