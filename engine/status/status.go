// Package status is the file that tells a person, or a monitor, how hob is doing.
//
// hob writes it; everybody else polls it. It is derived from the tasks and the
// journal and never read back as truth: a daemon that reads its own status file
// loses a pause the day the file can't be read. One atomic replacement per
// change, and at least one per heartbeat, so that "old" means "not running".
//
// A reader should ignore keys it does not know, refuse another schema, and call
// the file stale after three heartbeats: [Parse] and [Report.Check] do. The key order is fixed, so that two versions differ only where
// something happened. What hob does not know is absent; nothing is made up.
package status

import (
	"strconv"
	"strings"
	"time"
)

// Schema is the version of the file. It grows only when an old reader would
// misread a new file; new keys don't count.
const Schema = 1

// MaxBytes bounds the rendered file, so that a reader can read it in one go.
const MaxBytes = 64 << 10

// A State says what the daemon as a whole is doing.
type State string

// The states of the daemon.
const (
	Starting  State = "starting"
	Idle      State = "idle"
	Working   State = "working"
	Throttled State = "throttled" // every provider asks to wait
	Paused    State = "paused"    // a person, or a budget, stopped the claiming
	Degraded  State = "degraded"  // running, but something of hob's own is missing
	Stopping  State = "stopping"
	Stopped   State = "stopped"
	Error     State = "error" // ended by an error; Reason names it
)

// A Report is the content of the file. Its fields are in the order of the keys,
// and the JSON of a Report has the same names.
type Report struct {
	Schema     int       `toml:"schema" json:"schema"`           // Render writes [Schema]
	Seq        int64     `toml:"seq" json:"seq"`                 // one more with each write of one boot
	Boot       string    `toml:"boot" json:"boot"`               // id of this start of the daemon
	PID        int       `toml:"pid" json:"pid"`                 //
	Version    string    `toml:"version" json:"version"`         // of hob
	WrittenAt  time.Time `toml:"written_at" json:"written_at"`   //
	HeartbeatS int       `toml:"heartbeat_s" json:"heartbeat_s"` // seconds between two writes at most
	State      State     `toml:"state" json:"state"`
	StateSince time.Time `toml:"state_since,omitzero" json:"state_since,omitzero"`
	Reason     string    `toml:"reason" json:"reason"`
	NextWake   time.Time `toml:"next_wake,omitzero" json:"next_wake,omitzero"`
	Truncated  bool      `toml:"truncated,omitempty" json:"truncated,omitempty"` // lists were cut to fit

	Repo        Repo        `toml:"repo,omitzero" json:"repo,omitzero"`
	Todo        Todo        `toml:"todo,omitzero" json:"todo,omitzero"`
	Schedule    Schedule    `toml:"schedule,omitzero" json:"schedule,omitzero"`
	Budget      Budget      `toml:"budget,omitzero" json:"budget,omitzero"`
	Counts      Counts      `toml:"counts" json:"counts"`
	Current     []Current   `toml:"current,omitempty" json:"current,omitempty"`
	LastSuccess LastSuccess `toml:"last_success,omitzero" json:"last_success,omitzero"`
	Task        []Task      `toml:"task,omitempty" json:"task,omitempty"`
	Validator   []Validator `toml:"validator,omitempty" json:"validator,omitempty"`
	Attention   []Attention `toml:"attention,omitempty" json:"attention,omitempty"`
	Journal     Journal     `toml:"journal,omitzero" json:"journal,omitzero"`
}

// Repo says where the work happens.
type Repo struct {
	Root       string `toml:"root" json:"root"`
	Base       string `toml:"base,omitempty" json:"base,omitempty"` // branch
	BaseCommit string `toml:"base_commit,omitempty" json:"base_commit,omitempty"`
	Behind     int    `toml:"behind,omitempty" json:"behind,omitempty"` // commits of the base that the agent branch lacks
	Remote     string `toml:"remote,omitempty" json:"remote,omitempty"`
}

// Todo is the last reading of the TODO file.
type Todo struct {
	Path        string    `toml:"path" json:"path"`
	SHA256      string    `toml:"sha256" json:"sha256"`
	ReadAt      time.Time `toml:"read_at,omitzero" json:"read_at,omitzero"`
	Open        int       `toml:"open" json:"open"`
	Done        int       `toml:"done" json:"done"`
	Held        int       `toml:"held" json:"held"`
	Diagnostics int       `toml:"diagnostics" json:"diagnostics"`
	Stale       bool      `toml:"stale" json:"stale"` // the file can't be read now; this is the last good reading
}

// Schedule is the next and the last planned time, where there is a plan.
type Schedule struct {
	Spec     string    `toml:"spec" json:"spec"`
	TZ       string    `toml:"tz" json:"tz"`
	LastSlot time.Time `toml:"last_slot,omitzero" json:"last_slot,omitzero"`
	NextSlot time.Time `toml:"next_slot,omitzero" json:"next_slot,omitzero"`
	Skipped  int       `toml:"skipped" json:"skipped"`
}

// Budget is today's money.
type Budget struct {
	Currency  string `toml:"currency" json:"currency"`
	Day       string `toml:"day" json:"day"` // 2006-01-02, in the budget's time zone
	Spent     USD    `toml:"spent" json:"spent"`
	Reserved  USD    `toml:"reserved" json:"reserved"`
	Limit     USD    `toml:"limit" json:"limit"`         // 0 is none
	Estimated bool   `toml:"estimated" json:"estimated"` // some usage was not told and had to be guessed
}

// Counts of tasks by state. FailedAttempts is of those that have not landed,
// on the work as it is now.
type Counts struct {
	Queued         int `toml:"queued" json:"queued"`
	Waiting        int `toml:"waiting" json:"waiting"`
	Blocked        int `toml:"blocked" json:"blocked"`
	Paused         int `toml:"paused" json:"paused"`
	Running        int `toml:"running" json:"running"` // under way in any step
	Committed      int `toml:"committed" json:"committed"`
	Pushed         int `toml:"pushed" json:"pushed"`
	FailedAttempts int `toml:"failed_attempts" json:"failed_attempts"`
}

// Current is a task at work, one for each busy slot.
type Current struct {
	ID           string    `toml:"id" json:"id"`
	Text         string    `toml:"text" json:"text"`
	State        string    `toml:"state" json:"state"`
	Run          string    `toml:"run" json:"run"`
	Attempt      int       `toml:"attempt" json:"attempt"`
	MaxAttempts  int       `toml:"max_attempts,omitempty" json:"max_attempts,omitempty"`
	Since        time.Time `toml:"since" json:"since"`
	Deadline     time.Time `toml:"deadline,omitzero" json:"deadline,omitzero"`
	Cost         USD       `toml:"cost" json:"cost"` // the item's whole life
	Branch       string    `toml:"branch,omitempty" json:"branch,omitempty"`
	Step         string    `toml:"step,omitempty" json:"step,omitempty"`
	LastProgress time.Time `toml:"last_progress,omitzero" json:"last_progress,omitzero"`
}

// LastSuccess is the newest commit that reached every target.
type LastSuccess struct {
	ID     string    `toml:"id" json:"id"`
	Commit string    `toml:"commit" json:"commit"`
	Branch string    `toml:"branch" json:"branch"`
	At     time.Time `toml:"at" json:"at"`
}

// Task is one line on an item that is not at its end, or came to it lately.
type Task struct {
	ID        string    `toml:"id" json:"id"`
	Text      string    `toml:"text" json:"text"`
	State     string    `toml:"state" json:"state"`
	Reason    string    `toml:"reason,omitempty" json:"reason,omitempty"`
	Since     time.Time `toml:"since" json:"since"`
	Attempts  int       `toml:"attempts" json:"attempts"`
	Cost      USD       `toml:"cost" json:"cost"` // the item's whole life
	Branch    string    `toml:"branch" json:"branch"`
	Commit    string    `toml:"commit" json:"commit"`
	Signature string    `toml:"signature,omitempty" json:"signature,omitempty"` // of the last failure
	Summary   string    `toml:"summary,omitempty" json:"summary,omitempty"`
	NotBefore time.Time `toml:"not_before,omitzero" json:"not_before,omitzero"`
	Resume    string    `toml:"resume,omitempty" json:"resume,omitempty"` // what a person can do
}

// Validator is the last verdict of one check.
type Validator struct {
	Name        string    `toml:"name" json:"name"`
	Required    bool      `toml:"required" json:"required"`
	Verdict     string    `toml:"verdict" json:"verdict"`
	Exit        int       `toml:"exit" json:"exit"`
	DurationS   float64   `toml:"duration_s" json:"duration_s"` // seconds
	Tree        string    `toml:"tree" json:"tree"`
	At          time.Time `toml:"at" json:"at"`
	NewFailures int       `toml:"new_failures" json:"new_failures"`
	Log         string    `toml:"log,omitempty" json:"log,omitempty"`
}

// Attention is something that only a person can resolve.
type Attention struct {
	Code    string    `toml:"code" json:"code"`
	Task    string    `toml:"task,omitempty" json:"task,omitempty"`
	Since   time.Time `toml:"since" json:"since"`
	Message string    `toml:"message" json:"message"`
	Action  string    `toml:"action" json:"action"`
}

// Journal is the head of the daemon's chain of events.
type Journal struct {
	Head       string    `toml:"head" json:"head"`
	Entries    int       `toml:"entries" json:"entries"`
	VerifiedAt time.Time `toml:"verified_at,omitzero" json:"verified_at,omitzero"`
}

// USD is an amount in US dollars, exact to the millionths that hob counts in.
type USD float64

// Dollars turns millionths of a dollar into dollars.
func Dollars(micro int64) USD { return USD(float64(micro) / 1e6) }

// String writes at least cents: 3.10, 0.000013.
func (u USD) String() string {
	s := strconv.FormatFloat(float64(u), 'f', -1, 64)
	whole, cents, _ := strings.Cut(s, ".")
	return whole + "." + cents + strings.Repeat("0", max(0, 2-len(cents)))
}

// missedBeats is how many heartbeats a writer may miss before nobody should
// believe that it runs.
const missedBeats = 3

// Stale reports whether the writer has gone: its last word is more than three
// heartbeats old. A file from the future by as much is as stale: a clock was
// set back, and a living writer would have written since.
func (r Report) Stale(now time.Time) bool {
	const usual = 30 // seconds, where the file says nothing sensible
	beat := r.HeartbeatS
	if beat <= 0 || beat > 24*60*60 {
		beat = usual
	}
	grace := missedBeats * time.Duration(beat) * time.Second
	return now.Sub(r.WrittenAt).Abs() > grace
}

// Exit codes of hob status --check.
const (
	Fine       = 0 // idle or working
	Attend     = 1 // an item needs a person
	Halted     = 2 // paused, degraded or ended by an error
	NotRunning = 3 // stale or stopped, and when there is no file
	Unreadable = 4 // when [Parse] refuses the file
)

// Check returns the exit code of hob status --check for a report that could be
// read. The worst that applies counts.
func (r Report) Check(now time.Time) int {
	switch {
	case r.State == Stopped || r.Stale(now):
		return NotRunning
	case r.State == Paused || r.State == Degraded || r.State == Error:
		return Halted
	case len(r.Attention) > 0:
		return Attend
	default:
		return Fine
	}
}
