package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"hob/engine/agent"
)

// call runs one of the looking tools on a small tree.
func call(t *testing.T, tree fstest.MapFS, name, args string) (string, error) {
	t.Helper()
	for _, tool := range agent.Looking(tree) {
		if tool.Spec.Name == name {
			if !json.Valid(tool.Spec.Schema) {
				t.Errorf("the schema of %s is no JSON", name)
			}
			return tool.Run(context.Background(), json.RawMessage(args))
		}
	}
	t.Fatalf("no tool %s", name)
	return "", nil
}

func TestLooking(t *testing.T) {
	tree := fstest.MapFS{
		"a.go":       {Data: []byte("package a\n\nfunc A() {}\n")},
		"sub/b.txt":  {Data: []byte("one\r\ntwo\nthree")},
		"sub/raw":    {Data: []byte("a\x00b")},
		"empty/x.md": {Data: nil},
	}
	for _, c := range []struct{ name, tool, args, want, err string }{
		{"list all", "list", `{}`, "a.go\nempty/x.md\nsub/b.txt\nsub/raw", ""},
		{"list no arguments", "list", ``, "a.go\nempty/x.md\nsub/b.txt\nsub/raw", ""},
		{"list a folder", "list", `{"path":"./sub/"}`, "sub/b.txt\nsub/raw", ""},
		{"list nothing", "list", `{"path":"nowhere"}`, "", "file does not exist"},
		{"read", "read", `{"path":"sub/b.txt"}`, "1\tone\n2\ttwo\n3\tthree\n", ""},
		{"read a span", "read", `{"path":"sub/b.txt","lines":"2-"}`, "2\ttwo\n3\tthree\n", ""},
		{"read up to", "read", `{"path":"sub/b.txt","lines":"-2"}`, "1\tone\n2\ttwo\n", ""},
		{"read one line", "read", `{"path":"sub/b.txt","lines":"3"}`, "3\tthree\n", ""},
		{"read past the end", "read", `{"path":"sub/b.txt","lines":"9-12"}`, "", "has 3 lines"},
		{"read a bad span", "read", `{"path":"sub/b.txt","lines":"x"}`, "", "for example 10-40"},
		{"read binary", "read", `{"path":"sub/raw"}`, "", "is binary"},
		{"read a folder", "read", `{"path":"sub"}`, "", "is not a file"},
		{"read out of the tree", "read", `{"path":"../secret"}`, "", "leads out of the repository"},
		{"read from the root", "read", `{"path":"/etc/passwd"}`, "", "leads out of the repository"},
		{"a misspelt argument", "read", `{"pat":"a.go"}`, "", "unknown field"},
		{"search", "search", `{"pattern":"^func"}`, "a.go:3: func A() {}", ""},
		{"search below", "search", `{"pattern":"t","path":"sub"}`, "sub/b.txt:2: two\nsub/b.txt:3: three", ""},
		{"search in vain", "search", `{"pattern":"zebra"}`, "[no hit]", ""},
		{"search a bad pattern", "search", `{"pattern":"("}`, "", "pattern"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := call(t, tree, c.tool, c.args)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("%s(%s) = %q, %v, want an error with %q", c.tool, c.args, got, err, c.err)
				}
				return
			}
			if err != nil || got != c.want {
				t.Errorf("%s(%s) = %q, %v, want %q", c.tool, c.args, got, err, c.want)
			}
		})
	}
}

// No answer may crowd the code out of a small window, whatever the tree holds.
func TestLookingIsBounded(t *testing.T) {
	tree := fstest.MapFS{"long.txt": {Data: []byte(strings.Repeat("x", 1<<20) + "\n" + strings.Repeat("line\n", 50_000))}}
	for i := range 3000 {
		tree[fmt.Sprintf("f/%04d", i)] = &fstest.MapFile{Data: []byte("line\n")}
	}
	for _, c := range [][2]string{{"list", `{}`}, {"read", `{"path":"long.txt"}`}, {"search", `{"pattern":"."}`}} {
		got, err := call(t, tree, c[0], c[1])
		if err != nil || len(got) > 48<<10 {
			t.Errorf("%s: %d bytes, %v", c[0], len(got), err)
		}
		if last := got[strings.LastIndex(strings.TrimSpace(got), "\n")+1:]; !strings.HasPrefix(last, "[") {
			t.Errorf("%s ends with %q and doesn't say that there is more", c[0], last)
		}
	}
}
