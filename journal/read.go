package journal

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/oklog/ulid/v2"
)

// Runs lists the manifests of all runs, oldest first. A run whose manifest
// can't be read is left out, and is part of the error; the list is good
// nevertheless.
func (l *Log) Runs() ([]Manifest, error) {
	var all []Manifest
	var errs []error
	for id, err := range l.ids() {
		if err != nil {
			return nil, fmt.Errorf("list runs: %w", err)
		}
		m, _, err := l.manifest(id)
		if err != nil {
			errs = append(errs, fmt.Errorf("manifest of run %s: %w", id, err))
			continue
		}
		all = append(all, m)
	}
	return all, errors.Join(errs...)
}

// Read returns the events of a run, up to half a line that is being written or
// that a crash left. It checks the form of each line, not the chain; after an
// error the events before the bad line are returned as well.
func (l *Log) Read(run string) ([]Entry, error) {
	dir, err := l.folder(run)
	if err != nil {
		return nil, fmt.Errorf("read run %q: %w", run, err)
	}
	defer dir.Close()
	f, err := openIn(dir, eventsFile)
	if err != nil {
		return nil, fmt.Errorf("read run %s: %w", run, err)
	}
	defer f.Close()
	var all []Entry
	lines := newLines(f)
	for {
		line, err := lines.next()
		if errors.Is(err, io.EOF) || errors.Is(err, errTorn) {
			return all, nil
		}
		if err != nil {
			return all, fmt.Errorf("read run %s: event %d: %w", run, len(all), err)
		}
		e, code := parseLine(line)
		if code != "" {
			return all, fmt.Errorf("read run %s: event %d: %w: %s", run, len(all), ErrDamaged, code)
		}
		all = append(all, e)
	}
}

// Body returns the text that ref stands for, after checking its digest.
func (l *Log) Body(run string, ref Ref) ([]byte, error) {
	if ref.I < 0 || ref.H == "" {
		return nil, fmt.Errorf("read text of run %s: %w", run, ErrWithheld)
	}
	dir, err := l.folder(run)
	if err != nil {
		return nil, fmt.Errorf("read text of run %q: %w", run, err)
	}
	defer dir.Close()
	f, err := openIn(dir, bodiesFile)
	if err != nil {
		return nil, fmt.Errorf("read text of run %s: %w", run, err)
	}
	defer f.Close()
	frames := newFrames(f)
	for frames.n < ref.I {
		if _, _, err := frames.next(nil); err != nil {
			return nil, fmt.Errorf("read text %d of run %s: %w", ref.I, run, err)
		}
	}
	var body bytes.Buffer
	n, digest, err := frames.next(&limited{&body, ref.Len})
	if err != nil {
		return nil, fmt.Errorf("read text %d of run %s: %w", ref.I, run, err)
	}
	if n != ref.Len || digest != ref.H {
		return nil, fmt.Errorf("read text %d of run %s: %w: %s", ref.I, run, ErrDamaged, BodyMismatch)
	}
	return body.Bytes(), nil
}

// limited keeps the first bytes it gets: a false length costs no memory.
type limited struct {
	w    io.Writer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), max(l.left, 0))
	l.left -= n
	if _, err := l.w.Write(p[:n]); err != nil {
		return 0, err
	}
	return len(p), nil
}

// ids yields the names of all runs, oldest first. Other names are ignored.
func (l *Log) ids() iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		entries, err := os.ReadDir(l.path("runs"))
		if err != nil {
			yield("", err)
			return
		}
		for _, e := range entries {
			if isID(e.Name()) && !yield(e.Name(), nil) {
				return
			}
		}
	}
}

// isID reports whether s can be the name of a run's folder.
func isID(s string) bool {
	_, err := ulid.ParseStrict(s)
	return err == nil && s == strings.ToUpper(s)
}

// manifest returns a run's manifest and the bytes of its file.
func (l *Log) manifest(run string) (Manifest, []byte, error) {
	dir, err := l.folder(run)
	if err != nil {
		return Manifest{}, nil, err
	}
	defer dir.Close()
	return readManifest(dir)
}

func readManifest(dir *os.Root) (Manifest, []byte, error) {
	f, err := openIn(dir, manifestFile)
	if err != nil {
		return Manifest{}, nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxManifest+1))
	if err != nil {
		return Manifest{}, nil, err
	}
	var m Manifest
	if err := json.Unmarshal(b, &m); err != nil || len(b) > maxManifest {
		return Manifest{}, nil, &fault{ManifestMismatch, errors.Join(errors.New("manifest is not readable"), err)}
	}
	if m.Version != version {
		return Manifest{}, nil, &fault{UnsupportedVersion, fmt.Errorf("manifest has version %d, known is %d", m.Version, version)}
	}
	return m, b, nil
}

// A fault is an error with the code that Verify has for it.
type fault struct {
	code Code
	err  error
}

func (f *fault) Error() string { return string(f.code) + ": " + f.err.Error() }
func (f *fault) Unwrap() error { return f.err }

// folder opens the folder of a run. Nothing in a journal may be a symbolic
// link: os.Root alone would follow those that stay inside.
func (l *Log) folder(run string) (*os.Root, error) {
	if !filepath.IsLocal(run) || strings.ContainsAny(run, `/\`) {
		return nil, &fault{UnsafePath, fmt.Errorf("%q is not the name of a run", run)}
	}
	runs, err := os.OpenRoot(l.path("runs"))
	if err != nil {
		return nil, &fault{IOError, err}
	}
	defer runs.Close()
	before, err := runs.Lstat(run)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !isID(run) {
		return nil, &fault{RunNotFound, ErrNoRun}
	}
	if err != nil {
		return nil, &fault{IOError, err}
	}
	if before.Mode().Type() != fs.ModeDir {
		return nil, &fault{UnsafePath, errors.New("the run's folder is " + kindOf(before))}
	}
	dir, err := runs.OpenRoot(run)
	if err != nil {
		return nil, &fault{IOError, err}
	}
	after, err := dir.Stat(".")
	if err != nil || !os.SameFile(before, after) {
		return nil, errors.Join(&fault{UnsafePath, errors.New("the run's folder was replaced")}, err, dir.Close())
	}
	return dir, nil
}

// openIn opens a regular file for reading; anything else is not even opened,
// and a pipe that takes its place meanwhile does not block.
func openIn(dir *os.Root, name string) (*os.File, error) {
	before, err := dir.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &fault{RunMissing, fmt.Errorf("%s is missing: %w", name, fs.ErrNotExist)}
	}
	if err != nil {
		return nil, &fault{IOError, err}
	}
	switch before.Mode().Type() {
	case 0:
	case fs.ModeSymlink:
		return nil, &fault{UnsafePath, errors.New(name + " is a symbolic link")}
	default:
		return nil, &fault{NotRegularFile, errors.New(name + " is " + kindOf(before))}
	}
	f, err := dir.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, &fault{IOError, err}
	}
	after, err := f.Stat()
	if err != nil || !os.SameFile(before, after) {
		return nil, errors.Join(&fault{UnsafePath, errors.New(name + " was replaced")}, err, f.Close())
	}
	return f, nil
}

// kindOf says what a file is, for people.
func kindOf(info fs.FileInfo) string {
	switch t := info.Mode().Type(); {
	case t == 0:
		return "a regular file"
	case t&fs.ModeDir != 0:
		return "a folder"
	case t&fs.ModeSymlink != 0:
		return "a symbolic link"
	case t&fs.ModeNamedPipe != 0:
		return "a pipe"
	default:
		return "no regular file"
	}
}

var (
	// errTorn says that the last line is not whole: it has no line break, or
	// holds NUL bytes as a file does whose size was written before its bytes.
	errTorn = errors.New("last line is not whole")
	errLong = errors.New("line too long")
)

// lines reads lines of at most maxLine bytes, without their breaks.
type lines struct{ r *bufio.Reader }

func newLines(r io.Reader) lines { return lines{bufio.NewReaderSize(r, maxLine+1)} }

// next returns a line that is valid until the following call; io.EOF, errTorn
// and errLong end the reading.
func (l lines) next() ([]byte, error) {
	line, err := l.r.ReadSlice('\n')
	nul := bytes.IndexByte(line, 0)
	switch {
	case err == nil && nul >= 0:
		line = bytes.Clone(line)
		if _, err := l.r.Peek(1); errors.Is(err, io.EOF) {
			return nil, errTorn
		}
		return line[:len(line)-1], nil
	case err == nil:
		return line[:len(line)-1], nil
	case errors.Is(err, io.EOF) && len(line) > 0:
		return nil, errTorn
	case errors.Is(err, bufio.ErrBufferFull):
		if nul >= 0 && len(bytes.Trim(line[nul:], "\x00")) == 0 {
			return nil, l.skipNULs()
		}
		return nil, errLong
	}
	return nil, err
}

// maxNULs is how many NUL bytes a crash may leave at the end of a file: more
// than any system holds back for one.
const maxNULs = 16 << 20

// skipNULs returns errTorn when only NUL bytes are left, and not too many.
func (l lines) skipNULs() error {
	for skipped := 0; skipped < maxNULs; {
		chunk, err := l.r.Peek(max(l.r.Buffered(), 1))
		switch {
		case errors.Is(err, io.EOF):
			return errTorn
		case err != nil:
			return err
		case len(bytes.Trim(chunk, "\x00")) > 0:
			return errLong
		}
		n, err := l.r.Discard(len(chunk))
		if err != nil {
			return err
		}
		skipped += n
	}
	return errLong
}
