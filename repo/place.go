package repo

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// ErrNoRepository is returned by [Find] outside of any repository.
var ErrNoRepository = errors.New("not a git repository")

// UnsupportedError says why hob can't work with a repository, in words for a person.
type UnsupportedError struct{ Why string }

func (e *UnsupportedError) Error() string { return "repository not supported: " + e.Why }

// Place says where a repository is. All paths are absolute and free of symbolic links.
type Place struct {
	Root      string // top of the work tree; the git folder itself when Bare
	GitDir    string // of this work tree: HEAD and index live here
	CommonDir string // shared by all linked work trees: refs and objects live here
	ID        string // first 16 hex digits of sha256(CommonDir): the same for every linked work tree
	Bare      bool
}

// Find asks git for the repository that dir lies in, so that ceilings, linked work
// trees and .git files count exactly as they do for the user. It reads only.
// Outside a repository the error is [ErrNoRepository]; SHA-256, reftable and
// partial clones, and repositories git itself refuses, are an *[UnsupportedError].
func Find(ctx context.Context, dir string) (Place, error) {
	g := &git{env: os.Environ()}
	out, err := g.run(ctx, call{
		profile: asUser, dir: dir, timeout: askTimeout, keep: []string{"GIT_CEILING_DIRECTORIES", "GIT_DISCOVERY_ACROSS_FILESYSTEM"},
		args: []string{"rev-parse", "--is-bare-repository", "--absolute-git-dir", "--git-common-dir", "--show-object-format"},
	})
	if err != nil {
		return Place{}, foundNothing(err)
	}
	lines := strings.Split(strings.TrimRight(string(out), "\n"), "\n")
	if len(lines) != 4 {
		return Place{}, fmt.Errorf("find repository of %s: git said %q", dir, out)
	}
	if lines[3] != "sha1" {
		return Place{}, &UnsupportedError{Why: "its object format is " + lines[3] + ", hob reads sha1"}
	}
	p := Place{Bare: lines[0] == "true", GitDir: lines[1], CommonDir: lines[2]}
	if !filepath.IsAbs(p.CommonDir) {
		p.CommonDir = filepath.Join(dir, p.CommonDir)
	}
	p.Root = p.GitDir
	if !p.Bare {
		top, err := g.run(ctx, call{profile: asUser, dir: dir, timeout: askTimeout, args: []string{"rev-parse", "--show-toplevel"}})
		if err != nil {
			return Place{}, foundNothing(err)
		}
		p.Root = strings.TrimSuffix(string(top), "\n")
	}
	if err := p.resolve(); err != nil {
		return Place{}, err
	}
	return p, g.checkKind(ctx, p)
}

// askTimeout bounds questions that git answers from a few small files.
const askTimeout = 30 * time.Second

func (p *Place) resolve() error {
	for _, name := range []*string{&p.Root, &p.GitDir, &p.CommonDir} {
		abs, err := filepath.Abs(*name)
		if err != nil {
			return fmt.Errorf("resolve %s: %w", *name, err)
		}
		if *name, err = filepath.EvalSymlinks(abs); err != nil {
			return fmt.Errorf("resolve %s: %w", abs, err)
		}
	}
	sum := sha256.Sum256([]byte(p.CommonDir))
	p.ID = hex.EncodeToString(sum[:])[:16]
	return nil
}

// checkKind refuses the layouts that go-git, or a store cloned with hard links,
// would read wrongly instead of failing.
func (g *git) checkKind(ctx context.Context, p Place) error {
	out, err := g.run(ctx, call{
		profile: asUser, dir: p.GitDir, gitDir: p.GitDir, timeout: askTimeout, quiet: true,
		args: []string{"config", "--local", "--get-regexp", `^(remote\..*\.promisor|extensions\.(partialclone|refstorage))$`},
	})
	if err != nil {
		return err
	}
	for line := range bytes.Lines(out) {
		key, value, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
		switch {
		case key == "extensions.refstorage" && value != "files":
			return &UnsupportedError{Why: "its refs are stored as " + value + ", hob reads files"}
		case key == "extensions.partialclone", strings.HasSuffix(key, ".promisor") && value != "false":
			return &UnsupportedError{Why: "it is a partial clone; fetch the missing objects and unset " + key}
		}
	}
	return nil
}

// foundNothing names what git refused while looking for a repository.
func foundNothing(err error) error {
	var ge *gitError
	if !errors.As(err, &ge) {
		return err
	}
	switch ge.says {
	case saysNoRepository:
		return ErrNoRepository
	case saysDubious:
		return &UnsupportedError{Why: "it belongs to another user and git trusts it only when safe.directory lists it"}
	case saysExtension:
		return &UnsupportedError{Why: "git here doesn't know its format: " + ge.stderr}
	case saysNoWorkTree:
		return &UnsupportedError{Why: "this is the inside of a git folder; go to its work tree"}
	}
	return err
}
