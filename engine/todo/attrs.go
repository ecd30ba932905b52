package todo

import (
	"fmt"
	"strings"
)

// A setting is one key=value of an item as written; the key is canonical: lower
// case, with dashes.
type setting struct{ key, value string }

// maxGroups bounds how many opening braces of a line are tried as the start of
// its trailing group, so that a line of nothing but braces takes linear time.
const maxGroups = 64

// unescape keeps "\\" so that it agrees with what counts as an escaped brace.
var unescape = strings.NewReplacer(`\\`, `\\`, `\{`, `{`, `\}`, `}`)

// takeTrailing splits an item's first line into its text, the settings of a
// trailing {key=value …} and the id of a trailing ^id, in either order.
func takeTrailing(line string) (text string, braces []setting, caret string) {
	text = strings.TrimSpace(line)
	for {
		if rest, id, ok := cutCaret(text); ok && caret == "" {
			text, caret = rest, id
			continue
		}
		if rest, group, ok := cutGroup(text); ok && braces == nil {
			text, braces = rest, group
			continue
		}
		return unescape.Replace(text), braces, caret
	}
}

// cutCaret cuts " ^id" off the end of text.
func cutCaret(text string) (rest, id string, ok bool) {
	i := strings.LastIndexAny(text, " \t")
	if i < 0 || len(text) < i+3 || text[i+1] != '^' {
		return text, "", false
	}
	id = text[i+2:]
	for j := range len(id) {
		if !isKeyByte(id[j]) && id[j] != '.' {
			return text, "", false
		}
	}
	return strings.TrimRight(text[:i], " \t"), id, true
}

// cutGroup cuts a group of settings off the end of text. It is one only if all
// of it reads as key=value and at least one key is known: prose has braces too.
func cutGroup(text string) (rest string, group []setting, ok bool) {
	if !strings.HasSuffix(text, "}") {
		return text, nil, false
	}
	var starts []int
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '{':
			starts = append(starts, i)
		}
	}
	for _, start := range starts[max(0, len(starts)-maxGroups):] {
		group, end := readGroup(text, start)
		if end == len(text) && anyKnown(group) {
			return strings.TrimRight(text[:start], " \t"), group, true
		}
	}
	return text, nil, false
}

func anyKnown(group []setting) bool {
	for _, s := range group {
		if _, ok := keys[s.key]; ok {
			return true
		}
	}
	return false
}

// typo returns the key of a trailing group that is none only because its keys are
// misspelt: {buget=1} would drop a cap. "" when there is no such group.
func typo(text string) string {
	text = strings.TrimRight(text, " \t")
	start := strings.LastIndexByte(text, '{')
	if start < 0 || start > 0 && text[start-1] == '\\' {
		return ""
	}
	group, end := readGroup(text, start)
	if end != len(text) || anyKnown(group) {
		return ""
	}
	for _, s := range group {
		if misspelt(s.key) {
			return s.key
		}
	}
	return ""
}

// readGroup reads {key=value …} at offset at and returns the offset behind it,
// none if it is no such group.
func readGroup(text string, at int) (group []setting, end int) {
	i := at + 1
	for {
		for i < len(text) && (isBlank(text[i]) || text[i] == ',' && len(group) > 0) {
			i++
		}
		if i < len(text) && text[i] == '}' {
			return group, i + 1
		}
		key, after := readKey(text, i)
		if key == "" || after >= len(text) || text[after] != '=' {
			return nil, none
		}
		value, next := readValue(text, after+1)
		if next == none {
			return nil, none
		}
		group = append(group, setting{key, value})
		i = next
	}
}

// readKey reads a key at offset at: "Max_Turns" is max-turns.
func readKey(text string, at int) (key string, end int) {
	end = at
	for end < len(text) && isKeyByte(text[end]) {
		end++
	}
	return strings.ReplaceAll(strings.ToLower(text[at:end]), "_", "-"), end
}

func isKeyByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_'
}

// readValue reads a bare or quoted value. A bare one ends at a blank or at a
// brace that it did not open: paths=src/{a,b}/**.
func readValue(text string, at int) (value string, end int) {
	if at < len(text) && strings.IndexByte("\"'`", text[at]) >= 0 {
		return readQuoted(text, at)
	}
	depth := 0
	for i := at; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
		case c == '{':
			depth++
		case c == '}' && depth > 0:
			depth--
		case c == '}' || isBlank(c):
			return unescape.Replace(strings.TrimRight(text[at:i], ",")), i
		}
	}
	return "", none
}

func readQuoted(text string, at int) (value string, end int) {
	var out strings.Builder
	for i := at + 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && i+1 < len(text) && (text[i+1] == text[at] || text[i+1] == '\\'):
			i++
			out.WriteByte(text[i])
		case text[i] != text[at]:
			out.WriteByte(text[i])
		case i+1 < len(text) && strings.IndexByte(" \t,}", text[i+1]) >= 0:
			return out.String(), i + 1
		default:
			return "", none
		}
	}
	return "", none
}

// takeLeading splits the "key: value" lines off the start of a body. Only known
// keys are settings and the first other line ends them. typo is that line if it
// stands next to a setting and its key is one slip away from a known one:
// "buget: 1" read as prose would drop a cap.
func takeLeading(body []string, besideSettings bool) (rest []string, settings []setting, typo string) {
	for i, line := range body {
		key, value, ok := cutLine(line)
		if _, known := keys[key]; ok && known {
			settings = append(settings, setting{key, value})
			continue
		}
		if ok && (besideSettings || len(settings) > 0) && misspelt(key) {
			typo = key
		}
		return body[i:], settings, typo
	}
	return nil, settings, ""
}

// cutLine reads "key: value" or "- key: value".
func cutLine(line string) (key, value string, ok bool) {
	line = strings.TrimSpace(line)
	if len(line) > 1 && strings.IndexByte("-*+", line[0]) >= 0 && isBlank(line[1]) {
		line = strings.TrimSpace(line[1:])
	}
	key, end := readKey(line, 0)
	if key == "" || end >= len(line) || line[end] != ':' || strings.HasPrefix(line[end:], "://") {
		return "", "", false
	}
	value = strings.TrimSpace(line[end+1:])
	if n := len(value); n > 1 && strings.IndexByte("\"'`", value[0]) >= 0 && value[n-1] == value[0] {
		value = value[1 : n-1]
	}
	return key, value, true
}

// misspelt tells whether key is one insertion, omission, replacement or swap of
// neighbours away from a known key.
func misspelt(key string) bool {
	for known := range keys {
		if len(known) > 3 && oneSlip(key, known) {
			return true
		}
	}
	return false
}

func oneSlip(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	switch len(b) - len(a) {
	case 0:
		swapped := i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
		return i < len(a) && (a[i+1:] == b[i+1:] || swapped)
	case 1:
		return a[i:] == b[i+1:]
	default:
		return false
	}
}

// quote shows text of the file in a message, safely and briefly.
func quote(text string) string {
	const most = 60
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return fmt.Sprintf("%q", text)
}
