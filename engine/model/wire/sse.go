package wire

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// maxEvent bounds one event. The longest honest one is a whole file in one piece.
const maxEvent = 8 << 20

var (
	errLongEvent = errors.New("an event is longer than 8 MiB")
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
	size    int  // of the event so far, comments not counted
	afterCR bool // the last line ended with CR, so an LF belongs to it
}

func newReader(r io.Reader) *reader { return &reader{r: bufio.NewReader(r)} }

// check looks at the first byte once. It returns errNotEvents when the body begins as HTML or JSON does. Its
// content type isn't asked: servers are wrong about it in both directions.
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
		c, err := r.r.ReadByte()
		switch {
		case errors.Is(err, io.EOF) && len(r.text) > 0:
			return r.text, nil
		case err != nil:
			return nil, err
		}
		skip := c == '\n' && r.afterCR
		r.afterCR = c == '\r'
		switch {
		case skip:
		case c == '\n' || c == '\r':
			return r.text, nil
		case r.size == maxEvent:
			return nil, errLongEvent
		default:
			r.text = append(r.text, c)
			if r.text[0] != ':' {
				r.size++
			}
		}
	}
}
