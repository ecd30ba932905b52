package edit_test

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hob/engine/edit"
)

// deviceTree calls every file a named pipe and fails when one is read.
type deviceTree struct{ *memTree }

func (d deviceTree) Lstat(name string) (fs.FileInfo, error) {
	fi, err := d.memTree.Lstat(name)
	if err != nil || fi.IsDir() {
		return fi, err
	}
	return info{name: path.Base(name), mode: fs.ModeNamedPipe | 0o644}, nil
}

func (d deviceTree) Read(name string) ([]byte, error) {
	d.tb.Errorf("read of the device %s", name)
	return nil, fs.ErrPermission
}

// lines draws lines from a small alphabet, so that matches, ambiguities and blanks are common.
func lines(t *rapid.T, label string, least, most int) []string {
	return rapid.SliceOfN(rapid.SampledFrom([]string{"", "a", "b", "\tb", "c ", "}", "func f() {", "é", "..."}), least, most).Draw(t, label)
}

func join(lines []string, end string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, end) + end
}

// TestProperty_OnlyReportedLinesChange replays what is reported: outside the ranges every byte must be the
// file's own, and an error must leave everything.
func TestProperty_OnlyReportedLinesChange(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var file strings.Builder
		for i, line := range lines(rt, "file", 0, 12) {
			file.WriteString(line + rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(rt, fmt.Sprint("end", i)))
		}
		body := file.String()
		if rapid.Bool().Draw(rt, "open end") {
			body = strings.TrimSuffix(strings.TrimSuffix(body, "\n"), "\r")
		}
		var reply strings.Builder
		for i := range rapid.IntRange(1, 4).Draw(rt, "blocks") {
			reply.WriteString(block("a.c", join(lines(rt, fmt.Sprint("search", i), 0, 3), "\n"), join(lines(rt, fmt.Sprint("replace", i), 0, 3), "\n")))
		}
		tree := newMemTree(t, map[string]string{"a.c": body})
		got := edit.Apply(reply.String(), edit.SearchReplace, tree)
		checkResult(t, got)
		after := tree.after(got.Changes)["a.c"]
		if got.Code != "" && after != body {
			rt.Fatalf("refused with %s, yet changed", got.Code)
		}
		want := strings.SplitAfter(body, "\n")
		for _, o := range got.Ops {
			if o.LinesRemoved+o.LinesAdded > 0 {
				fresh := make([]string, o.LinesAdded) // "" stands for any line
				want = slices.Replace(want, o.StartLine-1, o.StartLine-1+o.LinesRemoved, fresh...)
			}
		}
		have := strings.SplitAfter(after, "\n")
		for i := range max(len(want), len(have)) {
			// The line before an appended one gains its ending: only then may a reported neighbour differ.
			if i < len(want) && i < len(have) && want[i] != "" && want[i] != have[i] && strings.TrimRight(want[i], "\r\n") != strings.TrimRight(have[i], "\r\n") {
				rt.Fatalf("line %d is %q, want %q", i+1, have[i], want[i])
			}
			if i < len(want) && i < len(have) && strings.HasSuffix(want[i], "\n") && want[i] != have[i] {
				rt.Fatalf("line %d lost its ending: %q, want %q", i+1, have[i], want[i])
			}
		}
		if got.Code == "" && max(len(want)-len(have), len(have)-len(want)) > 1 {
			rt.Fatalf("%d lines, reported %d:\n%q", len(have), len(want), after)
		}
	})
}

// TestProperty_InverseRestores swaps SEARCH and REPLACE of an edit that applied.
func TestProperty_InverseRestores(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		end := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(rt, "end")
		head, tail := lines(rt, "head", 0, 6), lines(rt, "tail", 0, 6)
		search := append(lines(rt, "search", 0, 3), "only here")
		replace := append(lines(rt, "replace", 0, 3), "and now this")
		body := join(slices.Concat(head, search, tail), end)
		if rapid.Bool().Draw(rt, "open end") && len(head) > 0 && !strings.HasSuffix(body, end+end) { // a lone open line shows no style
			body = strings.TrimSuffix(body, end)
		}
		if rapid.Bool().Draw(rt, "bom") {
			body = "\uFEFF" + body
		}
		there := edit.Apply(block("a.py", join(search, "\n"), join(replace, "\n")), edit.SearchReplace, newMemTree(t, map[string]string{"a.py": body}))
		if there.Code != "" {
			rt.Fatalf("refused: %s", there.Feedback)
		}
		changed := string(there.Changes[0].After)
		back := edit.Apply(block("a.py", join(replace, "\n"), join(search, "\n")), edit.SearchReplace, newMemTree(t, map[string]string{"a.py": changed}))
		if back.Code != "" {
			rt.Fatalf("inverse refused: %s", back.Feedback)
		}
		if got := string(back.Changes[0].After); got != body {
			rt.Fatalf("there and back gives %q, want %q (over %q)", got, body, changed)
		}
	})
}

// TestProperty_WholeFile checks that a whole file arrives as it was written.
func TestProperty_WholeFile(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		content := join(append(lines(rt, "content", 0, 8), "end"), "\n")
		old := join(lines(rt, "old", 0, 8), "\n")
		tree := newMemTree(t, map[string]string{"a.py": old})
		got := edit.Apply("a.py\n````python\n"+content+"````\n", edit.FullFile, tree)
		checkResult(t, got)
		if after := tree.after(got.Changes)["a.py"]; got.Code == "" && after != content || got.Code == edit.NoOp && old != content {
			rt.Fatalf("code %q, content %q, want %q", got.Code, after, content)
		}
		if got.Code != "" && got.Code != edit.NoOp {
			rt.Fatalf("refused: %s", got.Feedback)
		}
	})
}
