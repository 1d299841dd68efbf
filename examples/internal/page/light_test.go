package page_test

import (
	"bytes"
	"context"
	"math"
	"strings"
	"testing"

	"github.com/llmstrata/strata/examples/internal/page"
	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/internal/lightpage"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/roofline"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
)

// light analyses a generated run of graphs that are padded, with mixed steps between.
func light(t *testing.T) (*roofline.Report, *layer.Analysis) {
	t.Helper()
	var b bytes.Buffer
	if _, err := gen.Padded().Write(&b); err != nil {
		t.Fatal(err)
	}
	c, err := profile.ParseConfig(strings.NewReader(`{"model_type":"llama","architectures":["LlamaForCausalLM"],"num_hidden_layers":8,"hidden_size":1024,
"intermediate_size":2048,"num_attention_heads":16,"num_key_value_heads":8,"vocab_size":32000,"torch_dtype":"bfloat16"}`))
	if err != nil {
		t.Fatal(err)
	}
	tr, err := trace.Read(context.Background(), &b, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	a, err := layer.Analyze(context.Background(), tr, layer.Options{Config: c})
	if err != nil {
		t.Fatal(err)
	}
	r, err := roofline.Analyze(context.Background(), a, roofline.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r, a
}

// There is a waterfall for each stage, its bars follow each other from 0 to the pass's time, and no operator exceeds the GPU.
func TestLightHasAWaterfallForEachStage(t *testing.T) {
	r, a := light(t)
	sections := lightpage.Sections(r)
	if len(sections) != 3 || len(sections[0].Bars) != 2 || len(sections[0].Tables) != 2 {
		t.Fatalf("%d sections, %d waterfalls; want 3, and one each for decode and mixed", len(sections), len(sections[0].Bars))
	}
	for i, bars := range sections[0].Bars {
		at := 0.0
		for _, b := range bars.Rows {
			if b.From != at || b.To < b.From {
				t.Errorf("%s: %s from %v to %v, want it from %v", bars.Label, b.Label, b.From, b.To, at)
			}
			at = b.To
		}
		if wall := float64(r.Typical()[i].Wall) / 1e6; math.Abs(at-wall) > 1e-6 || bars.Max != wall {
			t.Errorf("%s: ends at %v, the pass takes %v ms", bars.Label, at, wall)
		}
	}
	for _, b := range sections[1].Bars[0].Rows {
		if b.To <= 0 || b.To > 102 {
			t.Errorf("%s: %v %% of the peak", b.Label, b.To)
		}
	}
	var out bytes.Buffer
	if err := page.SpeedOfLight(r, a, "run/padded.json").Write(&out); err != nil {
		t.Fatal(err)
	}
	text, _, _ := strings.Cut(out.String(), "<script>") // what is there without it
	for _, want := range []string{"floor: products (weights)", "GPU idle up to the next pass", "gate_up_proj", "65–128", "of that must be"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if n := strings.Count(text, "<svg class=\"chart\""); n != 3 {
		t.Errorf("%d charts, want 3", n)
	}
}

// A plan has its floor alone.
func TestLightOfAPlan(t *testing.T) {
	_, a := light(t)
	load := roofline.Decode(8, 1000)
	r, err := roofline.Plan(context.Background(), a.Config, roofline.Options{Device: "H100", Load: &load})
	if err != nil {
		t.Fatal(err)
	}
	bars := lightpage.Sections(r)[0].Bars[0]
	if end := bars.Rows[len(bars.Rows)-1].To; math.Abs(end-float64(r.Passes[0].Floor)/1e6) > 2e-6 {
		t.Errorf("the floors end at %v ms, want %v", end, r.Passes[0].Floor)
	}
}
