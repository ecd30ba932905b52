package journal

import (
	"bufio"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
)

// A Ref stands for a text in an event. The zero Ref is no text.
type Ref struct {
	I      int    `json:"ref"`              // number of the text in the run, from 0; -1 was not kept
	Len    int    `json:"len"`              // bytes kept
	H      string `json:"h"`                // hexadecimal SHA-256 of salt and bytes
	Trunc  int64  `json:"trunc,omitempty"`  // bytes there were before the cut; 0 is not cut
	Masked int    `json:"masked,omitempty"` // secrets masked in it
}

const (
	// withheld is the number of a text that was not kept.
	withheld = -1

	saltSize  = 32
	frameHead = 4 + saltSize

	// maxBodies is where a run's texts turn into digests: nine tenths of the
	// 64 MiB a run may take, so that its end is still recorded.
	maxBodies = 64 << 20 / 10 * 9
)

// A frame is a text in the bodies file: its length in four bytes, most
// significant first, a salt of 32 bytes, its bytes.
type frame struct {
	salt [saltSize]byte
	body []byte
}

func newFrame(body []byte) frame {
	f := frame{body: body}
	rand.Read(f.salt[:]) // never fails: crypto/rand
	return f
}

func (f frame) size() int64 { return frameHead + int64(len(f.body)) }

func (f frame) bytes() []byte {
	b := make([]byte, 0, f.size())
	b = binary.BigEndian.AppendUint32(b, uint32(len(f.body)))
	b = append(b, f.salt[:]...)
	return append(b, f.body...)
}

func (f frame) digest() string {
	h := sha256.New()
	h.Write(f.salt[:])
	h.Write(f.body)
	return hex.EncodeToString(h.Sum(nil))
}

// A frameReader reads a bodies file from its start.
type frameReader struct {
	r    *bufio.Reader
	n    int   // frames read
	size int64 // bytes of them
}

func newFrames(r io.Reader) *frameReader { return &frameReader{r: bufio.NewReader(r)} }

// next skips to the next frame and returns its length and digest; dst, unless nil,
// gets its bytes. io.EOF is the end, io.ErrUnexpectedEOF half a frame.
func (f *frameReader) next(dst io.Writer) (length int, digest string, err error) {
	var head [frameHead]byte
	if _, err := io.ReadFull(f.r, head[:]); err != nil {
		return 0, "", err
	}
	n := int64(binary.BigEndian.Uint32(head[:]))
	h := sha256.New()
	h.Write(head[4:])
	to := io.Writer(h)
	if dst != nil {
		to = io.MultiWriter(h, dst)
	}
	if _, err := io.CopyN(to, f.r, n); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return 0, "", err
	}
	f.n++
	f.size += frameHead + n
	return int(n), hex.EncodeToString(h.Sum(nil)), nil
}

// noteRoom is what the line about a cut takes at most.
const noteRoom = 40

// excerpt returns at most limit bytes of b: all, or three quarters from its
// start and one from its end, with a line between that says how much is
// missing.
func excerpt(b []byte, limit int) []byte {
	if len(b) <= limit {
		return b
	}
	if limit <= noteRoom {
		return b[:limit]
	}
	tail := (limit - noteRoom) / 4
	head := limit - noteRoom - tail
	kept := make([]byte, 0, limit)
	kept = append(kept, b[:head]...)
	kept = fmt.Appendf(kept, "\n[cut %d bytes]\n", len(b)-head-tail)
	return append(kept, b[len(b)-tail:]...)
}
