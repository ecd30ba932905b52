package model_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hob/engine/model"
)

func TestCost(t *testing.T) {
	price := model.Price{Input: 1_000_000, Output: 4_000_000, CacheRead: 100_000, CacheWrite: 1_250_000}
	tests := []struct {
		name  string
		usage model.Usage
		price model.Price
		want  int64
	}{
		{"nothing", model.Usage{}, price, 0},
		{"a million of each", model.Usage{1e6, 1e6, 1e6, 1e6, 1e6}, price, 10_350_000},
		{"rounded up once, not per bucket", model.Usage{CacheRead: 1, CacheWrite: 1}, price, 2},
		{"a tenth of a micro-USD is one", model.Usage{CacheRead: 1}, price, 1},
		{"free", model.Usage{InputUncached: 1e9}, model.Price{}, 0},
		{"a server's nonsense is no refund", model.Usage{InputUncached: -5e9, OutputVisible: 1}, price, 4},
		{"too much to hold", model.Usage{InputUncached: math.MaxInt64}, model.Price{Input: math.MaxInt64}, math.MaxInt64},
		{
			"far too much to hold",
			model.Usage{math.MaxInt64, math.MaxInt64, math.MaxInt64, math.MaxInt64, math.MaxInt64},
			model.Price{math.MaxInt64, math.MaxInt64, math.MaxInt64, math.MaxInt64},
			math.MaxInt64,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.usage.Cost(tt.price); got != tt.want {
				t.Errorf("%+v.Cost(%+v) = %d, want %d", tt.usage, tt.price, got, tt.want)
			}
		})
	}
}

func TestEstimate(t *testing.T) {
	price := &model.Price{Input: 1_000_000, Output: 4_000_000, CacheRead: 100_000, CacheWrite: 2_000_000}
	// "user" and 696 bytes are 700, 200 tokens, 230 with the margin.
	req := model.Request{Messages: []model.Message{{Role: model.User, Text: strings.Repeat("x", 696)}}, MaxOutput: 10}
	if got, err := model.Estimate(req, model.Info{Price: price, MaxOutput: 99}); err != nil || got != 230*2+10*4 {
		t.Errorf("Estimate = %d, %v; want %d", got, err, 230*2+10*4)
	}
	req.MaxOutput = 0
	if got, err := model.Estimate(req, model.Info{Price: price, MaxOutput: 99}); err != nil || got != 230*2+99*4 {
		t.Errorf("Estimate = %d, %v; want %d, for the model's own limit", got, err, 230*2+99*4)
	}
	if _, err := model.Estimate(req, model.Info{ID: "m"}); !errors.Is(err, model.ErrUnknownPrice) {
		t.Errorf("Estimate error = %v, want ErrUnknownPrice", err)
	}
}

// An estimate that the same bytes can exceed would be no cap.
func TestEstimateBoundsWhatIsReckonedAfterwards(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "prompt")
		out := rapid.StringMatching(`[a-z]{1,70}`).Draw(t, "reply")
		amount := rapid.Int64Range(0, 100_000_000)
		price := &model.Price{amount.Draw(t, "in"), amount.Draw(t, "out"), amount.Draw(t, "read"), amount.Draw(t, "write")}
		req := model.Request{
			Messages:  []model.Message{{Role: model.User, Text: text}},
			Tools:     []model.ToolSpec{{Name: "read", Description: text}},
			MaxOutput: 20,
		}
		p := says(nil, model.Event{Text: out}, done(model.StopEnd))
		p.info.Price = price
		estimate, err := model.Estimate(req, p.Info())
		if err != nil {
			t.Fatal(err)
		}
		reply, err := model.Collect(t.Context(), p, req)
		if err != nil {
			t.Fatal(err)
		}
		if cost := reply.Usage.Cost(*price); cost > estimate {
			t.Fatalf("cost %d exceeds the estimate %d", cost, estimate)
		}
	})
}
