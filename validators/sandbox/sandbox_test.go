package sandbox_test

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"hob/validators/sandbox"
)

// TestMain lets the test binary be a daemon that can be killed while it runs a command.
func TestMain(m *testing.M) {
	if line := os.Getenv("TEST_DAEMON_RUNS"); line != "" {
		c := sandbox.Command{Argv: []string{"/bin/sh", "-c", line}, Dir: "/", Out: os.Stdout}
		if _, err := sandbox.None().Run(context.Background(), c, sandbox.Limits{}); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func shell(t *testing.T, line string, out io.Writer) sandbox.Command {
	t.Helper()
	return sandbox.Command{
		Argv: []string{"/bin/sh", "-c", line}, Dir: t.TempDir(),
		Env: []string{"PATH=" + os.Getenv("PATH")}, Out: out,
	}
}

func TestEnds(t *testing.T) {
	tests := []struct {
		name   string
		line   string
		limits sandbox.Limits
		end    sandbox.End
		code   int
		signal string
		within time.Duration
		output string // what it begins with
	}{
		{name: "success", line: "echo out; echo err >&2", end: sandbox.Exited, output: "out\nerr\n"},
		{name: "failure", line: "exit 7", end: sandbox.Exited, code: 7},
		{name: "killed from elsewhere", line: "kill -9 $$", end: sandbox.Exited, code: 137, signal: "SIGKILL"},
		{name: "crash of a child", line: "sh -c 'kill -SEGV $$'; exit $?", end: sandbox.Exited, code: 139},
		{name: "stdin is empty", line: "cat; echo done", end: sandbox.Exited, output: "done\n"},
		{
			name: "no terminal", line: "(read x </dev/tty) 2>/dev/null || echo none",
			end: sandbox.Exited, output: "none\n",
		},
		{
			name: "wall", line: "echo begun; sleep 600", limits: sandbox.Limits{Wall: 300 * time.Millisecond},
			end: sandbox.Timeout, code: 143, signal: "SIGTERM", within: 4 * time.Second, output: "begun\n",
		},
		{
			name: "a polite end on SIGTERM", line: "exec 2>/dev/null; trap 'echo bye; exit 3' TERM; while :; do sleep 0.05; done",
			limits: sandbox.Limits{Wall: 300 * time.Millisecond},
			end:    sandbox.Timeout, code: 3, within: 4 * time.Second, output: "bye\n",
		},
		{
			name: "SIGTERM ignored", line: "trap '' TERM; while :; do sleep 0.05; done",
			limits: sandbox.Limits{Wall: 200 * time.Millisecond},
			end:    sandbox.Timeout, code: 137, signal: "SIGKILL", within: 9 * time.Second,
		},
		{
			name: "silent and idle", line: "sleep 600", limits: sandbox.Limits{Idle: 400 * time.Millisecond, Wall: time.Minute},
			end: sandbox.Idle, code: 143, signal: "SIGTERM", within: 5 * time.Second,
		},
		{
			name: "a line now and then is not idle", line: "while :; do echo x; sleep 0.2; done",
			limits: sandbox.Limits{Idle: 1500 * time.Millisecond, Wall: 4 * time.Second},
			end:    sandbox.Timeout, code: 143, signal: "SIGTERM", within: 9 * time.Second, output: "x\nx\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var out sandbox.Output
			begin := time.Now()
			got, err := sandbox.None().Run(t.Context(), shell(t, tt.line, &out), tt.limits)
			if err != nil {
				t.Fatal(err)
			}
			if got.End != tt.end || got.Code != tt.code || got.Signal != tt.signal {
				t.Errorf("Run(%q) = %s, code %d, signal %q; want %s, %d, %q", tt.line, got.End, got.Code, got.Signal, tt.end, tt.code, tt.signal)
			}
			if took := time.Since(begin); tt.within > 0 && took > tt.within {
				t.Errorf("Run(%q) took %v, want at most %v", tt.line, took, tt.within)
			}
			if !strings.HasPrefix(string(out.Bytes()), tt.output) {
				t.Errorf("Run(%q) wrote %q, want it to begin with %q", tt.line, out.Bytes(), tt.output)
			}
		})
	}
}

func TestBusyAndSilentIsNotIdle(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the silence clock knows about CPU time on Linux only")
	}
	t.Parallel()
	limits := sandbox.Limits{Idle: time.Second, Wall: 4 * time.Second}
	got, err := sandbox.None().Run(t.Context(), shell(t, "while :; do :; done & wait", nil), limits)
	if err != nil || got.End != sandbox.Timeout {
		t.Errorf("Run(busy loop in a child) = %v, %v; want end %s", got, err, sandbox.Timeout)
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	begun := writerFunc(func(p []byte) (int, error) { cancel(); return len(p), nil })
	begin := time.Now()
	got, err := sandbox.None().Run(ctx, shell(t, "echo begun; sleep 600", begun), sandbox.Limits{})
	if err != nil || got.End != sandbox.Canceled || time.Since(begin) > 4*time.Second {
		t.Errorf("Run, canceled = %v, %v after %v; want end %s at once", got, err, time.Since(begin), sandbox.Canceled)
	}
	got, err = sandbox.None().Run(ctx, shell(t, "exit 0", nil), sandbox.Limits{})
	if err != nil || got.End != sandbox.Canceled || got.Code == 0 {
		t.Errorf("Run, canceled before = %v, %v; want end %s and no success", got, err, sandbox.Canceled)
	}
}

func TestDoesNotStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "plain"), "text", 0o600)
	write(t, filepath.Join(dir, "no-interpreter"), "#!/no/such/interpreter\n", 0o700)
	write(t, filepath.Join(dir, "tool"), "#!/bin/sh\necho hi\n", 0o700)
	tests := []struct {
		name string
		argv []string
		dir  string
		path string
		want error
	}{
		{"missing", []string{"hob-no-such-program"}, dir, os.Getenv("PATH"), sandbox.ErrNotFound},
		{"missing, by path", []string{"./hob-no-such-program"}, dir, "", sandbox.ErrNotFound},
		{"not executable", []string{"./plain"}, dir, "", sandbox.ErrNotFound},
		{"its interpreter is missing", []string{"./no-interpreter"}, dir, "", sandbox.ErrNotFound},
		{"only in the folder itself", []string{"tool"}, dir, ".::/usr/bin", sandbox.ErrNotFound},
		{"no command", nil, dir, "", sandbox.ErrNotFound},
		{"no folder", []string{"/bin/sh"}, filepath.Join(dir, "gone"), "", sandbox.ErrStart},
		{"a file for a folder", []string{"/bin/sh"}, filepath.Join(dir, "plain"), "", sandbox.ErrStart},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := sandbox.Command{Argv: tt.argv, Dir: tt.dir, Env: []string{"PATH=" + tt.path}}
			if _, err := sandbox.None().Run(t.Context(), c, sandbox.Limits{}); !errors.Is(err, tt.want) {
				t.Errorf("Run(%q) = %v, want %v", tt.argv, err, tt.want)
			}
		})
	}
}

// What a command leaves behind is gone when Run returns: each line opens the fifo in something
// that outlives the shell, and end of file means that nobody has it open any more.
func TestNothingIsLeftBehind(t *testing.T) {
	for _, tt := range []struct{ name, line string }{
		{"background job", "sleep 600 & echo started"},
		{"ignores SIGTERM and SIGHUP", "(trap '' TERM HUP; sleep 600; sleep 600) & echo started"},
		{"own process group", "set -m; sleep 600 & echo started"},
		{"own session", "setsid sleep 600 & echo started"},
		{"double fork in an own session", "(setsid sh -c 'sleep 600 & sleep 600' &) & echo started"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if strings.Contains(tt.line, "setsid") && runtime.GOOS != "linux" {
				t.Skip("leaving the session is seen on Linux only")
			}
			t.Parallel()
			fifo := filepath.Join(t.TempDir(), "fifo")
			if err := syscall.Mkfifo(fifo, 0o600); err != nil {
				t.Fatal(err)
			}
			r, err := os.OpenFile(fifo, os.O_RDONLY|syscall.O_NONBLOCK, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			var out sandbox.Output
			got, err := sandbox.None().Run(t.Context(), shell(t, "exec 9>'"+fifo+"'; "+tt.line, &out), sandbox.Limits{})
			if err != nil || got.End != sandbox.Exited || got.Code != 0 {
				t.Fatalf("Run(%q) = %v, %v; want success", tt.line, got, err)
			}
			if err := r.SetReadDeadline(time.Now().Add(5 * time.Second)); err != nil {
				t.Fatal(err)
			}
			if n, err := r.Read(make([]byte, 1)); n != 0 || err != io.EOF {
				t.Errorf("Run(%q): read of the fifo = %d, %v; want EOF because nobody holds it", tt.line, n, err)
			}
		})
	}
}

// A process that leaves the session and drops the mark can't be found at tier none; it must not
// hold up the run by holding the pipe.
func TestPipeHeldByAnEscapedProcess(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip("setsid(1) is not here")
	}
	t.Parallel()
	var out sandbox.Output
	begin := time.Now()
	got, err := sandbox.None().Run(t.Context(), shell(t, "echo begun; env -i setsid sleep 8 & sleep 0.3", &out), sandbox.Limits{})
	if err != nil || got.End != sandbox.Exited || got.Code != 0 || string(out.Bytes()) != "begun\n" {
		t.Errorf("Run = %v, %v with output %q; want success", got, err, out.Bytes())
	}
	if took := time.Since(begin); took > 6*time.Second {
		t.Errorf("Run took %v, want about 2 s", took)
	}
}

func TestCommandsDieWithTheDaemon(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	daemon := exec.Command(self)
	// Descriptor 3 is inherited by everything below the daemon: it ends when the last of them does.
	daemon.ExtraFiles = []*os.File{w}
	daemon.Env = append(os.Environ(), "TEST_DAEMON_RUNS=(setsid sleep 600 || sleep 600) & echo ready; (trap '' HUP TERM; sleep 600; sleep 600) & sleep 600; sleep 600")
	ready, err := daemon.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if _, err := io.ReadFull(ready, make([]byte, len("ready\n"))); err != nil {
		t.Fatal(err)
	}
	if err := daemon.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := r.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if n, err := r.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("after SIGKILL of the daemon: read = %d, %v; want EOF because its commands are gone", n, err)
	}
	_ = daemon.Wait() // killed
}

func TestOutputLimit(t *testing.T) {
	t.Parallel()
	var out sandbox.Output
	c := shell(t, "printf 0123456789; printf abcdef", &out)
	got, err := sandbox.None().Run(t.Context(), c, sandbox.Limits{Output: 12})
	if err != nil || got.Code != 0 || got.Cut != 4 || string(out.Bytes()) != "0123456789ab" {
		t.Errorf("Run = %+v, %v with output %q; want 12 bytes and 4 cut", got, err, out.Bytes())
	}
}

func TestWriterThatFailsDoesNotEndTheCommand(t *testing.T) {
	t.Parallel()
	full := writerFunc(func([]byte) (int, error) { return 0, syscall.ENOSPC })
	got, err := sandbox.None().Run(t.Context(), shell(t, "printf 0123456789; exit 5", full), sandbox.Limits{})
	if err != nil || got.Code != 5 || got.Cut != 10 {
		t.Errorf("Run = %+v, %v; want code 5 and 10 bytes cut", got, err)
	}
}

func TestPick(t *testing.T) {
	r, err := sandbox.Pick("off")
	if err != nil || r.Name() != "none" {
		t.Errorf("Pick(off) = %v, %v; want tier none", r, err)
	}
	for _, mode := range []string{"strict", "best-effort", "", "OFF", "none"} {
		_, err := sandbox.Pick(mode)
		if !errors.Is(err, sandbox.ErrUnavailable) || !strings.Contains(err.Error(), `mode = "off"`) {
			t.Errorf("Pick(%q) = %v, want ErrUnavailable with the way out", mode, err)
		}
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func write(t *testing.T, name, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}
