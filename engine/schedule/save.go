package schedule

import (
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// A save finds the moment at which a changed file is whole: silence after the
// last event, then two equal reads. Events only start the clock; the bytes tell.
type save struct {
	quiet time.Duration
	seen  content // as last reported

	first time.Time // first event of the burst; zero when idle
	due   time.Time // when to read next; zero when idle
	half  bool      // read once, and it was draft
	draft content
}

// hint takes an event. It puts the read off until things are quiet, up to the
// longest wait.
func (s *save) hint(now time.Time) {
	if s.first.IsZero() {
		s.first = now
	}
	most := s.first.Add(mostDebounces * s.quiet)
	if now.Before(most) {
		s.half = false
		s.due = earlier(now.Add(s.quiet), most)
	}
}

// poll takes a read without an event. During a burst the burst decides.
func (s *save) poll(c content, now time.Time) {
	if s.first.IsZero() && c != s.seen {
		s.first = now
		s.again(c, now)
	}
}

// read takes the read that was due and tells whether c is a new content that has
// stayed for two reads.
func (s *save) read(c content, now time.Time) bool {
	switch {
	case c == s.seen:
		s.idle()
		return false
	case s.half && c == s.draft:
		s.seen = c
		s.idle()
		return true
	default:
		s.again(c, now)
		return false
	}
}

// again asks for a second read a tenth of the quiet time later: long enough for
// a writer in the middle of a file to get on, short enough not to be felt.
func (s *save) again(c content, now time.Time) {
	s.half, s.draft = true, c
	s.due = now.Add(s.quiet / 10)
}

func (s *save) idle() {
	s.first, s.due, s.half = time.Time{}, time.Time{}, false
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// A content is what is at a path, comparable.
type content struct {
	kind kind
	size int64
	sum  [sha256.Size]byte
}

type kind uint8

const (
	absent kind = iota
	regular
	unreadable // no permission, a folder, a pipe, a device
)

// hashed is how much of the file counts: one byte more than a TODO.md may have.
// Of a larger one only the size matters, and that it is too large.
const hashed = 1<<20 + 1

// look reads what is at name now. It never waits: a pipe in the file's place is
// opened without blocking and then left alone.
func look(name string) content {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return content{kind: absent}
	}
	if err != nil {
		return content{kind: unreadable}
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return content{kind: unreadable}
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, hashed)); err != nil {
		return content{kind: unreadable}
	}
	return content{kind: regular, size: info.Size(), sum: [sha256.Size]byte(h.Sum(nil))}
}
