package hostoverhead

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/llmstrata/strata/trace"
)

// Coverage says how much of the GPU's work is replayed from CUDA graphs.
type Coverage struct {
	Kernels   int   `json:"kernels"`    // kernels and whole graph replays
	Replayed  int   `json:"replayed"`   // from graphs
	Eager     int   `json:"eager"`      // launched one by one
	Unknown   int   `json:"unknown"`    // launch not in the trace
	Ratio     Ratio `json:"ratio"`      // replayed / kernels
	TimeRatio Ratio `json:"time_ratio"` // the same by kernel time

	EagerKernels []EagerKernel `json:"eager_kernels"` // by time; only where graphs are used at all
	Hints        []Hint        `json:"hints"`
}

// EagerKernel is a kernel that runs outside graphs in a run that uses them.
type EagerKernel struct {
	Name     string `json:"name"`
	Count    int    `json:"count"`
	TotalNS  int64  `json:"total_ns"`
	Source   string `json:"source,omitempty"` // Python frame or op of its most frequent launch
	Replayed int    `json:"replayed"`         // how often the same kernel runs from a graph
	Suspect  bool   `json:"suspect"`          // runs both ways: why was it not captured here?
}

// Hint is something that may be worth changing.
type Hint struct {
	Code    string `json:"code"` // GRAPH_SPLIT, GRAPH_EXPAND, CUSTOM_OP, SYNC+HOIST, ALLOC
	Message string `json:"message"`
	Count   int    `json:"count"`
	TotalNS int64  `json:"total_ns"`
}

type eagerSum struct {
	EagerKernel
	sources map[string]int
}

// coverage measures one device.
func (w *workload) coverage(d *deviceWork) Coverage {
	c := Coverage{Kernels: len(d.kernels), EagerKernels: []EagerKernel{}, Hints: []Hint{}}
	var all, replayed int64
	eager := map[string]*eagerSum{}
	replays := map[string]int{}
	split, expand, custom := Hint{Code: "GRAPH_SPLIT"}, Hint{Code: "GRAPH_EXPAND"}, Hint{Code: "CUSTOM_OP"}
	runs := w.eagerRuns(d)
	for i, e := range w.kernelsOf(d) {
		n := int64(e.Duration())
		all += n
		if e.IsReplay() {
			c.Replayed++
			replayed += n
			replays[e.Name()]++
			continue
		}
		if !e.Launch().Valid() {
			c.Unknown++
			continue
		}
		c.Eager++
		s := eager[e.Name()]
		if s == nil {
			s = &eagerSum{EagerKernel{Name: e.Name()}, map[string]int{}}
			eager[e.Name()] = s
		}
		s.Count++
		s.TotalNS += n
		source := sourceOf(e)
		s.sources[source]++
		h := (*Hint)(nil)
		switch op := e.Op().Name(); runs[i] {
		case runSplits:
			h = &split
			if strings.Contains(op, "::") && !strings.HasPrefix(op, "aten::") {
				h = &custom
			}
		case runBeside:
			h = &expand
		}
		if h != nil {
			h.Count++
			h.TotalNS += n
		}
	}
	c.Ratio, c.TimeRatio = ratio(int64(c.Replayed), int64(c.Kernels)), ratio(replayed, all)
	if c.Replayed == 0 {
		return c
	}
	for _, s := range eager {
		s.Source = mostFrequent(s.sources)
		s.Replayed = replays[s.Name]
		s.Suspect = s.Replayed > 0
		c.EagerKernels = append(c.EagerKernels, s.EagerKernel)
	}
	slices.SortFunc(c.EagerKernels, func(a, b EagerKernel) int {
		return cmp.Or(cmp.Compare(b.TotalNS, a.TotalNS), cmp.Compare(a.Name, b.Name))
	})
	split.Message = fmt.Sprintf("%s between two graph replays of a step: an operation splits the graph; make it capturable", counted(split.Count, "eager kernel"))
	expand.Message = fmt.Sprintf("%s next to a graph replay: the capture may be widened over them", counted(expand.Count, "eager kernel"))
	custom.Message = fmt.Sprintf("%s of custom operators between two graph replays: register them as capturable custom ops", counted(custom.Count, "eager kernel"))
	for _, h := range []Hint{split, expand, custom} {
		if h.Count > 0 {
			c.Hints = append(c.Hints, h)
		}
	}
	return c
}

// eagerRun is where a run of consecutive eager kernels lies.
type eagerRun uint8

const (
	runAlone  eagerRun = iota // no replay next to it, or replays themselves
	runBeside                 // a replay on one side, or replays of two steps on both
	runSplits                 // inside a step, between two replays
)

// shortRun is up to how many eager kernels between two replays are taken for a
// split where no steps tell: attention between graph pieces is 1–3 kernels, what
// runs between two steps is sampling and the next step's preparation.
const shortRun = 4

// eagerRuns classifies every kernel of a device by the run that it is in.
func (w *workload) eagerRuns(d *deviceWork) []eagerRun {
	out := make([]eagerRun, len(d.kernels))
	at := func(i int) trace.Event { return w.t.LaneAt(trace.LaneGPU, int(d.kernels[i])) }
	for i := 0; i < len(out) && !w.stop.Over(); {
		if at(i).IsReplay() {
			i++
			continue
		}
		j := i
		for j < len(out) && !at(j).IsReplay() && !w.stop.Over() {
			j++
		}
		run := runAlone
		switch before, after := i > 0, j < len(out); {
		case before && after && w.sameStep(at(i-1), at(j), j-i <= shortRun):
			run = runSplits
		case before || after:
			run = runBeside
		}
		for ; i < j; i++ {
			out[i] = run
		}
	}
	return out
}

// sameStep reports whether two kernels are of one pass, unknown where passes
// were not found or take in the whole trace.
func (w *workload) sameStep(a, b trace.Event, unknown bool) bool {
	x, y := w.layers.Of(a.ID()), w.layers.Of(b.ID())
	if !x.Valid() || !y.Valid() {
		return unknown
	}
	p, q := x.Place().Pass, y.Place().Pass
	if ps := x.Device().Passes; len(ps) == 0 || p >= 0 && ps[p].PassEvidence == "whole" {
		return unknown
	}
	return p >= 0 && p == q && x.Device() == y.Device()
}

// sourceOf is the op or Python frame that launched a kernel.
func sourceOf(e trace.Event) string {
	if f := e.Frame(); f.Valid() {
		return f.Name()
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

// waitHints turns the ledger's blocking calls into hints.
func waitHints(l *DeviceLedger) []Hint {
	sync, alloc := Hint{Code: "SYNC+HOIST"}, Hint{Code: "ALLOC"}
	for _, n := range l.Names {
		if n.Cause != CauseBlockingCall || isKernelLaunch(n.Name) {
			continue // a launch that loads its module: neither hint would help
		}
		h := &sync
		if containsAny(n.Name, []string{"Malloc", "Free", "HostAlloc"}) {
			h = &alloc
		}
		h.Count += n.Count
		h.TotalNS += n.TotalNS
	}
	sync.Message = fmt.Sprintf("the device idles %s while the launching thread waits in synchronising calls: hoist them out of the step", microseconds(sync.TotalNS))
	alloc.Message = fmt.Sprintf("the device idles %s during allocations: allocate before the run", microseconds(alloc.TotalNS))
	var out []Hint
	for _, h := range []Hint{sync, alloc} {
		if h.Count > 0 {
			out = append(out, h)
		}
	}
	return out
}
