package todo_test

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"hob/engine/todo"
)

// derived is the id of an item by its normalised texts, as the format fixes it:
// task files and trailers of earlier versions depend on it.
func derived(texts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(texts, "\x00")))
	return hex.EncodeToString(sum[:])[:10]
}

func TestIDs(t *testing.T) {
	tests := []struct {
		name, todo string
		want       []string
	}{
		{"text", "- [ ] sort imports\n", []string{derived("sort imports")}},
		{"normalised", "- [ ]  Sort   **the** `Imports`!.\n", []string{derived("sort the imports")}},
		{"child", "- [ ] A\n  - [ ] B.\n", []string{derived("a"), derived("a", "b")}},
		{"repeats in file order", "- [ ] a\n- [ ] A\n  - [ ] b\n- [ ] a\n", []string{derived("a"), derived("a", "#2"), derived("a", "b"), derived("a", "#3")}},
		{"children of equal parents repeat", "- [ ] a\n  - [ ] b\n- [ ] a\n  - [ ] b\n", []string{derived("a"), derived("a", "b"), derived("a", "#2"), derived("a", "b", "#2")}},
		{"an item that is called like a repeat", "- [ ] a\n  - [ ] #2\n- [ ] a\n", []string{derived("a"), derived("a", "#2"), derived("a", "#3")}},
		{"a repeat that was there first", "- [ ] a\n- [ ] a\n  - [ ] #2\n", []string{derived("a"), derived("a", "#2"), derived("a", "#2", "#2")}},
		{"explicit", "- [ ] a ^k\n  - [ ] b\n- [ ] a\n", []string{"k", derived("a", "b"), derived("a", "#2")}},
		{"refused explicit", "- [ ] a ^K\n", []string{derived("a")}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, it := range todo.Parse([]byte(tt.todo)).Items {
				got = append(got, it.ID)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("ids of %q (-want +got):\n%s", tt.todo, diff)
			}
		})
	}
}

func TestContentHash(t *testing.T) {
	base := "- [ ] a {budget=1 priority=high}\n  body\n  - [ ] b\n"
	sum := func(json string) string {
		s := sha256.Sum256([]byte(json))
		return hex.EncodeToString(s[:])
	}
	child := sum(`["b",{},"",[]]`)
	if got, want := only(t, base).ContentHash, sum(`["a",{"budget":"1","priority":"high"},"body",["`+child+`"]]`); got != want {
		t.Errorf("ContentHash = %s, want %s", got, want)
	}
	tests := []struct {
		name, todo string
		same       bool
	}{
		{"ticked, moved, with a ticked child", "# x\n\n* [x] a {priority=high budget=1}\n  body\n  - [x] b\n", true},
		{"the same as lines", "- [ ] a\n  priority: p1\n  budget: 1\n  body\n  - [ ] b\n", true},
		{"text", strings.Replace(base, "a {", "A {", 1), false},
		{"attribute", strings.Replace(base, "=1", "=2", 1), false},
		{"refused attribute", strings.Replace(base, "=1", "=1 buget=1", 1), false},
		{"body", strings.Replace(base, "body", "Body", 1), false},
		{"child", strings.Replace(base, "] b", "] c", 1), false},
		{"body of a child", base + "    more\n", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := only(t, tt.todo).ContentHash == only(t, base).ContentHash; got != tt.same {
				t.Errorf("same content hash: %v, want %v", got, tt.same)
			}
		})
	}
}

func TestDiff(t *testing.T) {
	tests := []struct {
		name, before, after string
		want                todo.Delta
	}{
		{"nothing", "", "", todo.Delta{}},
		{"case, emphasis and a full stop", "- [ ] sort imports\n", "- [ ] **Sort** imports.\n", todo.Delta{Same: [][2]int{{0, 0}}}},
		{"three words of five", "- [ ] a b c d\n", "- [ ] a b c e\n", todo.Delta{Renamed: [][2]int{{0, 0}}}},
		{"two words of four", "- [ ] a b c\n", "- [ ] a b d\n", todo.Delta{Gone: []int{0}, New: []int{0}}},
		{"two new candidates", "- [ ] a b c d\n", "- [ ] a b c d e\n- [ ] a b c d f\n", todo.Delta{Gone: []int{0}, New: []int{0, 1}}},
		{"two old candidates", "- [ ] a b c d e\n- [ ] a b c d f\n", "- [ ] a b c d\n", todo.Delta{Gone: []int{0, 1}, New: []int{0}}},
		{"other depth", "- [ ] a b c d\n", "- [ ] x\n  - [ ] a b c d e\n", todo.Delta{Gone: []int{0}, New: []int{0, 1}}},
		{"child of a renamed parent", "- [ ] a b c\n  - [ ] x\n", "- [ ] a b c d\n  - [ ] x\n", todo.Delta{Renamed: [][2]int{{0, 0}, {1, 1}}}},
		{"explicit id dropped", "- [ ] a b ^k\n", "- [ ] a b\n", todo.Delta{Renamed: [][2]int{{0, 0}}}},
		{"duplicates pair in order", "- [ ] a ^k\n- [ ] b ^k\n", "- [ ] a ^k\n", todo.Delta{Same: [][2]int{{0, 0}}, Gone: []int{1}}},
		{"nothing but signs", "- [ ] ?\n", "- [ ] (\n", todo.Delta{Gone: []int{0}, New: []int{0}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := todo.Diff(todo.Parse([]byte(tt.before)), todo.Parse([]byte(tt.after)))
			want := todo.Delta{
				Same: append([][2]int{}, tt.want.Same...), Renamed: append([][2]int{}, tt.want.Renamed...),
				Gone: append([]int{}, tt.want.Gone...), New: append([]int{}, tt.want.New...),
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("Diff(%q, %q) (-want +got):\n%s", tt.before, tt.after, diff)
			}
		})
	}
}

// Every item is in exactly one list, pairs go forward in the old file, and a
// file compared with itself is the same throughout.
func TestDiffProperty(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		before, after := todo.Parse(lines(rt)), todo.Parse(lines(rt))
		d := todo.Diff(before, after)
		olds, news := make([]int, len(before.Items)), make([]int, len(after.Items))
		for _, pairs := range [][][2]int{d.Same, d.Renamed} {
			for _, p := range pairs {
				olds[p[0]]++
				news[p[1]]++
			}
		}
		for _, i := range d.Gone {
			olds[i]++
		}
		for _, j := range d.New {
			news[j]++
		}
		for _, counts := range [][]int{olds, news} {
			for i, n := range counts {
				if n != 1 {
					rt.Fatalf("item %d is in %d lists of %+v", i, n, d)
				}
			}
		}
		for i, p := range todo.Diff(before, before).Same {
			if p != [2]int{i, i} {
				rt.Fatalf("compared with itself, pair %d is %v", i, p)
			}
		}
	})
}
