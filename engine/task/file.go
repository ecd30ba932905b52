package task

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"hob/journal/durable"
)

// ErrSchema says that a task file was written by a newer hob. Nothing is
// touched then: the older program would drop what it doesn't know.
var ErrSchema = errors.New("written by a newer hob")

// A Damage is a task file that could not be read and was set aside. Its item
// is new to the store if it still stands in TODO.md.
type Damage struct {
	Name string // of the file, without its folder
	Kept string // its name now
	Err  error  // what was wrong with it
}

const (
	// A task file is a few KiB; what is larger is none.
	maxFile = 1 << 20

	// NAME_MAX is 255; durable's temporary names and ".corrupt-n" need some.
	maxName = 180

	keepRuns   = 200
	keepSeen   = 64
	keepFormer = 32
	maxMessage = 2 << 10
	maxLast    = 8 << 10

	suffix = ".json"
	// bystandersName can't be a task's: fileName never starts with a plus.
	bystandersName = "+bystanders" + suffix
)

// fileName is the name of a task's file. Ids are safe names already; whatever
// else comes is percent-encoded, upper case too, since some file systems fold
// it, and a name too long for one is cut to its digest.
func fileName(id string) string {
	const plain = "abcdefghijklmnopqrstuvwxyz0123456789_-"
	var b strings.Builder
	for i := range len(id) {
		c := id[i]
		if strings.IndexByte(plain, c) >= 0 || c == '.' && i > 0 {
			b.WriteByte(c)
			continue
		}
		fmt.Fprintf(&b, "%%%02x", c)
	}
	name := b.String()
	if name == "" {
		name = "%"
	}
	if len(name) > maxName {
		sum := sha256.Sum256([]byte(id))
		name = name[:maxName/2] + "%" + hex.EncodeToString(sum[:])
	}
	return name + suffix
}

// encode writes a task as its file. It bounds what grows.
func encode(t *Task) ([]byte, error) {
	t.Runs = last(t.Runs, keepRuns)
	t.Seen = last(t.Seen, keepSeen)
	t.Former = last(t.Former, keepFormer)
	t.Message, t.Last = clip(t.Message, maxMessage), clip(t.Last, maxLast)
	data, err := json.MarshalIndent(t, "", "  ")
	return append(data, '\n'), err
}

// clip bounds s to n bytes, in whole characters.
func clip(s string, n int) string {
	if len(s) > n {
		s = s[:n]
	}
	return strings.ToValidUTF8(s, "")
}

func last(list []string, n int) []string { return list[max(0, len(list)-n):] }

// decode reads a task from its file. ErrSchema is for a newer version, any
// other error for damage.
func decode(name string, data []byte) (*Task, error) {
	var head struct{ Schema int }
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, err
	}
	if head.Schema > Schema {
		return nil, fmt.Errorf("schema %d: %w", head.Schema, ErrSchema)
	}
	t := new(Task)
	if err := json.Unmarshal(data, t); err != nil {
		return nil, err
	}
	switch {
	case t.Schema != Schema:
		return nil, fmt.Errorf("schema %d is not known", t.Schema)
	case fileName(t.ID) != name:
		return nil, fmt.Errorf("it is of task %q", t.ID)
	case legal[t.State] == nil:
		return nil, fmt.Errorf("state %q is not known", t.State)
	case min(t.Serial, t.Rev, t.Generation) < 1,
		min(t.Attempts, t.TotalAttempts, t.Interruptions, t.Crashes) < 0, t.CostMicroUSD < 0:
		return nil, errors.New("a counter is out of its range")
	}
	return t, nil
}

// folder is the directory of the task files.
type folder struct {
	dir string
	fs  durable.FS
}

// read loads all tasks. It hands damaged files to damage, and returns with the
// tasks the names of files without use, left by a killed write or rename. A
// folder that is missing holds no tasks.
func (f folder) read(damage func(name string, cause error) error) (tasks map[string]*Task, litter []string, err error) {
	entries, err := os.ReadDir(f.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, fmt.Errorf("read tasks: %w", err)
	}
	latest := map[int]*Task{}
	for _, e := range entries {
		name := e.Name()
		if strings.HasPrefix(name, ".") && strings.Contains(name, suffix+".tmp-") {
			litter = append(litter, name)
		}
		if strings.HasPrefix(name, ".") || !strings.HasSuffix(name, suffix) || name == bystandersName {
			continue
		}
		t, err := f.load(name)
		if cause := new(damaged); errors.As(err, &cause) {
			if err := damage(name, cause.cause); err != nil {
				return nil, nil, err
			}
			continue
		}
		if err != nil {
			return nil, nil, fmt.Errorf("read task file %s: %w", name, err)
		}
		// Two files of one serial are one task whose rename was cut short.
		other := latest[t.Serial]
		if other != nil && other.Rev > t.Rev {
			t, other = other, t
		}
		if other != nil {
			litter = append(litter, fileName(other.ID))
		}
		latest[t.Serial] = t
	}
	tasks = map[string]*Task{}
	for _, t := range latest {
		tasks[t.ID] = t
	}
	return tasks, litter, nil
}

// damaged wraps what makes a file no task file at all.
type damaged struct{ cause error }

func (d *damaged) Error() string { return d.cause.Error() }

func (d *damaged) Unwrap() error { return d.cause }

func (f folder) load(name string) (*Task, error) {
	path := filepath.Join(f.dir, name)
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, &damaged{fmt.Errorf("%s of %d bytes is no task file", info.Mode().Type(), info.Size())}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	t, err := decode(name, data)
	if err != nil && !errors.Is(err, ErrSchema) {
		return nil, &damaged{err}
	}
	return t, err
}

// setAside renames a damaged file to the first free name.corrupt-n.
func (f folder) setAside(name string) (kept string, err error) {
	for n := 1; ; n++ {
		kept = fmt.Sprintf("%s.corrupt-%d", name, n)
		if _, err := os.Lstat(filepath.Join(f.dir, kept)); errors.Is(err, fs.ErrNotExist) {
			break
		} else if err != nil {
			return "", fmt.Errorf("set aside %s: %w", name, err)
		}
	}
	if err := f.fs.Rename(filepath.Join(f.dir, name), filepath.Join(f.dir, kept)); err != nil {
		return "", fmt.Errorf("set aside %s: %w", name, err)
	}
	return kept, f.fs.SyncDir(f.dir)
}

func (f folder) write(t *Task) error {
	data, err := encode(t)
	if err != nil {
		return fmt.Errorf("encode task %s: %w", t.ID, err)
	}
	return durable.WriteFile(f.fs, filepath.Join(f.dir, fileName(t.ID)), data, 0o600)
}

// remove deletes files; those already gone are fine.
func (f folder) remove(names ...string) error {
	if len(names) == 0 {
		return nil
	}
	for _, name := range names {
		err := f.fs.Remove(filepath.Join(f.dir, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove task file: %w", err)
		}
	}
	return f.fs.SyncDir(f.dir)
}

// A bystander is an item of TODO.md that is no task: done before hob saw it,
// or a criterion of another. Knowing them keeps the comparison of two readings
// from taking one for a reworded task.
type bystander struct {
	ID    string `json:"id"`
	Text  string `json:"text"`
	Depth int    `json:"depth,omitempty"`
}

// readBystanders returns nil for a missing or damaged file: at worst one
// rewording is not seen as such.
func (f folder) readBystanders() []bystander {
	data, err := os.ReadFile(filepath.Join(f.dir, bystandersName))
	if err != nil {
		return nil
	}
	var list []bystander
	if json.Unmarshal(data, &list) != nil {
		return nil
	}
	return list
}

func (f folder) writeBystanders(list []bystander) error {
	data, err := json.Marshal(list)
	if err != nil {
		return fmt.Errorf("encode bystanders: %w", err)
	}
	return durable.WriteFile(f.fs, filepath.Join(f.dir, bystandersName), append(data, '\n'), 0o600)
}

// same reports whether a and b differ in nothing that has to be on disk. The
// place in the file alone is not worth a write of every task below it.
func same(a, b Task) bool {
	a.Order, a.Rev = b.Order, b.Rev
	x, errX := encode(&a)
	y, errY := encode(&b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}
