package edit_test

import (
	"fmt"
	"strings"
	"testing"

	"hob/engine/edit"
)

func TestFeedback(t *testing.T) {
	const src = "package a\n\nfunc One() int {\n\treturn 1\n}\n\nfunc Two() int {\n\tx := 2\n\treturn x\n}\n\nfunc Three() int {\n\treturn 1\n}\n"
	tests := []struct {
		name, reply string
		want        []string // lines, or parts of lines
		never       string
	}{
		{
			name:  "no_match shows where it diverges, tabs visible",
			reply: block("a.go", "func Two() int {\n\tx := 2\n\treturn y\n}\n", "\n"),
			want: []string{
				"Edit 1 of 1, a.go: no_match", "> func Two() int {", "its first 2 lines are lines 7-8 of the file; then",
				"SEARCH has:   →return y", "line 9 has: →return x", "3 of its 4 lines are near line 7:", "    4| →return 1", "   13| →return 1",
			},
		},
		{
			name:  "trailing blanks are visible",
			reply: block("a.go", "x := 2 \n", "x := 3\n") + block("b.go", "o\n", "p\n"),
			want:  []string{"Nothing was changed; resend every edit.", "no line of the file equals its first line: x := 2·"},
		},
		{
			name:  "same words, other indentation",
			reply: block("a.go", "return x\n", "return y\n"),
			want:  []string{"no line of the file equals its first line: return x"},
		},
		{
			name:  "middle of a line",
			reply: block("a.go", "Two() int\n", "Two() int8\n"),
			want:  []string{"your text is part of line 7; quote the whole line: func Two() int {"},
		},
		{
			name:  "text of another file of the reply",
			reply: block("b.go", "one\n", "two\n") + block("a.go", "other\n", "x\n"),
			want:  []string{"Edit 2 of 2, a.go: no_match", "these lines are in another file, b.go"},
		},
		{
			name:  "ambiguous_match names the functions",
			reply: block("a.go", "\treturn 1\n", "\treturn 2\n"),
			want:  []string{"SEARCH is in the file 2 times", "line 4, inside line 3: func One() int {", "line 13, inside line 12: func Three() int {", "Add lines above or below"},
		},
		{
			name:  "elided_content shows the line",
			reply: block("a.go", "package a\n", "package a\n// ... rest of the file\n"),
			want:  []string{"placeholder: // ... rest of the file", "write out all lines"},
		},
		{
			name:  "malformed shows the format and the line of the reply",
			reply: "a.go\n<<<<<<< SEARCH\nx\n>>>>>>> REPLACE\n",
			want:  []string{"line 2 of the reply", "<<<<<<< SEARCH", ">>>>>>> REPLACE", "path/to/file.go"},
		},
		{
			name:  "file_not_found suggests",
			reply: block("dir/nested/b.go", "x\n", "y\n"),
			want:  []string{"did you mean b.go"},
		},
		{
			name:  "is_directory lists",
			reply: block("dir/", "x\n", "y\n"),
			want:  []string{"  dir/c.go"},
		},
		{
			name:  "security tells no content",
			reply: block("../x.go", "secret text\n", "y\n"),
			want:  []string{"path_escape"},
			never: "secret",
		},
		{
			name:  "truncated asks for less",
			reply: "a.go\n<<<<<<< SEARCH\nx\n",
			want:  []string{"Send fewer edits"},
		},
		{
			name:  "control characters do not come back",
			reply: block("a.go", "\x1b[31mred\n", "x\n"),
			want:  []string{"\uFFFD[31mred"},
			never: "\x1b",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, body := range map[string]string{"a.go": src, "b.go": "one\nother\n", "dir/c.go": "c\n"} {
				writeFile(t, dir+"/"+name, body, 0o644)
			}
			got := edit.Apply(tt.reply, edit.SearchReplace, openRoot(t, dir))
			checkResult(t, got)
			for _, want := range tt.want {
				if !strings.Contains(got.Feedback, want) {
					t.Errorf("feedback lacks %q:\n%s", want, got.Feedback)
				}
			}
			if tt.never != "" && strings.Contains(got.Feedback, tt.never) {
				t.Errorf("feedback holds %q:\n%s", tt.never, got.Feedback)
			}
		})
	}
}

func TestFeedbackIsBounded(t *testing.T) {
	var file, reply strings.Builder
	for i := range 200 {
		fmt.Fprintf(&file, "line %d %s\n", i, strings.Repeat("x", 500))
		reply.WriteString(block("a.go", fmt.Sprintf("line %d %s\nno\n", i, strings.Repeat("x", 500)), "y\n"))
	}
	got := edit.Apply(reply.String()+">>>>>>> REPLACE\n", edit.SearchReplace, newMemTree(t, map[string]string{"a.go": file.String()}))
	checkResult(t, got)
	if len(got.Failures) != 201 || len(got.Feedback) > 60*400 {
		t.Errorf("%d failures in %d bytes:\n%s", len(got.Failures), len(got.Feedback), got.Feedback)
	}
	for _, want := range []string{"Edit 1 of 201", "more\n", "path/to/file.go"} {
		if !strings.Contains(got.Feedback, want) {
			t.Errorf("feedback lacks %q:\n%s", want, got.Feedback)
		}
	}
}
