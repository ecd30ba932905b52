package todo_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/engine/todo"
)

// brief writes items as "depth box text | body" lines, box being what the engine
// would make of it: " " open, "x" done, "~" held.
func brief(doc todo.Doc) string {
	var out strings.Builder
	for _, it := range doc.Items {
		box := " "
		switch {
		case it.Done:
			box = "x"
		case it.Hold:
			box = "~"
		}
		fmt.Fprintf(&out, "%d [%s] %s", it.Depth, box, it.Text)
		if it.Body != "" {
			fmt.Fprintf(&out, " | %s", strings.ReplaceAll(it.Body, "\n", "⏎"))
		}
		out.WriteByte('\n')
	}
	return out.String()
}

func codes(doc todo.Doc) string {
	var out []string
	for _, d := range doc.Diagnostics {
		out = append(out, fmt.Sprintf("%d:%s", d.Line, d.Code))
	}
	return strings.Join(out, " ")
}

func TestParse(t *testing.T) {
	tests := []struct {
		name, todo string
		want       string // brief
		codes      string
	}{
		// Bytes.
		{"nothing", "", "", ""},
		{"byte order mark", "\ufeff- [ ] a\n", "0 [ ] a\n", ""},
		{"CR alone", "- [ ] a\r- [x] b\r", "0 [ ] a\n0 [x] b\n", ""},
		{"no newline at the end", "- [ ] a", "0 [ ] a\n", ""},
		{"bytes that are no UTF-8", "- [ ] a\xff\xfeb\n", "0 [ ] a\ufffd\ufffdb\n", "1:bad_utf8"},
		{"NUL", "- [ ] a\x00b\n", "0 [ ] a\ufffdb\n", "1:bad_utf8"},
		{"tab as indent", "- [ ] a\n\t- [ ] b\n \t- [ ] c\n", "0 [ ] a\n1 [ ] b\n1 [ ] c\n", ""},
		{"tab behind the marker", "-\t[ ] a\n    body\n", "0 [ ] a | body\n", ""},
		{"front matter in TOML", "+++\n- [ ] no\n+++\n- [ ] a\n", "0 [ ] a\n", ""},
		{"front matter without an end is a rule", "---\n- [ ] a\n", "0 [ ] a\n", ""},
		{"front matter closed on line 64", "---\n" + strings.Repeat("- [ ] no\n", 62) + "---\n- [ ] a\n", "0 [ ] a\n", ""},
		{"rule on line 65", "---\n" + strings.Repeat("\n", 62) + "- [ ] a\n---\n", "0 [ ] a\n", ""},

		// Invisible regions.
		{"fence closed only by an equal one", "````\n```\n- [ ] no\n````\n- [ ] a\n", "0 [ ] a\n", ""},
		{"fence closed by a longer one", "```\n- [ ] no\n`````\n- [ ] a\n", "0 [ ] a\n", ""},
		{"fence not closed by one with text", "```\n``` x\n- [ ] no\n```\n- [ ] a\n", "0 [ ] a\n", ""},
		{"fence not closed by an indented one", "```\n    ```\n- [ ] no\n```\n- [ ] a\n", "0 [ ] a\n", ""},
		{"fence without an end", "- [ ] a\n\n~~~\n- [ ] no\n", "0 [ ] a\n", "3:unclosed_fence"},
		{"code span of three backticks is no fence", "```a```\n- [ ] a\n", "0 [ ] a\n", ""},
		{"fence in an item", "- [ ] a\n  ```go\n  - [ ] no\n    x := 1  \n\n  ```\n  more\n", "0 [ ] a | ```go⏎- [ ] no⏎  x := 1  ⏎⏎```⏎more\n", ""},
		{"comment on one line", "<!-- - [ ] no -->\n- [ ] a\n", "0 [ ] a\n", ""},
		{"comment in the middle", "- [ ] a <!-- b --> c\n", "0 [ ] a c\n", ""},
		{"two comments", "- [ ] <!-- 1 -->a<!-- 2 -->b\n", "0 [ ] ab\n", ""},
		{"comment over lines", "- [ ] a <!-- x\n- [ ] no\n  y --> tail\n- [ ] b\n", "0 [ ] a | tail\n0 [ ] b\n", ""},
		{"nothing starts behind a comment", "<!-- x\n--> - [ ] no\n<!-- x --> - [ ] no\n- [ ] a\n", "0 [ ] a\n", ""},
		{"comment in a code span", "- [ ] explain `<!--` here\n- [ ] b\n", "0 [ ] explain `<!--` here\n0 [ ] b\n", ""},
		{"comment behind unequal backticks", "- [ ] a `` ` <!-- x -->b\n", "0 [ ] a `` ` b\n", ""},
		{"escaped comment", "- [ ] a \\<!-- b -->\n", "0 [ ] a \\<!-- b -->\n", ""},
		{"escaped backtick opens no span", "- [ ] a \\`` <!-- ` --> b\n", "0 [ ] a \\`` <!-- ` --> b\n", ""},
		{"shortest comments", "- [ ] a<!-->b<!--->c\n", "0 [ ] abc\n", ""},
		{"comment without an end in a text is text", "- [ ] a <!-- b\n- [ ] c\n", "0 [ ] a <!-- b\n0 [ ] c\n", ""},
		{"comment without an end on its own hides the rest", "- [ ] a\n\n<!-- b\n- [ ] no\n", "0 [ ] a\n", "3:unclosed_comment"},
		{"comment line in a body", "- [ ] a\n  one\n  <!-- no -->\n  two\n", "0 [ ] a | one⏎two\n", ""},
		{"comment in a heading", "## Pending <!-- x -->\n- a\n", "0 [ ] a\n", ""},
		{"quote", "> - [ ] no\n> more\n- [ ] a\n> no\n", "0 [ ] a\n", ""},
		{"quote in an item is body", "- [ ] a\n  > said\n", "0 [ ] a | > said\n", ""},
		{"indented code goes on over blanks", "text\n\n    - [ ] no\n\n    - [ ] no\n    - [ ] no\n- [ ] a\n", "0 [ ] a\n", ""},
		{"indented code on line 1", "    - [ ] no\n- [ ] a\n", "0 [ ] a\n", ""},
		{"indented box below text is an item", "text\n    - [ ] a\n", "0 [ ] a\n", ""},

		// Headings.
		{"closing marks", "## Pending ##\n- a\n", "0 [ ] a\n", ""},
		{"three spaces", "   ## Pending\n- a\n", "0 [ ] a\n", ""},
		{"no blank behind the marks", "##Pending\n- no\n", "", ""},
		{"seven marks", "####### Pending\n- no\n", "", ""},
		{"colon and counter", "## To do (3):\n- a\n## Done: [7/9]\n- b\n", "0 [ ] a\n0 [x] b\n", ""},
		{"curly apostrophe", "## Won’t do\n- [ ] a\n", "0 [~] a\n", ""},
		{"every class", "# Up next\n- a\n# Shipped\n- b\n# Icebox\n- no\n- [ ] c\n# Notes\n- no\n", "0 [ ] a\n0 [x] b\n0 [~] c\n", ""},
		{"deeper heading with its own class", "# Tasks\n## Done\n- a\n## Notes\n- b\n", "0 [x] a\n0 [ ] b\n", ""},
		{"same level ends a class", "## Pending\n## Notes\n- no\n", "", ""},
		{"higher level ends a class", "## Pending\n# Notes\n- no\n", "", ""},
		{"empty heading", "## Pending\n##\n- no\n", "", ""},
		{"heading in an item is body", "- [ ] a\n  ## Done\n- [ ] b\n", "0 [ ] a | ## Done\n0 [ ] b\n", ""},

		// Items.
		{"markers", "* [ ] a\n+ [ ] b\n- [ ] c\n123456789. [ ] d\n0) [ ] e\n", "0 [ ] a\n0 [ ] b\n0 [ ] c\n0 [ ] d\n0 [ ] e\n", ""},
		{"ten digits are no marker", "1234567890. [ ] no\n", "", ""},
		{"no blank behind the marker", "-no\n1.no\n## Pending\n-no\n", "", ""},
		{"states", "- [ ] a\n- [x] b\n- [X] c\n- [-] d\n- [~] e\n- [/] f\n- [>] g\n- [!] h\n- [?] i\n", "0 [ ] a\n0 [x] b\n0 [x] c\n0 [x] d\n0 [~] e\n0 [~] f\n0 [~] g\n0 [~] h\n0 [~] i\n", ""},
		{"unknown state is held", "- [§] a\n", "0 [~] a\n", "1:unknown_box"},
		{"tolerated boxes", "- [] a\n- [ x] b\n-[ ] c\n- [ ]d\n- [x ] e\n1.[x] f\n", "0 [ ] a\n0 [x] b\n0 [ ] c\n0 [ ] d\n0 [x] e\n0 [x] f\n", "1:odd_box 2:odd_box 3:odd_box 4:odd_box 5:odd_box 6:odd_box"},
		{"words, links and references are no boxes", "- [i]nterface\n- [x](u)\n- [x][y]\n- [x]: u\n- [xy] z\n- [\\] z\n-[i] z\n", "", ""},
		{"plain items only at the top level", "## Pending\n- a\n  - b\n", "0 [ ] a | - b\n", ""},
		{"plain bullets in a neutral section end the list", "- [ ] a\n- no\n  no\n", "0 [ ] a\n", ""},
		{"plain bullets in a parked section are nothing", "## Later\n- no\n", "", ""},
		{"box of a child below a plain bullet", "- no\n  - [ ] a\n", "0 [ ] a\n", ""},
		{"open box in a done section", "## Done\n- [ ] a\n- [x] b\n", "0 [x] a\n0 [x] b\n", "2:open_box_in_done_section"},
		{"rules are no items", "## Pending\n- - -\n* * *\n---\n- a\n", "0 [ ] a\n", ""},
		{"empty", "- [ ]\n- [x]   \n- [ ] <!-- x -->\n- [ ] {budget=1}\n", "", "1:empty_item 2:empty_item 3:empty_item 4:empty_item"},

		// Nesting and body.
		{"body of an empty item is nobody's", "- [ ]\n  text\n- [ ] a\n", "0 [ ] a\n", "1:empty_item"},
		{"a line goes to the deepest item two columns to the left", "- [ ] a\n    - [ ] b\n   c\n      d\n", "0 [ ] a |  c⏎    d\n1 [ ] b\n", ""},
		{"body is dedented to the content", "10. [ ] a\n    one\n      two\n  three\n", "0 [ ] a | one⏎  two⏎three\n", ""},
		{"a tab over the edge leaves spaces", "- [ ] a\n\tcode\n", "0 [ ] a |   code\n", ""},
		{"inner blank lines stay, outer go", "- [ ] a\n\n  one\n\n\n  two\n\n", "0 [ ] a | one⏎⏎⏎two\n", ""},
		{"body goes on behind a child", "- [ ] a\n  - [ ] b\n\n  one\n", "0 [ ] a | one\n1 [ ] b\n", ""},
		{"lazy line", "- [ ] a\nlazy\n and lazy\n- [ ] b\n", "0 [ ] a | lazy⏎and lazy\n0 [ ] b\n", ""},
		{"lazy line of a child", "- [ ] a\n  - [ ] b\nlazy\n    deep\n", "0 [ ] a\n1 [ ] b | lazy⏎deep\n", ""},
		{"after a blank it ends the list", "- [ ] a\n\ntext\n  more\n", "0 [ ] a\n", ""},
		{"body after a blank", "- [ ] a\n\n  more\n", "0 [ ] a | more\n", ""},
		{"one column after a blank ends the list", "- [ ] a\n\n text\n  more\n", "0 [ ] a\n", ""},
		{"children of a done parent are not started", "- [x] a\n  - [ ] b\n", "0 [x] a\n1 [~] b\n", "2:open_child_of_done"},
		{"children of a held parent are held", "- [~] a\n  - [ ] b\n    - [x] c\n", "0 [~] a\n1 [~] b\n2 [x] c\n", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			doc := todo.Parse([]byte(tt.todo))
			if diff := cmp.Diff(tt.want, brief(doc)); diff != "" {
				t.Errorf("Parse(%q) items (-want +got):\n%s", tt.todo, diff)
			}
			if got := codes(doc); got != tt.codes {
				t.Errorf("Parse(%q) diagnostics %q, want %q", tt.todo, got, tt.codes)
			}
		})
	}
}

func TestParsePlaces(t *testing.T) {
	doc := todo.Parse([]byte("# Work (2)\n\n## Pending\n- a\n  - [ ] b\n\n### Net\n- [ ] c\n"))
	type place struct {
		Section             string
		Line, Depth, Parent int
	}
	var got []place
	for _, it := range doc.Items {
		got = append(got, place{it.Section, it.Line, it.Depth, it.Parent})
	}
	want := []place{{"Pending", 4, 0, -1}, {"Pending", 5, 1, 0}, {"Net", 8, 0, -1}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("places (-want +got):\n%s", diff)
	}
}

func TestParseLimits(t *testing.T) {
	item := "- [ ] a\n"
	tests := []struct {
		name string
		todo string
		want bool
	}{
		{"1 MiB", item + strings.Repeat("x", todo.MaxBytes-len(item)), false},
		{"1 MiB and a byte", item + strings.Repeat("x", todo.MaxBytes-len(item)+1), true},
		{"20000 lines", item + strings.Repeat("\n", todo.MaxLines-1), false},
		{"20000 lines, the last without an end", item + strings.Repeat("\n", todo.MaxLines-2) + "x", false},
		{"20001 lines", item + strings.Repeat("\n", todo.MaxLines), true},
		{"20001 lines, the last without an end", item + strings.Repeat("\r", todo.MaxLines-1) + "x", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			doc := todo.Parse([]byte(tt.todo))
			if doc.TooLarge != tt.want || len(doc.Items) == 0 != tt.want {
				t.Errorf("TooLarge = %v with %d items, want %v", doc.TooLarge, len(doc.Items), tt.want)
			}
			if tt.want && codes(doc) != "0:todo_too_large" {
				t.Errorf("diagnostics %q", codes(doc))
			}
			if len(doc.Digest) != 64 {
				t.Errorf("Digest = %q", doc.Digest)
			}
		})
	}
}

func TestTasks(t *testing.T) {
	doc := todo.Parse([]byte(`
- [ ] a
  - [ ] criterion
- [ ] b {priority=low}
- [ ] c {split=true}
  - [ ] c1
    - [ ] criterion
  - [ ] c2 {split=true}
    - [ ] c21
  - [ ] c3 {priority=urgent}
- [ ] d {split=true}
- [ ] e
  - [ ] part {split=true}
    - [ ] criterion
`))
	var got []string
	for _, i := range doc.Tasks() {
		got = append(got, doc.Items[i].Text)
	}
	want := []string{"c3", "a", "c1", "c21", "d", "e", "b"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Tasks (-want +got):\n%s", diff)
	}
}
