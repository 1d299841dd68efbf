package chain

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/llmstrata/strata/layer/roofline"
	"github.com/llmstrata/strata/profile/hardware"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/triage/internal/activity"
)

// Price is what one kernel in place of several saves in one occurrence. Times are in nanoseconds.
type Price struct {
	// GPU is the kernel time that is saved, at least, likely and at most.
	Low, GPU, High int64
	// Gaps is the time between the kernels in which the device is idle.
	Gaps int64
	// Moved is what the kernels read and write in bytes, Needed what must go in and out at least; 0 where no shapes
	// are recorded.
	Moved, Needed float64
	// Sized is of how many occurrences the bytes are.
	Sized int
	// Launches is how many fewer there are.
	Launches int
}

// add sums prices up.
func (p *Price) add(o Price) {
	p.Low += o.Low
	p.GPU += o.GPU
	p.High += o.High
	p.Gaps += o.Gaps
	p.Moved += o.Moved
	p.Needed += o.Needed
	p.Sized += o.Sized
	p.Launches += o.Launches
}

// Ops are the ops that the activities of traces work for, as far as their inputs were recorded.
type Ops map[*activity.Trace]map[trace.DeviceID]roofline.Ops

// OpsOf has the ops of these traces counted.
func OpsOf(ctx context.Context, list []*activity.Trace, c *roofline.Counter) (Ops, error) {
	out := Ops{}
	for _, w := range list {
		out[w] = map[trace.DeviceID]roofline.Ops{}
		for i := range w.Analysis.Devices {
			d := &w.Analysis.Devices[i]
			ops, err := c.Ops(ctx, d)
			if err != nil {
				return nil, err
			}
			out[w][d.ID] = ops
		}
	}
	return out, nil
}

// Of is the op that an activity works for; false where it is not known what it moves.
func (o Ops) Of(w *activity.Trace, act int32) (roofline.Op, bool) {
	a := &w.Acts[act]
	if a.Replay {
		return roofline.Op{}, false
	}
	op, ok := o[w][w.Queues[a.Queue].Device].Of(w.Analysis.Of(w.Event(a).ID()))
	return op, ok && op.Bytes > 0
}

// Pricer prices occurrences of one stage.
type Pricer struct {
	gpu    *hardware.GPU // nil: not known
	ops    Ops
	sorts  []runSort
	sortOf map[*activity.Trace][]int32 // by activity
	// what the shortest kernel takes that is bound by memory: the time of a kernel that moves nothing
	launch int64
}

// newPricer finds the launch time of the stage.
func newPricer(r *Recogniser, s *Sequences, look *Look) *Pricer {
	out := &Pricer{gpu: look.GPU, ops: look.Ops, sorts: r.runSorts(s), sortOf: map[*activity.Trace][]int32{}}
	sorts := out.sorts
	for i := range s.List {
		q := &s.List[i]
		if out.sortOf[q.Trace] == nil {
			out.sortOf[q.Trace] = make([]int32, len(q.Trace.Acts))
		}
		sortOf := out.sortOf[q.Trace]
		for _, k := range q.Kernels {
			sortOf[k.Act] = k.Sort
			if sorts[k.Sort].border || sorts[k.Sort].skip {
				continue
			}
			if d := duration(q.Trace, k.Act); d > 0 {
				out.launch = min(cmp.Or(out.launch, d), d)
			}
		}
	}
	return out
}

// sort is the sort of an activity of the stage.
func (p *Pricer) sort(w *activity.Trace, act int32) *runSort { return &p.sorts[p.sortOf[w][act]] }

// duration is how long an activity runs.
func duration(w *activity.Trace, act int32) int64 { return w.Acts[act].End - w.Acts[act].Start }

// gaps is the time between activities, in order, in which their device is idle.
func gaps(w *activity.Trace, acts []int32) (ns int64) {
	for n := 1; n < len(acts); n++ {
		ns += min(w.Idle(acts[n-1], acts[n]), maxLaunchGap)
	}
	return ns
}

// price says what one kernel would save in place of these, which feed one another. Where one is not bound by memory,
// such as an exchange, its work stays: what the others of the chain take may be saved, and at least the launches are.
func (p *Pricer) price(w *activity.Trace, acts []int32) Price {
	out := Price{Launches: len(acts) - 1, Gaps: gaps(w, acts)}
	var took int64
	for _, act := range acts {
		took += duration(w, act)
	}
	if at := p.longestBorder(w, acts); at != nowhere {
		rest := took - duration(w, acts[at])
		out.Low, out.High = min(rest, int64(len(acts)-1)*p.launch), rest
		out.GPU = min(rest, out.Low+int64(p.passed(w, acts, p.launch)))
		return out
	}
	bytes, ok := p.bytes(w, acts)
	// Two readings of the same times: kernels take what their bytes take, or a launch takes a fixed time besides.
	at := func(launch int64) int64 {
		moved := took - int64(len(acts))*launch
		share := p.kept(w, acts, launch)
		if ok {
			share = bytes.needed / bytes.moved
		}
		return max(0, took-launch-int64(float64(moved)*share))
	}
	a, b := at(0), at(p.launch)
	out.Low, out.GPU, out.High = min(a, b), b, max(a, b)
	if ok {
		out.Moved, out.Needed, out.Sized = bytes.moved, bytes.needed, 1
		out.Low = min(out.Low, took-int64(float64(took)*(bytes.most/bytes.moved)))
	}
	out.High = max(0, min(out.High, took-p.launch))
	out.Low, out.GPU = min(out.Low, out.High), min(out.GPU, out.High)
	return out
}

// kept is the share of the traffic that is left when no result between two kernels passes through memory: each
// kernel's time beyond that of a launch is its traffic.
func (p *Pricer) kept(w *activity.Trace, acts []int32, launch int64) float64 {
	var all int64
	for _, act := range acts {
		all += max(0, duration(w, act)-launch)
	}
	return max(0, 1-p.passed(w, acts, launch)/float64(max(1, all)))
}

// passed is the time of the traffic between kernels: what they make and later ones read is neither written nor read.
// The size of a kernel's tensors is its traffic divided by how many it reads and writes; a product of elements has
// one or two large operands, as fits the size of what its neighbour made. After one that makes a number a row, an
// older result is read again.
func (p *Pricer) passed(w *activity.Trace, acts []int32, launch int64) (saved float64) {
	work := p.longestBorder(w, acts)
	made, pending := 0.0, 0.0 // by the neighbour, by the last two and not read yet
	row := false              // a kernel made a number a row, for the tensor that it read
	for n, act := range acts {
		if int32(n) == work { // reads or writes what its neighbour does, and keeps its own work
			saved += made
			made, pending = 0, math.Inf(1)
			continue
		}
		s := p.sort(w, act)
		traffic, m := float64(max(0, duration(w, act)-launch)), s.moves
		if s.border {
			m = moves{2, 1}
		}
		size := traffic / (m.reads + m.writes)
		if one := traffic / 2; s.times && n > 0 && math.Abs(one-made) < math.Abs(size-made) {
			size, m.reads = one, 1
		}
		read := size * m.reads
		switch got := min(pending, read); {
		case n == 0:
		case math.IsInf(pending, 1):
			if !s.border && m.reads > 1 {
				read -= size // a residual comes from elsewhere
			}
			saved += read
		case row && 2*pending < size:
			row = false
			saved += size
		case s.word == wordCopy && p.sort(w, acts[n-1]).word == wordCopy: // nobody copies a copy
		case p.sort(w, acts[n-1]).add: // a residual sum is read again later
			saved += got
			pending -= got
		default:
			saved += 2 * got
			pending -= got
		}
		pending = min(pending, made) + size*m.writes
		made = size * m.writes
		row = row || m.writes == 0
	}
	return saved
}

// longestBorder is the kernel that keeps its work: of those that are not bound by memory the longest product, else
// the longest; nowhere where all are.
func (p *Pricer) longestBorder(w *activity.Trace, acts []int32) int32 {
	at, product, most := int32(nowhere), false, int64(0)
	for n, act := range acts {
		s, d := p.sort(w, act), duration(w, act)
		if s.border && (s.product && !product || s.product == product && d > most) {
			at, product, most = int32(n), s.product, d
		}
	}
	return at
}

// traffic is what kernels move, and what must go in and out at least and at most, in bytes.
type traffic struct{ moved, needed, most float64 }

// bytes follows the tensors of the kernels' ops by their sizes; false where one of them has none. What a copy made is
// copied by nobody: copies one after the other are of different tensors.
func (p *Pricer) bytes(w *activity.Trace, acts []int32) (t traffic, ok bool) {
	type tensor struct {
		bytes           float64
		used, add, copy bool
	}
	var made []tensor
	seen := map[float64]bool{} // sizes that were read from outside
	var op trace.Event
	for n, act := range acts {
		if n > 0 && p.productBetween(w, acts[n-1], act) {
			clear(seen) // what follows reads what the product made
		}
		o, ok := p.ops.Of(w, act)
		if !ok {
			return t, false
		}
		if o.Event == op {
			continue // one op, several kernels
		}
		op = o.Event
		in, out := tensorsOf(&o)
		s := p.sort(w, act)
		taken := map[int]bool{}       // results that this op reads
		outside := map[float64]bool{} // sizes that it reads from outside
	inputs:
		for _, bytes := range in {
			t.moved += bytes
			for i, m := range slices.Backward(made) {
				if m.bytes == bytes && !taken[i] && !(m.copy && s.word == wordCopy) {
					made[i].used, taken[i] = true, true
					continue inputs
				}
			}
			if t.most += bytes; !seen[bytes] {
				t.needed += bytes
			}
			outside[bytes] = true
		}
		maps.Copy(seen, outside)
		t.moved += out
		made = append(made, tensor{out, false, s.add, s.word == wordCopy})
	}
	for _, m := range made {
		if !m.used || m.add { // a residual sum is read again later
			t.needed += m.bytes
			t.most += m.bytes
		}
	}
	return t, true
}

// productBetween reports whether a product runs between two activities of a stream.
func (p *Pricer) productBetween(w *activity.Trace, a, b int32) bool {
	for i := a + 1; i < b; i++ {
		if w.Acts[i].Queue == w.Acts[a].Queue && p.sort(w, i).product {
			return true
		}
	}
	return false
}

// tensorsOf are the tensors that an op reads and the one that it writes, in bytes.
func tensorsOf(o *roofline.Op) (in []float64, out float64) {
	if strings.HasSuffix(o.Event.Name(), "::copy_") {
		out = o.Inputs.Bytes(0)
		return []float64{o.Bytes - out}, out
	}
	out = o.Bytes
	for i := range o.Inputs.Dims {
		if b := o.Inputs.Bytes(i); b > 0 && out-b >= 0 {
			in = append(in, b)
			out -= b
		}
	}
	if len(in) == 0 { // a list of tensors: as much is written as read
		return []float64{o.Bytes / 2}, o.Bytes / 2
	}
	return in, out
}

// flashShare is the share of the peak that fused attention reaches: FlashAttention 2 reports 0.5 to 0.73 on A100
// (Dao, 2023, table of the forward pass).
const flashShare = 0.5

// attention prices attention in pieces: the scores between the two products need not pass through memory.
func (p *Pricer) attention(w *activity.Trace, acts []int32) Price {
	out := Price{Launches: len(acts) - 1, Gaps: gaps(w, acts)}
	var took, products int64
	var fused roofline.Work // of all products
	known := true
	for _, act := range acts {
		d := duration(w, act)
		took += d
		product := p.sort(w, act).product
		if product {
			products += d
		}
		o, ok := p.ops.Of(w, act)
		if known = known && ok; !known {
			continue
		}
		if out.Moved += o.Bytes; product {
			in, made := tensorsOf(&o)
			fused.FLOP, fused.Matrix = fused.FLOP+o.FLOP, o.Matrix
			fused.Bytes += o.Bytes - max(made, slices.Max(in)) // less the scores
		}
	}
	// A fused kernel takes no longer than the products alone, which is the least that is saved. What it takes at least is
	// not known without shapes.
	out.Low = took - products
	out.GPU, out.High = out.Low+products/2, max(out.Low, took-p.launch)
	if !known {
		out.Moved = 0
	}
	if least := fused.Floor(p.gpu); known && least > 0 {
		out.Sized, out.Needed, out.High = 1, fused.Bytes, took-min(products, max(p.launch, int64(least)))
		fused.FLOP /= flashShare
		out.GPU = took - min(products, max(p.launch, int64(fused.Floor(p.gpu))))
	}
	return out
}
