package repo

import (
	"io/fs"
	"syscall"
	"time"
)

// statOf takes the change time and inode from lstat(2) where the system has them.
func statOf(info fs.FileInfo) stat {
	s := stat{size: info.Size(), mtime: info.ModTime(), mode: info.Mode()}
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		s.ctime, s.inode = time.Unix(sys.Ctim.Unix()), sys.Ino
	}
	return s
}
