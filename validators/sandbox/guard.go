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
// the program, not what a shell line started; and macOS has no Pdeathsig.
const vigil = `read -r group || exit 0; read -r over || kill -s KILL -- "-$group"`

// guard is a process that outlives hob by the moment it takes to kill a command's group.
type guard struct {
	cmd  *exec.Cmd
	line io.WriteCloser
}

func newGuard() (*guard, error) {
	g := &guard{cmd: exec.Command("/bin/sh", "-c", vigil)}
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

// over names the group to kill when hob dies.
func (g *guard) over(group int) { fmt.Fprintln(g.line, group) }

// dismiss ends the guard once the group is gone. Before over was called it ends by itself.
func (g *guard) dismiss() {
	fmt.Fprintln(g.line, "over")
	g.line.Close()
	_ = g.cmd.Wait() // its exit code says nothing about the command
}
