package roofline_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/roofline"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
)

// A decode of one token on four H100 whose time was reckoned through by hand: floor, what products take above it, small operators, fills,
// communication, idle time. The trace holds no shapes; its tokens stand in the annotation.
func TestWorkedExample(t *testing.T) {
	r, err := roofline.Analyze(context.Background(), llama70B(t, 0), roofline.Options{TP: 4})
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

func ExampleAnalyze() {
	ctx := context.Background()
	var recorded bytes.Buffer // a trace of Llama-3.3-70B, rank 0 of four H100
	if _, err := gen.Llama70B(0).Write(&recorded); err != nil {
		log.Fatal(err)
	}
	t, err := trace.Read(ctx, &recorded, trace.Options{})
	if err != nil {
		log.Fatal(err)
	}
	c, err := profile.ParseConfig(strings.NewReader(llama))
	if err != nil {
		log.Fatal(err)
	}
	a, err := layer.Analyze(ctx, t, layer.Options{Config: c})
	if err != nil {
		log.Fatal(err)
	}
	r, err := roofline.Analyze(ctx, a, roofline.Options{TP: 4})
	if err != nil {
		log.Fatal(err)
	}
	p := &r.Passes[r.Steady]
	fmt.Printf("%s took %v, on %s at least %v\n", p.Stage, p.Wall.Round(time.Microsecond), r.GPU.ID, p.Floor.Round(time.Microsecond))
	for _, i := range r.Recoverable[:2] {
		fmt.Println(i.What, i.Time.Round(time.Microsecond))
	}
	// Output:
	// decode took 18.875ms, on h100-sxm-80 at least 10.399ms
	// products above their floor 2.756ms
	// GPU idle inside the pass 1.325ms
}

// A GPU that nobody knows has work and no floors; the waterfall still adds up.
func TestUnknownGPU(t *testing.T) {
	a := generated(t, llama, func(w *bytes.Buffer) error {
		var b bytes.Buffer
		if _, err := gen.Llama70B(0).Write(&b); err != nil {
			return err
		}
		_, err := w.WriteString(strings.ReplaceAll(b.String(), "NVIDIA H100 80GB HBM3", "NVIDIA X900"))
		return err
	})
	r, err := roofline.Analyze(context.Background(), a, roofline.Options{TP: 4})
	if err != nil {
		t.Fatal(err)
	}
	if r.GPU != nil || !strings.Contains(r.GPUWhy, "NVIDIA X900") {
		t.Errorf("GPU %v, %q", r.GPU, r.GPUWhy)
	}
	row := find(t, r, "gate_up_proj")
	if row.GFLOP == 0 || row.N != 14336 || row.Floor != 0 || row.PeakShare != 0 {
		t.Errorf("gate_up_proj: %+v, want its work and no floor", row)
	}
	var sum time.Duration
	for _, s := range r.Passes[0].Waterfall {
		sum += s.Time
		if strings.HasPrefix(s.Name, "floor") {
			t.Errorf("%s: %v", s.Name, s.Time)
		}
	}
	if sum != r.Passes[0].Wall || r.Passes[0].Floor != 0 {
		t.Errorf("the waterfall adds up to %v of %v, floor %v", sum, r.Passes[0].Wall, r.Passes[0].Floor)
	}
}
