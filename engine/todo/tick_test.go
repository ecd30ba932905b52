package todo_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"hob/engine/todo"
)

func TestTick(t *testing.T) {
	tests := []struct {
		name, todo string
		item       int
		want       string
	}{
		{"byte order mark and CRLF", "\ufeff- [ ] a\r\n- [ ] b\r\n", 0, "\ufeff- [x] a\r\n- [ ] b\r\n"},
		{"CR", "- [ ] a\r- [ ] b\r", 1, "- [ ] a\r- [x] b\r"},
		{"empty box", "- [] a\n", 0, "- [x] a\n"},
		{"wide box", "- [  ] a\n", 0, "- [x] a\n"},
		{"box with a tab", "- [\t] a\n", 0, "- [x] a\n"},
		{"glued to the marker", "-[ ] a\n", 0, "-[x] a\n"},
		{"glued to the text", "- [ ]a\n", 0, "- [x]a\n"},
		{"held", "- [~] a\n", 0, "- [x] a\n"},
		{"unknown state of several bytes", "- [§] a\n", 0, "- [x] a\n"},
		{"unknown state that is no UTF-8", "- [\xff] a\n", 0, "- [x] a\n"},
		{"done stays", "- [X] a\n", 0, "- [X] a\n"},
		{"cancelled stays", "- [-] a\n", 0, "- [-] a\n"},
		{"done by its section stays", "## Done\n- [ ] a\n", 0, "## Done\n- [ ] a\n"},
		{"nested under a number", "1) [ ] a\n   * [ ] b\n", 1, "1) [ ] a\n   * [x] b\n"},
		{"bullet with wide gap", "# Todo\n-     a\n", 0, "# Todo\n-     [x] a\n"},
		{"bullet with a tab", "# Todo\n-\ta\n", 0, "# Todo\n-\t[x] a\n"},
		{"numbered bullet with a link", "# Todo\n3. [a](b)\n", 0, "# Todo\n3. [x] [a](b)\n"},
		{"bullet behind a comment", "# Todo\n- <!-- x --> a\n", 0, "# Todo\n- [x] <!-- x --> a\n"},
		{"broken bytes elsewhere", "\xff\xfe\n- [ ] a\xff\n", 0, "\xff\xfe\n- [x] a\xff\n"},
		{"not the one in the fence", "```\n- [ ] a\n```\n- [ ] a\n", 0, "```\n- [ ] a\n```\n- [x] a\n"},
		{"second of two equals", "- [ ] a\n- [ ] a\n", 1, "- [ ] a\n- [x] a\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			before := []byte(tt.todo)
			got, err := todo.Tick(before, todo.Parse(before).Items[tt.item].ID)
			if err != nil || string(got) != tt.want {
				t.Errorf("Tick(%q) = %q, %v, want %q", tt.todo, got, err, tt.want)
			}
			if string(before) != tt.todo {
				t.Errorf("Tick changed its input to %q", before)
			}
		})
	}
}

func TestTickRefuses(t *testing.T) {
	tests := []struct{ name, todo, id string }{
		{"no such id", "- [ ] a\n", "k"},
		{"empty file", "", "k"},
		{"two of them", "- [ ] a ^k\n- [ ] b ^k\n", "k"},
		{"too large", "- [ ] a ^k\n" + strings.Repeat("\n", todo.MaxLines), "k"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := todo.Tick([]byte(tt.todo), tt.id)
			if !errors.Is(err, todo.ErrNoItem) || got != nil {
				t.Errorf("Tick = %q, %v, want %v", got, err, todo.ErrNoItem)
			}
		})
	}
}

// checkTick ticks item i and compares everything that must not change.
func checkTick(t interface {
	Helper()
	Fatalf(format string, args ...any)
}, b []byte, i int,
) {
	t.Helper()
	before := todo.Parse(b)
	id := before.Items[i].ID
	after, err := todo.Tick(b, id)
	if before.Items[i].Blocked == todo.DuplicateID {
		if !errors.Is(err, todo.ErrNoItem) {
			t.Fatalf("Tick(%q, %s) = %v for a duplicate", b, id, err)
		}
		return
	}
	if err != nil {
		t.Fatalf("Tick(%q, %s): %v", b, id, err)
	}
	doc := todo.Parse(after)
	if len(doc.Items) != len(before.Items) {
		t.Fatalf("Tick(%q) = %q: %d items became %d", b, after, len(before.Items), len(doc.Items))
	}
	// Marks follow from boxes, so they may change; all the rest must not.
	same := cmpopts.IgnoreFields(todo.Item{}, "Hold", "Diagnostics", "Attrs", "ContentHash")
	for j, it := range before.Items {
		if j == i {
			it.Done = true
		} else if diff := cmp.Diff(it.Attrs, doc.Items[j].Attrs); diff != "" {
			t.Fatalf("Tick(%q) = %q changed item %d:\n%s", b, after, j, diff)
		}
		if diff := cmp.Diff(it, doc.Items[j], same); diff != "" {
			t.Fatalf("Tick(%q) = %q changed item %d:\n%s", b, after, j, diff)
		}
	}
	again, err := todo.Tick(after, id)
	if err != nil || !bytes.Equal(again, after) {
		t.Fatalf("Tick(Tick(%q)) = %q, %v", b, again, err)
	}
	if grown := len(after) - len(b); grown > len("[x] ") {
		t.Fatalf("Tick(%q) added %d bytes", b, grown)
	}
}

// lines draws files from the pieces that decide something.
func lines(rt *rapid.T) []byte {
	piece := rapid.SampledFrom([]string{
		"- [ ] a", "- [ ] a", "- [] b", "-[ ] c", "- [ x] d", "- [~] e", "* [-] f", "1. [ ]g", "- h", "-\ti", "2) j",
		"- [k](l)", "- [ ]", "-", "  ", "\t", "    ", "# Pending", "## Done", "## Later", "### Notes", "```", "~~~", "<!--", "-->", "`",
		"> q", "---", "text", "priority: high", "^id", " ^id", " {budget=1}", " {depends=id}", "\xff", "\x00", "\\", "[", "]", "{", "}", "#2",
	})
	end := rapid.SampledFrom([]string{"\n", "\n", "\n", "\n\n", "\r\n", "\r", ""})
	var out []byte
	for range rapid.IntRange(0, 30).Draw(rt, "pieces") {
		out = append(out, piece.Draw(rt, "piece")...)
		out = append(out, end.Draw(rt, "end")...)
	}
	return out
}

func TestTickProperty(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := lines(rt)
		doc := todo.Parse(b)
		if len(doc.Items) > 0 {
			checkTick(rt, b, rapid.IntRange(0, len(doc.Items)-1).Draw(rt, "item"))
		}
	})
}

// Ticking all items one after the other, in any order, leaves nothing open.
func TestTickAllProperty(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := lines(rt)
		order := rapid.Permutation(todo.Parse(b).Items).Draw(rt, "order")
		for _, it := range order {
			if it.Blocked == todo.DuplicateID {
				return
			}
			var err error
			if b, err = todo.Tick(b, it.ID); err != nil {
				rt.Fatal(err)
			}
		}
		for _, it := range todo.Parse(b).Items {
			if !it.Done {
				rt.Fatalf("%q: %q is still open", b, it.Text)
			}
		}
	})
}

func FuzzTick(f *testing.F) {
	for _, seed := range []string{
		"- [ ] a\n", "## Pending\n- a\n  - [ ] b ^k\n", "1.[ x] a\r\n", "- [ ] a\n- [ ] a\n  - [ ] #2\n",
		"\ufeff# Todo\r-\ta <!-- x\n--> {budget=1}\n", "- [ ] a ^k\n- [ ] b ^k\n", "```\n- [ ] a", "-     [\xff] a\x00",
	} {
		f.Add([]byte(seed), uint16(0))
	}
	f.Fuzz(func(t *testing.T, b []byte, pick uint16) {
		if n := len(todo.Parse(b).Items); n > 0 {
			checkTick(t, b, int(pick)%n)
		}
	})
}
