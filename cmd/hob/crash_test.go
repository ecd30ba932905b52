package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// A killer kills its own process after so many durable steps: a write that was
// synced, a rename, a git effect. With left 0 it only counts.
type killer struct {
	left int
	log  string
}

func (k *killer) point(name string) {
	if k.log != "" {
		f, err := os.OpenFile(k.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err == nil {
			fmt.Fprintln(f, name)
			_ = f.Close()
		}
	}
	if k.left--; k.left == 0 {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

// TestKilledAfterEachDurableStep works two items, one of them with a repair, and
// kills hob after every single durable step. The next call has to end as if
// nothing had happened: each item landed once, and the user's repository is as it was.
func TestKilledAfterEachDurableStep(t *testing.T) {
	c := newCrashSite(t)
	log := filepath.Join(t.TempDir(), "points")
	if err := c.once(t, filepath.Join(t.TempDir(), "calm"), "HOB_CRASH_AT=0", "HOB_CRASH_LOG="+log); err != nil {
		t.Fatalf("undisturbed: %v", err)
	}
	points := strings.Split(strings.TrimSpace(string(read(t, log))), "\n")
	if len(points) < 50 {
		t.Fatalf("only %d durable steps: %q", len(points), points)
	}
	every := 9 // a sample; all of them take minutes
	if os.Getenv("HOB_TEST_ALL") != "" {
		every = 1
	}
	for n := 1; n <= len(points); n += every {
		t.Run(fmt.Sprintf("%03d", n), func(t *testing.T) {
			t.Parallel()
			c.killAt(t, n, points[n-1])
		})
	}
}

type crashSite struct{ seed string }

// newCrashSite makes the repository that each run copies.
func newCrashSite(t *testing.T) crashSite {
	t.Helper()
	c := crashSite{t.TempDir()}
	c.write(t, "user/TODO.md", "## Pending\n- [ ] say one\n- [ ] say two\n")
	c.write(t, "user/word.txt", "zero\n")
	c.write(t, "config/hob/config.toml", crashConfig)
	c.write(t, "config/hob/script.toml", crashScript)
	c.git(t, "init", "-q", "-b", "main", ".")
	c.git(t, "add", "-A")
	c.git(t, "commit", "-q", "-m", "start")
	c.git(t, "init", "-q", "-b", "main", "--bare", "../remote.git")
	c.git(t, "remote", "add", "origin", "../remote.git")
	c.git(t, "push", "-q", "origin", "main")
	c.write(t, "user/draft.txt", "untracked\n")
	c.write(t, "user/word.txt", "zero, and more to come\n")
	return c
}

const crashConfig = `
[[model]]
provider = "script"
model = "test"
script = "script.toml"
price = { input = 1.0, output = 4.0 }

[[validators]]
name = "test"
run = "grep -q bad word.txt && { echo it is bad; exit 1; }; exit 0"

[sandbox]
mode = "off"
`

const crashScript = `
[[item]]
match = "say one"
  [[item.step]]
  text = """
word.txt
<<<<<<< SEARCH
zero
=======
zero
one
>>>>>>> REPLACE
"""
  [[item.step]]
  text = "done"

[[item]]
match = "say two"
  [[item.step]]
  text = """
word.txt
<<<<<<< SEARCH
one
=======
bad
>>>>>>> REPLACE
"""
  [[item.step]]
  text = "done"
  [[item.step]]
  expect = "it is bad"
  text = """
word.txt
<<<<<<< SEARCH
bad
=======
one
two
>>>>>>> REPLACE
"""
  [[item.step]]
  text = "done"
`

func (c crashSite) write(t *testing.T, name, text string) {
	t.Helper()
	put(t, filepath.Join(c.seed, name), text)
}

func (c crashSite) git(t *testing.T, args ...string) {
	t.Helper()
	git(t, filepath.Join(c.seed, "user"), args...)
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
	cmd.Env = append(os.Environ(),
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_AUTHOR_NAME=A User", "GIT_AUTHOR_EMAIL=user@example.org", "GIT_COMMITTER_NAME=A User", "GIT_COMMITTER_EMAIL=user@example.org")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// once copies the seed to dir, unless it is there, and runs hob once on it.
func (c crashSite) once(t *testing.T, dir string, env ...string) error {
	t.Helper()
	if _, err := os.Stat(dir); err != nil {
		if out, err := exec.Command("cp", "-a", c.seed, dir).CombinedOutput(); err != nil {
			t.Fatalf("copy: %v\n%s", err, out)
		}
	}
	out, err := hobOn(dir, filepath.Join(dir, "user"), env, "once").CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

func (c crashSite) killAt(t *testing.T, n int, point string) {
	dir := filepath.Join(t.TempDir(), "site")
	before := fingerprint(filepath.Join(c.seed, "user"), "agent-dev")
	if err := c.once(t, dir, fmt.Sprintf("HOB_CRASH_AT=%d", n)); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Fatalf("killed after %s: %v", point, err)
	}
	if err := c.once(t, dir); err != nil {
		t.Fatalf("after a kill behind %s: %v", point, err)
	}
	user, remote := filepath.Join(dir, "user"), filepath.Join(dir, "remote.git")
	if now := fingerprint(user, "agent-dev"); !bytes.Equal(before, now) {
		t.Errorf("the repository changed:\n%s", lineDiff(before, now))
	}
	log := git(t, user, "log", "--format=%s%n%b", "main..agent-dev")
	for _, item := range []string{"say one", "say two"} {
		if got := len(regexp.MustCompile(`(?m)^Hob-Item: `+item+`$`).FindAllString(log, -1)); got != 1 {
			t.Errorf("%q landed %d times after a kill behind %s:\n%s", item, got, point, log)
		}
	}
	if a, b := git(t, user, "rev-parse", "agent-dev"), git(t, remote, "rev-parse", "agent-dev"); a != b {
		t.Errorf("the repository has %s, the remote %s", a, b)
	}
	if got := git(t, user, "show", "agent-dev:word.txt"); got != "zero\none\ntwo\n" {
		t.Errorf("word.txt is %q", got)
	}
	git(t, user, "fsck", "--strict", "--no-dangling")
	c.verify(t, dir)
}

// verify runs hob's own check of the record.
func (c crashSite) verify(t *testing.T, dir string) {
	t.Helper()
	if out, err := hobOn(dir, filepath.Join(dir, "user"), nil, "runs", "verify").CombinedOutput(); err != nil {
		t.Errorf("runs verify: %v\n%s", err, out)
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
