package hostoverhead

import (
	"math"
	"strconv"
)

// Ratio is a share that may be not applicable. Its zero value is.
type Ratio struct {
	Value float64 // meaningful only if Applicable
	// Applicable is false where the trace lacks what the ratio is made of, or
	// where its denominator is 0.
	Applicable bool
}

// ratio divides two durations in ns; not applicable when the denominator is 0.
func ratio(num, den int64) Ratio {
	if den <= 0 {
		return Ratio{}
	}
	return Ratio{Value: float64(num) / float64(den), Applicable: true}
}

// ratioDecimals is how many decimals ratios have in JSON (hostoverhead.md §2).
const ratioDecimals = 4

// MarshalJSON writes four decimals, or null when not applicable.
func (r Ratio) MarshalJSON() ([]byte, error) {
	if !r.Applicable || math.IsNaN(r.Value) || math.IsInf(r.Value, 0) {
		return []byte("null"), nil
	}
	v, err := strconv.ParseFloat(strconv.FormatFloat(r.Value, 'f', ratioDecimals, 64), 64)
	if err != nil {
		return nil, err
	}
	return strconv.AppendFloat(nil, v, 'f', -1, 64), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (r *Ratio) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*r = Ratio{}
		return nil
	}
	v, err := strconv.ParseFloat(string(data), 64)
	*r = Ratio{Value: v, Applicable: err == nil}
	return err
}

// String returns the ratio with four decimals, or "n/a".
func (r Ratio) String() string {
	if !r.Applicable {
		return "n/a"
	}
	return strconv.FormatFloat(r.Value, 'f', ratioDecimals, 64)
}
