package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/engine/model"
	"hob/engine/model/wire/wiretest"
)

// TestWhatTheModelSees keeps every text hob sends to a model readable in
// testdata/golden: prompts, tool descriptions, feedback. HOB_TEST_UPDATE=1 writes
// the files anew; the diff is then what to review.
func TestWhatTheModelSees(t *testing.T) {
	for name, settings := range map[string]string{
		"full":    "context_window = 200000\n",
		"compact": "context_window = 30000\ntools = \"text\"\n",
	} {
		t.Run(name, func(t *testing.T) {
			got := conversation(t, settings, name == "compact")
			file := filepath.Join("../../testdata/golden", name+".md")
			if os.Getenv("HOB_TEST_UPDATE") != "" {
				put(t, file, got)
			}
			if diff := cmp.Diff(string(read(t, file)), got); diff != "" {
				t.Errorf("what the model sees changed (-want +got):\n%s", diff)
			}
		})
	}
}

// conversation works one item that meets everything a model can be told, and
// returns the last request in words.
func conversation(t *testing.T, settings string, text bool) string {
	dir := t.TempDir()
	user := filepath.Join(dir, "user")
	put(t, filepath.Join(user, "TODO.md"), "## Pending\n- [ ] Say b {max-turns=6}\n  In small letters.\n  - [ ] a.txt says b\n")
	put(t, filepath.Join(user, "a.txt"), "a\nb c\n")
	put(t, filepath.Join(user, "AGENTS.md"), "Be brief.\n")
	git(t, user, "init", "-q", "-b", "main", ".")
	git(t, user, "add", "-A")
	git(t, user, "commit", "-q", "-m", "start")

	script, err := model.NewScript([]byte(goldenScript(text)), model.Info{ID: "script"})
	if err != nil {
		t.Fatal(err)
	}
	rec := &recorder{next: wiretest.New(script, wiretest.Options{})}
	server := httptest.NewServer(rec)
	defer server.Close()
	put(t, filepath.Join(dir, "config/hob/config.toml"), "[[model]]\nprovider = \"openai-compat\"\nmodel = \"test\"\nbase_url = \""+
		server.URL+"/v1\"\nprice = { input = 1.0, output = 4.0 }\n"+settings+goldenChecks)
	out, err := hobOn(dir, user, nil, "once").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "turns_spent") {
		t.Fatalf("want turns_spent, got %v\n%s", err, out)
	}
	return rec.words(t)
}

const goldenChecks = `
[[validators]]
name = "says-b"
run = "! grep -qx B a.txt || { echo a.txt says B; exit 1; }"

[sandbox]
mode = "off"
`

// goldenScript meets, in this order: calls good and bad, a refused edit, the
// nudge, an applied edit that also touches TODO.md, the nudge against repeating,
// failing checks, and the note at the end.
func goldenScript(text bool) string {
	calls := func(list ...string) string {
		if !text {
			return "calls = [" + strings.Join(list, ", ") + "]\n"
		}
		return ""
	}
	fence := func(lines ...string) string {
		if !text {
			return ""
		}
		return "\n```hob\n" + strings.Join(lines, "\n") + "\n```\n"
	}
	read := `{ name = "read", args = { path = "a.txt", lines = "1-1" } }`
	readLine := `{"tool":"read","path":"a.txt","lines":"1-1"}`
	return fmt.Sprintf(`
[[item]]
match = "Say b"
  [[item.step]]
  text = '''I look first.
%s'''
  %s
  [[item.step]]
  text = '''
a.txt
<<<<<<< SEARCH
a
b
=======
b
>>>>>>> REPLACE
%s'''
  %s
  [[item.step]]
  text = "That should do."
  [[item.step]]
  text = '''
a.txt
<<<<<<< SEARCH
a
=======
B
>>>>>>> REPLACE

TODO.md
<<<<<<< SEARCH
  In small letters.
=======
  In any letters.
>>>>>>> REPLACE
%s'''
  %s
  [[item.step]]
  text = '''Again.
%s'''
  %s
  [[item.step]]
  text = "Done."
  [[item.step]]
  text = "a.txt says B and has to say b."
`,
		fence(`{"tool":"list"}`, `{"tool":"search","pattern":"b"}`, `{"tool":"fly"}`, `not json`),
		calls(`{ name = "list", args = {} }`, `{ name = "search", args = { pattern = "b" } }`, `{ name = "fly", args = {} }`),
		fence(`{"tool":"run","command":"true"}`), calls(`{ name = "run", args = { command = "true" } }`),
		fence(`{"tool":"diff"}`), calls(`{ name = "diff", args = {} }`),
		fence(readLine, readLine, readLine), calls(read, read, read))
}

// A recorder keeps the last request it passes on.
type recorder struct {
	next http.Handler

	mu   sync.Mutex
	last []byte
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	r.last = body
	r.mu.Unlock()
	req.Body = io.NopCloser(bytes.NewReader(body))
	r.next.ServeHTTP(w, req)
}

// words writes the last request as a person would want to read it.
func (r *recorder) words(t *testing.T) string {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	var req struct {
		Messages []struct {
			Role, Content string
			ToolCalls     []struct {
				Function struct{ Name, Arguments string }
			} `json:"tool_calls"`
		}
		Tools []struct {
			Function struct {
				Name, Description string
				Parameters        json.RawMessage
			}
		}
	}
	if err := json.Unmarshal(r.last, &req); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, tool := range req.Tools {
		fmt.Fprintf(&b, "# tool %s\n\n%s\n\n    %s\n\n", tool.Function.Name, tool.Function.Description, tool.Function.Parameters)
	}
	for _, m := range req.Messages {
		fmt.Fprintf(&b, "# %s\n\n%s\n", m.Role, strings.TrimRight(m.Content, "\n"))
		for _, c := range m.ToolCalls {
			fmt.Fprintf(&b, "\n    call %s %s\n", c.Function.Name, c.Function.Arguments)
		}
		b.WriteString("\n")
	}
	return b.String()
}
