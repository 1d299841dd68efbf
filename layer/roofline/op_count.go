package roofline

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/profile/hardware"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// opGroup is one op and the kernels that it launched.
type opGroup struct {
	op      trace.Event
	row     *opRow
	work    Work
	known   bool
	took    time.Duration
	main    layer.Kernel // that takes longest
	kernels int

	floor       floor
	least, most time.Duration // the floor, 0 where it is withheld; and of the most that it may have to do
	basis       Basis
}

// opCounts are the ops of a device.
type opCounts struct {
	table  *opIndex
	inputs map[inputKey]*opResult
	owners map[trace.EventID]owner // by innermost op
	groups []opGroup
	of     map[trace.EventID]int32 // by op
	group  []int32                 // by kernel: 1 + its group; 0 for none
	others map[trace.EventID]bool  // composite ops whose work others do
}

// inputKey is all that the work of an op depends on.
type inputKey struct{ op, dims, types, strides, values, kernel string }

type opResult struct {
	work  Work
	known bool
}

// owner is the op that the work of a kernel is counted for.
type owner struct {
	op    trace.Event
	row   *opRow
	known bool
}

// countOps counts the ops of a device whose inputs were recorded; nil where none were.
func countOps(ctx context.Context, d *layer.Device, g *hardware.GPU, rules []Rule) (*opCounts, error) {
	table, err := withRules(rules)
	if err != nil {
		return nil, err
	}
	c := &opCounts{table: table, inputs: map[inputKey]*opResult{}, owners: map[trace.EventID]owner{},
		of:     map[trace.EventID]int32{},
		others: map[trace.EventID]bool{}, group: make([]int32, d.NumKernels())}
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
		c.groups[i].judge(c, d, g)
	}
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
	o, ok := c.owners[op.ID()]
	if !ok {
		o = c.ownerOf(op, k)
		c.owners[op.ID()] = o
	}
	if o.row == nil {
		return
	}
	i, ok := c.of[o.op.ID()]
	if !ok {
		i = int32(len(c.groups))
		c.of[o.op.ID()] = i
		c.groups = append(c.groups, opGroup{op: o.op, row: o.row})
	}
	g := &c.groups[i]
	g.took += e.Duration()
	g.kernels++
	g.main = longer(g.main, k)
	c.group[k.Index()] = i + 1
}

// farthest is how many ops around a kernel's own are looked at.
const farthest = 16

// ownerOf returns the innermost op around a kernel whose work is known. Composite ops around that have their work
// done by it.
func (c *opCounts) ownerOf(op trace.Event, k layer.Kernel) (o owner) {
	n := 0
	for e := range op.Enclosing() {
		if n++; n > farthest {
			break
		}
		row := c.table.find(e.Name())
		if row == nil {
			continue
		}
		switch _, known := c.workOf(e, row, k); {
		case !known:
		case !o.known:
			o = owner{e, row, true}
		case row.composite:
			c.others[e.ID()] = true
		}
	}
	return o
}

// workOf counts the work of an op.
func (c *opCounts) workOf(op trace.Event, row *opRow, kernel layer.Kernel) (Work, bool) {
	dims := op.Shape()
	if dims == "" {
		return Work{}, false
	}
	types, strides, values := op.Inputs()
	key := inputKey{op.Name(), dims, types, strides, values, kernel.Event().Name()}
	r := c.inputs[key]
	if r == nil {
		r = &opResult{}
		r.work, r.known = row.work(inputsOf(op, kernel))
		c.inputs[key] = r
	}
	return r.work, r.known
}

// inputsOf reads the inputs of an op whose longest kernel is k.
func inputsOf(op trace.Event, k layer.Kernel) *Inputs {
	types, strides, values := op.Inputs()
	in := ReadInputs(op.Shape(), types, strides, values)
	in.Assumed, in.Element = string(k.Facts().DType), k.Facts().Element
	return in
}

// judge holds an op against what the GPU can do.
func (g *opGroup) judge(c *opCounts, d *layer.Device, gpu *hardware.GPU) {
	if g.row.composite && c.others[g.op.ID()] {
		return
	}
	g.work, g.known = c.workOf(g.op, g.row, g.main)
	if !g.known {
		return
	}
	if p := g.main.Place().Pass; p != trace.None {
		g.work.bound(annotated(&d.Passes[p]))
	} else {
		g.work.bound(nil)
	}
	if e := g.main.Event(); e.Kind() == event.Memcpy && host(e.Name()) {
		g.floor.bound = boundLink
		if gpu != nil && gpu.Host.Known() {
			g.floor.link = g.work.Bytes / 2 / gpu.Host.Value // read on one side, written on the other
			g.floor.known = true
		}
	} else {
		g.floor = g.work.floor(gpu)
	}
	if !g.floor.known {
		return
	}
	g.basis = BasisShapes
	g.least = duration(max(g.floor.seconds(), g.floor.link))
	switch {
	case g.contradicts(gpu):
		g.least, g.basis = 0, BasisContradiction
	case g.least > g.took:
		g.least, g.basis = 0, BasisCache
	case g.work.Open:
		g.most = g.took
	case g.work.Kind == OpAttention || g.work.Kind == OpExperts:
		most := g.work
		most.FLOP, most.Bytes = most.most()
		g.most = most.Floor(gpu)
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
	return memory > 0 && gpu.Bandwidth.Known() && g.floor.bound != boundLink &&
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

// OpsOf counts the work of the ops of a device, and their floors on a GPU; nil: no floors. It fails where ctx ends.
func OpsOf(ctx context.Context, d *layer.Device, g *hardware.GPU) (Ops, error) {
	c, err := countOps(ctx, d, g, nil)
	return Ops{c}, err
}

// An Op is the work of the kernels that one op launched.
type Op struct {
	Work
	Event trace.Event // of the op
	// Floor is the least time that the GPU needs; 0 where that is not known, and where caches or records make it no
	// floor, as [Cost.Floor] is.
	Floor   time.Duration
	Longest layer.Kernel // of its kernels
}

// Inputs are those that were recorded.
func (o *Op) Inputs() *Inputs { return inputsOf(o.Event, o.Longest) }

// Of returns the op that a kernel works for; false where none is known.
func (o Ops) Of(k layer.Kernel) (Op, bool) {
	if !k.Valid() {
		return Op{}, false
	}
	g := o.counts.groupOf(k)
	if g == nil || !g.known {
		return Op{}, false
	}
	return Op{g.work, g.op, g.least, g.main}, true
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
