package roofline

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/internal/opname"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/profile/hardware"
)

// TestNotesOfAPlannedRow: the module, and that a window only bounds the work, each once.
func TestNotesOfAPlannedRow(t *testing.T) {
	m := &model{config: &profile.Config{}, tp: 1, ep: 1, activation: "bf16", cache: "bf16"}
	load := Decode(1, 4)
	for module, want := range map[string]string{"self_attn": "self_attn; at most", "": "at most"} {
		op := profile.PlanOp{Operator: opname.Attention, Heads: 1, KVHeads: 1, HeadDim: 1, ValueDim: 1, Window: 2,
			Module: module}
		if r := m.row(&op, nil, 1, &load, nil, &passFloor{}); r == nil || r.Note != want {
			t.Errorf("module %q: %+v, want the note %q", module, r, want)
		}
	}
}

// TestSizesOfTypes: a type takes the bits that its name ends in, those of both parts of a complex number and of both
// values of a pair; types with scales take one more byte for 32 values, for 16, and two for 128.
func TestSizesOfTypes(t *testing.T) {
	scales := map[string]float64{"mxfp4": 1.0 / 32, "nvfp4": 1.0 / 16, "int4": 2.0 / 128}
	bits := regexp.MustCompile(`\d+`)
	for name, got := range typeSizes {
		want := 1.0
		if name != "bool" && name != "e8m0" {
			n, err := strconv.ParseFloat(bits.FindString(name), 64)
			if err != nil {
				t.Fatal(err)
			}
			want = n/8 + scales[name]
		}
		if name == "tf32" {
			want = 4
		}
		if name == "fp4x2" {
			want *= 2
		}
		if got != want {
			t.Errorf("%s takes %v bytes, want %v", name, got, want)
		}
	}
}

// TestTextsOfInputs: sizes, types and values as traces have them; what is none, negative sizes and numbers that are
// none give nothing.
func TestTextsOfInputs(t *testing.T) {
	in := ReadInputs(`[[2,0],[-1,2],[],[[1],[2,3]],[3,1]]`, `["float","c10::Float8_e4m3fn"]`, `[[1,1],[],[],[],[0,0]]`,
		`["", "3", "[1, 2]", "(1.5,2)", "True", " 0 ", "x"]`)
	if !slices.Equal(in.Dim(0), []int64{2, 0}) || in.Dim(1) != nil || in.Dim(-1) != nil || in.Dim(5) != nil ||
		len(in.Lists[3]) != 2 {
		t.Errorf("sizes %v, lists %v", in.Dims, in.Lists)
	}
	if in.Type(0) != "fp32" || in.Type(1) != "fp8" || in.Type(2) != "" || in.Type(-1) != "" || in.Size(1) != 1 {
		t.Errorf("types %v", in.Types)
	}
	if in.Stored(4) != 1 || in.Elements(4) != 3 || in.Stored(0) != 0 { // a dimension of one is not expanded
		t.Errorf("%v of %v elements are stored", in.Stored(4), in.Elements(4))
	}
	if in.Flag(0) || !in.Flag(1) || in.Flag(2) || !in.Flag(4) || in.Flag(5) || in.Flag(6) || in.Flag(9) ||
		in.Value(-1) != "" {
		t.Errorf("flags of %v", in.Values)
	}
	if !slices.Equal(in.Ints(2), []int64{1, 2}) || in.Ints(3) != nil || in.Ints(6) != nil ||
		!slices.Equal(in.Floats(3), []float64{1.5, 2}) {
		t.Errorf("numbers of %v", in.Values)
	}
	for _, text := range []string{"[inf]", "[-inf]", "[nan]"} {
		if in.Values[0] = text; in.Floats(0) != nil {
			t.Errorf("%s is a number", text)
		}
	}
	if in.Values[0] = "7"; in.Value(0) != "7" {
		t.Error("the first value is lost")
	}
	for n, want := range map[int]int{256: 256, 257: 0} { // of a recording no more is read
		if got := ReadInputs("["+strings.Repeat("[2],", n-1)+"[2]]", "", "", ""); len(got.Dims) != want {
			t.Errorf("%d inputs: %d are read, want %d", n, len(got.Dims), want)
		}
	}
	for n, want := range map[int]int{64: 64, 65: 0} {
		if got := ReadInputs("[["+strings.Repeat("2,", n-1)+"2]]", "", "", ""); len(got.Dim(0)) != want {
			t.Errorf("%d dimensions: %d are read, want %d", n, len(got.Dim(0)), want)
		}
	}
	if got := masks("[False, True, 1, True]"); got != [3]bool{false, true, true} {
		t.Errorf("masks %v", got)
	}
}

// TestWorkOfAttention: of three requests that decode and see ten tokens, and of two that prefill three after four:
// 6 heads of 8 and 4 for queries, 4 for keys, on two ranks; bf16 with a cache of fp8.
func TestWorkOfAttention(t *testing.T) {
	decode, prefill := Decode(3, 10), Prefill(2, 3, 4)
	unseen := Load{Tokens: 3, Requests: 3, GenerationTokens: 3}
	for _, c := range []struct {
		name               string
		load               Load
		op                 profile.PlanOp
		latent             bool
		flop, cache, moved float64
		atMost             bool
	}{
		// 2·3 heads·(8 + 4)·30 pairs; 2 heads·12·30 tokens; 3 tokens·3 heads·12·2 bytes
		{"decode", decode, profile.PlanOp{KVHeads: 4}, false, 2160, 720, 216, false},
		{"one head of keys", decode, profile.PlanOp{KVHeads: 1}, false, 2160, 360, 216, false},
		{"the value is a part of the key", decode, profile.PlanOp{KVHeads: 4}, true, 2160, 480, 216, false},
		{"a window of 4", decode, profile.PlanOp{KVHeads: 4, Window: 4}, false, 864, 288, 216, true},
		{"3 chosen and a window of 2", decode, profile.PlanOp{KVHeads: 4, Window: 2, TopTokens: 3}, false, 1080, 360, 216,
			true},
		{"every second and a window of 4", decode, profile.PlanOp{KVHeads: 4, Window: 4, Ratio: 2}, false, 72 * 27, 24 * 27,
			216, true},
		{"2 chosen of every second", decode, profile.PlanOp{KVHeads: 4, TopTokens: 2, Ratio: 2}, false, 72 * 6, 24 * 6, 216,
			true},
		// 42 − 18/2 pairs, 14 tokens
		{"prefill", prefill, profile.PlanOp{KVHeads: 4}, false, 72 * 33, 24 * 14, 432, false},
		{"prefill in a window of 2", prefill, profile.PlanOp{KVHeads: 4, Window: 2}, false, 72 * 12, 24 * 10, 432, true},
	} {
		m := &model{config: &profile.Config{}, tp: 2, ep: 1, activation: "bf16", cache: "fp8"}
		if c.latent {
			m.config.KVLoraRank = 1
		}
		c.op.Operator, c.op.Heads, c.op.HeadDim, c.op.ValueDim = opname.Attention, 6, 8, 4
		w := m.work(&c.op, nil, &c.load)
		if w.FLOP != c.flop || w.Cache != c.cache || w.Activations != c.moved || w.AtMost != c.atMost || !w.Known ||
			w.DType != "bf16" {
			t.Errorf("%s: %+v, want %v FLOP, %v and %v bytes", c.name, w, c.flop, c.cache, c.moved)
		}
		if m.work(&c.op, nil, &unseen).Known {
			t.Errorf("%s: work without knowing what attention sees", c.name)
		}
		c.op.Heads = 0
		if m.work(&c.op, nil, &c.load).Known {
			t.Errorf("%s: work of no heads", c.name)
		}
	}
}

// TestWorkOfOperators: five tokens of two requests on two ranks, or one; bf16.
func TestWorkOfOperators(t *testing.T) {
	load := Load{Tokens: 5, Requests: 2}
	core := profile.PlanOp{Operator: opname.Attention, KVHeads: 3, HeadDim: 4}
	for _, c := range []struct {
		name string
		tp   int
		op   profile.PlanOp
		want opWork
	}{
		{"embedding", 2, profile.PlanOp{Operator: opname.Embed, N: 8}, opWork{Activations: 5 * 16 * 2}},
		{"all-reduce", 2, profile.PlanOp{Operator: opname.MLPAllReduce, Width: 8},
			opWork{Link: 80, Ranks: 2, Activations: 160}},
		{"sampling", 2, profile.PlanOp{Operator: opname.Sampling, Width: 9, Split: profile.SplitVocab},
			opWork{Activations: 2 * 5 * 2 * 2}},
		{"a norm", 2, profile.PlanOp{Width: 8}, opWork{Activations: 5 * 8 * 2 * 2}},
		{"a gated activation", 2, profile.PlanOp{Operator: opname.Activation, Width: 16, Out: 8,
			Split: profile.SplitColumns}, opWork{Activations: 5 * (8 + 4) * 2}},
		{"that of three experts a token", 1, profile.PlanOp{Operator: opname.ExpertsActivation, Width: 16, Out: 8, Experts: 4,
			TopK: 3}, opWork{Activations: 5 * 3 * (16 + 8) * 2}},
		{"three experts' results added", 1, profile.PlanOp{Operator: opname.ExpertsCombine, Width: 8, TopK: 3},
			opWork{Activations: 5 * (3 + 1) * 8 * 2}},
		{"a write to a cache of one byte each", 1, profile.PlanOp{Operator: opname.KVWrite, Width: 8},
			opWork{Activations: 5 * 8 * (2 + 1)}},
		{"of columns", 2, profile.PlanOp{K: 6, N: 7, Split: profile.SplitColumns, Bias: true},
			opWork{M: 5, N: 4, K: 6, FLOP: 240 + 20, Weights: 48 + 8, Activations: 100}},
		{"of rows", 2, profile.PlanOp{K: 7, N: 6, Split: profile.SplitRows},
			opWork{M: 5, N: 6, K: 4, FLOP: 240, Weights: 48, Activations: 100}},
		{"logits", 2, profile.PlanOp{Operator: opname.LMHead, K: 6, N: 8, Split: profile.SplitVocab},
			opWork{M: 2, N: 4, K: 6, FLOP: 96, Weights: 48, Activations: 40}},
		{"of groups", 2, profile.PlanOp{K: 6, N: 4, Groups: 3, Split: profile.SplitHeads},
			opWork{M: 5, N: 4, K: 6, FLOP: 480, Weights: 96, Activations: 200}},
		// 3 heads of keys on two ranks: one each. 6 heads of queries are 3.
		{"qkv", 2, profile.PlanOp{Operator: opname.QKVProj, K: 2, N: 48, Split: profile.SplitHeads},
			opWork{M: 5, N: 12 + 8, K: 2, FLOP: 400, Weights: 80, Activations: 220}},
		{"k", 2, profile.PlanOp{Operator: opname.KProj, K: 2, N: 12, Split: profile.SplitHeads},
			opWork{M: 5, N: 4, K: 2, FLOP: 80, Weights: 16, Activations: 60}},
		{"q", 2, profile.PlanOp{Operator: opname.QProj, K: 2, N: 24, Split: profile.SplitHeads},
			opWork{M: 5, N: 12, K: 2, FLOP: 240, Weights: 48, Activations: 140}},
		{"all-reduce of one rank", 1, profile.PlanOp{Operator: opname.MLPAllReduce, Width: 8}, opWork{}},
		{"a product of no rows", 1, profile.PlanOp{K: 6}, opWork{}}, {"nothing", 1, profile.PlanOp{}, opWork{}},
		{"experts of which none is chosen", 1, profile.PlanOp{K: 6, N: 4, Experts: 2}, opWork{}},
	} {
		m := &model{config: &profile.Config{}, tp: c.tp, ep: 1, activation: "bf16", cache: "fp8"}
		if one := m.work(&c.op, nil, &Load{Tokens: 1, Requests: 1}); one.Known != (c.want != opWork{}) {
			t.Errorf("%s of one token: %+v", c.name, one)
		}
		if op := c.op.Operator; op == opname.ExpertsActivation || op == opname.ExpertsCombine {
			m.ep = 2 // which of the chosen experts are here is not known
			if got := m.work(&c.op, nil, &load); got != (opWork{}) {
				t.Errorf("%s, of experts on two ranks: %+v", c.name, got)
			}
			m.ep = 1
		}
		if c.want != (opWork{}) {
			c.want.Known, c.want.DType = true, "bf16"
		}
		if got := m.work(&c.op, &profile.PlanKind{Operators: []profile.PlanOp{core}}, &load); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// TestCosts: three layers of 2 GFLOP and 1.5 bytes whose floor is a quarter of what they took; the most of attention
// and experts is kept, that of others says nothing.
func TestCosts(t *testing.T) {
	w := &opWork{M: 1, N: 2, K: 3, FLOP: 2e9, Weights: 1, Cache: 0.25, Activations: 0.25}
	want := Cost{M: 1, N: 2, K: 3, GFLOP: 6, Bytes: 5, Floor: 10, Bound: boundMemory, PeakShare: 0.25}
	if got := costOf(w, &floor{bound: boundMemory}, 3, 10, 40); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if a, b := costOf(w, &floor{}, 1, 0, 40), costOf(w, &floor{}, 1, 1, 1); a.PeakShare != 0 || b.PeakShare != 1 ||
		costOf(w, &floor{}, 1, 1, 0).PeakShare != 0 {
		t.Errorf("shares %v and %v, want 0 and 1", a.PeakShare, b.PeakShare)
	}
	for kind, want := range map[OpKind]Cost{OpAttention: {MostGFLOP: 4, MostBytes: 8, AtLeast: true},
		OpExperts: {MostGFLOP: 4, MostBytes: 8, AtLeast: true}, OpProduct: {}} {
		var c Cost
		if c.bounds(&Work{FLOP: 2e9, MostFLOP: 4e9, Bytes: 7, MostBytes: 7.5, Open: true, Kind: kind}); c != want {
			t.Errorf("kind %d: %+v, want %+v", kind, c, want)
		}
		if c = (Cost{}); kind != OpProduct {
			if c.bounds(&Work{FLOP: 2e9, MostFLOP: 2e9, Bytes: 7, MostBytes: 7, Kind: kind}); c != (Cost{}) {
				t.Errorf("kind %d: bounds of exact work: %+v", kind, c)
			}
		}
	}
	g := opGroup{opResult: &opResult{work: Work{M: 1, N: 2, K: 3, FLOP: 2e9, Bytes: 6}, floor: floor{bound: boundMemory}},
		took: 40, least: 10, basis: BasisShapes}
	want.GFLOP, want.Bytes, want.Basis = 2, 6, BasisShapes
	if got := g.cost(false); got != want {
		t.Errorf("of an op: %+v, want %+v", got, want)
	}
	want.Floor, want.PeakShare, want.Basis = 0, 0, BasisWithheld
	if got := g.cost(true); got != want {
		t.Errorf("of an op whose floor is withheld: %+v, want %+v", got, want)
	}
	if g.least, g.basis = 0, BasisCache; g.cost(true).Basis != BasisCache {
		t.Error("no floor is withheld where there is none")
	}
}

// TestFasterThanPossible: a GPU whose clock may be twice that of its data sheet computes 10 TFLOP/s and moves 1 TB/s,
// 2 TB/s on its bus, with a cache of 100 bytes; a hundredth and a bit more may be rounding.
func TestFasterThanPossible(t *testing.T) {
	gpu := &hardware.GPU{Bandwidth: hardware.Figure{Value: 1e12}, BusBandwidth: hardware.Figure{Value: 2e12}, Cache: 100,
		Clock: hardware.Figure{Value: 1000}, MaxClock: hardware.Figure{Value: 2000}}
	for _, c := range []struct {
		compute, bytes float64
		bound          string
		want           bool
	}{
		{2.05e-6, 0, boundCompute, true}, {2.03e-6, 0, boundCompute, false},
		{0, 2_040_201, boundMemory, true}, {0, 2_040_199, boundMemory, false}, {0, 9e9, boundLink, false},
	} {
		g := opGroup{opResult: &opResult{floor: floor{compute: c.compute, bound: c.bound}, work: Work{Bytes: c.bytes}},
			took: time.Microsecond}
		if got := g.contradicts(gpu); got != c.want {
			t.Errorf("%+v: %t, want %t", c, got, c.want)
		}
		if g.contradicts(nil) {
			t.Error("an unknown GPU is contradicted")
		}
		w := walk{gpu: gpu}
		f := floor{compute: c.compute, memory: c.bytes / 1e12}
		f.memory = max(0, c.bytes-200) / 1e12
		if c.bound == boundLink {
			f.link = 1
		}
		if got := w.impossible(&opWork{}, &f, time.Microsecond); got != c.want {
			t.Errorf("by the plan, %+v: %t, want %t", c, got, c.want)
		}
		if w.impossible(&opWork{AtMost: true}, &f, time.Microsecond) {
			t.Errorf("%+v: an upper bound of the work contradicts", c)
		}
	}
	for max, want := range map[float64]float64{0: 1, 1000: 1, 999: 1, 1500: 1.5} {
		gpu.MaxClock.Value = max
		if got := boost(gpu); got != want {
			t.Errorf("a highest clock of %v: %v, want %v", max, got, want)
		}
	}
	if gpu.Clock.Value, gpu.MaxClock.Value = 0, 10; boost(gpu) != 1 {
		t.Error("a boost of an unknown clock")
	}
}

// TestSumsOfOps: two products and an attention of one operator.
func TestSumsOfOps(t *testing.T) {
	first := opGroup{least: 5, most: 3, basis: BasisShapes, opResult: &opResult{
		work:  Work{M: 1, N: 2, K: 3, FLOP: 10, Bytes: 4, Matrix: "bf16", Kind: OpProduct},
		floor: floor{compute: 4, memory: 2, bound: boundCompute}}}
	second := opGroup{least: 7, most: 9, opResult: &opResult{
		work: Work{M: 9, N: 9, K: 9, FLOP: 1, Bytes: 1, MostFLOP: 3, MostBytes: 2, Requests: 1, Queries: 7, Keys: 8,
			Open: true},
		floor: floor{memory: 1, link: 6, bound: boundLink}}}
	third := opGroup{opResult: &opResult{work: Work{FLOP: 1}}, basis: BasisContradiction}
	a, b, c := sumOf(&first), sumOf(&second), sumOf(&third)
	got := *((*opSum)(nil)).join(&a).join(&b).join(&c)
	want := opSum{count: 3, least: 12, most: 14, bound: boundCompute, contradicting: true, basis: BasisShapes,
		work: Work{M: 1, N: 2, K: 3, FLOP: 12, Bytes: 5, MostFLOP: 14, MostBytes: 6, Matrix: "bf16", Kind: OpProduct,
			Queries: 7, Keys: 8, Open: true},
		sum: passFloor{compute: 4, memory: 3, serial: 10}}
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestEvenExperts: of 8 experts, 2 for each token, n tokens are expected to choose 8·(1 − 0.75ⁿ); two ranks of experts
// have half of the experts and of the choices.
func TestEvenExperts(t *testing.T) {
	op := profile.PlanOp{Operator: opname.ExpertsDown, Experts: 8, TopK: 2, K: 4, N: 6}
	for n := range int64(4) {
		for ep := 1; ep <= 2; ep++ {
			m := &model{config: &profile.Config{}, tp: 2, ep: ep, activation: "bf16", cache: "bf16"}
			w := m.work(&op, nil, &Load{Tokens: n, Requests: n})
			if n == 0 {
				if w.Known {
					t.Error("no tokens have work")
				}
				continue
			}
			k := 4.0 * float64(ep) / 2 // on one rank of experts, rows are divided by TP
			want := opWork{M: n, N: 6, K: int64(k), FLOP: 2 * 2 * float64(n) / float64(ep) * k * 6, OneExpert: k * 12,
				ActiveExperts: 8 / float64(ep) * (1 - math.Pow(0.75, float64(n))), LeastExperts: float64(4 - 2*ep),
				MostExperts: min(8/float64(ep), 2*float64(n)), Activations: 2 * (2*float64(n)/float64(ep)*k + 6*float64(n)),
				DType: "bf16", Expected: true, Known: true}
			want.Weights, want.LeastWeights = want.ActiveExperts*want.OneExpert, want.LeastExperts*want.OneExpert
			if w != want {
				t.Errorf("%d tokens, EP %d: %+v, want %+v", n, ep, w, want)
			}
		}
	}
}
