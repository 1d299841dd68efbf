package roofline

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/profile/hardware"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// opGroup is one op and the kernels that it launched.
type opGroup struct {
	*opResult // once it is judged
	op        trace.Event
	row       *opRow
	took      time.Duration
	main      layer.Kernel // that takes longest

	least, most time.Duration // the floor, 0 where it is withheld; and of the most that it may have to do
	basis       Basis
}

// opCounts are the ops of a device.
type opCounts struct {
	table  *opIndex
	gpu    *hardware.GPU
	inputs map[inputKey]*opResult
	groups []opGroup
	ops    []opPlace // by op of the trace
	group  []int32   // by kernel: 1 + its group; 0 for none
}

// opPlace says what an op is to the kernels of a device.
type opPlace struct {
	owner  int32 // of kernels launched in it: 1 + the op that their work is counted for; 0 not asked, nobody: none
	group  int32 // 1 + its own; 0 for none
	others bool  // it is composite, and others do its work
}

// nobody owns the work of kernels whose ops have none that is known.
const nobody = -1

// inputKey is all that the work of an op depends on.
type inputKey struct{ op, dims, types, strides, values, kernel string }

// opResult is the work of ops with the same inputs.
type opResult struct {
	work   Work
	known  bool
	floor  floor
	inputs *Inputs
}

// countOps counts the ops of a device whose inputs were recorded; nil where none were.
func countOps(ctx context.Context, d *layer.Device, g *hardware.GPU, rules []Rule) (*opCounts, error) {
	table, err := withRules(rules)
	if err != nil {
		return nil, err
	}
	c := &opCounts{table: table, gpu: g, inputs: map[inputKey]*opResult{},
		ops: make([]opPlace, d.Analysis().Trace().Len(event.LaneOp)), group: make([]int32, d.NumKernels())}
	for k := range d.Kernels() {
		if k.Index()%4096 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		c.add(k)
	}
	if len(c.groups) == 0 {
		return nil, nil
	}
	for i := range c.groups {
		c.groups[i].judge(c, d)
	}
	c.ops = nil
	return c, nil
}

// add gives a kernel to the op that it works for. What a graph replays belongs to no op: the op around the replay ran
// all of it.
func (c *opCounts) add(k layer.Kernel) {
	e := k.Event()
	if e.IsReplay() {
		return
	}
	op := e.Op()
	if !op.Valid() {
		return
	}
	at := &c.ops[op.Index()]
	if at.owner == 0 {
		at.owner = c.ownerOf(op, k)
	}
	if at.owner == nobody {
		return
	}
	g := &c.groups[c.ops[at.owner-1].group-1]
	g.took += e.Duration()
	g.main = longer(g.main, k)
	c.group[k.Index()] = c.ops[at.owner-1].group
}

// farthest is how many ops around a kernel's own are looked at.
const farthest = 16

// ownerOf returns 1 + the innermost op around a kernel whose work is known, which has a group then, or nobody.
// Composite ops around that have their work done by it.
func (c *opCounts) ownerOf(op trace.Event, k layer.Kernel) int32 {
	owner, n := int32(nobody), 0
	for e := range op.Enclosing() {
		if n++; n > farthest {
			break
		}
		row := c.table.find(e.Name())
		if row == nil {
			continue
		}
		switch at := &c.ops[e.Index()]; {
		case !c.resultOf(e, row, k).known:
		case owner != nobody:
			at.others = at.others || row.composite
		default:
			owner = int32(e.Index()) + 1
			if at.group == 0 {
				if c.groups == nil {
					c.groups = make([]opGroup, 0, len(c.group)-k.Index())
				}
				c.groups = append(c.groups, opGroup{op: e, row: row})
				at.group = int32(len(c.groups))
			}
		}
	}
	return owner
}

// noResult is that of ops whose work is not known.
var noResult = &opResult{}

// resultOf counts the work of an op whose longest kernel is k.
func (c *opCounts) resultOf(op trace.Event, row *opRow, k layer.Kernel) *opResult {
	dims := op.Shape()
	if dims == "" {
		return noResult
	}
	types, strides, values := op.Inputs()
	e := k.Event()
	key := inputKey{op.Name(), dims, types, strides, values, e.Name()}
	r := c.inputs[key]
	if r == nil {
		r = &opResult{inputs: ReadInputs(dims, types, strides, values)}
		r.inputs.Assumed, r.inputs.Element = string(k.Facts().DType), k.Facts().Element
		if r.work, r.known = row.work(r.inputs); r.known {
			r.floor = r.work.floorBy(e, c.gpu)
		}
		c.inputs[key] = r
	}
	return r
}

// floorBy is the floor of work that is done by a kernel: a copy to or from the host crosses the link.
func (w *Work) floorBy(e trace.Event, gpu *hardware.GPU) floor {
	if e.Kind() != event.Memcpy || !host(e.Name()) {
		return w.floor(gpu)
	}
	f := floor{bound: boundLink}
	if gpu != nil && gpu.Host.Known() {
		f.link = w.Bytes / 2 / gpu.Host.Value // read on one side, written on the other
		f.known = true
	}
	return f
}

// judge holds an op against what the GPU can do.
func (g *opGroup) judge(c *opCounts, d *layer.Device) {
	g.opResult = noResult
	if g.row.composite && c.ops[g.op.Index()].others {
		return
	}
	if g.opResult = c.resultOf(g.op, g.row, g.main); !g.known {
		return
	}
	if g.work.perPair != 0 { // its step says more
		own := *g.opResult
		if p := g.main.Place().Pass; p != trace.None {
			own.work.bound(annotated(&d.Passes[p]))
		} else {
			own.work.bound(nil)
		}
		g.opResult = &own
	}
	if !g.floor.known {
		return
	}
	g.basis = BasisShapes
	g.least = duration(max(g.floor.seconds(), g.floor.link))
	switch {
	case g.contradicts(c.gpu):
		g.least, g.basis = 0, BasisContradiction
	case g.least > g.took:
		g.least, g.basis = 0, BasisCache
	case g.work.Open:
		g.most = g.took
	case g.work.Kind == OpAttention || g.work.Kind == OpExperts:
		most := g.work
		most.FLOP, most.Bytes = most.most()
		g.most = most.Floor(c.gpu)
	}
}

// host reports whether a copy crosses the link to the host.
func host(name string) bool {
	return strings.Contains(name, "HtoD") || strings.Contains(name, "DtoH") || strings.Contains(name, "HostTo") ||
		strings.Contains(name, "ToHost")
}

// contradicts reports whether an op was faster than the GPU can be at its highest clock. Of its bytes the last cache
// may have held as many as fit.
func (g *opGroup) contradicts(gpu *hardware.GPU) bool {
	took := above * g.took.Seconds()
	if gpu == nil {
		return false
	}
	if g.floor.compute/boost(gpu) > took {
		return true
	}
	memory := max(gpu.Bandwidth.Value, gpu.BusBandwidth.Value)
	return gpu.Bandwidth.Known() && g.floor.bound != boundLink &&
		(g.work.Bytes-2*float64(gpu.Cache))/memory > took
}

// main returns the op whose longest kernel k is.
func (c *opCounts) main(k layer.Kernel) *opGroup {
	if c == nil {
		return nil
	}
	if g := c.groupOf(k); g != nil && g.known && g.main == k {
		return g
	}
	return nil
}

// groupOf returns the op that a kernel works for, nil where none is known.
func (c *opCounts) groupOf(k layer.Kernel) *opGroup {
	if c == nil || c.group[k.Index()] == 0 {
		return nil
	}
	return &c.groups[c.group[k.Index()]-1]
}

// titleSizes is how many characters of sizes a title has at most.
const titleSizes = 60

// Ops are the ops of a device whose inputs were recorded.
type Ops struct{ counts *opCounts }

// Counter counts the work of the ops of devices, and their floors on the GPU that Options name, each device once
// however often it is asked. Goroutines may share it.
type Counter struct {
	Options Options
	mu      sync.Mutex
	of      map[*layer.Device]*opCounts
}

// Ops are those of a device. The error is of a GPU or rules that are not known, or ctx's.
func (c *Counter) Ops(ctx context.Context, d *layer.Device) (Ops, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if counts, ok := c.of[d]; ok {
		return Ops{counts}, nil
	}
	g, _, err := gpuOf(d, &c.Options)
	if err != nil {
		return Ops{}, err
	}
	counts, err := countOps(ctx, d, g, c.Options.Rules)
	if err != nil {
		return Ops{}, err
	}
	if c.of == nil {
		c.of = map[*layer.Device]*opCounts{}
	}
	c.of[d] = counts
	return Ops{counts}, nil
}

// An Op is the work of the kernels that one op launched.
type Op struct {
	Work
	Event trace.Event // of the op
	// Floor is the least time that the GPU needs; 0 where that is not known, and where caches or records make it no
	// floor, as [Cost.Floor] is.
	Floor   time.Duration
	Longest layer.Kernel // of its kernels
	// Inputs are those that were recorded; they are not to be changed.
	Inputs *Inputs
}

// Of returns the op that a kernel works for; false where none is known.
func (o Ops) Of(k layer.Kernel) (Op, bool) {
	if !k.Valid() {
		return Op{}, false
	}
	g := o.counts.groupOf(k)
	if g == nil || !g.known {
		return Op{}, false
	}
	return Op{g.work, g.op, g.least, g.main, g.inputs}, true
}

// Floor is the least time that a GPU needs for the work: that of its arithmetic on matrix units, or of each tensor once
// through the memory. 0 where the GPU or its peaks are not known.
func (w *Work) Floor(g *hardware.GPU) time.Duration {
	f := w.floor(g)
	return duration(f.seconds())
}

func (w *Work) floor(g *hardware.GPU) floor {
	if g == nil {
		return floor{}
	}
	return timesOf(g, w.FLOP, w.Matrix, w.Bytes)
}

// title names an op with its sizes: "aten::mm 256×512×131072", "aten::add 8192×8192 8192×8192".
func (g *opGroup) title() string {
	if w := &g.work; w.M > 0 {
		return fmt.Sprintf("%s %d×%d×%d", g.op.Name(), w.M, w.N, w.K)
	}
	dims, _ := readSizes(g.op.Shape())
	text := ""
	for _, d := range dims {
		one := ""
		for i, n := range d {
			if i > 0 {
				one += "×"
			}
			one += strconv.FormatInt(n, 10)
		}
		if one != "" && len(text)+len(one) < titleSizes {
			text += " " + one
		}
	}
	return g.op.Name() + text
}
