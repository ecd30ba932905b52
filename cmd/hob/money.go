package main

import "fmt"

// usd writes micro-USD as dollars with four decimals, rounded up: a price is never
// shown lower than it is.
func usd(micro int64) string {
	cents := (micro + 99) / 100
	return fmt.Sprintf("%d.%04d", cents/10_000, cents%10_000)
}
