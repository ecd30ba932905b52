package model

import (
	"context"
	"errors"
	"iter"
	"time"
)

// A Purse says what the calls of one session may cost, and on whose account.
type Purse struct {
	Ledger    *Ledger
	Limits    Limits
	Run, Item string
	Warn      func(Warning) // may be nil; called before the call, on the caller's goroutine
}

// Metered is p with the ledger between it and the caller. Every call, retries
// included, first reserves its [Estimate]; a call that a limit refuses is a
// *BudgetError and never leaves. When the stream ends the call is settled with
// the usage that was reported, or with an estimate: also when it failed, was cut
// or given up, unless the failure is of a class that providers don't bill.
// A call whose price is unknown is refused with [ErrUnknownPrice].
//
// Done is passed on only when the cost is on disk, so a reply never outlives the
// record of what it cost.
func Metered(p Provider, purse Purse) Provider { return metered{p, purse} }

type metered struct {
	Provider
	purse Purse
}

func (m metered) Stream(ctx context.Context, req Request) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		info := m.Info()
		estimate, err := Estimate(req, info)
		if err != nil {
			yield(Event{}, err)
			return
		}
		charge := Charge{Run: m.purse.Run, Item: m.purse.Item, Model: info.ID, Estimate: estimate}
		r, err := m.purse.Ledger.Reserve(m.purse.Limits, charge, time.Now())
		if err != nil {
			yield(Event{}, err)
			return
		}
		m.warn(r.Warnings)
		m.relay(ctx, req, r, *info.Price, yield)
	}
}

func (m metered) warn(ws []Warning) {
	if m.purse.Warn == nil {
		return
	}
	for _, w := range ws {
		m.purse.Warn(w)
	}
}

// tolerance is how many times the length that was asked for a reply may have before
// the stream is cut: some servers ignore max_tokens, and money was set aside for no
// more. The estimate from bytes may be off by less than that.
const tolerance = 2

// relay passes the stream on and ends r before the last item.
func (m metered) relay(ctx context.Context, req Request, r *Reservation, price Price, yield func(Event, error) bool) {
	t := newTally(req)
	settle := func() error {
		usage, estimated := t.spent()
		return r.Settle(usage, usage.Cost(price), estimated, time.Now())
	}
	for ev, err := range m.Provider.Stream(ctx, req) {
		if err != nil {
			end := settle
			if t.empty() && free(err) {
				end = r.Release
			}
			yield(Event{}, also(err, end()))
			return
		}
		t.add(ev)
		if u, _ := t.spent(); req.MaxOutput > 0 && u.OutputVisible+u.OutputReasoning > tolerance*int64(req.MaxOutput) {
			yield(Event{}, also(&Error{Class: MaxTokens, Provider: m.Info().ID, Message: "the reply goes on past the length that was asked for"}, settle()))
			return
		}
		if ev.Done != nil {
			if err := settle(); err != nil {
				yield(Event{}, err)
				return
			}
			yield(ev, nil)
			return
		}
		if !yield(ev, nil) {
			_ = settle() // nobody is left to hear of an error, and then the estimate counts
			return
		}
	}
	if err := settle(); err != nil {
		yield(Event{}, err)
	}
}

// free tells whether err is of a class that costs nothing.
func free(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && rules[e.Class].free
}

// also adds a second error, if there is one.
func also(err, second error) error {
	if second == nil {
		return err
	}
	return errors.Join(err, second)
}
