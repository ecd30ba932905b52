package status

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"github.com/pelletier/go-toml/v2"

	"hob/journal/durable"
)

// ErrSchema is wrapped when a file has another schema than this reader knows.
var ErrSchema = errors.New("unknown schema")

// maxString bounds one string of the file, in bytes.
const maxString = 500

// maxRows bounds a list before the file is measured at all.
const maxRows = 200

// Render writes r as TOML of at most [MaxBytes]. Strings pass through mask,
// which hides secrets and may be nil, then lose control characters and what is
// over 500 bytes. Lists are cut from their ends, the longest first, and
// Truncated says so. Times are UTC in whole seconds.
func Render(r Report, mask func(string) string) []byte {
	r = clean(r, mask)
	for {
		data, err := toml.Marshal(r)
		if err != nil {
			panic(fmt.Sprintf("status: a report that can't be written: %v", err)) // all its types can
		}
		if len(data) <= MaxBytes || !r.cut(len(data)) {
			return data
		}
	}
}

// cut drops a part of the longest list of a report that renders to size bytes;
// false when all are empty.
func (r *Report) cut(size int) bool {
	longest := max(len(r.Task), len(r.Validator), len(r.Attention), len(r.Current))
	if longest == 0 {
		return false
	}
	r.Truncated = true
	keep := max(longest/2, min(longest-1, longest*MaxBytes/size))
	switch longest {
	case len(r.Task):
		r.Task = r.Task[:keep]
	case len(r.Validator):
		r.Validator = r.Validator[:keep]
	case len(r.Attention):
		r.Attention = r.Attention[:keep]
	default:
		r.Current = r.Current[:keep]
	}
	return true
}

// clean returns a copy of r that may be shown to anybody.
func clean(r Report, mask func(string) string) Report {
	if mask == nil {
		mask = func(s string) string { return s }
	}
	text := func(fields ...*string) {
		for _, s := range fields {
			*s = plain(mask(*s))
		}
	}
	utc := func(times ...*time.Time) {
		for _, t := range times {
			*t = second(*t)
		}
	}
	r.Schema = Schema
	state := string(r.State)
	text(&r.Boot, &r.Version, &state, &r.Reason)
	r.State = State(state)
	utc(&r.WrittenAt, &r.StateSince, &r.NextWake)
	text(&r.Repo.Root, &r.Repo.Base, &r.Repo.BaseCommit, &r.Repo.Remote)
	text(&r.Todo.Path, &r.Todo.SHA256, &r.Schedule.Spec, &r.Schedule.TZ)
	utc(&r.Todo.ReadAt, &r.Schedule.LastSlot, &r.Schedule.NextSlot)
	text(&r.Budget.Currency, &r.Budget.Day)
	finite(&r.Budget.Spent, &r.Budget.Reserved, &r.Budget.Limit)
	text(&r.LastSuccess.ID, &r.LastSuccess.Commit, &r.LastSuccess.Branch, &r.Journal.Head)
	utc(&r.LastSuccess.At, &r.Journal.VerifiedAt)
	r.Current = rows(r.Current, &r.Truncated, func(c *Current) {
		text(&c.ID, &c.Text, &c.State, &c.Run, &c.Branch, &c.Step)
		utc(&c.Since, &c.Deadline, &c.LastProgress)
		finite(&c.Cost)
	})
	r.Task = rows(r.Task, &r.Truncated, func(t *Task) {
		text(&t.ID, &t.Text, &t.State, &t.Reason, &t.Branch, &t.Commit, &t.Signature, &t.Summary, &t.Resume)
		utc(&t.Since, &t.NotBefore)
		finite(&t.Cost)
	})
	r.Validator = rows(r.Validator, &r.Truncated, func(v *Validator) {
		text(&v.Name, &v.Verdict, &v.Tree, &v.Log)
		utc(&v.At)
		finite(&v.DurationS)
	})
	r.Attention = rows(r.Attention, &r.Truncated, func(a *Attention) {
		text(&a.Code, &a.Task, &a.Message, &a.Action)
		utc(&a.Since)
	})
	return r
}

// finite drops what is no number: JSON has no name for it.
func finite[F ~float64](fields ...*F) {
	for _, f := range fields {
		if math.IsNaN(float64(*f)) || math.IsInf(float64(*f), 0) {
			*f = 0
		}
	}
}

func rows[T any](list []T, cut *bool, edit func(*T)) []T {
	if len(list) > maxRows {
		list, *cut = list[:maxRows], true
	}
	out := make([]T, len(list))
	for i := range list {
		out[i] = list[i]
		edit(&out[i])
	}
	return out
}

// plain makes one line of s that can't steer a terminal: no control
// characters, nothing that reorders text, 500 bytes at most.
func plain(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
			return -1
		default:
			return r
		}
	}, strings.ToValidUTF8(s, "\uFFFD"))
	if len(s) > maxString {
		const more = "…"
		s = strings.ToValidUTF8(s[:maxString-len(more)], "") + more
	}
	return s
}

// second is the form of a time in the file. The zero time stays zero, and what
// RFC 3339 §1 can't write, a year beyond four digits, becomes it.
func second(t time.Time) time.Time {
	t = t.UTC().Truncate(time.Second)
	if y := t.Year(); y < 1 || y > 9999 {
		return time.Time{}
	}
	return t
}

// Write replaces the file name with r, mode 0600, and makes its folder when it
// is missing. A reader finds the old report or the new one, never a part. When
// it fails, a full disk say, the old one stays and goes stale by itself.
func Write(fsys durable.FS, name string, r Report, mask func(string) string) error {
	if err := fsys.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return fmt.Errorf("make folder of status file: %w", err)
	}
	return durable.WriteFile(fsys, name, Render(r, mask), 0o600)
}

// Parse reads the bytes of a status file. Keys it doesn't know are ignored;
// another schema wraps [ErrSchema].
func Parse(b []byte) (Report, error) {
	if len(b) > MaxBytes {
		return Report{}, fmt.Errorf("the file is larger than %d bytes", MaxBytes)
	}
	var head struct {
		Schema int `toml:"schema"`
	}
	if err := toml.Unmarshal(b, &head); err != nil {
		return Report{}, err
	}
	if head.Schema != Schema {
		return Report{}, fmt.Errorf("%w %d: this hob reads schema %d; use the hob that runs the daemon", ErrSchema, head.Schema, Schema)
	}
	var r Report
	if err := toml.Unmarshal(b, &r); err != nil {
		return Report{}, err
	}
	return r, nil
}
