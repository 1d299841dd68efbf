package layer_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
)

// generate writes the trace that cfg describes, reads it back, and returns it with the truth in the order of the GPU lane.
func generate(t testing.TB, cfg gen.Config) (*trace.Trace, []gen.Truth) {
	t.Helper()
	var truths []gen.Truth
	cfg.Truth = func(tr gen.Truth) { truths = append(truths, tr) }
	var b bytes.Buffer
	if err := gen.Write(&b, cfg); err != nil {
		t.Fatal(err)
	}
	tr, err := trace.Read(context.Background(), &b)
	if err != nil {
		t.Fatal(err)
	}
	return tr, truths
}

// share returns the share of kernels whose (pass, layer) is the truth's; check also compares halves where the truth has them.
func share(a *layer.Analysis, truths []gen.Truth) (right float64, wrong []string) {
	type key struct {
		start  int64
		stream trace.StreamID
		name   string
	}
	want := map[key]gen.Truth{}
	for _, tr := range truths {
		want[key{tr.Start, trace.StreamID(tr.Stream), tr.Name}] = tr
	}
	good := 0
	for i := range a.Kernels {
		e, k := a.Event(i), &a.Kernels[i]
		w, ok := want[key{a.Trace().Raw(e.Start()), e.Stream(), e.Name()}]
		switch {
		case !ok:
			wrong = append(wrong, fmt.Sprintf("kernel %d %s has no truth", i, e.Name()))
		case k.Pass == w.Pass && k.Layer == w.Layer:
			good++
		case len(wrong) < 12:
			wrong = append(wrong, fmt.Sprintf("kernel %d %.60s: pass %d layer %d, want %d %d", i, e.Name(), k.Pass, k.Layer, w.Pass, w.Layer))
		}
	}
	return float64(good) / float64(len(a.Kernels)), wrong
}

var archs = map[string]gen.Arch{
	"dense-32":       {Family: "Llama", Layers: gen.Uniform(32, gen.Layer{}), Hidden: 4096, Vocab: 32000},
	"dense-2":        {Family: "Llama", Layers: gen.Uniform(2, gen.Layer{}), Hidden: 512, Vocab: 32000},
	"dense-80-tiles": {Family: "Llama", Layers: gen.Uniform(80, gen.Layer{}), Hidden: 8192, Vocab: 32000, TileVariants: true, SplitK: true},
	"qknorm-splitk":  {Family: "Qwen3", Layers: gen.Uniform(36, gen.Layer{}), Hidden: 4096, Vocab: 32000, QKNorm: true, SplitK: true},
	"moe-48":         {Family: "Qwen3Moe", Layers: gen.Uniform(48, gen.Layer{FFN: gen.MoE}), Hidden: 2048, Vocab: 32000, Experts: 128, QKNorm: true},
	"leading-dense":  {Family: "DeepseekV3", Layers: gen.LeadingDense(61, 3), Hidden: 7168, Vocab: 32000, Experts: 256, SharedExperts: true},
	"one-dense":      {Family: "Glm4Moe", Layers: gen.LeadingDense(46, 1), Hidden: 4096, Vocab: 32000, Experts: 128},
	"alternating":    {Family: "GptOss", Layers: gen.Alternating(24, gen.MoE), Hidden: 2880, Vocab: 32000, Experts: 32, TileVariants: true},
	"hybrid-1-in-4":  {Family: "Qwen3Next", Layers: gen.Hybrid(48, 4, gen.MoE), Hidden: 2048, Vocab: 32000, Experts: 512, SharedExperts: true},
	"hybrid-1-in-8":  {Family: "Jamba", Layers: gen.Hybrid(32, 8, gen.Dense), Hidden: 4096, Vocab: 32000},
}

var passSets = map[string][]gen.Pass{
	"eager":     {{Mode: gen.Eager, Prefills: 2, Tokens: 4096}, {Mode: gen.Eager, Decodes: 16, Context: 1000}, {Mode: gen.Eager, Decodes: 16, Context: 1001}},
	"decode":    {{Mode: gen.Eager, Decodes: 8, Context: 1000}, {Mode: gen.Eager, Decodes: 8, Context: 1001}, {Mode: gen.Eager, Decodes: 8, Context: 1001}, {Mode: gen.Eager, Decodes: 8, Context: 1001}},
	"single":    {{Mode: gen.Eager, Prefills: 1, Tokens: 512}},
	"graph":     {{Mode: gen.FullGraph, Decodes: 32, Context: 1000}, {Mode: gen.FullGraph, Decodes: 32, Context: 1001}, {Mode: gen.FullGraph, Decodes: 32, Context: 1002}},
	"piecewise": {{Mode: gen.Piecewise, Prefills: 3, Tokens: 700, Decodes: 20, Context: 800}, {Mode: gen.Piecewise, Decodes: 20, Context: 801}},
	"mixed":     {{Mode: gen.Eager, Prefills: 2, Tokens: 4096}, {Mode: gen.FullGraph, Decodes: 32, Context: 1001}, {Mode: gen.Piecewise, Prefills: 1, Tokens: 100, Decodes: 32, Context: 1002}},
}

func TestScratchGen(t *testing.T) {
	for an, arch := range archs {
		for pn, passes := range passSets {
			for _, v := range []gen.Vendor{gen.NVIDIA, gen.AMD} {
				for _, d := range []gen.Dialect{gen.SGLang, gen.NoAnnotations} {
					cfg := gen.Config{Seed: 7, Vendor: v, Arch: arch, Passes: passes, Dialect: d, TP: 2}
					tr, truths := generate(t, cfg)
					for _, n := range []int{len(arch.Layers), 0} {
						a, err := layer.Analyze(context.Background(), tr, layer.Options{NumLayers: n, Boundaries: layer.BoundariesRepeats})
						id := fmt.Sprintf("%s/%s/%d/%d/n=%d", an, pn, v, d, n)
						if err != nil {
							fmt.Println("GEN ERR", id, err)
							continue
						}
						s, wrong := share(a, truths)
						if s < 0.995 {
							fmt.Printf("GEN %.3f %s N=%d passes=%d want %d\n", s, id, a.NumLayers, len(a.Passes), len(passes))
							for _, w := range wrong[:min(4, len(wrong))] {
								fmt.Println("    ", w)
							}
							for _, e := range a.Evidence {
								fmt.Println("     ", e.For, e.Kind, strings.TrimSpace(e.Detail))
							}
						}
					}
				}
			}
		}
	}
}
