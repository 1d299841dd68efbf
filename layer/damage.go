package layer

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/llmstrata/strata/internal/interval"
	"github.com/llmstrata/strata/internal/opname"
	"github.com/llmstrata/strata/internal/stat"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer/internal/ladder"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
)

// Damage is a place of a pass where records of kernels are missing: passes that run the same kernels have them, and
// nothing is recorded there for as long as they would have taken. Profilers lose whole buffers of records. Kernels
// around the place keep their layers, sums of the pass lack what is missing, and its time is neither busy nor idle.
type Damage struct {
	// Pass indexes Passes.
	Pass int `json:"pass"`
	// Layer and Operator are of the last kernel before the place: Layer is None where that is in no layer, and Operator
	// is "" where there is none.
	Layer    int              `json:"layer"`
	Operator profile.Operator `json:"operator"`
	// NextLayer and NextOperator are of the first kernel after it.
	NextLayer    int              `json:"next_layer"`
	NextOperator profile.Operator `json:"next_operator"`
	// Kernels is how many are missing.
	Kernels int `json:"kernels"`
	// Unsure says that whether any are missing is open: the GPU may have idled, and its time counts as idle.
	Unsure bool `json:"unsure,omitempty"`
	// Idle is how long nothing is recorded to run there: [Slice.Lost], unless the loss is unsure.
	Idle time.Duration `json:"idle_ns"`
}

// String says the place in words.
func (d Damage) String() string {
	at := func(layer int, op profile.Operator, none string) string {
		switch {
		case layer != trace.None && op == opname.Other:
			return fmt.Sprintf("layer %d", layer)
		case layer != trace.None:
			return strings.TrimSpace(fmt.Sprintf("layer %d %s", layer, op))
		case op == opname.Other:
			return "a kernel outside layers"
		case op != "":
			return string(op) + " outside layers"
		}
		return none
	}
	likely := ""
	if d.Unsure {
		likely = "likely "
	}
	return fmt.Sprintf("pass %d: records %smissing between %s and %s (about %s)", d.Pass, likely,
		at(d.Layer, d.Operator, "the beginning of the pass"),
		at(d.NextLayer, d.NextOperator, "the end of the pass"), table.Counted(d.Kernels, "kernel", "kernels"))
}

// leastDamage is the least number of kernels that are reported as one place where no other passes lack some, too: less
// may be another order of two streams.
const leastDamage = 4

// damageNotes is how many places the notes name one by one.
const damageNotes = 4

// IsLost reports whether a time in which nothing is recorded to run is one of [Device.Damage].
func (d *Device) IsLost(s TimeSpan) bool {
	span := interval.Span{Start: int64(s.Start), End: int64(s.End)}
	return len(d.lost) > 0 && interval.Covered(d.lost, span) == span.Len()
}

// listDamage notes where records are missing.
func (a *Device) listDamage(w *work, results []ladder.Result) {
	for p := range results {
		for _, g := range results[p].Lost() {
			if g.Kernels < leastDamage && !g.Scattered {
				continue
			}
			d := Damage{Pass: p, Layer: trace.None, NextLayer: trace.None, Kernels: g.Kernels,
				Unsure: g.Unsure}
			if g.Before != ladder.None {
				k := a.Kernel(int(g.Before))
				d.Layer = k.Place().Layer
				d.Operator, _, _ = k.Operator()
			}
			if g.After != ladder.None {
				k := a.Kernel(int(g.After))
				d.NextLayer = k.Place().Layer
				d.NextOperator, _, _ = k.Operator()
			}
			if g.Before != ladder.None && g.After != ladder.None {
				hole := interval.Span{Start: int64(w.Act(g.Before).End()), End: int64(w.Act(g.After).Start())}
				d.Idle = time.Duration(hole.Len())
				if !d.Unsure {
					a.lost = append(a.lost, hole)
				}
			}
			if !d.Unsure {
				a.Passes[p].Lost += g.Kernels
			}
			a.Damage = append(a.Damage, d)
		}
	}
	if len(a.Damage) == 0 {
		return
	}
	a.lost = interval.UnionInPlace(a.lost)
	named := min(damageNotes, len(a.Damage))
	for _, d := range a.Damage[:named] {
		a.Notes = append(a.Notes, d.String())
	}
	if more := a.Damage[named:]; len(more) > 0 {
		text, _ := missing(more, "further place", "further places")
		a.Notes = append(a.Notes, text)
	}
	h := &a.of.Health
	text, kernels := missing(a.Damage, "place", "places")
	h.Findings = append(slices.Clone(h.Findings), trace.Remark{Code: trace.CodeRecordsMissing,
		Severity: trace.HealthDegraded, Count: int64(kernels),
		Affects: []trace.Area{trace.AffectsGPUTime, trace.AffectsLayers, trace.AffectsCompleteness},
		Message: fmt.Sprintf("%s: %s", text, a.Damage[0])})
	if trace.HealthDegraded.Compare(h.Status) > 0 {
		h.Status = trace.HealthDegraded
	}
}

// missing says how many kernels are missing at how many places, and where that is only likely, and counts them.
func missing(list []Damage, one, many string) (text string, kernels int) {
	var of, places [2]int
	for _, d := range list {
		likely := stat.Int(d.Unsure)
		of[likely], places[likely] = of[likely]+d.Kernels, places[likely]+1
	}
	var out []string
	for likely, word := range [2]string{"", "likely "} {
		if places[likely] > 0 {
			out = append(out, fmt.Sprintf("about %s %smissing at %s", table.Counted(of[likely], "record of a kernel is",
				"records of kernels are"), word, table.Counted(places[likely], one, many)))
		}
	}
	return strings.Join(out, ", "), of[0] + of[1]
}
