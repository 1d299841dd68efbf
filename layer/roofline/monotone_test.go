package roofline

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/internal/opname"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/profile/hardware"
)

// mixture has two layers of experts: hidden 64, 4 heads of 16 for queries and 2 for keys, 8 experts of 32, 2 a token,
// a vocabulary of 100.
const mixture = `{"model_type":"qwen3_moe","architectures":["Qwen3MoeForCausalLM"],"num_hidden_layers":2,"hidden_size":64,"num_attention_heads":4,
"num_key_value_heads":2,"head_dim":16,"vocab_size":100,"num_experts":8,"num_experts_per_tok":2,"moe_intermediate_size":32,"intermediate_size":96,
"torch_dtype":"bfloat16","decoder_sparse_step":1}`

func modelOf(t *testing.T, o Options) (*model, *profile.Plan) {
	t.Helper()
	c, err := profile.ParseConfig(strings.NewReader(mixture))
	if err != nil {
		t.Fatal(err)
	}
	plan := c.Plan()
	return newModel(c, plan, &o), plan
}

// TestFloorsOnlyRise: more tokens, requests or tokens in the cache never lower the floor of an operator, whatever the
// sizes.
func TestFloorsOnlyRise(t *testing.T) {
	g, _ := hardware.Named(hardware.Table(), "h100-sxm-80")
	rng := rand.New(rand.NewPCG(7, 9))
	for range 2000 {
		m, plan := modelOf(t, Options{TP: 1 << rng.IntN(3), EP: 1 << rng.IntN(2)})
		n, seen := int64(1+rng.IntN(64)), int64(1+rng.IntN(4096))
		less := Decode(n, seen)
		more := Decode(n+int64(rng.IntN(64)), seen+int64(rng.IntN(4096)))
		one := Load{Tokens: 1, Requests: 1, AtLeast: true}
		kind := &plan.Kinds[0]
		for i := range kind.Operators {
			op := &kind.Operators[i]
			floors := [3]float64{}
			for k, l := range []*Load{&one, &less, &more} {
				w := m.work(op, kind, l)
				w.atLeast()
				f := floorOf(&w, g)
				floors[k] = max(f.seconds(), f.link)
			}
			if floors[0] > floors[1] || floors[1] > floors[2] {
				t.Fatalf("%s: floors %v of one token, of %+v and of %+v", op.Operator, floors, less, more)
			}
		}
	}
}

// TestOpsOnlyRise: a larger tensor never has less work.
func TestOpsOnlyRise(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5))
	size := func() int64 { return int64(1 + rng.IntN(64)) }
	for range 2000 {
		m, n, k, more := size(), size(), size(), int64(rng.IntN(8))
		in := func(m int64) *Inputs {
			return &Inputs{Dims: [][]int64{{m, k}, {k, n}}, Types: []string{"float", "float"}}
		}
		a, _ := OpWork("aten::mm", in(m))
		b, _ := OpWork("aten::mm", in(m+more))
		moe := func(t int64) *Inputs {
			return &Inputs{Dims: [][]int64{{t, k}, {8, 2 * n, k}, {8, k, n}, {t, 2}},
				Types: []string{"c10::Half", "c10::Half", "c10::Half", "float"}}
		}
		c, ok := OpWork("vllm::fused_experts", moe(m))
		d, _ := OpWork("vllm::fused_experts", moe(m+more))
		if !ok || a.FLOP > b.FLOP || a.Bytes > b.Bytes || c.FLOP > d.FLOP || c.Bytes > d.Bytes ||
			c.MostBytes > d.MostBytes {
			t.Fatalf("m %d, %d more: %+v %+v, %+v %+v", m, more, a, b, c, d)
		}
	}
}

// TestLayerOfExpertsByHand: one layer of the mixture, five tokens, each seeing eleven, bf16.
//
// One rank: qkv 64→(4+2+2)·16 = 128: 2·5·64·128 = 81 920 FLOP, 64·128·2 = 16 384 bytes. Attention: 2·4·(16+16)·55 =
// 14 080 FLOP, cache 2·(16+16)·2·55 = 7040. o 64→64: 40 960, 8192. Router 64→8: 5120, 1024. Experts: gate and up
// 2·5·2·64·64 = 81 920 FLOP, one expert 64·64·2 = 8192 bytes; of 8 experts 2 at least, 8·(1 − (6/8)⁵) = 6.1016
// expected. Down 32→64: 40 960, 4096 an expert.
//
// TP 2: qkv 64→(2+1+1)·16 = 64: halves. Attention: heads 2, one of keys: halves. Experts of half their width: halves
// of bytes and FLOP. EP 2: four whole experts, half of the chosen ones on this rank: half of the FLOP, whole experts,
// and none must be chosen.
func TestLayerOfExpertsByHand(t *testing.T) {
	const expected = 8 * (1 - 0.2373046875) // (6/8)⁵
	type figures struct{ flop, weights, cache, least float64 }
	for _, c := range []struct {
		tp, ep int
		want   map[string]figures
	}{
		{1, 1, map[string]figures{"qkv_proj": {81920, 16384, 0, 16384}, "attention": {14080, 0, 7040, 0},
			"o_proj": {40960, 8192, 0, 8192}, "router": {5120, 1024, 0, 1024},
			"experts_gate_up": {81920, expected * 8192, 0, 16384}, "experts_down": {40960, expected * 4096, 0, 8192}}},
		{2, 1, map[string]figures{"qkv_proj": {40960, 8192, 0, 8192}, "attention": {7040, 0, 3520, 0},
			"o_proj": {20480, 4096, 0, 4096}, "router": {5120, 1024, 0, 1024},
			"experts_gate_up": {40960, expected * 4096, 0, 8192}, "experts_down": {20480, expected * 2048, 0, 4096}}},
		{1, 2, map[string]figures{"qkv_proj": {81920, 16384, 0, 16384},
			"experts_gate_up": {40960, expected / 2 * 8192, 0, 0}, "experts_down": {20480, expected / 2 * 4096, 0, 0}}},
	} {
		m, plan := modelOf(t, Options{TP: c.tp, EP: c.ep})
		load := Decode(5, 11)
		kind := &plan.Kinds[0]
		for name, want := range c.want {
			op, ok := kind.Find(profile.Operator(name))
			if !ok {
				t.Fatalf("no %s in %v", name, kind.Operators)
			}
			w := m.work(&op, kind, &load)
			got := figures{w.FLOP, w.Weights, w.Cache, 0}
			w.atLeast()
			if got.least = w.Weights; got != want {
				t.Errorf("TP %d, EP %d: %s: %+v, want %+v", c.tp, c.ep, name, got, want)
			}
		}
	}
}

// TestWeightsOfTypes: a product of 1024 by 512 weights, in bytes: mxfp4 has a scale for 32 values, nvfp4 for 16, int4
// two bytes for 128.
func TestWeightsOfTypes(t *testing.T) {
	m := &model{config: &profile.Config{}, tp: 1, ep: 1, activation: "bf16", cache: "bf16"}
	for dtype, want := range map[string]float64{"fp32": 2097152, "bf16": 1048576, "fp8": 524288, "mxfp4": 278528,
		"nvfp4": 294912, "int4": 270336} {
		w := m.work(&profile.PlanOp{Operator: "o_proj", K: 1024, N: 512, WeightDType: dtype}, nil,
			&Load{Tokens: 1, Requests: 1})
		if w.Weights != want {
			t.Errorf("%s: %.0f bytes, want %.0f", dtype, w.Weights, want)
		}
	}
}

// TestWorkByHand: five tokens of five requests, each seeing eleven, two bytes an element, unless another load is given.
func TestWorkByHand(t *testing.T) {
	type figures struct{ flop, weights, cache, activations, link float64 }
	plain, latent := &profile.Config{}, &profile.Config{KVLoraRank: 16}
	decode := Decode(5, 11)
	verify := Load{Tokens: 10, Requests: 5, GenerationTokens: 10, GenerationSeen: 55, GenerationPairs: 110,
		KnownSeen: true}
	prefill := Prefill(2, 3, 4)
	for _, c := range []struct {
		name   string
		config *profile.Config
		tp, ep int
		op     profile.PlanOp
		load   *Load
		want   figures
	}{
		// 2·5·64·128 and 5·128 of the bias; (64·128 + 128)·2; 5·(64 + 128)·2
		{"product with bias", plain, 1, 1, profile.PlanOp{Operator: opname.OProj, K: 64, N: 128, Bias: true}, &decode,
			figures{82560, 16640, 0, 1920, 0}},
		// four groups, two a rank: 2·5·8·16·2; 8·16·2·2; 5·(8 + 16)·2·2
		{"groups", plain, 2, 1, profile.PlanOp{Operator: opname.OProj, K: 8, N: 16, Groups: 4, Split: profile.SplitHeads},
			&decode, figures{2560, 512, 0, 480, 0}},
		// rows are divided: 2·5·32·128; 32·128·2; 5·(32 + 128)·2
		{"rows", plain, 2, 1, profile.PlanOp{Operator: opname.OProj, K: 64, N: 128, Split: profile.SplitRows}, &decode,
			figures{40960, 8192, 0, 1600, 0}},
		// logits of a request each: 2·2·64·100; 64·100·2; 2·164·2
		{"head", plain, 1, 1, profile.PlanOp{Operator: opname.LMHead, K: 64, N: 100}, &prefill,
			figures{25600, 12800, 0, 656, 0}},
		// reads and writes 64 elements a token
		{"norm", plain, 1, 1, profile.PlanOp{Operator: opname.InputNorm, Width: 64}, &decode, figures{0, 0, 0, 1280, 0}},
		{"half a norm", plain, 2, 1, profile.PlanOp{Operator: opname.Activation, Width: 64, Split: profile.SplitColumns},
			&decode, figures{0, 0, 0, 640, 0}},
		{"embedding", plain, 1, 1, profile.PlanOp{Operator: opname.Embed, K: 100, N: 64}, &decode,
			figures{0, 0, 0, 1280, 0}},
		// of two requests
		{"sampling", plain, 1, 1, profile.PlanOp{Operator: opname.Sampling, Width: 100}, &prefill,
			figures{0, 0, 0, 800, 0}},
		// 5·64·2 over the link, twice through the memory
		{"all-reduce", plain, 2, 1, profile.PlanOp{Operator: opname.AttnAllReduce, Width: 64}, &decode,
			figures{0, 0, 0, 1280, 640}},
		// 2·4·(16 + 16)·55; 2·(16 + 16)·2·55; 5·4·(16 + 16)·2
		{"attention", plain, 1, 1, profile.PlanOp{Operator: opname.Attention, Heads: 4, KVHeads: 2, HeadDim: 16,
			ValueDim: 16},
			&decode, figures{14080, 0, 7040, 1280, 0}},
		// two requests of 3 tokens after 4: 2·(3·7 − 9/2) pairs, 14 keys; 2·4·32·33; 2·32·2·14; 6·4·32·2
		{"prompts", plain, 1, 1, profile.PlanOp{Operator: opname.Attention, Heads: 4, KVHeads: 2, HeadDim: 16, ValueDim: 16},
			&prefill, figures{8448, 0, 1792, 1536, 0}},
		// the value is a part of the key: 2·4·(24 + 16)·55; 24·2·55; 5·4·40·2
		{"latent", latent, 1, 1, profile.PlanOp{Operator: opname.Attention, Heads: 4, KVHeads: 1, HeadDim: 24, ValueDim: 16},
			&decode, figures{17600, 0, 2640, 1600, 0}},
		// four tokens back at most: 20 of 55
		{"window", plain, 1, 1, profile.PlanOp{Operator: opname.Attention, Heads: 4, KVHeads: 2, HeadDim: 16, ValueDim: 16,
			Window: 4}, &decode, figures{5120, 0, 2560, 1280, 0}},
		// two tokens of each request: 10·4 pairs of 110, 5·4 keys of 55
		{"window of drafts", plain, 1, 1, profile.PlanOp{Operator: opname.Attention, Heads: 4, KVHeads: 2, HeadDim: 16,
			ValueDim: 16, Window: 4}, &verify, figures{10240, 0, 2560, 2560, 0}},
		// three chosen and one near: four of each
		{"chosen tokens", plain, 1, 1, profile.PlanOp{Operator: opname.Attention, Heads: 4, KVHeads: 2, HeadDim: 16,
			ValueDim: 16, Window: 1, TopTokens: 3}, &decode, figures{5120, 0, 2560, 1280, 0}},
		// a fifth of 55, and two near of each: 21 pairs and keys
		{"compressed", plain, 1, 1, profile.PlanOp{Operator: opname.Attention, Heads: 4, KVHeads: 2, HeadDim: 16,
			ValueDim: 16,
			Window:   2, Ratio: 5}, &decode, figures{5376, 0, 2688, 1280, 0}},
		// 8 experts, 2 a token: 2·10·64·32; 6.1016 of 64·32·2; 5·64 in and 10·32 out
		{"experts up", plain, 1, 1, profile.PlanOp{Operator: opname.ExpertsGateUp, K: 64, N: 32, Experts: 8, TopK: 2},
			&decode, figures{40960, 8 * (1 - 0.2373046875) * 4096, 0, 1280, 0}},
		// 10·32 in and 5·64 out
		{"experts down", plain, 1, 1, profile.PlanOp{Operator: opname.ExpertsDown, K: 32, N: 64, Experts: 8, TopK: 2},
			&decode, figures{40960, 8 * (1 - 0.2373046875) * 4096, 0, 1280, 0}},
		// half of 48 columns: 2·10·64·24; 6.1016 of 64·24·2; 5·64 in and 10·24 out
		{"experts up, divided", plain, 2, 1, profile.PlanOp{Operator: opname.ExpertsGateUp, K: 64, N: 48, Experts: 8,
			TopK: 2},
			&decode, figures{30720, 8 * (1 - 0.2373046875) * 3072, 0, 1120, 0}},
		// half of 48 rows: 10·24 in and 5·64 out
		{"experts down, divided", plain, 2, 1, profile.PlanOp{Operator: opname.ExpertsDown, K: 48, N: 64, Experts: 8,
			TopK: 2},
			&decode, figures{30720, 8 * (1 - 0.2373046875) * 3072, 0, 1120, 0}},
		// half of the experts: 2·5·64·48; half of 6.1016 of 64·48·2; 5·64 in and 5·48 out
		{"half of the experts", plain, 2, 2, profile.PlanOp{Operator: opname.ExpertsGateUp, K: 64, N: 48, Experts: 8,
			TopK: 2},
			&decode, figures{30720, 4 * (1 - 0.2373046875) * 6144, 0, 1120, 0}},
		// a quarter of 64 columns: 2·5·64·16; 64·16·2; 5·80·2
		{"columns", plain, 4, 1, profile.PlanOp{Operator: opname.OProj, K: 64, N: 64, Split: profile.SplitVocab}, &decode,
			figures{10240, 2048, 0, 800, 0}},
	} {
		m := &model{config: c.config, tp: c.tp, ep: c.ep, activation: "bf16", cache: "bf16"}
		w := m.work(&c.op, nil, c.load)
		if got := (figures{w.FLOP, w.Weights, w.Cache, w.Activations, w.Link}); !w.Known || got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// TestArithmeticAboveTheClock: a row of arithmetic is impossible above the peak at the highest clock, not at that of
// the data sheet.
func TestArithmeticAboveTheClock(t *testing.T) {
	g := &hardware.GPU{FLOP: map[string]hardware.Figure{"bf16": {Value: 1e12}}, Bandwidth: hardware.Figure{Value: 1e12},
		Clock: hardware.Figure{Value: 1000}, MaxClock: hardware.Figure{Value: 1500}}
	w := walk{gpu: g}
	work := opWork{FLOP: 1.02 * 1.5e9, DType: "bf16", Known: true} // 1.02·1.5 ms at the data sheet's clock
	f := floorOf(&work, g)
	for took, want := range map[time.Duration]bool{999 * time.Microsecond: true, 1001 * time.Microsecond: false} {
		if got := w.impossible(&work, &f, took); got != want {
			t.Errorf("%v: impossible %t, want %t", took, got, want)
		}
	}
}

// TestPeakOfSinglePrecision: products of fp32 may run as TF32, which nothing records.
func TestPeakOfSinglePrecision(t *testing.T) {
	g, _ := hardware.Named(hardware.Table(), "h100-sxm-80")
	if got := peakOf(g, "fp32"); got != g.FLOP["tf32"] || got.Value == 0 {
		t.Errorf("%v, want that of tf32", got)
	}
}

// TestWeightsOfAGPU: the two layers of the mixture as the figures above have them, with all of its experts, and 100 rows
// of 64 before and after them; a plan says that they do not fit.
func TestWeightsOfAGPU(t *testing.T) {
	for _, c := range []struct {
		tp, ep int
		want   float64
	}{{1, 1, 2 * (16384 + 8192 + 1024 + 8*(8192+4096) + 12800)},
		{2, 1, 2 * (8192 + 4096 + 1024 + 8*(4096+2048) + 6400)},
		{1, 2, 2 * (16384 + 8192 + 1024 + 4*(8192+4096) + 12800)}} {
		m, plan := modelOf(t, Options{TP: c.tp, EP: c.ep})
		if got := m.weights(plan); got != c.want {
			t.Errorf("TP %d, EP %d: %.0f bytes, want %.0f", c.tp, c.ep, got, c.want)
		}
		for memory, fits := range map[int64]bool{int64(c.want): true, int64(c.want) - 1: false, 0: true} {
			g := hardware.GPU{ID: "tiny", Memory: memory}
			load := Decode(1, 1)
			r, err := Plan(t.Context(), m.config, Options{TP: c.tp, EP: c.ep, Device: "tiny", GPUs: []hardware.GPU{g},
				Load: &load})
			if err != nil || strings.Contains(strings.Join(r.Notes, ""), "divide the model") == fits ||
				r.Passes[0].Basis != BasisOption {
				t.Errorf("TP %d, EP %d, a memory of %d bytes: %v, %v", c.tp, c.ep, memory, r, err)
			}
		}
		m.config.TiedEmbeddings = true
		if got, want := m.weights(plan), c.want-12800/float64(c.tp); got != want {
			t.Errorf("TP %d, EP %d: %.0f bytes where both are one table, want %.0f", c.tp, c.ep, got, want)
		}
	}
}
