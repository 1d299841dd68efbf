package triage_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/triage"
)

// slowExposure asks every nanosecond of the passes which categories run.
func slowExposure(a *layer.Analysis) (wall, idle, shared int64, exposed, longest map[classify.Category]int64) {
	exposed, longest = map[classify.Category]int64{}, map[classify.Category]int64{}
	for i := range a.Devices {
		d := &a.Devices[i]
		stretch, alone, last := int64(0), classify.Category(""), trace.Time(-1)
		for p := range d.Passes {
			for at := d.Passes[p].Start; at < d.Passes[p].End; at++ {
				running := map[classify.Category]bool{}
				for k := range d.Kernels() {
					if e := k.Event(); e.Start() <= at && at < e.End() {
						running[k.Category()] = true
					}
				}
				wall++
				switch len(running) {
				case 0:
					idle++
				case 1:
					for c := range running {
						exposed[c]++
						if c != alone || at != last+1 {
							stretch = 0
						}
						stretch++
						alone, last, longest[c] = c, at, max(longest[c], stretch)
					}
				default:
					shared++
				}
			}
		}
	}
	return wall, idle, shared, exposed, longest
}

// passAt is the pass that a time lies in.
func passAt(a *layer.Analysis, at trace.Time) int {
	for i := range a.Devices {
		for p := range a.Devices[i].Passes {
			if f := &a.Devices[i].Passes[p]; f.Start <= at && at < f.End {
				return p
			}
		}
	}
	return trace.None
}

// TestExposureEqualsSlowSweep compares the ledger with a sweep of its own over
// random streams, and wants it to add up to the ns.
func TestExposureEqualsSlowSweep(t *testing.T) {
	names := []string{vllmAR, plainNorm, attention, product, "Memcpy DtoD (Device -> Device)"}
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 7))
		b := trace.NewBuilder(trace.Options{})
		for i := range 60 {
			id := uint64(i + 1)
			at := int64(10 + r.IntN(900))
			b.Add(trace.EventData{Kind: event.Runtime, Name: "cudaLaunchKernel", Start: at - 10, Duration: 5, Thread: 1,
				Correlation: id})
			b.Add(trace.EventData{Kind: event.Kernel, Name: names[r.IntN(len(names))], Start: at,
				Duration: int64(r.IntN(40)), Stream: trace.StreamID(7 + r.IntN(3)), Correlation: id})
		}
		in := input(t, built.Trace(b), "x")
		rep, err := triage.Analyze(t.Context(), in, triage.Options{})
		if err != nil {
			t.Fatal(err)
		}
		wall, idle, shared, exposed, longest := slowExposure(in.Formal[0])
		if wall == 0 {
			t.Fatalf("seed %d: no passes", seed)
		}
		x := rep.Stages[0].Exposure
		sum := x.IdleNS + x.SharedNS
		for _, row := range x.Rows {
			sum += row.ExposedNS
			if w := row.Longest; w != nil {
				if took := int64(w.EndNS - w.StartNS); took != longest[row.Category] {
					t.Errorf("seed %d: the longest stretch of %s takes %d, want %d", seed, row.Category, took, longest[row.Category])
				}
				if w.Kernel == "" {
					t.Errorf("seed %d: %+v: a stretch of no kernel", seed, row)
				}
				at := trace.None
				if w.Pass != nil {
					at = *w.Pass
				}
				if p := passAt(in.Formal[0], w.StartNS); at != p || p == trace.None && w.Layer != nil {
					t.Errorf("seed %d: %+v, want pass %d", seed, w, p)
				}
			}
			if row.ExposedNS != exposed[row.Category] || row.TotalNS != row.ExposedNS+row.HiddenNS ||
				row.BoundNS > row.ExposedNS {
				t.Errorf("seed %d: %+v, exposed by the slow sweep %d", seed, row, exposed[row.Category])
			}
		}
		if got, want := fmt.Sprint(x.WallNS, x.IdleNS, x.SharedNS, sum),
			fmt.Sprint(wall, idle, shared, wall); got != want {
			t.Errorf("seed %d: wall, idle, shared, sum = %s, want %s", seed, got, want)
		}
	}
}

// TestExposureAddsUp: on real traces too, and what is hidden is.
func TestExposureAddsUp(t *testing.T) {
	for _, name := range []string{"train-graphs-5streams-a100", "sglang-qwen3-8b-decode-graph-mi300",
		"train-pair-rank-0", "synthetic-deepseek-v4-flash-TP-0.trace"} {
		r := analyze(t, "traces/torch/"+name+".json.gz", "", triage.Options{})
		for _, s := range r.Stages {
			sum := s.Exposure.IdleNS + s.Exposure.SharedNS
			for _, row := range s.Exposure.Rows {
				sum += row.ExposedNS
				if row.Longest == nil && row.ExposedNS > 0 || row.Category != classify.CategoryCommunication &&
					row.BoundNS != 0 {
					t.Errorf("%s, %s: %+v", name, s.Stage, row)
				}
			}
			if sum != s.Exposure.WallNS {
				t.Errorf("%s, %s: adds up to %d ns, the steps take %d", name, s.Stage, sum, s.Exposure.WallNS)
			}
		}
	}
}
