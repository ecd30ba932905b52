package durable_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/journal/durable"
)

func TestWriteFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "state.json")
	for _, content := range []string{"first", "", strings.Repeat("long ", 1000)} {
		if err := durable.WriteFile(durable.OS(), name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(name)
		if err != nil || string(got) != content {
			t.Errorf("ReadFile = %q, %v, want %q", got, err, content)
		}
	}
	info, err := os.Stat(name)
	if err != nil || info.Mode() != 0o600 {
		t.Errorf("mode %v, %v, want -rw-------", info.Mode(), err)
	}
	if names := list(t, filepath.Dir(name)); len(names) != 1 {
		t.Errorf("folder has %q, want only the file", names)
	}
}

func TestWriteFileKeepsOldOnError(t *testing.T) {
	name := filepath.Join(t.TempDir(), "missing", "state.json")
	if err := durable.WriteFile(durable.OS(), name, nil, 0o600); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("WriteFile in a missing folder: %v", err)
	}
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "state.json", "inside"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := durable.WriteFile(durable.OS(), filepath.Join(dir, "state.json"), nil, 0o600); err == nil {
		t.Error("WriteFile replaced a folder")
	}
	if names := list(t, dir); len(names) != 1 {
		t.Errorf("folder has %q, want no temporary file", names)
	}
}

func list(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// Whatever call the process or the machine dies at, a reader finds the old
// bytes or the new ones, and the new ones when WriteFile had said so.
func TestWriteFileCrash(t *testing.T) {
	for _, tc := range []struct {
		name  string
		crash func(n int) *durable.Crash
	}{
		{"kill", func(n int) *durable.Crash { return durable.NewCrash(durable.OS(), n) }},
		{"power cut", func(n int) *durable.Crash { return durable.NewPowerCut(durable.OS(), n) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for n := 0; ; n++ {
				name := filepath.Join(t.TempDir(), "state.json")
				if err := durable.WriteFile(durable.OS(), name, []byte("old bytes"), 0o600); err != nil {
					t.Fatal(err)
				}
				fs := tc.crash(n)
				err := durable.WriteFile(fs, name, []byte("new bytes"), 0o600)
				if died := fs.Crashed(); died != errors.Is(err, durable.ErrCrashed) {
					t.Fatalf("crash at call %d: crashed %t, error %v", n, died, err)
				}
				// One more call is where the power goes after success.
				if err == nil {
					if err := fs.SyncDir(filepath.Dir(filepath.Dir(name))); !fs.Crashed() {
						t.Logf("%d calls", n-1)
						return
					} else if !errors.Is(err, durable.ErrCrashed) {
						t.Fatal(err)
					}
				}
				got, readErr := os.ReadFile(name)
				if readErr != nil || string(got) != "new bytes" && (err == nil || string(got) != "old bytes") {
					t.Errorf("crash at call %d: read %q, %v, WriteFile said %v", n, got, readErr, err)
				}
			}
		})
	}
}

// The double must take back what was not synced: a test that cannot fail
// proves nothing.
func TestPowerCutTakesBack(t *testing.T) {
	for _, tc := range []struct {
		name string
		work func(fs durable.FS, dir string) error
		want map[string]string
	}{
		{"write", func(fs durable.FS, dir string) error {
			return appendTo(fs, filepath.Join(dir, "a"), " and more", false)
		}, map[string]string{"a": "old a"}},
		{"synced write", func(fs durable.FS, dir string) error {
			return appendTo(fs, filepath.Join(dir, "a"), " and more", true)
		}, map[string]string{"a": "old a and more"}},
		{"new file", func(fs durable.FS, dir string) error {
			return appendTo(fs, filepath.Join(dir, "b"), "new b", true)
		}, map[string]string{"a": "old a"}},
		{"new file in synced folder", func(fs durable.FS, dir string) error {
			return errors.Join(appendTo(fs, filepath.Join(dir, "b"), "new b", true), fs.SyncDir(dir))
		}, map[string]string{"a": "old a", "b": "new b"}},
		{"rename", func(fs durable.FS, dir string) error {
			return errors.Join(
				appendTo(fs, filepath.Join(dir, "b"), "new b", true), fs.SyncDir(dir),
				fs.Rename(filepath.Join(dir, "b"), filepath.Join(dir, "a")),
			)
		}, map[string]string{"a": "old a", "b": "new b"}},
		{"remove", func(fs durable.FS, dir string) error {
			return fs.Remove(filepath.Join(dir, "a"))
		}, map[string]string{"a": "old a"}},
		{"synced remove", func(fs durable.FS, dir string) error {
			return errors.Join(fs.Remove(filepath.Join(dir, "a")), fs.SyncDir(dir))
		}, map[string]string{}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := cutAfter(t, tc.work)
			got := map[string]string{}
			for _, name := range list(t, dir) {
				b, err := os.ReadFile(filepath.Join(dir, name))
				if err != nil {
					t.Fatal(err)
				}
				got[name] = string(b)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("after the cut (-want +got):\n%s", diff)
			}
		})
	}
}

// cutAfter does the work in a folder with a file a, with the power going right
// after it, and returns the folder.
func cutAfter(t *testing.T, work func(fs durable.FS, dir string) error) string {
	t.Helper()
	for n := 0; ; n++ {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "a"), []byte("old a"), 0o600); err != nil {
			t.Fatal(err)
		}
		fs := durable.NewPowerCut(durable.OS(), n)
		if err := work(fs, dir); err != nil {
			continue
		}
		if err := fs.SyncDir(t.TempDir()); !errors.Is(err, durable.ErrCrashed) {
			t.Fatalf("call %d after the work: %v", n, err)
		}
		return dir
	}
}

func appendTo(fs durable.FS, name, text string, sync bool) error {
	f, err := fs.Append(name, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write([]byte(text))
	if err == nil && sync {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "target")
	if err := os.WriteFile(target, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	link, pipe := filepath.Join(dir, "link"), filepath.Join(dir, "pipe")
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	// With a reader the pipe could be opened, were it not refused.
	reader, err := os.OpenFile(pipe, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	for _, name := range []string{link, pipe, dir} {
		for call, open := range map[string]func(string, os.FileMode) (durable.File, error){
			"Create": durable.OS().Create, "Append": durable.OS().Append,
		} {
			if f, err := open(name, 0o600); err == nil {
				t.Errorf("%s opened %s", call, name)
				f.Close()
			}
		}
	}
	if got, err := os.ReadFile(target); err != nil || string(got) != "mine" {
		t.Errorf("target holds %q, %v", got, err)
	}
}

func TestAppendAndTruncate(t *testing.T) {
	name := filepath.Join(t.TempDir(), "log")
	for _, text := range []string{"one\n", "two\n"} {
		if err := appendTo(durable.OS(), name, text, true); err != nil {
			t.Fatal(err)
		}
	}
	f, err := durable.OS().Append(name, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(f.Truncate(4), f.Sync()); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write([]byte("three\n")); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(name); err != nil || string(got) != "one\nthree\n" {
		t.Errorf("ReadFile = %q, %v", got, err)
	}
}

func TestMkdirAll(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b", "c")
	for range 2 {
		if err := durable.OS().MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() || info.Mode().Perm() != 0o700 {
		t.Errorf("Stat: %v, %v", info, err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := durable.OS().MkdirAll(filepath.Join(file, "d"), 0o700); err == nil {
		t.Error("MkdirAll made a folder below a file")
	}
}

func TestWatched(t *testing.T) {
	dir := t.TempDir()
	var got []string
	fs := durable.Watched(durable.OS(), func(op, name string) {
		got = append(got, op+" "+strings.SplitN(filepath.Base(name), ".tmp-", 2)[0])
	})
	if err := durable.WriteFile(fs, filepath.Join(dir, "state"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := appendTo(fs, filepath.Join(dir, "log"), "x", true); err != nil {
		t.Fatal(err)
	}
	if err := fs.Rename(filepath.Join(dir, "none"), filepath.Join(dir, "log")); err == nil {
		t.Fatal("renamed a file that isn't there")
	}
	want := []string{"sync .state", "rename state", "syncdir " + filepath.Base(dir), "sync log"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("points (-want +got):\n%s", diff)
	}
}

func TestLock(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	unlock, err := durable.Lock(name)
	if err != nil {
		t.Fatal(err)
	}
	_, err = durable.Lock(name)
	if !errors.Is(err, durable.ErrLocked) || !strings.Contains(err.Error(), fmt.Sprintf("pid %d", os.Getpid())) {
		t.Errorf("second Lock: %v, want ErrLocked that names pid %d", err, os.Getpid())
	}
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var holder map[string]any
	if err := json.Unmarshal(b, &holder); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"pid", "boot_id", "started"} {
		if _, ok := holder[key]; !ok {
			t.Errorf("lock file %s lacks %s", b, key)
		}
	}
	if err := unlock(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(name); err != nil {
		t.Errorf("lock file after unlock: %v", err)
	}
	unlock, err = durable.Lock(name)
	if err != nil {
		t.Fatalf("Lock after unlock: %v", err)
	}
	if err := unlock(); err != nil {
		t.Error(err)
	}
}

func TestLockOfRubbish(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	unlock, err := durable.Lock(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte("{\x00"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := durable.Lock(name); !errors.Is(err, durable.ErrLocked) {
		t.Errorf("Lock: %v, want ErrLocked", err)
	}
	if err := unlock(); err != nil {
		t.Error(err)
	}
}

// The kernel drops the lock of a process that was killed.
func TestLockDiesWithProcess(t *testing.T) {
	const env = "DURABLE_TEST_LOCK"
	if name := os.Getenv(env); name != "" {
		if _, err := durable.Lock(name); err != nil {
			t.Fatal(err)
		}
		fmt.Println("locked")
		if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
			t.Fatal(err)
		}
		return
	}
	name := filepath.Join(t.TempDir(), "lock")
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestLockDiesWithProcess$")
	child.Env = append(os.Environ(), env+"="+name)
	if _, err := child.StdinPipe(); err != nil { // it lives until killed
		t.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	_, err = durable.Lock(name)
	if !errors.Is(err, durable.ErrLocked) || !strings.Contains(err.Error(), fmt.Sprintf("pid %d ", child.Process.Pid)) {
		t.Errorf("Lock: %v, want ErrLocked that names pid %d", err, child.Process.Pid)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := child.Wait(); err == nil {
		t.Error("child ended well")
	}
	unlock, err := durable.Lock(name)
	if err != nil {
		t.Fatalf("Lock after kill: %v", err)
	}
	if err := unlock(); err != nil {
		t.Error(err)
	}
}

func BenchmarkAppendSync(b *testing.B) {
	f, err := durable.OS().Append(filepath.Join(b.TempDir(), "log"), 0o600)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	line := []byte(strings.Repeat("x", 600) + "\n")
	for b.Loop() {
		if _, err := f.Write(line); err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
	}
}
