package decimal_test

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/llmstrata/strata/internal/decimal"
)

func TestMicros(t *testing.T) {
	tests := []struct {
		in   string
		want int64
		err  error
	}{
		{"1365627866520.196", 1365627866520196, nil},
		{"1712195495505582.988", 1712195495505582988, nil},
		{"1661203462598738", 1661203462598738000, nil},
		{"0", 0, nil},
		{"0.001", 1, nil},
		{"-2.5", -2500, nil},
		{"+7", 7000, nil},
		{"1.5e3", 1500000, nil},
		{"1E-3", 1, nil},
		{"1e-4", 0, nil},
		{"0.0005", 0, nil},
		{"0.0015", 2, nil},
		{"0.0025", 2, nil},
		{"0.00250000001", 3, nil},
		{"-0.0015", -2, nil},
		{"2.34567", 2346, nil},
		{".5", 500, nil},
		{"5.", 5000, nil},
		{"9223372036854775.807", math.MaxInt64, nil},
		{"9223372036854775.8075", 0, decimal.ErrRange},
		{"9223372036854775.808", 0, decimal.ErrRange},
		{"1e999999999999", 0, decimal.ErrRange},
		{"0e999999999999", 0, nil},
		{"1e-999999999999", 0, nil},
		{"NaN", 0, decimal.ErrNonFinite},
		{"-Infinity", 0, decimal.ErrNonFinite},
		{"inf", 0, decimal.ErrNonFinite},
		{"-5.-123", 0, decimal.ErrSyntax},
		{"", 0, decimal.ErrSyntax},
		{".", 0, decimal.ErrSyntax},
		{"1.2.3", 0, decimal.ErrSyntax},
		{"1e", 0, decimal.ErrSyntax},
		{"12a", 0, decimal.ErrSyntax},
		{"nano", 0, decimal.ErrSyntax},
	}
	for _, tt := range tests {
		got, err := decimal.Micros([]byte(tt.in))
		if got != tt.want || !errors.Is(err, tt.err) {
			t.Errorf("Micros(%q) = %d, %v, want %d, %v", tt.in, got, err, tt.want, tt.err)
		}
	}
}

// The slow twin computes the same with big rationals.
func TestMicrosAgainstRationals(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	half := big.NewRat(1, 2)
	for range 20000 {
		s := strconv.FormatInt(rng.Int64N(1e13), 10)
		for n := rng.IntN(7); n > 0; n-- {
			if n == 6 || len(s) > 0 && !containsDot(s) {
				s += "."
			}
			s += strconv.Itoa(rng.IntN(10))
		}
		if rng.IntN(4) == 0 {
			s += "e" + strconv.Itoa(rng.IntN(8)-4)
		}
		r, ok := new(big.Rat).SetString(s)
		if !ok {
			t.Fatalf("bad test input %q", s)
		}
		r.Mul(r, big.NewRat(1000, 1))
		q, rem := new(big.Int).QuoRem(r.Num(), r.Denom(), new(big.Int))
		frac := new(big.Rat).SetFrac(rem, r.Denom())
		if c := frac.Cmp(half); c > 0 || c == 0 && q.Bit(0) == 1 {
			q.Add(q, big.NewInt(1))
		}
		got, err := decimal.Micros([]byte(s))
		if !q.IsInt64() {
			if !errors.Is(err, decimal.ErrRange) {
				t.Errorf("Micros(%q) = %d, %v, want ErrRange", s, got, err)
			}
			continue
		}
		if err != nil || got != q.Int64() {
			t.Errorf("Micros(%q) = %d, %v, want %d", s, got, err, q.Int64())
		}
	}
}

func containsDot(s string) bool {
	for i := range s {
		if s[i] == '.' {
			return true
		}
	}
	return false
}

func TestAppendMicrosRoundTrip(t *testing.T) {
	for _, ns := range []int64{0, 1, 999, 1000, 1712195495505582988, -1, -2500, math.MaxInt64} {
		s := decimal.AppendMicros(nil, ns)
		got, err := decimal.Micros(s)
		if err != nil || got != ns {
			t.Errorf("Micros(AppendMicros(%d) = %q) = %d, %v", ns, s, got, err)
		}
	}
}

func TestFold(t *testing.T) {
	for in, want := range map[string]string{"": "", "norm": "norm", "tile_128x64_2": "tile_#x#_#", "7": "#",
		"9é9": "#é#"} {
		if got := decimal.Fold(in); got != want {
			t.Errorf("Fold(%q) = %q, want %q", in, got, want)
		}
	}
}
