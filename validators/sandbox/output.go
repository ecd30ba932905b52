package sandbox

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
)

const (
	// Tools say what they do first and what went wrong last; the sizes come from measured logs of
	// go, cargo, pytest and npm (64 KiB holds a whole build, 256 KiB a whole summary).
	headSize = 64 << 10
	tailSize = 256 << 10

	// A log of 300 kB can have its one decisive line in the middle, where head and tail both miss it.
	reserveSize = 64 << 10

	// A longer line is data, not a message.
	longestLine = 4 << 10
)

// needles are what lines that explain a failure contain. Plain substrings: a regexp over every
// line would be slower than the commands that write them.
var needles = [...][]byte{
	[]byte("rror"), []byte("ERR"), []byte("FAIL"), []byte("ail"), []byte("anic"), []byte("not ok"),
	[]byte("fatal"), []byte("xpected"), []byte("Exception"), []byte("✖"),
}

// Output keeps what matters of a stream of any length in bounded memory: the first 64 KiB, the
// last 256 KiB, and between them up to 64 KiB of lines that look like errors. The zero value is
// ready for use. It isn't safe for concurrent use.
type Output struct {
	size    int64
	sum     hash.Hash
	head    []byte
	tail    []byte // a ring once it is full
	next    int    // where the ring's oldest byte is
	line    []byte // the unfinished line behind the head, its first 4 KiB
	begins  int64  // where that line begins in the stream
	reserve []found
	left    int // bytes free in the reserve
}

// found is a line of the reserve; at is where it starts in the stream.
type found struct {
	at   int64
	text []byte
}

// Write takes the next bytes of the stream. It never fails.
func (o *Output) Write(p []byte) (int, error) {
	if o.sum == nil {
		o.sum, o.left = sha256.New(), reserveSize
	}
	o.sum.Write(p)
	n := min(len(p), headSize-len(o.head))
	o.head = append(o.head, p[:n]...)
	o.size += int64(n)
	if rest := p[n:]; len(rest) > 0 {
		o.scan(rest)
		o.keepTail(rest)
		o.size += int64(len(rest))
	}
	return len(p), nil
}

func (o *Output) keepTail(p []byte) {
	p = p[max(0, len(p)-tailSize):]
	n := min(len(p), tailSize-len(o.tail))
	o.tail = append(o.tail, p[:n]...)
	for p = p[n:]; len(p) > 0; p = p[n:] {
		n = copy(o.tail[o.next:], p)
		o.next = (o.next + n) % tailSize
	}
}

// scan looks for lines for the reserve in p, which starts at o.size.
func (o *Output) scan(p []byte) {
	if o.left == 0 {
		return
	}
	if o.line == nil {
		o.begins = o.size
	}
	first, rest, whole := bytes.Cut(p, []byte("\n"))
	o.line = append(o.line, first[:min(len(first), longestLine-len(o.line))]...)
	if !whole {
		return
	}
	o.consider(o.begins, o.line)
	at := o.size + int64(len(first)) + 1
	last := bytes.LastIndexByte(rest, '\n') + 1
	o.begins = at + int64(last)
	if lines := rest[:last]; tells(lines) {
		for line := range bytes.Lines(lines) {
			o.consider(at, bytes.TrimSuffix(line, []byte("\n")))
			at += int64(len(line))
		}
	}
	rest = rest[last:]
	o.line = append(o.line[:0], rest[:min(len(rest), longestLine)]...)
}

func (o *Output) consider(at int64, line []byte) {
	line = line[:min(len(line), longestLine)]
	if len(line) >= o.left || !tells(line) {
		return
	}
	o.left -= len(line) + 1
	o.reserve = append(o.reserve, found{at, bytes.Clone(line)})
}

func tells(b []byte) bool {
	for _, n := range needles {
		if bytes.Contains(b, n) {
			return true
		}
	}
	return false
}

// Len is the length of the whole stream in bytes.
func (o *Output) Len() int64 { return o.size }

// Digest is the SHA-256 of the whole stream in hexadecimal, kept or not.
func (o *Output) Digest() string {
	if o.sum == nil {
		o.sum, o.left = sha256.New(), reserveSize
	}
	return hex.EncodeToString(o.sum.Sum(nil))
}

// Bytes returns what was kept, in order. Where bytes are missing a line says how many.
func (o *Output) Bytes() []byte {
	var b bytes.Buffer
	b.Write(o.head)
	if gap := o.size - int64(len(o.head)+len(o.tail)); gap > 0 {
		o.bridge(&b, gap)
	}
	b.Write(o.tail[o.next:])
	b.Write(o.tail[:o.next])
	return b.Bytes()
}

// bridge writes what stands in for the missing bytes between head and tail.
func (o *Output) bridge(b *bytes.Buffer, gap int64) {
	end := o.size - int64(len(o.tail))
	fmt.Fprintf(b, "\n[hob: %d bytes omitted", gap)
	kept := 0
	for _, f := range o.reserve {
		if f.at+int64(len(f.text)) > end {
			break
		}
		if kept == 0 {
			b.WriteString("; lines in them that may explain a failure:]\n")
		}
		b.Write(f.text)
		b.WriteByte('\n')
		kept++
	}
	if kept > 0 {
		b.WriteString("[hob: end of those lines")
	}
	b.WriteString("]\n")
}
