package model

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
)

// ErrUnknownPrice refuses a call whose cost can't be bounded. Free models say so
// with a price of zero.
var ErrUnknownPrice = errors.New("unknown price")

// Usage counts the tokens of one call in disjoint buckets: each token is in
// exactly one. Wires differ in what their totals include; they normalise.
type Usage struct {
	InputUncached   int64 `json:"input_uncached"`
	CacheRead       int64 `json:"cache_read,omitempty"`
	CacheWrite      int64 `json:"cache_write,omitempty"`
	OutputVisible   int64 `json:"output_visible"`
	OutputReasoning int64 `json:"output_reasoning,omitempty"`
}

// Cost is what u costs in micro-USD, rounded up. Negative counts, which a server
// may report, are zero; sums too large to hold are the largest int64, never a
// refund.
func (u Usage) Cost(p Price) int64 {
	var hi, lo uint64
	add := func(tokens, price int64) {
		h, l := bits.Mul64(uint64(min(max(tokens, 0), maxCount)), uint64(max(price, 0)))
		var carry uint64
		lo, carry = bits.Add64(lo, l, 0)
		hi, _ = bits.Add64(hi, h, carry)
	}
	add(u.InputUncached, p.Input)
	add(u.CacheRead, p.CacheRead)
	add(u.CacheWrite, p.CacheWrite)
	add(u.OutputVisible, p.Output)
	add(u.OutputReasoning, p.Output)
	lo, carry := bits.Add64(lo, perTokens-1, 0)
	if hi += carry; hi >= perTokens {
		return math.MaxInt64
	}
	micro, _ := bits.Div64(hi, lo, perTokens)
	return int64(min(micro, math.MaxInt64))
}

// maxCount keeps the sum of five products inside 128 bits.
const maxCount = 1 << 60

// perTokens is the number of tokens that a [Price] is for.
const perTokens = 1_000_000

// A Price is in micro-USD per million tokens: 3 USD per million is 3_000_000.
type Price struct {
	Input, Output, CacheRead, CacheWrite int64
}

// Estimate is the most that req should cost at i in micro-USD, to be reserved
// before the call: its bytes as tokens plus 15 %, at the dearest input price,
// and all the output it may ask for. It wraps [ErrUnknownPrice] when i has none.
func Estimate(req Request, i Info) (int64, error) {
	if i.Price == nil {
		return 0, fmt.Errorf("estimate a call of %s: %w", i.ID, ErrUnknownPrice)
	}
	output := req.MaxOutput
	if output <= 0 {
		output = i.MaxOutput
	}
	in := tokens(req.bytes())
	worst := *i.Price
	worst.Input = max(worst.Input, worst.CacheRead, worst.CacheWrite)
	return Usage{InputUncached: in + (in*15+99)/100, OutputVisible: int64(output)}.Cost(worst), nil
}

// tokens reckons 3.5 bytes a token, rounded up. Real tokenizers give between 3
// and 4.5 on code and English; the reserve of 15 % covers the difference.
func tokens(bytes int) int64 { return (int64(bytes)*2 + 6) / 7 }
