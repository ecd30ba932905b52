package journal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"hob/journal/durable"
)

// A Run is one run, open for events. It may be used from any goroutine; events
// are in the order in which Record was entered.
type Run struct {
	log    *Log
	id     string
	unlock func() error
	since  time.Time // when the run began, or would have, without its pauses

	// Guarded by log.mu, with all that follows.
	state
	events, bodies durable.File
	unsynced       bool // bodies holds bytes that are not on the device
	spans          spans
	err            error // why the run takes nothing more
	closed         bool
}

// state is where a chain stands.
type state struct {
	prev       string // hash of the last line, or the genesis
	seq        int    // of the next event
	size       int64  // of the events file
	mono       time.Duration
	at         time.Time
	frames     int   // in the bodies file
	bodiesSize int64 // of the bodies file
	finished   bool
}

// ID returns the run's id, a ULID.
func (r *Run) ID() string { return r.id }

// Err is what ended the run before its time, after which it takes nothing more; nil
// while it does.
func (r *Run) Err() error {
	r.log.mu.Lock()
	defer r.log.mu.Unlock()
	return r.err
}

// Record appends e. When it returns nil the line and the texts it refers to
// are on the device. Strings of e are masked, and cut at 2 KiB. Any error but
// [ErrTooLong] is final for the run, and wraps its cause: whether the event is
// there is not known then. After [RunFinished] nothing more is taken.
func (r *Run) Record(e Event) error {
	if err := r.record(e); err != nil {
		return fmt.Errorf("record %s in run %s: %w", e.Kind(), r.id, err)
	}
	if r.log.o.Notify != nil {
		r.log.notify()
	}
	return nil
}

func (r *Run) record(e Event) error {
	r.log.mu.Lock()
	defer r.log.mu.Unlock()
	if err := r.ready(); err != nil {
		return err
	}
	last, ends := e.(RunFinished)
	if ends {
		last.Check = ""
		e = last
	}
	body, err := encodeBody(e, r.log.o.Redact.String)
	if err != nil {
		return err
	}
	entry := r.next(e.Kind(), body)
	if len(body) > maxRecord {
		return fmt.Errorf("%w: %d bytes, at most %d", ErrTooLong, len(body), maxRecord)
	}
	if err := r.checkAlone(); err != nil {
		return err
	}
	entry.Span = r.spans.of(e, entry.Seq)
	if err := r.append(entry.checked()); err != nil {
		return err
	}
	r.finished = ends
	return nil
}

// ready says whether the run takes anything.
func (r *Run) ready() error {
	switch {
	case r.err != nil:
		return r.err
	case r.closed:
		return os.ErrClosed
	case r.finished:
		return ErrFinished
	}
	return nil
}

// next is the entry that comes next, in the span of the run itself.
func (r *Run) next(kind string, body []byte) Entry {
	return Entry{
		Run: r.id, Seq: r.seq, At: time.Now().UTC().Truncate(time.Microsecond),
		Mono: max(time.Since(r.since), r.mono), Kind: kind, Span: "0", Body: body, Prev: r.prev,
	}
}

// append writes the line of e, after the texts before it.
func (r *Run) append(e Entry) error {
	if r.unsynced {
		if err := r.bodies.Sync(); err != nil {
			return r.fail(err)
		}
		r.unsynced = false
	}
	line := e.appendLine(nil)
	e.Hash = leafHash(line)
	if _, err := r.events.Write(append(line, '\n')); err != nil {
		return r.fail(err)
	}
	if err := r.events.Sync(); err != nil {
		return r.fail(err)
	}
	r.advance(e, int64(len(line))+1)
	if r.log.o.Notify != nil {
		r.log.told = append(r.log.told, e)
	}
	return nil
}

// advance moves the state behind e, whose line with its break has size bytes.
func (s *state) advance(e Entry, size int64) {
	s.prev, s.seq, s.mono, s.at = e.Hash, e.Seq+1, e.Mono, e.At
	s.size += size
}

// fail makes err the run's last word.
func (r *Run) fail(err error) error {
	r.err = fmt.Errorf("%w: %w", ErrWrite, err)
	return r.err
}

// checkAlone makes sure that nobody else has written to the events. If
// somebody has, the run ends with an event that says so, chained to theirs
// when theirs is a valid chain: otherwise verifying it would find nothing.
func (r *Run) checkAlone() error {
	info, err := os.Lstat(r.path(eventsFile))
	if err != nil {
		return r.fail(err)
	}
	if info.Size() == r.size {
		return nil
	}
	was, at := r.size, r.seq
	if info.Size() > r.size {
		r.adopt()
	}
	gap := Gap{Reason: reasonConflict, AtSeq: at}
	body, err := encodeBody(gap, r.log.o.Redact.String)
	if err == nil {
		err = r.append(r.next(gap.Kind(), body))
	}
	r.err = errors.Join(fmt.Errorf("%w: events has %d bytes instead of %d", ErrConflict, info.Size(), was), err)
	return r.err
}

// reasonConflict is what a journal.gap says of somebody else's lines.
const reasonConflict = "writer_conflict"

// adopt moves the state behind somebody else's lines, as long as they chain on.
func (r *Run) adopt() {
	dir, err := r.log.folder(r.id)
	if err != nil {
		return
	}
	defer dir.Close()
	f, err := openIn(dir, eventsFile)
	if err != nil {
		return
	}
	defer f.Close()
	if _, err := f.Seek(r.size, io.SeekStart); err != nil {
		return
	}
	lines := newLines(f)
	for {
		line, err := lines.next()
		if err != nil {
			return
		}
		e, code := parseLine(line)
		if code != "" || e.Run != r.id || e.Seq != r.seq || e.Prev != r.prev {
			return
		}
		r.advance(e, int64(len(line))+1)
	}
}

// Head returns how many events the run has, and the hash of the last one.
func (r *Run) Head() (size int, last string) {
	r.log.mu.Lock()
	defer r.log.mu.Unlock()
	return r.seq, r.prev
}

// Close lets go of the run. It does not finish it: that is [RunFinished]. A
// run that was closed before is fine.
func (r *Run) Close() error {
	r.log.mu.Lock()
	defer r.log.mu.Unlock()
	if r.closed {
		return nil
	}
	return r.release()
}

func (r *Run) release() error {
	r.closed = true
	var errs []error
	for _, f := range []durable.File{r.events, r.bodies} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(append(errs, r.unlock())...)
}

func (r *Run) path(name string) string { return r.log.path("runs", r.id, name) }

// Keep stores a text and returns what an event holds in its place. The text is
// masked, then cut to MaxBody bytes, three quarters from its start and one
// from its end. It lasts once an event is recorded after it, and belongs to
// this run. Without Content, and when the run has taken more than it may, only
// the length and the digest remain. An error is final for the run.
func (r *Run) Keep(b []byte) (Ref, error) { return r.keep(b, r.log.o.Content) }

// KeepReasoning is Keep for what a model thinks: it needs Reasoning as well.
func (r *Run) KeepReasoning(b []byte) (Ref, error) {
	return r.keep(b, r.log.o.Content && r.log.o.Reasoning)
}

func (r *Run) keep(b []byte, content bool) (Ref, error) {
	clean, masked := r.log.o.Redact.Bytes(b)
	kept := excerpt(clean, r.log.o.MaxBody)
	f := newFrame(kept)
	ref := Ref{I: withheld, Len: len(kept), H: f.digest(), Masked: masked}
	if len(clean) > r.log.o.MaxBody {
		ref.Trunc = int64(len(clean))
	}
	r.log.mu.Lock()
	defer r.log.mu.Unlock()
	if err := r.ready(); err != nil {
		return Ref{}, fmt.Errorf("keep text of run %s: %w", r.id, err)
	}
	if !content || r.bodiesSize+f.size() > maxBodies {
		return ref, nil
	}
	if _, err := r.bodies.Write(f.bytes()); err != nil {
		return Ref{}, fmt.Errorf("keep text of run %s: %w", r.id, r.fail(err))
	}
	ref.I = r.frames
	r.frames++
	r.bodiesSize += f.size()
	r.unsynced = true
	return ref, nil
}
