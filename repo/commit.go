package repo

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// Trailers tie a commit to the run that made it. Empty ones are left out.
type Trailers struct {
	Task          string // id of the item
	Item          string // its text; cut to 72 bytes
	Run           string // ULID of the run
	Base          string // commit the work started from
	ValidatedTree string // tree the validators judged; the commit's own
}

const (
	subjectColumns = 72 // git-commit(1), DISCUSSION, asks for fewer than 50 and most tools show 72
	itemBytes      = 72
)

// Message builds the message of an agent commit: a subject of at most 72 characters
// and the trailers in their fixed order. Text of an item can't start a line of its
// own, so it can't pose as a trailer.
func Message(subject string, t Trailers) string {
	subject = oneLine(subject)
	if utf8.RuneCountInString(subject) > subjectColumns {
		subject = strings.TrimSpace(string([]rune(subject)[:subjectColumns-1])) + "…"
	}
	if subject == "" {
		subject = "Work on an item"
	}
	var b strings.Builder
	b.WriteString(subject + "\n\n")
	for _, line := range []struct{ key, value string }{
		{"Hob-Task", oneLine(t.Task)},
		{"Hob-Item", cutBytes(oneLine(t.Item), itemBytes)},
		{"Hob-Run", oneLine(t.Run)},
		{"Hob-Base", oneLine(t.Base)},
		{"Hob-Validated-Tree", oneLine(t.ValidatedTree)},
	} {
		if line.value != "" {
			fmt.Fprintf(&b, "%s: %s\n", line.key, line.value)
		}
	}
	return b.String()
}

// oneLine turns every run of space and control characters into one blank, and drops
// characters that turn the direction of what follows (CVE-2021-42574).
func oneLine(s string) string {
	s = strings.Map(func(c rune) rune {
		switch {
		case c >= 0x202a && c <= 0x202e, c >= 0x2066 && c <= 0x2069, c == 0x200e, c == 0x200f, c == 0xfeff:
			return -1
		case unicode.IsControl(c), unicode.IsSpace(c):
			return ' '
		}
		return c
	}, strings.ToValidUTF8(s, "\ufffd"))
	return strings.Join(strings.Fields(s), " ")
}

// cutBytes shortens s to n bytes at most without cutting a character.
func cutBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return strings.TrimSpace(s[:n])
}

// Ident is who a commit is by.
type Ident struct{ Name, Email string }

// A CommitSpec is everything a commit is made of; the same spec gives the same id.
type CommitSpec struct {
	Tree    string
	Parent  string
	Message string    // see [Message]
	Author  Ident     // also the committer
	Date    time.Time // used in UTC and whole seconds; never before the parent's
}

// WriteCommit writes a commit object and syncs it; no ref names it yet. Its date is
// the later of Date and the parent's committer date, so that dates never go back
// along the branch, whatever a clock did. Called again it returns the same id.
func (r *Repo) WriteCommit(ctx context.Context, spec CommitSpec) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	o := r.objects()
	tree, err := object.GetTree(o, plumbing.NewHash(spec.Tree))
	if err != nil {
		return "", fmt.Errorf("write commit: read tree %s: %w", spec.Tree, err)
	}
	parent, err := object.GetCommit(o, plumbing.NewHash(spec.Parent))
	if err != nil {
		return "", fmt.Errorf("write commit: read parent %s: %w", spec.Parent, err)
	}
	if err := spec.Author.check(); err != nil {
		return "", fmt.Errorf("write commit: %w", err)
	}
	date := spec.Date.UTC().Truncate(time.Second)
	if before := parent.Committer.When.UTC(); before.After(date) {
		date = before
	}
	by := object.Signature{Name: spec.Author.Name, Email: spec.Author.Email, When: date}
	hash, err := o.encode(&object.Commit{
		Author: by, Committer: by, Message: spec.Message,
		TreeHash: tree.Hash, ParentHashes: []plumbing.Hash{parent.Hash},
	})
	if err != nil {
		return "", fmt.Errorf("write commit: %w", err)
	}
	if err := o.sync(); err != nil {
		return "", fmt.Errorf("sync commit: %w", err)
	}
	if _, err := object.GetCommit(r.objects(), hash); err != nil {
		return "", fmt.Errorf("read back commit %s: %w", hash, err)
	}
	r.step(StepCommit)
	return hash.String(), nil
}

func (i Ident) check() error {
	if i.Name == "" || i.Email == "" {
		return errors.New("the author needs a name and an address")
	}
	if strings.ContainsAny(i.Name+i.Email, "<>\n\x00") {
		return fmt.Errorf("author %q <%q>: characters that a commit can't hold", i.Name, i.Email)
	}
	return nil
}

// Advance moves the store's agent branch to a commit made on top of old. The branch
// must be at oid already, which is success, or at old, at an ancestor of old, or
// absent; else the error is [ErrMoved] and nothing changed.
func (r *Repo) Advance(ctx context.Context, branch, oid, old string) error {
	ref, err := branchRef(branch)
	if err != nil {
		return err
	}
	now, err := r.ref(ctx, ref)
	if err != nil {
		return fmt.Errorf("advance %s: %w", branch, err)
	}
	if now == oid {
		return nil
	}
	if now != "" {
		forward := false
		if old != "" {
			forward, err = r.contains(ctx, old, now)
		}
		if err != nil {
			return fmt.Errorf("advance %s: %w", branch, err)
		}
		if !forward {
			return fmt.Errorf("advance %s from %.10s: it is at %.10s: %w", branch, old, now, ErrMoved)
		}
	}
	if err := r.setRef(ctx, ref, oid, now); err != nil {
		return fmt.Errorf("advance %s: %w", branch, err)
	}
	r.step(StepRef)
	return nil
}

// Wip keeps the tree of an attempt that failed as a commit under refs/hob/wip/<run>,
// and returns that ref's name. It is for people to look at; nothing builds on it.
func (r *Repo) Wip(ctx context.Context, run, tree, parent string) (string, error) {
	ref := "refs/hob/wip/" + run
	if !validRef(ref) {
		return "", fmt.Errorf("keep work of run %q: not a valid name", run)
	}
	oid, err := r.WriteCommit(ctx, CommitSpec{
		Tree: tree, Parent: parent, Message: "Unfinished work of run " + run + "\n",
		Author: Ident{Name: "hob", Email: "hob@localhost"}, Date: time.Unix(0, 0), // the parent's date
	})
	if err != nil {
		return "", fmt.Errorf("keep work of run %s: %w", run, err)
	}
	return ref, r.pin(ctx, ref, oid)
}
