package durable

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

// ErrLocked says that another process, or another part of this one, holds the
// lock. The text of the error that wraps it names the holder's pid.
var ErrLocked = errors.New("locked")

// holder is what a lock file says of the process that has it. The boot id
// tells a pid of this boot from the same number of an earlier one.
type holder struct {
	PID     int       `json:"pid"`
	BootID  string    `json:"boot_id"`
	Started time.Time `json:"started"`
}

// Lock takes the lock file name without waiting, and creates it with mode 0600
// when it is missing. The lock is flock(2): the kernel drops it when the
// process ends in any way, so there are no stale locks. The file is never
// deleted: a deleted lock file can be held by one process while a second one
// locks its namesake. unlock is called once.
func Lock(name string) (unlock func() error, err error) {
	const flag = os.O_RDWR | os.O_CREATE | syscall.O_NOFOLLOW | syscall.O_NONBLOCK
	f, err := os.OpenFile(name, flag, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	if err := flock(f, syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = fmt.Errorf("%w by %s", ErrLocked, readHolder(f))
		}
		return nil, errors.Join(fmt.Errorf("lock %s: %w", name, err), f.Close())
	}
	if err := writeHolder(f); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", name, err), f.Close())
	}
	return func() error {
		// Emptied, so that a later reader isn't sent to a pid long gone.
		return errors.Join(f.Truncate(0), flock(f, syscall.LOCK_UN), f.Close())
	}, nil
}

func flock(f *os.File, how int) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var locked error
	err = conn.Control(func(fd uintptr) {
		locked = syscall.EINTR
		for errors.Is(locked, syscall.EINTR) {
			locked = syscall.Flock(int(fd), how)
		}
	})
	return errors.Join(err, locked)
}

// readHolder describes who has the lock, as far as the file tells: a holder
// that has only just got it may not have written its name yet.
func readHolder(f *os.File) string {
	var h holder
	b, err := io.ReadAll(io.LimitReader(f, 4096))
	if err != nil || json.Unmarshal(b, &h) != nil || h.PID <= 0 {
		return "a process that left no pid"
	}
	return fmt.Sprintf("pid %d since %s", h.PID, h.Started.UTC().Format(time.RFC3339))
}

func writeHolder(f *os.File) error {
	b, err := json.Marshal(holder{PID: os.Getpid(), BootID: bootID(), Started: time.Now().UTC()})
	if err != nil {
		return err
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err = f.WriteAt(append(b, '\n'), 0)
	return err
}
