package todo

import (
	"errors"
	"fmt"
	"slices"
)

// ErrNoItem is returned by [Tick] when not exactly one item has the id.
var ErrNoItem = errors.New("no such item")

// Tick returns b with the box of one item ticked. Everything else keeps its
// bytes: line ends, tabs, the other boxes, the byte order mark. A bullet without
// a box gets one in place; an item that is done already stays as it is. b itself
// is not changed. The error wraps [ErrNoItem].
func Tick(b []byte, id string) ([]byte, error) {
	doc, places := parse(b)
	at := slices.IndexFunc(doc.Items, func(it Item) bool { return it.ID == id })
	switch {
	case doc.TooLarge:
		return nil, fmt.Errorf("tick %s in a file over the limits: %w", quote(id), ErrNoItem)
	case at < 0:
		return nil, fmt.Errorf("tick %s: %w", quote(id), ErrNoItem)
	case slices.ContainsFunc(doc.Items[at+1:], func(it Item) bool { return it.ID == id }):
		return nil, fmt.Errorf("tick %s, an id of several: %w", quote(id), ErrNoItem)
	case doc.Items[at].Done:
		return slices.Clone(b), nil
	}
	p := places[at]
	if p.open == none {
		return slices.Concat(b[:p.content], []byte("[x] "), b[p.content:]), nil
	}
	return slices.Concat(b[:p.open], []byte("[x]"), b[p.end:]), nil
}
