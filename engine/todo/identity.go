package todo

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"maps"
	"strings"
)

// idDigits is the length of a derived id: 40 bits, short enough to type. Two
// items that meet by chance are blocked as duplicates, never merged.
const idDigits = 10

// normalise reduces a text to what makes it the same item: case, emphasis,
// blanks and closing punctuation may change.
func normalise(text string) string {
	text = strings.Map(func(r rune) rune {
		if strings.ContainsRune("*_~`", r) {
			return -1
		}
		return r
	}, strings.ToLower(text))
	text = strings.Join(strings.Fields(text), " ")
	return strings.TrimRight(text, ".;:,! ")
}

// identify sets ID and ContentHash of all items and blocks those that share an
// id. refused has, by item, the settings that did not make it into Attrs.
func identify(items []Item, refused [][]string) {
	setIDs(items)
	byID := map[string]int{} // id → first item
	for i := range items {
		first, taken := byID[items[i].ID]
		if !taken {
			byID[items[i].ID] = i
			continue
		}
		items[i].duplicate(items[first].Line)
		if items[first].Blocked != DuplicateID {
			items[first].duplicate(items[i].Line)
		}
	}
	hashContents(items, refused)
}

// duplicate blocks the item whatever else is wrong with it: until its id is its
// own, nothing can be recorded about it.
func (it *Item) duplicate(line int) {
	it.block(DuplicateID, fmt.Sprintf("the id %s is also on line %d", quote(it.ID), line))
	it.Blocked = DuplicateID
}

// setIDs derives the ids: SHA-256 over the NUL-joined normalised texts from the
// outermost parent to the item, with NUL "#2", "#3", … for repeats in file order.
// A parent's hash state is copied to its children instead of hashing its text
// again, which keeps many children of one long text linear.
func setIDs(items []Item) {
	states := make([]hash.Hash, len(items))
	repeats := map[string]int{}
	used := map[string]bool{}
	for i := range items {
		it := &items[i]
		h := sha256.New()
		if it.Parent >= 0 {
			h = fork(states[it.Parent])
			h.Write([]byte{0})
		}
		h.Write([]byte(normalise(it.Text)))
		states[i] = h

		path := string(h.Sum(nil))
		sum := path
		repeats[path]++
		// An item may be called "#2" itself, so a number can be taken.
		for repeats[path] > 1 || used[sum] {
			again := fork(h)
			fmt.Fprintf(again, "\x00#%d", max(2, repeats[path]))
			if sum = string(again.Sum(nil)); !used[sum] {
				break
			}
			repeats[path] = max(2, repeats[path]) + 1
		}
		used[sum] = true
		it.ID = hex.EncodeToString([]byte(sum))[:idDigits]
		if id := it.text("id"); id != "" {
			it.ID = id
		}
	}
}

// fork copies a SHA-256 in progress.
func fork(h hash.Hash) hash.Hash {
	c, ok := h.(hash.Cloner)
	if !ok {
		panic(fmt.Sprintf("todo: %T cannot be copied", h))
	}
	copied, err := c.Clone()
	if err != nil {
		panic(fmt.Sprintf("todo: copy %T: %v", h, err))
	}
	return copied
}

// hashContents sets ContentHash: SHA-256 of the JSON array of text, attributes
// with sorted keys, body and the children's hashes. Refused settings stand among
// the attributes under "!", so that mending one is a change of content.
func hashContents(items []Item, refused [][]string) {
	children := make([][]string, len(items))
	for i := len(items) - 1; i >= 0; i-- {
		it := &items[i]
		attrs := make(map[string]any, len(it.Attrs)+1)
		maps.Copy(attrs, it.Attrs)
		if len(refused[i]) > 0 {
			attrs["!"] = refused[i]
		}
		below := make([]string, 0, len(children[i]))
		for c := len(children[i]) - 1; c >= 0; c-- { // gathered from the end
			below = append(below, children[i][c])
		}
		it.ContentHash = digestJSON([]any{it.Text, attrs, it.Body, below})
		if it.Parent >= 0 {
			children[it.Parent] = append(children[it.Parent], it.ContentHash)
		}
	}
}

func digestJSON(v any) string {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("todo: encode %T: %v", v, err))
	}
	sum := sha256.Sum256(bytes.TrimSuffix(out.Bytes(), []byte("\n")))
	return hex.EncodeToString(sum[:])
}

// words is the set of an item's words, for comparing it with a reworded one.
func words(text string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(normalise(text)) {
		if w = strings.Trim(w, ".,;:!?()[]{}\"'"); w != "" {
			set[w] = true
		}
	}
	return set
}
