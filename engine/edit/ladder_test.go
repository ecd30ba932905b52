package edit_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"hob/engine/edit"
)

// refused is the result of a reply that failed on one file.
func refused(code edit.Code, path string, lines int) edit.Result {
	return edit.Result{Code: code, Tried: true, Failures: []edit.Failure{{N: 1, Code: code, Path: path, Lines: lines}}}
}

func TestLadder(t *testing.T) {
	ok := edit.Result{Tried: true}
	noMatch := refused(edit.NoMatch, "a.go", 100)
	type note struct {
		result edit.Result
		want   edit.Step
		ask    edit.Format
	}
	const sr, ff = edit.SearchReplace, edit.FullFile
	tests := []struct {
		name     string
		override edit.Format
		notes    []note
	}{
		{name: "second miss on a file goes up, success asks for blocks again, the file keeps its rung", notes: []note{
			{noMatch, edit.Retry, sr}, {noMatch, edit.Promoted, ff}, {ok, edit.Applied, sr}, {noMatch, edit.Promoted, ff},
		}},
		{name: "misses on two files are counted apart", notes: []note{
			{noMatch, edit.Retry, sr}, {refused(edit.AmbiguousMatch, "b.go", 9), edit.Retry, sr}, {noMatch, edit.Promoted, ff},
		}},
		{name: "a long file stays", notes: []note{
			{refused(edit.NoMatch, "a.go", 401), edit.Retry, sr}, {refused(edit.NoMatch, "a.go", 401), edit.Retry, sr},
		}},
		{name: "second in a row of bad form goes up", notes: []note{
			{refused(edit.Malformed, "a.go", 0), edit.Retry, sr}, {refused(edit.NoEdits, "", 0), edit.Promoted, ff},
		}},
		{name: "bad form not in a row stays", notes: []note{
			{refused(edit.Malformed, "a.go", 0), edit.Retry, sr}, {refused(edit.AlreadyApplied, "a.go", 9), edit.Retry, sr}, {refused(edit.Malformed, "a.go", 0), edit.Retry, sr},
		}},
		{name: "prose is no attempt", notes: []note{
			{edit.Result{Code: edit.NoEdits}, edit.Retry, sr}, {edit.Result{Code: edit.NoEdits}, edit.Retry, sr}, {edit.Result{Code: edit.NoEdits}, edit.Retry, sr},
		}},
		{name: "truncation never goes up", notes: []note{
			{refused(edit.Truncated, "a.go", 9), edit.Retry, sr}, {refused(edit.Truncated, "a.go", 9), edit.Retry, sr},
		}},
		{name: "truncation brings whole files down", notes: []note{
			{noMatch, edit.Retry, sr}, {noMatch, edit.Promoted, ff}, {refused(edit.Truncated, "a.go", 100), edit.Promoted, sr},
		}},
		{name: "elision brings whole files down", notes: []note{
			{noMatch, edit.Retry, sr}, {noMatch, edit.Promoted, ff}, {refused(edit.ElidedContent, "a.go", 100), edit.Promoted, sr},
		}},
		{name: "an escape is forgiven once in an item", notes: []note{
			{refused(edit.PathEscape, "../x", 0), edit.Retry, sr}, {ok, edit.Applied, sr}, {refused(edit.ProtectedPath, ".git/x", 0), edit.Blocked, sr},
		}},
		{name: "second reply without effect ends", notes: []note{
			{refused(edit.NoOp, "", 0), edit.Retry, sr}, {refused(edit.NoOp, "", 0), edit.GiveUp, sr},
		}},
		{name: "second try at a binary file ends", notes: []note{
			{refused(edit.BinaryFile, "x.bin", 0), edit.Retry, sr}, {refused(edit.BinaryFile, "x.bin", 0), edit.GiveUp, sr},
		}},
		{name: "a stale file costs nothing", notes: []note{
			{noMatch, edit.Retry, sr}, {refused(edit.StaleFile, "a.go", 9), edit.Retry, sr}, {noMatch, edit.Promoted, ff},
		}},
		{name: "a broken tree ends", notes: []note{{refused(edit.IOError, "a.go", 9), edit.GiveUp, sr}}},
		{name: "an override pins the rung", override: ff, notes: []note{
			{noMatch, edit.Retry, ff}, {noMatch, edit.Retry, ff}, {refused(edit.Truncated, "a.go", 9), edit.Retry, ff}, {ok, edit.Applied, ff},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := edit.NewLadder(tt.override)
			for i, n := range tt.notes {
				step := l.Note(n.result)
				if diff := cmp.Diff([]string{string(n.want), string(n.ask)}, []string{string(step), string(l.Format())}); diff != "" {
					t.Fatalf("note %d, %s (-want +got):\n%s", i+1, n.result.Code, diff)
				}
			}
		})
	}
}

// TestProperty_LadderEnds: whatever fails, six refusals in a row end the work, and an override never moves.
func TestProperty_LadderEnds(t *testing.T) {
	codes := []edit.Code{
		edit.NoEdits, edit.Malformed, edit.NoMatch, edit.AmbiguousMatch, edit.ElidedContent, edit.AlreadyApplied, edit.NoOp,
		edit.EmptySearch, edit.FileNotFound, edit.IsDirectory, edit.Truncated, edit.PathEscape, edit.BinaryFile, edit.IOError,
	}
	rapid.Check(t, func(rt *rapid.T) {
		override := rapid.SampledFrom([]edit.Format{"", edit.SearchReplace, edit.FullFile}).Draw(rt, "override")
		l := edit.NewLadder(override)
		for i := range 6 {
			step := l.Note(refused(rapid.SampledFrom(codes).Draw(rt, "code"), rapid.SampledFrom([]string{"", "a", "b"}).Draw(rt, "path"), rapid.IntRange(0, 800).Draw(rt, "lines")))
			if override != "" && (l.Format() != override || step == edit.Promoted) {
				rt.Fatalf("pinned to %s, yet %s and %s", override, step, l.Format())
			}
			if step == edit.GiveUp || step == edit.Blocked {
				return
			}
			if i == 5 {
				rt.Fatalf("six refusals end with %s", step)
			}
		}
	})
}
