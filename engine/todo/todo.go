// Package todo reads TODO.md, the list of work that people keep by hand.
//
// Reading is line-based and total: any bytes give a [Doc], and what could not
// be understood becomes a diagnostic beside the items that could. Nothing here
// touches a disk, a clock or a network, so equal bytes always give an equal Doc.
//
// # What is work
//
// A list line with a box is an item wherever it stands. A list line without one
// is an item only at the top level of a section whose heading says that it holds
// open or finished work ("Pending", "Done", …). Prose, nested bullets, fences,
// comments, quotes and indented code are never items: text that nobody meant as
// an order must not reach a model.
//
//	## Pending
//	- [ ] retry flaky uploads {priority=high budget=$2.50}
//	  Only 5xx answers; see the note in net/.
//	  - [ ] a test with a server that fails twice
//	- polish the dial ^dial
//
// Boxed lines below an item are its children: acceptance criteria of the one
// run, or tasks of their own under split=true ([Doc.Tasks]).
//
// The block rules follow CommonMark 0.31 (§4.2 headings, §4.5 fences, §5.2 list
// items, §6.6 comments) where a reader of the rendered file could tell the
// difference, and are simpler elsewhere: two columns past the marker of a parent
// make a line its own, also under "10.".
//
// # What can go wrong
//
// TODO.md is less trusted than hob.toml, and a typing error in it must not widen
// what an item may do. A setting that cannot be read therefore blocks its item
// ([Item.Blocked]) instead of being dropped: "buget=1" ignored would remove a
// cap. Checks that need the configuration (does that validator exist, is the
// budget below the configured one) are the caller's; the accessors give the
// parsed values.
package todo

import (
	"crypto/sha256"
	"encoding/hex"
	"sort"
)

// The limits of a file that is read at all. Beyond them hob keeps the last good
// queue: such a file is an accident, and working half of it would be worse.
const (
	MaxBytes = 1 << 20 // bytes of the file, byte order mark included
	MaxLines = 20_000  // lines, whatever ends them
)

// Values of [Item.Blocked]; they are task reasons of the same names.
const (
	BadAttr         = "bad_attr"
	DuplicateID     = "duplicate_id"
	DependencyCycle = "dependency_cycle"
)

// An Item is one piece of work, or one acceptance criterion of its parent.
type Item struct {
	// ID is the explicit id, else 10 hex digits over the texts of the parents
	// and of the item. Box, section, attributes, body and place don't count, so
	// ticking, moving and annotating an item keep its ID.
	ID string `json:"id"`
	// Text is the first line without marker, box, comments and attributes.
	Text string `json:"text"`
	// Done is true for a ticked or cancelled box and for all of a done section.
	Done bool `json:"done"`
	// Section is the nearest heading above, as written; "" before the first.
	Section string `json:"section"`
	// Depth is 0 at the top level.
	Depth int `json:"depth"`
	// Attrs has the valid settings by canonical key: string, int, bool or
	// []string values. Never nil. "state" is "cancelled" for the box [-].
	Attrs map[string]any `json:"attrs"`
	// Body is everything else that belongs to the item, dedented; children and
	// attribute lines are not in it.
	Body string `json:"body"`
	// Line is the 1-based line of the marker.
	Line int `json:"line"`
	// Diagnostics has the codes of the [Doc]'s diagnostics for this item's own
	// line and attributes. Never nil.
	Diagnostics []string `json:"diagnostics"`

	// Hold is true for an open item that must not be started: by its box, its
	// section, its attribute, or because a parent is held or already done.
	Hold bool `json:"hold,omitempty"`
	// Parent is the index of the parent in [Doc.Items], -1 at the top level.
	Parent int `json:"-"`
	// ContentHash is the hex SHA-256 of text, attributes, body and children:
	// what a new attempt would see. Boxes don't count.
	ContentHash string `json:"-"`
	// Blocked is "", [BadAttr], [DuplicateID] or [DependencyCycle].
	Blocked string `json:"blocked,omitempty"`
	// Why says in words what Blocked is about.
	Why string `json:"why,omitempty"`
}

// A Diagnostic tells the author of the file what was odd about a line.
type Diagnostic struct {
	Line    int    `json:"line"` // 1-based; 0 is the whole file
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Codes of diagnostics.
const (
	codeTooLarge        = "todo_too_large"
	codeBadUTF8         = "bad_utf8"
	codeUnclosedFence   = "unclosed_fence"
	codeUnclosedComment = "unclosed_comment"
	codeOddBox          = "odd_box"
	codeUnknownBox      = "unknown_box"
	codeEmptyItem       = "empty_item"
	codeOpenInDone      = "open_box_in_done_section"
	codeOpenChild       = "open_child_of_done"
	codeAttrRepeated    = "attr_repeated"
)

// A Doc is one reading of a TODO.md.
type Doc struct {
	// Items in file order: a parent stands before its children.
	Items []Item `json:"items"`
	// Diagnostics in line order.
	Diagnostics []Diagnostic `json:"diagnostics"`
	// Digest is the hex SHA-256 of the bytes that were read.
	Digest string `json:"digest"`
	// TooLarge is true beyond [MaxBytes] or [MaxLines]. Items is empty then and
	// means nothing: keep the queue of the last good reading.
	TooLarge bool `json:"too_large,omitempty"`
}

// Parse reads b. It never fails and takes time linear in len(b); beyond the
// limits it only takes the digest.
func Parse(b []byte) Doc {
	doc, _ := parse(b)
	return doc
}

// Tasks returns the indexes of the items that are one run each, in the order in
// which they are to be claimed: by priority, then by place in the file. These
// are the top-level items and, below an item with split=true, its children in
// its place. Done, held and blocked items are among them; dependencies and
// times are the caller's.
func (d Doc) Tasks() []int {
	children := make([]bool, len(d.Items))
	for _, it := range d.Items {
		if it.Parent >= 0 {
			children[it.Parent] = true
		}
	}
	single := make([]bool, len(d.Items)) // top level, or reached through splits only
	tasks := make([]int, 0, len(d.Items))
	for i, it := range d.Items {
		single[i] = it.Parent < 0 || single[it.Parent] && d.Items[it.Parent].Split()
		if single[i] && !(it.Split() && children[i]) {
			tasks = append(tasks, i)
		}
	}
	sort.SliceStable(tasks, func(a, b int) bool {
		return d.Items[tasks[a]].Priority() < d.Items[tasks[b]].Priority()
	})
	return tasks
}

// parse is Parse that also returns where each item's box stands in b.
func parse(b []byte) (Doc, []place) {
	sum := sha256.Sum256(b)
	doc := Doc{Items: []Item{}, Diagnostics: []Diagnostic{}, Digest: hex.EncodeToString(sum[:])}
	lines, ok := split(b)
	if !ok {
		doc.TooLarge = true
		doc.Diagnostics = append(doc.Diagnostics, Diagnostic{
			Code:    codeTooLarge,
			Message: "the file is over 1 MiB or 20000 lines; the last good queue stays",
		})
		return doc, nil
	}
	r := newReader(b, lines)
	r.read()
	doc.Items = r.finish()
	identify(doc.Items, r.refused)
	link(doc.Items)
	inherit(doc.Items, r.note)
	for i, it := range doc.Items {
		if it.Blocked != "" {
			r.note(i, it.Blocked, it.Why)
		}
	}
	doc.Diagnostics = append(doc.Diagnostics, r.notes...)
	sort.SliceStable(doc.Diagnostics, func(i, j int) bool {
		return doc.Diagnostics[i].Line < doc.Diagnostics[j].Line
	})
	return doc, r.places
}

// inherit carries down what a parent's state means for its children, which
// stand behind it in items.
func inherit(items []Item, note func(item int, code, message string)) {
	for i := range items {
		it := &items[i]
		it.Hold = false
		if it.Done {
			continue
		}
		it.Hold = it.flag("hold")
		if it.Parent < 0 {
			continue
		}
		parent := items[it.Parent]
		if parent.Done {
			note(i, codeOpenChild, "open below a finished item; it is not started")
		}
		it.Hold = it.Hold || parent.Hold || parent.Done
	}
}
