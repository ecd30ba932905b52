package todo_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"hob/engine/todo"
)

func only(t *testing.T, text string) todo.Item {
	t.Helper()
	doc := todo.Parse([]byte(text))
	if len(doc.Items) == 0 {
		t.Fatalf("Parse(%q) has no item", text)
	}
	return doc.Items[0]
}

type attrs = map[string]any

func TestAttributes(t *testing.T) {
	tests := []struct {
		name, todo string
		text       string
		want       attrs
		body       string
	}{
		{"none", "- [ ] a", "a", attrs{}, ""},
		{"group", "- [ ] a {priority=p3}", "a", attrs{"priority": "low"}, ""},
		{"without a blank", "- [ ] a{priority=p3}", "a", attrs{"priority": "low"}, ""},
		{"keys in any case, dash or underline", "- [ ] a {Max_Turns=5}", "a", attrs{"max-turns": 5}, ""},
		{"quotes", `- [ ] a {every="0 1 * * *" run='go test -run "A B"'}`, "a", attrs{"every": "0 1 * * *", "run": `go test -run "A B"`}, ""},
		{"braces in quotes", `- [ ] a {run="echo {x} }"}`, "a", attrs{"run": "echo {x} }"}, ""},
		{"escaped quote", `- [ ] a {run="echo \"x\" \\"}`, "a", attrs{"run": `echo "x" \`}, ""},
		{"braces in a bare value", "- [ ] a {budget=1 paths=src/{a,b}/**}", "a", attrs{"budget": "1", "paths": []string{"src/{a,b}/**"}}, ""},
		{"commas between pairs", "- [ ] a {budget=1, split=yes}", "a", attrs{"budget": "1", "split": true}, ""},
		{"group in front of an id", "- [ ] a {budget=1} ^k", "a", attrs{"budget": "1", "id": "k"}, ""},
		{"group behind an id", "- [ ] a ^k {budget=1}", "a", attrs{"budget": "1", "id": "k"}, ""},
		{"group in front of a comment", "- [ ] a {budget=1} <!-- x -->", "a", attrs{"budget": "1"}, ""},
		{"only the last group", "- [ ] a {budget=1} {budget=2}", "a {budget=1}", attrs{"budget": "2"}, ""},
		{"a word among the pairs", "- [ ] a {budget=1 x}", "a {budget=1 x}", attrs{}, ""},
		{"a flag is no pair", "- [ ] a {split}", "a {split}", attrs{}, ""},
		{"not at the end", "- [ ] {budget=1} a", "{budget=1} a", attrs{}, ""},
		{"in a code span", "- [ ] a `{budget=1}`", "a `{budget=1}`", attrs{}, ""},
		{"escaped at the start", `- [ ] a \{budget=1}`, "a {budget=1}", attrs{}, ""},
		{"escaped at the end", `- [ ] a {budget=1\}`, "a {budget=1}", attrs{}, ""},
		{"empty group", "- [ ] a {}", "a {}", attrs{}, ""},
		{"unclosed quote", `- [ ] a {run="x}`, `a {run="x}`, attrs{}, ""},
		{"caret alone", "- [ ] a ^", "a ^", attrs{}, ""},
		{"caret in the middle", "- [ ] a ^k b", "a ^k b", attrs{}, ""},
		{"caret face", "- [ ] a ^_^", "a ^_^", attrs{}, ""},
		{"caret without a blank", "- [ ] a^k", "a^k", attrs{}, ""},
		{"lines", "- [ ] a\n  budget: $1.5\n  - hold: true\n  Text.\n  budget: 9", "a", attrs{"budget": "1.5", "hold": true}, "Text.\nbudget: 9"},
		{"lines end at a blank", "- [ ] a\n  budget: 1\n\n  hold: true", "a", attrs{"budget": "1"}, "hold: true"},
		{"lines end at an unknown key", "- [ ] a\n  note: x\n  budget: 1", "a", attrs{}, "note: x\nbudget: 1"},
		{"a lazy line counts", "- [ ] a\nbudget: 1", "a", attrs{"budget": "1"}, ""},
		{"first setting wins", "- [ ] a {budget=1 budget=2} ^k\n  budget: 3\n  id: j", "a", attrs{"budget": "1", "id": "j"}, ""},
		{"a box beats hold=false", "- [~] a {hold=false}", "a", attrs{"hold": true}, ""},
		{"a section beats hold=false", "# Later\n- [ ] a {hold=false}", "a", attrs{"hold": true}, ""},
		{"cancelled", "- [-] a", "a", attrs{"state": "cancelled"}, ""},
		{"lists", "- [ ] a {validators=x,,y, model=m}", "a", attrs{"validators": []string{"x", "y"}, "model": "m"}, ""},
		{"words", "- [ ] a {tests=Frozen priority=HIGH base=origin/main attempts=2}", "a", attrs{"tests": "frozen", "priority": "high", "base": "origin/main", "attempts": 2}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			it := only(t, tt.todo)
			if it.Text != tt.text || it.Body != tt.body {
				t.Errorf("Parse(%q) = text %q, body %q, want %q, %q", tt.todo, it.Text, it.Body, tt.text, tt.body)
			}
			if diff := cmp.Diff(tt.want, it.Attrs); diff != "" {
				t.Errorf("Parse(%q) attributes (-want +got):\n%s", tt.todo, diff)
			}
			if it.Blocked != "" {
				t.Errorf("Parse(%q) is blocked: %s", tt.todo, it.Why)
			}
		})
	}
}

func TestBlocked(t *testing.T) {
	tests := []struct {
		name, todo string
		blocked    string
		why        string
	}{
		{"unknown key", "- [ ] a {priority=high buget=1}", todo.BadAttr, `"buget"`},
		{"unknown key in lines", "- [ ] a\n  priority: high\n  buget: 1", todo.BadAttr, `"buget"`},
		{"swapped letters in lines", "- [ ] a {priority=high}\n  budegt: 1", todo.BadAttr, `"budegt"`},
		{"unknown key that resembles none", "- [ ] a\n  priority: high\n  note: 1", "", ""},
		{"unknown key on its own", "- [ ] a\n  buget: 1", "", ""},
		{"priority", "- [ ] a {priority=p4}", todo.BadAttr, "no priority"},
		{"budget in words", "- [ ] a {budget=two}", todo.BadAttr, "dollars"},
		{"budget below a micro-dollar", "- [ ] a {budget=0.0000001}", todo.BadAttr, "dollars"},
		{"budget of nothing", "- [ ] a {budget=0.00}", todo.BadAttr, "dollars"},
		{"negative budget", "- [ ] a {budget=-1}", todo.BadAttr, "dollars"},
		{"budget as a power", "- [ ] a {budget=1e3}", todo.BadAttr, "dollars"},
		{"huge budget", "- [ ] a {budget=9999999999999}", todo.BadAttr, "dollars"},
		{"no value", "- [ ] a\n  depends:", todo.BadAttr, "no value"},
		{"turns", "- [ ] a {max-turns=0}", todo.BadAttr, "whole number"},
		{"attempts", "- [ ] a {attempts=+2}", todo.BadAttr, "whole number"},
		{"timeout without a unit", "- [ ] a {timeout=15}", todo.BadAttr, "duration"},
		{"timeout backwards", "- [ ] a {timeout=-5m}", todo.BadAttr, "duration"},
		{"model of two words", `- [ ] a {model="x y"}`, todo.BadAttr, "one word"},
		{"path out", "- [ ] a {paths=../x}", todo.BadAttr, "glob"},
		{"path out of braces", "- [ ] a {paths=a/{b,..}/x}", todo.BadAttr, "glob"},
		{"path from the root", "- [ ] a {paths=/etc/**}", todo.BadAttr, "glob"},
		{"path negated", "- [ ] a {paths=!x}", todo.BadAttr, "glob"},
		{"path with an open class", "- [ ] a {paths=[a}", todo.BadAttr, "glob"},
		{"date", "- [ ] a {after=tomorrow}", todo.BadAttr, "date"},
		{"30 February", "- [ ] a {after=2026-02-30}", todo.BadAttr, "date"},
		{"schedule", "- [ ] a {every=daily}", todo.BadAttr, "schedule"},
		{"base that is an option", "- [ ] a {base=--all}", todo.BadAttr, "branch"},
		{"base that is an expression", "- [ ] a {base=main~1}", todo.BadAttr, "branch"},
		{"tests", "- [ ] a {tests=off}", todo.BadAttr, "frozen"},
		{"flag", "- [ ] a {hold=maybe}", todo.BadAttr, "neither"},
		{"id in capitals", "- [ ] a ^K1", todo.BadAttr, "no id"},
		{"id with two dots", "- [ ] a {id=a..b}", todo.BadAttr, "no id"},
		{"id that locks", "- [ ] a {id=a.lock}", todo.BadAttr, "no id"},
		{"id that starts with a dash", "- [ ] a {id=-a}", todo.BadAttr, "no id"},
		{"id of 64", "- [ ] a ^" + strings.Repeat("k", 64), "", ""},
		{"id of 65", "- [ ] a ^" + strings.Repeat("k", 65), todo.BadAttr, "no id"},
		{"two at once", "- [ ] a {hold=maybe tests=off}", todo.BadAttr, "; "},
		{"unknown dependency", "- [ ] a {depends=b}", todo.BadAttr, "no item"},
		{"dependency that is no id", "- [ ] a {depends=B}", todo.BadAttr, "no id"},
		{"done dependency", "- [ ] a {depends=b}\n- [x] b ^b", "", ""},
		{"derived id as dependency", "- [ ] a {depends=" + only(t, "- [ ] b").ID + "}\n- [ ] b", "", ""},
		{"itself", "- [ ] a {depends=a id=a}", todo.DependencyCycle, "wait for each other"},
		{"ring of three", "- [ ] a ^a {depends=b}\n- [ ] b ^b {depends=c}\n- [ ] c ^c {depends=a}", todo.DependencyCycle, "wait for each other"},
		{"beside a ring", "- [ ] a {depends=b}\n- [ ] b ^b {depends=c}\n- [ ] c ^c {depends=b}", "", ""},
		{"same id", "- [ ] a ^k\n- [ ] b ^k", todo.DuplicateID, "line 2"},
		{"same id and something else", "- [ ] a ^k {hold=maybe}\n- [ ] b ^k", todo.DuplicateID, "line 2"},
		{"derived id taken on purpose", "- [ ] a\n- [ ] b ^" + only(t, "- [ ] a").ID, todo.DuplicateID, "line 2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			doc := todo.Parse([]byte(tt.todo))
			it := doc.Items[0]
			if it.Blocked != tt.blocked || !strings.Contains(it.Why, tt.why) || (it.Why == "") != (tt.blocked == "") {
				t.Errorf("Parse(%q) is blocked %q: %q, want %q with %q", tt.todo, it.Blocked, it.Why, tt.blocked, tt.why)
			}
			if told := strings.Contains(codes(doc), tt.blocked); !told {
				t.Errorf("Parse(%q) diagnostics %q lack %q", tt.todo, codes(doc), tt.blocked)
			}
		})
	}
}

// All items of a ring or of an id are blocked, and nobody else.
func TestBlockedTogether(t *testing.T) {
	doc := todo.Parse([]byte("- [ ] a ^k\n- [ ] b ^k\n- [ ] c ^k\n- [ ] d ^d {depends=e}\n- [ ] e ^e {depends=d,f}\n- [ ] f ^f\n"))
	var got []string
	for _, it := range doc.Items {
		got = append(got, it.Blocked)
	}
	want := []string{todo.DuplicateID, todo.DuplicateID, todo.DuplicateID, todo.DependencyCycle, todo.DependencyCycle, ""}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("blocked (-want +got):\n%s", diff)
	}
}

func TestAccessors(t *testing.T) {
	it := only(t, `- [ ] a {priority=urgent budget=$2.50 max-turns=7 attempts=2 timeout=1d12h model=m validators=v,w paths=a/**
  text`)
	if it.Text[0] != 'a' || it.Priority() != 2 { // the group is not closed: nothing is set
		t.Errorf("open group: text %q, priority %d", it.Text, it.Priority())
	}
	if micro, ok := it.BudgetMicroUSD(); ok || it.MaxTurns() != 0 || it.Timeout() != 0 || it.Paths() != nil || !it.After().IsZero() {
		t.Errorf("unset item: budget %d, turns %d, timeout %v, paths %v, after %v", micro, it.MaxTurns(), it.Timeout(), it.Paths(), it.After())
	}
	it = only(t, `- [ ] a {priority=urgent budget=$2.50 max-turns=7 attempts=2 timeout=1d12h model=m validators=v,w paths=a/** run=x after=2026-12-01T08:00:00+01:00 every=@daily base=b tests=edit split=true depends=k}
- [ ] k ^k`)
	micro, ok := it.BudgetMicroUSD()
	got := []any{
		it.Priority(), micro, ok, it.MaxTurns(), it.Attempts(), it.Timeout(), it.Model(), it.Validators(), it.Paths(),
		it.Depends(), it.Run(), it.After().UTC(), it.Every(), it.Base(), it.Tests(), it.Split(), it.Blocked,
	}
	want := []any{
		0, int64(2_500_000), true, 7, 2, 36 * time.Hour, "m",
		[]string{"v", "w"},
		[]string{"a/**"},
		[]string{"k"},
		"x", time.Date(2026, 12, 1, 7, 0, 0, 0, time.UTC), "@daily", "b", "edit", true, "",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("accessors (-want +got):\n%s", diff)
	}
	for text, want := range map[string]time.Time{
		"2026-12-01":          time.Date(2026, 12, 1, 0, 0, 0, 0, time.Local),
		"2026-12-01 08:30":    time.Date(2026, 12, 1, 8, 30, 0, 0, time.Local),
		"2026-12-01T08:30:05": time.Date(2026, 12, 1, 8, 30, 5, 0, time.Local),
	} {
		if got := only(t, "- [ ] a\n  after: "+text).After(); !got.Equal(want) {
			t.Errorf("after %q = %v, want %v", text, got, want)
		}
	}
}

// Every amount that is written with up to six decimals comes back to the
// millionth; floats would not do that.
func TestBudgetProperty(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		whole := rapid.Int64Range(0, 999_999_999_999).Draw(rt, "whole")
		fraction := rapid.StringMatching(`[0-9]{0,6}`).Draw(rt, "fraction")
		text := rapid.SampledFrom([]string{"", "$"}).Draw(rt, "sign") + decimal(whole, fraction)
		want := whole * 1_000_000
		for i, unit := 0, int64(100_000); i < len(fraction); i, unit = i+1, unit/10 {
			want += int64(fraction[i]-'0') * unit
		}
		got, ok := only(t, "- [ ] a {budget="+text+"}").BudgetMicroUSD()
		if got != want || ok != (want > 0) {
			rt.Fatalf("budget %s = %d, %v, want %d", text, got, ok, want)
		}
	})
}

func decimal(whole int64, fraction string) string {
	text := fmt.Sprint(whole)
	if fraction != "" {
		text += "." + fraction
	}
	return text
}

// A group that only a slip of the finger keeps from being one must not be text: the
// item would run without the cap it asks for.
func TestMisspeltGroupBlocks(t *testing.T) {
	for text, blocked := range map[string]bool{
		"Spend {buget=1}":              true,
		"Spend {max-turn=3 modle=x}":   true,
		"Support set {x=1}":            false,
		"Render {name} literally":      false,
		`Show \{buget=1\} in the docs`: false,
		"Spend {budget=1}":             false,
		"Say {buget=1} in the middle":  false,
	} {
		doc := todo.Parse([]byte("- [ ] " + text + "\n"))
		if got := doc.Items[0].Blocked == todo.BadAttr; got != blocked {
			t.Errorf("%q: blocked %v (%s), want %v", text, got, doc.Items[0].Why, blocked)
		}
	}
}
