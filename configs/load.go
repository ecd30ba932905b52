package configs

import (
	_ "embed"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

//go:embed hob.toml
var reference []byte

// Reference returns the embedded hob.toml: all keys with their defaults and what they mean.
// Array tables are commented out in it. The caller may change the returned bytes.
func Reference() []byte { return slices.Clone(reference) }

// Default returns what the reference says: the configuration without any other layer.
// It has no model and no validator.
func Default() Config {
	loaded, err := Load(Layers{})
	if err != nil {
		panic(fmt.Sprintf("configs: the embedded reference is wrong: %v", err))
	}
	return loaded.Config
}

// A File is a configuration file that somebody has read.
type File struct {
	Name string // as problems and origins name it
	Data []byte
}

// Layers are the places a setting can come from, above the reference. All may be absent.
type Layers struct {
	User       *File // the user's config.toml
	Repository *File // the repository's hob.toml
	Trusted    bool  // the user has trusted exactly these bytes of Repository

	// Env is in the form of [os.Environ]. HOB_BUDGET__DAILY_USD=5 sets [budget] daily_usd.
	// Names without a double underscore (HOB_HOME, HOB_CONFIG, …) are not settings.
	Env []string
	// Flags maps keys ("autonomous.git_branch") to the text of their values. Array tables
	// ("validators") take a TOML array of inline tables.
	Flags map[string]string
}

// A layer is one of the places a setting can come from; a higher one wins.
type layer int

const (
	fromReference layer = iota
	fromUser
	fromRepository
	fromEnvironment
	fromFlags
)

// A Loaded is a valid configuration that knows where each setting came from.
type Loaded struct {
	Config

	// Untrusted lists, sorted, the keys of an untrusted repository file that would count only
	// after `hob trust`. They have no effect on Config.
	Untrusted []string
	// Warnings are one line each about settings that are valid and perhaps not meant.
	Warnings []string

	origins map[string]origin
}

// An origin is where the value of a key came from.
type origin struct {
	layer  layer
	source string // file, "environment" or "flag"
	name   string // of the variable
	at     place
}

func (o origin) String() string {
	switch o.layer {
	case fromReference:
		return "default"
	case fromEnvironment:
		return o.name
	case fromFlags:
		return "flag"
	default:
		return fmt.Sprintf("%s:%d:%d", o.source, o.at.line, o.at.col)
	}
}

// Load decodes, checks and layers l. The error, if any, is of type [Problems] and holds all
// that is wrong in all layers, also in values that a higher layer replaces. Load reads no
// files and no environment of its own.
//
// Autonomous.TestCommand becomes the validator named "test", the first one, and is empty in
// the result: whoever runs validators need not know the shorthand.
func Load(l Layers) (*Loaded, error) {
	b := blend{
		config:  reflect.New(reflect.TypeFor[Config]()).Elem(),
		origins: map[string]origin{},
		trusted: l.Trusted,
	}
	b.file(fromReference, &File{"hob.toml (embedded)", reference})
	b.defaults = reflect.New(b.config.Type()).Elem()
	b.defaults.Set(b.config)

	b.file(fromUser, l.User)
	b.file(fromRepository, l.Repository)
	b.environment(l.Env)
	b.flags(l.Flags)

	loaded := &Loaded{Config: b.config.Interface().(Config), Untrusted: b.heldBack(), origins: b.origins}
	loaded.complete(&b.report)
	if err := b.report.err(); err != nil {
		return nil, err
	}
	loaded.Warnings = warnings(loaded)
	return loaded, nil
}

// A blend is a configuration while layers are laid on it, the lowest first.
type blend struct {
	config    reflect.Value // a Config
	defaults  reflect.Value // a Config: config as the reference left it
	origins   map[string]origin
	trusted   bool
	untrusted []string
	report    report
}

// file lays the settings of a file on the configuration.
func (b *blend) file(in layer, f *File) {
	if f == nil {
		return
	}
	d := &decoder{in: in, file: f.Name, placed: true, report: &b.report}
	root, problem := parse(f.Data)
	if problem != nil {
		problem.File = f.Name
		b.report.add(in, *problem)
		return
	}
	for _, section := range root.fields {
		s := spot{rule: section.name, key: keyName(section.name), at: section.at}
		if field, ok := sectionField(section.name); !ok {
			b.unknown(d, s, section)
		} else if field.Type.Kind() == reflect.Slice {
			b.set(d, s, section.value, origin{in, f.Name, "", section.at})
		} else {
			b.section(d, s, field.Type, section.value)
		}
	}
}

// section lays the settings of one [section] of a file on the configuration.
func (b *blend) section(d *decoder, s spot, t reflect.Type, n *node) {
	if n.kind == anArray && n.tables {
		d.refuse(s, "expected one table, got array of tables", fmt.Sprintf("write [%s]", s.key))
		return
	}
	if n.kind != aTable {
		d.refuse(s, fmt.Sprintf("expected table, got %s", n.kind), fmt.Sprintf("write [%s] on a line of its own", s.key))
		return
	}
	names := keysOf(t)
	for _, f := range n.fields {
		one := spot{rule: s.rule + "." + f.name, key: s.key + "." + keyName(f.name), at: f.at}
		if slices.Contains(names, f.name) {
			b.set(d, one, f.value, origin{d.in, d.file, "", f.at})
			continue
		}
		hint := didYouMean(f.name, names)
		if hint == "" {
			hint = elsewhere(f.name)
		}
		d.refuse(one, unknownKey(f.name, names), hint)
	}
}

// unknown reports a name at the top of a file that is no section.
func (b *blend) unknown(d *decoder, s spot, f *field) {
	sections := keysOf(b.config.Type())
	what, hint := unknownKey(f.name, sections), didYouMean(f.name, sections)
	if f.value.kind == aTable || f.value.tables {
		what = strings.Replace(what, "key", "table", 1)
	} else if hint == "" {
		hint = elsewhere(f.name)
	}
	d.refuse(s, what, hint)
}

// elsewhere names the section in which a key exists that was written in another one.
func elsewhere(name string) string {
	for _, key := range keys() {
		if strings.HasSuffix(key, "."+name) {
			return didYouMean(key, []string{key})
		}
	}
	return ""
}

// set decodes one setting and puts it in place, unless the repository has no say in it.
func (b *blend) set(d *decoder, s spot, n *node, from origin) {
	s.at = n.at
	held := at(b.config, s.rule)
	if b.defaults.IsValid() {
		s.was = at(b.defaults, s.rule)
	}
	wanted := reflect.New(held.Type()).Elem()
	if !d.value(n, s, wanted) {
		return
	}
	if d.in == fromRepository && userOnly[s.rule] {
		if s.was.IsValid() && !reflect.DeepEqual(wanted.Interface(), s.was.Interface()) { // a copy of the reference may stay
			s.at = from.at
			d.refuse(s, "does not count in a repository's file", "set it in your own config.toml")
		}
		return
	}
	if d.in == fromRepository && !b.trusted && needsTrust(s.rule, held, wanted) {
		b.untrusted = append(b.untrusted, s.rule)
		return
	}
	held.Set(wanted)
	b.origins[s.rule] = from
}

// environment lays HOB_… variables on the configuration. Where a name occurs twice the last
// one counts, as for a started process.
func (b *blend) environment(environ []string) {
	names := map[string]string{} // variable to key
	for _, key := range keys() {
		names[variable(key)] = key
	}
	values := map[string]string{}
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if rest, ok := strings.CutPrefix(name, "HOB_"); ok && strings.Contains(rest, "__") {
			values[name] = value
		}
	}
	d := &decoder{in: fromEnvironment, file: "environment", report: &b.report}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		key, ok := names[name]
		if !ok {
			d.refuse(spot{key: keyName(name)}, "unknown setting", b.variableHint(name, names))
			continue
		}
		b.text(d, spot{rule: key, key: name}, values[name], origin{layer: fromEnvironment, name: name})
	}
}

// variable is the name of the environment variable that sets a key.
func variable(key string) string {
	return "HOB_" + strings.ToUpper(strings.ReplaceAll(key, ".", "__"))
}

func (b *blend) variableHint(name string, names map[string]string) string {
	section, _, _ := strings.Cut(strings.TrimPrefix(name, "HOB_"), "__")
	if field, ok := sectionField(strings.ToLower(section)); ok && field.Type.Kind() == reflect.Slice {
		return fmt.Sprintf("[[%s]] can only be set in a file", strings.ToLower(section))
	}
	// nearest compares in lower case, which is how keys are written.
	if key := names[strings.ToUpper(name)]; key != "" {
		return fmt.Sprintf("did you mean %q?", variable(key))
	}
	written := strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(name, "HOB_")), "__", ".")
	if key := nearest(written, keys()); key != "" {
		return fmt.Sprintf("did you mean %q?", variable(key))
	}
	return ""
}

// flags lays settings from the command line on the configuration.
func (b *blend) flags(flags map[string]string) {
	d := &decoder{in: fromFlags, file: "flag", report: &b.report}
	all := append(keys(), arrays()...)
	for _, key := range slices.Sorted(maps.Keys(flags)) {
		if !slices.Contains(all, key) {
			d.refuse(spot{key: keyPath(key)}, "unknown setting", didYouMean(key, all))
			continue
		}
		b.text(d, spot{rule: key, key: key}, flags[key], origin{layer: fromFlags})
	}
}

// text sets a key from text that is outside TOML.
func (b *blend) text(d *decoder, s spot, text string, from origin) {
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		d.refuse(s, "not UTF-8 text", "")
		return
	}
	b.set(d, s, textNode(text, at(b.config, s.rule)), from)
}

// textNode reads text as a value for dst: as it stands where dst is text itself, split at
// commas or as a TOML array where it is a list, and as TOML in all other cases. Text that
// doesn't fit stays a string, which the decoder then refuses with the expected type.
func textNode(text string, dst reflect.Value) *node {
	n := &node{kind: aString, text: text}
	if _, ok := dst.Addr().Interface().(textValue); ok || dst.Kind() == reflect.String {
		return n
	}
	trimmed := strings.TrimSpace(text)
	if dst.Type() == reflect.TypeFor[[]string]() && !strings.HasPrefix(trimmed, "[") {
		n.kind = anArray
		for item := range strings.SplitSeq(text, ",") {
			if item = strings.TrimSpace(item); item != "" {
				n.items = append(n.items, &node{kind: aString, text: item})
			}
		}
		return n
	}
	root, problem := parse([]byte("value = " + trimmed))
	if problem != nil || len(root.fields) != 1 {
		return n
	}
	return root.fields[0].value
}

// heldBack lists the keys that trust would change. Where a higher layer set the key, the
// repository's value would have lost anyway.
func (b *blend) heldBack() []string {
	slices.Sort(b.untrusted)
	return slices.DeleteFunc(b.untrusted, func(key string) bool { return b.origins[key].layer > fromRepository })
}

// sectionField finds the field of Config that a top-level name stands for.
func sectionField(name string) (reflect.StructField, bool) {
	t := reflect.TypeFor[Config]()
	i := slices.Index(keysOf(t), name)
	if i < 0 {
		return reflect.StructField{}, false
	}
	return t.Field(i), true
}

// keys lists all settings but array tables as "section.key", in the reference's order.
func keys() []string {
	var all []string
	for field := range reflect.TypeFor[Config]().Fields() {
		if field.Type.Kind() == reflect.Slice {
			continue
		}
		for _, key := range keysOf(field.Type) {
			all = append(all, field.Tag.Get("toml")+"."+key)
		}
	}
	return all
}

// arrays lists the array tables.
func arrays() []string {
	var all []string
	for field := range reflect.TypeFor[Config]().Fields() {
		if field.Type.Kind() == reflect.Slice {
			all = append(all, field.Tag.Get("toml"))
		}
	}
	return all
}

// at returns the field of a Config that a key stands for.
func at(config reflect.Value, key string) reflect.Value {
	v := config
	for part := range strings.SplitSeq(key, ".") {
		v = v.Field(slices.Index(keysOf(v.Type()), part))
	}
	return v
}
