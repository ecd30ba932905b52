package configs

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// A Duration is a length of time written as text: "90s", "5m", "1h30m", "7d", "500ms".
// It is a struct so that no decoder can take a bare 5 for five nanoseconds, which is what an
// integer type would allow. A day is 24 hours.
type Duration struct{ time.Duration }

// day is 24 hours: a configured span, not a date, so daylight saving doesn't stretch it.
const day = 24 * time.Hour

// maxDuration keeps sums of durations far from overflow (2^63 ns is 292 years).
const maxDuration = 36500 * day

func minutes(n int) Duration { return Duration{time.Duration(n) * time.Minute} }

// UnmarshalText reads whole days followed by what time.ParseDuration takes, in units from d
// to ms. "0" needs no unit. The sign is kept; whether a negative duration makes sense is for
// the key's own rule.
func (d *Duration) UnmarshalText(text []byte) error {
	rest, negative := strings.CutPrefix(string(text), "-")
	if rest == "" || rest[0] < '0' || rest[0] > '9' || strings.ContainsAny(rest, "nuµμ") {
		return errNotDuration
	}
	var total time.Duration
	if days, after, ok := strings.Cut(rest, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 32)
		if err != nil {
			return errNotDuration
		}
		if n > uint64(maxDuration/day) {
			return errLongDuration
		}
		total, rest = time.Duration(n)*day, after
	}
	if rest != "" {
		clock, err := time.ParseDuration(rest)
		if err != nil || clock < 0 {
			return errNotDuration
		}
		total += min(clock, maxDuration) // the cap keeps the sum from wrapping
	}
	switch {
	case total >= maxDuration:
		return errLongDuration
	case total%time.Millisecond != 0:
		return errFineDuration
	}
	if negative {
		total = -total
	}
	d.Duration = total
	return nil
}

// MarshalText writes what UnmarshalText reads back as the same duration.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// String is the shortest form in days, hours, minutes and seconds: "7d", "1h30m", "0".
func (d Duration) String() string {
	if d.Duration == 0 {
		return "0"
	}
	if d.Duration < 0 {
		return "-" + Duration{-d.Duration}.String()
	}
	var b strings.Builder
	if days := d.Duration / day; days > 0 {
		b.WriteString(strconv.FormatInt(int64(days), 10) + "d")
	}
	if clock := d.Duration % day; clock > 0 {
		text := clock.String()
		if strings.HasSuffix(text, "m0s") {
			text = strings.TrimSuffix(text, "0s")
		}
		if strings.HasSuffix(text, "h0m") {
			text = strings.TrimSuffix(text, "0m")
		}
		b.WriteString(text)
	}
	return b.String()
}

func (Duration) wants() string { return `duration such as "90s", "5m", "1h30m" or "7d"` }

var (
	errNotDuration  = errors.New("is not a duration")
	errLongDuration = errors.New("is longer than a hundred years")
	errFineDuration = errors.New("is finer than a millisecond")
)
