package schedule

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// maxFolders is how many folders are watched: the file's own and, where it is
	// a symlink, the one of its target, of a target that is a link as well, but
	// never a tree. inotify watches are a scarce good (fs.inotify.max_user_watches).
	maxFolders = 3
	// kqueue opens every file of a watched folder; beyond this only the poll looks.
	maxKqueueEntries = 10_000
)

var errCrowded = errors.New("too many files in the folder")

// A watch hears of changes to one file by watching folders. A nil watch hears
// nothing. It is renewed whenever the way to the file may have changed; while a
// folder can't be watched it is tried again with growing pauses.
type watch struct {
	file    string // absolute
	log     *slog.Logger
	soonest time.Duration // pause after the first failure
	longest time.Duration

	notify *fsnotify.Watcher      // nil until one could be made
	held   map[string]os.FileInfo // by folder: what it was when it was added
	names  []string               // of the file, by every link on the way
	retry  time.Time              // zero when all is watched
	pause  time.Duration
	warned bool
}

func newWatch(file string, opt Options) *watch {
	return &watch{
		file: file, log: opt.Log, soonest: opt.Debounce, longest: opt.Poll,
		held: map[string]os.FileInfo{},
	}
}

func (w *watch) close() {
	if w.notify != nil {
		_ = w.notify.Close() // nothing was written through it
	}
}

func (w *watch) events() <-chan fsnotify.Event {
	if w == nil || w.notify == nil {
		return nil
	}
	return w.notify.Events
}

func (w *watch) errors() <-chan error {
	if w == nil || w.notify == nil {
		return nil
	}
	return w.notify.Errors
}

func (w *watch) retryAt() time.Time {
	if w == nil {
		return time.Time{}
	}
	return w.retry
}

// relevant tells whether an event can mean that the file changed. Names compare
// without case, since some file systems do; the content decides anyway.
func (w *watch) relevant(e fsnotify.Event, ok bool) bool {
	if !ok {
		w.broken(nil, false)
		return true
	}
	if e.Op == fsnotify.Chmod {
		return false
	}
	name := filepath.Clean(e.Name)
	if _, folder := w.held[name]; folder {
		return true
	}
	return slices.ContainsFunc(w.names, func(n string) bool { return strings.EqualFold(n, filepath.Base(name)) })
}

// broken takes an error of the watcher; ok is false when it has ended.
func (w *watch) broken(err error, ok bool) {
	if ok && errors.Is(err, fsnotify.ErrEventOverflow) {
		return // the folder is busy, not the watch broken
	}
	w.warn(err)
	if !ok {
		w.notify = nil
		clear(w.held)
	}
}

// renew brings the watched folders in step with the way to the file. It returns
// true if one was added: what happened in it before went unheard.
func (w *watch) renew(now time.Time) (added bool) {
	if w == nil {
		return false
	}
	folders, names, err := way(w.file)
	w.names = names
	if w.notify == nil {
		var nerr error
		if w.notify, nerr = fsnotify.NewWatcher(); nerr != nil {
			w.later(now, nerr)
			return false
		}
	}
	alive := w.notify.WatchList()
	for folder := range maps.Clone(w.held) {
		info, wanted := folders[folder]
		if wanted && os.SameFile(info, w.held[folder]) && slices.Contains(alive, folder) {
			continue
		}
		_ = w.notify.Remove(folder) // gone already when the folder is
		delete(w.held, folder)
	}
	for folder, info := range folders {
		if _, held := w.held[folder]; held {
			continue
		}
		if aerr := w.add(folder); aerr != nil {
			err = errors.Join(err, fmt.Errorf("watch %s: %w", folder, aerr))
			continue
		}
		w.held[folder] = info
		added = true
	}
	if err != nil {
		w.later(now, err)
		return added
	}
	w.retry, w.pause, w.warned = time.Time{}, 0, false
	return added
}

func (w *watch) add(folder string) error {
	if runtime.GOOS != "linux" && crowded(folder) {
		return errCrowded
	}
	return w.notify.Add(folder)
}

// later tries again after a pause that doubles up to the poll's.
func (w *watch) later(now time.Time, err error) {
	w.warn(err)
	w.pause = min(max(2*w.pause, w.soonest), w.longest)
	w.retry = now.Add(w.pause)
}

// warn says once per spell that only the poll looks.
func (w *watch) warn(err error) {
	if !w.warned {
		w.log.Warn("todo.unwatched", "path", w.file, "err", err, "poll", w.longest)
	}
	w.warned = true
}

// way returns the folders on the way to file, links resolved, and the names that
// it goes by in them. The error says which folder is missing; the others count.
func way(file string) (folders map[string]os.FileInfo, names []string, err error) {
	folders = map[string]os.FileInfo{}
	for range maxFolders {
		names = append(names, filepath.Base(file))
		folder, err := filepath.EvalSymlinks(filepath.Dir(file))
		if err != nil {
			return folders, names, err
		}
		info, err := os.Stat(folder)
		if err != nil {
			return folders, names, err
		}
		folders[folder] = info
		target, err := os.Readlink(filepath.Join(folder, filepath.Base(file)))
		if err != nil {
			return folders, names, nil // a plain file, or none yet
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(folder, target)
		}
		file = target
	}
	return folders, names, nil
}

// crowded tells whether a folder has more entries than kqueue should open.
func crowded(folder string) bool {
	d, err := os.Open(folder)
	if err != nil {
		return false
	}
	defer d.Close()
	list, err := d.Readdirnames(maxKqueueEntries + 1)
	return (err == nil || errors.Is(err, io.EOF)) && len(list) > maxKqueueEntries
}
