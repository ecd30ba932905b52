package repo_test

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"hob/repo"
)

func TestWriteCommitIsDeterministicAndWhatGitMakes(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	parent := b.commit(map[string]string{"a": "1\n"})
	tree := b.git("rev-parse", "HEAD^{tree}")
	r := b.open("")
	_, err := r.Base(t.Context(), "", agent)
	must(t, err)
	c := spec("t1", tree, parent)
	c.Date = date.In(time.FixedZone("odd", 5*3600+1800)).Add(123 * time.Millisecond)
	oid, err := r.WriteCommit(t.Context(), c)
	must(t, err)
	again, err := r.WriteCommit(t.Context(), c)
	must(t, err)
	want := b.git("-c", "user.name=hob", "-c", "user.email=hob@localhost", "commit-tree", "-p", parent, "-m", strings.TrimSuffix(c.Message, "\n"), tree)
	raw := strings.ReplaceAll(b.git("cat-file", "commit", want), " 1767323045 +0000", " 1778051289 +0000")
	if got := b.store("cat-file", "commit", oid); oid != again || got != raw {
		t.Errorf("commit = %s then %s:\n%s\nwant\n%s", oid, again, got, raw)
	}
}

func TestCommitDatesNeverGoBack(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	parent := b.commit(map[string]string{"a": "1\n"}) // on 2026-01-02
	r := b.open("")
	_, err := r.Base(t.Context(), "", agent)
	must(t, err)
	c := spec("t1", b.git("rev-parse", "HEAD^{tree}"), parent)
	c.Date = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	oid, err := r.WriteCommit(t.Context(), c)
	must(t, err)
	if got := b.store("log", "-1", "--format=%ad %cd", "--date=iso-strict", oid); got != "2026-01-02T03:04:05+00:00 2026-01-02T03:04:05+00:00" {
		t.Errorf("dates = %s", got)
	}
}

func TestWriteCommitRefusesWhatIsNotThere(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	parent := b.commit(map[string]string{"a": "1\n"})
	r := b.open("")
	_, err := r.Base(t.Context(), "", agent)
	must(t, err)
	tree := b.git("rev-parse", "HEAD^{tree}")
	for name, c := range map[string]repo.CommitSpec{
		"tree":        {Tree: strings.Repeat("1", 40), Parent: parent, Author: hob},
		"parent":      {Tree: tree, Parent: "", Author: hob},
		"author":      {Tree: tree, Parent: parent},
		"author line": {Tree: tree, Parent: parent, Author: repo.Ident{Name: "a\ncommitter x", Email: "e"}},
	} {
		if oid, err := r.WriteCommit(t.Context(), c); err == nil {
			t.Errorf("WriteCommit with a bad %s = %s", name, oid)
		}
	}
}

func TestAdvanceComparesAndSwaps(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	first := b.commit(map[string]string{"a": "1\n"})
	second := b.commit(map[string]string{"a": "2\n"})
	third := b.commit(map[string]string{"a": "3\n"})
	side := b.git("commit-tree", "-p", first, "-m", "side", "HEAD^{tree}")
	b.git("update-ref", "refs/heads/side", side)
	r := b.open("") // the clone has all of them
	for _, tt := range []struct {
		name, branch, at, oid, old string
		err                        error
	}{
		{"new", "n1", "", second, first, nil},
		{"at old", "n2", first, second, first, nil},
		{"already there", "n3", second, second, first, nil},
		{"behind old", "n4", first, third, second, nil},
		{"elsewhere", "n5", side, third, second, repo.ErrMoved},
		{"ahead", "n6", third, second, first, repo.ErrMoved},
		{"should be absent", "n7", first, second, "", repo.ErrMoved},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.at != "" {
				b.store("update-ref", "refs/heads/"+tt.branch, tt.at)
			}
			if err := r.Advance(t.Context(), tt.branch, tt.oid, tt.old); !errors.Is(err, tt.err) {
				t.Fatalf("Advance = %v, want %v", err, tt.err)
			}
			want := tt.oid
			if tt.err != nil {
				want = tt.at
			}
			if got := b.store("rev-parse", "refs/heads/"+tt.branch); got != want {
				t.Errorf("the branch is at %s, want %s", got, want)
			}
		})
	}
	if err := r.Advance(t.Context(), "n8", strings.Repeat("1", 40), first); err == nil {
		t.Error("Advance to a commit that isn't there succeeded")
	}
}

func TestMessage(t *testing.T) {
	t.Parallel()
	full := repo.Trailers{Task: "t1", Item: strings.Repeat("ü", 40), Run: "R", Base: "B", ValidatedTree: "T"}
	for _, tt := range []struct{ name, subject, want string }{
		{"plain", "Fix it", "Fix it"},
		{"empty", " \n", "Work on an item"},
		{"newlines", "Fix\n\nHob-Task: other\r\nSigned-off-by: x", "Fix Hob-Task: other Signed-off-by: x"},
		{"long", strings.Repeat("ab ", 40), strings.TrimSpace(strings.Repeat("ab ", 24)[:71]) + "…"},
		{"direction", "a\u202eb\x00c\x1b[31m", "ab c [31m"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := tt.want + "\n\nHob-Task: t1\nHob-Item: " + strings.Repeat("ü", 36) + "\nHob-Run: R\nHob-Base: B\nHob-Validated-Tree: T\n"
			if got := repo.Message(tt.subject, full); got != want {
				t.Errorf("Message(%q) = %q, want %q", tt.subject, got, want)
			}
		})
	}
}

// Whatever an item says, a message keeps its shape: one subject, one blank line, one
// block with each trailer once.
func TestMessageKeepsItsShape(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`(Hob-Task: [a-z]+|\n|\r|\x{2028}|\x{85}|[a-z ])*`)).Draw(t, "text")
		got := repo.Message(text, repo.Trailers{Task: "t1", Item: text, Run: "R"})
		subject, block, ok := strings.Cut(got, "\n\n")
		lines := strings.Split(strings.TrimSuffix(block, "\n"), "\n")
		if !ok || subject == "" || strings.Contains(subject, "\n") || utf8.RuneCountInString(subject) > 72 {
			t.Fatalf("Message(%q) = %q", text, got)
		}
		if lines[0] != "Hob-Task: t1" || lines[len(lines)-1] != "Hob-Run: R" || len(lines) > 3 {
			t.Fatalf("trailers of %q = %q", text, lines)
		}
		for _, line := range lines {
			if len(line) > len("Hob-Item: ")+72 || strings.ContainsFunc(line, unicode.IsControl) {
				t.Fatalf("trailer %q of %q", line, text)
			}
		}
	})
}

func TestGitReadsBackTheTrailers(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	parent := b.commit(map[string]string{"a": "1\n"})
	r := b.open("")
	_, err := r.Base(t.Context(), "", agent)
	must(t, err)
	tree := b.git("rev-parse", "HEAD^{tree}")
	c := spec("t1", tree, parent)
	c.Message = repo.Message("x\nHob-Task: forged", repo.Trailers{Task: "t1", Item: "do\n\nHob-Task: forged", Run: "R"})
	oid, err := r.WriteCommit(t.Context(), c)
	must(t, err)
	must(t, r.Advance(t.Context(), agent, oid, parent))
	for _, branch := range []string{agent, oid} {
		landed, err := r.Landed(t.Context(), branch)
		must(t, err)
		if len(landed) != 1 || landed["t1"] != (repo.Landing{Commit: oid, Run: "R"}) {
			t.Errorf("Landed(%s) = %v", branch, landed)
		}
	}
	none, err := r.Landed(t.Context(), "no-such-branch")
	if err != nil || len(none) != 0 {
		t.Errorf("Landed of nothing = %v, %v", none, err)
	}
}

func TestWip(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	parent := b.commit(map[string]string{"a": "1\n"})
	r := b.open("")
	_, err := r.Base(t.Context(), "", agent)
	must(t, err)
	tree := b.git("rev-parse", "HEAD^{tree}")
	ref, err := r.Wip(t.Context(), "01RUN", tree, parent)
	must(t, err)
	if got := b.store("log", "-1", "--format=%T %P", ref); ref != "refs/hob/wip/01RUN" || got != tree+" "+parent {
		t.Errorf("Wip = %s with %s", ref, got)
	}
	if _, err := r.Wip(t.Context(), "../heads/main", tree, parent); err == nil {
		t.Error("Wip wrote outside of its refs")
	}
}
