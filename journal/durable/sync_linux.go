package durable

import (
	"errors"
	"os"
	"syscall"
)

// syncData is fdatasync(2), which os.File does not offer.
func syncData(f *os.File) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var sync error
	err = conn.Control(func(fd uintptr) {
		sync = syscall.EINTR
		for errors.Is(sync, syscall.EINTR) {
			sync = syscall.Fdatasync(int(fd))
		}
	})
	if err != nil {
		return err
	}
	if sync != nil {
		return &os.PathError{Op: "fdatasync", Path: f.Name(), Err: sync}
	}
	return nil
}
