package sandbox

import (
	"bytes"
	"errors"
	"io/fs"
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

// look finds the live processes that belong to the session or carry its mark. It isn't sure of
// having found all when one of them may have handed on to a child behind its back.
func (s *session) look() (ps []process, sure bool) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, false
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, false
	}
	leader, _ := readStat(s.leader) // 0 once it is reaped: then everybody counts as younger
	sure = true
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == s.leader && leader.ended() {
			continue
		}
		st, ok := readStat(pid)
		if !ok {
			sure = false // it ended since the folder was read, and may have forked before
			continue
		}
		if st.started < leader.started {
			continue // older than the run; execve(2) doesn't change it
		}
		switch s.belongs(pid, st) {
		case yes:
			ps = append(ps, process{pid: pid, cpu: st.cpu})
		case maybe:
			sure = false
		}
	}
	return ps, sure
}

type answer uint8

const (
	no answer = iota
	yes
	maybe
)

// belongs asks for the session and for the mark. The environment of a zombie is gone, and that of
// a process inside execve(2) isn't there yet. Other users' can't be read, and they aren't ours.
func (s *session) belongs(pid int, st stat) answer {
	if st.ended() {
		return maybe
	}
	if st.session == s.leader {
		return yes
	}
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	switch {
	case errors.Is(err, fs.ErrPermission) || st.kernel:
		return no
	case err != nil || len(env) == 0:
		return maybe
	case bytes.Contains(env, []byte(s.mark)):
		return yes
	}
	return no
}

// stat is what is used of /proc/PID/stat (proc_pid_stat(5)).
type stat struct {
	state   byte
	session int
	kernel  bool   // a kernel thread
	started uint64 // in ticks since boot
	cpu     time.Duration
}

func (st stat) ended() bool { return st.state == 'Z' || st.state == 'X' }

// kernelThread is PF_KTHREAD of the kernel's sched.h.
const kernelThread = 0x200000

func readStat(pid int) (stat, bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return stat{}, false
	}
	return parseStat(b)
}

// parseStat counts fields from the last parenthesis: the second field is the program's name in
// parentheses and may hold anything, parentheses and line breaks too.
func parseStat(b []byte) (stat, bool) {
	_, rest, ok := bytes.Cut(b[max(bytes.LastIndexByte(b, ')'), 0):], []byte(") "))
	f := bytes.Fields(rest)
	if !ok || len(f) < 20 || len(f[0]) != 1 {
		return stat{}, false
	}
	var n [20]uint64
	for _, i := range []int{3, 6, 11, 12, 13, 14, 19} {
		var err error
		if n[i], err = strconv.ParseUint(string(f[i]), 10, 64); err != nil {
			return stat{}, false
		}
	}
	return stat{
		state: f[0][0], session: int(n[3]), kernel: n[6]&kernelThread != 0, started: n[19],
		cpu: time.Duration(n[11]+n[12]+n[13]+n[14]) * tick, // utime, stime, cutime, cstime
	}, true
}
