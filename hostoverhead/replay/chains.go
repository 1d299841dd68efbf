package replay

import (
	"time"

	"github.com/llmstrata/strata/trace"
)

// Fused is an occurrence of a chain of kernels that one kernel replaces.
type Fused struct {
	Trace       *trace.Trace    // that it is in
	Kernels     []trace.EventID // in order of time
	Least, Most time.Duration   // what one kernel in their place takes
}

// With is an edit of the kind [Chain] with the occurrences of its chain.
func (e Edit) With(list []Fused) Edit {
	e.fused = list
	return e
}

// planChain runs one kernel in the place of the last of each occurrence, and makes one call of the host for it: that
// of the first.
func (m *model) planChain(p *plan, e Edit, c constants) string {
	at := map[trace.EventID]int32{}
	for i := range p.acts {
		at[p.acts[i].id] = int32(i)
	}
	p.of = make([]bool, m.passes)
	found := false
	for _, f := range e.fused {
		acts := make([]int32, 0, len(f.Kernels))
		for _, id := range f.Kernels {
			if i, ok := at[id]; ok && f.Trace == m.t {
				acts = append(acts, i)
				delete(at, id) // chains of several names may share kernels
			}
		}
		if len(acts) < max(2, len(f.Kernels)) {
			continue // of another GPU, not launched in the window, or of another chain
		}
		for n, i := range acts {
			a := &p.acts[i]
			if a.comm {
				return "a kernel of the chain exchanges data: its length is that of other ranks"
			}
			if it := &p.items[a.item]; n > 0 && it.acts == 1 {
				it.d = 0
				if !c.most {
					it.pre = 0
				}
			}
			a.without = n < len(acts)-1
		}
		last := &p.acts[acts[len(acts)-1]]
		if last.d = int64(f.Least); c.most {
			last.d = int64(f.Most)
		}
		if last.pass >= 0 {
			p.of[last.pass], found = true, true
		}
	}
	if !found {
		return "no chain of that name runs on this GPU"
	}
	return ""
}
