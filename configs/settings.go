package configs

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// A Setting is one key of an effective configuration.
type Setting struct {
	Key    string // "budget.daily_usd"; an array table is one setting
	Value  string // as TOML on one line
	Origin string // as [Loaded.Origin] tells it
}

// Settings lists the effective configuration in the reference's order. The lines
// `Key = Value` are a TOML file that loads to the same configuration.
func (l *Loaded) Settings() []Setting {
	config := reflect.ValueOf(&l.Config).Elem()
	var all []Setting
	for _, key := range append(keys(), arrays()...) {
		all = append(all, Setting{key, render(at(config, key)), l.Origin(key)})
	}
	return all
}

// Origin tells where the value of a key came from: "default", "FILE:LINE:COL", the name of an
// environment variable, or "flag". A key inside an array table has the origin of the array.
func (l *Loaded) Origin(key string) string {
	return l.from(key).String()
}

func (l *Loaded) from(key string) origin {
	if o, ok := l.origins[key]; ok {
		return o
	}
	section, _, _ := strings.Cut(key, "[")
	section, _, _ = strings.Cut(section, ".")
	return l.origins[section]
}

// Digest is the hexadecimal sha256 of all settings. It depends on their values alone, not on
// where they came from or how they were written, so equal digests mean equal behaviour.
func (l *Loaded) Digest() string {
	h := sha256.New()
	for _, s := range l.Settings() {
		fmt.Fprintf(h, "%s = %s\n", s.Key, s.Value)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// render writes a value of a Config as TOML on one line.
func render(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case USD:
		return x.String()
	case fmt.Stringer: // Duration, Size
		return tomlString(x.String())
	}
	switch v.Kind() {
	case reflect.String:
		return tomlString(v.String())
	case reflect.Bool:
		return strconv.FormatBool(v.Bool())
	case reflect.Int:
		return strconv.FormatInt(v.Int(), 10)
	case reflect.Float64:
		return tomlFloat(v.Float())
	case reflect.Slice:
		items := make([]string, v.Len())
		for i := range items {
			items[i] = render(v.Index(i))
		}
		return "[" + strings.Join(items, ", ") + "]"
	case reflect.Map:
		entries := v.Interface().(map[string]string)
		pairs := make([]string, 0, len(entries))
		for _, name := range slices.Sorted(maps.Keys(entries)) {
			pairs = append(pairs, tomlString(name)+" = "+tomlString(entries[name]))
		}
		return "{" + strings.Join(pairs, ", ") + "}"
	case reflect.Pointer:
		return render(v.Elem())
	case reflect.Struct:
		return renderTable(v)
	default:
		panic(fmt.Sprintf("configs: no TOML for a %s", v.Type()))
	}
}

// renderTable leaves out what is absent by being nil or empty, so that the same table with
// the key left out gives the same text.
func renderTable(v reflect.Value) string {
	var pairs []string
	for i, name := range keysOf(v.Type()) {
		field := v.Field(i)
		switch field.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map, reflect.String:
			if field.IsZero() {
				continue
			}
		}
		pairs = append(pairs, name+" = "+render(field))
	}
	return "{" + strings.Join(pairs, ", ") + "}"
}

// tomlFloat makes sure that the number doesn't read as an integer.
func tomlFloat(x float64) string {
	text := strconv.FormatFloat(x, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

// tomlString quotes text as a basic string (TOML 1.0, String). strconv.Quote would write
// escapes that TOML doesn't have.
func tomlString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
