package wire

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// ErrSecret is wrapped by all errors about a key that can't be had. They name
// the reference, never a value.
var ErrSecret = errors.New("no secret")

// maxSecret bounds a secret's file: a key is short, and a wrong path may be huge.
const maxSecret = 64 << 10

// Secret returns the key that ref points to:
//
//	env:NAME     the environment variable NAME
//	file:/path   the file's content without space around it; it must be this
//	             user's and readable for nobody else
//
// An empty ref means no key and no error.
func Secret(ref string, getenv func(string) string) (string, error) {
	if ref == "" {
		return "", nil
	}
	kind, name, _ := strings.Cut(ref, ":")
	var value string
	var err error
	switch kind {
	case "env":
		value = strings.TrimSpace(getenv(name))
	case "file":
		value, err = secretFile(name)
	case "command", "systemd", "keyring":
		err = errors.New("this kind is not available yet")
	default:
		// Not quoted: somebody may have written the key itself.
		return "", fmt.Errorf("%w: secret_ref is neither env:NAME nor file:/path", ErrSecret)
	}
	if err == nil && value == "" {
		err = errors.New("is not set or empty")
	}
	if err != nil {
		return "", fmt.Errorf("%w: %s: %w", ErrSecret, ref, err)
	}
	return value, nil
}

func secretFile(name string) (string, error) {
	if !filepath.IsAbs(name) {
		return "", errors.New("the path must be absolute")
	}
	// O_NONBLOCK: a pipe must not hold the daemon up (open(2)).
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", errors.Unwrap(err) // the reference has the path already
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", errors.Unwrap(err)
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular():
		return "", errors.New("is no regular file")
	case info.Mode().Perm()&0o077 != 0:
		return "", fmt.Errorf("others may read it: mode is %#o, chmod 600 it", info.Mode().Perm())
	case !ok || int(owner.Uid) != os.Geteuid():
		return "", errors.New("belongs to another user")
	case info.Size() > maxSecret:
		return "", errors.New("is larger than 64 KiB")
	}
	b, err := io.ReadAll(io.LimitReader(f, maxSecret))
	if err != nil {
		return "", fmt.Errorf("read: %w", err)
	}
	return strings.TrimSpace(string(b)), nil
}
