package layer_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
)

// interleaved writes the GPU activities of several models' passes in turns, one stream, no launches: each turn is a
// model. It returns the truth with passes counted over all models.
func interleaved(t *testing.T, models []gen.Arch, turns []int) (*trace.Trace, []gen.Truth) {
	t.Helper()
	byModel := make([][]gen.Truth, len(models))
	for m, arch := range models {
		passes := make([]gen.Pass, 0, len(turns))
		for _, x := range turns {
			if x == m {
				passes = append(passes, gen.Pass{Decodes: 8, Context: 500})
			}
		}
		truths, err := gen.Truths(gen.Config{Seed: uint64(m + 1), Arch: arch, Passes: passes, TP: 2})
		if err != nil {
			t.Fatal(err)
		}
		byModel[m] = truths
	}
	next := make([]int, len(models))
	var out []gen.Truth
	var events []map[string]any
	now := int64(1_000_000_000)
	for p, m := range turns {
		shift := int64(0)
		for _, tr := range byModel[m] {
			if tr.Pass != next[m] {
				continue
			}
			if shift == 0 {
				shift = now + 50_000 - tr.Start
			}
			tr.Start += shift
			now = tr.Start + tr.Duration
			tr.Pass = p
			out = append(out, tr)
			cat := map[string]string{"kernel": "kernel", "memcpy": "gpu_memcpy", "memset": "gpu_memset"}[tr.Kind]
			us := func(ns int64) json.Number { return json.Number(fmt.Sprintf("%d.%03d", ns/1000, ns%1000)) }
			events = append(events, map[string]any{"ph": "X", "cat": cat, "name": tr.Name, "pid": 0, "tid": tr.Stream,
				"ts":  us(tr.Start),
				"dur": us(tr.Duration), "args": map[string]any{"device": 0, "stream": tr.Stream}})
		}
		next[m]++
	}
	data, err := json.Marshal(map[string]any{"traceEvents": events})
	if err != nil {
		t.Fatal(err)
	}
	tr, err := trace.Read(t.Context(), bytes.NewReader(data), trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return tr, out
}

// TestDraftModelsDoNotCountAsLayers: speculative decoding runs a one-layer draft several times between runs of the
// target.
func TestDraftModelsDoNotCountAsLayers(t *testing.T) {
	target := gen.Arch{Layers: gen.Uniform(32, gen.Layer{}), Hidden: 4096}
	draft := gen.Arch{Layers: gen.Uniform(1, gen.Layer{}), Hidden: 4096}
	tr, truths := interleaved(t, []gen.Arch{target, draft}, []int{0, 1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 1})
	for _, n := range []int{32, 0} {
		a := analyze(t, tr, layer.Options{NumLayers: n, Boundaries: "repeats"})
		if a.NumLayers != 32 {
			t.Errorf("n=%d: %d layers, want 32", n, a.NumLayers)
		}
		drafts, steps := 0, 0.0
		for i, p := range a.Passes {
			if p.Stage == layer.StageDraft {
				drafts++
			}
			steps += a.StepShare(i)
		}
		if len(a.Passes) != 12 || drafts != 8 || steps != 4 {
			t.Errorf("n=%d: %d passes of which %d are drafts in %v steps, want 12, 8 and 4", n, len(a.Passes), drafts, steps)
		}
		right, total := 0, 0
		var wrong []string
		for kernel := range a.Kernels() {
			i, k := kernel.Index(), kernel.Place()
			w := truths[i]
			if w.Name != a.Kernel(i).Event().Name() {
				t.Fatalf("kernel %d is %s, want %s", i, a.Kernel(i).Event().Name(), w.Name)
			}
			if w.Pass%3 != 0 {
				continue // a draft's kernels are nobody's layers, or layer 0 of their own pass
			}
			total++
			if k.Layer == w.Layer {
				right++
			} else if len(wrong) < 5 {
				wrong = append(wrong, fmt.Sprintf("kernel %d of pass %d: layer %d, want %d", i, w.Pass, k.Layer,
					w.Layer))
			}
		}
		if 100*right < 99*total {
			t.Errorf("n=%d: %d of %d kernels of the target right; %d passes\n%v", n, right, total, len(a.Passes), wrong)
		}
		t.Logf("n=%d: %d of %d, %d passes", n, right, total, len(a.Passes))
	}
}
