package layer_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/internal/opname"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/profile"
)

// opStack is a generated model and how it runs.
type opStack struct {
	name   string
	cfg    gen.Config
	config string // config.json of the model, without its layer count
}

// stacks are all that the generator can make, each once.
func opStacks() []opStack {
	pass := func(m gen.Mode, o gen.Overlap) []gen.Pass {
		return []gen.Pass{{Mode: gen.Eager, Prefills: 2, Tokens: 600, Overlap: o},
			{Mode: m, Decodes: 8, Context: 500, Overlap: o}, {Mode: m, Decodes: 8, Context: 501, Overlap: o},
			{Mode: m, Decodes: 8, Context: 502, Overlap: o}}
	}
	const dense = `"intermediate_size":8192`
	const moe = `"intermediate_size":8192,"moe_intermediate_size":1024,"num_experts":32,"num_experts_per_tok":8`
	const shared = moe + `,"n_shared_experts":1`
	moeLayer := gen.Layer{FFN: gen.MoE}
	list := []opStack{
		{"dense", gen.Config{Arch: gen.Arch{Layers: gen.Uniform(16, gen.Layer{})}}, dense},
		{"qk norm", gen.Config{Arch: gen.Arch{Layers: gen.Uniform(16, gen.Layer{}), QKNorm: true}}, dense},
		{"split-k", gen.Config{Arch: gen.Arch{Layers: gen.Uniform(18, gen.Layer{}), SplitK: true}}, dense},
		{"tiles", gen.Config{Arch: gen.Arch{Layers: gen.Uniform(18, gen.Layer{}), TileVariants: true}}, dense},
		{"experts", gen.Config{Arch: gen.Arch{Layers: gen.Uniform(12, moeLayer), QKNorm: true}}, moe},
		{"shared experts", gen.Config{Arch: gen.Arch{Layers: gen.Uniform(12, moeLayer), SharedExperts: true}}, shared},
		{"first layers dense", gen.Config{Arch: gen.Arch{Layers: gen.LeadingDense(14, 3), SharedExperts: true}},
			shared + `,"first_k_dense_replace":3`},
		{"alternating", gen.Config{Arch: gen.Arch{Layers: gen.Alternating(12, gen.MoE)}}, moe},
		{"hybrid", gen.Config{Arch: gen.Arch{Layers: gen.Hybrid(16, 4, gen.Dense)}},
			dense + `,"full_attention_interval":4,"linear_num_key_heads":8,"linear_num_value_heads":16,"linear_key_head_dim":64,"linear_value_head_dim":64,"linear_conv_kernel_dim":4`},
	}
	var out []opStack
	for _, s := range list {
		for _, vendor := range []gen.Vendor{gen.NVIDIA, gen.AMD} {
			for _, tp := range []int{1, 4} {
				if !testdata.Long() && tp > 1 {
					continue
				}
				for mode, name := range map[gen.Mode]string{gen.Eager: "eager", gen.FullGraph: "graph",
					gen.Piecewise: "piecewise"} {
					c := s
					c.cfg.Seed, c.cfg.Vendor, c.cfg.TP, c.cfg.NoShapes, c.cfg.Dialect = 11, vendor, tp, true, gen.SGLang
					c.cfg.Passes = pass(mode, gen.NoOverlap)
					c.name = fmt.Sprintf("%s/%s/vendor %d/tp %d", s.name, name, vendor, tp)
					out = append(out, c)
				}
			}
		}
	}
	for _, o := range []gen.Overlap{gen.Aligned, gen.Shifted} {
		c := list[4]
		c.cfg.Seed, c.cfg.TP, c.cfg.NoShapes, c.cfg.Dialect = 11, 4, true, gen.SGLang
		c.cfg.Passes = pass(gen.Eager, o)
		c.name = fmt.Sprintf("two halves %d", o)
		out = append(out, c)
	}
	return out
}

// TestGeneratedStacks: every opStack of the generator, without frames and shapes, with and without its config.
func TestGeneratedStacks(t *testing.T) {
	for _, s := range opStacks() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			var truths []gen.Truth
			cfg := s.cfg
			cfg.Truth = func(r gen.Truth) { truths = append(truths, r) }
			var data bytes.Buffer
			if err := gen.Write(&data, cfg); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), "trace.json")
			if err := os.WriteFile(path, data.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			c, err := profile.ParseConfig(strings.NewReader(fmt.Sprintf(`{"num_hidden_layers":%d,"hidden_size":2048,"num_attention_heads":16,"num_key_value_heads":4,"vocab_size":32000,%s}`, len(cfg.Arch.Layers), s.config)))
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range []*profile.Config{c, nil} {
				share, bad := opScoreGenerated(t, opFind(t, path, c), truths, c != nil)
				want := 1 - 1e-9
				if _, mode, _ := strings.Cut(s.name, "/"); c != nil && s.cfg.Arch.SharedExperts &&
					!strings.HasPrefix(mode, "eager") {
					// in a graph the sum that ends the last layer looks like what the pass runs after its layers
					want = 0.996
				}
				if share < want {
					t.Errorf("config %v: %.2f%% of the layers' time right, want %.1f%%\n%s", c != nil, 100*share,
						100*want, bad)
				}
			}
		})
	}
}

// opScoreGenerated is the share of the layers' time with the right operator and, where layers is set, layer: without
// a config labels are the segmentation's.
func opScoreGenerated(t *testing.T, answers []opAnswer, truths []gen.Truth, layers bool) (float64, string) {
	t.Helper()
	sort.SliceStable(truths, func(i, j int) bool { return truths[i].Start < truths[j].Start })
	var all, good int64
	count := map[string]int{}
	for i := range answers {
		a, tr := &answers[i], &truths[answers[i].index]
		if a.event.Name() != tr.Name {
			t.Fatalf("activity %d is %q, the generator wrote %q", a.index, a.event.Name(), tr.Name)
		}
		if tr.Layer < 0 || tr.Operator == "" {
			continue
		}
		all += tr.Duration
		if a.right(opTruthRow{ops: strings.Split(tr.Operator, "|")}) && (a.Layer == tr.Layer || !layers) {
			good += tr.Duration
			continue
		}
		count[fmt.Sprintf("%s in pass %d layer %d: got %s layer %d; %.40s", tr.Operator, a.pass, tr.Layer, a.Operator,
			a.Layer, tr.Name)]++
	}
	var lines []string
	for k := range count {
		if lines = append(lines, k); len(lines) == 12 {
			break
		}
	}
	if all == 0 {
		return 0, "no activity of the layers was found"
	}
	return float64(good) / float64(all), strings.Join(lines, "\n")
}

// TestGeneratedHeads: a head that looks like the feed-forward part of a layer is of no layer, with frames and in
// graphs; where frames show it, the product with the vocabulary is known, too.
func TestGeneratedHeads(t *testing.T) {
	for name, mode := range map[string]gen.Mode{"eager": gen.Eager, "graph": gen.FullGraph} {
		for _, vendor := range []gen.Vendor{gen.NVIDIA, gen.AMD} {
			var truths []gen.Truth
			cfg := gen.Config{Seed: 5, Vendor: vendor, NoShapes: true, Dialect: gen.SGLang,
				Arch:  gen.Arch{Family: "Masked", Layers: gen.Uniform(12, gen.Layer{}), PredictionHead: true},
				Truth: func(r gen.Truth) { truths = append(truths, r) }}
			for i := range 3 {
				cfg.Passes = append(cfg.Passes, gen.Pass{Mode: mode, Decodes: 8, Context: 500 + i})
			}
			var data bytes.Buffer
			if err := gen.Write(&data, cfg); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), "trace.json")
			if err := os.WriteFile(path, data.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			answers := opFind(t, path, nil)
			sort.SliceStable(truths, func(i, j int) bool { return truths[i].Start < truths[j].Start })
			heads := 0
			for i := range answers {
				a, want := &answers[i], truths[answers[i].index].Operator
				if want != opname.Other && (want != opname.LMHead || mode != gen.Eager) {
					continue
				}
				if heads++; a.Operator != want {
					t.Errorf("%s, vendor %d: %.40s in pass %d is %s, want %s", name, vendor, a.event.Name(), a.pass,
						a.Operator, want)
				}
			}
			if heads < 6 {
				t.Errorf("%s, vendor %d: %d kernels of heads", name, vendor, heads)
			}
		}
	}
}
