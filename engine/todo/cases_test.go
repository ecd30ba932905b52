package todo_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/engine/todo"
)

// cases calls f with every case file of a kind.
func cases[C any](t *testing.T, kind string, f func(t *testing.T, c C)) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("..", "..", "testdata", kind, "*.json"))
	if err != nil || len(names) == 0 {
		t.Fatalf("find cases of %s: %d files, %v", kind, len(names), err)
	}
	for _, name := range names {
		t.Run(filepath.Base(name), func(t *testing.T) {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			var c C
			if err := json.Unmarshal(b, &c); err != nil {
				t.Fatal(err)
			}
			f(t, c)
		})
	}
}

func TestTodoCases(t *testing.T) {
	type c struct {
		Todo string
		Want struct{ Items []map[string]any }
		Why  string
	}
	cases(t, "todo", func(t *testing.T, c c) {
		b, err := json.Marshal(todo.Parse([]byte(c.Todo)))
		if err != nil {
			t.Fatal(err)
		}
		var got struct{ Items []map[string]any }
		if err := json.Unmarshal(b, &got); err != nil {
			t.Fatal(err)
		}
		for i, item := range got.Items { // compare the fields that the case names
			if i >= len(c.Want.Items) {
				break
			}
			for k := range item {
				if _, named := c.Want.Items[i][k]; !named {
					delete(item, k)
				}
			}
		}
		if diff := cmp.Diff(c.Want.Items, got.Items); diff != "" {
			t.Errorf("%s\nParse(%q) (-want +got):\n%s", c.Why, c.Todo, diff)
		}
	})
}

func TestIdentityCases(t *testing.T) {
	type c struct {
		Before, After string
		Want          todo.Delta
		Why           string
	}
	cases(t, "identity", func(t *testing.T, c c) {
		got := todo.Diff(todo.Parse([]byte(c.Before)), todo.Parse([]byte(c.After)))
		if diff := cmp.Diff(c.Want, got); diff != "" {
			t.Errorf("%s\nDiff(%q, %q) (-want +got):\n%s", c.Why, c.Before, c.After, diff)
		}
	})
}

func TestTickCases(t *testing.T) {
	type c struct {
		Before, After string
		Item          int
		Why           string
	}
	cases(t, "tick", func(t *testing.T, c c) {
		before := []byte(c.Before)
		got, err := todo.Tick(before, todo.Parse(before).Items[c.Item].ID)
		if err != nil || string(got) != c.After {
			t.Errorf("%s\nTick(%q) = %q, %v, want %q", c.Why, c.Before, got, err, c.After)
		}
	})
}
