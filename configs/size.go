package configs

import (
	"errors"
	"strconv"
	"strings"
)

// A Size is a number of bytes, written with a binary unit: "512MiB", "4GiB".
type Size int64

// units go from large to small so that String finds the largest that divides.
var units = [...]struct {
	name  string
	bytes int64
}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}

// maxSize is beyond any machine's memory and far from overflow.
const maxSize = 1 << 50

// UnmarshalText reads a whole number and a unit from B to TiB. Decimal units (GB) are refused:
// half of all readers take them for binary ones.
func (s *Size) UnmarshalText(text []byte) error {
	for _, unit := range units {
		digits, ok := strings.CutSuffix(string(text), unit.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(strings.TrimSpace(digits), 10, 63)
		if err != nil {
			return errNotSize
		}
		if n > uint64(maxSize/unit.bytes) {
			return errLargeSize
		}
		*s = Size(int64(n) * unit.bytes)
		return nil
	}
	return errNotSize
}

// MarshalText writes what UnmarshalText reads back as the same size.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// String uses the largest unit that leaves a whole number: "4GiB", "1536MiB".
func (s Size) String() string {
	for _, unit := range units {
		if int64(s)%unit.bytes == 0 && s != 0 {
			return strconv.FormatInt(int64(s)/unit.bytes, 10) + unit.name
		}
	}
	return "0B"
}

func (Size) wants() string { return `size such as "512MiB" or "4GiB"` }

var (
	errNotSize   = errors.New("is not a size")
	errLargeSize = errors.New("is larger than 1024TiB")
)
