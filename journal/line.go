package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	// version is that of lines and manifests. Fields of bodies may be added
	// without a new one; anything else needs it.
	version = 1

	// maxLine is how much a reader takes for one line, and what it stops at.
	maxLine = 64 << 10
	// maxRecord is how long a line may be when written. The distance to
	// maxLine is for versions to come.
	maxRecord = 16 << 10
	// maxString is what is kept of a string in an event, in bytes: it is
	// metadata, text goes to bodies.
	maxString = 2 << 10
	// maxDepth bounds the nesting of a line.
	maxDepth = 64

	// stamp is the only form of a time in a line.
	stamp = "2006-01-02T15:04:05.000000Z"
)

// An Entry is one line of a run, as it is on disk.
type Entry struct {
	Run  string          `json:"run"`
	Seq  int             `json:"seq"`  // from 0, without gaps
	At   time.Time       `json:"ts"`   // UTC; may go back when the clock is set
	Mono time.Duration   `json:"mono"` // since the run began; never goes back
	Kind string          `json:"kind"`
	Span string          `json:"span"` // hexadecimal Seq of the event that began the act
	Body json.RawMessage `json:"body"` // see Decode
	Prev string          `json:"prev"` // Hash of the line before
	Hash string          `json:"hash"` // not in the line: what the next one has as Prev
}

// appendLine writes e in its one form, without the line break: keys in this
// order, no spaces, nothing escaped that need not be.
func (e Entry) appendLine(b []byte) []byte {
	b = append(b, `{"v":1,"run":"`...)
	b = append(b, e.Run...)
	b = append(b, `","seq":`...)
	b = strconv.AppendInt(b, int64(e.Seq), 10)
	b = append(b, `,"ts":"`...)
	b = e.At.AppendFormat(b, stamp)
	b = append(b, `","mono":`...)
	b = strconv.AppendInt(b, int64(e.Mono), 10)
	b = append(b, `,"kind":"`...)
	b = append(b, e.Kind...)
	b = append(b, `","span":"`...)
	b = append(b, e.Span...)
	b = append(b, `","body":`...)
	b = append(b, e.Body...)
	b = append(b, `,"prev":"`...)
	b = append(b, e.Prev...)
	return append(b, `"}`...)
}

// leafHash is the hash of a line, without its line break: that of a leaf in
// RFC 6962 §2.1, so that one hash serves the chain and a tree over it.
func leafHash(line []byte) string {
	h := sha256.New()
	h.Write([]byte{0})
	h.Write(line)
	return hex.EncodeToString(h.Sum(nil))
}

// noCheck is an empty check in a body. It can't be inside of a string, where
// quotes are escaped.
const noCheck = `"check":""`

// checked returns e with the check of its line filled in. Against anybody who
// can compute a hash it proves nothing; it finds a disk's errors in the last
// line, the one that the chain doesn't reach. Prev is left to the chain.
func (e Entry) checked() Entry {
	if before, after, ok := bytes.Cut(e.Body, []byte(noCheck)); ok {
		alone := e
		alone.Prev = ""
		check := leafHash(alone.appendLine(nil))
		e.Body = slices.Concat(before, []byte(noCheck[:len(noCheck)-1]+check+`"`), after)
	}
	return e
}

// checks reports whether e has the check that its kind demands, and whether
// the one it has is right.
func (e Entry) checks() bool {
	key := []byte(noCheck[:len(noCheck)-1])
	before, after, ok := bytes.Cut(e.Body, key)
	if !ok || len(after) <= 2*sha256.Size || !isDigest(string(after[:2*sha256.Size])) {
		return e.Kind != RunFinished{}.Kind()
	}
	bare := e
	bare.Body = slices.Concat(before, key, after[2*sha256.Size:])
	return bytes.Equal(bare.checked().Body, e.Body)
}

// genesis is the Prev of a run's first line: SHA-256 of "hob-journal/1\n", the
// id of the run, "\n" and the hexadecimal SHA-256 of its manifest file. It
// binds the chain to both.
func genesis(run string, manifest []byte) string {
	m := sha256.Sum256(manifest)
	sum := sha256.Sum256([]byte("hob-journal/1\n" + run + "\n" + hex.EncodeToString(m[:])))
	return hex.EncodeToString(sum[:])
}

// parseLine reads a line without its break. Only the form that appendLine
// writes is accepted, byte for byte; a refusal says by its code why not.
func parseLine(line []byte) (Entry, Code) {
	e, ok := cutLine(line)
	if !ok || !bytes.Equal(e.appendLine(make([]byte, 0, len(line))), line) || !plainBody(e.Body) {
		return Entry{}, diagnose(line)
	}
	e.Hash = leafHash(line)
	return e, ""
}

// cutLine takes a line apart at the keys. Whether the parts are right shows
// when they are put together again; the strings hold nothing that JSON would
// escape.
func cutLine(line []byte) (e Entry, ok bool) {
	rest := string(line)
	field := func(until string) string {
		var value string
		if ok {
			value, rest, ok = strings.Cut(rest, until)
		}
		return value
	}
	number := func(until string) int64 {
		n, err := strconv.ParseInt(field(until), 10, 64)
		ok = ok && err == nil && n >= 0
		return n
	}
	ok = true
	field(`{"v":1,"run":"`)
	e.Run = field(`","seq":`)
	seq := number(`,"ts":"`)
	at, err := time.Parse(stamp, field(`","mono":`))
	e.Seq, e.At = int(seq), at
	e.Mono = time.Duration(number(`,"kind":"`))
	e.Kind = field(`","span":"`)
	e.Span = field(`","body":`)
	end := strings.LastIndex(rest, `,"prev":"`)
	if !ok || err != nil || end < 0 || int64(e.Seq) != seq {
		return Entry{}, false
	}
	e.Body = json.RawMessage(rest[:end])
	e.Prev = strings.TrimSuffix(rest[end+len(`,"prev":"`):], `"}`)
	return e, isName(e.Run) && isName(e.Kind) && isName(e.Span) && isDigest(e.Prev)
}

// isName reports whether s is of the letters that ids, kinds and spans use.
func isName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '.' || c == '_') {
			return false
		}
	}
	return s != ""
}

// isDigest reports whether s is a SHA-256 in lower-case hexadecimal.
func isDigest(s string) bool {
	for i := range len(s) {
		if c := s[i]; !('0' <= c && c <= '9' || 'a' <= c && c <= 'f') {
			return false
		}
	}
	return len(s) == 2*sha256.Size
}

// plainBody reports whether body is an object in canonical form: no spaces,
// sorted unique keys, minimal escapes, integers, not too deep. Two bodies with
// one meaning are then one text (compare RFC 8785, which has floats as well).
func plainBody(body []byte) bool {
	if len(body) == 0 || body[0] != '{' || !plainTokens(body) {
		return false
	}
	var same [1 << 10]byte
	canonical, err := jsontext.AppendFormat(same[:0], body, jsontext.ReorderRawObjects(true))
	return err == nil && bytes.Equal(canonical, body)
}

// plainTokens looks at what lies outside of strings: depth within maxDepth
// with the line itself as the first level, and no number but integers.
func plainTokens(body []byte) bool {
	depth, inString := 1, false
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return false
			}
		case c == '}' || c == ']':
			depth--
		case c == '.' || c == 'E',
			c == 'e' && '0' <= body[i-1] && body[i-1] <= '9',
			c == '-' && i+1 < len(body) && body[i+1] == '0':
			return false
		}
	}
	return true
}

// diagnose says why a line is not in its one form. The order is that of a
// reader: UTF-8, grammar, version, envelope.
func diagnose(line []byte) Code {
	v := jsontext.Value(line)
	switch {
	case !utf8.Valid(line):
		return InvalidUTF8
	case v.IsValid():
	case v.IsValid(jsontext.AllowInvalidUTF8(true)): // \ud800 without its half
		return InvalidUTF8
	case v.IsValid(jsontext.AllowDuplicateNames(true)),
		v.IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)):
		return DuplicateKey
	default:
		return MalformedLine
	}
	members, depth := survey(line)
	if raw, ok := members["v"]; ok && raw != strconv.Itoa(version) {
		if _, err := strconv.ParseUint(raw, 10, 64); err == nil {
			return UnsupportedVersion
		}
	}
	if depth > maxDepth {
		return MalformedLine
	}
	for _, key := range []string{"v", "run", "seq", "ts", "mono", "kind", "span", "body", "prev"} {
		if _, ok := members[key]; !ok {
			return MalformedLine
		}
	}
	return NoncanonicalEnvelope
}

// survey lists the members of valid JSON that is an object, as text, and tells
// how deep it goes.
func survey(line []byte) (members map[string]string, depth int) {
	members = make(map[string]string)
	d := jsontext.NewDecoder(bytes.NewReader(line))
	var key string
	for {
		token, err := d.ReadToken()
		if err != nil {
			return members, depth
		}
		depth = max(depth, d.StackDepth())
		if d.StackDepth() != 1 {
			continue
		}
		switch kind, n := d.StackIndex(1); {
		case kind != jsontext.KindBeginObject || n == 0:
		case n%2 == 1:
			key = token.String()
		default:
			members[key] = token.String()
		}
	}
}

// encodeBody is the canonical form of an event's fields, with clean applied to
// every string and long ones cut.
func encodeBody(e Event, clean func(string) string) (json.RawMessage, error) {
	raw, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	in, out := jsontext.NewDecoder(bytes.NewReader(raw)), jsontext.NewEncoder(&b)
	for in.StackDepth() > 0 || b.Len() == 0 {
		token, err := in.ReadToken()
		if err != nil {
			return nil, err
		}
		if kind, n := in.StackIndex(in.StackDepth()); token.Kind() == '"' && (kind != '{' || n%2 == 0) {
			token = jsontext.String(bound(clean(token.String())))
		}
		if err := out.WriteToken(token); err != nil {
			return nil, err
		}
	}
	body, err := jsontext.AppendFormat(nil, bytes.TrimSpace(b.Bytes()), jsontext.ReorderRawObjects(true))
	if err != nil {
		return nil, err
	}
	if !plainBody(body) {
		return nil, errors.New("body is no object of integers and strings")
	}
	return json.RawMessage(body), nil
}

// bound cuts a string that is too long for a line at a whole character.
func bound(s string) string {
	if len(s) <= maxString {
		return s
	}
	cut := maxString
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return fmt.Sprintf("%s[cut %d bytes]", s[:cut], len(s)-cut)
}
