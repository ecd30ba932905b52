package configs

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// A decoder fills values of the Config from one layer's nodes and reports what it refuses.
//
// A key has two forms: "validators[1].timeout" for people and, without indices,
// "validators.timeout" as the name of its rule in the tables of check.go and available.go.
type decoder struct {
	in     layer
	file   string // what a Problem names as its File
	placed bool   // the nodes' places are positions in that file
	report *report
}

// A spot is what a decoder is looking at.
type spot struct {
	rule, key string
	at        place
	was       reflect.Value // what the key holds by default
}

func (d *decoder) refuse(s spot, what, hint string) {
	p := Problem{File: d.file, Key: s.key, What: what, Hint: hint}
	if d.placed {
		p.Line, p.Col = s.at.line, s.at.col
	}
	d.report.add(d.in, p)
}

// A textValue is a setting with a notation of its own, such as a duration.
type textValue interface {
	encoding.TextUnmarshaler
	wants() string // completes "expected …"
}

// value decodes n into dst and applies the key's rules. It is false when dst must not be used.
func (d *decoder) value(n *node, s spot, dst reflect.Value) bool {
	if text, ok := dst.Addr().Interface().(textValue); ok {
		return d.text(n, s, text) && d.judge(s, dst)
	}
	var ok bool
	switch dst.Kind() {
	case reflect.String:
		if ok = d.expect(n, s, "string", aString); ok {
			dst.SetString(n.text)
		}
	case reflect.Bool:
		if ok = d.expect(n, s, "boolean", aBool); ok {
			dst.SetBool(n.text == "true")
		}
	case reflect.Int:
		ok = d.integer(n, s, dst)
	case reflect.Float64:
		if ok = d.expect(n, s, "number", aFloat, anInt); ok {
			x, err := strconv.ParseFloat(strings.ReplaceAll(n.text, "_", ""), 64)
			dst.SetFloat(x)
			ok = err == nil || d.no(s, "is not a number hob can hold", "")
		}
	case reflect.Slice:
		ok = d.list(n, s, dst)
	case reflect.Map:
		ok = d.strings(n, s, dst)
	case reflect.Pointer:
		dst.Set(reflect.New(dst.Type().Elem()))
		ok = d.table(n, s, dst.Elem())
	case reflect.Struct:
		ok = d.table(n, s, dst)
	default:
		panic(fmt.Sprintf("configs: no decoder for %s, a %s", s.rule, dst.Type()))
	}
	return ok && d.judge(s, dst)
}

// no reports a problem and is false, to end a condition with.
func (d *decoder) no(s spot, what, hint string) bool {
	d.refuse(s, what, hint)
	return false
}

func (d *decoder) expect(n *node, s spot, want string, kinds ...kind) bool {
	return slices.Contains(kinds, n.kind) || d.no(s, fmt.Sprintf("expected %s, got %s", want, n.kind), "")
}

// text decodes a duration, a size or an amount. Only an amount may be a bare number.
func (d *decoder) text(n *node, s spot, dst textValue) bool {
	_, money := dst.(*USD)
	_, span := dst.(*Duration)
	number := n.kind == anInt || n.kind == aFloat
	switch {
	case number && span:
		return d.no(s, fmt.Sprintf("expected %s, got %s", dst.wants(), n.kind), "a duration needs quotes and a unit")
	case n.kind != aString && (!money || !number):
		return d.no(s, fmt.Sprintf("expected %s, got %s", dst.wants(), n.kind), "")
	}
	if err := dst.UnmarshalText([]byte(n.text)); err != nil {
		return d.no(s, quote(n.text)+" "+err.Error(), "expected "+dst.wants())
	}
	return true
}

func (d *decoder) integer(n *node, s spot, dst reflect.Value) bool {
	if !d.expect(n, s, "integer", anInt) {
		return false
	}
	i, err := strconv.ParseInt(n.text, 0, strconv.IntSize)
	if err != nil {
		// Base 0 reads what TOML writes (underscores, 0x, 0o, 0b); only its size can be wrong.
		return d.no(s, "is too large an integer", "")
	}
	dst.SetInt(i)
	return true
}

// list decodes an array of strings or of tables. An empty one is a nil slice, so that an
// array that was set to nothing equals one that was never set.
func (d *decoder) list(n *node, s spot, dst reflect.Value) bool {
	ofTables := dst.Type().Elem().Kind() == reflect.Struct
	if n.kind != anArray {
		if ofTables {
			return d.no(s, fmt.Sprintf("expected array of tables, got %s", n.kind), fmt.Sprintf("write [[%s]]", s.key))
		}
		return d.no(s, fmt.Sprintf("expected array of strings, got %s", n.kind), `write ["…"]`)
	}
	ok := true
	for i, item := range n.items {
		element := reflect.New(dst.Type().Elem()).Elem()
		one := spot{rule: s.rule, key: fmt.Sprintf("%s[%d]", s.key, i), at: item.at}
		switch {
		case ofTables:
			setElementDefault(element)
			ok = d.table(item, one, element) && ok
		case d.expect(item, one, "string", aString):
			element.SetString(item.text)
			one.rule += "[]"
			ok = d.check(one, element) && ok
		default:
			ok = false
		}
		dst.Set(reflect.Append(dst, element))
	}
	if validators, is := dst.Interface().([]Validator); is {
		ok = d.unique(n, s, validators) && ok
	}
	return ok
}

func setElementDefault(element reflect.Value) {
	model, validator, service := elementDefaults()
	for _, v := range []any{model, validator, service} {
		if reflect.TypeOf(v) == element.Type() {
			element.Set(reflect.ValueOf(v))
		}
	}
}

// strings decodes a table whose keys are free and whose values are strings.
func (d *decoder) strings(n *node, s spot, dst reflect.Value) bool {
	if !d.expect(n, s, "table of strings", aTable) {
		return false
	}
	if len(n.fields) == 0 {
		return true
	}
	ok := true
	dst.Set(reflect.MakeMap(dst.Type()))
	for _, f := range n.fields {
		one := spot{rule: s.rule + "[]", key: s.key + "." + keyName(f.name), at: f.value.at}
		if !d.expect(f.value, one, "string", aString) {
			ok = false
			continue
		}
		ok = d.entry(f, one) && ok
		dst.SetMapIndex(reflect.ValueOf(f.name), reflect.ValueOf(f.value.text))
	}
	return ok
}

// table decodes a table with known keys, then applies the rules about them together.
func (d *decoder) table(n *node, s spot, dst reflect.Value) bool {
	if !d.expect(n, s, "table", aTable) {
		return false
	}
	defaults := reflect.New(dst.Type()).Elem()
	defaults.Set(dst)
	names := keysOf(dst.Type())
	ok := true
	for _, f := range n.fields {
		one := spot{s.rule + "." + f.name, s.key + "." + keyName(f.name), f.value.at, reflect.Value{}}
		i := slices.Index(names, f.name)
		if i < 0 {
			one.at = f.at
			ok = d.no(one, unknownKey(f.name, names), didYouMean(f.name, names))
			continue
		}
		one.was = defaults.Field(i)
		ok = d.value(f.value, one, dst.Field(i)) && ok
	}
	return d.whole(n, s, dst) && ok
}

// unknownKey words what is wrong with a key that isn't among the known ones.
func unknownKey(name string, known []string) string {
	if slices.ContainsFunc(known, func(k string) bool { return strings.EqualFold(k, name) }) {
		return "unknown key: case matters"
	}
	return "unknown key"
}

// keysOf lists the keys of a table, one for each field of its struct, in their order.
func keysOf(t reflect.Type) []string {
	names := make([]string, t.NumField())
	for i := range names {
		names[i] = t.Field(i).Tag.Get("toml")
	}
	return names
}

// judge applies the rule about a key's value and tells whether the value may be used. What
// isn't available yet is reported, and used: rules about several keys then see it too.
func (d *decoder) judge(s spot, v reflect.Value) bool {
	if !d.check(s, v) {
		return false
	}
	if d.in == fromReference || !s.was.IsValid() {
		return true
	}
	if what, hint := unavailable(s.rule, v, s.was); what != "" {
		d.refuse(s, what, hint)
	}
	return true
}

func (d *decoder) check(s spot, v reflect.Value) bool {
	check, ok := checks[s.rule]
	if !ok {
		return true
	}
	what, hint := check(v.Interface())
	return what == "" || d.no(s, what, hint)
}
