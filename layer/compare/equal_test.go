package compare_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer/compare"
)

// serving draws a model, a server and a mix of steps; idle adds a step without requests.
func serving(t testing.TB, seed uint64, idle bool) doc {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 0))
	layers := 4 + r.IntN(20)
	archs := []gen.Arch{
		{Family: "Llama", Layers: gen.Uniform(layers, gen.Layer{}), Hidden: 4096, Vocab: 128256},
		{Family: "Qwen3Moe", Layers: gen.Uniform(layers, gen.Layer{FFN: gen.MoE}), Hidden: 2048, Vocab: 151936,
			Experts: 128, QKNorm: true},
		{Family: "Gemma3", Layers: gen.Alternating(layers, gen.Dense), Hidden: 2560, Vocab: 262208, QKNorm: true},
		{Family: "NemotronH", Layers: gen.Hybrid(layers, 4, gen.Dense), Hidden: 4096, Vocab: 131072},
		{Family: "DeepseekV2", Layers: gen.LeadingDense(layers, 1), Hidden: 2048, Vocab: 102400, Experts: 64,
			SharedExperts: true},
		{Family: "Llama", Layers: gen.Uniform(layers, gen.Layer{}), Hidden: 8192, Vocab: 32000, SplitK: true,
			TileVariants: true},
	}
	cfg := gen.Config{Seed: seed, Arch: archs[r.IntN(len(archs))], Vendor: gen.Vendor(r.IntN(2)),
		Dialect: gen.Dialect(r.IntN(5)), TP: 1 << r.IntN(3),
		Modules: r.IntN(3) == 0, GraphIDs: r.IntN(2) == 0, OneBlock: true}
	cfg.Stacks = cfg.Modules
	mode := gen.Mode(r.IntN(3))
	decode := gen.Pass{Decodes: 1 + r.IntN(64), Context: 512 + r.IntN(4096), Mode: mode}
	if r.IntN(2) == 0 {
		cfg.Passes = append(cfg.Passes, gen.Pass{Prefills: 1 + r.IntN(3), Tokens: 256 + r.IntN(4096)})
	}
	n := 3 + r.IntN(12)
	for i := range n {
		cfg.Passes = append(cfg.Passes, decode)
		if r.IntN(6) == 0 {
			cfg.Passes = append(cfg.Passes, gen.Pass{Prefills: 1, Tokens: 128 << r.IntN(4)})
		}
		if idle && i == n/2 {
			cfg.Passes = append(cfg.Passes, gen.Pass{Idle: true})
		}
	}
	var b bytes.Buffer
	if err := gen.Write(&b, cfg); err != nil {
		t.Fatal(err)
	}
	var d doc
	if err := json.Unmarshal(b.Bytes(), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// window keeps what ends before a share of the time.
func (d doc) window(share float64) {
	first, last := math.Inf(1), 0.0
	for _, e := range d.events() {
		if onGPU(e) {
			dur, _ := e["dur"].(float64)
			first, last = min(first, ts(e)), max(last, ts(e)+dur)
		}
	}
	d.drop(func(e map[string]any) bool {
		dur, _ := e["dur"].(float64)
		_, timed := e["ts"].(float64)
		return timed && e["ph"] != "M" && ts(e)+dur > first+share*(last-first)
	})
}

// jitter changes each duration on the GPU by up to a share; starts stay, as the device has gaps between kernels.
func (d doc) jitter(r *rand.Rand, share float64) {
	for _, e := range d.events() {
		if dur, ok := e["dur"].(float64); ok && onGPU(e) {
			e["dur"] = dur * (1 - share*r.Float64())
		}
	}
}

func clone(t testing.TB, d doc) doc {
	t.Helper()
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	var out doc
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// changes leave a trace one of the same program. Both sides jitter alike.
var changes = []struct {
	name string
	do   func(d doc, r *rand.Rand)
}{
	{"a part of it", func(d doc, r *rand.Rand) { d.window(0.2 + 0.7*r.Float64()) }},
	{"its events in another order", func(d doc, r *rand.Rand) {
		list := d["traceEvents"].([]any)
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	}},
	{"other jitter", func(doc, *rand.Rand) {}},
	{"records lost", func(d doc, r *rand.Rand) {
		d.drop(func(e map[string]any) bool { return onGPU(e) && r.IntN(200) == 0 })
	}},
	{"records lost, a part of it", func(d doc, r *rand.Rand) {
		d.drop(func(e map[string]any) bool { return onGPU(e) && r.IntN(500) == 0 })
		d.window(0.3 + 0.6*r.Float64())
	}},
}

// equalSides fails where two sides of one program have a verdict or a finding, either way round, or not the opposite
// of each other.
func equalSides(t *testing.T, name string, a, b *compare.Side) {
	t.Helper()
	x, y := report(t, a, b, compare.Options{}), report(t, b, a, compare.Options{})
	for _, r := range []*compare.Report{x, y} {
		if r.Verdict != compare.Same && r.Verdict != compare.Inconclusive && r.Verdict != compare.NotComparable {
			t.Errorf("%s: %s", name, r.Text)
		}
		for _, f := range r.Findings {
			t.Errorf("%s: finding %s: %s", name, f.Kind, f.Text)
		}
	}
	if why := compare.Mirrors(x, y); why != "" {
		t.Errorf("%s: the other way round: %s", name, why)
	}
}

// TestEqualPrograms: a trace against a part of it, with its events shuffled, with other jitter, with records lost,
// with a step without requests: neither a verdict nor a finding.
func TestEqualPrograms(t *testing.T) {
	n := uint64(4)
	if testdata.Long() {
		n = 200
	}
	told := 0
	for seed := range n {
		r := rand.New(rand.NewPCG(seed, 1))
		whole := serving(t, seed, false)
		share := 0.01 + 0.04*r.Float64()
		whole.jitter(r, share)
		a := whole.side(t, nil)
		for i, c := range changes {
			if !testdata.Long() && uint64(i)%2 != seed%2 {
				continue
			}
			d := serving(t, seed, false)
			d.jitter(r, share)
			c.do(d, r)
			b := d.side(t, nil)
			equalSides(t, fmt.Sprintf("seed %d, %s", seed, c.name), a, b)
			if report(t, a, b, compare.Options{}).Verdict == compare.Same {
				told++
			}
		}
		d := serving(t, seed, true)
		d.jitter(r, share)
		equalSides(t, fmt.Sprintf("seed %d, an idle step", seed), a, d.side(t, nil))
	}
	t.Logf("%d seeds, %d comparisons of changed traces are called the same", n, told)
}

// TestEqualRealTraces is TestEqualPrograms on the shared traces.
func TestEqualRealTraces(t *testing.T) {
	paths := testdata.SharedGlob(t, "traces/torch/*.json*")
	if !testdata.Long() {
		paths = testdata.Smallest(paths, 6)
	}
	for i, path := range paths {
		r := rand.New(rand.NewPCG(uint64(i), 2))
		base := filepath.Base(path)
		var d doc
		if json.Unmarshal(testdata.ReadFile(t, path), &d) != nil {
			continue // a list of events
		}
		d["traceEvents"] = slices.DeleteFunc(d["traceEvents"].([]any),
			func(e any) bool { _, ok := e.(map[string]any); return !ok })
		a := d.side(t, nil)
		for _, c := range changes {
			e := clone(t, d)
			e.jitter(r, 0.01)
			c.do(e, r)
			equalSides(t, base+", "+c.name, a, e.side(t, nil))
		}
	}
}
