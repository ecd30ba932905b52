package model

import (
	"net/url"

	"hob/configs"
)

// What a model that no table knows is trusted with. Both are small, because a
// prompt over the true window is lost work; context_window and max_output of
// hob.toml say better.
const (
	unknownWindow = 32_768
	unknownOutput = 4096
)

// InfoOf is what a [[model]] entry says about its model. Whether the provider
// exists is for the one who makes it to judge.
func InfoOf(m configs.Model) Info {
	i := Info{
		ID:            m.Provider,
		Kind:          m.Provider,
		Model:         m.Model,
		ContextWindow: m.ContextWindow,
		MaxOutput:     m.MaxOutput,
		Tools:         m.Tools != "text",
	}
	if m.Model != "" {
		i.ID += ":" + m.Model
	}
	if u, err := url.Parse(m.BaseURL); err == nil {
		i.Host = u.Host
	}
	if i.ContextWindow <= 0 {
		i.ContextWindow = unknownWindow
	}
	if i.MaxOutput <= 0 {
		i.MaxOutput = min(unknownOutput, i.ContextWindow)
	}
	if m.Price != nil {
		i.Price = &Price{
			Input:      m.Price.Input.MicroUSD(),
			Output:     m.Price.Output.MicroUSD(),
			CacheRead:  m.Price.CacheRead.MicroUSD(),
			CacheWrite: m.Price.CacheWrite.MicroUSD(),
		}
	}
	return i
}

// LimitsOf is what a [budget] section allows. A budget that isn't enabled has no
// limits; its calls are counted all the same.
func LimitsOf(b configs.Budget) Limits {
	if !b.Enabled {
		return Limits{}
	}
	return Limits{
		Run:         b.PerRunUSD.MicroUSD(),
		Item:        b.PerItemUSD.MicroUSD(),
		Day:         b.DailyUSD.MicroUSD(),
		Month:       b.MonthlyUSD.MicroUSD(),
		WarnPercent: b.WarnPct,
	}
}
