package validators

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Signature names how required validators failed, in hexadecimal, so that the same failure after
// a repair is recognised: how each ended, the tests that failed, and the lines that explain it, as
// a set. Lines and columns, times, addresses, numbers in messages, temporary folders and order are
// masked, since they move with every edit. It is empty when none failed: text such as "0 errors"
// proves nothing beside an exit code of 0.
func Signature(rs []Result) string {
	var keys []string
	for _, r := range rs {
		if r.Required && (r.Verdict == Fail || r.Verdict == Broken) {
			keys = append(keys, failureKeys(r)...)
		}
	}
	if len(keys) == 0 {
		return ""
	}
	slices.Sort(keys)
	sum := sha256.Sum256([]byte(strings.Join(slices.Compact(keys), "\n")))
	return hex.EncodeToString(sum[:])
}

// maxKeys bounds what a run with thousands of errors costs; the first in order are as good as any.
const maxKeys = 200

func failureKeys(r Result) []string {
	var keys []string
	add := func(kind, text string) { keys = append(keys, r.Name+"\x00"+kind+"\x00"+text) }
	add("end", strings.Join([]string{r.Verdict.String(), r.Reason, string(r.Exit.End), strconv.Itoa(r.Exit.Code)}, " "))
	for _, name := range r.Tests.FailedNames {
		add("test", name)
	}
	lines := explaining(r)
	for _, s := range lines[:min(len(lines), maxKeys)] {
		add("line", s)
	}
	return keys
}

// stackFrame matches places in goroutine dumps, whose number and order are the scheduler's.
var stackFrame = regexp.MustCompile(`^\s.*\+0x[0-9a-f]+$|^goroutine |^created by |^\s+at `)

// explaining returns the masked lines that explain a failure, sorted, each once; where no line
// looks like that, the last one there is.
func explaining(r Result) []string {
	var lines []string
	all := digest(r)
	for _, s := range all {
		if tells.MatchString(s) && !stackFrame.MatchString(s) {
			lines = append(lines, anonymous(s))
		}
	}
	if len(lines) == 0 && len(all) > 0 {
		lines = append(lines, anonymous(all[len(all)-1]))
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

var (
	place    = regexp.MustCompile(`([\w)]\.[A-Za-z]\w{0,5})(?::\d+|\(\d+(?:,\d+)?\))(?::\d+)*`)
	spans    = regexp.MustCompile(`\b(?:\d+(?:\.\d+)? ?(?:ns|µs|us|ms|s|m|h|sec|seconds?|minutes?)\b)+`)
	compound = regexp.MustCompile(`\b(?:\d+h)?(?:\d+m)?\d+(?:\.\d+)?s\b`)
	hexes    = regexp.MustCompile(`\b(?:0x)?[0-9a-f]{7,64}\b|\b0x[0-9a-f]+\b|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b`)
	numbers  = regexp.MustCompile(`\b\d+(?:[.,:]\d+)*\b`)
)

// anonymous takes from a line what an edit elsewhere or another run would change.
func anonymous(s string) string {
	s = place.ReplaceAllString(s, "$1")
	s = hexes.ReplaceAllStringFunc(s, func(word string) string {
		if strings.ContainsAny(word, "0123456789") {
			return "#"
		}
		return word // "defaced" is a word
	})
	s = compound.ReplaceAllString(s, "#")
	s = spans.ReplaceAllString(s, "#")
	s = numbers.ReplaceAllString(s, "#")
	return strings.Join(strings.Fields(s), " ")
}
