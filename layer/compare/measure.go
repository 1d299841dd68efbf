package compare

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/opname"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/roofline"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// The rows that are no operators.
const (
	rowIdle    = "idle"          // no kernel runs inside the pass
	rowBetween = "between steps" // no kernel runs up to the next pass
	rowLost    = "not recorded"  // records of kernels are missing
	rowWaiting = "waiting for ranks"
	rowOthers  = "kernels outside passes"
	rowCopies  = "copies and fills"
)

const (
	// inductor is the library of kernels that torch.compile wrote.
	inductor = "inductor"
	// covered is the share of the time inside layers that needs an operator for rows by operator; below it rows are
	// categories.
	covered = 0.9
	// layersKept is up to how many passes of a run keep the times of their layers: with more, passes show how times
	// vary.
	layersKept = 2
	// latencyOf is how many times the shortest kernels an operator's mean launch may take to count as bound by latency.
	latencyOf = 3.0
)

// Measure reduces an analysis to what a comparison needs: the passes of the GPU with most work, divided into rows.
func Measure(ctx context.Context, a *layer.Analysis) (*Run, error) {
	r := &Run{Trace: a.Trace().Meta().Shown(), Health: a.Health.Status, Parts: []Part{}, Passes: []Pass{}}
	if len(a.Devices) == 0 {
		return r, nil
	}
	d := &a.Devices[0]
	r.GPU, r.Rank = d.GPU, max(a.Trace().Meta().Rank, 0)
	for _, f := range a.Trace().Health().Findings {
		r.Scrambled = r.Scrambled || f.Code == trace.CodeScrambled && f.Severity != trace.HealthOK
		if f.Code == trace.CodeOneRow {
			r.OneRow = f.Message
		}
	}
	for _, c := range a.Trace().Counters() {
		if c.Device == d.ID && c.Quantity == trace.QuantitySMClock {
			r.Clock = &Clock{Min: c.Min, Median: c.Median, Max: c.Max, Changed: c.Changed}
		}
	}
	costs, err := roofline.Analyze(ctx, a, roofline.Options{On: &d.ID, Kernels: true})
	if err != nil {
		return nil, err
	}
	if costs.GPU != nil { // of a GPU that the trace does not name, the table knows what it is
		r.GPU = cmp.Or(r.GPU, costs.GPU.ID)
	}
	m := &measurer{device: d, costs: costs, at: make([]int32, d.NumKernels()), run: r, known: map[Part]int{},
		transfer: map[exchangeKey]time.Duration{}}
	m.byOperator = m.operatorsCover()
	r.Categories = !m.byOperator
	for i := range d.Models {
		r.Models = append(r.Models, ModelName{Name: d.Models[i].Name, Draft: d.Models[i].Draft,
			Role: d.Models[i].Role, Layers: d.Models[i].NumLayers})
	}
	m.medians()
	for p := range d.Passes {
		m.passes = append(m.passes, measuredPass{parts: map[int]*PartTime{}, layers: d.Passes[p].NumLayers})
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.divide()
	m.finish()
	return r, ctx.Err()
}

// measurer is the work of one Measure.
type measurer struct {
	device     *layer.Device
	costs      *roofline.Report
	at         []int32 // index in Run.Parts of each kernel, and one; 0: nobody has asked
	run        *Run
	byOperator bool
	known      map[Part]int     // index in Run.Parts
	raw        []time.Duration  // of each part: durations of its kernels
	launches   []int            // of each part
	next       []map[string]int // by part: how often another kernel follows, by its base name
	before     []map[string]int
	transfer   map[exchangeKey]time.Duration // up to this long a collective's launch is transfer
	passes     []measuredPass
}

type measuredPass struct {
	parts  map[int]*PartTime
	layers int
	graph  int
	own    int // of a compiler
	all    int
}

// operatorsCover says whether enough of the time inside layers has an operator.
func (m *measurer) operatorsCover() bool {
	var have, all time.Duration
	for k := range m.device.Kernels() {
		if k.Place().Layer == trace.None {
			continue
		}
		d := k.Event().Duration()
		all += d
		if op, _, _ := k.Operator(); op != opname.Other && op != "" {
			have += d
		}
	}
	return enough(have, all)
}

// enough says whether so much of the time has an operator that rows are operators.
func enough(have, all time.Duration) bool { return all > 0 && float64(have) >= covered*float64(all) }

// exchangeKey is a collective of one name in one pass; trace.None for all passes.
type exchangeKey struct {
	name trace.NameID
	pass int
}

// leastExchanges is how many launches of a pass show what they typically take there: a prefill moves more than a
// decode step.
const leastExchanges = 5

// medians finds how long a launch of each collective typically takes in its pass: what is longer than Transfer times
// that is waiting.
func (m *measurer) medians() {
	all := map[exchangeKey][]float64{}
	for k := range m.device.Kernels() {
		if k.Does() == classify.CategoryCommunication {
			d := float64(k.Event().Duration())
			name, pass := k.Event().NameID(), k.Place().Pass
			all[exchangeKey{name, trace.None}] = append(all[exchangeKey{name, trace.None}], d)
			if pass != trace.None {
				all[exchangeKey{name, pass}] = append(all[exchangeKey{name, pass}], d)
			}
		}
	}
	for key, d := range all {
		if key.pass == trace.None || len(d) >= leastExchanges {
			m.transfer[key] = time.Duration(transferMost * median(d))
		}
	}
}

// divide gives each instant of each pass to a part, as the device's timeline has it.
func (m *measurer) divide() {
	d := m.device
	for p, s := range d.Steps() {
		m.share(p, s)
	}
	last, of := 0, trace.None // the kernel before and its pass
	for i := range d.NumKernels() {
		k := d.Kernel(i)
		p := k.Place().Pass
		if p == trace.None {
			m.run.Outside += k.Event().Duration()
			continue
		}
		kernel := m.launch(&m.passes[p], i, k)
		if of == p {
			m.next[last][m.run.Parts[kernel].Base]++
			m.before[kernel][m.run.Parts[last].Base]++
		}
		last, of = kernel, p
		m.passes[p].all++
		if k.Event().IsReplay() {
			m.passes[p].graph++
		}
		if k.Facts().Library == inductor {
			m.passes[p].own++
		}
	}
}

// share books what a slice has of a pass's time.
func (m *measurer) share(p int, s layer.Slice) {
	mp, end := &m.passes[p], m.device.Passes[p].End
	booked := time.Duration(s.End - s.Start)
	switch {
	case s.Lost:
		m.book(mp, rowLost, Waiting, booked, 0)
	case s.Kernel == trace.None:
		inside := max(time.Duration(min(s.End, end)-s.Start), 0)
		m.book(mp, rowIdle, Waiting, inside, 0)
		m.book(mp, rowBetween, Waiting, booked-inside, booked-inside)
	case s.Pass != p:
		m.book(mp, rowOthers, Memory, booked, max(time.Duration(s.End-max(s.Start, end)), 0))
	default:
		m.kernel(mp, int(s.Kernel), booked)
	}
}

// book adds a time without a kernel of the pass, tail of it after its last one.
func (m *measurer) book(mp *measuredPass, name string, class Class, d, tail time.Duration) {
	if d > 0 {
		c := mp.part(m.number(Part{Name: name, Operator: name, Class: class}, func(*Part) {}))
		c.Exclusive, c.Tail = c.Exclusive+d, c.Tail+tail
	}
}

// kernel books one kernel of a pass.
func (m *measurer) kernel(mp *measuredPass, at int, booked time.Duration) {
	k := m.device.Kernel(at)
	own := m.transferOf(k, booked)
	m.book(mp, rowWaiting, Waiting, booked-own, 0)
	c := mp.part(m.kernelAt(at, k))
	c.Exclusive += own
	if l := k.Place().Layer; l >= 0 && l < mp.layers {
		if c.Layers == nil {
			c.Layers = make([]time.Duration, mp.layers)
		}
		c.Layers[l] += own
	}
}

// launch counts a kernel of a pass, also one that others hide all the time and takes none of the pass's. It
// returns the kernel's part.
func (m *measurer) launch(mp *measuredPass, at int, k layer.Kernel) int {
	kernel, d := m.kernelAt(at, k), k.Event().Duration()
	c := mp.part(kernel)
	c.Count++
	own := m.transferOf(k, d)
	c.Time += own
	c.Wait += d - own
	if cost, ok := m.costs.Cost(k); ok {
		c.Floor, c.Bytes, c.GFLOP = c.Floor+cost.Floor, c.Bytes+cost.Bytes, c.GFLOP+cost.GFLOP
		c.Compute = c.Compute || cost.ComputeBound()
		if size := cost.M * cost.N * cost.K; size > c.largest {
			c.Shape, c.largest = fmt.Sprintf("%d×%d×%d", cost.M, cost.N, cost.K), size
		}
	}
	m.launches[kernel]++
	m.raw[kernel] += d
	return kernel
}

// part is what a pass spends on one part.
func (mp *measuredPass) part(i int) *PartTime {
	c := mp.parts[i]
	if c == nil {
		c = &PartTime{Part: i}
		mp.parts[i] = c
	}
	return c
}

// transferOf is the part of a kernel's time that is not waiting for other ranks.
func (m *measurer) transferOf(k layer.Kernel, d time.Duration) time.Duration {
	if k.Does() == classify.CategoryCommunication {
		most, ok := m.transfer[exchangeKey{k.Event().NameID(), k.Place().Pass}]
		if !ok {
			most = m.transfer[exchangeKey{k.Event().NameID(), trace.None}]
		}
		if most > 0 {
			return min(d, most)
		}
	}
	return d
}

// kernelAt is the part that a kernel is, which is found once: a kernel has several slices, and is launched.
func (m *measurer) kernelAt(at int, k layer.Kernel) int {
	if m.at[at] == 0 {
		m.at[at] = int32(m.kernelOf(k)) + 1
	}
	return int(m.at[at]) - 1
}

func (m *measurer) kernelOf(k layer.Kernel) int {
	op, part, _ := k.Operator()
	p := Part{Name: k.Facts().Short, Base: k.Facts().Base, Category: string(k.Does()), Class: Memory}
	switch collective := k.Does() == classify.CategoryCommunication; {
	case collective:
		p.Class = Transfer
	case k.Event().Kind() != event.Kernel || part == layer.PartCopy:
		p.Operator, p.Class = rowCopies, Latency
	}
	if p.Operator == "" && op != opname.Other {
		p.Operator = string(op)
	}
	return m.number(p, func(p *Part) {
		if o := k.Event().Op(); o.Valid() {
			p.Op = o.Name()
		}
	})
}

// number is the index of a part, which it adds if need be; fill says what else is known of it.
func (m *measurer) number(p Part, fill func(*Part)) int {
	i, ok := m.known[p]
	if !ok {
		i = len(m.run.Parts)
		m.known[p] = i
		fill(&p)
		m.run.Parts = append(m.run.Parts, p)
		m.raw, m.launches = append(m.raw, 0), append(m.launches, 0)
		m.before, m.next = append(m.before, map[string]int{}), append(m.next, map[string]int{})
	}
	return i
}

// mostOften is the name with the largest count, the first by name of several; "" for none.
func mostOften(counts map[string]int) string {
	best := ""
	for _, name := range sortedKeys(counts) {
		if counts[name] > counts[best] {
			best = name
		}
	}
	return best
}

// finish writes the passes in the form of the document. Kernels of an operator whose mean launch is short are bound
// by latency.
func (m *measurer) finish() {
	shortest := m.shortest()
	raw, launches := map[string]time.Duration{}, map[string]int{}
	for i := range m.run.Parts {
		row := m.run.Parts[i].label(!m.byOperator)
		raw[row] += m.raw[i]
		launches[row] += m.launches[i]
	}
	for i := range m.run.Parts {
		p := &m.run.Parts[i]
		if n := launches[p.label(!m.byOperator)]; p.isKernel() && p.Class == Memory &&
			float64(raw[p.label(!m.byOperator)]) <= latencyOf*float64(n)*float64(shortest) {
			p.Class = Latency
		}
		p.Before, p.After = mostOften(m.before[i]), mostOften(m.next[i])
	}
	perStage := map[layer.Stage]int{}
	for p := range m.device.Passes {
		perStage[m.device.Passes[p].Stage]++
	}
	for p := range m.passes {
		m.run.Passes = append(m.run.Passes, m.pass(p, perStage))
	}
}

// shortest is the duration of the device's shortest kernels: a tenth of them are not longer.
func (m *measurer) shortest() time.Duration {
	var all []time.Duration
	for k := range m.device.Kernels() {
		if k.Event().Kind() == event.Kernel {
			all = append(all, k.Event().Duration())
		}
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)/10]
}

func (m *measurer) pass(p int, perStage map[layer.Stage]int) Pass {
	mp, fp := &m.passes[p], &m.device.Passes[p]
	out := Pass{Index: p, Stage: fp.Stage, Model: fp.Model, NumLayers: fp.NumLayers, Partial: fp.Partial, Lost: fp.Lost,
		Batch: int64(fp.Batch), Tokens: fp.Tokens, Start: int64(fp.Start),
		Parts: []PartTime{}, First: p > 0 && m.device.Passes[p-1].Stage != fp.Stage}
	for _, i := range slices.Sorted(maps.Keys(mp.parts)) {
		t := mp.parts[i]
		out.Wall += t.Exclusive
		if perStage[fp.Stage] > layersKept {
			t.Layers = nil
		}
		out.Parts = append(out.Parts, *t)
	}
	out.Followed = p+1 < len(m.device.Passes) && m.device.StepEnd(p) >= m.device.Passes[p+1].Start
	if mp.all > 0 {
		out.Graph, out.Compiled = float64(mp.graph)/float64(mp.all), float64(mp.own)/float64(mp.all)
	}
	return out
}
