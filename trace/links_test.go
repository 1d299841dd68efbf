package trace

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/llmstrata/strata/trace/event"
)

// TestLinksAgainstTheObviousOnes compares with a search through all calls for
// each activity, with ids of many processes, dense and far apart, repeated or not.
func TestLinksAgainstTheObviousOnes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	names := []string{"cudaLaunchKernel", "cudaEventQuery", "cudaMemcpyAsync"}
	scopes := []string{"", "a", "b"}
	linked := 0
	for round := range 300 {
		b := NewBuilder(Options{})
		id := func() uint64 {
			n := uint64(rng.IntN(1 + round))
			switch {
			case round%3 == 0: // far apart
				n *= 1 << 40
			case round%5 == 0: // near the end of the numbers
				n = ^n
			}
			return n
		}
		for range round {
			kind, name := event.Runtime, names[rng.IntN(len(names))]
			if rng.IntN(2) == 0 {
				kind, name = event.Kernel, "k"
			}
			b.Add(EventData{Kind: kind, Name: name, Start: int64(100 + rng.IntN(50)), Duration: int64(rng.IntN(3)),
				Thread:      int64(rng.IntN(3)),
				Correlation: id(), Process: 1, Scope: scopes[rng.IntN(1+round%3)]})
		}
		tr := finished(b)
		g, c := &tr.lanes[event.LaneGPU], &tr.lanes[event.LaneLaunch]
		for i := range g.Start {
			var same, launching []int32
			for j := range c.Start {
				if g.Corr.At(i) == 0 || c.Corr.At(j) != g.Corr.At(i) || c.Scope.At(j) != g.Scope.At(i) {
					continue
				}
				same = append(same, int32(j))
				if isLaunchName(tr.names[c.Name[j]]) {
					launching = append(launching, int32(j))
				}
			}
			if len(launching) > 0 {
				same = launching
			}
			slices.SortStableFunc(same, func(a, b int32) int { return cmp.Compare(c.Start[a], c.Start[b]) })
			want := int32(-1)
			for k, j := range same {
				if k == 0 || c.Start[j] <= g.Start[i] {
					want = j
				}
			}
			if got := tr.launchOf[i]; got != want {
				t.Fatalf("round %d: activity %d is linked to call %d, want %d", round, i, got, want)
			}
			if want >= 0 {
				linked++
			}
		}
	}
	if linked < 1000 {
		t.Errorf("only %d activities had a call", linked)
	}
}
