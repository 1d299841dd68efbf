package compare

import (
	"cmp"
	"context"
	"fmt"
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
	rowWaiting = "waiting for ranks"
	rowOthers  = "kernels of no pass"
	rowCopies  = "copies and fills"
)

const (
	// inductor is the library of kernels that torch.compile wrote.
	inductor = "inductor"
	// smClock is what counters call the clock of the GPU's processors.
	smClock = "sm-clock"
	// covered is the share of the time inside layers that needs an operator for rows by operator; below it rows are categories.
	covered = 0.9
	// layersKept is up to how many passes of a run keep the times of their layers: with more, passes show how times vary.
	layersKept = 2
	// latencyOf is how many times the shortest kernels an operator's mean launch may take to count as bound by latency.
	latencyOf = 3.0
)

// Measure reduces an analysis to what a comparison needs: the passes of the GPU with most work, divided into rows.
func Measure(ctx context.Context, a *layer.Analysis) (*Run, error) {
	r := &Run{Trace: a.Trace().Meta().Path, Health: string(a.Health.Status), Rows: []RowName{}, Passes: []Pass{}}
	if len(a.Devices) == 0 {
		return r, nil
	}
	d := &a.Devices[0]
	r.GPU, r.Rank = d.GPU, max(a.Trace().Meta().Rank, 0)
	for _, f := range a.Trace().Health().Findings {
		r.Scrambled = r.Scrambled || f.Code == trace.CodeScrambled && f.Severity != trace.HealthOK
	}
	for _, c := range a.Trace().Counters() {
		if c.Device == d.ID && c.Quantity == smClock {
			r.Clock = &Clock{Min: c.Min, Median: c.Median, Max: c.Max, Changed: c.Changed}
		}
	}
	costs, err := roofline.Analyze(ctx, a, roofline.Options{On: &d.ID, Kernels: true})
	if err != nil {
		return nil, err
	}
	m := &measurer{device: d, costs: costs, at: make([]int32, d.NumKernels()), run: r, index: map[string]int{}, known: map[kernelKey]int{}, kernels: map[string]map[string]time.Duration{}, transfer: map[exchangeKey]time.Duration{}}
	m.byOperator = m.operatorsCover()
	r.Categories = !m.byOperator
	for i := range d.Models {
		r.Models = append(r.Models, ModelName{Name: d.Models[i].Name, Draft: d.Models[i].Draft, Layers: d.Models[i].NumLayers})
	}
	m.medians()
	for p := range d.Passes {
		m.passes = append(m.passes, measuredPass{rows: map[int]time.Duration{}, count: map[int]int{}, cells: map[int]*KernelTime{}, tail: map[int]time.Duration{}, layers: map[[2]int]time.Duration{}, total: make([]time.Duration, d.Passes[p].NumLayers)})
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
	at         []int32 // index in Run.Kernels of each kernel, and one; 0: nobody has asked
	run        *Run
	byOperator bool
	index      map[string]int // row by name
	classes    []class
	launches   []int
	raw        []time.Duration
	known      map[kernelKey]int // index in Run.Kernels
	next       []map[string]int  // by kernel: how often another one follows, by its base name
	before     []map[string]int
	kernels    map[string]map[string]time.Duration // by row and short name
	transfer   map[exchangeKey]time.Duration       // up to this long a collective's launch is transfer
	passes     []measuredPass
}

type measuredPass struct {
	rows   map[int]time.Duration
	count  map[int]int
	cells  map[int]*KernelTime      // by kernel
	tail   map[int]time.Duration    // by row: behind the pass
	layers map[[2]int]time.Duration // row and layer
	total  []time.Duration          // by layer
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

// leastExchanges is how many launches of a pass show what they typically take there: a prefill moves more than a decode step.
const leastExchanges = 5

// medians finds how long a launch of each collective typically takes in its pass: what is longer than Transfer times that is waiting.
func (m *measurer) medians() {
	all := map[exchangeKey][]float64{}
	for k := range m.device.Kernels() {
		if k.Category() == classify.CategoryCommunication {
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
			m.transfer[key] = time.Duration(defaultParams().Transfer * median(d))
		}
	}
}

// row returns the number of a row, which it adds if need be.
func (m *measurer) row(name string, c class) int {
	i, ok := m.index[name]
	if !ok {
		i = len(m.run.Rows)
		m.index[name] = i
		m.run.Rows = append(m.run.Rows, RowName{Operator: name, Kernels: []string{}})
		m.classes = append(m.classes, c)
		m.launches = append(m.launches, 0)
		m.raw = append(m.raw, 0)
	}
	return i
}

// divide gives each instant of each pass to a row, as the device's timeline has it.
func (m *measurer) divide() {
	d := m.device
	for p, s := range d.Steps() {
		m.share(p, s)
	}
	last, of := -1, trace.None
	for i := range d.NumKernels() {
		k := d.Kernel(i)
		if p := k.Place().Pass; p == trace.None {
			m.run.Outside += k.Event().Duration()
		} else {
			kernel := m.launch(&m.passes[p], i, k)
			if last >= 0 && of == p {
				m.next[last][m.run.Kernels[kernel].Base]++
				m.before[kernel][m.run.Kernels[last].Base]++
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
}

// share books what a slice has of a pass's time.
func (m *measurer) share(p int, s layer.Slice) {
	mp, fp := &m.passes[p], &m.device.Passes[p]
	booked := time.Duration(s.End - s.Start)
	if s.Kernel == trace.None {
		if inside := time.Duration(min(s.End, fp.End) - s.Start); inside > 0 {
			mp.rows[m.row(rowIdle, waiting)] += inside
			booked -= inside
		}
		if booked > 0 {
			row := m.row(rowBetween, waiting)
			mp.rows[row] += booked
			mp.tail[row] += booked
		}
		return
	}
	if s.Pass != p {
		row := m.row(rowOthers, memory)
		mp.rows[row] += booked
		if behind := time.Duration(s.End - max(s.Start, fp.End)); behind > 0 {
			mp.tail[row] += behind
		}
		return
	}
	m.kernel(mp, int(s.Kernel), booked)
}

// kernel books one kernel of a pass.
func (m *measurer) kernel(mp *measuredPass, at int, booked time.Duration) {
	k := m.device.Kernel(at)
	if k.Category() == classify.CategoryCommunication {
		if most := m.transferOf(k, booked); booked > most {
			mp.rows[m.row(rowWaiting, waiting)] += booked - most
			booked = most
		}
	}
	kernel := m.kernelAt(at, k)
	i := m.run.Kernels[kernel].Row
	mp.rows[i] += booked
	mp.cell(kernel).Exclusive += booked
	l := k.Place().Layer
	mp.layers[[2]int{i, l}] += booked
	if l >= 0 && l < len(mp.total) {
		mp.total[l] += booked
	}
}

// launch counts a kernel of a pass, also one that runs behind others all the time and takes none of the pass's. It returns the kernel's number.
func (m *measurer) launch(mp *measuredPass, at int, k layer.Kernel) int {
	kernel, d := m.kernelAt(at, k), k.Event().Duration()
	i := m.run.Kernels[kernel].Row
	c := mp.cell(kernel)
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
	name := m.run.Rows[i].Operator
	mp.count[i]++
	m.launches[i]++
	m.raw[i] += d
	if m.kernels[name] == nil {
		m.kernels[name] = map[string]time.Duration{}
	}
	m.kernels[name][k.Facts().Short] += d
	return kernel
}

// cell is what a pass spends on one kernel.
func (mp *measuredPass) cell(kernel int) *KernelTime {
	c := mp.cells[kernel]
	if c == nil {
		c = &KernelTime{Kernel: kernel}
		mp.cells[kernel] = c
	}
	return c
}

// transferOf is the part of a kernel's time that is not waiting for other ranks.
func (m *measurer) transferOf(k layer.Kernel, d time.Duration) time.Duration {
	if k.Category() == classify.CategoryCommunication {
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

// kernelKey tells the kernels of a run apart.
type kernelKey struct{ name, operator, category string }

// kernelAt is the index of a kernel in Run.Kernels, which is found once: a kernel has several slices, and is launched.
func (m *measurer) kernelAt(at int, k layer.Kernel) int {
	if m.at[at] == 0 {
		m.at[at] = int32(m.kernelOf(k)) + 1
	}
	return int(m.at[at]) - 1
}

func (m *measurer) kernelOf(k layer.Kernel) int {
	op, part, _ := k.Operator()
	key := kernelKey{name: k.Facts().Short, category: string(k.Category())}
	switch {
	case k.Event().Kind() != event.Kernel || part == layer.PartCopy && k.Category() != classify.CategoryCommunication:
		key.operator = rowCopies
	case op != opname.Other:
		key.operator = string(op)
	}
	i, ok := m.known[key]
	if !ok {
		i = len(m.run.Kernels)
		m.known[key] = i
		n := KernelName{Name: key.name, Base: k.Facts().Base, Operator: key.operator, Category: key.category, Row: m.row(m.rowOf(k))}
		if o := k.Event().Op(); o.Valid() {
			n.Op = o.Name()
		}
		m.run.Kernels = append(m.run.Kernels, n)
		m.before, m.next = append(m.before, map[string]int{}), append(m.next, map[string]int{})
	}
	return i
}

// neighbours notes of each kernel what most often runs before and after it in a pass.
func (m *measurer) neighbours() {
	for i := range m.run.Kernels {
		m.run.Kernels[i].Before, m.run.Kernels[i].After = mostOften(m.before[i]), mostOften(m.next[i])
	}
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

// rowOf says to which row a kernel belongs.
func (m *measurer) rowOf(k layer.Kernel) (string, class) {
	category := k.Category()
	op, part, _ := k.Operator()
	c := memory
	switch {
	case category == classify.CategoryCommunication:
		c = transfer
	case k.Event().Kind() != event.Kernel || part == layer.PartCopy:
		return rowCopies, latency
	}
	if !m.byOperator || op == opname.Other || op == "" {
		return string(category), c
	}
	return string(op), c
}

// finish writes the passes in the form of the document.
func (m *measurer) finish() {
	shortest := m.shortest()
	for i := range m.run.Rows {
		row := &m.run.Rows[i]
		if c := m.classes[i]; c == memory && m.launches[i] > 0 && float64(m.raw[i])/float64(m.launches[i]) <= latencyOf*float64(shortest) {
			m.classes[i] = latency
		}
		row.Class = classNames[m.classes[i]]
		row.Kernels = m.top(row.Operator)
	}
	perStage := map[layer.Stage]int{}
	for p := range m.device.Passes {
		perStage[m.device.Passes[p].Stage]++
	}
	for p := range m.passes {
		m.run.Passes = append(m.run.Passes, m.pass(p, perStage))
	}
	m.neighbours()
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
	out := Pass{Index: p, Stage: fp.Stage, Model: fp.Model, NumLayers: fp.NumLayers, Partial: fp.Partial, Batch: int64(fp.Batch), Tokens: fp.Tokens, Start: int64(fp.Start),
		Rows: make([]time.Duration, len(m.run.Rows)), PerLayer: mp.total, Launches: make([]int, len(m.run.Rows)), First: p > 0 && m.device.Passes[p-1].Stage != fp.Stage}
	for _, c := range mp.cells {
		out.Kernels = append(out.Kernels, *c)
	}
	slices.SortFunc(out.Kernels, func(a, b KernelTime) int { return cmp.Compare(a.Kernel, b.Kernel) })
	out.Followed = p+1 < len(m.device.Passes) && m.device.StepEnd(p) >= m.device.Passes[p+1].Start
	for row, d := range mp.tail {
		out.Tail = append(out.Tail, RowTime{row, d})
	}
	slices.SortFunc(out.Tail, func(a, b RowTime) int { return cmp.Compare(a.Row, b.Row) })
	for i, d := range mp.rows {
		out.Rows[i] = d
		out.Wall += d
	}
	for i, n := range mp.count {
		out.Launches[i] = n
	}
	if mp.all > 0 {
		out.Graph, out.Compiled = float64(mp.graph)/float64(mp.all), float64(mp.own)/float64(mp.all)
	}
	if perStage[fp.Stage] <= layersKept {
		out.Layers = make([][]time.Duration, len(m.run.Rows))
		layers := fp.Layers()
		for i := range out.Layers {
			out.Layers[i] = make([]time.Duration, 0, fp.NumLayers)
			for _, l := range layers {
				if d, ok := mp.layers[[2]int{i, l.Index}]; ok {
					out.Layers[i] = append(out.Layers[i], d)
				}
			}
		}
	}
	return out
}

// top lists a row's kernels with most time.
func (m *measurer) top(row string) []string {
	type one struct {
		name string
		d    time.Duration
	}
	var all []one
	for short, d := range m.kernels[row] {
		all = append(all, one{short, d})
	}
	slices.SortFunc(all, func(a, b one) int { return cmp.Or(cmp.Compare(b.d, a.d), cmp.Compare(a.name, b.name)) })
	const most = 3
	out := []string{}
	for i := range min(most, len(all)) {
		out = append(out, all[i].name)
	}
	return out
}
