package triage_test

import (
	"math"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/triage"
)

// distilled triages a distilled trace of torch.profiler.
func distilled(t testing.TB, name string) *triage.Report {
	t.Helper()
	tr, err := trace.Open(t.Context(), testdata.Distilled(t, name), trace.Options{Args: []event.Kind{event.Runtime}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := triage.Analyze(t.Context(), input(t, tr, name), triage.Options{MinSharePct: -1})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestDistilledTracesEqualWhatIsKnown: in a fresh clone, the tables of real
// traces hold every activity once and all of the GPU time, under the stage and
// framework that the annotations name.
func TestDistilledTracesEqualWhatIsKnown(t *testing.T) {
	// A stage that is not named by an annotation is called "all".
	words := map[string]string{"prefill": "extend prefill", "decode": "decode", "mixed": "mixed", "unknown": "all"}
	for _, k := range testdata.DistilledTraces(t) {
		if !strings.HasSuffix(k.Name, ".json.zst") {
			continue
		}
		t.Run(k.Name, func(t *testing.T) {
			r := distilled(t, k.Name)
			if !strings.EqualFold(r.Framework, k.Framework) {
				t.Errorf("framework %s, want %s", r.Framework, k.Framework)
			}
			if len(r.Stages) != 1 {
				t.Fatalf("%d stages, want 1", len(r.Stages))
			}
			s, dev := r.Stages[0], k.Devices[0]
			if len(k.Stages) > 0 && !strings.Contains(words[k.Stages[0]], s.Stage) {
				t.Errorf("stage %s, want that of %s", s.Stage, k.Stages[0])
			}
			launches, micros := 0, 0.0
			for _, row := range s.Kernels {
				launches += row.Launches
				micros += row.GPUTimeUS
			}
			if want := dev.Kernels + dev.Other; launches != want || s.Launches != want {
				t.Errorf("%d launches in rows, %d in the stage, want %d", launches, s.Launches, want)
			}
			if micros < float64(dev.KernelNS)/1e3-1 || math.Abs(micros-s.GPUTimeUS) > 1 {
				t.Errorf("rows add up to %.3f µs, the stage says %.3f, kernels alone took %d ns", micros, s.GPUTimeUS,
					dev.KernelNS)
			}
		})
	}
}
