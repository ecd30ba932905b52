package model_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hob/configs"
	"hob/engine/model"
)

// A stub is a provider that answers from a function.
type stub struct {
	info   model.Info
	stream func(ctx context.Context, req model.Request, yield func(model.Event, error) bool)
}

func (s stub) Info() model.Info { return s.info }

func (s stub) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) { s.stream(ctx, req, yield) }
}

// says is a provider that always streams evs and then, unless it is nil, err.
func says(err error, evs ...model.Event) stub {
	return stub{
		info: model.Info{ID: "stub"},
		stream: func(_ context.Context, _ model.Request, yield func(model.Event, error) bool) {
			for _, ev := range evs {
				if !yield(ev, nil) {
					return
				}
			}
			if err != nil {
				yield(model.Event{}, err)
			}
		},
	}
}

func text(s string) model.Event { return model.Event{Text: s} }

func done(stop string) model.Event { return model.Event{Done: &model.Done{Stop: stop}} }

func call(name, args string) model.Event {
	return model.Event{Call: &model.Call{ID: "1", Name: name, Args: json.RawMessage(args)}}
}

func used(in, out int64) model.Event {
	return model.Event{Usage: &model.Usage{InputUncached: in, OutputVisible: out}}
}

func classOf(err error) model.Class {
	if e, ok := errors.AsType[*model.Error](err); ok {
		return e.Class
	}
	return ""
}

func TestCollect(t *testing.T) {
	req := model.Request{Messages: []model.Message{{Role: model.User, Text: strings.Repeat("x", 66)}}}
	tests := []struct {
		name   string
		events []model.Event
		err    error
		want   model.Reply
		class  model.Class
	}{
		{
			name:   "whole",
			events: []model.Event{{Reasoning: "hm"}, text("a"), text("b"), used(7, 2), done(model.StopEnd)},
			want:   model.Reply{Text: "ab", Reasoning: "hm", Usage: model.Usage{InputUncached: 7, OutputVisible: 2}, Stop: model.StopEnd},
		},
		{
			name:   "the last usage counts",
			events: []model.Event{used(1, 1), text("a"), used(7, 2), done(model.StopEnd)},
			want:   model.Reply{Text: "a", Usage: model.Usage{InputUncached: 7, OutputVisible: 2}, Stop: model.StopEnd},
		},
		{
			name:   "usage is estimated at 3.5 bytes a token, upwards",
			events: []model.Event{text("12345678"), {Reasoning: "r"}, done(model.StopEnd)},
			want: model.Reply{
				Text: "12345678", Reasoning: "r", Stop: model.StopEnd, Estimated: true,
				Usage: model.Usage{InputUncached: 20, OutputVisible: 3, OutputReasoning: 1},
			},
		},
		{
			name:   "usage of nothing is no usage",
			events: []model.Event{text("1234567"), used(0, 0), done(model.StopEnd)},
			want: model.Reply{
				Text: "1234567", Stop: model.StopEnd, Estimated: true,
				Usage: model.Usage{InputUncached: 20, OutputVisible: 2},
			},
		},
		{
			name:   "calls without text",
			events: []model.Event{call("read", `{"a":1}`), used(1, 1), done(model.StopCalls)},
			want: model.Reply{
				Calls: []model.Call{{ID: "1", Name: "read", Args: json.RawMessage(`{"a":1}`)}},
				Usage: model.Usage{InputUncached: 1, OutputVisible: 1}, Stop: model.StopCalls,
			},
		},
		{
			name:   "text cut by the limit is the caller's decision",
			events: []model.Event{text("func ma"), used(1, 1), done(model.StopLength)},
			want:   model.Reply{Text: "func ma", Usage: model.Usage{InputUncached: 1, OutputVisible: 1}, Stop: model.StopLength},
		},
		{name: "no end", events: []model.Event{text("a"), used(1, 1)}, class: model.StreamTruncated},
		{name: "nothing", class: model.StreamTruncated},
		{name: "empty", events: []model.Event{done(model.StopEnd)}, class: model.Unusable},
		{name: "blank", events: []model.Event{text(" \n"), done(model.StopEnd)}, class: model.Unusable},
		{name: "only thoughts", events: []model.Event{{Reasoning: "hm"}, done(model.StopEnd)}, class: model.Unusable},
		{name: "args cut", events: []model.Event{call("read", `{"a":`), done(model.StopCalls)}, class: model.Unusable},
		{name: "args empty", events: []model.Event{call("read", ""), done(model.StopCalls)}, class: model.Unusable},
		{name: "nameless call", events: []model.Event{call("", "{}"), done(model.StopCalls)}, class: model.Unusable},
		{name: "args cut by the limit", events: []model.Event{call("read", `{"a":`), done(model.StopLength)}, class: model.MaxTokens},
		{name: "nothing but the limit", events: []model.Event{done(model.StopLength)}, class: model.MaxTokens},
		{name: "refused", events: []model.Event{text("no"), done(model.StopFilter)}, class: model.ContentFilter},
		{name: "error", events: []model.Event{text("a")}, err: &model.Error{Class: model.Server}, class: model.Server},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := model.Collect(t.Context(), says(tt.err, tt.events...), req)
			if classOf(err) != tt.class || (err == nil) != (tt.class == "") {
				t.Fatalf("Collect error = %v, want class %q", err, tt.class)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Collect (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCollectStopsAtDone(t *testing.T) {
	got, err := model.Collect(t.Context(), says(errors.New("late"), text("a"), done(model.StopEnd), text("b")), model.Request{})
	if err != nil || got.Text != "a" {
		t.Errorf("Collect = %q, %v; want what came before Done", got.Text, err)
	}
}

func TestCollectPassesForeignErrorsOn(t *testing.T) {
	disk := errors.New("disk full")
	if _, err := model.Collect(t.Context(), says(disk), model.Request{}); err != disk {
		t.Errorf("Collect error = %v, want %v itself", err, disk)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := model.Collect(ctx, says(ctx.Err()), model.Request{}); classOf(err) != model.Cancelled {
		t.Errorf("Collect error = %v after cancel, want class cancelled", err)
	}
}

func TestInfoOf(t *testing.T) {
	tests := []struct {
		name string
		m    configs.Model
		want model.Info
	}{
		{
			name: "all said",
			m: configs.Model{
				Provider: "openai-compat", Model: "qwen", BaseURL: "http://127.0.0.1:8080/v1",
				ContextWindow: 9000, MaxOutput: 700, Tools: "native",
				Price: &configs.Price{Input: 1_000_000, Output: 4_000_000, CacheRead: 100_000, CacheWrite: 1_250_000},
			},
			want: model.Info{
				ID: "openai-compat:qwen", Kind: "openai-compat", Model: "qwen", Host: "127.0.0.1:8080",
				ContextWindow: 9000, MaxOutput: 700, Tools: true,
				Price: &model.Price{Input: 1_000_000, Output: 4_000_000, CacheRead: 100_000, CacheWrite: 1_250_000},
			},
		},
		{
			name: "nothing said",
			m:    configs.Model{Provider: "script", Tools: "auto"},
			want: model.Info{ID: "script", Kind: "script", ContextWindow: 32768, MaxOutput: 4096, Tools: true},
		},
		{
			name: "text tools in a tiny window",
			m:    configs.Model{Provider: "script", Tools: "text", ContextWindow: 2000},
			want: model.Info{ID: "script", Kind: "script", ContextWindow: 2000, MaxOutput: 2000},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, model.InfoOf(tt.m)); diff != "" {
				t.Errorf("InfoOf (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLimitsOf(t *testing.T) {
	b := configs.Budget{Enabled: true, PerRunUSD: 1, PerItemUSD: 2, DailyUSD: 3, MonthlyUSD: 4, WarnPct: 80}
	want := model.Limits{Run: 1, Item: 2, Day: 3, Month: 4, WarnPercent: 80}
	if got := model.LimitsOf(b); got != want {
		t.Errorf("LimitsOf = %+v, want %+v", got, want)
	}
	b.Enabled = false
	if got := model.LimitsOf(b); got != (model.Limits{}) {
		t.Errorf("LimitsOf = %+v, want none when the budget is off", got)
	}
}
