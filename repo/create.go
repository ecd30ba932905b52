package repo

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// createTimeout bounds each git command on a repository that was made just now.
const createTimeout = time.Minute

// Create makes a repository in dir with one commit of files on branch main, and a
// bare one in remote that it pushes to under the name origin. It is how the demo
// begins. Paths in files are relative, with slashes. dir and remote must not exist.
func Create(ctx context.Context, dir, remote string, files map[string][]byte, env []string) error {
	scratch := dir + ".making" // stands in for a state folder, so that no configuration of the user's counts
	if err := os.MkdirAll(filepath.Join(scratch, "tmp"), 0o700); err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, files[name], 0o644); err != nil {
			return err
		}
	}
	g := &git{env: env, state: scratch}
	who := []string{
		"GIT_AUTHOR_NAME=hob demo", "GIT_AUTHOR_EMAIL=demo@localhost",
		"GIT_COMMITTER_NAME=hob demo", "GIT_COMMITTER_EMAIL=demo@localhost",
	}
	for _, args := range [][]string{
		{"init", "--quiet", "--template=", "--bare", "--initial-branch=main", remote},
		{"init", "--quiet", "--template=", "--initial-branch=main", "."},
		{"add", "--all", "."},
		{"commit", "--quiet", "--message=Tell the state of the tide"},
		{"remote", "add", "origin", remote},
		{"push", "--quiet", "origin", "main"},
	} {
		if _, err := g.run(ctx, call{dir: dir, args: args, env: who, timeout: createTimeout}); err != nil {
			return fmt.Errorf("make repository: %w", err)
		}
	}
	return nil
}

// ShowLog returns git's own log of what a branch has beyond main, with the files
// each commit touched, oldest first.
func ShowLog(ctx context.Context, dir, branch string, env []string) (string, error) {
	g := &git{env: env}
	out, err := g.run(ctx, call{
		profile: asUser, dir: dir, timeout: createTimeout,
		args: []string{"log", "--reverse", "--stat", "--no-color", "--no-ext-diff", "main.." + branch},
	})
	return string(out), err
}

// HasBranch reports whether the repository has a branch of exactly that name.
func HasBranch(ctx context.Context, p Place, branch string, env []string) (bool, error) {
	g := &git{env: env}
	out, err := g.run(ctx, call{
		profile: asUser, dir: p.GitDir, gitDir: p.GitDir, timeout: askTimeout, quiet: true,
		args: []string{"rev-parse", "--verify", "--quiet", "refs/heads/" + branch},
	})
	return len(out) > 0, err
}
