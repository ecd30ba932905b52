package task_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/engine/task"
	"hob/engine/todo"
	"hob/journal/durable"
)

func TestDamagedFileIsSetAside(t *testing.T) {
	good := func(t *testing.T, dir string) string {
		data, err := os.ReadFile(filepath.Join(dir, "a.json"))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	for name, damage := range map[string]func(string) string{
		"empty":          func(string) string { return "" },
		"cut":            func(s string) string { return s[:len(s)/2] },
		"not JSON":       func(string) string { return "schema = 1\n" },
		"zeros":          func(s string) string { return strings.Repeat("\x00", len(s)) },
		"another's":      func(s string) string { return strings.Replace(s, `"id": "a"`, `"id": "b"`, 1) },
		"unknown state":  func(s string) string { return strings.Replace(s, `"queued"`, `"lost"`, 1) },
		"no schema":      func(s string) string { return strings.Replace(s, `"schema": 1`, `"schema": 0`, 1) },
		"wrong type":     func(s string) string { return strings.Replace(s, `"attempts": 0`, `"attempts": "0"`, 1) },
		"more attempts":  func(s string) string { return strings.Replace(s, `"attempts": 0`, `"attempts": -5`, 1) },
		"cost below nil": func(s string) string { return strings.Replace(s, `"cost_micro_usd": 0`, `"cost_micro_usd": -1`, 1) },
		"huge":           func(s string) string { return s + strings.Repeat(" ", 2<<20) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			sync(t, open(t, dir), "- [ ] a ^a\n- [ ] b ^b\n")
			for n := 1; n <= 2; n++ {
				bad := damage(good(t, dir))
				if err := os.WriteFile(filepath.Join(dir, "a.json"), []byte(bad), 0o600); err != nil {
					t.Fatal(err)
				}
				s := open(t, dir)
				d := s.Damaged()
				kept := "a.json.corrupt-" + string(rune('0'+n))
				if len(d) != 1 || d[0].Name != "a.json" || d[0].Kept != kept || d[0].Err == nil {
					t.Fatalf("Damaged() = %v, want a.json kept as %s", d, kept)
				}
				if data, err := os.ReadFile(filepath.Join(dir, kept)); err != nil || string(data) != bad {
					t.Errorf("%s does not hold the damaged bytes: %v", kept, err)
				}
				if diff := cmp.Diff(map[string]task.State{"b": task.Queued}, states(s)); diff != "" {
					t.Errorf("the others (-want +got):\n%s", diff)
				}
				if c := sync(t, s, "- [ ] a ^a\n- [ ] b ^b\n"); !cmp.Equal(ids(c), []string{"queued:a"}) {
					t.Errorf("Sync = %v, want a new", ids(c))
				}
			}
		})
	}
}

func TestDamagedThingsThatAreNoFiles(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "a.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(os.DevNull, filepath.Join(dir, "b.json")); err != nil {
		t.Fatal(err)
	}
	if d := open(t, dir).Damaged(); len(d) != 2 {
		t.Errorf("Damaged() = %v, want both", d)
	}
}

func TestDamagedBystandersCostNothing(t *testing.T) {
	dir := t.TempDir()
	const text = "- [x] done\n- [ ] a ^a\n"
	sync(t, open(t, dir), text)
	if err := os.WriteFile(filepath.Join(dir, "+bystanders.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := open(t, dir)
	if c := sync(t, s, text); len(ids(c)) != 0 || len(s.Damaged()) != 0 {
		t.Errorf("Sync = %v, damaged %v", ids(c), s.Damaged())
	}
}

func TestNewerSchemaIsRefused(t *testing.T) {
	dir := t.TempDir()
	sync(t, open(t, dir), "- [ ] a ^a\n")
	name := filepath.Join(dir, "a.json")
	newer := []byte(`{"schema": 2, "id": {"new": "form"}}`)
	if err := os.WriteFile(name, newer, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := task.Open(dir, durable.OS()); !errors.Is(err, task.ErrSchema) {
		t.Errorf("Open: error %v, want ErrSchema", err)
	}
	if _, err := task.Read(dir); !errors.Is(err, task.ErrSchema) {
		t.Errorf("Read: error %v, want ErrSchema", err)
	}
	if got, err := os.ReadFile(name); err != nil || string(got) != string(newer) {
		t.Errorf("the newer file was touched: %q, %v", got, err)
	}
}

func TestReadTouchesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tasks")
	if list, err := task.Read(dir); err != nil || len(list) != 0 {
		t.Errorf("Read of a missing folder = %v, %v, want none", list, err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Read made the folder: %v", err)
	}
	s := open(t, dir)
	sync(t, s, "- [ ] a ^a\n- [ ] b ^b {priority=high}\n")
	for name, data := range map[string]string{"x.json": "{", ".c.json.tmp-1": "{"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before := names(t, dir)
	list, err := task.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(s.List(), list); diff != "" {
		t.Errorf("Read (-store +read):\n%s", diff)
	}
	if diff := cmp.Diff(before, names(t, dir)); diff != "" {
		t.Errorf("the folder changed:\n%s", diff)
	}
}

// Ids come from a parser that allows safe names only. Should another ever come
// through, it stays inside the folder and apart from all others.
func TestStrangeIDs(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tasks")
	s := open(t, dir)
	strange := []string{
		"../../escape", "..", ".", ".hidden", "a/b", `a\b`, "A", "a", "a%2fb", "tab\t", "nul\x00", "", "+bystanders",
		"ü", strings.Repeat("x", 300), strings.Repeat("x", 301), "con", "a.json",
	}
	var doc todo.Doc
	for _, id := range strange {
		doc.Items = append(doc.Items, todo.Item{ID: id, Text: "do " + id, Parent: -1})
	}
	if _, err := s.Sync(doc, start); err != nil {
		t.Fatal(err)
	}
	if got := len(open(t, dir).List()); got != len(strange) {
		t.Errorf("%d tasks after reopening, want %d", got, len(strange))
	}
	lower := map[string]bool{}
	for _, name := range names(t, dir) {
		if l := strings.ToLower(name); lower[l] || len(name) > 200 {
			t.Errorf("file name %q collides or is too long", name)
		} else {
			lower[l] = true
		}
	}
	if outside := names(t, filepath.Dir(dir)); len(outside) != 1 {
		t.Errorf("files beside the folder: %v", outside)
	}
}

func TestWhatGrowsIsBounded(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	sync(t, s, "- [ ] a ^a\n")
	got, err := s.Update("a", func(t *task.Task) {
		for range 10_000 {
			t.Runs, t.Seen = append(t.Runs, "run"), append(t.Seen, "seen")
		}
		t.Runs[len(t.Runs)-1] = "newest"
		t.Message, t.Last = strings.Repeat("ü", 10_000), strings.Repeat("\xff", 100_000)
	})
	if err != nil {
		t.Fatal(err)
	}
	if got.Runs[len(got.Runs)-1] != "newest" {
		t.Error("the newest run was dropped")
	}
	info, err := os.Stat(filepath.Join(dir, "a.json"))
	if err != nil || info.Size() > 32<<10 || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v, want at most 32 KiB and mode 0600", info, err)
	}
	if diff := cmp.Diff(got, get(t, open(t, dir), "a")); diff != "" {
		t.Errorf("on disk (-want +got):\n%s", diff)
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

// A removal that never reached the disk leaves the file of a former id.
func TestFormerFileDoesNotComeBack(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	sync(t, s, "- [ ] cache the map tiles on disk\n")
	name := filepath.Join(dir, s.List()[0].ID+".json")
	former, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	sync(t, s, "- [ ] cache the map tiles on local disk\n")
	want := s.List()
	if err := os.WriteFile(name, former, 0o600); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, open(t, dir).List()); diff != "" {
		t.Errorf("tasks (-want +got):\n%s", diff)
	}
	if _, err := os.Stat(name); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the former file stays: %v", err)
	}
}
