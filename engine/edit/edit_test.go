package edit_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/engine/edit"
)

// block writes one search/replace block; the halves end in newlines or are empty.
func block(path, search, replace string) string {
	if path != "" {
		path += "\n"
	}
	return path + "<<<<<<< SEARCH\n" + search + "=======\n" + replace + ">>>>>>> REPLACE\n"
}

func whole(path, content string) string { return path + "\n```\n" + content + "```\n" }

// An applyTest has want for the one file a.go, or the code of the refusal.
type applyTest struct {
	name   string
	format edit.Format
	path   string // of the file, a.go when empty
	file   string
	reply  string
	want   string
	code   edit.Code
}

func runApply(t *testing.T, tests []applyTest) {
	t.Helper()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.path == "" {
				tt.path = "a.go"
			}
			tree := newMemTree(t, map[string]string{tt.path: tt.file})
			got := edit.Apply(tt.reply, tt.format, tree)
			checkResult(t, got)
			if got.Code != tt.code {
				t.Fatalf("Apply(%q) = code %q, want %q\n%s", tt.reply, got.Code, tt.code, got.Feedback)
			}
			if after := tree.after(got.Changes)[tt.path]; tt.code == "" && after != tt.want {
				t.Errorf("Apply(%q) wrote (-want +got):\n%s", tt.reply, cmp.Diff(tt.want, after))
			}
		})
	}
}

func TestMarkers(t *testing.T) {
	const file = "one\ntwo\n"
	runApply(t, []applyTest{
		{name: "five characters", file: file, reply: "a.go\n<<<<< SEARCH\ntwo\n=====\ndos\n>>>>> REPLACE\n", want: "one\ndos\n"},
		{name: "no blank", file: file, reply: "a.go\n<<<<<<<SEARCH\ntwo\n=======\ndos\n>>>>>>>REPLACE\n", want: "one\ndos\n"},
		{name: "indented in a list", file: file, reply: "- `a.go`\n  <<<<<<< SEARCH\n  two\n  =======\n    dos\n  >>>>>>> REPLACE\n", want: "one\n  dos\n"},
		{name: "close of another length", file: file, reply: "a.go\n<<<<<<< SEARCH\ntwo\n=======\ndos\n>>>>>>>> REPLACE\n", want: "one\ndos\n"},
		{name: "close of another indentation", file: file, reply: "a.go\n<<<<<<< SEARCH\ntwo\n=======\ndos\n  >>>>>>> REPLACE\n", code: edit.Truncated},
		{name: "divider of another length", file: file, reply: "a.go\n<<<<<<< SEARCH\ntwo\n=====\ndos\n>>>>>>> REPLACE\n", want: "one\ndos\n"},
		{name: "stray close", file: file, reply: "a.go\n>>>>>>> REPLACE\n", code: edit.Malformed},
		{name: "stray close after a good block", file: file, reply: block("a.go", "two\n", "dos\n") + ">>>>>>> REPLACE\n", code: edit.Malformed},
		{name: "four characters are text", file: file, reply: "a.go\n<<<< SEARCH\ntwo\n====\ndos\n>>>> REPLACE\n", code: edit.NoEdits},
		{
			name: "conflict markers in the file", file: "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n",
			reply: block("a.go", "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n", "b\n"), want: "b\n",
		},
		{name: "no divider leaves a SEARCH that is there", file: file, reply: block("a.go", "uno\n=======\ndue\n", "x\n"), code: edit.Malformed},
		{name: "open only", file: file, reply: "a.go\n<<<<<<< SEARCH\n", code: edit.Truncated},
	})
}

func TestSearchReplace(t *testing.T) {
	runApply(t, []applyTest{
		{name: "later block sees the earlier one", file: "a\n", reply: block("a.go", "a\n", "b\n") + block("", "b\n", "c\n"), want: "c\n"},
		{name: "delete everything", file: "a\n", reply: block("a.go", "a\n", ""), want: ""},
		{name: "blank SEARCH on content", file: "a\n\nb\n", reply: block("a.go", "\n", "x\n"), code: edit.EmptySearch},
		{name: "blank file is filled", file: "\n \n", reply: block("a.go", "", "x\n"), want: "x\n"},
		{name: "only no-ops", file: "a\n", reply: block("a.go", "a\n", "a\n"), code: edit.NoOp},
		{name: "there and back", file: "a\n", reply: block("a.go", "a\n", "b\n") + block("", "b\n", "a\n"), code: edit.NoOp},
		{name: "already applied", file: "a line that is long enough\nx\n", reply: block("a.go", "gone\n", "a line that is long enough\n"), code: edit.AlreadyApplied},
		{name: "a brace is not applied already", file: "}\nx\n", reply: block("a.go", "gone\n", "}\n"), code: edit.NoMatch},
		{name: "unpaired dots", file: "a\nb\nc\n", reply: block("a.go", "a\n...\nc\n", "a\nz\n"), code: edit.BadElision},
		{name: "overlapping hits", file: "x\nx\nx\n", reply: block("a.go", "x\nx\n", "y\n"), code: edit.AmbiguousMatch},
		{name: "NUL in REPLACE", file: "a\n", reply: block("a.go", "a\n", "\x00\n"), code: edit.BinaryFile},
		{name: "bytes that are not UTF-8 in REPLACE", file: "a\n", reply: block("a.go", "a\n", "\xff\n"), code: edit.BadEncoding},
		{name: "ASCII into Latin-1", file: "caf\xe9\nx\n", reply: block("a.go", "x\n", "y\n"), want: "caf\xe9\ny\n"},
		{name: "UTF-8 into Latin-1", file: "caf\xe9\nx\n", reply: block("a.go", "x\n", "é\n"), code: edit.BadEncoding},
		{name: "UTF-16 without a NUL", file: "\xff\xfe\x11\x22", reply: block("a.go", "x\n", "y\n"), code: edit.BinaryFile},
		{name: "grows over the limit", file: "a\n", reply: block("a.go", "a\n", strings.Repeat("x", 2<<20)+"\n"), code: edit.TooLarge},
		{name: "is over the limit", file: strings.Repeat("x", 2<<20) + "\n", reply: block("a.go", "a\n", "b\n"), code: edit.TooLarge},
		{name: "file below a file", file: "a\n", reply: block("a.go/b.go", "", "b\n"), code: edit.BadPath},
		{name: "file below a new file", file: "a\n", reply: block("n.go", "", "b\n") + block("n.go/b.go", "", "b\n"), code: edit.BadPath},
		{name: "new file where a new folder is", file: "a\n", reply: block("n/b.go", "", "b\n") + block("n/", "", "b\n"), code: edit.IsDirectory},
	})
}

func TestLineEndings(t *testing.T) {
	runApply(t, []applyTest{
		{name: "kept line keeps its own", file: "a\r\nb\nc\r\n", reply: block("a.go", "a\nb\nc\n", "a\nx\nb\nc\n"), want: "a\r\nx\r\nb\nc\r\n"},
		{name: "changed line takes that of its predecessor", file: "a\r\nb\nc\r\n", reply: block("a.go", "a\nb\nc\n", "a\nB\nc\n"), want: "a\r\nB\nc\r\n"},
		{name: "lone CR is text", file: "a\rb\n", reply: block("a.go", "a\rb\n", "c\n"), want: "c\n"},
		{name: "deletion before an open end", file: "a\nb\nc", reply: block("a.go", "b\nc\n", "c\n"), want: "a\nc"},
		{name: "open end, CRLF", file: "a\r\nb", reply: block("a.go", "b\n", "b\nc\n"), want: "a\r\nb\r\nc"},
		{name: "blank line at an open end", file: "a\nb", reply: block("a.go", "b\n", "\n"), want: "a\n\n"},
		{name: "BOM is no text", file: "\uFEFFa\n", reply: block("a.go", "a\n", "b\n"), want: "\uFEFFb\n"},
		{name: "BOM of the reply", file: "a\n", reply: "\uFEFF" + block("a.go", "a\n", "b\n"), want: "b\n"},
		{name: "whole file takes the majority", format: edit.FullFile, file: "a\r\nb\nc\r\n", reply: whole("a.go", "a\nb\nx\n"), want: "a\r\nb\nx\r\n"},
		{name: "whole file stays open", format: edit.FullFile, file: "a\nb", reply: whole("a.go", "x\na\n"), want: "x\na"},
	})
}

func TestPlaceholders(t *testing.T) {
	replies := []struct {
		line, path string
		code       edit.Code
	}{
		{line: "// ... existing code ...", code: edit.ElidedContent},
		{line: "  # ... rest of the function", code: edit.ElidedContent},
		{line: "/* … unchanged … */", code: edit.ElidedContent},
		{line: "<!-- rest of the page stays the same -->", code: edit.ElidedContent},
		{line: "// existing code...", code: edit.ElidedContent},
		{line: "-- remaining columns as before", code: edit.ElidedContent},
		{line: "// ...", code: edit.ElidedContent},
		{line: "...", code: edit.ElidedContent},
		{line: "        ...", path: "a.py"},
		{line: "# ...", path: "a.py", code: edit.ElidedContent},
		{line: "// ... existing code ...", path: "a.md"},
		{line: "// keep polling until done..."},
		{line: "x := append(y, rest...)"},
		{line: "// the existing lock guards both"},
		{line: "// was here ... existing code", code: ""},
	}
	var tests []applyTest
	for _, r := range replies {
		path := r.path
		if path == "" {
			path = "a.go"
		}
		tests = append(tests, applyTest{
			name: path + " " + r.line, path: path, file: "a\nb\n",
			reply: block(path, "b\n", r.line+"\n"), want: "a\n" + r.line + "\n", code: r.code,
		})
	}
	tests = append(tests, applyTest{name: "the file has it", file: "// ...\nb\n", reply: block("a.go", "b\n", "// ...\nc\n"), want: "// ...\n// ...\nc\n"})
	runApply(t, tests)
}

func TestWholeFile(t *testing.T) {
	const ff = edit.FullFile
	runApply(t, []applyTest{
		{name: "path in a comment is dropped", format: ff, file: "a\n", reply: "```go\n// a.go\nb\n```\n", want: "b\n"},
		{name: "comment that names no file", format: ff, file: "a\n", reply: "```go\n// z.go\nb\n```\n", code: edit.MissingPath},
		{name: "indented in a list", format: ff, file: "a\n", reply: "1. a.go\n   ```\n   b\n     c\n   ```\n", want: "b\n  c\n"},
		{name: "shorter fences are content", format: ff, path: "a.md", file: "a\n", reply: "a.md\n````\n```\nb\n```\n````\n", want: "```\nb\n```\n"},
		{name: "tilde does not close backticks", format: ff, path: "a.md", file: "a\n", reply: "a.md\n```\n~~~\nb\n~~~\n```\n", want: "~~~\nb\n~~~\n"},
		{name: "inner path after a false end", format: ff, path: "a.md", file: "a\n", reply: "a.md\n```md\n# A\n\n```\nc.yml\n```\n\nend\n```\n", code: edit.AmbiguousFence},
		{name: "empty over content", format: ff, file: "a\n", reply: whole("a.go", ""), code: edit.EmptyContent},
		{name: "blank over content", format: ff, file: "a\n", reply: whole("a.go", "\n\n"), code: edit.EmptyContent},
		{name: "Latin-1", format: ff, file: "\xe9\n", reply: whole("a.go", "b\n"), code: edit.BadEncoding},
		{name: "first line is a title rule", format: ff, path: "a.rst", file: "a\n", reply: whole("a.rst", "=====\nTitle\n=====\n"), want: "=====\nTitle\n=====\n"},
		{name: "block after the file", format: ff, file: "a\n", reply: whole("z.go", "z\n") + block("a.go", "a\n", "b\n"), want: "b\n"},
		{name: "unclosed example", format: ff, file: "a\n", reply: whole("a.go", "b\n") + "\n```sh\ngo test\n", code: edit.Truncated},
		{name: "not read when blocks are asked for", format: edit.SearchReplace, file: "a\n", reply: whole("a.go", "b\n"), code: edit.NoEdits},
		{name: "not read when patches are asked for", format: edit.Patch, file: "a\n", reply: whole("a.go", "b\n"), code: edit.NoEdits},
		{name: "same file by two names", format: ff, file: "a\n", reply: whole("a.go", "b\n") + "\n" + whole("./a.go", "c\n"), code: edit.ConflictingEdits},
	})
}

// TestPathDiscovery puts text above one block and checks which of the files it changes.
func TestPathDiscovery(t *testing.T) {
	const body = "<<<<<<< SEARCH\nold\n=======\nnew\n>>>>>>> REPLACE\n"
	tests := []struct{ above, want string }{
		{"**src/a.go**:\n", "src/a.go"},
		{"File: src/a.go\n", "src/a.go"},
		{"**File:** `src/a.go`\n", "src/a.go"},
		{"- `src/a.go` (modified)\n", "src/a.go"},
		{"// src/a.go\n", "src/a.go"},
		{"2) \"my file.go\"\n", "my file.go"},
		{"my file.go\n", "my file.go"},
		{"LICENSE\n", "LICENSE"},
		{"```go:src/a.go\n", "src/a.go"},
		{"```src/a.go\n", "src/a.go"},
		{"```go {file='src/a.go'}\n", "src/a.go"},
		{"src/a.go\nSome words.\nMore words.\n", "src/a.go"},
		{"src/a.go\nSome words.\nMore words.\nToo many.\n", ""},
		{"b/src/a.go\n", "src/a.go"},
		{"src/./x/../a.go\n", "src/a.go"},
		{"src\\a.go\n", "src/a.go"},
		{"See `src/a.go` and `LICENSE`:\n", ""},
		{"See `src/a.go`, really `src/a.go`:\n", "src/a.go"},
		{"https://example.com/src/a.go\n", ""},
		{"src/*.go\n", ""},
		{"---\n", ""},
		{"go\n", ""},
		{"src\n", ""},
		{"```makefile\n", ""},
		{"src/a.go\n```sh\ngo vet LICENSE\n```\n", "src/a.go"},
		{"```sh\nLICENSE\n```\n", ""},
		{"src/a.go\n<<<<<<< SEARCH\nx\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\nok\n", "src/a.go"},
	}
	for _, tt := range tests {
		tree := newMemTree(t, map[string]string{"src/a.go": "old\n", "my file.go": "old\n", "LICENSE": "old\n", "go": "old\n", "Makefile": "old\n"})
		got := edit.Apply(tt.above+body, edit.SearchReplace, tree)
		found := ""
		for _, c := range got.Changes {
			found = c.Path
		}
		if strings.Contains(tt.above, "SEARCH") { // the first block is broken; what counts is that the path is inherited
			found = got.Failures[len(got.Failures)-1].Path
		}
		if found != tt.want || tt.want == "" && got.Code != edit.MissingPath {
			t.Errorf("Apply with %q above the block: changed %q (%s), want %q", tt.above, found, got.Code, tt.want)
		}
	}
}

func TestPatchesAreRefused(t *testing.T) {
	files := map[string]string{"a.go": "one\n"}
	envelope := "*** Begin Patch\n*** Update File: a.go\n@@\n-one\n+two\n*** End Patch\n"
	unified := "--- a/a.go\n+++ b/a.go\n@@ -1 +1 @@\n-one\n+two\n"
	for _, reply := range []string{
		envelope, unified, "```diff\n" + unified + "```\n", "a.go\n```\n" + envelope + "```\n",
		"diff --git a/a.go b/a.go\nold mode 100644\nnew mode 100755\n", block("a.go", "one\n", "two\n") + unified, envelope + block("a.go", "one\n", "two\n"),
	} {
		for _, f := range []edit.Format{edit.SearchReplace, edit.Patch, edit.FullFile, edit.Auto} {
			got := edit.Apply(reply, f, newMemTree(t, files))
			checkResult(t, got)
			if got.Code != edit.NoEdits || !got.Tried || !strings.Contains(got.Feedback, "patches are not accepted") || !strings.Contains(got.Feedback, "path/to/file.go") {
				t.Errorf("Apply(%q, %s) = %q, tried %v\n%s", reply, f, got.Code, got.Tried, got.Feedback)
			}
		}
	}
}

func TestTried(t *testing.T) {
	tests := []struct {
		format edit.Format
		reply  string
		want   bool
	}{
		{edit.SearchReplace, "All done.\n", false},
		{edit.SearchReplace, "I changed `a.go`:\n\n```go\nx\n```\n", false},
		{edit.SearchReplace, "Run it:\n```sh\ngo test\n```\n", false},
		{edit.SearchReplace, whole("a.go", "b\n"), true},
		{edit.SearchReplace, "```go title=\"a.go\"\nb\n```\n", true},
		{edit.SearchReplace, ">>>>>>> REPLACE\n", true},
		{edit.FullFile, "All done.\n", false},
		{edit.FullFile, "```\nb\n```\n", true},
	}
	for _, tt := range tests {
		got := edit.Apply(tt.reply, tt.format, newMemTree(t, map[string]string{"a.go": "a\n"}))
		if got.Code == "" || got.Tried != tt.want {
			t.Errorf("Apply(%q, %s): code %q, tried %v, want %v", tt.reply, tt.format, got.Code, got.Tried, tt.want)
		}
	}
}

func TestOps(t *testing.T) {
	tree := newMemTree(t, map[string]string{"a.go": "1\r\n2\r\n3\r\n", "b.go": "x\n"})
	tree.links["l.go"] = "b.go"
	reply := block("a.go", "2\n", "2\n2b\n") + block("a.go", "2\n", "2\n2b\n") + block("a.go", "1\n", "1\n") +
		block("n/c.go", "", "new\n") + block("l.go", "x\n", "")
	got := edit.Apply(reply, edit.Auto, tree)
	const sr = edit.SearchReplace
	want := []edit.Op{
		{N: 1, Kind: "update", Path: "a.go", Tier: "eol", StartLine: 2, LinesRemoved: 1, LinesAdded: 2, Format: sr, Warnings: []string{}},
		{N: 2, Kind: "update", Path: "a.go", Format: sr, Warnings: []string{"duplicate_dropped"}},
		{N: 3, Kind: "update", Path: "a.go", Format: sr, Warnings: []string{"noop_skipped"}},
		{N: 4, Kind: "create", Path: "n/c.go", StartLine: 1, LinesAdded: 1, Format: sr, Warnings: []string{}},
		{N: 5, Kind: "update", Path: "b.go", Tier: "exact", StartLine: 1, LinesRemoved: 1, Format: sr, Warnings: []string{}},
	}
	if diff := cmp.Diff(want, got.Ops); diff != "" {
		t.Errorf("ops (-want +got):\n%s", diff)
	}
	changes := []edit.Change{
		{Path: "a.go", Before: []byte("1\r\n2\r\n3\r\n"), After: []byte("1\r\n2\r\n2b\r\n3\r\n"), Existed: true, Mode: 0o644},
		{Path: "n/c.go", After: []byte("new\n"), Mode: 0o644},
		{Path: "b.go", Before: []byte("x\n"), After: []byte{}, Existed: true, Mode: 0o644},
	}
	if diff := cmp.Diff(changes, got.Changes); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

func TestAllFailuresAreTold(t *testing.T) {
	reply := block("a.go", "zz\n", "y\n") + block("b.go", "x\n", "y\n") + block("a.go", "yy\n", "z\n") + block("../c.go", "x\n", "y\n")
	got := edit.Apply(reply, edit.SearchReplace, newMemTree(t, map[string]string{"a.go": "a\n", "b.go": "x\n"}))
	checkResult(t, got)
	want := []edit.Failure{
		{N: 1, Code: edit.NoMatch, Path: "a.go", Message: "SEARCH is not in the file", Lines: 1},
		{N: 3, Code: edit.NoMatch, Path: "a.go", Message: "SEARCH is not in the file", Lines: 1, AfterFailed: true},
		{N: 4, Code: edit.PathEscape, Path: "../c.go", Message: "the path leads out of the repository; use paths relative to its root"},
	}
	if diff := cmp.Diff(want, got.Failures); diff != "" {
		t.Errorf("failures (-want +got):\n%s", diff)
	}
}

// TestHugeReplies feeds what a broken model or an attacker may send. A quadratic step would take minutes; the
// time limit of the test run is what catches it.
func TestHugeReplies(t *testing.T) {
	tree := newMemTree(t, map[string]string{"a.go": strings.Repeat("x\n", 100_000)})
	var blocks strings.Builder
	for range 100_000 {
		blocks.WriteString(block("a.go", "y\n", "z\n"))
	}
	tests := []struct {
		name, reply string
		want        edit.Code
	}{
		{"blocks", blocks.String(), edit.TooLarge},
		{"opens", strings.Repeat("<<<<<<< SEARCH\n", 600_000), edit.TooLarge},
		{"opens of two lengths", strings.Repeat("<<<<<<< SEARCH\n<<<<<<<< SEARCH\n", 300_000), edit.TooLarge},
		{"closes", strings.Repeat(">>>>>>> REPLACE\n", 600_000), edit.TooLarge},
		{"dividers", "a.go\n<<<<<<< SEARCH\n" + strings.Repeat("=======\n", 1_000_000) + ">>>>>>> REPLACE\n", edit.Malformed},
		{"repetitive SEARCH", block("a.go", strings.Repeat("x\n", 99_999)+"y\n", ""), edit.NoMatch},
		{"repetitive hits", block("a.go", strings.Repeat("x\n", 50_000), ""), edit.AmbiguousMatch},
		{"patches", strings.Repeat("diff --git a b\n\n", 600_000), edit.TooLarge},
		{"one line", strings.Repeat("x", 10<<20), edit.NoEdits},
	}
	for _, tt := range tests {
		got := edit.Apply(tt.reply, edit.SearchReplace, tree)
		checkResult(t, got)
		if got.Code != tt.want {
			t.Errorf("%s: code %q, want %q", tt.name, got.Code, tt.want)
		}
	}
	for _, reply := range []string{strings.Repeat("a.go\n```go\nx\n", 500_000), strings.Repeat("```go\n", 1_000_000)} {
		if got := edit.Apply(reply, edit.FullFile, tree); got.Code != edit.Truncated {
			t.Errorf("unclosed fences: code %q, want %q", got.Code, edit.Truncated)
		}
	}
	var many strings.Builder
	for i := range 9_000 {
		many.WriteString(block("a.go", strings.Repeat("y", i%97+1)+"\n", strings.Repeat("z", i+1)[:i/97+1]+"\n"))
	}
	if got := edit.Apply(many.String(), edit.SearchReplace, tree); got.Failures[len(got.Failures)-1].Code != edit.TooLarge {
		t.Errorf("9,000 edits of 100,000 lines end in %q, want %q", got.Failures[len(got.Failures)-1].Code, edit.TooLarge)
	}
}
