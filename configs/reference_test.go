package configs_test

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"

	"hob/configs"
)

// exampleLine is a commented-out line of TOML; prose has a space after the number sign.
var exampleLine = regexp.MustCompile(`(?m)^#(\S)`)

// The reference has every key of the struct and no other, array tables included.
func TestReferenceHasExactlyTheKeys(t *testing.T) {
	text := exampleLine.ReplaceAll(configs.Reference(), []byte("$1"))
	var tree map[string]any
	if err := toml.Unmarshal(text, &tree); err != nil {
		t.Fatalf("reference with its examples: %v", err)
	}
	written := flatten("", tree)
	known := fields("", reflect.TypeFor[configs.Config]())
	slices.Sort(written)
	slices.Sort(known)
	if diff := cmp.Diff(known, written); diff != "" {
		t.Errorf("keys (-struct +reference):\n%s", diff)
	}
}

func flatten(prefix string, v any) []string {
	var all []string
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 {
			return []string{prefix}
		}
		for key, value := range v {
			all = append(all, flatten(prefix+"."+key, value)...)
		}
	case []any:
		if len(v) > 0 {
			if table, ok := v[0].(map[string]any); ok {
				return flatten(prefix, table)
			}
		}
		return []string{prefix}
	default:
		return []string{prefix}
	}
	return all
}

func fields(prefix string, t reflect.Type) []string {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t == reflect.TypeFor[configs.Duration]() {
		return []string{prefix}
	}
	var all []string
	for field := range t.Fields() {
		all = append(all, fields(prefix+"."+field.Tag.Get("toml"), field.Type)...)
	}
	return all
}

// Every key is explained: a comment stands above it or above the keys it stands with, and
// each key of an example has its line in the list before it.
func TestReferenceExplainsEveryKey(t *testing.T) {
	explained := map[string]bool{}
	commented := false
	key := regexp.MustCompile(`^#?([a-z_]+) = `)
	listed := regexp.MustCompile(`^# ([a-z_]+)  +\S`)
	for number, line := range lines(string(configs.Reference())) {
		switch {
		case listed.MatchString(line):
			explained[listed.FindStringSubmatch(line)[1]] = true
		case strings.HasPrefix(line, "# "):
			commented = true
		case strings.HasPrefix(line, "[") || strings.HasPrefix(line, "#[["):
			if strings.HasPrefix(line, "[") {
				explained = map[string]bool{}
			}
		case line == "":
			commented = false
		case key.MatchString(line):
			name := key.FindStringSubmatch(line)[1]
			if strings.HasPrefix(line, "#") && !explained[name] {
				t.Errorf("line %d: %s has no line in the list above its example", number+1, name)
			}
			if !strings.HasPrefix(line, "#") && !commented && name != "enabled" {
				t.Errorf("line %d: %s has no comment", number+1, name)
			}
		}
	}
}

// The defaults are a contract with the documentation; a change here is a change for users.
func TestDefaults(t *testing.T) {
	second := func(text string) configs.Duration { return span(t, text) }
	want := configs.Config{
		Autonomous: configs.Autonomous{
			TodoPath: "TODO.md", Interval: second("5m"), GitRemote: "origin", GitBranch: "agent-dev",
			CommandTimeout: second("15m"), MaxFailuresPerState: 3, Workers: 1, StopGrace: second("90s"),
		},
		Todo:     configs.Todo{Mark: "auto"},
		Schedule: configs.Schedule{TZ: "Local", Missed: "run_once"},
		Agent:    configs.Agent{MaxTurns: 40, MaxWall: second("45m"), MaxRepairAttempts: 2, RepoMapTokens: 2048},
		Budget: configs.Budget{
			Enabled: true, PerRunUSD: 1_000_000, PerItemUSD: 2_000_000, DailyUSD: 10_000_000,
			WarnPct: 80, OnLimit: "pause", UnknownPrice: "refuse", Timezone: "Local",
		},
		Setup:   configs.Setup{OnChange: "park", Timeout: second("15m")},
		Sandbox: configs.Sandbox{Mode: "strict", Network: "loopback", Memory: 4 << 30, Pids: 1024, Cache: "repo"},
		Scope:   configs.Scope{MaxFiles: 40, MaxLines: 1500},
		Git:     configs.Git{AuthorName: "hob", AuthorEmail: "hob@localhost", SlotsKeep: second("7d")},
		Journal: configs.Journal{
			MaxPayloadBytes: 65536, RecordContent: true, FailureMode: "warn", PushLog: true, Retention: second("90d"),
		},
		Taste: configs.Taste{Enabled: true, MinConfidence: 0.5, MaxItems: 10},
		Log:   configs.Log{Format: "auto", Level: "info"},
	}
	if diff := cmp.Diff(want, configs.Default()); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
}

// Somebody who copies the whole reference as a start changes nothing.
func TestReferenceIsAValidFile(t *testing.T) {
	copied := load(t, user(string(configs.Reference())))
	if copied.Digest() != load(t, configs.Layers{}).Digest() {
		t.Error("the reference as a user's file changes settings")
	}
	own := configs.Reference()
	clear(own)
	if len(configs.Reference()) == 0 || configs.Reference()[0] == 0 {
		t.Error("changing a copy of the reference changed the reference")
	}
}

func TestExamplesShowTheDefaultsOfEntries(t *testing.T) {
	loaded := load(t, user("[[model]]\nprovider = 'openai'\nmodel = 'm'\n[[validators]]\nname = 'test'\nrun = 'go test ./...'"))
	text := string(configs.Reference())
	v := loaded.Validators[0]
	for _, line := range []string{
		"#required = true", `#timeout = "` + v.Timeout.String() + `"`, `#idle = "` + v.Idle.String() + `"`,
		`#tools = "` + loaded.Model[0].Tools + `"`, `#secret_ref = "` + loaded.Model[0].SecretRef + `"`,
	} {
		if !strings.Contains(text, "\n"+line+"\n") {
			t.Errorf("no line %s in the reference", line)
		}
	}
	if !v.Required {
		t.Error("a validator is not required by default")
	}
}
