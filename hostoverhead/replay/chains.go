package replay

import (
	"context"
	"slices"
	"strings"

	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/triage"
)

// In is an edit of the kind [Chain] with the occurrences of the chains of a report that have its name, or, where none
// has, have it in theirs.
func (e Edit) In(r *triage.Report) Edit {
	has := func(is func(pattern, name string) bool) (out []triage.Fused) {
		for i := range r.Stages {
			for j := range r.Stages[i].Fuse {
				if f := &r.Stages[i].Fuse[j]; is(f.Pattern, e.Name) {
					out = append(out, f.Fused()...)
				}
			}
		}
		return out
	}
	if e.fused = has(func(pattern, name string) bool { return pattern == name }); e.fused == nil {
		e.fused = has(strings.Contains)
	}
	return e
}

// Chains lists the edits that a report leads to: each chain in one kernel for which there is something to do.
func Chains(r *triage.Report) (out []Edit) {
	seen := map[string]bool{}
	for i := range r.Stages {
		for j := range r.Stages[i].Fuse {
			if f := &r.Stages[i].Fuse[j]; f.State.Asks() && f.Gain.Launches > 0 && !seen[f.Pattern] && len(out) < mostEdits {
				seen[f.Pattern] = true
				out = append(out, Edit{Kind: Chain, Name: f.Pattern}.In(r))
			}
		}
	}
	return out
}

// ExplainFusions adds to the chains of a report of these traces, and to their findings, what a step would take with
// one kernel in place of each, as far as the replay of the first GPU of a trace answers. The error is ctx's.
func ExplainFusions(ctx context.Context, list []*layer.Analysis, r *triage.Report) error {
	list = slices.DeleteFunc(slices.Clone(list), func(a *layer.Analysis) bool {
		return len(a.Devices) == 0 || len(a.Devices[0].Passes) < leastPasses
	})
	if len(list) == 0 {
		return nil
	}
	edits := Chains(r)
	for _, a := range list {
		gains, err := Analyze(ctx, &a.Devices[0], edits)
		if err != nil {
			return err
		}
		for n := range gains {
			if gains[n].Refused != "" {
				continue
			}
			for i := range r.Stages {
				for j := range r.Stages[i].Fuse {
					if f := &r.Stages[i].Fuse[j]; f.Pattern == edits[n].Name && f.Replayed == nil {
						f.Replayed = &gains[n].Gain
					}
				}
			}
			for i := range r.Findings { // rows without a gain have none
				if f := &r.Findings[i]; f.Kind == finding.Fusion && f.Code == edits[n].Name {
					f.Gains = append(f.Gains, gains[n].Gain)
				}
			}
		}
	}
	return nil
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
