package repo

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
)

const (
	// maxDiff bounds the whole text in bytes, for a model's window and a person's patience.
	maxDiff = 128 << 10
	// maxDiffFile bounds what is compared line by line, in bytes of either side.
	maxDiffFile = 1 << 20
)

// Diff returns what changed against the base as a unified diff, at most 128 KiB of
// it: what is cut off is said in the last line.
func (w *Workspace) Diff() (string, error) {
	changes, err := w.Changed()
	if err != nil {
		return "", err
	}
	o := w.repo.objects()
	var b strings.Builder
	for i, c := range changes {
		if b.Len() > maxDiff {
			fmt.Fprintf(&b, "... %d more files changed\n", len(changes)-i)
			break
		}
		part, err := w.diffFile(o, c)
		if err != nil {
			return "", fmt.Errorf("diff %s: %w", c.Path, err)
		}
		if room := max(0, maxDiff-b.Len()); len(part) > room {
			cut := strings.LastIndexByte(part[:room], '\n') + 1
			part = part[:cut] + fmt.Sprintf("... %d bytes of this file's diff cut\n", len(part)-cut)
		}
		b.WriteString(part)
	}
	return b.String(), nil
}

func (w *Workspace) diffFile(o *objects, c FileChange) (string, error) {
	var old, now []byte
	var err error
	if c.OldBlob != "" {
		if old, err = o.content(plumbing.NewHash(c.OldBlob)); err != nil {
			return "", err
		}
	}
	if c.Mode != "" {
		mode, err := filemode.New(c.Mode)
		if err != nil {
			return "", err
		}
		if now, err = w.contentNow(c.Path, mode); err != nil {
			return "", err
		}
	}
	from, to := "a/"+c.Path, "b/"+c.Path
	head := fmt.Sprintf("diff --git %s %s\n", from, to)
	switch {
	case c.Kind == Added:
		head, from = head+"new file mode "+c.Mode+"\n", "/dev/null"
	case c.Kind == Deleted:
		head, to = head+"deleted file mode "+c.OldMode+"\n", "/dev/null"
	case c.Mode != c.OldMode:
		head += "old mode " + c.OldMode + "\nnew mode " + c.Mode + "\n"
	}
	if unreadable(old) || unreadable(now) {
		return head + fmt.Sprintf("Binary files %s and %s differ\n", from, to), nil
	}
	return head + udiff.Unified(from, to, string(old), string(now)), nil
}

// unreadable reports whether content is no text, or too much of it, to compare by lines.
func unreadable(b []byte) bool {
	return len(b) > maxDiffFile || isBinary(b) || !utf8.Valid(b)
}
