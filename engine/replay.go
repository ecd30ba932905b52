package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"hob/engine/model"
	"hob/engine/task"
	"hob/journal"
)

// replay holds the answers that interrupted attempts of this item already paid
// for, by the digest of the request they answered. The same question about the
// same tree is not bought twice because a machine was restarted (DECISIONS 2).
type replay map[string]answered

type answered struct {
	reply model.Reply
	run   string
}

// requestDigest names a request by everything the model sees.
func requestDigest(req model.Request) string {
	req.Item, req.CacheKey = model.Item{}, ""
	b, err := json.Marshal(req)
	if err != nil {
		return "" // arguments that are no JSON: not a request to be found again
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// resume reads the item's earlier runs, newest first: it counts the answers the
// item has had, and collects those of the attempts that were cut short just
// before this one.
func (a *attempt) resume(runs []string) {
	a.replay = replay{}
	cutShort := true
	for _, run := range slices.Backward(runs) {
		entries, err := a.Journal.Read(run)
		if err != nil {
			a.Log.Warn("replay", "run", run, "err", err) // what can be read still counts
		}
		cutShort = cutShort && err == nil && interrupted(entries)
		a.readRun(run, entries, cutShort)
	}
}

// interrupted reports whether a run has no end, or ended for nobody's fault: hob
// stopped, or the provider went away.
func interrupted(entries []journal.Entry) bool {
	for _, en := range slices.Backward(entries) {
		if ev, err := journal.Decode(en); err == nil {
			if end, ok := ev.(journal.RunFinished); ok {
				states := task.Reason(end.Reason).States()
				return slices.Contains(states, task.Queued) || slices.Contains(states, task.Throttled)
			}
		}
	}
	return true
}

func (a *attempt) readRun(run string, entries []journal.Entry, collect bool) {
	var digest string
	for _, en := range entries {
		ev, err := journal.Decode(en)
		if err != nil {
			continue
		}
		switch ev := ev.(type) {
		case journal.LLMRequest:
			digest = ev.PromptDigest
		case journal.LLMError:
			a.asked++
		case journal.LLMResponse:
			if ev.ReplayedFrom == "" {
				a.asked++
			}
			if !collect || digest == "" {
				continue
			}
			if reply, ok := a.recorded(run, ev); ok {
				a.replay[digest] = answered{reply, run}
			}
		}
	}
}

// recorded reads an answer back. The journal may hold it only in part: cut to its
// cap, with a secret masked, or not at all.
func (a *attempt) recorded(run string, res journal.LLMResponse) (reply model.Reply, ok bool) {
	if res.Body.Trunc > 0 || res.Body.Masked > 0 {
		return reply, false
	}
	body, err := a.Journal.Body(run, res.Body)
	if err != nil || json.Unmarshal(body, &reply) != nil {
		return reply, false
	}
	return reply, true
}
