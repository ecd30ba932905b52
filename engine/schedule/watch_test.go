package schedule_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"hob/engine/schedule"
)

// patience is how long a test waits for an event that must come.
const patience = 20 * time.Second

// watching starts Run with real file events and a poll too rare to help, and
// returns a function that waits for the next cause.
func watching(t *testing.T, opt schedule.Options) (next func(want schedule.Cause)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	wake := make(chan schedule.Cause, 1)
	done := make(chan error, 1)
	go func() { done <- schedule.Run(ctx, opt, wake) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		select {
		case c := <-wake:
			t.Errorf("one cause too many: %q", c)
		default:
		}
	})
	next = func(want schedule.Cause) {
		t.Helper()
		select {
		case c := <-wake:
			if c != want {
				t.Fatalf("cause %q, want %q", c, want)
			}
		case <-time.After(patience):
			t.Fatalf("no cause within %v, want %q", patience, want)
		}
	}
	next(schedule.Startup)
	return next
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func put(name, text string) error { return os.WriteFile(name, []byte(text), 0o600) }

func appendTo(name, text string) error {
	f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// Each way of saving gives one cause, twice in a row: the first must not cost
// the watch.
func TestRunSeesSaves(t *testing.T) {
	tests := []struct {
		name string
		save func(dir, file, text string) []error
	}{
		{"write", func(_, file, text string) []error { return []error{put(file, text)} }},
		{"append", func(_, file, text string) []error { return []error{appendTo(file, text)} }},
		{"truncate", func(_, file, text string) []error { return []error{put(file, ""), os.Truncate(file, int64(len(text)))} }},
		{"rename into place", func(dir, file, text string) []error {
			tmp := filepath.Join(dir, ".TODO.md.tmp")
			return []error{put(tmp, text), os.Rename(tmp, file)}
		}},
		{"backup and recreate, as vim does", func(_, file, text string) []error {
			return []error{os.Rename(file, file+"~"), put(file, text), os.Remove(file + "~")}
		}},
		{"remove and recreate, as git checkout does", func(_, file, text string) []error {
			return []error{os.Remove(file), put(file, text)}
		}},
		{"byte by byte", func(_, file, text string) []error {
			errs := []error{put(file, "")}
			for _, c := range text {
				errs = append(errs, appendTo(file, string(c)))
			}
			return errs
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := filepath.Join(dir, "TODO.md")
			must(t, put(file, "- [ ] start\n"))
			next := watching(t, schedule.Options{Todo: file, Debounce: 400 * time.Millisecond, Poll: time.Hour})
			must(t, tt.save(dir, file, "- [ ] one\n")...)
			next(schedule.Saved)
			must(t, tt.save(dir, file, "- [ ] one and two\n")...)
			next(schedule.Saved)
		})
	}
}

// Neighbours, modes and equal bytes are no reason. The last change is one, and
// the only cause that comes.
func TestRunIgnores(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "TODO.md")
	must(t, put(file, "a"))
	next := watching(t, schedule.Options{Todo: file, Debounce: 400 * time.Millisecond, Poll: time.Hour})
	must(t, put(filepath.Join(dir, "main.go"), "x"), os.Chmod(file, 0o644), put(file, "a"), put(file, "b"))
	next(schedule.Saved)
}

func TestRunFollowsFolder(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "repo")
	file := filepath.Join(dir, "TODO.md")
	must(t, os.Mkdir(dir, 0o700), put(file, "a"))
	next := watching(t, schedule.Options{Todo: file, Debounce: 50 * time.Millisecond, Poll: 2 * time.Second})
	must(t, os.Rename(dir, dir+".away"))
	next(schedule.Saved) // vanished
	must(t, put(filepath.Join(dir+".away", "TODO.md"), "nobody's"))
	must(t, os.Mkdir(dir, 0o700), put(file, "b"))
	next(schedule.Saved) // back, other bytes
	must(t, put(file, "c"))
	next(schedule.Saved) // and watched again
}

func TestRunFollowsSymlink(t *testing.T) {
	root := t.TempDir()
	link := filepath.Join(root, "repo", "TODO.md")
	one, two := filepath.Join(root, "one", "plan.md"), filepath.Join(root, "two", "plan.md")
	for _, name := range []string{link, one, two} {
		must(t, os.Mkdir(filepath.Dir(name), 0o700))
	}
	must(t, put(one, "1"), put(two, "2"), os.Symlink("../one/plan.md", link))
	next := watching(t, schedule.Options{Todo: link, Debounce: 400 * time.Millisecond, Poll: time.Hour})
	must(t, put(one, "1 changed"))
	next(schedule.Saved)
	must(t, os.Symlink(two, link+".new"), os.Rename(link+".new", link))
	next(schedule.Saved)
	must(t, put(two, "2 changed"))
	next(schedule.Saved)
}

// A folder that does not exist yet is said once, polled, and watched when it comes.
func TestRunStartsWithoutFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "later", "TODO.md")
	var log bytes.Buffer
	opt := schedule.Options{
		Todo: file, Debounce: 50 * time.Millisecond, Poll: time.Second,
		Log: slog.New(slog.NewTextHandler(&log, nil)),
	}
	t.Run("watch", func(t *testing.T) {
		next := watching(t, opt)
		must(t, os.Mkdir(filepath.Dir(file), 0o700), put(file, "a"))
		next(schedule.Saved)
		must(t, put(file, "b"))
		next(schedule.Saved)
	})
	if n := bytes.Count(log.Bytes(), []byte("todo.unwatched")); n != 1 {
		t.Errorf("%d warnings, want 1:\n%s", n, log.String())
	}
}
