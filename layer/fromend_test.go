package layer_test

import (
	"errors"
	"testing"

	"github.com/llmstrata/strata/internal/gen/families"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/profile"
)

// TestCountedFromTheEnd: the window holds the second half of the only pass. Without N its layers count from the end,
// with N and in a whole pass they have an index.
func TestCountedFromTheEnd(t *testing.T) {
	f := families.All()[0]
	n := len(f.Decode.Layers)
	half := traceOf(window(actsOf(f, false), 0.5, 0))
	whole := traceOf(actsOf(f, false))
	pass := func(an *layer.Analysis, err error) (*layer.Device, *layer.ForwardPass) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return &an.Devices[0], &an.Devices[0].Passes[0]
	}

	d, p := pass(layer.Analyze(t.Context(), half, layer.Options{}))
	last := p.FirstLayer + p.NumLayers - 1
	if !p.FromEnd || p.Partial != "start" || p.LayerNumber(last) != -1 || p.LayerNumber(p.FirstLayer) != -p.NumLayers {
		t.Errorf("half a pass: from the end %v, cut at %q, layers %d…%d", p.FromEnd, p.Partial,
			p.LayerNumber(p.FirstLayer), p.LayerNumber(last))
	}
	if _, l, err := d.Layer(0, -1); err != nil || l.Index != last {
		t.Errorf("layer -1: %v, %v", l, err)
	}
	if _, _, err := d.Layer(0, 0); !errors.Is(err, layer.ErrRange) {
		t.Errorf("layer 0 of half a pass: %v, want ErrRange", err)
	}

	// the last one is the model's last, as the window holds the end of the pass, and none is its first
	for i, l := range p.Layers() {
		want := profile.PlainLayer
		if i == p.NumLayers-1 {
			want = profile.FinalLayer
		}
		if l.Type != want {
			t.Errorf("layer %d is called %q, want %q", p.LayerNumber(l.Index), l.Type, want)
		}
	}

	_, p = pass(layer.Analyze(t.Context(), half, layer.Options{NumLayers: n}))
	if last := p.FirstLayer + p.NumLayers - 1; p.FromEnd || p.LayerNumber(last) != n-1 {
		t.Errorf("with N: from the end %v, the last layer is %d, want %d", p.FromEnd, p.LayerNumber(last), n-1)
	}
	d, p = pass(layer.Analyze(t.Context(), whole, layer.Options{}))
	if p.FromEnd || p.LayerNumber(3) != 3 {
		t.Errorf("a whole pass: from the end %v, layer 3 is %d", p.FromEnd, p.LayerNumber(3))
	}
	if _, _, err := d.Layer(0, -1); !errors.Is(err, layer.ErrRange) {
		t.Errorf("layer -1 of a whole pass: %v, want ErrRange", err)
	}
}
