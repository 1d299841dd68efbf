package roofline_test

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/layer/roofline"
)

// A decode of one token on four H100 whose time was reckoned through by hand: floor, what products take above it, small operators, fills,
// communication, idle time. The trace holds no shapes; its tokens stand in the annotation.
func TestWorkedExample(t *testing.T) {
	r, err := roofline.Analyze(context.Background(), llama70B(t, 0), roofline.Options{Parallel: roofline.Parallel{TP: 4}})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Passes) != 5 || r.GPU == nil || r.GPU.ID != "h100-sxm-80" {
		t.Fatalf("%d passes on %v", len(r.Passes), r.GPUWhy)
	}
	want := map[string]float64{ // ms
		"floor: products (weights)": 10.373, "floor: attention (cache)": 0.026, "products above their floor": 2.756, "attention above its floor": 1.002,
		"small operators": 1.301, "communication: transfer and waiting": 0.702, "copies and fills": 0.224, "outside layers": 0.065,
		"GPU idle inside the pass": 1.324, "GPU idle up to the next pass": 1.100,
	}
	p := &r.Passes[1]
	for _, s := range p.Waterfall {
		if w, ok := want[s.Name]; ok && math.Abs(s.Time.Seconds()*1e3-w) > 0.0015 || !ok && s.Time != 0 {
			t.Errorf("%s: %v, want %.3f ms", s.Name, s.Time, w)
		}
		delete(want, s.Name)
		if s.Name == "products above their floor" && s.Note != "qkv_proj 62 %, o_proj 58 %, gate_up_proj 85 %, down_proj 83 %, lm_head 87 %" {
			t.Errorf("shares of the peak: %s", s.Note)
		}
		if s.Name == "copies and fills" && !strings.Contains(s.Note, "2 a layer") {
			t.Errorf("fills: %s", s.Note)
		}
	}
	for name := range want {
		t.Errorf("no row %s", name)
	}
	busy := p.Wall - 1100*time.Microsecond
	if math.Abs(busy.Seconds()*1e3-17.774) > 0.0015 || math.Abs(100*float64(p.Floor)/float64(busy)-58.5) > 0.05 {
		t.Errorf("floor %v of %v, want 58.5 %% of 17.774 ms", p.Floor, busy)
	}
}
