package sandbox

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// rssUnit is the size of Rusage.Maxrss's unit in bytes (getrusage(2)).
const rssUnit = 1024

// tick is the unit of CPU times in /proc: USER_HZ is 100 on every Linux (proc(5), time(7)).
const tick = 10 * time.Millisecond

func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// awaitExit returns when pid has ended and leaves it as a zombie (waitid(2), WNOWAIT).
func awaitExit(pid int) {
	for unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
		continue
	}
}

// members finds the live processes that belong to the session or carry its mark.
func (s *session) members() []process {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil
	}
	var ps []process
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if p, ok := s.member(pid); ok {
			ps = append(ps, p)
		}
	}
	return ps
}

func (s *session) member(pid int) (process, bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return process{}, false // it ended meanwhile
	}
	st, ok := parseStat(stat)
	if !ok || st.state == 'Z' || st.state == 'X' {
		return process{}, false
	}
	if st.session != s.leader && !s.marked(pid) {
		return process{}, false
	}
	return process{pid: pid, cpu: st.cpu}, true
}

// marked reports whether pid was started with the mark; other users' processes can't be read and aren't ours.
func (s *session) marked(pid int) bool {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return err == nil && bytes.Contains(env, []byte(s.mark))
}

type stat struct {
	state   byte
	session int
	cpu     time.Duration
}

// parseStat reads /proc/PID/stat. The second field is the program's name in parentheses and may
// hold anything, parentheses and line breaks too, so fields are counted from the last one.
func parseStat(b []byte) (stat, bool) {
	_, rest, ok := bytes.Cut(b[max(bytes.LastIndexByte(b, ')'), 0):], []byte(") "))
	f := bytes.Fields(rest)
	if !ok || len(f) < 15 || len(f[0]) != 1 {
		return stat{}, false
	}
	sid, err := strconv.Atoi(string(f[3]))
	if err != nil {
		return stat{}, false
	}
	st := stat{state: f[0][0], session: sid}
	for _, t := range f[11:15] { // utime, stime, cutime, cstime
		n, err := strconv.ParseInt(string(t), 10, 64)
		if err != nil {
			return stat{}, false
		}
		st.cpu += time.Duration(n) * tick
	}
	return st, true
}
