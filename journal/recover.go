package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Recover mends what a crash left: half a last line of a run that isn't
// finished is cut off, which a tail.recovered event then says, and folders of
// runs that were never begun are removed. It is for the one daemon of a state
// folder, once, before it begins a run; what has been mended needs nothing
// more. Runs that are being written are left alone. A run that can't be mended
// is part of the error, and stays as it is for Verify; the others are mended
// nevertheless.
func (l *Log) Recover() error {
	errs := []error{l.clearStaging()}
	for id, err := range l.ids() {
		if err != nil {
			return fmt.Errorf("recover journal: %w", err)
		}
		if err := l.mend(id); err != nil && !errors.Is(err, ErrConflict) {
			errs = append(errs, fmt.Errorf("recover journal: %w", err))
		}
	}
	return errors.Join(errs...)
}

func (l *Log) mend(id string) error {
	torn, err := l.torn(id)
	if err != nil || !torn {
		return err
	}
	r, err := l.Resume(id)
	if err != nil {
		return err
	}
	return r.Close()
}

// Resume opens a run that wasn't finished, to go on with it or to record its
// end. Half a last line is cut off first, and a tail.recovered event recorded,
// as are texts that no event refers to. It refuses a finished run with
// ErrFinished, one that is being written with ErrConflict, and one that does
// not verify with ErrDamaged.
func (l *Log) Resume(id string) (*Run, error) {
	r, tail, err := l.resume(id)
	if err != nil {
		return nil, err
	}
	if tail.Bytes == 0 {
		return r, nil
	}
	if err := r.Record(tail); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func (l *Log) resume(id string) (*Run, TailRecovered, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var none TailRecovered
	dir, err := l.folder(id)
	if err != nil {
		return nil, none, fmt.Errorf("resume run %q: %w", id, err)
	}
	defer dir.Close()
	unlock, err := l.lock(id)
	if err != nil {
		return nil, none, err
	}
	v := verifier{report: Report{Run: id}}
	v.check(l)
	if v.damage {
		report := v.verdict()
		err := fmt.Errorf("resume run %s: %w: %s: %s", id, ErrDamaged, report.Code, report.Findings[0].Message)
		return nil, none, errors.Join(err, unlock())
	}
	if v.finished {
		return nil, none, errors.Join(fmt.Errorf("resume run %s: %w", id, ErrFinished), unlock())
	}
	tail, err := readTail(dir, v.size)
	if err != nil {
		return nil, none, errors.Join(fmt.Errorf("resume run %s: %w", id, err), unlock())
	}
	r, err := l.openRun(id, v.state, unlock)
	if err != nil {
		return nil, none, err
	}
	if err := r.cut(); err != nil {
		return nil, none, errors.Join(fmt.Errorf("resume run %s: %w", id, err), r.release())
	}
	return r, tail, nil
}

// readTail describes what lies behind the last whole line.
func readTail(dir *os.Root, size int64) (TailRecovered, error) {
	f, err := openIn(dir, eventsFile)
	if err != nil {
		return TailRecovered{}, err
	}
	defer f.Close()
	if _, err := f.Seek(size, io.SeekStart); err != nil {
		return TailRecovered{}, err
	}
	h := sha256.New()
	n, err := io.Copy(h, f)
	return TailRecovered{Bytes: n, Digest: hex.EncodeToString(h.Sum(nil))}, err
}

// cut brings both files to the size that the chain vouches for.
func (r *Run) cut() error {
	if err := r.bodies.Truncate(r.bodiesSize); err != nil {
		return r.fail(err)
	}
	if err := r.bodies.Sync(); err != nil {
		return r.fail(err)
	}
	if err := r.events.Truncate(r.size); err != nil {
		return r.fail(err)
	}
	if err := r.events.Sync(); err != nil {
		return r.fail(err)
	}
	return nil
}

// torn reports whether the last line of a run is not whole. It reads the end
// of the file alone: a daemon asks it of every run at each start.
func (l *Log) torn(id string) (bool, error) {
	dir, err := l.folder(id)
	if err != nil {
		return false, fmt.Errorf("run %s: %w", id, err)
	}
	defer dir.Close()
	f, err := openIn(dir, eventsFile)
	if err != nil {
		return false, fmt.Errorf("run %s: %w", id, err)
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil || size == 0 {
		return false, err
	}
	end := make([]byte, min(size, maxLine+1))
	if _, err := f.ReadAt(end, size-int64(len(end))); err != nil {
		return false, fmt.Errorf("run %s: %w", id, err)
	}
	last, whole := bytes.CutSuffix(end, []byte("\n"))
	last = last[bytes.LastIndexByte(last, '\n')+1:]
	return !whole || bytes.IndexByte(last, 0) >= 0, nil
}

// clearStaging removes runs whose beginning was cut short: nobody has their id.
func (l *Log) clearStaging() error {
	stages, err := os.ReadDir(l.path("staging"))
	if err != nil {
		return fmt.Errorf("clear staging: %w", err)
	}
	for _, stage := range stages {
		for _, name := range []string{manifestFile, eventsFile, bodiesFile, ""} {
			err := l.o.FS.Remove(l.path("staging", stage.Name(), name))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("clear staging: %w", err)
			}
		}
	}
	return nil
}
