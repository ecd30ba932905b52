package main

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
	"time"
)

// A held site is a repository whose validator, once the change is made, waits for
// the test: hob is held in the middle of an item.
type held struct {
	dir, user string
}

func newHeld(t *testing.T) held {
	t.Helper()
	h := held{dir: t.TempDir()}
	h.user = filepath.Join(h.dir, "user")
	put(t, filepath.Join(h.user, "TODO.md"), "- [ ] Say it\n  The letter is b.\n")
	put(t, filepath.Join(h.user, "a.txt"), "a\n")
	git(t, h.user, "init", "-q", "-b", "main", ".")
	git(t, h.user, "add", "-A")
	git(t, h.user, "commit", "-q", "-m", "start")
	put(t, filepath.Join(h.dir, "config/hob/script.toml"), heldScript)
	put(t, filepath.Join(h.dir, "config/hob/config.toml"), fmt.Sprintf(heldConfig, h.dir, h.dir))
	return h
}

const heldConfig = `
[autonomous]
stop_grace = "20s"

[[model]]
provider = "script"
model = "test"
script = "script.toml"
price = { input = 1.0, output = 4.0 }

[[validators]]
name = "held"
run = "grep -qx a a.txt && exit 0; touch %s/holding; while ! test -e %s/go; do sleep 0.05; done"

[sandbox]
mode = "off"
`

const heldScript = `
[[item]]
match = "Say"
  [[item.step]]
  text = """
a.txt
<<<<<<< SEARCH
a
=======
b
>>>>>>> REPLACE
"""
  [[item.step]]
  text = "done"
  [[item.step]]
  expect = "letter is c"
  text = """
a.txt
<<<<<<< SEARCH
a
=======
c
>>>>>>> REPLACE
"""
  [[item.step]]
  text = "done"
`

// start runs hob until it is held, or to its end where nothing holds it.
func (h held) start(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := hobOn(h.dir, h.user, nil, args...)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("hob %s:\n%s", strings.Join(args, " "), out.String())
		}
	})
	return cmd
}

// hold waits until the validator holds hob.
func (h held) hold(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := os.Stat(filepath.Join(h.dir, "holding")); err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatal("hob never came to the validator")
		case <-tick.C:
		}
	}
}

func (h held) release(t *testing.T) { t.Helper(); put(t, filepath.Join(h.dir, "go"), "") }

// exit waits for the end and returns its code, -1 for a signal that killed it.
func exit(t *testing.T, cmd *exec.Cmd) int {
	t.Helper()
	var failed *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode()
}

// TestSecondSignalEndsAtOnce: the first signal lets the validator go on; the second
// ends hob at once, with the signal's exit code, and the item is not lost.
func TestSecondSignalEndsAtOnce(t *testing.T) {
	for _, command := range []string{"once", "run"} {
		for signal, want := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
			t.Run(command+" "+signal.String(), func(t *testing.T) {
				t.Parallel()
				h := newHeld(t)
				cmd := h.start(t, command)
				h.hold(t)
				for range 2 {
					if err := cmd.Process.Signal(signal); err != nil {
						t.Fatal(err)
					}
					<-time.After(300 * time.Millisecond) // two of one kind at once are one (signal(7))
				}
				if got := exit(t, cmd); got != want {
					t.Errorf("exit %d, want %d", got, want)
				}
				h.release(t)
				if got := exit(t, h.start(t, "once")); got != 0 {
					t.Errorf("the next hob once ends with %d", got)
				}
				if got := git(t, h.user, "rev-list", "--count", "main..agent-dev"); got != "1\n" {
					t.Errorf("%s commits", got)
				}
			})
		}
	}
}

// TestFirstSignalIsPatient: within the grace the validator may end; then hob stops
// with 0 and the item goes back to the queue.
func TestFirstSignalIsPatient(t *testing.T) {
	h := newHeld(t)
	cmd := h.start(t, "run")
	h.hold(t)
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	h.release(t)
	if got := exit(t, cmd); got != 0 {
		t.Errorf("exit %d, want 0", got)
	}
	if got := exit(t, h.start(t, "once")); got != 0 {
		t.Errorf("the next hob once ends with %d", got)
	}
}

// TestEditedWhileWorked: what a person changed in the meantime is what gets landed.
func TestEditedWhileWorked(t *testing.T) {
	for _, command := range []string{"once", "run"} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			h := newHeld(t)
			cmd := h.start(t, command)
			h.hold(t)
			put(t, filepath.Join(h.user, "TODO.md"), "- [ ] Say it\n  The letter is c.\n")
			h.release(t)
			if command == "run" {
				waitForBranch(t, h.user)
				if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
					t.Fatal(err)
				}
			}
			exit(t, cmd)
			if got := exit(t, h.start(t, "once")); got != 0 {
				t.Errorf("the next hob once ends with %d", got)
			}
			if got := git(t, h.user, "show", "agent-dev:a.txt"); got != "c\n" {
				t.Errorf("a.txt is %q", got)
			}
			if got := git(t, h.user, "rev-list", "--count", "main..agent-dev"); got != "1\n" {
				t.Errorf("%s commits", got)
			}
		})
	}
}

func waitForBranch(t *testing.T, dir string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for exec.Command("git", "-C", dir, "rev-parse", "--verify", "-q", "agent-dev").Run() != nil {
		select {
		case <-ctx.Done():
			t.Fatal("the branch never came")
		case <-tick.C:
		}
	}
}
