package configs

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	// Time zones are checked here, and minimal containers have no database of their own.
	_ "time/tzdata"
)

// A check tells what is wrong with the value of a key, and what to write instead. An empty
// what means nothing is wrong.
type check func(v any) (what, hint string)

// checks holds the rule of each key whose type alone doesn't say what it may be. The names of
// array elements end in [].
var checks = map[string]check{
	"autonomous.todo_path":              of(insideTree),
	"autonomous.status_path":            of(notInGitDir),
	"autonomous.interval":               of(interval),
	"autonomous.git_remote":             of(remoteName),
	"autonomous.git_branch":             of(branchPattern),
	"autonomous.command_timeout":        of(somethingLong),
	"autonomous.max_failures_per_state": atLeast(1),
	"autonomous.workers":                atLeast(1),
	"autonomous.stop_grace":             of(notNegative),

	"todo.mark": oneOf("auto", "branch", "trailer"),

	"schedule.cron[]":  of(notBlank),
	"schedule.quiet[]": of(notBlank),
	"schedule.tz":      of(timeZone),
	"schedule.missed":  oneOf("run_once", "skip"),

	"agent.max_turns":            atLeast(1),
	"agent.max_wall":             of(somethingLong),
	"agent.max_repair_attempts":  atLeast(0),
	"agent.repo_map_tokens":      atLeast(0),
	"agent.edit_format_override": oneOf("", "search_replace", "patch", "full_file"),

	"model.provider": oneOf("openai", "openai-responses", "anthropic", "google", "ollama", "openrouter",
		"openai-compat", "script", "cassette"),
	"model.base_url":          of(baseURL),
	"model.secret_ref":        of(secretRef),
	"model.context_window":    atLeast(0),
	"model.max_output":        atLeast(0),
	"model.tools":             oneOf("auto", "native", "text"),
	"model.edit_format":       oneOf("", "search_replace", "patch", "full_file"),
	"model.price.input":       of(noDebt),
	"model.price.output":      of(noDebt),
	"model.price.cache_read":  of(noDebt),
	"model.price.cache_write": of(noDebt),

	"budget.per_run_usd":    of(noDebt),
	"budget.per_item_usd":   of(noDebt),
	"budget.daily_usd":      of(noDebt),
	"budget.monthly_usd":    of(noDebt),
	"budget.warn_pct":       between(1, 100),
	"budget.on_limit":       oneOf("pause", "downgrade", "stop"),
	"budget.unknown_price":  oneOf("refuse", "tokens_only"),
	"budget.per_run_tokens": atLeast(0),
	"budget.timezone":       of(timeZone),

	"validators.name":    of(validatorName),
	"validators.timeout": of(somethingLong),
	"validators.idle":    of(notNegative),
	"validators.paths[]": of(notBlank),

	"setup.run[]":     of(notBlank),
	"setup.network[]": of(notBlank),
	"setup.on_change": oneOf("park", "run"),
	"setup.timeout":   of(somethingLong),

	"services.timeout": of(somethingLong),

	"sandbox.mode":    oneOf("strict", "best-effort", "off"),
	"sandbox.network": oneOf("none", "loopback", "host"),
	"sandbox.ro[]":    of(notBlank),
	"sandbox.rw[]":    of(notBlank),
	"sandbox.memory":  of(someBytes),
	"sandbox.pids":    atLeast(1),
	"sandbox.cache":   oneOf("repo", "shared"),

	"scope.paths[]":     of(notBlank),
	"scope.protected[]": of(notBlank),
	"scope.max_files":   atLeast(1),
	"scope.max_lines":   atLeast(1),

	"git.base":         of(optionalBranch),
	"git.author_name":  of(identity),
	"git.author_email": of(identity),
	"git.slots_keep":   of(notNegative),

	// Below 1 KiB not even a test's failure would be kept; above 64 MiB a journal line is no line.
	"journal.max_payload_bytes": between(1<<10, 64<<20),
	"journal.failure_mode":      oneOf("warn", "fail"),
	"journal.retention":         of(notNegative),

	"taste.min_confidence": of(probability),
	"taste.max_items":      atLeast(0),

	"secrets.env[]":   of(variableName),
	"secrets.allow[]": of(notBlank),

	"log.format": oneOf("auto", "tint", "json", "journald"),
	"log.level":  oneOf("debug", "info", "warn", "error"),
}

// of gives a rule about one type the form the table needs.
func of[T any](rule func(T) (what, hint string)) check {
	return func(v any) (string, string) { return rule(v.(T)) }
}

func oneOf(words ...string) check {
	return of(func(word string) (what, hint string) {
		if slices.Contains(words, word) {
			return "", ""
		}
		choice := strings.Join(slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w == "" }), ", ")
		return fmt.Sprintf("%s is not one of %s", quote(word), choice), didYouMean(word, words)
	})
}

func atLeast(least int) check {
	return of(func(n int) (what, hint string) {
		if n >= least {
			return "", ""
		}
		return fmt.Sprintf("%d is less than %d", n, least), ""
	})
}

func between(least, most int) check {
	return of(func(n int) (what, hint string) {
		if least <= n && n <= most {
			return "", ""
		}
		return fmt.Sprintf("%d is not between %d and %d", n, least, most), ""
	})
}

func notNegative(d Duration) (what, hint string) {
	if d.Duration < 0 {
		return quote(d.String()) + " is negative", ""
	}
	return "", ""
}

func somethingLong(d Duration) (what, hint string) {
	if d.Duration == 0 {
		return "must be longer than 0", ""
	}
	return notNegative(d)
}

// interval keeps a typing slip from turning the daemon into a busy loop.
func interval(d Duration) (what, hint string) {
	if 0 < d.Duration && d.Duration < time.Second {
		return quote(d.String()) + " is shorter than a second", `write "0" to sweep only on events`
	}
	return notNegative(d)
}

func noDebt(u USD) (what, hint string) {
	if u < 0 {
		return u.String() + " is negative", ""
	}
	return "", ""
}

func someBytes(s Size) (what, hint string) {
	if s == 0 {
		return "must be more than 0", ""
	}
	return "", ""
}

func probability(x float64) (what, hint string) {
	if x >= 0 && x <= 1 {
		return "", ""
	}
	return "is not between 0 and 1", "" // also when it is not a number
}

func notBlank(s string) (what, hint string) {
	if strings.TrimSpace(s) == "" {
		return "is empty", ""
	}
	return noControl(s)
}

// noControl refuses characters that have no business in a path, a name or a pattern.
func noControl(s string) (what, hint string) {
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "has a control character", ""
	}
	return "", ""
}

func timeZone(name string) (what, hint string) {
	if name == "" {
		return "is empty", `use "Local", "UTC" or a name such as "Europe/Berlin"`
	}
	if _, err := time.LoadLocation(name); err != nil {
		return quote(name) + " is not a time zone", `use "Local", "UTC" or a name such as "Europe/Berlin"`
	}
	return "", ""
}

// insideTree takes a slash path below the root of the work tree, on every system.
func insideTree(name string) (what, hint string) {
	switch {
	case name == "" || name == ".":
		return "is empty", ""
	case path.IsAbs(name), strings.Contains(name, `\`), !within(name):
		return quote(name) + " is not a path inside the work tree", `write it as "docs/TODO.md"`
	}
	return notInGitDir(name)
}

func within(name string) bool {
	clean := path.Clean(name)
	return clean != ".." && !strings.HasPrefix(clean, "../")
}

// notInGitDir keeps hob's own files out of git's folder, whose files git runs and reads.
func notInGitDir(name string) (what, hint string) {
	inside := slices.ContainsFunc(strings.FieldsFunc(name, func(r rune) bool { return r == '/' || r == '\\' }),
		func(part string) bool { return strings.EqualFold(part, ".git") })
	if inside {
		return "lies in a .git folder", ""
	}
	return noControl(name)
}

// A validator's name is written in TODO.md attributes and file names, so it is one word.
func validatorName(name string) (what, hint string) {
	bad := strings.Trim(name, bareKeyChars+".") != "" || len(name) > 64
	if bad || name == "" || strings.Trim(name[:1], "._-") == "" {
		return quote(name) + " is not a name", "use 1 to 64 letters, digits and . _ - , a letter or digit first"
	}
	return "", ""
}

func variableName(name string) (what, hint string) {
	if looksLikeSecret(name) {
		return "is a secret, not the name of a variable", "name the variable that holds it"
	}
	digitFirst := name != "" && name[0] >= '0' && name[0] <= '9'
	if name == "" || digitFirst || strings.Trim(strings.ReplaceAll(name, "-", " "), bareKeyChars) != "" {
		return "is not the name of an environment variable", ""
	}
	return "", ""
}

// identity takes what git writes before or between the <> of an author (git-commit(1),
// COMMIT INFORMATION); it would silently drop the characters refused here.
func identity(text string) (what, hint string) {
	if strings.ContainsAny(text, "<>\n\x00") {
		return "has a character git leaves out of names: < > or a line break", ""
	}
	return notBlank(text)
}

// complete derives what follows from several settings and checks them together.
func (l *Loaded) complete(r *report) {
	l.addTestCommand(r)
	for i := range l.Validators {
		if l.Validators[i].Timeout.Duration == 0 {
			l.Validators[i].Timeout = l.Autonomous.CommandTimeout
		}
	}
	l.checkBudget(r)
}

func (l *Loaded) addTestCommand(r *report) {
	const key = "autonomous.test_command"
	command := l.Autonomous.TestCommand
	if command == "" {
		return
	}
	if slices.ContainsFunc(l.Validators, func(v Validator) bool { return strings.EqualFold(v.Name, "test") }) {
		l.refuse(r, key, `stands beside a validator named "test"`, "keep one of the two")
		return
	}
	_, test, _ := elementDefaults()
	test.Name, test.Run = "test", command
	l.Validators = append([]Validator{test}, l.Validators...)
	l.Autonomous.TestCommand = ""
	l.origins["validators"] = l.origins[key]
}

// checkBudget refuses policies that read like a limit and are none.
func (l *Loaded) checkBudget(r *report) {
	b := l.Budget
	if !b.Enabled {
		return
	}
	if b.PerRunUSD == 0 && b.PerItemUSD == 0 && b.DailyUSD == 0 && b.MonthlyUSD == 0 && b.PerRunTokens == 0 {
		// Blame the setting that came last: it made the others' absence matter.
		keys := []string{"budget.per_run_usd", "budget.per_item_usd", "budget.daily_usd", "budget.monthly_usd", "budget.enabled"}
		last := slices.MaxFunc(keys, func(a, b string) int {
			x, y := l.origins[a], l.origins[b]
			return cmp.Or(cmp.Compare(x.layer, y.layer), cmp.Compare(x.at.line, y.at.line))
		})
		l.refuse(r, last, "the budget is enabled and all its limits are 0", "set one limit, or enabled = false")
	}
	if b.OnLimit == "downgrade" && b.DowngradeModel == "" {
		l.refuse(r, "budget.on_limit", `"downgrade" needs a downgrade_model`, "")
	}
}

// refuse reports a problem at the place a key's value came from.
func (l *Loaded) refuse(r *report, key, what, hint string) {
	o := l.from(key)
	p := Problem{File: o.source, Line: o.at.line, Col: o.at.col, Key: cmp.Or(o.name, key), What: what, Hint: hint}
	r.add(o.layer, p)
}

// warnings tells of settings that are valid and perhaps not meant.
func warnings(l *Loaded) []string {
	var all []string
	if !l.Budget.Enabled {
		all = append(all, "budget.enabled is false: nothing limits what models cost")
	}
	for i, m := range l.Model {
		if m.Price == nil && m.Provider != "script" && l.Budget.UnknownPrice == "refuse" {
			all = append(all, fmt.Sprintf("model[%d] has no price: hob will refuse to call it", i))
		}
	}
	return all
}
