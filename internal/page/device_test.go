package page_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/internal/page"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// TestColourOfCollectives: it is that of the category that they have, by the default rules or by a model's profile.
func TestColourOfCollectives(t *testing.T) {
	c, err := profile.ResolveConfig(testdata.Shared(t, "configs/deepseek-v4-flash.json"))
	if err != nil {
		t.Fatal(err)
	}
	tr, err := trace.Open(t.Context(), testdata.SharedGlob(t, "traces/torch/synthetic-deepseek-v4-flash*")[0],
		trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, config := range map[string]*profile.Config{"communication": nil, "● NCCL AllReduce": c} {
		a, err := layer.Analyze(t.Context(), tr, layer.Options{Config: config})
		if err != nil {
			t.Fatal(err)
		}
		line := page.FromDevice(&a.Devices[0], page.Extra{})
		if i := line.Collectives; i < 0 || line.Palette[i].Name != name {
			t.Errorf("collectives have colour %d, want that of %s", i, name)
		}
	}
}

// TestLayersAreHeldAgainstTheirKind: an operator of the layers of one kind is at its median in the one in the middle,
// also where other kinds run beside them.
func TestLayersAreHeldAgainstTheirKind(t *testing.T) {
	tr, err := trace.Open(t.Context(), testdata.Shared(t, "traces/torch/xdit-flux1-mi300.json.gz"), trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	a, err := layer.Analyze(t.Context(), tr, layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d, err := a.Device(nil)
	if err != nil {
		t.Fatal(err)
	}
	const early, late = 18, 37 // blocks of two streams from the second on, and of one
	for i := range d.Passes {
		p := &d.Passes[i]
		if p.NumLayers != 57 {
			continue
		}
		h := page.FromLayers(d, i)
		for row, name := range h.Rows {
			for _, part := range [][]float64{h.Ratio[row][1:][:early], h.Ratio[row][1+early:][:late]} {
				part = slices.Clone(part)
				slices.Sort(part)
				if middle := part[len(part)/2]; middle != 0 && (middle < 0.9 || middle > 1.1) {
					t.Errorf("pass %d: %s of the block in the middle is at %.2f of the median of its kind", i, name, middle)
				}
			}
		}
	}
}

// TestTheLayerThatRunsMoreStandsOut: a layer that copies once more is of a kind of its own, and is held against the
// others all the same.
func TestTheLayerThatRunsMoreStandsOut(t *testing.T) {
	b := trace.NewBuilder(trace.Options{})
	at := int64(0)
	run := func(name string, took int64) {
		b.Add(trace.EventData{Kind: event.Kernel, Name: name, Start: at, Duration: took})
		at += took + 10
	}
	const layers, odd = 8, 4
	for range 4 {
		run("embedding_kernel", 3000)
		for l := range layers {
			run("rms_norm_kernel", 2000)
			run("nvjet_tst_128x64_64x8_qkv", 10000)
			run("flash_fwd_kernel", 8000)
			run("nvjet_tst_64x64_out", 6000)
			run("fused_add_rms_norm_kernel", 2000)
			run("nvjet_tst_256x64_gateup", 14000)
			run("act_and_mul_kernel", 3000)
			run("nvjet_tst_64x128_down", 9000)
			if l == odd {
				run("direct_copy_kernel_cuda", 40000)
			}
		}
		run("argmax_reduce_kernel", 4000)
		at += 50000
	}
	a, err := layer.Analyze(t.Context(), built.Trace(b), layer.Options{NumLayers: layers})
	if err != nil {
		t.Fatal(err)
	}
	d, err := a.Device(nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range d.Passes {
		if h := page.FromLayers(d, i); h == nil || !strings.Contains(h.Text, "in layer 4 takes") {
			t.Errorf("pass %d: %+v, want layer %d to stand out", i, h, odd)
		}
	}
}
