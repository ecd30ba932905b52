package configs_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/configs"
)

func user(text string) configs.Layers {
	return configs.Layers{User: &configs.File{Name: "config.toml", Data: []byte(text)}}
}

func repository(text string, trusted bool) configs.Layers {
	return configs.Layers{Repository: &configs.File{Name: "hob.toml", Data: []byte(text)}, Trusted: trusted}
}

func load(t *testing.T, l configs.Layers) *configs.Loaded {
	t.Helper()
	loaded, err := configs.Load(l)
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	return loaded
}

// refused returns the problems of layers that must not load.
func refused(t *testing.T, l configs.Layers) configs.Problems {
	t.Helper()
	loaded, err := configs.Load(l)
	var problems configs.Problems
	if !errors.As(err, &problems) {
		t.Fatalf("Load error is %v, want Problems", err)
	}
	if loaded != nil {
		t.Fatal("Load returned a configuration beside its problems")
	}
	return problems
}

// lines are the lines of text without the last line's end.
func lines(text string) []string { return strings.Split(strings.TrimSuffix(text, "\n"), "\n") }

func TestLoadReportsAllProblems(t *testing.T) {
	files, err := filepath.Glob("testdata/invalid/*.toml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no test files: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".toml"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want, err := os.ReadFile(strings.TrimSuffix(file, ".toml") + ".problems")
			if err != nil {
				t.Fatal(err)
			}
			in := configs.File{Name: filepath.Base(file), Data: data}
			got := refused(t, configs.Layers{User: &in}).Error()
			if diff := cmp.Diff(lines(string(want)), lines(got)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			if strings.Contains(got, "PASTED") {
				t.Error("a problem shows a pasted key")
			}
			// Trusted, the same file says the same in a repository, beside what never counts there.
			theirs := refused(t, configs.Layers{Repository: &in, Trusted: true}).Error()
			for line := range strings.Lines(theirs) {
				if !strings.Contains(got+"\n", line) && !strings.Contains(line, "does not count in a repository's file") {
					t.Errorf("only in a repository: %s", line)
				}
			}
		})
	}
}

func TestLoadRefusesWhatIsNoText(t *testing.T) {
	tests := []struct {
		name, data, want string
	}{
		{"invalid UTF-8", "[log]\nlevel = \"\xff\"\n", "config.toml:2:10: not UTF-8 text"},
		{"UTF-16", "\xff\xfe[\x00l\x00", "config.toml:1:1: not UTF-8 text"},
		{"NUL", "[log]\n\x00", "config.toml:2:1: broken TOML: invalid character at start of key: U+0000"},
		{"huge", strings.Repeat("#\n", 200<<10), "config.toml:1:1: file is larger than 256 KiB"},
		{"old Mac line ends", "[log]\rlevel = \"info\"\r", "config.toml:1:6: broken TOML: expected newline but got U+000D"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := refused(t, user(tt.data)).Error(); got != tt.want {
				t.Errorf("problems = %q, want %q", got, tt.want)
			}
		})
	}
}

// Files made to cost memory, time or stack end in problems, and never in more than anybody reads.
func TestLoadSurvivesHostileShapes(t *testing.T) {
	const size = 250 << 10
	// Just below the bound on keys, where a file costs the most.
	repeat := func(format string) string {
		var b strings.Builder
		for i := range 3900 / (strings.Count(format, "[") + strings.Count(format, "=")) {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	tests := map[string]string{
		"too many tables":  strings.Repeat("[a]\n", size/4),
		"too many keys":    strings.Repeat("a=1\n", size/4),
		"nested arrays":    "a = " + strings.Repeat("[", 3900) + strings.Repeat("]", 3900),
		"nested tables":    "a = " + strings.Repeat("{a=", 3900) + "1" + strings.Repeat("}", 3900),
		"many items":       "schedule.cron = [" + strings.Repeat("1,", size/2) + "]",
		"deep arrays":      "a = " + strings.Repeat("[", size/2) + strings.Repeat("]", size/2-10),
		"open arrays":      "a = " + strings.Repeat("[", size),
		"deep tables":      "a = " + strings.Repeat("{a=", size/3),
		"long dotted key":  strings.Repeat("a.", size/2) + "a = 1",
		"long header":      "[" + strings.Repeat("a.", size/2) + "a]",
		"many tables":      repeat("[t%d]\n"),
		"many keys":        "[log]\n" + repeat("k%d = 1\n"),
		"many entries":     repeat("[[validators]]\n#%d\n"),
		"many dotted":      "[log]\n" + repeat("a.k%d = 1\n"),
		"long key":         strings.Repeat("a", size) + " = 1",
		"many near misses": "[autonomous]\n" + repeat("git_branch%d = 1\n"),
	}
	for name, text := range tests {
		t.Run(name, func(t *testing.T) {
			problems := refused(t, user(text))
			if len(problems) > 101 {
				t.Errorf("%d problems, want at most 100 and a last line", len(problems))
			}
			if n := len(problems.Error()); n > 32<<10 {
				t.Errorf("%d bytes of problems", n)
			}
		})
	}
}

func TestLoadAcceptsWhatEditorsLeave(t *testing.T) {
	plain := "[log]\nlevel = \"debug\"\n[budget]\ndaily_usd = 3\n"
	want := load(t, user(plain)).Digest()
	for name, text := range map[string]string{
		"byte order mark": "\xef\xbb\xbf" + plain,
		"CRLF":            strings.ReplaceAll(plain, "\n", "\r\n"),
		"no last newline": strings.TrimSuffix(plain, "\n"),
		"dotted keys":     "log.level = 'debug'\nbudget.daily_usd = 3.0",
		"inline tables":   "log = { level = \"debug\" }\nbudget = { daily_usd = \"3\" }",
		"quoted keys":     "['log']\n\"level\" = \"\"\"\ndebug\"\"\"\n[budget]\ndaily_usd = 3.0_0e0",
	} {
		if got := load(t, user(text)).Digest(); got != want {
			t.Errorf("%s: digest differs from the plain file's", name)
		}
	}
}

func TestLayersWinInOrder(t *testing.T) {
	const key = "autonomous.max_failures_per_state"
	file := func(name string, n int) *configs.File {
		return &configs.File{Name: name, Data: fmt.Appendf(nil, "# line 1\n[autonomous]\n  max_failures_per_state = %d\n", n)}
	}
	all := configs.Layers{
		User:       file("config.toml", 4),
		Repository: file("hob.toml", 5),
		Env:        []string{"PATH=/bin", "HOB_AUTONOMOUS__MAX_FAILURES_PER_STATE=6"},
		Flags:      map[string]string{key: "7"},
	}
	tests := []struct {
		name   string
		drop   func(*configs.Layers)
		want   int
		origin string
	}{
		{"flag", func(*configs.Layers) {}, 7, "flag"},
		{"environment", func(l *configs.Layers) { l.Flags = nil }, 6, "HOB_AUTONOMOUS__MAX_FAILURES_PER_STATE"},
		{"repository", func(l *configs.Layers) { l.Env = nil }, 5, "hob.toml:3:3"},
		{"user", func(l *configs.Layers) { l.Repository = nil }, 4, "config.toml:3:3"},
		{"default", func(l *configs.Layers) { l.User = nil }, 3, "default"},
	}
	layers := all
	for _, tt := range tests {
		tt.drop(&layers)
		loaded := load(t, layers)
		if got := loaded.Autonomous.MaxFailuresPerState; got != tt.want {
			t.Errorf("%s: %s = %d, want %d", tt.name, key, got, tt.want)
		}
		if got := loaded.Origin(key); got != tt.origin {
			t.Errorf("%s: Origin(%q) = %q, want %q", tt.name, key, got, tt.origin)
		}
	}
}

func TestHigherLayerReplacesArraysWhole(t *testing.T) {
	layers := user("[[validators]]\nname = 'a'\nrun = 'true'\n[[validators]]\nname = 'b'\nrun = 'true'\n[schedule]\ncron = ['1 * * * *', '2 * * * *']")
	layers.Repository = &configs.File{Name: "hob.toml", Data: []byte("[[validators]]\nname = 'c'\nargv = ['true']\n[schedule]\ncron = ['3 * * * *']")}
	layers.Trusted = true
	loaded := load(t, layers)
	if len(loaded.Validators) != 1 || loaded.Validators[0].Name != "c" {
		t.Errorf("validators = %v, want c alone", loaded.Validators)
	}
	if diff := cmp.Diff([]string{"3 * * * *"}, loaded.Schedule.Cron); diff != "" {
		t.Errorf("cron (-want +got):\n%s", diff)
	}
	if got := loaded.Origin("validators[0].name"); got != "hob.toml:1:3" {
		t.Errorf("origin of a validator's name = %q, want its array's", got)
	}
}

func TestEnvironmentReadsTextAsTheKeysType(t *testing.T) {
	loaded := load(t, configs.Layers{Env: []string{
		"HOB_HOME=/x", "HOB_CONFIG=y", "HOB_NO_INPUT=1", "HOB_CRASH_AT=commit", "HOB_", "NOT__HOB=1", "=C:=x",
		"HOB_BUDGET__DAILY_USD=5",
		"HOB_BUDGET__ENABLED=true",
		"HOB_AUTONOMOUS__INTERVAL=1h30m",
		"HOB_AUTONOMOUS__GIT_BRANCH=true",
		"HOB_AUTONOMOUS__TEST_COMMAND=go test ./... && echo \"x = [1]\"",
		"HOB_SCHEDULE__CRON=[\"0 1,13 * * *\", '0 2 * * *']",
		"HOB_SECRETS__ENV= A , B,",
		"HOB_AGENT__MAX_TURNS=1", "HOB_AGENT__MAX_TURNS=1_000",
	}})
	if got := loaded.Budget.DailyUSD; got != 5_000_000 {
		t.Errorf("daily_usd = %d micro-USD, want 5000000", got)
	}
	if got := loaded.Autonomous.Interval.String(); got != "1h30m" {
		t.Errorf("interval = %s, want 1h30m", got)
	}
	if got := loaded.Autonomous.GitBranch; got != "true" {
		t.Errorf("git_branch = %q, want the text as it stands", got)
	}
	if got := loaded.Validators[0].Run; got != `go test ./... && echo "x = [1]"` {
		t.Errorf("test command = %q, want the text as it stands", got)
	}
	if diff := cmp.Diff([]string{"0 1,13 * * *", "0 2 * * *"}, loaded.Schedule.Cron); diff != "" {
		t.Errorf("cron (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"A", "B"}, loaded.Secrets.Env); diff != "" {
		t.Errorf("secrets.env (-want +got):\n%s", diff)
	}
	if got := loaded.Agent.MaxTurns; got != 1000 {
		t.Errorf("max_turns = %d, want the last of two", got)
	}
}

func TestEnvironmentEmptiesAList(t *testing.T) {
	layers := user("[schedule]\ncron = ['0 1 * * *']")
	layers.Env = []string{"HOB_SCHEDULE__CRON="}
	if got := load(t, layers).Schedule.Cron; got != nil {
		t.Errorf("cron = %q, want none", got)
	}
}

func TestEnvironmentProblems(t *testing.T) {
	got := refused(t, configs.Layers{Env: []string{
		"HOB_BUDGET__DAILY_US=5",
		"HOB_BUDGET__daily_usd=5",
		"HOB_BUDGET__ENABLED=1",
		"HOB_AGENT__MAX_TURNS=40\n[log]\nlevel='debug'",
		"HOB_AGENT__MAX_WALL=5",
		"HOB_AUTONOMOUS__GIT_BRANCH=\xff",
		"HOB_LOG__LEVEL=",
		"HOB_MODEL__SECRET_REF=sk-PASTEDPASTEDPASTED",
		"HOB_X__Y=1",
		"HOB_SCHEDULE__CRON=['a'",
	}})
	want := []string{
		`environment: HOB_AGENT__MAX_TURNS: expected integer, got string`,
		`environment: HOB_AGENT__MAX_WALL: "5" is not a duration, expected duration such as "90s", "5m", "1h30m" or "7d"`,
		`environment: HOB_AUTONOMOUS__GIT_BRANCH: not UTF-8 text`,
		`environment: HOB_BUDGET__DAILY_US: unknown setting, did you mean "HOB_BUDGET__DAILY_USD"?`,
		`environment: HOB_BUDGET__ENABLED: expected boolean, got integer`,
		`environment: HOB_BUDGET__daily_usd: unknown setting, did you mean "HOB_BUDGET__DAILY_USD"?`,
		`environment: HOB_LOG__LEVEL: "" is not one of debug, info, warn, error`,
		`environment: HOB_MODEL__SECRET_REF: unknown setting, [[model]] can only be set in a file`,
		`environment: HOB_SCHEDULE__CRON: expected array of strings, got string, write ["…"]`,
		`environment: HOB_X__Y: unknown setting`,
	}
	if diff := cmp.Diff(want, lines(got.Error())); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestFlags(t *testing.T) {
	loaded := load(t, configs.Layers{Flags: map[string]string{
		"model":                 `[{ provider = "script", script = "answers.toml" }]`,
		"sandbox.mode":          "off",
		"autonomous.interval":   "0",
		"agent.repo_map_tokens": "0",
	}})
	if len(loaded.Model) != 1 || loaded.Model[0].Script != "answers.toml" || loaded.Model[0].Tools != "auto" {
		t.Errorf("model = %+v, want the script alone, with defaults", loaded.Model)
	}
	if loaded.Autonomous.Interval.Duration != 0 {
		t.Errorf("interval = %s, want 0", loaded.Autonomous.Interval)
	}
	got := refused(t, configs.Layers{Flags: map[string]string{"log.lvel": "x", "model": "gpt", "budget": "1"}})
	want := []string{
		`flag: budget: unknown setting`,
		`flag: log.lvel: unknown setting, did you mean "log.level"?`,
		`flag: model: expected array of tables, got string, write [[model]]`,
	}
	if diff := cmp.Diff(want, lines(got.Error())); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestProblemsOfAllLayersInOrder(t *testing.T) {
	layers := user("[log]\nlevel = 'x'")
	layers.Repository = &configs.File{Name: "hob.toml", Data: []byte("[log")}
	layers.Env = []string{"HOB_LOG__FORMAT=x"}
	layers.Flags = map[string]string{"todo.mark": "x"}
	want := []string{
		`config.toml:2:9: log.level: "x" is not one of debug, info, warn, error`,
		`hob.toml:1:4: broken TOML: expected ']' to close table name`,
		`environment: HOB_LOG__FORMAT: "x" is not one of auto, tint, json, journald`,
		`flag: todo.mark: "x" is not one of auto, branch, trailer`,
	}
	got := refused(t, layers)
	if diff := cmp.Diff(want, lines(got.Error())); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	first := configs.Problem{File: "config.toml", Line: 2, Col: 9, Key: "log.level", What: `"x" is not one of debug, info, warn, error`}
	if diff := cmp.Diff(first, got[0]); diff != "" {
		t.Errorf("first problem (-want +got):\n%s", diff)
	}
}

func TestTestCommandBecomesTheFirstValidator(t *testing.T) {
	loaded := load(t, user("[autonomous]\ntest_command = 'make test'\ncommand_timeout = '3m'\n[[validators]]\nname = 'lint'\nrun = 'make lint'\nrequired = false\nidle = '0'"))
	want := []configs.Validator{
		{Name: "test", Run: "make test", Required: true, Timeout: span(t, "3m"), Idle: span(t, "5m")},
		{Name: "lint", Run: "make lint", Timeout: span(t, "3m")},
	}
	if diff := cmp.Diff(want, loaded.Validators); diff != "" {
		t.Errorf("validators (-want +got):\n%s", diff)
	}
	if loaded.Autonomous.TestCommand != "" {
		t.Errorf("test_command = %q after Load, want none", loaded.Autonomous.TestCommand)
	}
	short := load(t, user("autonomous.test_command = 'make test'"))
	long := load(t, user("[[validators]]\nname = 'test'\nrun = 'make test'"))
	if short.Digest() != long.Digest() {
		t.Error("the shorthand and what it stands for have different digests")
	}
	if got := short.Origin("validators"); got != "config.toml:1:12" {
		t.Errorf("origin of validators = %q, want that of test_command", got)
	}
}

func span(t *testing.T, text string) configs.Duration {
	t.Helper()
	var d configs.Duration
	if err := d.UnmarshalText([]byte(text)); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return d
}

func TestModel(t *testing.T) {
	loaded := load(t, user(`
[[model]]
provider = "openai"
model = "a"
price = { input = 0.1, output = "0.4" }
[[model]]
provider = "openai"
model = "b"
base_url = "http://127.0.0.1:8080/v1"
headers = { X-Title = "hob", HTTP-Referer = "https://example.org" }
price = { input = 1, output = 4.0, cache_read = 0, cache_write = 1.25 }
[[model]]
provider = "openai-compat"
model = "c"
base_url = "https://example.org/v1"
secret_ref = "file:/run/keys/c"
`))
	want := []configs.Model{
		{
			Provider: "openai", Model: "a", SecretRef: "env:OPENAI_API_KEY", Tools: "auto",
			Price: &configs.Price{Input: 100_000, Output: 400_000, CacheRead: 100_000, CacheWrite: 100_000},
		},
		{
			Provider: "openai", Model: "b", BaseURL: "http://127.0.0.1:8080/v1", Tools: "auto",
			Headers: map[string]string{"X-Title": "hob", "HTTP-Referer": "https://example.org"},
			Price:   &configs.Price{Input: 1_000_000, Output: 4_000_000, CacheWrite: 1_250_000},
		},
		{Provider: "openai-compat", Model: "c", BaseURL: "https://example.org/v1", SecretRef: "file:/run/keys/c", Tools: "auto"},
	}
	if diff := cmp.Diff(want, loaded.Model); diff != "" {
		t.Errorf("models (-want +got):\n%s", diff)
	}
	if got, want := loaded.Warnings, []string{"model[2] has no price: hob will refuse to call it"}; !slices.Equal(got, want) {
		t.Errorf("warnings = %q, want %q", got, want)
	}
	if got := loaded.Model[1].Price.CacheWrite.MicroUSD(); got != 1_250_000 {
		t.Errorf("MicroUSD() = %d, want 1250000", got)
	}
}

func TestPlainHTTPStaysAtHome(t *testing.T) {
	for url, ok := range map[string]bool{
		"http://localhost:1/v1": true, "http://127.0.0.1": true, "http://[::1]:8080/v1": true, "http://ollama:11434": true,
		"http://192.168.1.7/v1": true, "http://10.0.0.1": true, "http://gpu.local": true, "http://[fd00::1]": true,
		"https://example.org/v1": true,
		"http://example.org":     false, "http://8.8.8.8": false, "http://[2001:db8::1]": false, "http://172.32.0.1": false,
		"http://localhost.example.org": false, "//example.org": false, "https://": false, "https://u@example.org": false,
		"https://example.org/#k": false, "https://example.org:x": false,
	} {
		_, err := configs.Load(user(fmt.Sprintf("[[model]]\nprovider='openai'\nmodel='m'\nbase_url=%q", url)))
		if (err == nil) != ok {
			t.Errorf("base_url %s: Load error = %v, want accepted %t", url, err, ok)
		}
	}
}

func TestBranchNames(t *testing.T) {
	for name, ok := range map[string]bool{
		"agent-dev": true, "hob/{task}": true, "{task}": true, "hob/{task}-x": true, "a.b": true, "a@b": true, "größe": true, "a/-b": true,
		"": false, "HEAD": false, "@": false, "-a": false, "a..b": false, ".a": false, "a/.b": false, "a.lock": false, "a.lock/b": false,
		"a//b": false, "/a": false, "a/": false, "a.": false, "a b": false, "a~b": false, "a^b": false, "a:b": false, "a?": false,
		"a*": false, "a[b": false, `a\b`: false, "a@{b": false, "a\x7fb": false, "a\tb": false, "refs/heads/a": false,
		"{task}/{task}": false, "{item}": false, "{task": false, "hob/.{task}": false, "{task}.lock": false, "{task}..": false,
	} {
		_, err := configs.Load(configs.Layers{Flags: map[string]string{"autonomous.git_branch": name}})
		if (err == nil) != ok {
			t.Errorf("git_branch %q: Load error = %v, want accepted %t", name, err, ok)
		}
	}
}

func TestWarnings(t *testing.T) {
	want := []string{"budget.enabled is false: nothing limits what models cost"}
	if diff := cmp.Diff(want, load(t, user("budget.enabled = false")).Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

func TestProblemsHint(t *testing.T) {
	if got := refused(t, user("x = 1")).Hint(); !strings.Contains(got, "hob config check") {
		t.Errorf("Hint() = %q, want the command to type next", got)
	}
}

// A name of a variable is not mistaken for a key, or nobody could refer to it.
func TestVariableNamesThatResembleKeys(t *testing.T) {
	for _, name := range []string{"HF_TOKEN_FOR_THIS_PROJECT", "ASIA_REGION_KEY", "SK_KEY", "hf_token", "_", "X1"} {
		text := fmt.Sprintf("[[model]]\nprovider='openai'\nmodel='m'\nsecret_ref='env:%s'\n[secrets]\nenv=['%s']", name, name)
		if _, err := configs.Load(user(text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
