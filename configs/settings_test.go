package configs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hob/configs"
)

// everything sets most of what can be set to something else than its default.
const everything = `
[autonomous]
todo_path = "docs/TODO.md"
git_branch = "hob/{task}"
interval = "0"
[schedule]
cron = ["0 1 * * *", "30 2 * * 7"]
tz = "Europe/Berlin"
[agent]
edit_format_override = "full_file"
repo_map_tokens = 0
[budget]
daily_usd = 0.1
per_run_usd = 0
[[model]]
provider = "openai-compat"
model = "m"
base_url = "https://example.org/v1"
secret_ref = "env:KEY"
headers = { X-Title = "a\u0007\"\\b", X-B = "" }
price = { input = 0.1, output = 0.4 }
tools = "text"
[[validators]]
name = "test"
run = """
set -e
go test ./..."""
env = { GOFLAGS = "-mod=mod" }
paths = ["**/*.go"]
[sandbox]
mode = "best-effort"
cache = "shared"
[log]
format = "json"
`

// written is a configuration as a file that sets every key.
func written(l *configs.Loaded) string {
	var b strings.Builder
	for _, s := range l.Settings() {
		fmt.Fprintf(&b, "%s = %s\n", s.Key, s.Value)
	}
	return b.String()
}

func TestSettingsLoadToTheSame(t *testing.T) {
	first := load(t, user(everything))
	second := load(t, user(written(first)))
	if first.Digest() != second.Digest() {
		t.Errorf("digests differ for\n%s\nand\n%s", written(first), written(second))
	}
}

func TestDigestTellsValuesApart(t *testing.T) {
	seen := map[string]string{}
	for _, text := range []string{
		"", "log.level = 'debug'", "budget.daily_usd = 10.000001", "schedule.cron = ['a', 'b']", "schedule.cron = ['a, b']", `schedule.cron = ['a", "b']`,
		"[[validators]]\nname='a'\nrun='x'", "[[validators]]\nname='a'\nargv=['x']", "[[validators]]\nname='a'\nrun='x'\nenv={A='1'}",
		"[[validators]]\nname='a'\nrun='x'\n[[validators]]\nname='b'\nrun='x'", "[[validators]]\nname='b'\nrun='x'\n[[validators]]\nname='a'\nrun='x'",
	} {
		digest := load(t, user(text)).Digest()
		if other, ok := seen[digest]; ok {
			t.Errorf("%q and %q have the same digest", text, other)
		}
		seen[digest] = text
	}
	defaults := load(t, user("budget.daily_usd = 10"))
	if seen[defaults.Digest()] != "" {
		t.Error("writing a default changes the digest")
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(everything), false)
	files, err := filepath.Glob("testdata/invalid/*.toml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		// The fuzzer spends its time on shrinking large seeds.
		if len(data) < 512 {
			f.Add(data, true)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, trusted bool) {
		file := &configs.File{Name: "hob.toml", Data: data}
		for _, layers := range []configs.Layers{{User: file}, {Repository: file, Trusted: trusted}} {
			loaded, err := configs.Load(layers)
			if err != nil {
				for line := range strings.SplitSeq(err.Error(), "\n") {
					if len(line) > 1000 || strings.ContainsFunc(line, func(r rune) bool { return r < ' ' }) {
						t.Errorf("problem %q is no short line of text", line)
					}
				}
				continue
			}
			text := written(loaded)
			if len(text) > 256<<10 || strings.Count(text, "=")+strings.Count(text, "[") > 4000 {
				continue // with its escapes and defaults it is no file of a person
			}
			again, err := configs.Load(user(text))
			if err != nil {
				t.Fatalf("its own settings are refused: %v\n%s", err, text)
			}
			if again.Digest() != loaded.Digest() {
				t.Fatalf("its own settings load to something else:\n%s\n%s", text, written(again))
			}
		}
	})
}
