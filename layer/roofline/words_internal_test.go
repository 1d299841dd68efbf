package roofline

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/profile/hardware"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// TestWhyNoFloor: the first that is missing, and what gives it.
func TestWhyNoFloor(t *testing.T) {
	for _, c := range []struct {
		change  func(r *measured)
		group   group
		why, do string
	}{
		{func(r *measured) { r.walk.gpu = nil }, products, "The GPU is not known.", "--gpu H100"},
		{func(r *measured) { r.withheld = true }, products, "Floors are withheld: operators are faster than the GPU can be.",
			"Check `--tokens`"},
		{func(r *measured) { r.walk.model, r.walk.refused = nil, true }, products, "The model config or number of layers that " +
			"was given contradicts the trace.", "Pass `--config`"},
		{func(r *measured) { r.walk.model = nil }, products, "No model config was found", "Pass `--config`"},
		{func(r *measured) { r.walk.model, r.role = nil, layer.RoleDenoiser }, products,
			"No config.json describes a denoiser, and the inputs", "Record with `record_shapes=True`"},
		{func(r *measured) { r.walk.uncounted = true }, products, "The sizes of the model on one GPU are not known.",
			"Pass `--tp`"},
		{func(r *measured) { r.load = &Load{} }, attentionCore, "How many tokens attention sees is not known.",
			"Pass `--kv-len`."},
		{func(r *measured) { r.load = &Load{} }, products, "Neither the config nor", "Run `strata light`"},
		{func(r *measured) { r.load = &Load{KnownSeen: true} }, attentionCore, "Neither the config nor",
			"Run `strata light`"},
		{func(r *measured) { r.load = &Load{AtLeast: true} }, others, "How many tokens a pass has", "Pass `--tokens`."},
		{func(r *measured) { r.order = []*cell{{group: others, booked: 1, basis: BasisCache}} }, others,
			"They are faster than the memory", "Run `strata light`"},
		{func(r *measured) {
			r.order = []*cell{{group: others, booked: 1, basis: BasisCache}, {group: others, booked: 1}}
		}, others, "Some are faster than the memory", "Run `strata light`"},
		{func(r *measured) { r.order = []*cell{{group: others, basis: BasisCache}} }, others, "Neither the config nor",
			"Run `strata light`"},
		{func(*measured) {}, attentionCore, "Neither the config nor", "Run `strata light`"},
	} {
		r := &measured{walk: &walk{gpu: &hardware.GPU{}, model: &model{}}}
		c.change(r)
		if why, do := r.missing(c.group); !strings.HasPrefix(why, c.why) || !strings.Contains(do, c.do) {
			t.Errorf("%q, %q; want %q, %q", why, do, c.why, c.do)
		}
	}
}

// TestNotesOfAWalk: passes of unknown tokens where a config needs them, contradictions in order, and what is
// impossible.
func TestNotesOfAWalk(t *testing.T) {
	w := walk{unknownTokens: 1, model: &model{}, contradictions: map[string]string{"b": "b contradicts", "a": "a contradicts"}, marked: 2,
		scrambled: true}
	got := w.notes()
	for i, want := range []string{"the tokens of 1 pass are not known", "a contradicts", "b contradicts", "no floors: names and times", "operators of 2 passes are " +
		"faster than the GPU can be: where that is more than 1% of the time"} {
		if len(got) != 5 || !strings.HasPrefix(got[i], want) {
			t.Errorf("note %d of %q, want %q", i, got, want)
		}
	}
	for _, none := range []walk{{}, {unknownTokens: 1}, {unknownTokens: 1, model: &model{}, uncounted: true},
		{model: &model{}}} {
		if got := none.notes(); len(got) != 0 {
			t.Errorf("%+v: notes %q", none, got)
		}
	}
}

// TestTilesInNames: two sizes above 0.
func TestTilesInNames(t *testing.T) {
	for text, want := range map[string][3]int{"256x128x64": {256, 128, 1}, "1x1": {1, 1, 1}, "64": {}, "0x8": {},
		"8x0": {}, "8x-1": {}, "": {}} {
		m, n, ok := tileIn(text)
		if ok != (want[2] > 0) || ok && (m != want[0] || n != want[1]) {
			t.Errorf("%q: %d by %d, %t", text, m, n, ok)
		}
	}
}

// TestRowsByHand: an operator of two layers, one whose work is a sum of ops and which runs between others of the layers,
// and copies that are in no operator's row.
func TestRowsByHand(t *testing.T) {
	build := func() *measured {
		return &measured{walk: &walk{model: &model{}, plan: &profile.Plan{Kinds: []profile.PlanKind{{Name: "layers"}}},
			shortest: 5}, stage: layer.StageDecode,
			order: []*cell{
				{slot: &slot{key: key{0, "o"}}, group: products, instances: 2, launches: 4, raw: 4000, floor: 1000,
					bound: boundMemory, basis: BasisGrids,
					work: opWork{M: 1, N: 2, K: 3, FLOP: 8e6, Weights: 1e6, Activations: 5e5, Known: true, AtMost: true}, apart: 2000},
				{slot: &slot{key: key{-1, "ops"}}, group: small, instances: 1, launches: 3, raw: 30,
					ops: &opSum{count: 3, work: Work{M: 4, N: 5, K: 6, FLOP: 3e9, Bytes: 2.6}}},
				{slot: &slot{key: key{0, "slow"}}, group: small, instances: 1, launches: 3, raw: 31},
				{slot: &slot{key: key{0, "only copies"}}, group: copies},
			}}
	}
	want := []Row{
		{LayerType: "layers", Operator: "o", Stage: layer.StageDecode, Count: 2, Time: 4000, TFLOPs: 4, TBs: 0.75,
			Cost: Cost{M: 1, N: 2, K: 3, GFLOP: 0.016, Bytes: 3_000_000, Floor: 1000, Bound: boundMemory, PeakShare: 0.25,
				Basis: BasisGrids},
			Note: "at most: sums over requests do not show more; without 2.00 µs of copies"},
		{LayerType: "layers", Operator: "slow", Stage: layer.StageDecode, Count: 1, Time: 31},
		{LayerType: "outside layers", Operator: "ops", Stage: layer.StageDecode, Count: 1, Time: 30, TFLOPs: 3 / 1e3 / 30e-9,
			TBs:  3 / 1e12 / 30e-9,
			Cost: Cost{M: 4, N: 5, K: 6, GFLOP: 3, Bytes: 3, Bound: boundLatency}},
	}
	for i, got := range build().rows() {
		if i < len(want) && math.Abs(got.TFLOPs-want[i].TFLOPs) < 1e-6 && math.Abs(got.TBs-want[i].TBs) < 1e-12 {
			got.TFLOPs, got.TBs = want[i].TFLOPs, want[i].TBs
		}
		if i >= len(want) || got != want[i] {
			t.Errorf("row %d: %+v, want %+v", i, got, want)
		}
	}
	r := build()
	r.walk.model, r.withheld = nil, true
	got := r.rows()
	if got[2].Count != 3 || got[0].Floor != 0 || got[0].Basis != BasisWithheld || got[0].PeakShare != 0 || len(got) != 3 {
		t.Errorf("without a model, floors withheld: %+v", got)
	}
}

// TestLoadsThatAreOnlyTokens: a pass of one row is one of a token; requests of a decode are its tokens.
func TestLoadsThatAreOnlyTokens(t *testing.T) {
	for _, c := range []struct {
		pass  layer.ForwardPass
		model bool
		load  *Load
		want  *Load
		from  string
	}{
		{layer.ForwardPass{Stage: layer.StageDecode, Rows: 1}, true, nil, &Load{Tokens: 1, Requests: 1, GenerationTokens: 1},
			fromRows},
		{layer.ForwardPass{Stage: layer.StageDecode, Rows: 1}, false, nil, nil, ""},
		{layer.ForwardPass{Stage: layer.StageDecode}, true, nil, nil, ""},
		{layer.ForwardPass{Stage: layer.StagePrefill, Tokens: 1, Batch: -1, TokenEvidence: fromGrids}, false, nil,
			&Load{Tokens: 1, ContextTokens: 1}, fromGrids},
		{layer.ForwardPass{Stage: layer.StageDecode, Rows: 8}, true, &Load{Tokens: 1, GenerationTokens: 1},
			&Load{Tokens: 1, GenerationTokens: 1}, fromOption},
		{layer.ForwardPass{Stage: layer.StagePrefill, Rows: 8}, true, &Load{Tokens: 1, GenerationTokens: 1},
			&Load{Tokens: 8, ContextTokens: 8}, fromRows},
		{layer.ForwardPass{Stage: layer.StageUnknown, Rows: 8}, true, &Load{Tokens: 1, GenerationTokens: 1},
			&Load{Tokens: 1, GenerationTokens: 1}, fromOption},
		{layer.ForwardPass{Stage: layer.StageDecode, Rows: 8}, true, &Load{},
			&Load{Tokens: 8, Requests: 8, GenerationTokens: 8}, fromRows},
	} {
		w := &walk{device: &layer.Device{Passes: []layer.ForwardPass{c.pass}}}
		if c.model {
			w.model = &model{}
		}
		got, from := w.tokensOf(0, &Options{Load: c.load})
		if (got == nil) != (c.want == nil) || got != nil && *got != *c.want || from != c.from {
			t.Errorf("%+v: %+v from %q, want %+v from %q", c.pass, got, from, c.want, c.from)
		}
	}
}

// TestAttentionOfRecordedShapes: two requests of three tokens that see seven, one each that sees seven, or itself
// alone.
func TestAttentionOfRecordedShapes(t *testing.T) {
	prefill, decode, one := Prefill(2, 3, 4), Decode(2, 7), Prefill(2, 1, 0)
	for _, c := range []struct {
		tokens int64
		work   Work
		want   Load
	}{
		{6, Work{Requests: 2, Queries: 3, Keys: 7}, prefill}, {2, Work{Requests: 2, Queries: 1, Keys: 7}, decode},
		{2, Work{Requests: 2, Queries: 1, Keys: 1}, one}, {5, Work{Requests: 2, Queries: 3, Keys: 7}, Load{Tokens: 5}},
		{6, Work{Requests: 2, Queries: 3, Keys: 2}, Load{Tokens: 6}}, {6, Work{}, Load{Tokens: 6}},
	} {
		if got := loadOfAttention(c.tokens, &c.work); *got != c.want {
			t.Errorf("%+v: %+v, want %+v", c.work, got, c.want)
		}
	}
}

// TestAssumptions: what figures rest on that neither config nor trace says.
func TestAssumptions(t *testing.T) {
	quick := &hardware.GPU{Arch: "sm90"}
	for _, c := range []struct {
		tp   int
		gpu  *hardware.GPU
		o    Options
		moe  bool
		want []string
	}{
		{2, quick, Options{CacheDType: "fp8"}, false, []string{"an all-reduce is taken"}},
		{1, quick, Options{CacheDType: "fp8"}, false, nil},
		{2, &hardware.GPU{}, Options{CacheDType: "fp8"}, false, nil},
		{2, nil, Options{}, false, []string{"the key-value cache is taken to hold fp8"}},
		{1, nil, Options{CacheDType: "fp8", Load: &Load{}}, true,
			[]string{"experts are taken", "how many tokens attention sees"}},
		{1, nil, Options{CacheDType: "fp8", Load: &Load{KnownSeen: true}}, false, nil},
	} {
		m := &model{config: &profile.Config{}, tp: c.tp, cache: "fp8"}
		if c.moe {
			m.config.NumExperts = 1
		}
		got := m.assumptions(&c.o, c.gpu)
		if len(got) != len(c.want) || !slices.EqualFunc(got, c.want, strings.HasPrefix) {
			t.Errorf("%+v: %q, want %q", c, got, c.want)
		}
	}
	if quick.Latency() < time.Microsecond {
		t.Error("the GPU of the test has no published latency")
	}
}

// TestDefectsBySizes: attention of up to four blocks of 128 keys is short; of an unknown number nothing is said.
func TestDefectsBySizes(t *testing.T) {
	for _, c := range []struct {
		group group
		keys  int64
		want  string
	}{{attentionCore, 0, ""}, {attentionCore, 1, "Short sequences: attention far above its floor"},
		{attentionCore, 512, "Short sequences: attention far above its floor"}, {attentionCore, 513, attentionLow},
		{others, 0, bandwidthLow}, {experts, 9, ""}} {
		r := &measured{walk: &walk{}, order: []*cell{{slot: &slot{key: key{0, "x"}}, group: c.group,
			ops: &opSum{work: Work{Keys: c.keys}}}}}
		if got := r.defectOf(c.group, "x", layer.Kernel{}); got.text != c.want || (got.do == "") != (c.want == "") {
			t.Errorf("%d keys under heading %d: %+v, want %q", c.keys, c.group, got, c.want)
		}
	}
}

// TestPlanOfUnknownLayers: layers are of one kind, as many as the pass that reaches furthest has, none without passes.
func TestPlanOfUnknownLayers(t *testing.T) {
	for _, c := range []struct {
		passes []layer.ForwardPass
		want   int
	}{{nil, 0}, {[]layer.ForwardPass{{NumLayers: 3}, {FirstLayer: 2, NumLayers: 2}, {NumLayers: 1}}, 4}} {
		w := &walk{plan: &profile.Plan{}, device: &layer.Device{Passes: c.passes}}
		if w.planLayers(); w.plan.Kinds[0].Layers != c.want || len(w.plan.LayerKinds) != c.want {
			t.Errorf("%d layers, %d kinds; want %d", w.plan.Kinds[0].Layers, len(w.plan.LayerKinds), c.want)
		}
	}
}

// TestUnitsOfAGPU: those of its row, else as many as the smallest data-centre GPU of the table has.
func TestUnitsOfAGPU(t *testing.T) {
	if n := unitsOf(&hardware.GPU{Units: 1}); n != 1 {
		t.Errorf("%d units, want 1", n)
	}
	least := unitsOf(nil)
	for _, g := range hardware.Table() {
		if g.Link.Value > 0 && g.Units > 0 && g.Units < least {
			t.Errorf("%s has %d units, fewer than %d", g.ID, g.Units, least)
		}
	}
	if least == 0 || unitsOf(&hardware.GPU{}) != least {
		t.Errorf("%d and %d units of what is not known", least, unitsOf(&hardware.GPU{}))
	}
}

// TestTimeAfterAPass: the last row of its waterfall; none of a plan, which takes no time.
func TestTimeAfterAPass(t *testing.T) {
	rows := []Share{{Time: 5}, {Time: 7}}
	for _, c := range []struct {
		pass Pass
		want time.Duration
	}{{Pass{Wall: 12, Waterfall: rows}, 7}, {Pass{Waterfall: rows}, 0}, {Pass{Wall: 12}, 0}} {
		if got := c.pass.after(); got != c.want {
			t.Errorf("%d rows of %d ns: %d ns after it, want %d", len(c.pass.Waterfall), c.pass.Wall, got, c.want)
		}
	}
}

// TestLongerOfTwoKernels: the first of equals, and what is no kernel is shorter than any.
func TestLongerOfTwoKernels(t *testing.T) {
	b := trace.NewBuilder(trace.Options{})
	for i, took := range []int64{5, 5, 6} {
		b.Add(trace.EventData{Kind: event.Kernel, Name: "k", Start: int64(i) * 100, Duration: took})
	}
	a, err := layer.Analyze(t.Context(), built.Trace(b), layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := &a.Devices[0]
	first, second, third := d.Kernel(0), d.Kernel(1), d.Kernel(2)
	for i, c := range [][3]layer.Kernel{{first, second, first}, {second, first, second}, {first, third, third},
		{third, first, third}, {{}, first, first}} {
		if longer(c[0], c[1]) != c[2] {
			t.Errorf("case %d: the other one is longer", i)
		}
	}
	if got := shortestKernel(d); got != 5 {
		t.Errorf("the shortest of three takes %v, want 5 ns", got)
	}
}

// TestSlotsOfStages: what a kernel means in decode passes is another operator than in others.
func TestSlotsOfStages(t *testing.T) {
	ops := []profile.PlanOp{{Operator: "core", Stage: layer.StagePrefill, K: 1, N: 1},
		{Operator: "core", Stage: layer.StageDecode, K: 2, N: 1, Experts: 2}}
	w := &walk{plan: &profile.Plan{Kinds: []profile.PlanKind{{Operators: ops}}}, slots: map[key]*slot{}}
	s := w.slot(0, "core")
	if len(s.ops[0]) != 1 || len(s.ops[1]) != 1 || s.ops[0][0].K != 1 || s.ops[1][0].K != 2 ||
		s.group != [2]group{products, experts} {
		t.Errorf("%+v of headings %v", s.ops, s.group)
	}
}

// TestPassesWithAFloor: operators with half of the GPU time and more have one.
func TestPassesWithAFloor(t *testing.T) {
	for _, c := range []struct {
		pass Pass
		want bool
	}{{Pass{Floor: 1, Wall: 1, Covered: 0.5}, true}, {Pass{Wall: 1, Covered: 0.5}, false},
		{Pass{Floor: 1, Covered: 0.5}, false},
		{Pass{Floor: 1, Wall: 1, Covered: 0.49}, false}} {
		if got := c.pass.HasFloor(); got != c.want {
			t.Errorf("%+v: %t", c.pass, got)
		}
	}
}

// TestTypesOfAModel: the cache has the type of the activations where nobody says another, those bf16 where the config
// says nothing; sizes are one at least.
func TestTypesOfAModel(t *testing.T) {
	for _, c := range []struct {
		plan, cache string
		want        model
	}{{"", "", model{tp: 1, ep: 1, activation: "bf16", cache: "bf16"}},
		{"fp16", "", model{tp: 1, ep: 1, activation: "fp16", cache: "fp16"}},
		{"fp16", "fp8", model{tp: 1, ep: 1, activation: "fp16", cache: "fp8"}}} {
		if got := newModel(nil, &profile.Plan{DType: c.plan}, &Options{CacheDType: c.cache}); *got != c.want {
			t.Errorf("%+v: %+v", c, *got)
		}
	}
}

// TestSeenByWhatRanBefore: two requests that were prefilled with five tokens and decode the second time see nine tokens
// together. Other requests, another model and a window that begins later say nothing.
func TestSeenByWhatRanBefore(t *testing.T) {
	pass := func(stage layer.Stage, tokens int64, batch, model int) layer.ForwardPass {
		return layer.ForwardPass{Stage: stage, Tokens: tokens, Batch: batch, Model: model}
	}
	prefill, decode := pass(layer.StagePrefill, 5, 2, 0), pass(layer.StageDecode, 2, -1, 0)
	one, alone := pass(layer.StagePrefill, 5, -1, 0), pass(layer.StageDecode, 1, 1, 0)
	grids := pass(layer.StagePrefill, 5, -1, 0)
	grids.StageEvidence, grids.TokenEvidence = layer.StageByKernels, fromGrids
	for name, c := range map[string]struct {
		passes []layer.ForwardPass
		want   float64
	}{
		"second decode":  {[]layer.ForwardPass{prefill, decode, decode}, 4.5},
		"first decode":   {[]layer.ForwardPass{prefill, decode}, 3.5},
		"of one request": {[]layer.ForwardPass{one, alone}, 6},
		"two prompts": {[]layer.ForwardPass{pass(layer.StagePrefill, 3, 1, 0),
			pass(layer.StagePrefill, 4, 1, 0), decode}, 4.5},
		"no prefill":                   {[]layer.ForwardPass{decode, decode}, 0},
		"more prompts":                 {[]layer.ForwardPass{pass(layer.StagePrefill, 9, 3, 0), decode}, 0},
		"a prompt of unknown requests": {[]layer.ForwardPass{one, decode}, 0},
		"another model between":        {[]layer.ForwardPass{prefill, pass(layer.StageDecode, 9, 9, 1), decode}, 3.5},
		"others between":               {[]layer.ForwardPass{prefill, pass(layer.StageDecode, 3, 3, 0), decode}, 0},
		"a prompt":                     {[]layer.ForwardPass{prefill}, 1},
		"a prompt by its kernels":      {[]layer.ForwardPass{grids}, 1},
		"a prompt of unknown size":     {[]layer.ForwardPass{one}, 0},
		"no tokens":                    {[]layer.ForwardPass{prefill, pass(layer.StageDecode, 0, 0, 0)}, 0},
		"more tokens than requests":    {[]layer.ForwardPass{prefill, pass(layer.StageDecode, 4, 2, 0)}, 0},
	} {
		w := &walk{device: &layer.Device{Passes: c.passes}}
		if got := w.seenBy(len(c.passes) - 1); got != c.want {
			t.Errorf("%s: %v tokens, want %v", name, got, c.want)
		}
	}
}
