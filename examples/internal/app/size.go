package app

import (
	"fmt"
	"strconv"
	"strings"
)

// Size is the value of a flag: a number of bytes, plain or with a unit.
type Size int64

// String returns the number of bytes.
func (b *Size) String() string { return strconv.FormatInt(int64(*b), 10) }

// Set accepts 1000, 500MB, 2GiB.
func (b *Size) Set(text string) error {
	t := strings.ToUpper(strings.ReplaceAll(text, " ", ""))
	factor := 1.0
	for _, u := range []struct {
		name string
		n    float64
	}{{"KIB", 1 << 10}, {"MIB", 1 << 20}, {"GIB", 1 << 30}, {"TIB", 1 << 40}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9},
		{"TB", 1e12}, {"K", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}, {"B", 1}} {
		if rest, ok := strings.CutSuffix(t, u.name); ok {
			t, factor = rest, u.n
			break
		}
	}
	n, err := strconv.ParseFloat(t, 64)
	if err != nil || n != n || n < 0 || n*factor > 1e18 {
		return fmt.Errorf("want a size such as 500MB or 2GB")
	}
	*b = Size(n * factor)
	return nil
}
