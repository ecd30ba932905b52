package configs_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/configs"
)

func TestUntrustedRepository(t *testing.T) {
	tests := []struct {
		name, user, repository string
		untrusted              []string
		key, want              string // a setting and its effective value
	}{
		{
			"what runs commands", "", "[autonomous]\ntest_command = 'x'\ncommand_timeout = '1m'\ngit_branch = 'free'\n[agent]\nsystem_prompt_file = 'x'\n[[model]]\nprovider = 'script'\nscript = 'x'",
			[]string{"agent.system_prompt_file", "autonomous.command_timeout", "autonomous.test_command", "model"},
			"autonomous.git_branch", `"free"`,
		},
		{
			"validators", "[[validators]]\nname = 'mine'\nrun = 'true'", "[[validators]]\nname = 'theirs'\nrun = 'true'",
			[]string{"validators"},
			"validators", `[{name = "mine", run = "true", required = true, timeout = "15m", idle = "5m", fail_fast = false, accept_mutations = false}]`,
		},
		{"what changes nothing", "", "validators = []\n[autonomous]\ncommand_timeout = '900s'\n[sandbox]\nmode = 'strict'", nil, "validators", "[]"},
		{"sandbox off", "", "sandbox.mode = 'off'", []string{"sandbox.mode"}, "sandbox.mode", `"strict"`},
		{"sandbox best-effort", "", "sandbox.mode = 'best-effort'", []string{"sandbox.mode"}, "sandbox.mode", `"strict"`},
		{"sandbox tighter than the user's", "sandbox.mode = 'off'", "sandbox.mode = 'best-effort'", nil, "sandbox.mode", `"best-effort"`},
		{"sandbox strict", "sandbox.mode = 'off'", "sandbox.mode = 'strict'", nil, "sandbox.mode", `"strict"`},
		{"sandbox as the user has it", "sandbox.mode = 'off'", "sandbox.mode = 'off'", nil, "sandbox.mode", `"off"`},
		{"shared caches", "", "sandbox.cache = 'shared'", []string{"sandbox.cache"}, "sandbox.cache", `"repo"`},
		{"own caches", "sandbox.cache = 'shared'", "sandbox.cache = 'repo'", nil, "sandbox.cache", `"repo"`},
		{"status inside", "", "autonomous.status_path = 'out/status.toml'", []string{"autonomous.status_path"}, "autonomous.status_path", `""`},
		{"status outside", "", "autonomous.status_path = '/home/u/.profile'", []string{"autonomous.status_path"}, "autonomous.status_path", `""`},
		{"status above", "", "autonomous.status_path = 'a/../../x'", []string{"autonomous.status_path"}, "autonomous.status_path", `""`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			layers := repository(tt.repository, false)
			layers.User = &configs.File{Name: "config.toml", Data: []byte(tt.user)}
			loaded := load(t, layers)
			if diff := cmp.Diff(tt.untrusted, loaded.Untrusted); diff != "" {
				t.Errorf("untrusted (-want +got):\n%s", diff)
			}
			if got := setting(loaded, tt.key).Value; got != tt.want {
				t.Errorf("%s = %s, want %s", tt.key, got, tt.want)
			}
			layers.Trusted = true
			trusted := load(t, layers)
			if trusted.Untrusted != nil {
				t.Errorf("untrusted = %q although trusted", trusted.Untrusted)
			}
			if (trusted.Digest() != loaded.Digest()) != (tt.untrusted != nil) {
				t.Error("trust must change the configuration exactly if a key was held back")
			}
		})
	}
}

func setting(l *configs.Loaded, key string) configs.Setting {
	for _, s := range l.Settings() {
		if s.Key == key {
			return s
		}
	}
	return configs.Setting{}
}

// Keys that aren't available yet are held back by the same rules, which only show beside the
// problem: none of them may get through as valid.
func TestRepositoryCannotLoosenTheSandbox(t *testing.T) {
	for _, text := range []string{"network = 'host'", "ro = ['/']", "rw = ['/']", "memory = '8GiB'", "pids = 4096"} {
		if _, err := configs.Load(repository("[sandbox]\n"+text, false)); err == nil {
			t.Errorf("%s loaded from an untrusted repository", text)
		}
	}
}

func TestUserOnlyKeys(t *testing.T) {
	for _, trusted := range []bool{false, true} {
		got := refused(t, repository("[todo]\nallow_run = true\n[git]\nsign = ''\n[secrets]\nenv = ['A']", trusted))
		want := []string{
			"hob.toml:2:1: todo.allow_run: does not count in a repository's file, set it in your own config.toml",
			"hob.toml:2:13: todo.allow_run: true is not available yet, leave it false",
			"hob.toml:6:1: secrets.env: does not count in a repository's file, set it in your own config.toml",
		}
		if diff := cmp.Diff(want, lines(got.Error())); diff != "" {
			t.Errorf("trusted %t: problems (-want +got):\n%s", trusted, diff)
		}
	}
	// A copy of the reference says nothing and may stay.
	load(t, repository(string(configs.Reference()), false))
	loaded := load(t, user("secrets.env = ['A']"))
	if diff := cmp.Diff([]string{"A"}, loaded.Secrets.Env); diff != "" {
		t.Errorf("secrets.env of the user (-want +got):\n%s", diff)
	}
}

func TestUntrustedValuesAreStillChecked(t *testing.T) {
	got := refused(t, repository("autonomous.test_command = 5", false)).Error()
	if want := "expected string, got integer"; !strings.Contains(got, want) {
		t.Errorf("problems = %q, want %q among them", got, want)
	}
}

func TestHigherLayerMakesTrustMoot(t *testing.T) {
	layers := repository("sandbox.mode = 'off'", false)
	layers.Env = []string{"HOB_SANDBOX__MODE=best-effort"}
	loaded := load(t, layers)
	if len(loaded.Untrusted) != 0 || loaded.Sandbox.Mode != "best-effort" {
		t.Errorf("untrusted = %q, mode = %q; want none and the environment's", loaded.Untrusted, loaded.Sandbox.Mode)
	}
}
