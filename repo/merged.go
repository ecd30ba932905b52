package repo

import (
	"context"
	"errors"
	"fmt"
)

// Merged reports whether the base holds a commit, as [Repo.Base] would find the
// base now. It asks the user's repository and writes nothing. A commit that isn't
// there isn't merged.
func (r *Repo) Merged(ctx context.Context, configured, oid string) (bool, error) {
	base, err := r.userBase(ctx, configured, &Base{})
	if err != nil {
		return false, err
	}
	if here, err := r.userRef(ctx, oid); err != nil || here == "" {
		return false, err
	}
	_, err = r.git.run(ctx, call{
		gitDir: r.place.GitDir, timeout: askTimeout, args: []string{"merge-base", "--is-ancestor", oid, base.oid},
	})
	var ge *gitError
	if errors.As(err, &ge) && ge.code == 1 && ge.cause == nil {
		return false, nil // git-merge-base(1): 1 is no, anything else an error
	}
	if err != nil {
		return false, fmt.Errorf("look for %.12s in the base: %w", oid, err)
	}
	return true, nil
}
