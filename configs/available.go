package configs

import (
	"reflect"
	"slices"
	"strings"
)

// A later is a key of which hob can't do everything yet. The default is always accepted.
type later struct {
	also []string // further values that work, as text
	hint string
}

// notYet lists the keys whose effect isn't built, or not for every value. A value that would
// silently do nothing is refused: who sets a limit must be able to rely on it.
var notYet = map[string]later{
	"autonomous.workers":          {hint: "items are worked one at a time: leave it at 1"},
	"todo.allow_run":              {hint: "leave it false"},
	"schedule.quiet":              {hint: "choose the hours with cron"},
	"schedule.missed":             {hint: `use "run_once"`},
	"agent.edit_format_override":  {[]string{"search_replace", "full_file"}, `use "search_replace" or "full_file"`},
	"agent.repo_map_tokens":       {[]string{"0"}, "leave it out: no map is built yet"},
	"model.provider":              {[]string{"openai", "openai-compat", "script"}, `use "openai-compat" with the base_url of its compatible endpoint`},
	"model.edit_format":           {[]string{"search_replace", "full_file"}, `use "search_replace" or "full_file"`},
	"budget.on_limit":             {hint: `use "pause"`},
	"budget.downgrade_model":      {hint: `leave it out and use on_limit = "pause"`},
	"budget.unknown_price":        {hint: `use "refuse" and give the model a price`},
	"budget.per_run_tokens":       {hint: "limit money with per_run_usd"},
	"validators.accept_mutations": {hint: "let the validator only check, not write"},
	"setup.run":                   {hint: "install what validators need beforehand"},
	"setup.network":               {hint: "leave it out"},
	"setup.on_change":             {hint: "leave it out"},
	"setup.timeout":               {hint: "leave it out"},
	"services":                    {hint: "start it in the validator's own command"},
	"sandbox.mode":                {[]string{"best-effort", "off"}, ""},
	"sandbox.network":             {hint: "leave it out"},
	"sandbox.ro":                  {hint: "leave it out"},
	"sandbox.rw":                  {hint: "leave it out"},
	"sandbox.memory":              {hint: "leave it out"},
	"sandbox.pids":                {hint: "leave it out"},
	"scope.paths":                 {hint: "leave it out: nothing limits the paths yet"},
	"scope.protected":             {hint: "leave it out"},
	"scope.max_files":             {hint: "leave it out"},
	"scope.max_lines":             {hint: "leave it out"},
	"git.sign":                    {hint: "leave it out: commits are not signed yet"},
	"git.slots_keep":              {hint: "leave it out"},
	"journal.failure_mode":        {hint: `use "warn"`},
	"journal.push_log":            {hint: "leave it out: no log is pushed yet"},
	"journal.retention":           {hint: "leave it out: nothing is deleted yet"},
	"taste.enabled":               {hint: "leave it out: nothing is learned yet"},
	"taste.min_confidence":        {hint: "leave it out: nothing is learned yet"},
	"taste.max_items":             {hint: "leave it out: nothing is learned yet"},
	"taste.enforce":               {hint: "leave it out: nothing is learned yet"},
	"secrets.allow":               {hint: "leave it out"},
	"log.format":                  {[]string{"tint", "json"}, `use "auto", "tint" or "json"`},
}

// unavailable says that a value has no effect yet; was is the key's default.
func unavailable(rule string, v, was reflect.Value) (what, hint string) {
	key, ok := notYet[rule]
	text := render(v)
	if !ok || text == render(was) || slices.Contains(key.also, strings.Trim(text, `"`)) {
		return "", ""
	}
	switch v.Kind() {
	case reflect.String:
		return quote(v.String()) + " is not available yet", key.hint
	case reflect.Slice:
		return "is not available yet", key.hint
	default:
		return strings.Trim(text, `"`) + " is not available yet", key.hint
	}
}
