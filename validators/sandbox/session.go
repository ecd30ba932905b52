package sandbox

import (
	"context"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// session is a running command with everything it started.
type session struct {
	leader int    // process id of the program, and id of its session and process group
	mark   string // "NAME=value" in the environment of every process of the run
	ended  chan struct{}
}

// process is a live member of a session; zombies are none.
type process struct {
	pid int
	cpu time.Duration // of itself and of its children that were waited for; 0 where it isn't known
}

// newSession watches for the program's end but leaves it unreaped, so that neither its process
// id nor its group's can be given to a stranger before [session.kill] is through.
func newSession(leader int, mark string) *session {
	s := &session{leader: leader, mark: mark, ended: make(chan struct{})}
	go func() { // close waits for it
		awaitExit(leader)
		close(s.ended)
	}()
	return s
}

// supervise returns when the program ended or when a limit made it stop.
func (s *session) supervise(ctx context.Context, l Limits, out *meter) End {
	end := s.watch(ctx, l, out)
	if end == Exited {
		return end
	}
	s.signal(unix.SIGTERM)
	deadline := time.Now().Add(grace)
	for len(s.members()) > 0 && time.Now().Before(deadline) {
		time.Sleep(lookEvery)
	}
	return end
}

func (s *session) watch(ctx context.Context, l Limits, out *meter) End {
	var wall, look <-chan time.Time
	if l.Wall > 0 {
		t := time.NewTimer(l.Wall)
		defer t.Stop()
		wall = t.C
	}
	if l.Idle > 0 {
		// Eight looks a period keep the error of the silence clock small; 15 s keeps long ones cheap.
		t := time.NewTicker(min(max(l.Idle/8, lookEvery), 15*time.Second))
		defer t.Stop()
		look = t.C
	}
	q := quiet{since: time.Now(), seen: time.Now()}
	for {
		select {
		case <-s.ended:
			return Exited
		case <-ctx.Done():
			return Canceled
		case <-wall:
			return Timeout
		case <-look:
			if q.look(time.Now(), out.lastWrite(), s.members()) >= l.Idle {
				return Idle
			}
		}
	}
}

// quiet is the silence clock: it runs only while there is neither output nor work. Compilers say
// nothing for minutes, and killing those is what a plain output clock gets wrong.
type quiet struct {
	since, seen time.Time
	cpu         time.Duration
}

// look returns how long it has been quiet.
func (q *quiet) look(now, written time.Time, ps []process) time.Duration {
	var cpu time.Duration
	for _, p := range ps {
		cpu += p.cpu
	}
	// 1 % of one core: a hung program's timers and a shell's sleep loop stay below, any compiler above.
	if cpu-q.cpu > now.Sub(q.seen)/100 {
		q.since = now
	}
	q.cpu, q.seen = cpu, now
	if written.After(q.since) {
		q.since = written
	}
	return now.Sub(q.since)
}

func (s *session) signal(sig syscall.Signal) {
	_ = unix.Kill(-s.leader, sig) // ESRCH: nobody is left in the group
	for _, p := range s.members() {
		_ = unix.Kill(p.pid, sig)
	}
}

// kill leaves no member alive and returns how many it found besides the program. It looks again
// until it surely finds none, since a process may be born while the others die.
func (s *session) kill() (left int) {
	seen := map[int]bool{s.leader: true}
	deadline := time.Now().Add(drain)
	for unsure := 0; unsure < enoughLooks && time.Now().Before(deadline); {
		ps, sure := s.look()
		if len(ps) == 0 {
			if sure {
				break
			}
			unsure++
			time.Sleep(lookAgain)
			continue
		}
		unsure = 0
		for _, p := range ps {
			seen[p.pid] = true
			_ = unix.Kill(p.pid, unix.SIGKILL)
		}
		_ = unix.Kill(-s.leader, unix.SIGKILL)
		time.Sleep(lookEvery)
	}
	return len(seen) - 1
}

// enoughLooks: a look is unsure when something ended or was in the middle of execve(2) under it.
// On a machine where others do that all the time, so many in a row are as good as a sure one; and
// on a loaded one it takes a while until a process in execve is scheduled again.
const (
	enoughLooks = 30
	lookAgain   = 5 * time.Millisecond
)

func (s *session) members() []process {
	ps, _ := s.look()
	return ps
}

// close waits for the program's end; [session.kill] has seen to it that it comes.
func (s *session) close() { <-s.ended }
