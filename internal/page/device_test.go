package page_test

import (
	"slices"
	"testing"

	"github.com/llmstrata/strata/internal/page"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
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
