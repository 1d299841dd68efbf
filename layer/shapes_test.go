package layer_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
)

// A shape is a model as the generator knows it.
type shape struct {
	name string
	arch gen.Arch
}

// shapes are the kinds of decoder stacks that real models have.
var shapes = []shape{
	{"dense-32", gen.Arch{Family: "Llama", Layers: gen.Uniform(32, gen.Layer{}), Hidden: 4096}},
	{"dense-2", gen.Arch{Family: "Llama", Layers: gen.Uniform(2, gen.Layer{}), Hidden: 512}},
	{"dense-80-tiles-splitk", gen.Arch{Family: "Llama", Layers: gen.Uniform(80, gen.Layer{}), Hidden: 8192,
		TileVariants: true, SplitK: true}},
	{"dense-36-qknorm-splitk", gen.Arch{Family: "Qwen3", Layers: gen.Uniform(36, gen.Layer{}), Hidden: 4096,
		QKNorm: true, SplitK: true}},
	{"moe-48-qknorm", gen.Arch{Family: "Qwen3Moe", Layers: gen.Uniform(48, gen.Layer{FFN: gen.MoE}), Hidden: 2048,
		Experts: 128, QKNorm: true}},
	{"moe-61-three-dense", gen.Arch{Family: "DeepseekV3", Layers: gen.LeadingDense(61, 3), Hidden: 7168, Experts: 256,
		SharedExperts: true}},
	{"moe-46-one-dense", gen.Arch{Family: "Glm4Moe", Layers: gen.LeadingDense(46, 1), Hidden: 4096, Experts: 128}},
	{"moe-8-one-dense-shared", gen.Arch{Family: "Qwen2Moe", Layers: gen.LeadingDense(8, 1), Hidden: 2048, Experts: 60,
		SharedExperts: true}},
	{"alternating-24", gen.Arch{Family: "GptOss", Layers: gen.Alternating(24, gen.MoE), Hidden: 2880, Experts: 32,
		TileVariants: true}},
	{"hybrid-48-one-in-4", gen.Arch{Family: "Qwen3Next", Layers: gen.Hybrid(48, 4, gen.MoE), Hidden: 2048, Experts: 512,
		SharedExperts: true}},
	{"hybrid-32-one-in-8", gen.Arch{Family: "Jamba", Layers: gen.Hybrid(32, 8, gen.Dense), Hidden: 4096}},
}

// runs are what a server may do in a window.
var runs = []struct {
	name   string
	passes []gen.Pass
}{
	{"prefill-then-decode", []gen.Pass{{Prefills: 2, Tokens: 4096}, {Decodes: 16, Context: 1000},
		{Decodes: 16, Context: 1001}}},
	{"decode", []gen.Pass{{Decodes: 8, Context: 1000}, {Decodes: 8, Context: 1001}, {Decodes: 8, Context: 1002},
		{Decodes: 64, Context: 1003}}},
	{"single", []gen.Pass{{Prefills: 1, Tokens: 512}}},
	{"graph", []gen.Pass{{Mode: gen.FullGraph, Decodes: 32, Context: 1000},
		{Mode: gen.FullGraph, Decodes: 32, Context: 1001}, {Mode: gen.FullGraph, Decodes: 32, Context: 1002}}},
	{"piecewise", []gen.Pass{{Mode: gen.Piecewise, Prefills: 3, Tokens: 700, Decodes: 20, Context: 800},
		{Mode: gen.Piecewise, Decodes: 20, Context: 801}}},
	{"mixed-modes", []gen.Pass{{Prefills: 2, Tokens: 4096}, {Mode: gen.FullGraph, Decodes: 32, Context: 1001},
		{Mode: gen.Piecewise, Prefills: 1, Tokens: 100, Decodes: 32, Context: 1002}}},
}

// generate writes the trace that cfg describes, edits its events (nil drops one; a nil edit keeps all), and reads it
// back with the truth.
func generate(t testing.TB, cfg gen.Config, edit func(map[string]any) map[string]any) (*trace.Trace, []gen.Truth) {
	t.Helper()
	var truths []gen.Truth
	cfg.Truth = func(tr gen.Truth) { truths = append(truths, tr) }
	var b bytes.Buffer
	if err := gen.Write(&b, cfg); err != nil {
		t.Fatal(err)
	}
	data := b.Bytes()
	if edit != nil {
		data = edited(t, data, edit)
	}
	tr, err := trace.Read(context.Background(), bytes.NewReader(data), trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return tr, truths
}

// edited rewrites the events of a trace document.
func edited(t testing.TB, data []byte, edit func(map[string]any) map[string]any) []byte {
	t.Helper()
	var doc map[string]any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	var kept []any
	for _, e := range doc["traceEvents"].([]any) {
		if e := edit(e.(map[string]any)); e != nil {
			kept = append(kept, e)
		}
	}
	doc["traceEvents"] = kept
	out, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func onGPU(e map[string]any) bool {
	c, _ := e["cat"].(string)
	return c == "kernel" || c == "gpu_memcpy" || c == "gpu_memset"
}

// hashed gives a kernel a name that shows only whether two kernels are the same.
func hashed(name string) string {
	h := sha256.Sum256([]byte(name))
	return "k" + hex.EncodeToString(h[:8])
}

// placed is the share of kernels whose (pass, layer) is the truth's, outside of any included, and the first few that
// are not.
func placed(a *layer.Device, truths []gen.Truth, name func(string) string) (share float64, wrong []string) {
	type key struct {
		start  int64
		stream trace.StreamID
		name   string
	}
	want := make(map[key]gen.Truth, len(truths))
	for _, tr := range truths {
		want[key{tr.Start, trace.StreamID(tr.Stream), name(tr.Name)}] = tr
	}
	right := 0
	for i := range a.NumKernels() {
		e, k := a.Kernel(i).Event(), a.Kernel(i).Place()
		w, ok := want[key{a.Analysis().Trace().Raw(e.Start()), e.Stream(), e.Name()}]
		switch {
		case !ok:
			wrong = append(wrong, fmt.Sprintf("kernel %d %s has no truth", i, e.Name()))
		case k.Pass == w.Pass && k.Layer == w.Layer:
			right++
		case len(wrong) < 6:
			wrong = append(wrong, fmt.Sprintf("kernel %d %.60s: pass %d layer %d, want %d %d", i, e.Name(), k.Pass,
				k.Layer, w.Pass, w.Layer))
		}
	}
	return float64(right) / float64(a.NumKernels()), wrong
}

func itself(s string) string { return s }

// A tally remembers how well the combinations of a test came out: its log is the table in docs/segmentation.md.
type tally struct {
	runs         int
	worst, total float64
}

func (y *tally) add(share float64) {
	if y.runs == 0 || share < y.worst {
		y.worst = share
	}
	y.runs++
	y.total += share
}

func (y *tally) log(t *testing.T) {
	t.Helper()
	if y.runs > 0 {
		t.Logf("%d combinations: mean %.2f%%, worst %.2f%%", y.runs, 100*y.total/float64(y.runs), 100*y.worst)
	}
}

// chosen says whether a combination is run: every second one, and one in eight without STRATA_LONG; every shape and
// every run is in some.
func chosen(s, r, k int) bool {
	if !testdata.Long() {
		return (s+r+k)%16 == 0
	}
	return (s+r+k)%2 == 0
}

// TestGeneratedShapes: every kind of stack, in every kind of run, on both vendors, with and without annotations, with
// and without a known N.
func TestGeneratedShapes(t *testing.T) {
	var y tally
	defer y.log(t)
	for si, s := range shapes {
		for ri, run := range runs {
			for k, v := range []struct {
				vendor  gen.Vendor
				dialect gen.Dialect
			}{{gen.NVIDIA, gen.SGLang}, {gen.AMD, gen.NoAnnotations}, {gen.NVIDIA, gen.NoAnnotations},
				{gen.AMD, gen.VLLM}} {
				if !chosen(si, ri, k) {
					continue
				}
				cfg := gen.Config{Seed: 7, Vendor: v.vendor, Dialect: v.dialect, Arch: s.arch, Passes: run.passes,
					TP: 2}
				tr, truths := generate(t, cfg, nil)
				for _, n := range []int{len(s.arch.Layers), 0} {
					a := analyze(t, tr, layer.Options{NumLayers: n, Boundaries: "repeats"})
					share, wrong := placed(a, truths, itself)
					y.add(share)
					if share < 1 || a.NumLayers != len(s.arch.Layers) || len(a.Passes) != len(run.passes) {
						t.Errorf("%s, %s, vendor %d, dialect %d, n=%d: %.2f%% right, N=%d, %d passes\n%v", s.name,
							run.name, v.vendor, v.dialect, n,
							100*share, a.NumLayers, len(a.Passes), wrong)
					}
				}
			}
		}
	}
}

// TestCutWindows: the window opens late (the first launches are missing) or ends in the middle of the last pass.
func TestCutWindows(t *testing.T) {
	var y tally
	defer y.log(t)
	for si, s := range shapes {
		if len(s.arch.Layers) <= 8 {
			continue // half of two layers is no repeat, and four of eight layers have eight halves
		}
		for ri, run := range runs {
			for k, v := range []struct {
				orphans int
				cut     float64
			}{{100, 0}, {0, 0.45}} {
				if !chosen(si, ri, k) {
					continue
				}
				cfg := gen.Config{Seed: 7, Dialect: gen.SGLang, Arch: s.arch, Passes: run.passes, TP: 2,
					Orphans: v.orphans, CutAtEnd: v.cut}
				tr, truths := generate(t, cfg, nil)
				a := analyze(t, tr, layer.Options{NumLayers: len(s.arch.Layers), Boundaries: "repeats"})
				share, wrong := placed(a, truths, itself)
				y.add(share)
				least := 1.0
				if v.orphans > 0 && s.arch.SharedExperts {
					least = 0.95 // what a side stream runs of a pass without launches cannot be placed
				}
				if share < least || len(a.Passes) != len(run.passes) {
					t.Errorf("%s, %s, %d orphans, cut at %v: %.2f%% right, %d passes\n%v", s.name, run.name, v.orphans,
						v.cut, 100*share, len(a.Passes), wrong)
				}
				if last := a.Passes[len(a.Passes)-1]; v.cut > 0 && last.Partial == "" {
					t.Errorf("%s, %s: the cut pass is not reported as partial: %d layers", s.name, run.name,
						last.NumLayers)
				}
			}
		}
	}
}

// TestGPUActivitiesAlone: a profile of the GPU only, without launches, ops or annotations.
func TestGPUActivitiesAlone(t *testing.T) {
	var y tally
	defer y.log(t)
	for si, s := range shapes {
		for ri, run := range runs {
			if !chosen(si, ri, 0) {
				continue
			}
			tr, truths := generate(t, gen.Config{Seed: 7, Arch: s.arch, Passes: run.passes, TP: 2},
				func(e map[string]any) map[string]any {
					if onGPU(e) || e["ph"] == "M" {
						return e
					}
					return nil
				})
			for _, n := range []int{len(s.arch.Layers), 0} {
				a := analyze(t, tr, layer.Options{NumLayers: n})
				share, wrong := placed(a, truths, itself)
				y.add(share)
				if share < 1 {
					t.Errorf("%s, %s, n=%d: %.2f%% right, N=%d, %d passes\n%v", s.name, run.name, n, 100*share,
						a.NumLayers, len(a.Passes), wrong)
				}
			}
		}
	}
}

// TestHashedNames: with every kernel name replaced by a hash, passes and N stay and at least 80% of the kernels keep
// their layer. Two layers alone are too few to find a repeat without any meaning; their N is given.
func TestHashedNames(t *testing.T) {
	var y tally
	defer y.log(t)
	hash := func(e map[string]any) map[string]any {
		if onGPU(e) {
			e["name"] = hashed(e["name"].(string))
		}
		return e
	}
	for si, s := range shapes {
		for ri, run := range runs {
			if !chosen(si, ri, 0) {
				continue
			}
			n := 0
			if len(s.arch.Layers) == 2 {
				n = 2
			}
			tr, truths := generate(t, gen.Config{Seed: 7, Dialect: gen.SGLang, Arch: s.arch, Passes: run.passes, TP: 2},
				hash)
			a := analyze(t, tr, layer.Options{NumLayers: n, Boundaries: "repeats"})
			share, wrong := placed(a, truths, hashed)
			y.add(share)
			least := 1.0
			if s.arch.SharedExperts {
				least = 0.94 // where no name says it, a side stream's kernels may be of the next layer
			}
			if share < least || a.NumLayers != len(s.arch.Layers) || len(a.Passes) != len(run.passes) {
				t.Errorf("%s, %s: %.2f%% right, N=%d, %d passes\n%v", s.name, run.name, 100*share, a.NumLayers,
					len(a.Passes), wrong)
			}
		}
	}
}
