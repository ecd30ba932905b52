package sandbox

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// rssUnit is the size of Rusage.Maxrss's unit in bytes (getrusage(2)).
const rssUnit = 1

// stateZombie is SZOMB of sys/proc.h.
const stateZombie = 5

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// awaitExit returns when pid has ended and leaves it as a zombie (kqueue(2), EVFILT_PROC).
func awaitExit(pid int) {
	kq, err := unix.Kqueue()
	if err != nil {
		return
	}
	defer unix.Close(kq)
	var watch unix.Kevent_t
	unix.SetKevent(&watch, pid, unix.EVFILT_PROC, unix.EV_ADD|unix.EV_ONESHOT)
	watch.Fflags = unix.NOTE_EXIT
	got := make([]unix.Kevent_t, 1)
	changes := []unix.Kevent_t{watch}
	for {
		// ESRCH: it is a zombie already.
		if _, err := unix.Kevent(kq, changes, got, nil); err != unix.EINTR {
			return
		}
		changes = nil // a call that was interrupted has applied them
	}
}

// look lists the process group, in one call and therefore surely. CPU times aren't had without
// cgo, so the silence clock is a plain one here.
func (s *session) look() (ps []process, sure bool) {
	infos, err := unix.SysctlKinfoProcSlice("kern.proc.pgrp", s.leader)
	if err != nil {
		return nil, false
	}
	for _, info := range infos {
		if info.Proc.P_stat != stateZombie {
			ps = append(ps, process{pid: int(info.Proc.P_pid)})
		}
	}
	return ps, true
}
