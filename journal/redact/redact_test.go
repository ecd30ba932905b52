package redact_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"hob/journal/redact"
)

const mask = "[redacted:held]"

// A fileCase keeps its texts in pieces, so that no scanner takes the file
// for a leak.
type fileCase struct {
	ID      string            `json:"id"`
	Class   string            `json:"class"`
	Env     map[string]string `json:"env"`
	Parts   []string          `json:"text_parts"`
	SplitAt []int             `json:"split_at"`
	Not     [][]string        `json:"must_not_contain"`
	Must    []string          `json:"must_contain"`
}

func fileCases(t *testing.T) []fileCase {
	t.Helper()
	b, err := os.ReadFile("../../testdata/redact/cases.parts.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []fileCase
	if err := json.Unmarshal(b, &cases); err != nil {
		t.Fatal(err)
	}
	return cases
}

// Cases with an environment are about held values. All others are about
// shapes, which nothing here may claim to know: their text stays as it is.
func TestCaseFile(t *testing.T) {
	held := 0
	for _, c := range fileCases(t) {
		t.Run(c.ID, func(t *testing.T) {
			text := strings.Join(c.Parts, "")
			var secrets []string
			for _, value := range c.Env {
				secrets = append(secrets, value)
			}
			set := redact.New(secrets...)
			got := set.String(text)
			if len(c.Env) == 0 {
				if got != text {
					t.Fatalf("String(%q) = %q without held values", text, got)
				}
				return
			}
			held++
			for _, parts := range c.Not {
				if secret := strings.Join(parts, ""); strings.Contains(got, secret) {
					t.Errorf("String(%q) = %q, still has %q", text, got, secret)
				}
			}
			for _, want := range c.Must {
				if !strings.Contains(got, want) {
					t.Errorf("String(%q) = %q, lost %q", text, got, want)
				}
			}
			if split := stream(t, set, text, c.SplitAt); split != got {
				t.Errorf("Writer split at %v gives %q, want %q", c.SplitAt, split, got)
			}
		})
	}
	if held < 12 {
		t.Errorf("only %d cases hold a value", held)
	}
}

// stream writes text in pieces that end at the given offsets.
func stream(tb rapid.TB, set *redact.Set, text string, ends []int) string {
	var out bytes.Buffer
	w := set.Writer(&out)
	from := 0
	for _, end := range append(ends, len(text)) {
		if _, err := io.WriteString(w, text[from:end]); err != nil {
			tb.Fatal(err)
		}
		from = end
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.String()
}

func TestForms(t *testing.T) {
	const awkward = "a/b+c=d@e f&\"q\"\\z'<é$\t€😀>"
	marshal := func(s string) string {
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for _, tc := range []struct{ name, text string }{
		{"raw", awkward},
		{"hex", hex.EncodeToString([]byte(awkward))},
		{"upper hex", strings.ToUpper(hex.EncodeToString([]byte(awkward)))},
		{"base64", base64.StdEncoding.EncodeToString([]byte(awkward))},
		{"query", url.QueryEscape(awkward)},
		{"lower query", strings.ToLower(url.QueryEscape(awkward))},
		{"path", url.PathEscape(awkward)},
		{"url", (&url.URL{Scheme: "https", Host: "h", Path: "/" + awkward}).String()},
		{"userinfo", (&url.URL{Scheme: "https", Host: "h", User: url.UserPassword("u", awkward)}).String()},
		{"json", marshal(awkward)},
		{"json twice", marshal(marshal(awkward))},
		{"json, ascii", `{"k":"a/b+c=d@e f&\"q\"\\z'<\u00E9$\t\u20aC\ud83d\uDe00>"}`},
		{"json, slashes", `a\/b+c=d@e f&\"q\"\\z'<é$\t€😀>`},
		{"html", html.EscapeString(awkward)},
		{"go syntax", strconv.Quote(awkward)},
		{"go syntax, ascii", strconv.QuoteToASCII(awkward)},
		{"single quotes", `'` + strings.ReplaceAll(awkward, `'`, `'\''`) + `'`},
		{"double quotes", `"a/b+c=d@e f&\"q\"\\z'<é\$` + "\t" + `€😀>"`},
		{"backslashes", `a/b+c\=d@e\ f\&\"q\"\\z\'\<é\$` + "\\\t" + `€😀\>`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, hits := redact.New(awkward).Bytes([]byte("<" + tc.text + ">"))
			if hits != 1 || !bytes.Contains(got, []byte(mask)) || len(got) > len(mask)+16 {
				t.Errorf("Bytes(%q) = %q with %d hits", tc.text, got, hits)
			}
		})
	}
}

func TestBytes(t *testing.T) {
	const pem = "-----BEGIN TEST KEY-----\nMIIBVgIBADANBgkq\nhkiG9w0BAQEFAASC\nshort\n-----END TEST KEY-----\n"
	for _, tc := range []struct {
		name       string
		secrets    []string
		text, want string
		hits       int
	}{
		{"nothing held", nil, "correct-horse", "correct-horse", 0},
		{"too short", []string{"seven77"}, "seven77", "seven77", 0},
		{"just long enough", []string{"eight888"}, "eight888", mask, 1},
		{"twice", []string{"correct-horse"}, "correct-horsecorrect-horse", mask + mask, 2},
		{"case matters", []string{"correct-horse"}, "Correct-Horse", "Correct-Horse", 0},
		{"prefix alone", []string{"correct-horse"}, "correct-hors", "correct-hors", 0},
		{"one inside another", []string{"correct-horse", "correct-horse-battery"}, "<correct-horse-battery>", "<" + mask + ">", 1},
		{"overlapping", []string{"abcdefgh1234", "1234ijklmnop"}, "<abcdefgh1234ijklmnop>", "<" + mask + ">", 1},
		{"touching", []string{"abcdefgh", "ijklmnop"}, "abcdefghijklmnop", mask + mask, 2},
		{"itself again and again", []string{"aaaaaaaaaa"}, "b" + strings.Repeat("a", 99) + "b", "b" + mask + "b", 1},
		{"file with line break", []string{"correct-horse\n"}, "is correct-horse.", "is " + mask + ".", 1},
		{"lines of a key", []string{pem}, "x hkiG9w0BAQEFAASC short\n-----BEGIN TEST KEY-----\n", "x " + mask + " short\n-----BEGIN TEST KEY-----\n", 1},
		{"key on a terminal", []string{pem}, strings.ReplaceAll(pem, "\n", "\r\n"), mask, 1},
		{"a word of the mask", []string{"redacted"}, "redacted", "redacted", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in := []byte(tc.text)
			got, hits := redact.New(tc.secrets...).Bytes(in)
			if diff := cmp.Diff(tc.want, string(got)); diff != "" || hits != tc.hits {
				t.Errorf("Bytes(%q) has %d hits, want %d (-want +got):\n%s", tc.text, hits, tc.hits, diff)
			}
			if string(in) != tc.text {
				t.Errorf("Bytes changed its argument to %q", in)
			}
		})
	}
}

func TestNilSet(t *testing.T) {
	var set *redact.Set
	if got := set.String("correct-horse"); got != "correct-horse" {
		t.Errorf("String = %q", got)
	}
	if got := stream(t, set, "correct-horse", []int{3, 3}); got != "correct-horse" {
		t.Errorf("Writer wrote %q", got)
	}
}

// A text made of pieces of secrets and of their encodings comes out the same
// however it is cut, and holds none of them.
func TestWriterEqualsBytes(t *testing.T) {
	alphabet := rapid.SampledFrom([]rune("ab+/\"\\é\n "))
	secret := rapid.StringOfN(alphabet, 8, 24, -1)
	rapid.Check(t, func(t *rapid.T) {
		secrets := rapid.SliceOfN(secret, 1, 4).Draw(t, "secrets")
		var text strings.Builder
		for range rapid.IntRange(0, 12).Draw(t, "pieces") {
			s := rapid.SampledFrom(secrets).Draw(t, "secret")
			switch rapid.IntRange(0, 5).Draw(t, "form") {
			case 0:
				text.WriteString(s)
			case 1:
				text.WriteString(base64.URLEncoding.EncodeToString([]byte(s)))
			case 2:
				text.WriteString(url.QueryEscape(s))
			case 3:
				text.WriteString(strconv.Quote(s))
			case 4:
				text.WriteString(s[:rapid.IntRange(0, len(s)).Draw(t, "cut")])
			case 5:
				text.WriteString(rapid.StringOfN(alphabet, 0, 12, -1).Draw(t, "noise"))
			}
		}
		set := redact.New(secrets...)
		clean, hits := set.Bytes([]byte(text.String()))
		if got := bytes.Count(clean, []byte(mask)); got != hits {
			t.Fatalf("%d hits but %d masks in %q", hits, got, clean)
		}
		for piece := range strings.SplitSeq(string(clean), mask) {
			for _, s := range secrets {
				if len(s) >= redact.MinLength && strings.Contains(piece, s) {
					t.Fatalf("%q is still in %q", s, clean)
				}
			}
		}
		var ends []int
		for at := 0; at < text.Len(); {
			at = min(at+rapid.IntRange(1, 40).Draw(t, "length"), text.Len())
			ends = append(ends, at)
		}
		if got := stream(t, set, text.String(), ends); got != string(clean) {
			t.Fatalf("cut at %v: %q, whole: %q", ends, got, clean)
		}
	})
}

type brokenWriter struct{ err error }

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.err }

func TestWriterKeepsError(t *testing.T) {
	full := errors.New("disk full")
	w := redact.New("correct-horse").Writer(brokenWriter{full})
	if _, err := io.WriteString(w, strings.Repeat("x", 1000)); !errors.Is(err, full) {
		t.Errorf("Write: %v", err)
	}
	if _, err := io.WriteString(w, "y"); !errors.Is(err, full) {
		t.Errorf("second Write: %v", err)
	}
	if err := w.Close(); !errors.Is(err, full) {
		t.Errorf("Close: %v", err)
	}
}

func FuzzBytes(f *testing.F) {
	f.Add("correct-horse", "a correct-horse here", 7)
	f.Add("a/b+c=d@e f&\"q\"\\z", "a%2Fb%2bc%3Dd%40e+f%26%22q%22%5Cz", 3)
	f.Add("line-one\nline-two\n", "line-two\r\nline-one", 1)
	f.Fuzz(func(t *testing.T, secret, text string, split int) {
		set := redact.New(secret)
		want := set.String(text)
		at := min(max(split, 0), len(text))
		if got := stream(t, set, text, []int{at}); got != want {
			t.Errorf("New(%q): split at %d of %q: %q, whole: %q", secret, at, text, got, want)
		}
	})
}

func heldValues(n int) []string {
	values := make([]string, n)
	for i := range values {
		values[i] = fmt.Sprintf("sk+%d/%x", i, 0x9e3779b97f4a7c15*uint64(i+1))
	}
	return values
}

func BenchmarkBytes(b *testing.B) {
	source, err := os.ReadFile("redact.go")
	if err != nil {
		b.Fatal(err)
	}
	text := bytes.Repeat(source, 1<<20/len(source)+1)
	for _, n := range []int{1, 20, 100} {
		set := redact.New(heldValues(n)...)
		b.Run(fmt.Sprintf("held=%d", n), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if _, hits := set.Bytes(text); hits != 0 {
					b.Fatal("masked source text")
				}
			}
		})
	}
}

func BenchmarkWriter(b *testing.B) {
	source, err := os.ReadFile("redact.go")
	if err != nil {
		b.Fatal(err)
	}
	set := redact.New(heldValues(20)...)
	b.SetBytes(int64(len(source)))
	w := set.Writer(io.Discard)
	for b.Loop() {
		if _, err := w.Write(source); err != nil {
			b.Fatal(err)
		}
	}
}
