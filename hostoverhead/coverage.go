package hostoverhead

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/hostoverhead/internal/names"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// Coverage says what runs outside of CUDA graphs in a run that uses them, with hints about these and about waits.
type Coverage struct {
	EagerKernels []EagerKernel `json:"eager_kernels"` // by time
	Hints        []Action      `json:"hints"`         // with a code, each
}

// EagerKernel is a kernel that runs outside graphs in a run that uses them.
type EagerKernel struct {
	Name     string `json:"name"`             // name of the kernel
	Count    int    `json:"count"`            // launches outside graphs
	TotalNS  int64  `json:"total_ns"`         // time of these launches
	Source   string `json:"source,omitempty"` // Python function or op of its most frequent launch
	Replayed int    `json:"replayed"`         // how often the same kernel runs from a graph in steps of the same stages
	Suspect  bool   `json:"suspect"`          // steps of the same stage run it both ways: why was it not captured here?
}

type eagerSum struct {
	EagerKernel
	sources map[string]int
	stages  map[layer.Stage]bool
}

// stageKernel is a kernel's name in steps of one stage.
type stageKernel struct {
	name  trace.NameID
	stage layer.Stage
}

// coverage measures one device.
func (w *workload) coverage(d *deviceWork, p *params) Coverage {
	c := Coverage{EagerKernels: []EagerKernel{}, Hints: []Action{}}
	if !slices.Contains(d.path, pathGraph) {
		return c
	}
	replays, eager := map[stageKernel]int{}, map[trace.NameID]*eagerSum{}
	for i, e := range w.kernelsOf(d) {
		switch d.path[i] {
		case pathGraph:
			replays[stageKernel{e.NameID(), d.stageOf(i)}]++
		case pathEager:
			addEager(eager, e, d.stageOf(i))
		}
	}
	for name, s := range eager {
		for stage := range s.stages {
			s.Replayed += replays[stageKernel{name, stage}]
		}
		s.Source, s.Suspect = mostFrequent(s.sources), s.Replayed > 0
		c.EagerKernels = append(c.EagerKernels, s.EagerKernel)
	}
	slices.SortFunc(c.EagerKernels, func(a, b EagerKernel) int {
		return cmp.Or(cmp.Compare(b.TotalNS, a.TotalNS), cmp.Compare(a.Name, b.Name))
	})
	c.Hints = w.graphHints(d, p)
	return c
}

// addEager adds a kernel that runs outside graphs, in a step of some stage.
func addEager(eager map[trace.NameID]*eagerSum, e trace.Event, stage layer.Stage) {
	s := eager[e.NameID()]
	if s == nil {
		s = &eagerSum{EagerKernel{Name: e.Name()}, map[string]int{}, map[layer.Stage]bool{}}
		eager[e.NameID()] = s
	}
	s.Count++
	s.TotalNS += int64(e.Duration())
	s.sources[sourceOf(e)]++
	if stage != layer.StageUnknown {
		s.stages[stage] = true
	}
}

// stageOf is the stage of a kernel's pass, unknown outside of passes.
func (d *deviceWork) stageOf(i int) layer.Stage {
	if d.pass == nil || d.pass[i] < 0 {
		return layer.StageUnknown
	}
	return d.layers.Passes[d.pass[i]].Stage
}

// launchPlace is a launch call that a kernel of the device came from.
type launchPlace struct {
	thread trace.ThreadIndex
	start  trace.Time
	kernel int // the first one
	graph  bool
}

// launchOrder lists the launch calls of a device's work as the host made them.
func (w *workload) launchOrder(d *deviceWork) []launchPlace {
	var out []launchPlace
	graphs := map[trace.EventID]bool{}
	for i, e := range w.kernelsOf(d) {
		l := e.Launch()
		graph := d.path[i] == pathGraph
		if !l.Valid() || graph && graphs[l.ID()] {
			continue
		}
		if graph {
			graphs[l.ID()] = true
		}
		out = append(out, launchPlace{l.Thread(), l.Start(), i, graph})
	}
	slices.SortStableFunc(out, func(a, b launchPlace) int {
		return cmp.Or(cmp.Compare(a.thread, b.thread), cmp.Compare(a.start, b.start))
	})
	return out
}

// graphHints looks at what the host launches one by one around its graph launches. In GPU order it would be misled by
// kernels of other streams that run beside a replay.
func (w *workload) graphHints(d *deviceWork, p *params) []Action {
	hints := map[eagerRun]*Action{
		runSplits: {Code: "GRAPH_SPLIT", Advice: finding.Advice{Do: "make the operation that splits the graph capturable"}},
		runBeside: {Code: "GRAPH_EXPAND", Advice: finding.Advice{Do: "widen the capture over them"}},
		runCustom: {Code: "CUSTOM_OP", Advice: finding.Advice{Do: "register them as capturable custom ops"}},
	}
	attention, before := 0, launchPlace{thread: trace.None, kernel: none} // the graph launch before
	attends := func(l launchPlace) bool {
		e := w.t.LaneAt(event.LaneGPU, int(d.acts[l.kernel]))
		return w.layers.Of(e.ID()).Facts().Category == classify.CategoryAttention
	}
	order := w.launchOrder(d)
	for i := 0; i < len(order); {
		if order[i].graph {
			before = order[i]
			i++
			continue
		}
		j := i
		for j < len(order) && !order[j].graph && order[j].thread == order[i].thread {
			j++
		}
		first, last := none, none
		if before.thread == order[i].thread {
			first = before.kernel
		}
		if j < len(order) && order[j].thread == order[i].thread {
			last = order[j].kernel
		}
		beside := slices.ContainsFunc(order[i:j], attends)
		for run := j - i; i < j; i++ {
			e := w.t.LaneAt(event.LaneGPU, int(d.acts[order[i].kernel]))
			place := d.besideGraphs(order[i].kernel, first, last, run, p)
			switch {
			case place != runSplits:
			case beside && names.Phase(d.stageOf(order[i].kernel)) == names.Context:
				place = runAlone // piecewise graphs leave attention, and what feeds it, out by design
			case attends(order[i]):
				attention++
			case !beside && customOp(e.Op().Name()):
				place = runCustom
			}
			if h := hints[place]; h != nil {
				h.Count++
				h.NS += int64(e.Duration())
			}
		}
	}
	split, expand, custom := hints[runSplits], hints[runBeside], hints[runCustom]
	split.Why = fmt.Sprintf("%s between two graph replays of a step",
		table.Counted(split.Count, "eager kernel", "eager kernels"))
	if attention > 0 {
		of := fmt.Sprintf("%d of them", attention)
		if attention == split.Count {
			of = "all"
		}
		split.Why += ", " + of + " attention, which piecewise graphs leave out by design"
		split.Do = "capture whole graphs for decode where the attention backend can"
	}
	expand.Why = fmt.Sprintf("%s next to a graph replay in the same step",
		table.Counted(expand.Count, "eager kernel", "eager kernels"))
	custom.Why = fmt.Sprintf("%s of custom operators between two graph replays",
		table.Counted(custom.Count, "eager kernel", "eager kernels"))
	return slices.DeleteFunc([]Action{*split, *expand, *custom}, func(h Action) bool { return h.Count == 0 })
}

// customOp reports whether an operator is neither torch's own nor none.
func customOp(op string) bool { return strings.Contains(op, "::") && !strings.HasPrefix(op, "aten::") }

// eagerRun is where a run of consecutive eager launches lies.
type eagerRun uint8

const (
	runAlone  eagerRun = iota // no graph in its step
	runBeside                 // its step replays a graph before or after it
	runSplits                 // inside a step, between two replays
	runCustom                 // the same, of a custom operator
)

// besideGraphs says where a kernel lies: first and last are kernels of the graph launches before and after it on its
// thread, none without, and run is how many eager launches lie between them.
func (d *deviceWork) besideGraphs(kernel, first, last, run int, p *params) eagerRun {
	if d.pass == nil { // no steps were found
		if first != none && last != none && run <= p.SplitRun {
			return runSplits
		}
		return runAlone
	}
	pass := d.pass[kernel]
	same := func(k int) bool { return k != none && pass != trace.None && d.pass[k] == pass }
	switch {
	case same(first) && same(last):
		return runSplits
	case (same(first) || same(last)) && names.Phase(d.layers.Passes[pass].Stage) != names.Context:
		return runBeside // of a context step the graph is a part of it at most
	}
	return runAlone
}

// sourceOf is the innermost Python function with a file that launched a kernel and is not the dispatcher's of torch or
// triton, else the op.
func sourceOf(e trace.Event) string {
	for f := e.Frame(); f.Valid(); f = f.Parent() {
		source, _ := names.SplitFrame(f.Name())
		_, inside, found := strings.Cut(source, "-packages/")
		if !found {
			inside = source
		}
		if strings.Contains(source, ".py") && !strings.HasPrefix(inside, "torch/") &&
			!strings.HasPrefix(inside, "triton/") {
			return f.Name()
		}
	}
	return e.Op().Name()
}

func mostFrequent(m map[string]int) string {
	best := ""
	for s, n := range m {
		if s != "" && (best == "" || n > m[best] || n == m[best] && s < best) {
			best = s
		}
	}
	return best
}

// hints are those on graphs, where the steps have idle time that they could fill, and on waits.
func (r *RankVerdict) hints(p *params) []Action {
	out := r.Coverage.Hints
	if float64(r.Headroom.IdleNS) < p.AdviceShare*float64(r.Headroom.WallNS) {
		out = []Action{}
	}
	for _, c := range r.Idle {
		info := c.Cause.Info()
		if info.Hint == "" {
			continue
		}
		h := Action{Code: info.Hint, Advice: info.Advice,
			Why: fmt.Sprintf("for %s %s", nanos(c.NS), info.Why), NS: c.NS}
		for _, n := range c.Names {
			h.Count += n.Count
		}
		out = append(out, h)
	}
	return out
}
