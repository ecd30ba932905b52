package wire

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// maxEvent bounds one event. The longest honest one is a whole file in one piece.
const maxEvent = 4 << 20

var (
	errLongEvent = errors.New("an event is longer than 4 MiB")
	errNotEvents = errors.New("the body is not an event stream")
)

// An event is one server-sent event (HTML Living Standard §9.2.6).
type event struct {
	name string // "" for most
	data []byte // valid until the next event
}

// A reader takes a byte stream apart into events.
type reader struct {
	r       *bufio.Reader
	checked bool
	data    []byte
	text    []byte
	size    int  // of the event so far
	afterCR bool // the last line ended with CR, so an LF belongs to it
}

func newReader(r io.Reader) *reader { return &reader{r: bufio.NewReader(r)} }

// bom is the byte order mark that may stand before the first event.
const bom = "\ufeff"

// check looks at the first byte, once. It returns errNotEvents when the body
// begins as HTML or JSON does. Its content type isn't asked: servers are wrong
// about it in both directions.
func (r *reader) check() error {
	for !r.checked {
		first, err := r.r.Peek(1)
		if err != nil {
			return err
		}
		switch first[0] {
		case '<', '{', '[':
			return errNotEvents
		case ' ', '\t', '\r', '\n':
			_, _ = r.r.Discard(1) // it was peeked at
		case bom[0]:
			if first, _ := r.r.Peek(len(bom)); string(first) != bom {
				return errNotEvents
			}
			_, _ = r.r.Discard(len(bom))
		default:
			r.checked = true
		}
	}
	return nil
}

// next returns the next event that has data. It skips comments, with which
// servers keep the line open, and the fields that only browsers need. At the end
// of the stream an event without its blank line still counts, since some servers
// leave the last one out: who decodes it sees whether it is whole.
func (r *reader) next() (event, error) {
	if err := r.check(); err != nil {
		return event{}, err
	}
	name, found := "", false
	r.data, r.size = r.data[:0], 0
	for {
		text, err := r.line()
		switch {
		case errors.Is(err, io.EOF) && found:
			return event{name, r.data}, nil
		case err != nil:
			return event{}, err
		case len(text) == 0 && found:
			return event{name, r.data}, nil
		case len(text) == 0:
			name = ""
			continue
		}
		field, value, _ := bytes.Cut(text, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "event":
			name = string(value)
		case "error": // llama.cpp puts its errors here
			name = "error"
			fallthrough
		case "data":
			if found {
				r.data = append(r.data, '\n')
			}
			r.data, found = append(r.data, value...), true
		}
	}
}

// line returns the next line without its end, which may be LF, CR LF or CR. Text
// before the end of the stream is a line; io.EOF comes alone.
func (r *reader) line() ([]byte, error) {
	r.text = r.text[:0]
	for {
		first, err := r.r.Peek(1) // waits for at least one byte
		switch {
		case errors.Is(err, io.EOF) && len(r.text) > 0:
			return r.text, nil
		case err != nil:
			return nil, err
		}
		if r.afterCR && first[0] == '\n' {
			_, _ = r.r.Discard(1)
			r.afterCR = false
			continue
		}
		part, _ := r.r.Peek(r.r.Buffered())
		end := bytes.IndexAny(part, "\r\n")
		r.afterCR = end >= 0 && part[end] == '\r'
		if end >= 0 {
			part = part[:end]
		}
		if err := r.keep(part); err != nil {
			return nil, err
		}
		_, _ = r.r.Discard(len(part))
		if end >= 0 {
			_, _ = r.r.Discard(1)
			return r.text, nil
		}
	}
}

// keep adds part to the line. Of a comment the colon is enough: nobody reads it,
// and comments may come for hours within one event.
func (r *reader) keep(part []byte) error {
	if len(r.text) == 0 && bytes.HasPrefix(part, []byte(":")) {
		part = part[:1]
	} else if bytes.HasPrefix(r.text, []byte(":")) {
		part = nil
	}
	if r.size += len(part); r.size > maxEvent {
		return errLongEvent
	}
	r.text = append(r.text, part...)
	return nil
}
