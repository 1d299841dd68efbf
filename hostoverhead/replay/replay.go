package replay

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/llmstrata/strata/internal/stat"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
)

// The numbers of the gates.
const (
	fewSteps = 3 // an answer needs so many steps that pass both gates
	// leastPasses is how many passes have so many steps between them.
	leastPasses = fewSteps + 1
	calm        = 0.1  // coefficient of variation up to which steps vary little: a gain is then a figure
	waitsShare  = 0.02 // of a step may be waits for what is not in the trace
	otherRanks  = 0.02 // of the busy time may exchange data with other GPUs
	slack       = 0.01 // of a step, that an interval is wider by: the replay reproduces steps to within that
	errors2     = 2    // standard errors
	// sameKernels is the share of the kernels' time whose names another trace must have for its times to be of the
	// same program: a tenth may be of fallbacks that one of the two ran.
	sameKernels = 0.9
	clockSkew   = time.Millisecond
)

// MostEdits limits the edits that are tried by default.
const MostEdits = 8

// Gain is what an edit would bring.
type Gain struct {
	// Edit is the change.
	Edit Edit `json:"edit"`
	finding.Gain
	// Refused is why nothing is said; "" where something is.
	Refused string `json:"refused,omitempty"`
}

// Analyze replays a device's part of a trace with each edit alone. Edits that the trace does not test, or the model
// does not answer, are refused, with the reason. The error is ctx's.
func Analyze(ctx context.Context, d *layer.Device, edits []Edit) ([]Gain, error) {
	return (*Models)(nil).Analyze(ctx, d, edits)
}

// Models are those of devices, each built once however often it is asked. The zero value has none, nil keeps none;
// goroutines may share one.
type Models struct {
	mu sync.Mutex
	of map[*layer.Device]*model
}

// Analyze is the function of that name.
func (x *Models) Analyze(ctx context.Context, d *layer.Device, edits []Edit) ([]Gain, error) {
	if x == nil {
		x = new(Models)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	m := x.of[d]
	if m == nil {
		var err error
		if m, err = build(ctx, d); err != nil {
			return nil, err
		}
		if x.of == nil {
			x.of = map[*layer.Device]*model{}
		}
		x.of[d] = m
	}
	out := make([]Gain, len(edits))
	for i, e := range edits {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		out[i] = Gain{Edit: e, Gain: finding.Gain{Ask: e.String(), Title: e.Title(), All: max(0, m.passes-1)},
			Refused: m.hidden}
		if m.hidden == "" {
			m.gain(&out[i])
		}
	}
	return out, nil
}

// unfit says why the model does not fit the trace at all, "" where it does.
func (m *model) unfit() string {
	var comm, busy int64
	for i := range m.acts {
		busy += m.acts[i].d
		if m.acts[i].comm {
			comm += m.acts[i].d
		}
	}
	for i := range m.items {
		if l := m.items[i].lat; l < 0 || l > int64(clockSkew) {
			return "launch latencies look like an offset of clocks"
		}
	}
	if float64(comm) > otherRanks*float64(busy) {
		return "the GPU exchanges data with others: how long they wait for each other needs the traces of all ranks"
	}
	return ""
}

// withoutWaits takes out steps that wait for something that is not in the trace.
func (m *model) withoutWaits() {
	held := make([]int64, m.passes)
	for i := range m.acts {
		if a := &m.acts[i]; a.pass >= 0 {
			held[a.pass] += a.hold
		}
	}
	for p, took := range m.base {
		if most := waitsShare * float64(took); float64(held[p]) > most || float64(held[p+1]) > most {
			m.sound[p] = false
		}
	}
}

// gain answers one edit.
func (m *model) gain(g *Gain) {
	low, reason := m.plan(g.Edit, cheap)
	if g.Refused = reason; reason != "" {
		return
	}
	row := g.Edit.Kind.row()
	agrees, fast := m.agree(row.uses), m.steps(m.run(low))
	slow := fast
	if row.assumes {
		high, _ := m.plan(g.Edit, dear)
		slow = m.steps(m.run(high))
	}
	var with, quick, late []float64
	reproduced := 0
	for p, took := range m.base {
		if !m.sound[p] {
			continue
		}
		reproduced++
		if agrees[p] || fast[p] < 0 || slow[p] < 0 || low.of != nil && !low.of[p+1] {
			continue
		}
		with, quick, late = append(with, float64(took)), append(quick, float64(fast[p])),
			append(late, float64(slow[p]))
	}
	switch g.Steps = len(with); {
	case reproduced < fewSteps:
		g.Refused = fmt.Sprintf("the replay reproduces only %d of %d steps within 1%%", reproduced, len(m.base))
	case g.Steps < fewSteps:
		g.Refused = "not tested by this trace: without the dependencies that it changes the steps would take as long"
	}
	if g.Refused != "" {
		return
	}
	baseMean, fastMean, slowMean := stat.Mean(with), stat.Mean(quick), stat.Mean(late)
	replayed := make([]float64, len(with))
	for i := range with {
		replayed[i] = (quick[i] + late[i]) / 2
	}
	wide := errors2*deviation(replayed)/math.Sqrt(float64(len(replayed))) + slack*baseMean
	after := (fastMean + slowMean) / 2
	g.Base, g.After = time.Duration(baseMean), time.Duration(after)
	g.Low, g.High = time.Duration(max(0, min(fastMean, slowMean)-wide)), time.Duration(max(fastMean, slowMean)+wide)
	spread, onKernels := deviation(with)/baseMean, row.uses == streamEdges
	g.Figure = spread <= calm && (onKernels && g.Edit.Kind != Chain || g.Edit.Kind == Sync)
	if onKernels {
		return
	}
	least := m.busyMean(agrees) // no edit of the host makes a step shorter than the GPU works
	if g.Low = max(g.Low, min(time.Duration(least), g.After)); after < (1-slack)*least {
		g.Refused = "the result would be less than the time that the GPU works"
		g.Base, g.After, g.Low, g.High, g.Figure = 0, 0, 0, 0, false
	}
}

// busyMean is how long the GPU works in the steps that pass both gates.
func (m *model) busyMean(agrees []bool) float64 {
	busy := make([]time.Duration, m.passes)
	for p, s := range m.d.Steps() {
		if s.Kernel >= 0 {
			busy[p] += time.Duration(s.End - s.Start)
		}
	}
	sum, n := 0.0, 0
	for p, sound := range m.sound {
		if sound && !agrees[p] {
			sum, n = sum+float64(busy[p]), n+1
		}
	}
	return sum / float64(n)
}

// deviation is the standard deviation of several values.
func deviation(v []float64) float64 {
	m, sum := stat.Mean(v), 0.0
	for _, x := range v {
		sum += (x - m) * (x - m)
	}
	return math.Sqrt(sum / float64(len(v)-1))
}
