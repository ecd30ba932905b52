package configs

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// USD is an amount of money in millionths of a US dollar. Amounts are decimal: 0.1 in a file
// is exactly 100000 here, because the digits are read, never a binary float.
type USD int64

// microPerUSD is the number of units of [USD] in a dollar.
const microPerUSD = 1_000_000

// maxUSD (a thousand million dollars) leaves room to add amounts and to multiply a price by
// a token count in 128 bits without a thought.
const maxUSD = 1_000_000_000 * microPerUSD

// MicroUSD returns the amount in millionths of a dollar, for a [Price] per million tokens:
// a price of 2.5 USD is 2500000, and one token costs 2.5 micro-USD.
func (u USD) MicroUSD() int64 { return int64(u) }

// UnmarshalText reads a decimal number as TOML writes it: "5", "0.25", "1_000", "2.5e-3".
// More than six decimals are an error, not rounded: a price must be what the user wrote.
func (u *USD) UnmarshalText(text []byte) error {
	s := strings.ReplaceAll(string(text), "_", "")
	negative := strings.HasPrefix(s, "-")
	if negative || strings.HasPrefix(s, "+") {
		s = s[1:]
	}
	s, exponent, err := cutExponent(s)
	if err != nil {
		return err
	}
	whole, fraction, _ := strings.Cut(s, ".")
	digits := whole + fraction
	if whole == "" || strings.Trim(digits, "0123456789") != "" {
		return errNotAmount
	}
	digits = strings.TrimLeft(strings.TrimRight(digits, "0"), "0")
	// scale is how many places the trimmed digits move left to become micro-USD.
	scale := exponent + 6 - len(fraction) + trailingZeros(whole+fraction)
	switch {
	case digits == "":
		*u = 0
		return nil
	case scale < 0:
		return errFineAmount
	case len(digits)+scale > len("1000000000000000"):
		return errLargeAmount
	}
	n, err := strconv.ParseInt(digits+strings.Repeat("0", scale), 10, 64)
	if err != nil || n > maxUSD {
		return errLargeAmount
	}
	if negative {
		n = -n
	}
	*u = USD(n)
	return nil
}

// cutExponent splits "2.5e-3" into "2.5" and -3. The exponent of a number without one is 0.
func cutExponent(s string) (mantissa string, exponent int, err error) {
	i := strings.IndexAny(s, "eE")
	if i < 0 {
		return s, 0, nil
	}
	exponent, err = strconv.Atoi(s[i+1:])
	if err != nil || exponent > math.MaxInt16 || exponent < math.MinInt16 {
		return "", 0, errNotAmount
	}
	return s[:i], exponent, nil
}

func trailingZeros(digits string) int {
	return len(digits) - len(strings.TrimRight(digits, "0"))
}

// MarshalText writes what UnmarshalText reads back as the same amount.
func (u USD) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// String is the amount in dollars with at least two decimals: "5.00", "0.000125".
func (u USD) String() string {
	sign, n := "", uint64(u)
	if u < 0 {
		sign, n = "-", uint64(-u)
	}
	fraction := strconv.FormatUint(microPerUSD+n%microPerUSD, 10)[1:]
	for len(fraction) > 2 && strings.HasSuffix(fraction, "0") {
		fraction = fraction[:len(fraction)-1]
	}
	return sign + strconv.FormatUint(n/microPerUSD, 10) + "." + fraction
}

func (USD) wants() string { return "amount in USD such as 2.50" }

var (
	errNotAmount   = errors.New("is not a decimal number")
	errFineAmount  = errors.New("has more than six decimals")
	errLargeAmount = errors.New("is more than a thousand million")
)
