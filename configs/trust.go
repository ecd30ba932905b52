package configs

import (
	"reflect"
	"slices"
)

// userOnly lists keys that never count in a repository's file, trusted or not: they run
// commands from a text anyone can edit, sign with the user's key, or read the user's
// environment.
var userOnly = map[string]bool{
	"todo.allow_run": true,
	"git.sign":       true,
	"secrets.env":    true,
}

// trustOnly lists keys of a repository's file that count only when the user trusted it: they
// start commands, decide when one is stopped, speak to the model, or send keys somewhere.
var trustOnly = map[string]bool{
	"autonomous.test_command":    true,
	"autonomous.command_timeout": true,
	"agent.system_prompt_file":   true,
	"model":                      true,
	"validators":                 true,
	"setup.run":                  true,
	"setup.network":              true,
	"setup.on_change":            true,
	"setup.timeout":              true,
	"services":                   true,
}

// loosens lists keys that a repository may tighten freely and loosen only when trusted.
// Each tells whether wanted gives commands more than held, which is what the user has.
var loosens = map[string]func(held, wanted any) bool{
	"sandbox.mode":    rising("strict", "best-effort", "off"),
	"sandbox.network": rising("none", "loopback", "host"),
	"sandbox.ro":      adding,
	"sandbox.rw":      adding,
	"sandbox.memory":  func(held, wanted any) bool { return wanted.(Size) > held.(Size) },
	"sandbox.pids":    func(held, wanted any) bool { return wanted.(int) > held.(int) },
	// Caches shared between repositories let one repository's build prepare another's.
	"sandbox.cache": rising("repo", "shared"),
	// Wherever it is, a status file replaces what was there.
	"autonomous.status_path": func(_, wanted any) bool { return wanted.(string) != "" },
}

// needsTrust tells whether a repository's value for a key waits for the user's trust. One that
// changes nothing about what the user has does not.
func needsTrust(key string, held, wanted reflect.Value) bool {
	if reflect.DeepEqual(held.Interface(), wanted.Interface()) {
		return false
	}
	if loosen, ok := loosens[key]; ok {
		return loosen(held.Interface(), wanted.Interface())
	}
	return trustOnly[key]
}

func rising(order ...string) func(held, wanted any) bool {
	return func(held, wanted any) bool {
		return slices.Index(order, wanted.(string)) > slices.Index(order, held.(string))
	}
}

func adding(held, wanted any) bool {
	return slices.ContainsFunc(wanted.([]string), func(path string) bool {
		return !slices.Contains(held.([]string), path)
	})
}
