//go:build !linux

package durable

import "os"

// syncData is the full sync of os.File: on macOS fcntl(2) F_FULLFSYNC, as
// fsync(2) leaves the bytes in the drive's cache there.
func syncData(f *os.File) error { return f.Sync() }
