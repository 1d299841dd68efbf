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
	for i, k := range d.kernels {
		e := w.t.LaneAt(trace.LaneGPU, int(k))
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
		before := i > 0 && w.t.LaneAt(trace.LaneGPU, int(d.kernels[i-1])).IsReplay()
		after := i+1 < len(d.kernels) && w.t.LaneAt(trace.LaneGPU, int(d.kernels[i+1])).IsReplay()
		h := (*Hint)(nil)
		switch op := e.Op().Name(); {
		case before && after && strings.Contains(op, "::") && !strings.HasPrefix(op, "aten::"):
			h = &custom
		case before && after:
			h = &split
		case before || after:
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
	split.Message = fmt.Sprintf("%d eager kernels between two graph replays: an operation splits the graph; make it capturable", split.Count)
	expand.Message = fmt.Sprintf("%d eager kernels next to a graph replay: the capture may be widened over them", expand.Count)
	custom.Message = fmt.Sprintf("%d eager kernels of custom operators between two graph replays: register them as capturable custom ops", custom.Count)
	for _, h := range []Hint{split, expand, custom} {
		if h.Count > 0 {
			c.Hints = append(c.Hints, h)
		}
	}
	return c
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
		if n.Cause != CauseBlockingCall {
			continue
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
