package layer_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/gen/families"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer"
)

// TestWritten: of what PyTorch launches operation by operation, so much is in its pass and layer: layers with experts
// in turn, layers of several kinds whose mixers no kernel names, an encoder and a decoder of equal layers, a tower and
// what reads it. No wrong answer is printed with 0.9.
// With -v each case is printed, with -group the passes of those whose names contain it, too.
func TestWritten(t *testing.T) {
	least := map[string]float64{"Switch": .95, "BLIP": .9, "DeBERTa": .95, "Cohere": .99, "RWKV": .99, "ViT-MAE": .99,
		"Nemotron": .99, "Zamba": .99, "Granite": .99, "OLMo": .98, "Jamba": .98}
	seen := 0
	for _, c := range families.Written(slices.Concat(families.Open(), families.Closed())) {
		if !strings.Contains(c.Group+": "+c.Name, *onlyGroup) || !testdata.Long() && !strings.Contains(c.Group, "eager") {
			continue
		}
		an, err := layer.Analyze(t.Context(), runTrace(c), layer.Options{})
		if err != nil {
			t.Fatalf("%s: %s: %v", c.Group, c.Name, err)
		}
		d := &an.Devices[0]
		j := judge(d, c)
		t.Logf("%.3f right, printed %.2f: %s: %s:%s", j.right, j.conf, c.Group, c.Name, j.what)
		if j.right < .9 && j.conf >= .9 {
			t.Errorf("%s: %s: %.3f right, printed %.2f", c.Group, c.Name, j.right, j.conf)
		}
		for name, share := range least {
			if !strings.HasPrefix(c.Name, name) {
				continue
			}
			if seen++; j.right < share {
				t.Errorf("%s: %s: %.3f right, want %.2f:%s", c.Group, c.Name, j.right, share, j.what)
			}
		}
		if *onlyGroup != "" {
			for p, fp := range d.Passes {
				t.Logf("pass %d: %d kernels, %d+%d outside, layers %d from %d, model %d, %q %s %s %.2f", p, fp.Kernels,
					fp.Prologue, fp.Epilogue, fp.NumLayers, fp.FirstLayer, fp.Model, fp.Partial, fp.PassEvidence,
					fp.LayerEvidence, fp.Confidence)
			}
			t.Logf("%+v", d.Evidence)
		}
	}
	if *onlyGroup == "" && seen < len(least) {
		t.Errorf("%d cases of %d names", seen, len(least))
	}
}

// TestDamagedWritten: products of integers say nothing of what a part of a layer does; layers of two parts are no parts
// in turns where three records in a hundred are lost; a draft of three layers has those of its target.
func TestDamagedWritten(t *testing.T) {
	for _, c := range families.Damaged() {
		an, err := layer.Analyze(t.Context(), runTrace(c), layer.Options{})
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		j := judge(&an.Devices[0], c)
		t.Logf("%.3f right, printed %.2f: %s:%s", j.right, j.conf, c.Name, j.what)
		if j.right < .98 {
			t.Errorf("%s: %.3f right, printed %.2f:%s", c.Name, j.right, j.conf, j.what)
		}
	}
}
