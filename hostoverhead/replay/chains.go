package replay

import (
	"time"

	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
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
	at := make([]int32, m.t.Len(event.LaneGPU)) // by activity: 1 + its act; 0 for none
	for i := range m.acts {
		at[m.t.At(m.acts[i].id).Index()] = int32(i) + 1
	}
	p.of = make([]bool, m.passes)
	found := false
	for _, f := range e.fused {
		acts := make([]int32, 0, len(f.Kernels))
		for _, id := range f.Kernels {
			if f.Trace != m.t {
				continue
			}
			if i := &at[m.t.At(id).Index()]; *i > 0 {
				acts = append(acts, *i-1)
				*i = 0 // occurrences may share kernels
			}
		}
		if len(acts) < max(2, len(f.Kernels)) {
			continue // of another GPU, not launched in the window, or of another chain
		}
		for n, i := range acts {
			a := &m.acts[i]
			if a.comm {
				return "a kernel of the chain exchanges data: its length is that of other ranks"
			}
			if it := &p.items[a.item]; n > 0 && it.acts == 1 {
				it.d = 0
				if !c.most {
					it.pre = 0
				}
			}
			p.acts[i].without = n < len(acts)-1
		}
		end := acts[len(acts)-1]
		if p.acts[end].d = int64(f.Least); c.most {
			p.acts[end].d = int64(f.Most)
		}
		if pass := m.acts[end].pass; pass >= 0 {
			p.of[pass], found = true, true
		}
	}
	if !found {
		return "no chain of that name runs on this GPU"
	}
	return ""
}
