package ladder

import (
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// TestOtherPathsAreNoLoss: where the numbers of calls go on, or skip fewer than half of those that launch what a pass
// lacks, it took another path; where they skip more, records are lost.
func TestOtherPathsAreNoLoss(t *testing.T) {
	const behind = "tuvwxyz"
	pass := wholePass(8) + behind
	lacks := 3*len(pass) - len(behind) // the first kernel that the third pass lacks
	const each = 3                     // calls that launch nothing have numbers, too
	for name, c := range map[string]struct {
		calls uint64 // that are made for a kernel that is missing
		lost  bool
	}{"not launched": {0, false}, "a third": {1, false}, "two thirds": {2, true}, "lost": {each, true}} {
		b := trace.NewBuilder(trace.Options{})
		number, kernels := uint64(0), int32(0)
		for i, k := range strings.Repeat(pass, 4) {
			if i >= lacks && i < lacks+len(behind) {
				number += c.calls
				continue
			}
			number += each
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
		if got := found.Results[2].Lost(); (len(got) > 0) != c.lost {
			t.Errorf("%s: missing %+v", name, got)
		}
	}
}

// TestWaitsWithinReplays: where the GPU waits before each layer of a replay, the replay is one pass all the same.
func TestWaitsWithinReplays(t *testing.T) {
	var all []run
	at := int64(0)
	for graph := range uint64(4) {
		at += 1000
		launch := at - 500
		for range 8 {
			at += 100
			for _, k := range letterLayer + "xyzuvwXY" {
				all = append(all, run{letterNames[k] + string(k), 7, at, 5, launch, 0, graph + 1})
				at += 6
			}
		}
		all = append(all, run{"nvjet_head", 7, at, 5, launch, 0, graph + 1})
		at += 6
	}
	w, kernels := workOfRuns(all...)
	if passes, ev := w.passesIn(kernels, nil, &Model{}); len(passes) != 4 {
		t.Errorf("four replays: %d passes, %s", len(passes), ev.Detail)
	}
}
