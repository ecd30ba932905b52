package sandbox

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
)

// vigil reads the process group's number, then waits for a second line. End of file instead of
// that line means that hob is gone, and then the group goes too. Pdeathsig alone would take only
// the program, not what a shell line started; and macOS has no Pdeathsig. Where there is a /proc,
// what carries the run's mark goes as well: it may have left the group, and hob may have died
// before it could name the group. A process inside execve(2) shows no mark, hence the rounds.
const vigil = `read -r group
read -r over && exit
[ -z "$group" ] || kill -s KILL -- "-$group"
for round in 1 2 3 4 5 6 7 8 9 10; do
	for env in $(grep -lF -- "$1" /proc/[0-9]*/environ); do
		pid=${env#/proc/}
		kill -s KILL "${pid%/environ}"
	done
	sleep 0.2 || sleep 1
done`

// guard is a process that outlives hob by the moment it takes to kill a command's processes.
type guard struct {
	cmd  *exec.Cmd
	line io.WriteCloser
}

func newGuard(mark string) (*guard, error) {
	g := &guard{cmd: exec.Command("/bin/sh", "-c", vigil, "sh", mark)}
	g.cmd.Dir = "/"
	g.cmd.Env = []string{"PATH=/usr/bin:/bin"}
	g.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // an interrupt at the terminal isn't for it
	in, out, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	g.cmd.Stdin, g.line = in, out
	if err := g.cmd.Start(); err != nil {
		out.Close()
		return nil, err
	}
	return g, nil
}

// watch names the group to kill when hob dies.
func (g *guard) watch(group int) { fmt.Fprintln(g.line, group) }

// dismiss ends the guard once the command is gone, or when it didn't start.
func (g *guard) dismiss() {
	fmt.Fprint(g.line, "over\nover\n")
	g.line.Close()
	_ = g.cmd.Wait() // its exit code says nothing about the command
}
