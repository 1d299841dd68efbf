package fleet_test

import (
	"bytes"
	"maps"
	"slices"
	"testing"

	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/fleet"
	"github.com/llmstrata/strata/trace"
)

// All ranks at once wait as each does beside digests of the others, which are listed by number, whichever was read
// first; two windows of one rank do not meet.
func TestWaitingOfAllRanksAtOnce(t *testing.T) {
	ranks := make([]*layer.Analysis, 4)
	for i := range ranks {
		var b bytes.Buffer
		if _, err := gen.Llama70B(i).Write(&b); err != nil {
			t.Fatal(err)
		}
		tr, err := trace.Read(t.Context(), &b, trace.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if ranks[i], err = layer.Analyze(t.Context(), tr, layer.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	all := fleet.Waits(ranks, nil)
	of := func(waits map[trace.DeviceID]*layer.RankWaits, rank int) *layer.RankWaits {
		return waits[ranks[rank].Devices[0].ID]
	}
	for me := range ranks {
		var others []fleet.Rank
		for i := range slices.Backward(ranks) {
			others = append(others, fleet.Recorded(ranks[i])...) // its own is left out
		}
		one, many := of(fleet.Waits(ranks[me:me+1], others)[0], me), of(all[me], me)
		if many.By != layer.WaitingByRanks || len(many.For) < 161 || one.By != many.By ||
			!maps.Equal(one.For, many.For) || !slices.Equal(one.Ranks, many.Ranks) || len(one.Ranks) != 4 || one.Ranks[0].Rank != me {
			t.Errorf("rank %d: at once by %q, %d waits, %v; alone by %q, %d, %v", me, many.By, len(many.For), many.Ranks,
				one.By, len(one.For), one.Ranks)
		}
		if !slices.IsSortedFunc(one.Ranks[1:], func(a, b layer.RankWait) int { return a.Rank - b.Rank }) {
			t.Errorf("rank %d: the others are listed as %v", me, one.Ranks)
		}
	}
	if n := of(fleet.Waits([]*layer.Analysis{ranks[1], ranks[1], ranks[1]}, nil)[0], 1).Strangers; n != 2 {
		t.Errorf("one rank three times: %d GPUs that it does not meet, want 2", n)
	}
	twice := fleet.Waits([]*layer.Analysis{ranks[1], ranks[1]}, fleet.Recorded(ranks[1]))
	if of(twice[0], 1).By != layer.WaitingByFastest || of(twice[1], 1).By != layer.WaitingByFastest {
		t.Errorf("one rank twice: by %q and %q, want an estimate", of(twice[0], 1).By, of(twice[1], 1).By)
	}
}
