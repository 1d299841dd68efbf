package layer

import (
	"strings"
	"testing"

	"github.com/llmstrata/strata/layer/internal/ladder"
)

// TestContradictionsAreTold: a complete pass with another number of layers than the others, and layers that overlap
// on one stream, are notes, and lower the confidence; passes that the window cuts and layers in order are neither.
func TestContradictionsAreTold(t *testing.T) {
	for _, c := range []struct {
		name  string
		alter func(d *Device, results []ladder.Result)
		note  string
	}{
		{"equal passes", func(*Device, []ladder.Result) {}, ""},
		{"one has a layer less", func(d *Device, _ []ladder.Result) { d.Passes[1].NumLayers = 1 },
			"1 complete pass of 3 has another number of layers"},
		{"the window cuts that one", func(d *Device, _ []ladder.Result) {
			d.Passes[1].NumLayers, d.Passes[1].Partial = 1, string(ladder.CutAtEnd)
		}, ""},
		{"a layer goes on within the next one", func(_ *Device, r []ladder.Result) {
			r[1].Layer = []int32{0, 1, 0, 1}
		}, "1 pass of 3 has layers that overlap"},
		{"a kernel between two layers is of none", func(_ *Device, r []ladder.Result) {
			r[1].Layer = []int32{0, ladder.None, 1, ladder.None}
		}, ""},
	} {
		d, results := &Device{Passes: make([]ForwardPass, 3)}, make([]ladder.Result, 3)
		for p := range results {
			results[p].Layer, results[p].LayerConf = []int32{0, 0, 1, 1}, 0.995
			d.Passes[p].NumLayers, d.Passes[p].Confidence = 2, 0.995
		}
		c.alter(d, results)
		d.check(&work{Work: &ladder.Work{}}, results)
		switch notes := strings.Join(d.Notes, "; "); {
		case c.note == "" && (notes != "" || d.Passes[1].Confidence != 0.995):
			t.Errorf("%s: %q, confidence %v", c.name, notes, d.Passes[1].Confidence)
		case c.note != "" && (!strings.Contains(notes, c.note) || d.Passes[1].Confidence > 0.8 ||
			results[1].LayerConf > 0.8 || d.Passes[0].Confidence != 0.995):
			t.Errorf("%s: %q, confidence %v", c.name, notes, d.Passes[1].Confidence)
		}
	}
}
