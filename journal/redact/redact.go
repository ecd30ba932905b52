// Package redact masks secrets in bytes on their way to disk, log, model or
// screen.
//
// It masks held values: secrets that hob itself has in its hands, such as
// provider keys and git credentials. A held value is searched for as it is and
// in the forms in which programs print it (see forms.go), by exact match, so
// that nothing else is ever touched and a secret without any shape is still
// found. Secrets that only look like secrets (key prefixes, PEM blocks,
// headers, URLs with a password) are not recognised yet: keep those out by
// other means.
//
// Give New every secret the process holds, before the first byte leaves it;
// hand the same [Set] to everything that writes. What it cannot see: a value
// compressed, encrypted, split by other text, or in base64 that is wrapped in
// the middle of the value; a value in another case; a part of a value, except
// whole lines of one with several lines.
//
// The search is the one of Wu and Manber, "A Fast Algorithm for Multi-Pattern
// Searching" (TR 94-17, University of Arizona, 1994), with blocks of three
// bytes: text that holds no secret is mostly skipped over.
package redact

import (
	"io"
	"slices"
	"strings"
)

// mask stands in for each secret. It says nothing about the value, not even a
// digest: short secrets could be guessed from one.
const mask = "[redacted:held]"

const (
	// MinLength is the number of bytes below which a value is ignored: short
	// values ("on", "admin") would mask ordinary words all over.
	MinLength = 8

	// block is Wu and Manber's B: three bytes of five bits index a table that
	// stays in the first-level cache.
	block    = 3
	hashSize = 1 << (5 * block)
)

// A Set is an immutable collection of held values. It may be used from any
// goroutine. A nil *Set masks nothing.
type Set struct {
	patterns []pattern
	longest  int
	// shift says how far the window may move on when its last block has this
	// hash; 0 means that a pattern may start at the window.
	shift [hashSize]uint8
	// first and next chain the patterns whose window ends with this hash;
	// both hold an index into patterns plus one, 0 ends the chain.
	first [hashSize]int32
	next  []int32
}

// New returns a Set of the given values. Values shorter than [MinLength] are
// ignored, as are duplicates.
func New(secrets ...string) *Set {
	s := &Set{patterns: patterns(secrets)}
	for i := range s.shift {
		s.shift[i] = MinLength - block + 1
	}
	s.next = make([]int32, len(s.patterns))
	for i, p := range s.patterns {
		s.longest = max(s.longest, len(p.text))
		for end := block; end <= MinLength; end++ {
			h := hash(p.text[end-block : end])
			s.shift[h] = min(s.shift[h], uint8(MinLength-end))
		}
		h := hash(p.text[MinLength-block : MinLength])
		s.next[i], s.first[h] = s.first[h], int32(i)+1
	}
	return s
}

// Bytes returns b with each secret replaced by a mask, and the number of
// masks. Secrets that overlap are covered by one mask. b is not changed; when
// it holds no secret the result is b itself.
func (s *Set) Bytes(b []byte) (clean []byte, hits int) {
	if s.empty() {
		return b, 0
	}
	var m masker
	m.scan(s, b, len(b))
	if m.hits == 0 {
		return b, 0
	}
	return m.take(b, len(b)), m.hits
}

// String is [Set.Bytes] for strings, without the count.
func (s *Set) String(text string) string {
	clean, hits := s.Bytes([]byte(text))
	if hits == 0 {
		return text
	}
	return string(clean)
}

// Writer returns a writer that masks secrets on their way to dst, however they
// are spread over calls of Write: dst gets what [Set.Bytes] of the whole text
// would give. The end of the text, as long as the longest form of a secret, is
// held back until more text or Close comes. Close does not close dst. The
// writer belongs to one goroutine; after an error of dst it returns that error
// for ever.
func (s *Set) Writer(dst io.Writer) io.WriteCloser {
	return &writer{set: s, dst: dst}
}

func (s *Set) empty() bool { return s == nil || len(s.patterns) == 0 }

// hash keeps the low five bits of each byte, so that the cases of a letter
// have one hash, as folded patterns need.
func hash[T string | []byte](b T) int {
	return int(b[0]&31)<<10 | int(b[1]&31)<<5 | int(b[2]&31)
}

// longestAt returns the length of the longest pattern that starts at text, 0
// for none. h is the hash of the block that ends the window.
func (s *Set) longestAt(text []byte, h int) int {
	longest := 0
	for i := s.first[h]; i != 0; i = s.next[i-1] {
		if p := &s.patterns[i-1]; len(p.text) > longest && p.starts(text) {
			longest = len(p.text)
		}
	}
	return longest
}

// A masker scans one text, whose bytes it gets piece by piece.
type masker struct {
	out  []byte
	hits int
	// All three count from the start of the bytes at hand: everything before
	// copied is in out or masked, no further secret starts before next, and
	// the last mask covers the bytes before covered.
	copied, next, covered int
}

// scan looks for secrets that start before limit.
func (m *masker) scan(s *Set, text []byte, limit int) {
	i := m.next
	for i < limit && i+MinLength <= len(text) {
		h := hash(text[i+MinLength-block : i+MinLength])
		if shift := int(s.shift[h]); shift > 0 {
			i += shift
			continue
		}
		if n := s.longestAt(text[i:], h); n > 0 {
			m.hide(text, i, i+n)
		}
		i++
	}
	m.next = i
}

// hide covers text[from:to], by the last mask when that reaches into it.
func (m *masker) hide(text []byte, from, to int) {
	if from >= m.covered {
		m.out = append(m.out, text[m.copied:from]...)
		m.out = append(m.out, mask...)
		m.hits++
	}
	m.covered = max(m.covered, to)
	m.copied = m.covered
}

// take returns what is decided of text[:end] since the last take.
func (m *masker) take(text []byte, end int) []byte {
	if end > m.copied {
		m.out = append(m.out, text[m.copied:end]...)
		m.copied = end
	}
	return m.out
}

type writer struct {
	set    *Set
	dst    io.Writer
	held   []byte
	masker masker
	err    error
}

func (w *writer) Write(p []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	if w.set.empty() {
		return w.dst.Write(p)
	}
	w.held = append(w.held, p...)
	if err := w.flush(len(w.held) - w.set.longest + 1); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (w *writer) Close() error {
	if w.err != nil || w.set.empty() {
		return w.err
	}
	return w.flush(len(w.held))
}

// flush writes what no later byte can change: a secret that starts before
// limit lies wholly in the held bytes, or ends where they end for good.
func (w *writer) flush(limit int) error {
	m := &w.masker
	m.scan(w.set, w.held, limit)
	done := min(m.next, max(limit, 0))
	if limit == len(w.held) {
		done = limit
	}
	if out := m.take(w.held, done); len(out) > 0 {
		if _, w.err = w.dst.Write(out); w.err != nil {
			return w.err
		}
	}
	m.out = m.out[:0]
	w.held = slices.Delete(w.held, 0, done)
	m.next = max(m.next-done, 0)
	m.copied = max(m.copied-done, 0)
	m.covered = max(m.covered-done, 0)
	return nil
}

// A pattern is one form of one secret. Where fold is not "", its bytes that
// are 1 mark letters that match in either case: hexadecimal digits.
type pattern struct {
	text string
	fold string
}

// starts reports whether text begins with p.
func (p *pattern) starts(text []byte) bool {
	if len(text) < len(p.text) {
		return false
	}
	if p.fold == "" {
		return string(text[:len(p.text)]) == p.text
	}
	for i := range len(p.text) {
		c := text[i]
		if p.fold[i] == 1 && 'A' <= c && c <= 'F' {
			c += 'a' - 'A'
		}
		if c != p.text[i] {
			return false
		}
	}
	return true
}

// patterns lists the forms of all values, each once.
func patterns(secrets []string) []pattern {
	var all []pattern
	seen := make(map[pattern]bool)
	for _, secret := range secrets {
		for _, p := range forms(secret) {
			// A mask in place of a part of the mask would hide nothing.
			if len(p.text) < MinLength || seen[p] || strings.Contains(mask, p.text) {
				continue
			}
			seen[p] = true
			all = append(all, p)
		}
	}
	return all
}
