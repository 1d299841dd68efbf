package trace

import (
	"cmp"
	"slices"
	"strings"

	"github.com/llmstrata/strata/trace/event"
)

// Quantity is what a counter measures, in one unit for all sources.
type Quantity string

// The quantities, and "" for any other counter, whose unit its name gives.
const (
	QuantityMemoryClock Quantity = "memory-clock" // MHz
	QuantitySMClock     Quantity = "sm-clock"     // MHz
	QuantityPower       Quantity = "power"        // W
	QuantityTemperature Quantity = "temperature"  // °C
	QuantityDRAM        Quantity = "dram"         // bandwidth of the memory, % of the peak
	QuantitySMActive    Quantity = "sm-active"    // % of the peak
)

// Counter sums up the samples of one counter of one GPU while that GPU worked:
// between the start of its first activity and the end of its last. Samples
// outside say what an idle GPU does, and are left out.
type Counter struct {
	Device   DeviceID `json:"device"`
	Name     string   `json:"name"` // as recorded, "SM Clock (MHz)"
	Quantity Quantity `json:"quantity,omitempty"`
	Samples  int      `json:"samples"` // at least 1
	Min      float64  `json:"min"`
	Median   float64  `json:"median"` // the lower one of an even number
	Max      float64  `json:"max"`
	// Changed says that the counter varied by more than 3% of its highest value: a
	// clock that did makes times of one trace differ for no reason of the program's.
	Changed bool `json:"-"`
}

// clockChange is by how much of its highest value a clock may vary until results
// are said to depend on it. Boost clocks under a steady load move by one or two
// steps of 15 MHz, 1.5% of 2 GHz; a GPU that reaches its limit of power or
// temperature loses more.
const clockChange = .03

// Counters returns the counters of all GPUs that have samples while they worked,
// by device, then name. A trace without counters has none, which is the rule:
// recorders write them since 2026, and only where asked to.
func (t *Trace) Counters() []Counter {
	if t.laneLen(event.LaneCounter) == 0 {
		return nil
	}
	type window struct{ from, to Time }
	busy := map[DeviceID]window{}
	for e := range t.Events(event.LaneGPU) {
		w, ok := busy[e.Device()]
		if !ok {
			w.from = e.Start() // the lane is sorted by start
		}
		w.to = max(w.to, e.End())
		busy[e.Device()] = w
	}
	type key struct {
		device DeviceID
		name   NameID
	}
	values := map[key][]float64{}
	for e := range t.Events(event.LaneCounter) {
		if w, ok := busy[e.Device()]; ok && e.Start() >= w.from && e.Start() <= w.to {
			k := key{e.Device(), e.NameID()}
			values[k] = append(values[k], e.Data().Value)
		}
	}
	out := make([]Counter, 0, len(values))
	for k, v := range values {
		slices.Sort(v)
		c := Counter{Device: k.device, Name: t.Name(k.name), Samples: len(v), Min: v[0], Median: v[(len(v)-1)/2],
			Max: v[len(v)-1]}
		c.normalise()
		c.Changed = c.Max-c.Min > clockChange*c.Max
		out = append(out, c)
	}
	slices.SortFunc(out, func(a, b Counter) int {
		return cmp.Or(cmp.Compare(a.Device, b.Device), strings.Compare(a.Name, b.Name))
	})
	return out
}

// quantities maps what a counter measures to words of its name, first match
// first, and how many of the quantity's units one of the name's is.
var quantities = []struct {
	quantity Quantity
	words    []string // one of them, in the name without its unit
	units    map[string]float64
}{
	{QuantityMemoryClock, []string{"memory clock", "mem clock", "mclk"}, megahertz},
	{QuantitySMClock, []string{"sm clock", "sm frequency", "graphics clock", "gpu clock", "core clock", "sclk", "gfxclk"},
		megahertz},
	{QuantityPower, []string{"power"}, map[string]float64{"W": 1, "mW": 1e-3, "kW": 1e3}},
	{QuantityTemperature, []string{"temperature"}, map[string]float64{"C": 1, "°C": 1}},
	{QuantityDRAM, []string{"dram bw", "hbm bw"}, map[string]float64{"%": 1}},
	{QuantitySMActive, []string{"sm active"}, map[string]float64{"%": 1}},
}

var megahertz = map[string]float64{"MHz": 1, "GHz": 1e3, "kHz": 1e-3, "Hz": 1e-6}

// normalise sets the quantity and converts the values to its unit. A counter
// whose name gives no unit, or one that is not known, stays as it is.
func (c *Counter) normalise() {
	name, unit, ok := strings.Cut(strings.TrimSuffix(c.Name, ")"), "(")
	if !ok {
		return
	}
	name = strings.ToLower(name)
	for _, q := range quantities {
		factor := q.units[strings.TrimSpace(unit)]
		if factor != 0 && slices.ContainsFunc(q.words, func(w string) bool { return strings.Contains(name, w) }) {
			c.Quantity = q.quantity
			c.Min, c.Median, c.Max = c.Min*factor, c.Median*factor, c.Max*factor
			return
		}
	}
}

// clocks are the quantities that are clocks, as they are called.
var clocks = map[Quantity]string{QuantityMemoryClock: "memory", QuantitySMClock: "sm"}

// examineClocks notes the clocks that changed while their GPU worked.
func (t *Trace) examineClocks(add func(code Code, sev HealthStatus, n int64, affects []Area, format string,
	args ...any)) {
	for _, c := range t.Counters() {
		if kind, ok := clocks[c.Quantity]; ok && c.Changed {
			add(CodeClockChanged, HealthOK, int64(c.Samples), []Area{AffectsGPUTime},
				"the %s clock of GPU %d ran between %.0f and %.0f MHz while it worked (median %.0f): equal work took different "+
					"times, and a comparison sees the clock too",
				kind, c.Device, c.Min, c.Max, c.Median)
		}
	}
}
