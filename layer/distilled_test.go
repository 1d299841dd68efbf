package layer_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/stat"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
)

// distilled analyses a distilled trace of torch.profiler.
func distilled(t testing.TB, name string) *layer.Device {
	t.Helper()
	tr, err := trace.Open(t.Context(), testdata.Distilled(t, name), trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return analyze(t, tr, layer.Options{})
}

// TestDistilledTracesEqualWhatIsKnown holds real traces against what was read
// from their annotations and models, in a fresh clone.
func TestDistilledTracesEqualWhatIsKnown(t *testing.T) {
	for _, k := range testdata.DistilledTraces(t) {
		if !strings.HasSuffix(k.Name, ".json.zst") {
			continue // exports are read by another package
		}
		t.Run(k.Name, func(t *testing.T) {
			a := distilled(t, k.Name)
			if a.NumLayers != k.Layers {
				t.Errorf("%d layers, want %d", a.NumLayers, k.Layers)
			}
			if k.Passes >= 0 && len(a.Passes) != k.Passes {
				t.Fatalf("%d passes, want %d", len(a.Passes), k.Passes)
			}
			for i, want := range k.Stages {
				p := a.Passes[i]
				if string(p.Stage) != want || p.NumLayers != k.Layers {
					t.Errorf("pass %d: stage %s with %d layers, want %s with %d", i, p.Stage, p.NumLayers, want,
						k.Layers)
				}
			}
			checkPerLayer(t, a, k.PerLayer)
			checkActivities(t, a, k.Devices[0])
		})
	}
}

// checkPerLayer checks that every layer has so many activities.
func checkPerLayer(t *testing.T, a *layer.Device, want int) {
	t.Helper()
	for _, p := range a.Passes {
		for _, l := range p.Layers() {
			if want > 0 && len(l.Kernels) != want {
				t.Errorf("pass %d layer %d: %d kernels, want %d", p.Index, l.Index, len(l.Kernels), want)
			}
		}
	}
}

// checkActivities checks that nothing of the device is lost.
func checkActivities(t *testing.T, a *layer.Device, want testdata.KnownDevice) {
	t.Helper()
	if int(a.ID) != want.Device || a.NumKernels() != want.Kernels+want.Other {
		t.Errorf("device %d with %d activities, want device %d with %d", a.ID, a.NumKernels(), want.Device,
			want.Kernels+want.Other)
	}
}

// TestDistilledLayersBeginAlike: the layers of a uniform model begin with the
// same kernel, whose base name the module frames of the eager run confirm.
func TestDistilledLayersBeginAlike(t *testing.T) {
	for _, name := range []string{
		"sglang-llama-8b-b300-TP-0-DECODE.json.zst", "sglang-qwen3-30b-a3b-b300-TP-0-DECODE.json.zst",
		"sglang-qwen3-30b-a3b-mi300-TP-0-DECODE.json.zst", "sglang-qwen3-8b-decode-mi300.json.zst",
	} {
		a := distilled(t, name)
		first := map[string]int{}
		for _, l := range a.Passes[0].Layers()[1:] {
			first[a.Kernel(int(l.Kernels[0])).Event().Name()]++
		}
		if len(first) != 1 {
			t.Errorf("%s: layers 1 and on begin with %d different kernels, want 1", name, len(first))
		}
	}
}

// TestLikeLayersHaveLikeOperators: the same kernels in the same layer of two passes of a model compute the same, also
// where the window cuts one of the passes and its launches, with their frames, are not recorded.
func TestLikeLayersHaveLikeOperators(t *testing.T) {
	layers, cut := 0, 0
	for _, k := range testdata.DistilledTraces(t) {
		if !strings.HasSuffix(k.Name, ".json.zst") {
			continue
		}
		d, seen := distilled(t, k.Name), map[string]string{}
		for p := range d.Passes {
			fp := &d.Passes[p]
			cut += stat.Int(fp.Partial != "")
			for _, l := range fp.Layers() {
				at, ops := fmt.Sprint(fp.Model, l.Index), ""
				for _, id := range l.Kernels {
					op, part, _ := d.Kernel(int(id)).Operator()
					at += "\n" + d.Kernel(int(id)).Event().Name()
					ops += fmt.Sprintln(op, part)
				}
				if other, ok := seen[at]; ok && ops != other {
					t.Errorf("%s: layer %d of pass %d runs %s and not %s", k.Name, l.Index, p, ops, other)
				}
				seen[at] = ops
				layers++
			}
		}
	}
	if layers < 100 || cut == 0 {
		t.Errorf("%d layers, %d cut passes", layers, cut)
	}
}
