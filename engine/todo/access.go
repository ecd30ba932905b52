package todo

import "time"

// Priority is the rank for claiming: 0 urgent, 1 high, 2 normal (the default), 3 low.
func (it Item) Priority() int {
	for rank, name := range priorities {
		if it.Attrs["priority"] == name {
			return rank
		}
	}
	return 2
}

// BudgetMicroUSD is the most that all runs of the item may cost, in millionths
// of a dollar; ok is false when the item sets none. Whether it is below the
// configured budget is the caller's to check.
func (it Item) BudgetMicroUSD() (micro int64, ok bool) {
	return microUSD(it.text("budget"))
}

// MaxTurns is the most model turns of a run; 0 when the item sets none.
func (it Item) MaxTurns() int { return it.count("max-turns") }

// Attempts is the most attempts; 0 when the item sets none.
func (it Item) Attempts() int { return it.count("attempts") }

// Timeout is the most wall time of a run; 0 when the item sets none.
func (it Item) Timeout() time.Duration {
	d, _ := duration(it.text("timeout"))
	return d
}

// Model is the id of the model asked for, "" when the item sets none.
func (it Item) Model() string { return it.text("model") }

// Validators are names to be required besides the configured ones. Whether they
// exist is the caller's to check.
func (it Item) Validators() []string { return it.list("validators") }

// Paths are globs that narrow what the item may change; none means no narrowing.
func (it Item) Paths() []string { return it.list("paths") }

// Depends are ids of items that must have landed first. All of them exist in
// the file unless the item is blocked.
func (it Item) Depends() []string { return it.list("depends") }

// Run is the command of an item that needs no model, "" for all others.
func (it Item) Run() string { return it.text("run") }

// After is the time before which the item waits, zero when the item sets none.
// A date or time without an offset is one of this machine's zone.
func (it Item) After() time.Time {
	t, _ := instant(it.text("after"), time.Local)
	return t
}

// Every is the cron spec of a recurring item, "" for all others. Only its shape
// is checked here.
func (it Item) Every() string { return it.text("every") }

// Base is the branch or commit to start from, "" when the item sets none.
func (it Item) Base() string { return it.text("base") }

// Tests is "frozen", "extend" or "edit", "" when the item sets none.
func (it Item) Tests() string { return it.text("tests") }

// Split is true when the children are tasks of their own, in order.
func (it Item) Split() bool { return it.flag("split") }

func (it Item) flag(key string) bool {
	v, _ := it.Attrs[key].(bool)
	return v
}

func (it Item) text(key string) string {
	v, _ := it.Attrs[key].(string)
	return v
}

func (it Item) count(key string) int {
	v, _ := it.Attrs[key].(int)
	return v
}

func (it Item) list(key string) []string {
	v, _ := it.Attrs[key].([]string)
	return v
}
