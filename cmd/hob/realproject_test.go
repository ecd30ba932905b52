package main

import (
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"hob/engine/model"
	"hob/engine/model/wire/wiretest"
)

// TestRealProject works an item on a real project, pflag as it is in the module
// cache, through a server that speaks streamed chat completions badly: the first
// change fails the project's tests, the repaired one is pushed and passes them.
func TestRealProject(t *testing.T) {
	dir := t.TempDir()
	user := filepath.Join(dir, "pflag")
	copyModule(t, "github.com/spf13/pflag", user)
	put(t, filepath.Join(user, "TODO.md"), "# pflag\n\n- [ ] Count the flags that are defined, set or not\n")
	git(t, user, "init", "-q", "-b", "main", ".")
	git(t, user, "add", "-A")
	git(t, user, "commit", "-q", "-m", "pflag as released")
	git(t, user, "init", "-q", "-b", "main", "--bare", "../remote.git")
	git(t, user, "remote", "add", "origin", "../remote.git")

	script, err := model.NewScript([]byte(pflagScript), model.Info{ID: "script"})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(wiretest.New(script, wiretest.Chaos(3)))
	defer server.Close()
	put(t, filepath.Join(dir, "config/hob/config.toml"), fmt.Sprintf(pflagConfig, server.URL))
	before := fingerprint(user, "agent-dev")

	shared := []string{"GOMODCACHE=" + goEnv(t, "GOMODCACHE"), "XDG_CACHE_HOME=" + sharedCache()}
	out, err := hobOn(dir, user, shared, "once").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "pushed ") {
		t.Fatalf("hob once: %v\n%s", err, out)
	}
	if !strings.Contains(string(out), "repair.started") {
		t.Errorf("there was no repair:\n%s", out)
	}
	if now := fingerprint(user, "agent-dev"); string(now) != string(before) {
		t.Errorf("the repository changed:\n%s", lineDiff(before, now))
	}
	clone := filepath.Join(dir, "clone")
	git(t, dir, "clone", "-q", "-b", "agent-dev", "remote.git", clone)
	test := exec.Command("go", "test", "-run", "TestNDefined|TestEverything", ".")
	test.Dir = clone
	if out, err := test.CombinedOutput(); err != nil || !strings.Contains(string(out), "ok") {
		t.Errorf("the pushed commit doesn't pass: %v\n%s", err, out)
	}
}

const pflagConfig = `
[[model]]
provider = "openai-compat"
model = "test"
base_url = "%s/v1"
price = { input = 1.0, output = 4.0 }
context_window = 100000

[[validators]]
name = "test"
run = "go test ./..."

[sandbox]
mode = "off"
cache = "shared"
`

const pflagScript = `
[[item]]
match = "Count the flags"
  [[item.step]]
  calls = [{ name = "search", args = { pattern = "func \\(f \\*FlagSet\\) NFlag", path = "flag.go" } }]
  [[item.step]]
  expect = "NFlag\\(\\) int"
  text = """
flag.go
<<<<<<< SEARCH
// NFlag returns the number of flags that have been set.
=======
// NDefined returns the number of flags that are defined, set or not.
func (f *FlagSet) NDefined() int { return len(f.actual) }

// NFlag returns the number of flags that have been set.
>>>>>>> REPLACE

ndefined_test.go
<<<<<<< SEARCH
=======
package pflag

import "testing"

func TestNDefined(t *testing.T) {
	f := NewFlagSet("test", ContinueOnError)
	f.Bool("a", false, "")
	f.Int("b", 0, "")
	if err := f.Parse([]string{"--a"}); err != nil {
		t.Fatal(err)
	}
	if got := f.NDefined(); got != 2 {
		t.Errorf("NDefined() = %d, want 2", got)
	}
}
>>>>>>> REPLACE
"""
  [[item.step]]
  text = "NDefined counts them."
  [[item.step]]
  expect = "NDefined\\(\\) = 1, want 2"
  text = """
flag.go
<<<<<<< SEARCH
func (f *FlagSet) NDefined() int { return len(f.actual) }
=======
func (f *FlagSet) NDefined() int { return len(f.formal) }
>>>>>>> REPLACE
"""
  [[item.step]]
  text = "NDefined counts the defined ones now."
`

func copyModule(t *testing.T, module, to string) {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		t.Fatalf("find %s: %v", module, err)
	}
	from := strings.TrimSpace(string(out))
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

func goEnv(t *testing.T, name string) string {
	t.Helper()
	out, err := exec.Command("go", "env", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func put(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
