package todo

import (
	"math"
	"path"
	"strconv"
	"strings"
	"time"
)

// keys is every setting that an item can have. A parser returns the value for
// Item.Attrs, or what is wrong with it.
var keys = map[string]func(string) (value any, problem string){
	"id":         parseID,
	"priority":   parsePriority,
	"budget":     parseBudget,
	"max-turns":  parseCount,
	"model":      parseWord,
	"validators": parseList,
	"paths":      parsePaths,
	"depends":    parseDepends,
	"run":        parseLine,
	"timeout":    parseTimeout,
	"attempts":   parseCount,
	"after":      parseAfter,
	"every":      parseEvery,
	"base":       parseRef,
	"tests":      parseTests,
	"hold":       parseFlag,
	"split":      parseFlag,
}

// priorities by rank: the index is what Item.Priority returns.
var priorities = [...]string{"urgent", "high", "normal", "low"}

// validID tells whether id can be an explicit id. It becomes part of branch,
// ref and file names, hence the rules of git-check-ref-format(1).
func validID(id string) bool {
	if id == "" || len(id) > 64 || strings.Contains(id, "..") || strings.HasSuffix(id, ".lock") {
		return false
	}
	for i := range len(id) {
		c := id[i]
		letter := c >= 'a' && c <= 'z' || c >= '0' && c <= '9'
		if !letter && (i == 0 || strings.IndexByte("._-", c) < 0) {
			return false
		}
	}
	return true
}

func parseID(s string) (any, string) {
	if !validID(s) {
		return nil, "is no id: up to 64 of a-z 0-9 . _ -, the first a letter or digit, no \"..\", no \".lock\" at the end"
	}
	return s, ""
}

func parsePriority(s string) (any, string) {
	s = strings.ToLower(s)
	for rank, name := range priorities {
		if s == name || s == "p"+strconv.Itoa(rank) {
			return name, ""
		}
	}
	return nil, "is no priority: urgent, high, normal, low or p0 to p3"
}

// parseBudget keeps the amount as written, without the dollar sign.
func parseBudget(s string) (any, string) {
	s = strings.TrimSpace(strings.TrimPrefix(s, "$"))
	if micro, ok := microUSD(s); !ok || micro == 0 {
		return nil, "is no amount of dollars above 0, such as 2.50"
	}
	return s, ""
}

// microUSD reads a decimal number of dollars exactly. ok is false beyond six
// decimals or twelve digits before the point.
func microUSD(s string) (micro int64, ok bool) {
	whole, fraction, point := strings.Cut(s, ".")
	if whole == "" || len(whole) > 12 || point && fraction == "" || len(fraction) > 6 {
		return 0, false
	}
	digits := whole + fraction + strings.Repeat("0", 6-len(fraction))
	for i := range len(digits) {
		if digits[i] < '0' || digits[i] > '9' {
			return 0, false
		}
		micro = micro*10 + int64(digits[i]-'0')
	}
	return micro, true
}

func parseCount(s string) (any, string) {
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil || n == 0 {
		return nil, "is no whole number above 0"
	}
	return int(n), ""
}

func parseWord(s string) (any, string) {
	if s == "" || strings.ContainsAny(s, " \t") {
		return nil, "is not one word"
	}
	return s, ""
}

func parseLine(s string) (any, string) {
	if s == "" {
		return nil, "has no value"
	}
	return s, ""
}

// parseList splits at commas outside braces, since globs have commas inside.
func parseList(s string) (any, string) {
	list := []string{}
	depth, start := 0, 0
	for i := 0; i <= len(s); i++ {
		switch {
		case i < len(s) && s[i] == '{':
			depth++
		case i < len(s) && s[i] == '}' && depth > 0:
			depth--
		case i == len(s) || s[i] == ',' && depth == 0:
			if part := strings.TrimSpace(s[start:i]); part != "" {
				list = append(list, part)
			}
			start = i + 1
		}
	}
	if len(list) == 0 {
		return nil, "has no value"
	}
	return list, ""
}

// parsePaths takes globs that stay inside the repository.
func parsePaths(s string) (any, string) {
	v, problem := parseList(s)
	if problem != "" {
		return nil, problem
	}
	for _, glob := range v.([]string) {
		_, err := path.Match(glob, "")
		if err != nil || strings.ContainsAny(glob[:1], "/!~") || strings.ContainsAny(glob, "\\\x00") || climbs(glob) {
			return nil, "has a path that is no glob inside the repository"
		}
	}
	return v, ""
}

func climbs(glob string) bool {
	for part := range strings.FieldsFuncSeq(glob, func(r rune) bool { return strings.ContainsRune("/{},", r) }) {
		if part == ".." {
			return true
		}
	}
	return false
}

func parseDepends(s string) (any, string) {
	v, problem := parseList(s)
	if problem != "" {
		return nil, problem
	}
	for _, id := range v.([]string) {
		if !validID(id) {
			return nil, "has something that is no id"
		}
	}
	return v, ""
}

func parseTimeout(s string) (any, string) {
	if d, ok := duration(s); !ok || d <= 0 {
		return nil, "is no duration above 0 with h, m, s or d, such as 15m"
	}
	return s, ""
}

// duration is time.ParseDuration that also knows leading days, as hob.toml does.
func duration(s string) (time.Duration, bool) {
	days, rest, found := strings.Cut(s, "d")
	if !found {
		d, err := time.ParseDuration(s)
		return d, err == nil && !strings.ContainsAny(s, "+-")
	}
	const day = 24 * time.Hour
	n, err := strconv.ParseUint(days, 10, 31)
	if err != nil || n > uint64(math.MaxInt64/day)-1 {
		return 0, false
	}
	d := time.Duration(n) * day
	if rest == "" {
		return d, true
	}
	more, err := time.ParseDuration(rest)
	if err != nil || more < 0 || more > day || strings.ContainsAny(rest, "+-") {
		return 0, false
	}
	return d + more, true
}

// afterLayouts are tried in order. All but the first are wall-clock times.
var afterLayouts = [...]string{
	time.RFC3339, "2006-01-02", "2006-01-02 15:04", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02T15:04:05",
}

func instant(s string, loc *time.Location) (time.Time, bool) {
	for _, layout := range afterLayouts {
		if t, err := time.ParseInLocation(layout, s, loc); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

func parseAfter(s string) (any, string) {
	if _, ok := instant(s, time.UTC); !ok {
		return nil, "is no date or time, such as 2026-12-01 or 2026-12-01T08:00"
	}
	return s, ""
}

// parseEvery only looks at the shape; the scheduler knows what fires.
func parseEvery(s string) (any, string) {
	fields := strings.Fields(s)
	if len(fields) != 5 && !strings.HasPrefix(s, "@") {
		return nil, "is no schedule of five fields or @name"
	}
	return strings.Join(fields, " "), ""
}

// parseRef refuses what git-check-ref-format(1) refuses, and what could be
// taken for an option or a revision expression.
func parseRef(s string) (any, string) {
	bad := s == "" || strings.ContainsAny(s, " ~^:?*[\\\x7f") || strings.Contains(s, "..") ||
		strings.Contains(s, "@{") || strings.Contains(s, "//") || strings.HasSuffix(s, ".lock") ||
		strings.ContainsAny(s[:1], "-/.@") || strings.ContainsAny(s[len(s)-1:], "/.") ||
		strings.ContainsFunc(s, func(r rune) bool { return r < ' ' })
	if bad {
		return nil, "is no branch or commit"
	}
	return s, ""
}

func parseTests(s string) (any, string) {
	switch s = strings.ToLower(s); s {
	case "frozen", "extend", "edit":
		return s, ""
	default:
		return nil, "is none of frozen, extend, edit"
	}
}

func parseFlag(s string) (any, string) {
	switch strings.ToLower(s) {
	case "true", "yes":
		return true, ""
	case "false", "no":
		return false, ""
	default:
		return nil, "is neither true nor false"
	}
}
