package repo

import (
	"context"
	"errors"
	"fmt"
)

// Merged reports whether the base holds a commit of an agent branch, as [Repo.Base]
// would find the base now. It asks the user's repository and writes nothing. A commit
// that isn't there isn't merged, nor is any while a person only looks at the agent
// branch: it is the base then, but nobody has merged it.
func (r *Repo) Merged(ctx context.Context, configured, branch, oid string) (bool, error) {
	base, err := r.userBase(ctx, configured, &Base{})
	if err != nil || base.name == "refs/heads/"+branch {
		return false, err
	}
	return r.userContains(ctx, base.oid, oid)
}

// userContains reports whether a tip of the user's repository holds a commit.
func (r *Repo) userContains(ctx context.Context, tip, oid string) (bool, error) {
	if here, err := r.userRef(ctx, oid); err != nil || here == "" {
		return false, err
	}
	_, err := r.git.run(ctx, call{
		gitDir: r.place.GitDir, timeout: askTimeout, args: []string{"merge-base", "--is-ancestor", oid, tip},
	})
	var ge *gitError
	if errors.As(err, &ge) && ge.code == 1 && ge.cause == nil {
		return false, nil // git-merge-base(1): 1 is no, anything else an error
	}
	if err != nil {
		return false, fmt.Errorf("look for %.12s in %.12s: %w", oid, tip, err)
	}
	return true, nil
}

// Looking reports whether the user has an agent branch checked out, in the middle of
// a rebase too. Its TODO file holds hob's own ticks then.
func (r *Repo) Looking(ctx context.Context, branch string) (bool, error) {
	name, err := r.headBranch(ctx)
	return name == "refs/heads/"+branch, err
}

// Ignores reports whether git ignores a path of the work tree: what is written there
// is no change of the user's.
func Ignores(ctx context.Context, p Place, path string, env []string) (bool, error) {
	g := &git{env: env}
	_, err := g.run(ctx, call{profile: asUser, dir: p.Root, timeout: askTimeout, args: []string{"check-ignore", "--quiet", "--", path}})
	var ge *gitError
	if errors.As(err, &ge) && ge.code == 1 && ge.cause == nil {
		return false, nil // git-check-ignore(1): 1 is no
	}
	return err == nil, err
}

// Gone reports whether a published commit has left its branch everywhere hob can see
// without asking the network: the user's repository, and the remote as it was last
// seen there. A branch that was deleted only here lives on at the remote.
func (r *Repo) Gone(ctx context.Context, branch, oid string) (bool, error) {
	here, err := r.userRef(ctx, "refs/heads/"+branch)
	if err != nil {
		return false, err
	}
	there, err := r.ref(ctx, upstreamRef(branch))
	if err != nil {
		return false, err
	}
	if here != "" {
		if known, err := r.userContains(ctx, here, oid); err != nil || known {
			return false, err
		}
	}
	if there != "" {
		if known, err := r.contains(ctx, there, oid); err != nil || known {
			return false, err
		}
	}
	return true, nil
}
