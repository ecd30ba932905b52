package configs

import (
	"bytes"
	"errors"
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// Whatever exceeds these was not written by hand. The second bound is there because go-toml
// looks for keys set twice in a time quadratic in their number: 4 s for 20000 short ones.
const (
	maxFile = 256 << 10
	maxKeys = 4000 // counting headers and inner arrays too
)

// A kind is the type of a TOML value in a reader's words.
type kind string

// The kinds of TOML 1.1, its four kinds of dates as one.
const (
	aString  kind = "string"
	anInt    kind = "integer"
	aFloat   kind = "float"
	aBool    kind = "boolean"
	aDate    kind = "date or time"
	anArray  kind = "array"
	aTable   kind = "table"
	someKind kind = "something else"
)

// A place is where something stands in a file: line and column from 1, the column in bytes.
type place struct{ line, col int }

// A node is a TOML value that remembers where it stands. go-toml's own decoder keeps no
// positions of values it could decode, and later rules need them.
type node struct {
	kind   kind
	at     place
	text   string // the value of a string; a scalar of another kind as it was written
	items  []*node
	fields []*field
	index  map[string]*field
	tables bool // an array written as [[name]] headers
}

// A field is one key of a table with its value.
type field struct {
	name  string
	at    place
	value *node
}

// parse reads a file into its root table. The problem it may return has a position and what
// is wrong, but no file name.
//
// go-toml reads the text twice: once as a whole, which finds what is no TOML (a key set
// twice, an integer too large) as well as broken syntax, and once as a syntax tree.
func parse(data []byte) (*node, *Problem) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if len(data) > maxFile {
		return nil, &Problem{Line: 1, Col: 1, What: fmt.Sprintf("file is larger than %d KiB", maxFile>>10)}
	}
	if bytes.Count(data, []byte("="))+bytes.Count(data, []byte("[")) > maxKeys {
		return nil, &Problem{Line: 1, Col: 1, What: fmt.Sprintf("file has more than %d keys and tables", maxKeys)}
	}
	b := builder{breaks: lineBreaks(data), root: newTable(place{1, 1})}
	if i := invalidUTF8(data); i >= 0 {
		at := b.place(i)
		return nil, &Problem{Line: at.line, Col: at.col, What: "not UTF-8 text"}
	}
	var whole map[string]any
	if err := toml.Unmarshal(data, &whole); err != nil {
		return nil, syntaxProblem(err)
	}
	b.parser.Reset(data)
	table := b.root
	for b.parser.NextExpression() {
		expr := b.parser.Expression()
		ok := true
		switch expr.Kind {
		case unstable.Table:
			table, ok = b.open(expr, false)
		case unstable.ArrayTable:
			table, ok = b.open(expr, true)
		case unstable.KeyValue:
			ok = b.set(table, expr)
		}
		if !ok {
			at := b.place(int(expr.Child().Raw.Offset))
			return nil, &Problem{Line: at.line, Col: at.col, What: "key is already defined"}
		}
	}
	if err := b.parser.Error(); err != nil {
		return nil, syntaxProblem(err)
	}
	return b.root, nil
}

// syntaxProblem puts go-toml's words for broken TOML into a Problem.
func syntaxProblem(err error) *Problem {
	p := &Problem{Line: 1, Col: 1, What: "broken TOML: " + strings.TrimPrefix(err.Error(), "toml: ")}
	var decode *toml.DecodeError
	if errors.As(err, &decode) {
		p.Line, p.Col = decode.Position()
	}
	return p
}

func invalidUTF8(data []byte) int {
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

func lineBreaks(data []byte) []int {
	var breaks []int
	for i, c := range data {
		if c == '\n' {
			breaks = append(breaks, i)
		}
	}
	return breaks
}

// A builder turns go-toml's expressions, one at a time, into a tree.
type builder struct {
	parser unstable.Parser
	breaks []int // offsets of line feeds
	root   *node
}

func (b *builder) place(offset int) place {
	line := sort.SearchInts(b.breaks, offset)
	start := 0
	if line > 0 {
		start = b.breaks[line-1] + 1
	}
	return place{line + 1, offset - start + 1}
}

// open finds or makes the table of a [header] or, for an array, adds one for a [[header]].
func (b *builder) open(expr *unstable.Node, array bool) (*node, bool) {
	table := b.root
	for key := expr.Key(); key.Next(); {
		if !array || !key.IsLast() {
			var ok bool
			if table, ok = b.descend(table, key.Node()); !ok {
				return nil, false
			}
			continue
		}
		at := b.place(int(key.Node().Raw.Offset))
		f := table.index[string(key.Node().Data)]
		if f == nil {
			f = table.add(string(key.Node().Data), at, &node{kind: anArray, at: at, tables: true})
		}
		if f.value.kind != anArray || !f.value.tables {
			return nil, false
		}
		table = newTable(at)
		f.value.items = append(f.value.items, table)
	}
	return table, true
}

// descend goes from a table into the one named by key, which it makes when there is none.
// In an array of tables that is the last one so far.
func (b *builder) descend(table *node, key *unstable.Node) (*node, bool) {
	at := b.place(int(key.Raw.Offset))
	f := table.index[string(key.Data)]
	if f == nil {
		f = table.add(string(key.Data), at, newTable(at))
	}
	next := f.value
	if next.kind == anArray && next.tables {
		next = next.items[len(next.items)-1]
	}
	return next, next.kind == aTable
}

// set puts the value of a `dotted.key = value` expression into its table.
func (b *builder) set(table *node, expr *unstable.Node) bool {
	for key := expr.Key(); key.Next(); {
		name, at := string(key.Node().Data), b.place(int(key.Node().Raw.Offset))
		if !key.IsLast() {
			var ok bool
			if table, ok = b.descend(table, key.Node()); !ok {
				return false
			}
			continue
		}
		if table.index[name] != nil {
			return false
		}
		value, ok := b.value(expr.Value(), at)
		table.add(name, at, value)
		return ok
	}
	return true
}

// value copies a value of the syntax tree. Arrays have no position there and get their key's.
func (b *builder) value(n *unstable.Node, keyAt place) (*node, bool) {
	v := &node{kind: kindOf(n.Kind), at: keyAt, text: string(n.Data)}
	if n.Raw.Length > 0 {
		v.at = b.place(int(n.Raw.Offset))
	}
	ok := true
	switch v.kind {
	case anArray:
		for it := n.Children(); it.Next() && ok; {
			var item *node
			item, ok = b.value(it.Node(), v.at)
			v.items = append(v.items, item)
		}
	case aTable:
		v.index = map[string]*field{}
		for it := n.Children(); it.Next() && ok; {
			ok = b.set(v, it.Node())
		}
	}
	return v, ok
}

func kindOf(k unstable.Kind) kind {
	switch k {
	case unstable.String:
		return aString
	case unstable.Integer:
		return anInt
	case unstable.Float:
		return aFloat
	case unstable.Bool:
		return aBool
	case unstable.LocalDate, unstable.LocalTime, unstable.LocalDateTime, unstable.DateTime:
		return aDate
	case unstable.Array:
		return anArray
	case unstable.InlineTable:
		return aTable
	default:
		return someKind
	}
}

func newTable(at place) *node {
	return &node{kind: aTable, at: at, index: map[string]*field{}}
}

func (n *node) add(name string, at place, value *node) *field {
	f := &field{name, at, value}
	n.fields = append(n.fields, f)
	n.index[name] = f
	return f
}
