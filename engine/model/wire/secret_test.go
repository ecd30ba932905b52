package wire_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"hob/engine/model/wire"
)

func TestSecret(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string, mode os.FileMode) string {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(name, mode); err != nil { // whatever the umask
			t.Fatal(err)
		}
		return name
	}
	good := file("good", "  "+key+"\n", 0o600)
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(good, link); err != nil {
		t.Fatal(err)
	}
	getenv := func(name string) string { return map[string]string{"KEY": key, "BLANK": " \n"}[name] }
	tests := []struct {
		name, ref, want string
		err             string // what follows "no secret: "
	}{
		{"no reference", "", "", ""},
		{"env", "env:KEY", key, ""},
		{"env, not set", "env:NONE", "", "env:NONE: is not set or empty"},
		{"env, blank", "env:BLANK", "", "env:BLANK: is not set or empty"},
		{"file", "file:" + good, key, ""},
		{"file through a link", "file:" + link, key, ""},
		{"file, missing", "file:" + dir + "/none", "", "file:" + dir + "/none: no such file or directory"},
		{"file, readable for others", "file:" + file("open", key, 0o640), "", "file:" + dir + "/open: others may read it: mode is 0640, chmod 600 it"},
		{"file, empty", "file:" + file("empty", "\n", 0o600), "", "file:" + dir + "/empty: is not set or empty"},
		{"file, huge", "file:" + file("huge", strings.Repeat("x", 64<<10+1), 0o600), "", "file:" + dir + "/huge: is larger than 64 KiB"},
		{"file, a folder", "file:" + dir, "", "file:" + dir + ": is no regular file"},
		{"file, a pipe nobody writes to", "file:" + pipe, "", "file:" + pipe + ": is no regular file"},
		{"file, relative", "file:key", "", "file:key: the path must be absolute"},
		{"later", "keyring:hob", "", "keyring:hob: this kind is not available yet"},
		{"the key itself", key, "", "secret_ref is neither env:NAME nor file:/path"},
		{"the key itself with a colon", key + ":x", "", "secret_ref is neither env:NAME nor file:/path"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := wire.Secret(tt.ref, getenv)
			if got != tt.want {
				t.Errorf("Secret(%q) = %q, want %q", tt.ref, got, tt.want)
			}
			switch {
			case tt.err == "" && err != nil:
				t.Errorf("Secret(%q) error = %v, want none", tt.ref, err)
			case tt.err != "" && (!errors.Is(err, wire.ErrSecret) || err.Error() != "no secret: "+tt.err):
				t.Errorf("Secret(%q) error = %v, want no secret: %s", tt.ref, err, tt.err)
			}
		})
	}
}
