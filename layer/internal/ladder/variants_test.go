package ladder

import (
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// TestOtherPathsAreNoLoss: where the numbers of calls go on, a pass that lacks kernels which the others run took another
// path; where as many numbers are skipped as kernels are missing, their records are lost.
func TestOtherPathsAreNoLoss(t *testing.T) {
	const behind = "tuvwxyz"
	pass := wholePass(8) + behind
	lacks := 3*len(pass) - len(behind) // the first kernel that the third pass lacks
	for name, lost := range map[string]bool{"not launched": false, "lost": true} {
		b := trace.NewBuilder(trace.Options{})
		number, kernels := uint64(0), int32(0)
		for i, k := range strings.Repeat(pass, 4) {
			missing := i >= lacks && i < lacks+len(behind)
			if !missing || lost {
				number += 3 // calls that launch nothing have numbers, too
			}
			if missing {
				continue
			}
			name := letterNames[k]
			if name == "" {
				name = "kernel_" + string(k)
			}
			b.Add(trace.EventData{Kind: event.Kernel, Name: name, Stream: 7, Start: int64(i) * 10_000, Duration: 5000,
				Correlation: number})
			kernels++
		}
		rows := make([]int32, kernels)
		for i := range rows {
			rows[i] = int32(i)
		}
		found, err := Collect(func() error { return nil }, built.Trace(b), 0, rows).Climb(nil, &Model{Blocks: 1})
		if err != nil || len(found.Results) != 4 {
			t.Fatalf("%s: %d passes, %v", name, len(found.Results), err)
		}
		if got := found.Results[2].Lost(); (len(got) > 0) != lost {
			t.Errorf("%s: missing %+v", name, got)
		}
	}
}
