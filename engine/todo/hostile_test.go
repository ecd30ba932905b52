package todo_test

import (
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"hob/engine/todo"
)

// fill repeats a piece to the size of the largest file that is read.
func fill(head, piece string) string {
	return head + strings.Repeat(piece, (todo.MaxBytes-len(head))/len(piece))
}

// deep is a list in which every item is the child of the one before.
func deep() string {
	var out strings.Builder
	for depth := 0; out.Len()+2*depth+8 < todo.MaxBytes; depth++ {
		out.WriteString(strings.Repeat(" ", 2*depth) + "- [ ] a\n")
	}
	return out.String()
}

func ring() string {
	var out strings.Builder
	for i := range 15_000 {
		out.WriteString("- [ ] a ^k" + strings.Repeat("i", i%20) + " {depends=k,ki,kii}\n")
	}
	return out.String()
}

// mostCPU leaves room for the race detector: a megabyte of anything takes well
// under a second without it, and what is quadratic takes minutes.
const mostCPU = 10 * time.Second

// cpu is the processor time that f takes, which a busy machine doesn't stretch.
func cpu(t *testing.T, f func()) time.Duration {
	t.Helper()
	used := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			t.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	start := used()
	f()
	return used() - start
}

func TestHostileInputIsLinear(t *testing.T) {
	long := "- [ ] " + strings.Repeat("long ", 100_000) + "\n"
	tests := map[string]string{
		"deep nesting":                deep(),
		"children of a long text":     fill(long, "  - [ ] a very common text, said again and again\n"),
		"deep below a long text":      long + strings.ReplaceAll(deep()[:400<<10], "\n", "\n  "),
		"repeats":                     fill("", "- [ ] the same text that is always the same text here\n"),
		"opening brackets":            fill("- [ ] ", "["),
		"opening braces":              fill("- [ ] ", "{") + "}",
		"groups that never close":     fill("- [ ] ", "{a="),
		"groups with open quotes":     fill("- [ ] ", `{a="{b='`) + "}",
		"known settings":              fill("- [ ] {", "budget=1 "),
		"backticks of every length":   growing("`"),
		"comments that never close":   fill("- [ ] ", "<!-- ") + "\n",
		"comments and backticks":      fill("- [ ] ", "<!--`-->`` "),
		"a comment that never closes": fill("<!--\n", "- [ ] aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n"),
		"escapes":                     fill("- [ ] ", `\{`),
		"counters":                    fill("# Pending ", "(1)"),
		"heading marks":               fill("", "#"),
		"closing marks":               fill("# a ", "# "),
		"blanks in a box":             fill("- [", " "),
		"blanks":                      fill("- [ ] a\n  b\n", " "),
		"blank lines in a body":       "- [ ] a\n  b\n" + strings.Repeat("\n", 19_000) + "  c\n",
		"rules":                       fill("", "- "),
		"lazy lines under deep items": deep()[:200<<10] + strings.Repeat("\nx", 15_000),
		"a fence of signs":            fill("~", "~"),
		"lists":                       fill("- [ ] a {depends=", "a,") + "}",
		"dependencies":                ring(),
		"no text":                     fill("", "\xff\x00"),
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			b := []byte(text[:min(len(text), todo.MaxBytes)])
			var doc todo.Doc
			if took := cpu(t, func() { doc = todo.Parse(b) }); took > mostCPU {
				t.Errorf("Parse took %v for %d items", took, len(doc.Items))
			}
			if doc.TooLarge {
				t.Errorf("the input is over the limits and tests nothing")
			}
		})
	}
}

func growing(piece string) string {
	var out strings.Builder
	out.WriteString("- [ ] <!-- x --> ")
	for n := 1; out.Len()+n+1 < todo.MaxBytes; n++ {
		out.WriteString(strings.Repeat(piece, n) + " ")
	}
	return out.String()
}

func TestHostileDiffIsBounded(t *testing.T) {
	var before, after strings.Builder
	for i := range 19_000 {
		words := strings.Repeat("w", i%30) + " x y z " + strings.Repeat("v", i%17)
		before.WriteString("- [ ] old " + words + "\n")
		after.WriteString("- [ ] new " + words + "\n")
	}
	var d todo.Delta
	took := cpu(t, func() { d = todo.Diff(todo.Parse([]byte(before.String())), todo.Parse([]byte(after.String()))) })
	if took > mostCPU {
		t.Errorf("Diff took %v", took)
	}
	if len(d.Gone) != 19_000 || len(d.New) != 19_000 {
		t.Errorf("%d gone, %d new, want 19000 each", len(d.Gone), len(d.New))
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", "- [ ] a\n  - [x] b\n", "## Pending\n- a {budget=1}\n", "```\n", "<!--", "-->", "- [ ] `<!--` \\` ``", "---\n+++\n---\n",
		"- [ ] a ^k {depends=k}\n", "1) [?]\t\r\n\ta: b\n", "> - [ ] q\n\n    code\n", "- [ ] a {run=\"\\\"}\"}\n", "\xef\xbb\xbf\xff\x00",
		"- [ ] a {timeout=106751d23h}\n", "- [ ] a {paths=,{,} base=@}\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		doc := todo.Parse(b)
		ids := map[string]string{}
		last := 0
		for i, it := range doc.Items {
			switch {
			case it.Text == "" || !utf8.ValidString(it.Text) || strings.ContainsAny(it.Text, "\n\r\x00"):
				t.Errorf("item %d has the text %q", i, it.Text)
			case !utf8.ValidString(it.Body) || strings.ContainsAny(it.Body, "\r\x00"):
				t.Errorf("item %d has the body %q", i, it.Body)
			case it.Line <= last:
				t.Errorf("item %d is on line %d, behind one on %d", i, it.Line, last)
			case it.Parent >= i || it.Parent < 0 != (it.Depth == 0) || it.Parent >= 0 && doc.Items[it.Parent].Depth != it.Depth-1:
				t.Errorf("item %d of depth %d has the parent %d", i, it.Depth, it.Parent)
			case it.Done && it.Hold:
				t.Errorf("item %d is done and held", i)
			case it.Blocked == "" != (it.Why == ""):
				t.Errorf("item %d is blocked by %q because of %q", i, it.Blocked, it.Why)
			case len(it.ContentHash) != 64 || it.Attrs == nil || it.Diagnostics == nil:
				t.Errorf("item %d is incomplete: %+v", i, it)
			}
			if other, taken := ids[it.ID]; taken && (it.Blocked != todo.DuplicateID || other != todo.DuplicateID) {
				t.Errorf("item %d shares the id %s and is not blocked", i, it.ID)
			}
			ids[it.ID] = it.Blocked
			last = it.Line
		}
	})
}
