package chain

import (
	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/trace/event"
)

// Whole is attention, or a layer of routed experts, that one kernel computes.
type Whole struct {
	Name    string
	Experts bool // routed experts; false: attention
	At      []Ref
	NS      int64
}

// Names of what one kernel computes, and of experts whose intermediate results pass through memory.
const (
	wholeAttention  = "Attention in one kernel"
	wholeExperts    = "Routed experts in one kernel"
	ExpertsInPieces = "Routed experts as several products"
)

// layerOfExperts collects the kernels of one layer of routed experts: what sorts tokens by their expert, products,
// activations between them, and what adds up.
type layerOfExperts struct {
	q        *sequence
	members  []int32 // positions
	products int
	last     int // members up to the last that certainly belongs to it
}

// Wholes finds attention and layers of routed experts in a stage: those of one kernel, and experts of several
// products. One product and a sort or a sum beside it is one kernel.
func Wholes(r *Recogniser, s *Sequences) (wholes []Whole, pieces *Candidate) {
	attention, experts := Whole{Name: wholeAttention}, Whole{Name: wholeExperts, Experts: true}
	found := &Candidate{Name: ExpertsInPieces, Experts: true}
	between := r.reg.Set("gated_act", "act_quant", "quant", "plain_act")
	var cur layerOfExperts
	flush := func() {
		switch members := cur.members[:cur.last]; {
		case cur.products > 1:
			r.addExperts(found, cur.q, members)
		case cur.products == 1:
			for _, at := range members {
				if k := cur.q.Kernels[at]; r.isExperts(s, k) {
					experts.add(cur.q, k)
				}
			}
		}
		cur = layerOfExperts{}
	}
	for i := range s.List {
		q := &s.List[i]
		for at := range q.Kernels {
			k := q.Kernels[at]
			kernel := &r.pool.Facts[s.Sorts[k.Sort].kernel]
			f := kernel.Facts
			first := len(cur.members) == 0
			if !first && q.Trace.Acts[k.Act].Pass != q.Trace.Acts[q.Kernels[cur.members[0]].Act].Pass {
				flush()
			}
			sure, sum := true, false
			switch {
			case kernel.Kind == event.Memset:
				continue
			case does(f, []classify.Role{classify.RolePermute}):
				if cur.products > 0 {
					flush()
				}
			case r.isExperts(s, k):
				// The same kernel again with nothing between is another layer.
				if n := len(cur.members); cur.products > 0 && q.Kernels[cur.members[n-1]].Sort == k.Sort {
					flush()
				}
				cur.products++
			case does(f, []classify.Role{classify.RoleFinalize}) && cur.products > 0:
				sum = true
			case s.Sets[k.Sort]&between != 0 && cur.products > 0:
				sure = false
			default:
				flush()
				if does(f, []classify.Role{classify.RoleAttention}) && s.Sets[k.Sort]&r.reg.Set("attention") != 0 {
					attention.add(q, k)
				}
				continue
			}
			cur.q, cur.members = q, append(cur.members, int32(at))
			if sure {
				cur.last = len(cur.members)
			}
			if sum {
				flush()
			}
		}
		flush()
	}
	for _, w := range []Whole{attention, experts} {
		if len(w.At) > 0 {
			wholes = append(wholes, w)
		}
	}
	if len(found.At) > 0 {
		pieces = found
	}
	return wholes, pieces
}

// isExperts reports whether a kernel is a product of routed experts.
func (r *Recogniser) isExperts(s *Sequences, k Kernel) bool {
	return does(r.pool.Facts[s.Sorts[k.Sort].kernel].Facts, []classify.Role{classify.RoleExperts})
}

// add adds a kernel.
func (w *Whole) add(q *sequence, k Kernel) {
	w.At = append(w.At, Ref{Part: q.Trace.Part, Act: k.Act})
	w.NS += duration(q.Trace, k.Act)
}

// addExperts adds an occurrence. One kernel in place of several spares at most what is no product: sorting,
// activations and the sum; how much of that is not known, so that the middle is likely.
func (r *Recogniser) addExperts(c *Candidate, q *sequence, members []int32) {
	o := Occurrence{Trace: q.Trace, Acts: make([]int32, len(members))}
	for n, at := range members {
		k := q.Kernels[at]
		o.Acts[n] = k.Act
		d := duration(q.Trace, k.Act)
		c.NS += d
		if !does(r.pool.Facts[q.Trace.Acts[k.Act].Kernel].Facts, []classify.Role{classify.RoleExperts}) {
			o.Price.High += d
		}
	}
	o.Price.GPU, o.Price.Launches, o.Price.Gaps = o.Price.High/2, len(members)-1, gaps(q.Trace, o.Acts)
	c.At = append(c.At, o)
}
