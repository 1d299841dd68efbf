package strata_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/llmstrata/strata"
	"github.com/llmstrata/strata/internal/opname"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer"
)

// firstGPU analyses the first GPU of a shared recording.
func firstGPU(t *testing.T, path string) *layer.Device {
	t.Helper()
	r, err := strata.Open(t.Context(), testdata.Shared(t, path), strata.Options{})
	if err != nil {
		t.Fatal(err)
	}
	a, err := layer.Analyze(t.Context(), r.Parts[0].Trace, layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return &a.Devices[0]
}

// TestOperatorsWithoutFrames: in two real recordings of Nsight Systems, in which no frame says what a kernel is, what
// their GPU-bound layers run. A T5 whose products are split over K is a product and its sum each; a diffusion model
// rotates by arithmetic, writes no cache, and its exchanges between GPUs belong to no operator of a layer.
func TestOperatorsWithoutFrames(t *testing.T) {
	type row struct{ name, operator string }
	// One kernel that looks like a rotation is none of 24 layers.
	roles := map[string]layer.Role{"pytorch-2gpu-h100.sqlite": layer.RoleEncoder}
	count := func(file string, names ...string) map[row]int {
		got := map[row]int{}
		d := firstGPU(t, "traces/nsys/"+file)
		if role := d.Models[0].Role; role != roles[file] {
			t.Errorf("%s: the model is a %q, want %q", file, role, roles[file])
		}
		for k := range d.Kernels() {
			op, _, _ := k.Operator()
			if op == opname.KVWrite {
				t.Errorf("%s: %s writes a cache", file, k.Event().Name())
			}
			for _, name := range names {
				if strings.Contains(k.Event().Name(), name) && k.Place().Pass == 0 {
					got[row{name, string(op)}]++
				}
			}
		}
		return got
	}
	const product, sum = "_execute_kernel__5x_cublas", "_execute_split_k_kernel__5x_cublas"
	want := map[row]int{{product, opname.Attention}: 2 * 24}
	for _, op := range []string{opname.QKVProj, opname.OProj, opname.GateProj, opname.UpProj, opname.DownProj} {
		want[row{product, op}], want[row{sum, op}] = 24, 24
	}
	if got := count("pytorch-2gpu-h100.sqlite", product, sum); !maps.Equal(got, want) {
		t.Errorf("T5: %v, want %v", got, want)
	}
	got := count("torchrun-2gpu-hopper.sqlite", "flash_fwd", "SendRecv", "masked_fill")
	if want := (map[row]int{{"flash_fwd", opname.Attention}: 34, {"SendRecv", opname.Other}: 33}); !maps.Equal(got, want) {
		t.Errorf("a diffusion model: %v, want %v", got, want)
	}
}
