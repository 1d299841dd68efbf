package apptest

import (
	"math"
	"strconv"
	"strings"
	"testing"
)

// SameFigures compares published cells with ours, which may show more decimals. Texts must be equal, and numbers must
// be equal up to their rounding. A unit after both numbers must be the same.
func SameFigures(t testing.TB, what string, published, ours []string) {
	t.Helper()
	if len(published) != len(ours) {
		t.Errorf("%s: %d published cells, %d ours:\n%q\n%q", what, len(published), len(ours), published, ours)
		return
	}
	for i := range published {
		if !sameFigure(published[i], ours[i]) {
			t.Errorf("%s: cell %d is %s, published %s", what, i, ours[i], published[i])
		}
	}
}

func sameFigure(published, ours string) bool {
	if published == ours {
		return true
	}
	p, pUnit, pHalf, ok1 := number(published)
	o, oUnit, oHalf, ok2 := number(ours)
	const slack = 1e-9 // what doubles lose, in units of the last digit
	return ok1 && ok2 && pUnit == oUnit && oHalf < pHalf && math.Abs(p-o) <= (pHalf+oHalf)*(1+slack)
}

// number splits "0.24ms" into 0.24, "ms" and half of its last digit's unit.
func number(s string) (value float64, unit string, half float64, ok bool) {
	digits := strings.TrimRight(s, "abcdefghijklmnopqrstuvwxyz%")
	value, err := strconv.ParseFloat(digits, 64)
	decimals := 0
	if dot := strings.IndexByte(digits, '.'); dot >= 0 {
		decimals = len(digits) - dot - 1
	}
	return value, s[len(digits):], math.Pow10(-decimals) / 2, err == nil
}
