package sandbox

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// 5 s: test runners that handle SIGTERM need a moment to stop their children and to say which
	// test hung. More would eat into the daemon's own stop_grace.
	grace = 5 * time.Second

	// 2 s: after the program is gone only a process that escaped the kill can hold the pipe open.
	// Its output isn't the program's any more (os/exec, Cmd.WaitDelay).
	drain = 2 * time.Second

	// Looking for processes costs a few milliseconds of /proc; 20 ms keeps a stop prompt.
	lookEvery = 20 * time.Millisecond
)

// None returns the runner without isolation, tier "none".
func None() Runner { return none{} }

type none struct{}

func (none) Name() string { return "none" }

func (none) Run(ctx context.Context, c Command, l Limits) (Exit, error) {
	if ctx.Err() != nil {
		return Exit{Code: -1, End: Canceled}, nil
	}
	path, err := find(c)
	if err != nil {
		return Exit{}, err
	}
	// The kernel sends Pdeathsig when the *thread* that forked ends (prctl(2), PR_SET_PDEATHSIG),
	// so that thread stays ours until the command is gone.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	mark := "HOB_RUN_ID=" + rand.Text()
	guard, err := newGuard(mark)
	if err != nil {
		return Exit{}, fmt.Errorf("%w: %w", ErrStart, err)
	}
	defer guard.dismiss()

	out := &meter{dst: cmp.Or(c.Out, io.Discard), limit: l.Output}
	cmd := &exec.Cmd{
		Path: path, Args: c.Argv, Dir: c.Dir, Env: append(c.Env[:len(c.Env):len(c.Env)], mark),
		Stdout: out, Stderr: out, WaitDelay: drain, SysProcAttr: attributes(),
	}
	begin := time.Now()
	out.touch(begin)
	if err := cmd.Start(); err != nil {
		return Exit{}, startError(c.Argv[0], err)
	}
	guard.watch(cmd.Process.Pid)

	s := newSession(cmd.Process.Pid, mark)
	e := Exit{End: s.supervise(ctx, l, out)}
	e.Left = s.kill()
	s.close()
	// The pipe's copying goroutine is os/exec's; Wait is the line that waits for it.
	if err := cmd.Wait(); cmd.ProcessState == nil {
		return Exit{}, fmt.Errorf("wait for %s: %w", c.Argv[0], err)
	}
	e.Took = time.Since(begin)
	e.Cut = out.cut
	e.measure(cmd.ProcessState)
	return e, nil
}

func (e *Exit) measure(ps *os.ProcessState) {
	e.Code = ps.ExitCode()
	if ws, ok := ps.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		e.Code = 128 + int(ws.Signal())
		e.Signal = unix.SignalName(ws.Signal())
	}
	e.CPU = ps.UserTime() + ps.SystemTime()
	if ru, ok := ps.SysUsage().(*syscall.Rusage); ok {
		e.MaxRSS = ru.Maxrss * rssUnit
	}
}

// find does what execvp(3) would, but with the command's own PATH: os/exec would search hob's.
func find(c Command) (string, error) {
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return "", fmt.Errorf("%w: empty command", ErrNotFound)
	}
	if info, err := os.Stat(c.Dir); err != nil {
		return "", fmt.Errorf("%w: %w", ErrStart, err)
	} else if !info.IsDir() {
		return "", fmt.Errorf("%w: %s is not a folder", ErrStart, c.Dir)
	}
	name := c.Argv[0]
	if strings.Contains(name, "/") {
		return name, nil
	}
	for _, dir := range filepath.SplitList(lookup(c.Env, "PATH")) {
		// A relative entry would let the repository choose which `go` runs.
		if !filepath.IsAbs(dir) {
			continue
		}
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", fmt.Errorf("%w: %s", ErrNotFound, name)
}

// lookup returns the last value of a name, as os/exec does when a name stands twice.
func lookup(env []string, name string) string {
	value := ""
	for _, kv := range env {
		if k, v, ok := strings.Cut(kv, "="); ok && k == name {
			value = v
		}
	}
	return value
}

func startError(name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENOEXEC) {
		return fmt.Errorf("%w: %s: %w", ErrNotFound, name, err)
	}
	return fmt.Errorf("%w: %w", ErrStart, err)
}

// meter passes output on and remembers when the last of it came.
type meter struct {
	dst    io.Writer
	limit  int64 // 0 is none
	sent   int64
	cut    int64
	failed bool
	last   atomic.Int64 // Unix nanoseconds
}

func (m *meter) touch(t time.Time)    { m.last.Store(t.UnixNano()) }
func (m *meter) lastWrite() time.Time { return time.Unix(0, m.last.Load()) }

// Write never fails: an error would close the pipe and kill the command by SIGPIPE.
func (m *meter) Write(p []byte) (int, error) {
	m.touch(time.Now())
	pass := p
	if m.limit > 0 {
		pass = p[:min(int64(len(p)), m.limit-m.sent)]
	}
	n := 0
	if len(pass) > 0 && !m.failed {
		var err error
		n, err = m.dst.Write(pass)
		m.failed = err != nil
	}
	m.sent += int64(n)
	m.cut += int64(len(p) - n)
	return len(p), nil
}
