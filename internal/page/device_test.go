package page_test

import (
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
