package layer

import (
	"fmt"
	"slices"
	"time"

	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/trace"
)

const (
	// coldFrom is how many times as long as its equals the first pass must take to be a cold start. Decode steps of
	// one batch vary by 1–4%, the first one after a start takes 30% more and up to several times as long.
	coldFrom = 1.3
	// growingFrom is how many times as long as the pass before it, of the same work, a pass must take to be remarked
	// on; the published scripts have the same.
	growingFrom = 1.5
	// otherKernels is the part of the kernels that may differ between passes of the same work: preparation, copies.
	otherKernels = 0.05
	// uncovered is the least part of GPU time in no pass that gets a note. Copies and sampling between steps are below
	// a percent.
	uncovered = 0.01
)

// noteDurations remarks on passes that take longer than others of the same work: the first ones, which find caches
// empty and clocks low, and those that grow.
func (a *Device) noteDurations() {
	seen := make([]bool, len(a.Passes))
	for p := range a.Passes {
		if seen[p] || !a.Passes[p].works() || a.Passes[p].Partial != whole {
			continue
		}
		var group []int
		for q := p; q < len(a.Passes); q++ {
			if !seen[q] && a.Passes[q].works() && sameWork(&a.Passes[p], &a.Passes[q]) &&
				a.Passes[p].Tokens == a.Passes[q].Tokens && sameKernels(&a.Passes[p], &a.Passes[q]) {
				seen[q] = true
				group = append(group, q)
			}
		}
		a.noteGroup(group, p == a.firstOfModel(p))
	}
}

// sameKernels says whether two passes run about as many kernels, where nothing says how many tokens they compute: a
// prefill runs others than a decode.
func sameKernels(p, q *ForwardPass) bool {
	return p.Tokens >= 0 || float64(max(p.Kernels, q.Kernels)-min(p.Kernels, q.Kernels)) <=
		otherKernels*float64(max(p.Kernels, q.Kernels))
}

// firstOfModel is the first pass of the model of pass p.
func (a *Device) firstOfModel(p int) int {
	return slices.IndexFunc(a.Passes, func(q ForwardPass) bool { return q.Model == a.Passes[p].Model && q.works() })
}

// noteGroup remarks on passes of the same work, in order. first says that the first of them is the first of its model
// in the window.
func (a *Device) noteGroup(group []int, first bool) {
	if len(group) < 2 {
		return
	}
	walls := make([]time.Duration, 0, len(group))
	for _, q := range group[1:] {
		walls = append(walls, a.Passes[q].Wall())
	}
	slices.Sort(walls)
	usual := float64(walls[(len(walls)-1)/2])
	cold := first
	for k, q := range group {
		fp := &a.Passes[q]
		wall := float64(fp.Wall())
		if cold = cold && usual > 0 && wall >= coldFrom*usual; cold {
			fp.Cold, fp.Note = true, "cold start "+table.Times(wall/usual, 1)
			continue
		}
		if k > 0 {
			if before := float64(a.Passes[group[k-1]].Wall()); before > 0 && wall >= growingFrom*before {
				fp.Note = "growing " + table.Times(wall/before, 1)
			}
		}
	}
}

// noteUncovered says how much of the GPU's work is in no pass.
func (a *Device) noteUncovered() {
	outside, n := a.Time-a.InPasses, 0
	if len(a.Passes) == 0 || float64(outside) <= uncovered*float64(a.Time) {
		return
	}
	for _, p := range a.columns.pass {
		if p == trace.None {
			n++
		}
	}
	a.Notes = append(a.Notes, fmt.Sprintf("%d of %d GPU activities, %.1f%% of the GPU time, are in no pass", n,
		len(a.columns.pass), 100*float64(outside)/float64(a.Time)))
}
