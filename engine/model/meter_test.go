package model_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"hob/engine/model"
	"hob/journal/durable"
)

// priced makes a token cost one micro-USD and a call reserve 10 of output and as
// many as its prompt is long.
func priced(p stub) stub {
	p.info.Price = &model.Price{Input: 1_000_000, Output: 1_000_000, CacheRead: 1_000_000, CacheWrite: 1_000_000}
	p.info.MaxOutput = 10
	return p
}

func TestMeteredSettlesEveryEnd(t *testing.T) {
	// 4 bytes of role and 66 of text are 20 tokens; 23 with the margin, 33 with the output.
	req := model.Request{Messages: []model.Message{{Role: model.User, Text: string(make([]byte, 66))}}}
	tests := []struct {
		name string
		p    stub
		want int64
	}{
		{"reported", says(nil, text("a"), used(7, 2), done(model.StopEnd)), 9},
		{"estimated", says(nil, text("1234567"), done(model.StopEnd)), 22},
		{"cut", says(nil, text("1234567")), 22},
		{"cut after usage", says(nil, text("1234567"), used(7, 2)), 9},
		{"failed half-way", says(&model.Error{Class: model.Server}, text("1234567")), 22},
		{"silent", says(&model.Error{Class: model.Silent}), 20},
		{"cancelled", says(&model.Error{Class: model.Cancelled}), 20},
		{"foreign error", says(errors.New("?")), 20},
		{"never reached the server", says(&model.Error{Class: model.DNS}), 0},
		{"refused by the server", says(&model.Error{Class: model.RateLimited}), 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := open(t, t.TempDir())
			p := model.Metered(priced(tt.p), model.Purse{Ledger: l, Run: "r", Item: "i"})
			if _, err := model.Collect(t.Context(), p, req); err == nil && tt.want == 0 {
				t.Fatal("no error")
			}
			if l.Item("i") != tt.want || l.Run("r") != tt.want {
				t.Errorf("item %d, run %d; want %d", l.Item("i"), l.Run("r"), tt.want)
			}
		})
	}
	t.Run("given up", func(t *testing.T) {
		l := open(t, t.TempDir())
		p := model.Metered(priced(says(nil, text("1234567"), text("more"), done(model.StopEnd))), model.Purse{Ledger: l, Item: "i"})
		for range p.Stream(t.Context(), req) {
			break
		}
		if l.Item("i") != 22 {
			t.Errorf("item %d, want 22", l.Item("i"))
		}
	})
}

func TestMeteredReservesBeforeTheCall(t *testing.T) {
	l := open(t, t.TempDir())
	p := priced(says(nil))
	called := false
	p.stream = func(_ context.Context, _ model.Request, yield func(model.Event, error) bool) {
		called = true
		if l.Item("i") != 10 {
			t.Errorf("item %d during the call, want the reserved 10", l.Item("i"))
		}
		yield(model.Event{}, &model.Error{Class: model.Auth})
	}
	_, err := model.Collect(t.Context(), model.Metered(p, model.Purse{Ledger: l, Item: "i"}), model.Request{})
	if !called || classOf(err) != model.Auth {
		t.Errorf("Collect error = %v, called = %t; want the provider's own error", err, called)
	}
}

func TestMeteredRefuses(t *testing.T) {
	p := priced(says(nil))
	p.stream = func(context.Context, model.Request, func(model.Event, error) bool) { t.Error("the call was made") }
	l := open(t, t.TempDir())
	_, err := model.Ask(t.Context(), model.Metered(p, model.Purse{Ledger: l, Limits: model.Limits{Day: 9}}), model.Request{}, nil)
	if classOfBudget(err) != "budget_day" {
		t.Errorf("Ask error = %v, want budget_day", err)
	}
	p.info.Price = nil
	_, err = model.Ask(t.Context(), model.Metered(p, model.Purse{Ledger: l}), model.Request{}, nil)
	if !errors.Is(err, model.ErrUnknownPrice) {
		t.Errorf("Ask error = %v, want ErrUnknownPrice", err)
	}
}

// A retry is a call like any other: the second try of a call that was billed for
// its first must not slip past the limit.
func TestMeteredCountsRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := open(t, t.TempDir())
		calls := 0
		p := priced(says(nil))
		p.stream = func(_ context.Context, _ model.Request, yield func(model.Event, error) bool) {
			calls++
			if yield(used(4, 4), nil) {
				yield(model.Event{}, &model.Error{Class: model.StreamTruncated})
			}
		}
		var warnings []model.Warning
		purse := model.Purse{
			Ledger: l, Item: "i", Run: "r",
			Limits: model.Limits{Item: 15, WarnPercent: 60},
			Warn:   func(w model.Warning) { warnings = append(warnings, w) },
		}
		_, err := model.Ask(t.Context(), model.Metered(p, purse), model.Request{}, nil)
		if calls != 1 || classOfBudget(err) != "budget_item" || l.Item("i") != 8 {
			t.Errorf("Ask = %v after %d calls that cost %d; want budget_item after one of 8", err, calls, l.Item("i"))
		}
		if len(warnings) != 1 || warnings[0].Reason != "budget_item" {
			t.Errorf("warnings = %v, want one of the item's", warnings)
		}
	})
}

func TestMeteredKeepsDoneBackWhenTheCostIsNotOnDisk(t *testing.T) {
	left := 2
	l, err := model.OpenLedger(t.TempDir(), flaky{durable.OS(), &left}, time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	p := priced(says(nil, text("a"), done(model.StopEnd)))
	if _, err := model.Ask(t.Context(), model.Metered(p, model.Purse{Ledger: l}), model.Request{}, nil); !errors.Is(err, errDisk) {
		t.Errorf("Ask error = %v, want the disk's", err)
	}
}

// Slots that ask at once share one sum.
func TestMeteredNeverOvershootsTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := open(t, t.TempDir())
		p := priced(says(nil, text("a"), used(4, 6), done(model.StopEnd)))
		m := model.Metered(p, model.Purse{Ledger: l, Limits: model.Limits{Day: 50}})
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				if _, err := model.Collect(t.Context(), m, model.Request{}); err != nil && classOfBudget(err) == "" {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if got := l.Day(time.Now()); got != 50 {
			t.Errorf("the day cost %d, want all of the 50 and not more", got)
		}
	})
}
