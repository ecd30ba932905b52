package schedule

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// ParseCron reads five fields of crontab(5) or one of @hourly, @daily,
// @midnight, @weekly, @monthly, @yearly, @annually and "@every 90m" (one minute
// at least, counted from the last time, not from midnight). loc is where the
// clock hangs; nil is [time.Local].
//
// The parser behind it takes much that cannot have been meant and panics on
// some; here it is an error: a zone inside the spec, seconds, a step wider than
// its range, an empty list, a date that never comes. Sunday is 0, 7 or "sun",
// also at the end of a range.
//
// A slot is a label on the wall clock. Where summer time begins and the label
// does not exist, the slot is the moment at which the gap ends; where it ends
// and the label comes twice, the slot is the first.
func ParseCron(spec string, loc *time.Location) (s cron.Schedule, err error) {
	defer func() { // robfig/cron issue 554 was one; the next must not stop the daemon
		if p := recover(); p != nil {
			s, err = nil, fmt.Errorf("parse cron %q: %v", spec, p)
		}
	}()
	if loc == nil {
		loc = time.Local
	}
	plain, err := canonical(spec)
	if err != nil {
		return nil, fmt.Errorf("parse cron %q: %w", spec, err)
	}
	parser := cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)
	parsed, err := parser.Parse(plain)
	if err != nil {
		return nil, fmt.Errorf("parse cron %q: %w", spec, err)
	}
	fields, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return parsed, nil // @every needs no wall clock
	}
	fields.Location = time.UTC
	// Any five years with a 29 February in them will do.
	if fields.Next(time.Date(2027, 12, 31, 0, 0, 0, 0, time.UTC)).IsZero() {
		return nil, fmt.Errorf("parse cron %q: no such date ever comes", spec)
	}
	return wallClock{fields, loc}, nil
}

// A field is one column of a spec.
type field struct {
	name     string
	min, max int
	names    []string // of the values from min on
}

// sunday as the last day of the week; only that field's range ends on it.
const sunday = 7

var fields = [...]field{
	{name: "minute", max: 59},
	{name: "hour", max: 23},
	{name: "day of the month", min: 1, max: 31},
	{name: "month", min: 1, max: 12, names: []string{
		"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
	}},
	{name: "day of the week", max: sunday, names: []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
}

// canonical checks a spec and writes it so that the library reads it as meant.
func canonical(spec string) (string, error) {
	parts := strings.Fields(strings.ToLower(spec))
	switch {
	case len(parts) == 0:
		return "", errors.New("it is empty")
	case strings.Contains(parts[0], "tz="):
		return "", errors.New("a time zone does not belong in it; set tz instead")
	case parts[0][0] == '@':
		return strings.Join(parts, " "), checkName(parts)
	case len(parts) != len(fields):
		return "", fmt.Errorf("%d fields instead of five: minute, hour, day of the month, month, day of the week", len(parts))
	}
	for i, f := range fields {
		list := strings.Split(parts[i], ",")
		for j, part := range list {
			plain, err := f.canonical(part)
			if err != nil {
				return "", fmt.Errorf("%s %q: %w", f.name, parts[i], err)
			}
			list[j] = plain
		}
		parts[i] = strings.Join(list, ",")
	}
	return strings.Join(parts, " "), nil
}

func checkName(parts []string) error {
	switch parts[0] {
	case "@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly":
		if len(parts) > 1 {
			return fmt.Errorf("nothing may follow %s", parts[0])
		}
		return nil
	case "@every":
		if len(parts) != 2 {
			return errors.New("@every wants one duration")
		}
		d, err := time.ParseDuration(parts[1])
		if err != nil {
			return err
		}
		if d < time.Minute {
			return fmt.Errorf("every %v is more often than once a minute", d)
		}
		return nil
	case "@reboot":
		return errors.New("hob looks for work at every start anyway")
	default:
		return errors.New("no such name")
	}
}

// canonical takes one part of a list: *, 5, 5-9, with a step behind it or not.
// Ranges over day 7 become lists, for the library's week ends on 6.
func (f field) canonical(part string) (string, error) {
	values, stepText, stepped := strings.Cut(part, "/")
	step := 1
	if stepped {
		n, err := number(stepText)
		if err != nil || n == 0 {
			return "", errors.New("the step is not a number above 0")
		}
		step = n
	}
	low, high, err := f.bounds(values, stepped)
	switch {
	case err != nil:
		return "", err
	case low > high:
		return "", fmt.Errorf("%d to %d runs backwards", low, high)
	case step > 1 && step > high-low:
		return "", fmt.Errorf("a step of %d is wider than %d to %d", step, low, high)
	case f.max != sunday || high != sunday:
		return part, nil
	}
	var days []string
	for day := low; day <= high; day += step {
		days = append(days, strconv.Itoa(day%sunday))
	}
	return strings.Join(days, ","), nil
}

// bounds returns what values reaches from and to; "5/15" is 5 to the end.
func (f field) bounds(values string, stepped bool) (low, high int, err error) {
	end := f.max
	if end == sunday {
		end-- // 0 is in the week already
	}
	if values == "*" || values == "?" {
		return f.min, end, nil
	}
	first, last, ranged := strings.Cut(values, "-")
	if low, err = f.value(first); err != nil {
		return 0, 0, err
	}
	switch {
	case ranged && last == "sun" && low > 0:
		return low, sunday, nil
	case ranged:
		high, err = f.value(last)
		return low, high, err
	case stepped:
		return low, end, nil
	default:
		return low, low, nil
	}
}

func (f field) value(text string) (int, error) {
	for i, name := range f.names {
		if text == name {
			return f.min + i, nil
		}
	}
	n, err := number(text)
	if err != nil {
		return 0, fmt.Errorf("%q is neither a number nor a name", text)
	}
	if n < f.min || n > f.max {
		return 0, fmt.Errorf("%d is not between %d and %d", n, f.min, f.max)
	}
	return n, nil
}

// number is strconv.Atoi for digits only, without a sign.
func number(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	return int(n), err
}

// A wallClock is a schedule of labels. The library's own arithmetic skips labels
// that summer time leaves out and takes those it repeats twice (its issue 541),
// so it only sees labels, dressed as UTC.
type wallClock struct {
	labels *cron.SpecSchedule
	loc    *time.Location
}

// Next returns the first slot after t, zero if there is none in a century.
func (w wallClock) Next(t time.Time) time.Time {
	local := t.In(w.loc)
	label := time.Date(local.Year(), local.Month(), local.Day(), local.Hour(), local.Minute(), local.Second(), 0, time.UTC)
	for end := label.Year() + 100; label.Year() < end; {
		next := w.labels.Next(label)
		if next.IsZero() { // the library looks five years ahead; 2096 to 2104 has no 29 February
			label = label.AddDate(4, 0, 0)
			continue
		}
		if slot := w.at(next); slot.After(t) {
			return slot.In(t.Location())
		}
		label = next
	}
	return time.Time{}
}

// at returns the first moment at which the wall clock shows label or has jumped
// over it.
func (w wallClock) at(label time.Time) time.Time {
	t := time.Date(label.Year(), label.Month(), label.Day(), label.Hour(), label.Minute(), label.Second(), 0, w.loc)
	start, end := t.ZoneBounds()
	shown := wall(t)
	switch {
	case shown.After(label): // t was computed with the offset before the gap
		return start
	case shown.Before(label):
		return end
	case start.IsZero():
		return t
	}
	// The same label under the offset before this one came earlier, if at all.
	_, offset := start.Add(-1).Zone()
	earlier := label.Add(-time.Duration(offset) * time.Second).In(w.loc)
	if earlier.Before(t) && wall(earlier).Equal(label) {
		return earlier
	}
	return t
}

// wall is what the clock shows at t, dressed as UTC.
func wall(t time.Time) time.Time {
	_, offset := t.Zone()
	return t.Add(time.Duration(offset) * time.Second).UTC()
}
