// Package task is the durable state machine of a TODO item.
//
// An item of TODO.md that hob has to work is a [Task]: one small file, replaced
// atomically before anything that depends on it happens, so that a process
// killed at any moment finds each task as it was before the step or after it
// (the write order of git, SQLite and every queue that keeps its promises:
// mark first, act second). The [Store] holds all of them:
//
//	Sync     what TODO.md says now: new, edited, reworded, ticked, removed, held
//	Claim    the next ready task, marked before it is handed out
//	Move     one step of the table that Legal knows; all others are refused
//	Fail     the end of an attempt: backoff, or a pause at the limits
//	Recover  what a killed process left half-way
//
// A task rests for one of the closed set of reasons ([Reasons]), each with a
// line that tells a person how it gets on. Money and attempts of an item's
// whole life are never cleared; the attempts that count towards a pause are
// those on the same work (see [Task.Rekey]), so a person who edits the item
// or the configuration gets fresh ones, and a busy repository does not.
//
// The files are the truth for scheduling. Nothing else may write the folder,
// and nothing here knows git: whether a commit has landed is the engine's
// question, asked before it moves a task.
package task

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"slices"
	"time"
)

// Schema is the version of the task files that this package writes and reads.
const Schema = 1

// A Task is what is known of one item. Values are copies: changing one changes
// nothing in the [Store].
type Task struct {
	Schema int    `json:"schema"`
	Serial int    `json:"serial"` // given at creation and kept when the item is reworded; from 1
	Rev    int    `json:"rev"`    // grows by one with each write
	ID     string `json:"id"`
	// Former lists the ids the item had before it was reworded, oldest first.
	// Trailers of earlier commits carry them.
	Former []string `json:"former,omitempty"`

	// What TODO.md says.

	Text        string    `json:"text"`
	Depth       int       `json:"depth,omitempty"`
	ContentHash string    `json:"content_hash"`
	Priority    int       `json:"priority"`            // 0 urgent … 3 low
	Order       int       `json:"order"`               // place in the file; on disk it may lag behind
	Present     bool      `json:"present"`             // stands in TODO.md
	Ticked      bool      `json:"ticked,omitempty"`    // its box is ticked there
	Held        bool      `json:"held,omitempty"`      // on hold, or below an item that is
	Edited      bool      `json:"edited,omitempty"`    // changed since the attempt under way began
	After       time.Time `json:"after,omitzero"`      // not before then
	Depends     []string  `json:"depends,omitempty"`   // ids of tasks that have to land first
	Wrong       Reason    `json:"wrong,omitempty"`     // what is wrong with the item itself, if anything
	WrongWhy    string    `json:"wrong_why,omitempty"` // and the words for it

	// Where it stands.

	Generation int       `json:"generation"` // 1, and one more each time it is worked anew after its end
	State      State     `json:"state"`
	Reason     Reason    `json:"reason,omitempty"`
	Message    string    `json:"message,omitempty"` // at most 2 KiB
	Since      time.Time `json:"since"`             // of the state
	NotBefore  time.Time `json:"not_before,omitzero"`

	// What it has taken so far.

	WorkKey       string    `json:"work_key,omitempty"` // see Rekey
	Terms         string    `json:"terms,omitempty"`    // the work key without the base
	Rekeyed       time.Time `json:"rekeyed,omitzero"`   // when Attempts last began anew
	Config        string    `json:"config,omitempty"`   // digest of the configuration of the last attempt
	Attempts      int       `json:"attempts"`           // on this work, interrupted and throttled ones not counted
	TotalAttempts int       `json:"total_attempts"`     // ever claimed
	Interruptions int       `json:"interruptions"`      // attempts cut short in a row, by a stop or a crash
	Crashes       int       `json:"crashes,omitempty"`  // those in a row that the process did not survive
	Last          string    `json:"last,omitempty"`     // how the last attempt ended, told to the next; at most 8 KiB
	Seen          []string  `json:"seen,omitempty"`     // fingerprints of (diff, failure) on this work, newest last
	Runs          []string  `json:"runs,omitempty"`     // journal runs, newest last; the last 200
	CostMicroUSD  int64     `json:"cost_micro_usd"`     // ever
	Base          string    `json:"base,omitempty"`     // commit the attempt started from
	Branch        string    `json:"branch,omitempty"`   // short name
	Commit        string    `json:"commit,omitempty"`   // object id
	Tree          string    `json:"tree,omitempty"`     // object id of the validated tree
}

// A Recall tells why an attempt under way should end.
type Recall string

// The recalls. The engine lets the current call finish, keeps the work in
// progress and moves the task to queued; the next Sync does the rest.
const (
	Gone   Recall = "gone"   // the item left TODO.md
	Done   Recall = "done"   // a person ticked it
	Stale  Recall = "stale"  // its content changed, or something is wrong with it now
	OnHold Recall = "onhold" // a person put it on hold
)

// Recall reports whether TODO.md has called an attempt back since it began, ""
// if not and for tasks that are not [State.Active].
func (t Task) Recall() Recall {
	switch {
	case !t.State.Active():
		return ""
	case !t.Present:
		return Gone
	case t.Ticked:
		return Done
	case t.Held:
		return OnHold
	case t.Edited || t.Wrong != None:
		return Stale
	default:
		return ""
	}
}

// Work names what an attempt works on. Each field is a digest or id of its
// part; equal parts have equal values.
type Work struct {
	Base   string // tree of the base
	Checks string // configuration of the validators
	Models string // set of models
}

// baseAfter is how long failures on one base count on the next one: clearing
// them on every change of base lets a busy repository buy the same failure all
// night.
const baseAfter = 24 * time.Hour

// Rekey notes what the attempt under way works on. Work that differs from the
// last attempt's starts the count of attempts anew, this one being the first;
// where only the base moved on, that happens once a day at most. Call it in
// [Store.Update] as soon as the parts are known.
func (t *Task) Rekey(w Work, now time.Time) {
	terms := digest(t.ID, t.ContentHash, w.Checks, w.Models)
	key := digest(terms, w.Base)
	if key == t.WorkKey {
		return
	}
	if terms != t.Terms || !now.Before(t.Rekeyed.Add(baseAfter)) {
		t.startAnew()
		t.Rekeyed = stamp(now)
		if t.State.Active() {
			t.Attempts = 1
		}
	}
	t.WorkKey, t.Terms = key, terms
}

// startAnew forgets what counts towards a pause. Cost, runs and the total stay.
func (t *Task) startAnew() {
	t.WorkKey, t.Terms, t.Rekeyed = "", "", time.Time{}
	t.Attempts, t.Crashes, t.Seen = 0, 0, nil
	t.NotBefore = time.Time{}
}

// beginGeneration works the item anew after its end.
func (t *Task) beginGeneration() {
	t.Generation++
	t.Base, t.Branch, t.Commit, t.Tree = "", "", "", ""
}

// clone returns a copy that shares nothing with t.
func (t Task) clone() Task {
	t.Former = slices.Clone(t.Former)
	t.Depends = slices.Clone(t.Depends)
	t.Seen = slices.Clone(t.Seen)
	t.Runs = slices.Clone(t.Runs)
	return t
}

// digest is a sha256 over the parts; NUL keeps their borders.
func digest(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		_, _ = io.WriteString(h, p+"\x00") // a hash takes every write
	}
	return hex.EncodeToString(h.Sum(nil))
}

// stamp is the form of a time in the files: UTC, without the monotonic clock,
// which means nothing to the next process.
func stamp(t time.Time) time.Time { return t.Round(0).UTC() }
