package journal_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/journal"
	"hob/journal/redact"
)

func TestKeep(t *testing.T) {
	const secret = "correct-horse"
	long := strings.Repeat("head ", 100) + strings.Repeat("tail ", 100)
	for _, tc := range []struct {
		name, text string
		want       string
		ref        journal.Ref // without digest
	}{
		{"short", "hello", "hello", journal.Ref{Len: 5}},
		{"empty", "", "", journal.Ref{}},
		{"binary", "\x00\xff\n", "\x00\xff\n", journal.Ref{Len: 3}},
		{"secret", "a correct-horse", "a [redacted:held]", journal.Ref{Len: 17, Masked: 1}},
		{"long", long, long[:65] + "\n[cut 914 bytes]\n" + long[len(long)-21:], journal.Ref{Len: 103, Trunc: 1000}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := open(t, t.TempDir(), journal.Options{Content: true, MaxBody: 126, Redact: redact.New(secret)})
			r := begin(t, l)
			ref := keep(t, r, tc.text)
			record(t, r, journal.ToolResult{Out: ref})
			body, err := l.Body(r.ID(), ref)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(body)); diff != "" {
				t.Errorf("Body (-want +got):\n%s", diff)
			}
			event, err := journal.Decode(read(t, l, r.ID())[0])
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(ref, event.(journal.ToolResult).Out); diff != "" {
				t.Errorf("Ref (-kept +read):\n%s", diff)
			}
			ref.H = ""
			if diff := cmp.Diff(tc.ref, ref); diff != "" {
				t.Errorf("Ref (-want +got):\n%s", diff)
			}
		})
	}
}

func TestKeepIsSalted(t *testing.T) {
	l := open(t, t.TempDir(), journal.Options{Content: true})
	r := begin(t, l)
	if a, b := keep(t, r, "yes"), keep(t, r, "yes"); a.H == b.H || a.H == sum("yes") {
		t.Errorf("digests %s and %s can be guessed", a.H, b.H)
	}
}

func TestContentOff(t *testing.T) {
	for _, tc := range []struct {
		o                   journal.Options
		text, thoughtOnDisk bool
	}{
		{journal.Options{}, false, false},
		{journal.Options{Reasoning: true}, false, false},
		{journal.Options{Content: true}, true, false},
		{journal.Options{Content: true, Reasoning: true}, true, true},
	} {
		dir := t.TempDir()
		l := open(t, dir, tc.o)
		r := begin(t, l)
		ref := keep(t, r, "a long answer")
		thought, err := r.KeepReasoning([]byte("a deep thought"))
		if err != nil {
			t.Fatal(err)
		}
		record(t, r, journal.LLMResponse{Body: ref, Reasoning: thought})
		b, err := os.ReadFile(filepath.Join(dir, "runs", r.ID(), "bodies.log"))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(b, []byte("answer")) != tc.text || bytes.Contains(b, []byte("thought")) != tc.thoughtOnDisk {
			t.Errorf("%+v: bodies.log has %q", tc.o, b)
		}
		if _, err := l.Body(r.ID(), ref); errors.Is(err, journal.ErrWithheld) == tc.text {
			t.Errorf("%+v: Body: %v", tc.o, err)
		}
		if thought.Len != 14 || len(thought.H) != 64 {
			t.Errorf("%+v: Ref of a withheld text is %+v, want length and digest", tc.o, thought)
		}
		if report := l.Verify(r.ID()); !report.OK {
			t.Errorf("%+v: Verify = %+v", tc.o, report)
		}
	}
}

func TestRunCapTurnsTextsIntoDigests(t *testing.T) {
	l := open(t, t.TempDir(), journal.Options{Content: true, MaxBody: 16 << 20})
	r := begin(t, l)
	big := strings.Repeat("x", 16<<20)
	for i := range 4 {
		if ref := keep(t, r, big); (ref.I < 0) != (i == 3) {
			t.Errorf("text %d of 16 MiB got number %d", i, ref.I)
		}
	}
	record(t, r, journal.RunFinished{})
}
