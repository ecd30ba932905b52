package repo_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hob/repo"
)

// crashVar, set to a step and a folder, makes the test binary a process that lands an
// item in that folder and kills itself at that step.
const crashVar = "HOB_REPO_TEST_CRASH"

func TestMain(m *testing.M) {
	if point, dir, ok := strings.Cut(os.Getenv(crashVar), "@"); ok {
		oid, err := landIn(context.Background(), dir, func(at string) {
			if at == point {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(oid)
		os.Exit(0)
	}
	home, err := os.MkdirTemp("", "home")
	if err == nil {
		err = ownHome(home)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(home)
	os.Exit(code)
}

// ownHome makes dir the home of everything the tests run.
func ownHome(dir string) error {
	const config = "[user]\n\tname = U\n\temail = u@example.org\n[init]\n\tdefaultBranch = main\n"
	return errors.Join(
		os.Setenv("HOME", dir), os.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, ".config")), os.Setenv("GIT_CONFIG_NOSYSTEM", "1"),
		os.WriteFile(filepath.Join(dir, ".gitconfig"), []byte(config), 0o600),
	)
}

// landIn does what an engine does for one item, from the start.
func landIn(ctx context.Context, top string, step func(string)) (string, error) {
	place, err := repo.Find(ctx, filepath.Join(top, "user"))
	if err != nil {
		return "", err
	}
	r, err := repo.Open(ctx, place, repo.Options{State: filepath.Join(top, "state"), Remote: "origin", Step: step})
	if err != nil {
		return "", err
	}
	base, err := r.Base(ctx, "", agent)
	if err != nil {
		return "", err
	}
	landed, err := r.Landed(ctx, agent)
	if err != nil {
		return "", err
	}
	done, ok := landed["t1"]
	if !ok {
		if done.Commit, err = commitIn(ctx, r, base.OID); err != nil {
			return "", err
		}
	}
	_, err = r.Publish(ctx, agent, done.Commit, "origin")
	return done.Commit, err
}

func commitIn(ctx context.Context, r *repo.Repo, base string) (string, error) {
	ws, err := r.Snapshot(ctx, "t1", base)
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(ws.Dir, "new"), []byte("n\n"), 0o600); err != nil {
		return "", err
	}
	frozen, err := ws.Freeze(ctx)
	if err != nil {
		return "", err
	}
	oid, err := r.WriteCommit(ctx, spec("t1", frozen.Tree, base))
	if err != nil {
		return "", err
	}
	return oid, errors.Join(r.Advance(ctx, agent, oid, base), ws.Remove())
}

// child runs landIn in a process of its own.
func child(t *testing.T, point, top string) (string, error) {
	t.Helper()
	exe, err := os.Executable()
	must(t, err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), crashVar+"="+point+"@"+top)
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func TestKilledAfterAnyStepItLandsOnceAndTheSame(t *testing.T) {
	t.Parallel()
	points := []string{
		repo.StepStore, repo.StepBase, repo.StepObjects, repo.StepCommit, repo.StepRef,
		repo.StepPush + ":" + repo.Here, repo.StepPush + ":origin",
	}
	var want string
	for _, point := range append([]string{"never"}, points...) {
		t.Run(point, func(t *testing.T) {
			b := newBox(t)
			top := filepath.Dir(b.dir)
			write(t, filepath.Join(b.dir, "a"), "1\n")
			b.commit(map[string]string{"a": "1\n", "TODO.md": "- [ ] x\n"})
			origin := b.bare()
			dirty(b)
			before := fingerprint(t, b.dir)

			out, err := child(t, point, top)
			var exit *exec.ExitError
			killed := errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
			if killed != (point != "never") {
				t.Fatalf("the process ended with %v: %s", err, out)
			}
			checkRefs(t, b, origin)
			oid, err := child(t, "never", top)
			if err != nil {
				t.Fatalf("the second process: %v: %s", err, oid)
			}
			if want == "" {
				want = oid
			}
			if oid != want {
				t.Errorf("commit = %s, want %s as without a crash", oid, want)
			}
			for _, dir := range []string{b.dir, origin} {
				if got := gitIn(t, dir, "rev-list", "--count", "--grep=^Hob-Task: t1", agent); got != "1" || gitIn(t, dir, "rev-parse", agent) != oid {
					t.Errorf("%s has %s commits of the item", dir, got)
				}
			}
			checkRefs(t, b, origin)
			if after := fingerprint(t, b.dir); after != before {
				t.Errorf("the user's repository changed\nbefore:\n%s\nafter:\n%s", before, after)
			}
		})
	}
}

// checkRefs looks for half-written refs, left locks and broken objects.
func checkRefs(t *testing.T, b *box, origin string) {
	t.Helper()
	store := filepath.Join(b.state, "store.git")
	for _, dir := range []string{filepath.Join(b.dir, ".git"), origin, store} {
		for name := range contents(t, dir) {
			if strings.HasSuffix(name, ".lock") {
				t.Errorf("%s is left in %s", name, dir)
			}
		}
		if out, err := tryGit(b.home, "--git-dir="+dir, "fsck", "--strict"); err != nil || strings.Contains(out, "broken") {
			t.Errorf("fsck of %s: %v %s", dir, err, out)
		}
	}
}

func TestAHalfMadeStoreIsThrownAway(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	b.commit(map[string]string{"a": "1\n"})
	write(t, filepath.Join(b.state, "store.new/objects/x"), "half")
	write(t, filepath.Join(b.state, "tmp/left"), "half")
	ws := snapshot(t, b.open(""), "t1")
	write(t, filepath.Join(filepath.Dir(ws.Dir), "index.lock"), "")
	must(t, os.Remove(filepath.Join(ws.Dir, "a")))
	again := snapshot(t, b.open(""), "t1")
	if read(t, filepath.Join(again.Dir, "a")) != "1\n" || exists(filepath.Join(b.state, "tmp/left")) {
		t.Error("leftovers of a killed process are still there")
	}
}
