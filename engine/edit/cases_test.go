package edit_test

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/engine/edit"
)

// A testCase is one file of testdata/edit.
type testCase struct {
	ID     string             `json:"id"`
	Format edit.Format        `json:"format"`
	Files  map[string]content `json:"files"`
	Reply  string             `json:"reply"`
	Want   struct {
		Files map[string]*content `json:"files"`
		Error edit.Code           `json:"error"`
	} `json:"want"`
}

// A content is a file of a case: text, bytes, text with a mode, or a link.
type content struct {
	Text    string  `json:"text"`
	Base64  *string `json:"base64"`
	Mode    string  `json:"mode"`
	Symlink string  `json:"symlink"`
}

func (c *content) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, &c.Text)
	}
	type plain content
	if err := json.Unmarshal(b, (*plain)(c)); err != nil || c.Base64 == nil {
		return err
	}
	raw, err := base64.StdEncoding.DecodeString(*c.Base64)
	c.Text = string(raw)
	return err
}

func (c *content) perm(tb testing.TB) os.FileMode {
	if c.Mode == "" {
		return 0o644
	}
	mode, err := strconv.ParseUint(c.Mode, 8, 12)
	if err != nil {
		tb.Fatal(err)
	}
	return os.FileMode(mode)
}

func loadCases(tb testing.TB) []testCase {
	tb.Helper()
	names, err := filepath.Glob("../../testdata/edit/*.json")
	if err != nil || len(names) == 0 {
		tb.Fatalf("no cases in testdata/edit (%v)", err)
	}
	cases := make([]testCase, len(names))
	for i, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			tb.Fatal(err)
		}
		if err := json.Unmarshal(b, &cases[i]); err != nil {
			tb.Fatalf("%s: %v", name, err)
		}
	}
	return cases
}

// loadLater reads testdata/edit-later.txt: the cases that need a format or a tier that does not exist yet.
func loadLater(tb testing.TB) map[string]string {
	tb.Helper()
	f, err := os.Open("../../testdata/edit-later.txt")
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	later := map[string]string{}
	for s := bufio.NewScanner(f); s.Scan(); {
		if id, why, ok := strings.Cut(s.Text(), " "); ok && !strings.HasPrefix(id, "#") {
			later[id] = strings.TrimSpace(why)
		}
	}
	return later
}

// TestCases runs every case in a repository deep inside a folder that is compared as well, since wrong code
// does write "../../x". A case listed for later must be refused, and must not begin to pass unnoticed.
func TestCases(t *testing.T) {
	later := loadLater(t)
	known := map[string]bool{}
	for _, c := range loadCases(t) {
		known[c.ID] = true
		t.Run(c.ID, func(t *testing.T) {
			code, problem := runCase(t, c)
			why, isLater := later[c.ID]
			switch {
			case !isLater && problem != "":
				t.Error(problem)
			case isLater && problem == "":
				t.Errorf("listed in edit-later.txt (%s) but passes: remove its line", why)
			case isLater && code == "":
				t.Errorf("listed in edit-later.txt but not refused: %s", problem)
			}
		})
	}
	for id := range later {
		if !known[id] {
			t.Errorf("edit-later.txt lists %s, which is no case", id)
		}
	}
}

// runCase applies a case on disk. It returns the code, and what differs from what is wanted. A change that is
// not wanted fails the test at once, listed or not.
func runCase(t *testing.T, c testCase) (edit.Code, string) {
	t.Helper()
	outside := t.TempDir()
	repo := filepath.Join(outside, "a", "b", "c", "d", "repo")
	for _, dir := range []string{repo, filepath.Join(repo, "..", "elsewhere")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"secret.txt", "a/b/c/secret.txt", "a/b/c/d/a.txt"} {
		writeFile(t, filepath.Join(outside, name), "x\n", 0o600)
	}
	for name, file := range c.Files {
		p := filepath.Join(repo, name)
		if file.Symlink == "" {
			writeFile(t, p, file.Text, file.perm(t))
		} else if err := os.Symlink(file.Symlink, p); err != nil {
			t.Fatal(err)
		}
	}
	before := snapshot(t, outside)
	tree := openRoot(t, repo)
	got := edit.Apply(c.Reply, c.Format, tree)
	checkResult(t, got)
	if err := tree.write(got.Changes); err != nil {
		t.Fatal(err)
	}
	want := before
	if c.Want.Error == "" {
		want = wanted(t, c, before)
	}
	after := snapshot(t, outside)
	if got.Code != "" && !cmp.Equal(before, after) {
		t.Errorf("refused with %s, yet changed:\n%s", got.Code, cmp.Diff(before, after))
	}
	if got.Code == "" && !cmp.Equal(want, after) {
		t.Errorf("wrong change (-want +got):\n%s", cmp.Diff(want, after))
	}
	if _, err := os.Lstat("/hob-conformance-must-not-exist"); err == nil {
		t.Error("a file was made at the root of the machine")
	}
	if got.Code != c.Want.Error {
		return got.Code, "code " + strconv.Quote(string(got.Code)) + ", want " + strconv.Quote(string(c.Want.Error)) + "\n" + got.Feedback
	}
	return got.Code, ""
}

// wanted returns the snapshot that a successful case leaves.
func wanted(t *testing.T, c testCase, before map[string]string) map[string]string {
	want := map[string]string{}
	maps.Copy(want, before)
	for name, file := range c.Want.Files {
		p := filepath.Join("a/b/c/d/repo", name)
		if file == nil {
			delete(want, p)
			continue
		}
		perm := file.perm(t)
		if old, ok := c.Files[name]; ok && file.Mode == "" {
			perm = old.perm(t)
		}
		want[p] = perm.String() + " " + file.Text
	}
	return want
}

// checkResult checks what holds for every result.
func checkResult(tb testing.TB, r edit.Result) {
	tb.Helper()
	if refused := r.Code != ""; refused != (len(r.Failures) > 0) || refused != (r.Feedback != "") || refused == (len(r.Ops) > 0) || refused == (len(r.Changes) > 0) {
		tb.Errorf("code %q with %d failures, %d ops, %d changes, feedback %q", r.Code, len(r.Failures), len(r.Ops), len(r.Changes), r.Feedback)
	}
	if len(r.Failures) > 0 && r.Failures[0].Code != r.Code {
		tb.Errorf("code %s, but the first failure is %s", r.Code, r.Failures[0].Code)
	}
	if n := strings.Count(r.Feedback, "\n"); n > 60 {
		tb.Errorf("the feedback has %d lines:\n%s", n, r.Feedback)
	}
}

func writeFile(tb testing.TB, name, body string, perm os.FileMode) {
	tb.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(body), perm); err != nil {
		tb.Fatal(err)
	}
	if err := os.Chmod(name, perm); err != nil {
		tb.Fatal(err)
	}
}
