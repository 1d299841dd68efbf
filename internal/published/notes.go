package published

import (
	"fmt"
	"strconv"

	"github.com/llmstrata/strata/internal/decimal"
	"github.com/llmstrata/strata/trace"
)

// The published remarks compare the first layer of a pass with that of the pass before.
const (
	steadyFrom   = 3    // the first pass that may be called steady
	steadyWithin = 0.05 // relative difference below which it is
	growingFrom  = 1.5  // ratio above which a pass is said to grow
)

// addNotes writes the remarks of the published timeline.
func (f *finder) addNotes() {
	c := f.cut
	wall := func(p int) float64 { return c.Passes[p].Layers[0].wallUS }
	for p := range c.Passes {
		fp := &c.Passes[p]
		switch {
		case !fp.Whole:
			continue
		case p == 0:
			fp.Note = "cold-start"
			continue
		}
		switch prev, cur := wall(p-1), wall(p); {
		case prev <= 0:
		case p >= steadyFrom && max(cur-prev, prev-cur)/prev < steadyWithin:
			fp.Note = "steady-state"
		case cur > growingFrom*prev:
			fp.Note = fmt.Sprintf("growing %.1fx", cur/prev)
		}
	}
}

// rawUS is when an event starts, in the published arithmetic: the double nearest to the file's decimal microseconds,
// which loses up to half a microsecond of a large timestamp.
func rawUS(t *trace.Trace, e trace.Event) float64 {
	const exact = 1 << 53 // doubles hold integers up to here
	ns := t.Raw(e.Start())
	if ns > -exact && ns < exact {
		return float64(ns) / 1000 // both exact, so the quotient is the nearest double
	}
	us, _ := strconv.ParseFloat(string(decimal.AppendMicros(nil, ns)), 64)
	return us
}
