package chain

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/llmstrata/strata/layer/roofline"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/triage/internal/activity"
)

// Price is what one kernel in place of several saves in one occurrence. Times are in nanoseconds.
type Price struct {
	// GPU is the kernel time that is saved, at least, likely and at most.
	Low, GPU, High int64
	// Gaps is the idle time between the kernels.
	Gaps int64
	// Moved is what the kernels read and write in bytes, Needed what must go in and out at least; 0 where no shapes
	// are recorded.
	Moved, Needed float64
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
	p.Launches += o.Launches
}

// Pricer prices occurrences of one stage.
type Pricer struct {
	pool   *activity.Pool
	sorts  []runSort
	sortOf map[*activity.Trace][]int32 // by activity
	// what the shortest kernel takes that is bound by memory: the time of a kernel that moves nothing
	launch  int64
	tensors map[tensorKey]*opTensors
}

// tensorKey is what the tensors of an op depend on.
type tensorKey struct{ op, dims, types, strides string }

// opTensors are the tensors of an op in bytes, as far as they are recorded.
type opTensors struct {
	in    []float64
	out   float64
	flop  float64
	known bool
	odd   int // the largest size of a product's second operand that padding would align; 0 for none
}

// NewPricer finds the launch time of the stage.
func NewPricer(r *Recogniser, s *Sequences) *Pricer {
	out := &Pricer{pool: r.pool, sorts: r.runSorts(s), sortOf: map[*activity.Trace][]int32{},
		tensors: map[tensorKey]*opTensors{}}
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
			if d := q.Trace.Acts[k.Act].End - q.Trace.Acts[k.Act].Start; d > 0 && (out.launch == 0 || d < out.launch) {
				out.launch = d
			}
		}
	}
	return out
}

// sort is the sort of an activity of the stage.
func (p *Pricer) sort(w *activity.Trace, act int32) *runSort { return &p.sorts[p.sortOf[w][act]] }

// duration is how long an activity runs.
func duration(w *activity.Trace, act int32) int64 { return w.Acts[act].End - w.Acts[act].Start }

// gaps is the idle time between activities in order of time; others may run in between.
func gaps(w *activity.Trace, acts []int32) (ns int64) {
	for n := 1; n < len(acts); n++ {
		if gap := w.Acts[acts[n]].Start - w.Acts[acts[n-1]].End; gap > 0 {
			ns += min(gap, maxLaunchGap)
		}
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
			share = min(1, bytes.needed/bytes.moved)
		}
		return max(0, took-launch-int64(float64(moved)*share))
	}
	a, b := at(0), at(p.launch)
	out.Low, out.GPU, out.High = min(a, b), b, max(a, b)
	if ok {
		out.Moved, out.Needed = bytes.moved, bytes.needed
		out.Low = max(0, min(out.Low, took-int64(float64(took)*min(1, bytes.most/bytes.moved))))
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
	if all == 0 {
		return 1
	}
	return max(0, 1-p.passed(w, acts, launch)/float64(all))
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
			if pending = 0; !s.border && m.reads > 1 {
				read -= size // a residual comes from elsewhere
			}
			saved += read
		case row && 2*pending < size:
			row = false
			saved += size
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

// bytes follows the tensors of the kernels' ops by their sizes; false where one of them has none.
func (p *Pricer) bytes(w *activity.Trace, acts []int32) (t traffic, ok bool) {
	type tensor struct {
		bytes float64
		used  bool
		add   bool
	}
	var made []tensor
	seen := map[float64]bool{} // sizes that were read from outside
	var op trace.Event
	for n, act := range acts {
		if w.Acts[act].Replay {
			return t, false
		}
		if n > 0 && p.productBetween(w, acts[n-1], act) {
			clear(seen) // what follows reads what the product made
		}
		e := w.Event(&w.Acts[act])
		o := e.Op()
		if !o.Valid() {
			return t, false
		}
		if op.Valid() && o == op {
			continue // one op, several kernels
		}
		op = o
		ts := p.of(o)
		if !ts.known {
			return t, false
		}
		taken := map[int]bool{}       // results that this op reads
		outside := map[float64]bool{} // sizes that it reads from outside
		for _, in := range ts.in {
			t.moved += in
			i := -1
			for j := len(made) - 1; j >= 0 && i < 0; j-- {
				if made[j].bytes == in && !taken[j] {
					i = j
				}
			}
			if i >= 0 {
				made[i].used, taken[i] = true, true
				continue
			}
			if t.most += in; !seen[in] {
				t.needed += in
			}
			outside[in] = true
		}
		maps.Copy(seen, outside)
		t.moved += ts.out
		made = append(made, tensor{ts.out, false, p.sort(w, act).add})
	}
	for i, m := range made {
		if !m.used || m.add && i+1 < len(made) { // a residual sum is read again later
			t.needed += m.bytes
			t.most += m.bytes
		}
	}
	return t, t.moved > 0
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

// of returns the tensors of an op, or of the next one around it whose work is known.
func (p *Pricer) of(op trace.Event) *opTensors {
	const farthest = 4 // ops around a kernel's own: aten::to holds aten::_to_copy, which holds aten::copy_
	n := 0
	for e := range op.Enclosing() {
		if n++; n > farthest {
			break
		}
		dims := e.Shape()
		if dims == "" {
			continue
		}
		types, strides, values := e.Inputs()
		key := tensorKey{e.Name(), dims, types, strides}
		t := p.tensors[key]
		if t == nil {
			t = tensorsOf(e.Name(), roofline.ReadInputs(dims, types, strides, values))
			p.tensors[key] = t
		}
		if t.known {
			return t
		}
	}
	return &opTensors{}
}

// tensorsOf counts the tensors of an op.
func tensorsOf(name string, in *roofline.Inputs) *opTensors {
	w, ok := roofline.OpWork(name, in)
	if !ok || w.Bytes <= 0 {
		return &opTensors{}
	}
	t := &opTensors{known: true, flop: w.FLOP, out: w.Bytes}
	if slices.Contains(products, name) {
		for _, dims := range in.Dims {
			if len(dims) > 1 { // the last one's: of the first one, rows are tokens
				t.odd = unaligned(dims[len(dims)-2:])
			}
		}
	}
	if strings.HasSuffix(name, "::copy_") {
		t.out = in.Bytes(0)
		t.in = []float64{w.Bytes - t.out}
		return t
	}
	for i := range in.Dims {
		if b := in.Bytes(i); b > 0 && t.out-b >= 0 {
			t.in = append(t.in, b)
			t.out -= b
		}
	}
	if len(t.in) == 0 { // a list of tensors: as much is written as read
		t.in, t.out = []float64{w.Bytes / 2}, w.Bytes/2
	}
	return t
}

// products are ops whose last matrix is a weight, or one of a batch.
var products = []string{"aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", "aten::linear"}

// VectorAlign is the alignment in elements of 16 bits from which a product loads 16 bytes at once.
const VectorAlign = 8

// unaligned is the largest size that is no multiple of that.
func unaligned(dims []int64) (odd int) {
	for _, n := range dims {
		if n%VectorAlign != 0 {
			odd = max(odd, int(n))
		}
	}
	return odd
}

// Floor is the least time that a GPU of these peaks needs for an activity's op, and the size of it that padding would
// align; 0 where no shapes are recorded, and for replays.
func (p *Pricer) Floor(w *activity.Trace, act int32, peak Peaks) (ns int64, odd int) {
	o := w.Event(&w.Acts[act]).Op()
	if w.Acts[act].Replay || !o.Valid() {
		return 0, 0
	}
	t := p.of(o)
	if !t.known || peak.FLOP <= 0 || peak.Bandwidth <= 0 {
		return 0, t.odd
	}
	bytes := t.out
	for _, b := range t.in {
		bytes += b
	}
	return int64(1e9 * max(t.flop/peak.FLOP, bytes/peak.Bandwidth)), t.odd
}

// Peaks are what the GPU can do at most, 0 where not known.
type Peaks struct {
	FLOP      float64 // operations a second of 16-bit products
	Bandwidth float64 // bytes a second
}

// flashShare is the share of the peak that fused attention reaches: FlashAttention 2 reports 0.5 to 0.73 on A100
// (Dao, 2023, table of the forward pass).
const flashShare = 0.5

// attention prices attention in pieces: the scores between the two products need not pass through memory.
func (p *Pricer) attention(w *activity.Trace, acts []int32, peak Peaks) Price {
	out := Price{Launches: len(acts) - 1, Gaps: gaps(w, acts)}
	var took, products int64
	flop, io := 0.0, 0.0
	known := true
	for _, act := range acts {
		d := duration(w, act)
		took += d
		product := p.sort(w, act).product
		if product {
			products += d
		}
		t := &opTensors{}
		if e := w.Event(&w.Acts[act]); !e.IsReplay() && e.Op().Valid() {
			t = p.of(e.Op())
		}
		known = known && t.known
		out.Moved += t.out
		for _, b := range t.in {
			out.Moved += b
		}
		if product && t.known {
			flop += t.flop
			all := append(slices.Clone(t.in), t.out)
			io -= slices.Max(all) // the scores
			for _, b := range all {
				io += b
			}
		}
	}
	// A fused kernel takes no longer than the products alone, which is the least that is saved. What it takes at least is
	// not known without shapes.
	out.Low = took - products
	out.GPU, out.High = out.Low+products/2, max(out.Low, took-p.launch)
	if !known {
		out.Moved = 0
	}
	if known && io > 0 && peak.FLOP > 0 && peak.Bandwidth > 0 {
		out.Needed = io
		memory := io / peak.Bandwidth
		fused := func(share float64) int64 {
			return min(products, max(p.launch, int64(1e9*max(memory, flop/(share*peak.FLOP)))))
		}
		out.GPU, out.High = took-fused(flashShare), took-fused(1)
	}
	return out
}
