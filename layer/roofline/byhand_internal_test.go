package roofline

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/llmstrata/strata/internal/opname"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/profile/hardware"
)

// TestPeaksOfTheUser: a product of 4 tokens, 1000 by 500 weights of two bytes: 1 MB at 1 TB/s, 4 MFLOP at 1 TFLOP/s, 4
// or 8. The table's own figures stay.
func TestPeaksOfTheUser(t *testing.T) {
	g := &hardware.GPU{FLOP: map[string]hardware.Figure{"bf16": {Value: 8e12}}, Bandwidth: hardware.Figure{Value: 1e12},
		BusBandwidth: hardware.Figure{Value: 2e12}}
	m := &model{config: &profile.Config{}, tp: 1, ep: 1, activation: "bf16", cache: "bf16"}
	w := m.work(&profile.PlanOp{Operator: opname.OProj, K: 1000, N: 500}, nil, &Load{Tokens: 4, Requests: 4})
	for _, c := range []struct {
		peaks           map[string]float64
		compute, memory float64
		bound           string
	}{
		{nil, 0.5e-6, 1e-6, boundMemory}, {map[string]float64{"bf16": 1e12}, 4e-6, 1e-6, boundCompute},
		{map[string]float64{"bf16": 4e12}, 1e-6, 1e-6, boundMemory},
		{map[string]float64{"memory": 4e12}, 0.5e-6, 0.25e-6, boundCompute},
	} {
		o := Options{Peaks: c.peaks}
		got := floorOf(&w, o.withPeaks(g))
		if got.compute != c.compute || got.memory != c.memory || got.bound != c.bound ||
			got.seconds() != max(c.compute, c.memory) {
			t.Errorf("%v: %+v, want %g, %g, %s", c.peaks, got, c.compute, c.memory, c.bound)
		}
	}
	if len(g.FLOP) != 1 || !g.BusBandwidth.Known() {
		t.Errorf("the peaks of the user changed the table: %+v", g)
	}
	none, own := Options{}, Options{Peaks: map[string]float64{"bf16": 4e12, "memory": 1e12}}
	if got := floorOf(&w, own.withPeaks(nil)); none.withPeaks(nil) != nil || got.compute != 1e-6 || got.memory != 1e-6 {
		t.Errorf("a GPU that the table has not: %+v, want a microsecond each", got)
	}
	for _, lone := range []string{"bf16", "memory"} { // what bounds an operator is not known
		if o := (Options{Peaks: map[string]float64{lone: 4e12}}); o.withPeaks(nil) != nil {
			t.Errorf("a GPU of which only %s is known has floors", lone)
		}
	}
}

// TestWorkOfAFusedKernel: a kernel has the work of all operators that it fuses, those of decode passes apart: a router
// of 64 by 8 and experts of 64 by 32, two of eight for each of 5 tokens; in decode passes a product of 64 by 16 with a
// norm.
func TestWorkOfAFusedKernel(t *testing.T) {
	w := walk{model: &model{config: &profile.Config{}, tp: 1, ep: 1, activation: "bf16", cache: "bf16"},
		plan: &profile.Plan{}}
	router := profile.PlanOp{Operator: opname.Router, K: 64, N: 8}
	up := profile.PlanOp{Operator: opname.ExpertsGateUp, K: 64, N: 32, Experts: 8, TopK: 2}
	unknown := profile.PlanOp{Operator: opname.Attention}
	s := &slot{key: key{-1, "router+experts"}, ops: [2][]profile.PlanOp{{unknown, router, up},
		{{Operator: opname.OProj, K: 64, N: 16}, {Width: 8}}}} // and a norm
	load := Load{Tokens: 5, Requests: 5}
	got := w.workOf(s, &load, layer.StagePrefill)
	want := opWork{M: 5, N: 8, K: 64, FLOP: 5120 + 40960, Weights: 1024 + 8*(1-0.2373046875)*4096, LeastWeights: 1024 +
		2*4096,
		Activations: 5*72*2 + (5*64+10*32)*2, DType: "bf16", Expected: true, OneExpert: 4096, several: true, Known: true}
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got.atLeast(); got.Weights != 9216 || got.bytes() != 9216+2000 {
		t.Errorf("at least %v of weights, %v in all", got.Weights, got.bytes())
	}
	decode := w.workOf(s, &load, layer.StageDecode)
	if decode.N != 16 || decode.FLOP != 10240 || decode.Activations != 5*(64+16)*2 || // the norm has them at hand
		decode.several || decode.Expected {
		t.Errorf("of a decode pass: %+v", decode)
	}
	w.plan.Kinds = []profile.PlanKind{{Operators: []profile.PlanOp{{Operator: opname.Attention, KVHeads: 1, HeadDim: 4}}}}
	w.model.tp = 2 // one head of keys is on both ranks
	key0 := &slot{key: key{0, opname.KProj}, ops: [2][]profile.PlanOp{{{Operator: opname.KProj, K: 8, N: 4,
		Split: profile.SplitHeads}}}}
	if got := w.workOf(key0, &load, layer.StagePrefill); got.N != 4 {
		t.Errorf("keys of the first type of layers: %+v", got)
	}
	if w.uncounted = true; w.workOf(s, &load, layer.StageDecode).Known {
		t.Error("sizes on one rank that are not known have work")
	}
}

// TestWorkThatAStepBounds: attention whose cache is not recorded has 2 FLOP a pair and 3 B a key more, at most as the
// step's sums say.
func TestWorkThatAStepBounds(t *testing.T) {
	for _, c := range []struct {
		load        *Load
		flop, bytes float64
		open        bool
	}{
		{nil, 0, 0, true}, {&Load{Tokens: 5}, 0, 0, true},
		{&Load{Tokens: 5, KnownSeen: true, GenerationPairs: 20, ContextSeen: 2, GenerationSeen: 6}, 40, 7 + 3*3, false},
		{&Load{Tokens: 5, KnownSeen: true, ContextPairs: 4, ContextSquares: 2, GenerationSeen: 5}, 10, 7, false},
		{&Load{Tokens: 5, KnownSeen: true, GenerationSeen: 4}, 10, 7, false},
	} {
		w := Work{FLOP: 10, Bytes: 7, perPair: 2, perKey: 3}
		w.bound(c.load)
		if w.MostFLOP != c.flop || w.MostBytes != c.bytes || w.Open != c.open {
			t.Errorf("%+v: %v FLOP, %v bytes at most, open %t; want %v, %v, %t", c.load, w.MostFLOP, w.MostBytes, w.Open,
				c.flop, c.bytes, c.open)
		}
		if w = (Work{FLOP: 1}); true {
			w.bound(c.load)
		}
		if w != (Work{FLOP: 1}) {
			t.Errorf("an op whose work is recorded: %+v", w)
		}
	}
}

// TestTilesOfAProduct: 256 by 128 are two tiles of 128 by 128, too few for three units where K is the longest side.
func TestTilesOfAProduct(t *testing.T) {
	for _, c := range []struct {
		m, n, k int64
		units   int
		want    string
	}{
		{256, 128, 512, 3, "Use a kernel that splits K (2 tiles of 128×128, 3 units)."}, {256, 128, 512, 2, ""},
		{257, 128, 512, 3, ""}, {257, 128, 512, 4, "Use a kernel that splits K (3 tiles of 128×128, 4 units)."},
		{256, 128, 256, 3, ""}, {128, 256, 256, 3, ""}, {128, 128, 512, 3, "Use a kernel that splits K (1 tiles of " +
			"128×128, 3 units)."},
		{127, 128, 512, 3, ""}, {0, 128, 512, 3, ""}, {1, 256, 516, 1, "Pad K (516) to a multiple of 8 elements."},
		{256, 129, 512, 9, "Pad N (129) to a multiple of 8 elements."}, {256, 127, 516, 1, "Pad K (516) to a multiple of " +
			"8 elements."},
	} {
		r := &measured{walk: &walk{gpu: &hardware.GPU{Units: c.units}}}
		if got := r.productDefect(&Work{M: c.m, N: c.n, K: c.k, Matrix: "bf16"}, layer.Kernel{}).do; got != c.want {
			t.Errorf("%d×%d×%d on %d units: %q, want %q", c.m, c.n, c.k, c.units, got, c.want)
		}
	}
}

// TestWhatACacheHolds: activations that move faster than the memory does, and fit into the cache.
func TestWhatACacheHolds(t *testing.T) {
	w := walk{gpu: &hardware.GPU{Cache: 100, Bandwidth: hardware.Figure{Value: 2e12}}}
	for _, c := range []struct {
		work opWork
		tbs  float64
		want bool
	}{
		{opWork{Known: true, Activations: 100}, 2.001, true}, {opWork{Known: true, Activations: 100}, 2, false},
		{opWork{Known: true, Activations: 101}, 3, false}, {opWork{Activations: 100}, 3, false},
		{opWork{Known: true, Activations: 100, Weights: 1}, 3, false},
		{opWork{Known: true, Activations: 100, Cache: 1}, 3, false},
	} {
		if got := w.cached(&cell{work: c.work}, c.tbs); got != c.want {
			t.Errorf("%+v at %v TB/s: %t, want %t", c.work, c.tbs, got, c.want)
		}
	}
}

// TestOperatorsWithoutAFloor: those with most time first, four of them, and how long they run beside others.
func TestOperatorsWithoutAFloor(t *testing.T) {
	r := &measured{walk: &walk{}, pass: Pass{Floor: 1}}
	add := func(operator string, g group, booked, hidden, floor time.Duration) {
		r.order = append(r.order, &cell{slot: &slot{key: key{0, operator}}, group: g, booked: booked, hidden: hidden,
			floor: floor})
	}
	add("a", others, 500, 0, 0)
	add("b", others, 700, 99, 0)
	add("none", others, 0, 0, 0)
	add("known", others, 900, 0, 1)
	add("product", products, 900, 0, 0)
	if got := r.bareOf(others); got != "b, a" {
		t.Errorf("%q, want b, a", got)
	}
	add("a", others, 300, 51, 0)
	add("c", others, 20, 2, 0)
	add("d", others, 10, 0, 0)
	if got := r.bareOf(others); got != "a, b, c, d" {
		t.Errorf("%q, want a, b, c, d", got)
	}
	add("e", others, 5, 2, 0)
	if got := r.bareOf(others); got != "a, b, c, d, 1 more; 154 ns more beside other kernels" {
		t.Errorf("%q", got)
	}
}

// TestSmallApart: three launches of an unknown model's operator that take 10 ns each, twice the shortest, are small.
func TestSmallApart(t *testing.T) {
	for raw, want := range map[time.Duration]group{30: small, 31: others} {
		c := &cell{group: others, launches: 3, headed: 3, raw: raw, booked: 7, hidden: 2}
		r := &measured{walk: &walk{shortest: 5}, order: []*cell{c, {group: products, launches: 1, raw: 1}}}
		r.counts[others] = 4
		if r.setSmallApart(); c.group != want || r.counts[others]+r.counts[small] != 4 || want == small &&
			(r.counts[small] != 3 || r.booked[small] != 7 || r.hidden[small] != 2) {
			t.Errorf("%v: heading %d, %v launches, booked %v, hidden %v", raw, c.group, r.counts, r.booked, r.hidden)
		}
	}
}

// TestContradictionsAreFew: the first of each of eight operators.
func TestContradictionsAreFew(t *testing.T) {
	var w walk
	for i := range 9 {
		w.contradict(fmt.Sprint("op", i), "the first")
		w.contradict(fmt.Sprint("op", i), "another")
	}
	if n, text := len(w.contradictions), w.contradictions["op7"]; n != 8 || text != "the first" {
		t.Errorf("%d: %q", n, text)
	}
}

// TestLoads: what is known of requests of a size.
func TestLoads(t *testing.T) {
	for _, c := range []struct{ got, want Load }{
		{Decode(3, 1), Load{Tokens: 3, Requests: 3, GenerationTokens: 3, GenerationSeen: 3, GenerationPairs: 3,
			KnownSeen: true}},
		{Decode(3, 0), Load{Tokens: 3, Requests: 3, GenerationTokens: 3}},
		{Prefill(2, 1, 0), Load{Tokens: 2, Requests: 2, ContextTokens: 2, ContextSeen: 2, ContextPairs: 2, ContextSquares: 2,
			KnownSeen: true}},
		{Prefill(2, 0, 4), Load{Requests: 2, ContextSeen: 8}},
		{Prefill(2, 3, 4), Load{Tokens: 6, Requests: 2, ContextTokens: 6, ContextSeen: 14, ContextPairs: 42,
			ContextSquares: 18, KnownSeen: true}},
	} {
		if c.got != c.want {
			t.Errorf("%+v, want %+v", c.got, c.want)
		}
	}
	if p := Prefill(2, 3, 4); p.pairs() != 33 || p.logits() != 2 {
		t.Errorf("%v pairs, %d logits", p.pairs(), p.logits())
	}
	if l := (Load{Requests: 2, Rows: 5}); l.logits() != 5 {
		t.Errorf("logits of %d rows, want 5", l.logits())
	}
}

// TestNamesOfBases: each has words that are read back; others are no basis.
func TestNamesOfBases(t *testing.T) {
	for _, b := range Bases() {
		var back Basis
		if text, _ := b.MarshalText(); back.UnmarshalText(text) != nil || back != b {
			t.Errorf("%v is read as %v", b, back)
		}
	}
	if got := Basis(len(Bases())).String(); got != "roofline.Basis(13)" {
		t.Errorf("one more is %q", got)
	}
}

// TestWaterfallByHand: products of two types of layers whose floor is 60 of 100 and 20 of 50, others that have none;
// attention at its floor, or not certainly above it; small kernels and copies, which have floors where no model is
// known.
func TestWaterfallByHand(t *testing.T) {
	measure := func(m *model) *measured {
		d := &layer.Device{Passes: []layer.ForwardPass{{NumLayers: 2}}}
		r := &measured{walk: &walk{model: m, device: d}, pass: Pass{Floor: 1, Wall: 400},
			given: given{inside: 20, after: 30, others: 6}}
		add := func(kind int, operator string, g group, booked, floor, even, copied time.Duration) {
			r.order = append(r.order, &cell{slot: &slot{key: key{kind, operator}}, group: g, booked: booked, raw: booked,
				floor:  floor,
				capped: min(floor, booked+copied), even: even, copied: copied, launches: 2, instances: 1})
			r.counts[g] += 2
			if g > others {
				r.booked[g] += booked
			}
		}
		add(0, "a", products, 100, 60, 0, 0)
		add(1, "a", products, 50, 20, 0, 0)
		add(0, "b", products, 30, 0, 0, 0)
		add(0, "c", attentionCore, 40, 45, 0, 0)
		add(0, "e", attentionCore, 20, 5, 10, 0)
		add(0, "d", experts, 24, 20, 9, 0)
		add(0, "s", small, 17, 7, 0, 0)
		r.order = append(r.order, &cell{slot: &slot{key: key{0, "copy"}}, group: copies, floor: 11, capped: 11, copied: 13})
		r.booked[copies], r.booked[communication], r.booked[unplaced], r.booked[outside] = 13, 40, 15, 15
		return r
	}
	for _, c := range []struct {
		name  string
		model *model
		want  map[string]time.Duration
	}{
		{"a model", &model{}, map[string]time.Duration{"floor: GEMMs (weights)": 80, "floor: experts": 20,
			"floor: attention (cache)":                 45,
			"experts of more tokens, if chosen evenly": 4, "GEMMs above their floor": 70, "attention: work that recorded " +
				"inputs leave open": 10,
			"attention above its floor": 5, "GEMMs without a floor": 30, "small kernels": 17,
			"copies and fills": 13}},
		{"no model", nil, map[string]time.Duration{"floor: GEMMs": 80, "floor: experts": 20, "floor: attention": 45,
			"experts of more tokens": 4, "GEMMs above their floor": 70, "attention: work that recorded inputs leave open": 10,
			"attention above its floor": 5, "GEMMs without a floor": 30, "small kernels": 10,
			"floor: element-wise and others": 7 + 11, "copies and fills": 2}},
	} {
		r := measure(c.model)
		for name, took := range map[string]time.Duration{"communication: transfer and waiting": 40,
			"kernels of no known operator": 15,
			"other, outside layers":        15, "kernels outside passes": 6, "GPU idle inside the pass": 20,
			"GPU idle up to the next pass": 30} {
			c.want[name] = took
		}
		r.pass.Waterfall = r.waterfall()
		var sum time.Duration
		for _, s := range r.pass.Waterfall {
			sum += s.Time
			if want := c.want[s.Name]; s.Time != want {
				t.Errorf("%s: %s: %d ns, want %d", c.name, s.Name, s.Time, want)
			}
		}
		if want := time.Duration(80 + 20 + 45 + 4 + 70 + 15 + 30 + 17 + 13 + 40 + 15 + 15 + 6 + 20 + 30); sum != want {
			t.Errorf("%s: %d ns in all, want %d", c.name, sum, want)
		}
		list := r.byOperator(products)
		if len(list) != 1 || list[0].raw != 150 || list[0].floor != 80 || list[0].above != 70 || list[0].open != 0 {
			t.Errorf("%s: products by operator: %+v", c.name, list)
		}
		if got := sharesOf(list); got != "a 53%" {
			t.Errorf("%s: shares %q", c.name, got)
		}
		if got := sharesOf(r.byOperator(attentionCore)); got != "e 25 to 75%, 1 more" { // c loses nothing
			t.Errorf("%s: shares of attention %q", c.name, got)
		}
		items := r.recoverable()
		if first := items[0]; first.What != "GEMMs above their floor" || first.Time != 70 || first.Share != 0.175 ||
			first.Place != "4 launches, 2 per layer" {
			t.Errorf("%s: the first item is %+v", c.name, first)
		}
		var lost time.Duration
		for i, it := range items {
			if lost += it.Time; i > 0 && it.Time > items[i-1].Time {
				t.Errorf("%s: item %d is larger than the one before: %+v", c.name, i, items)
			}
		}
		if floors := sum - lost; floors != 80+20+45 && floors != 80+20+45+18 {
			t.Errorf("%s: items are %d of %d ns", c.name, lost, sum)
		}
	}
}

// TestSharesOfOperators: those that lose most first, six of them; what loses next to nothing or runs well is counted.
func TestSharesOfOperators(t *testing.T) {
	var list []merged
	for i := range 8 {
		list = append(list, merged{operator: fmt.Sprint("p", i), raw: 100, floor: time.Duration(10 * i),
			above: time.Duration(100 - 10*i)})
	}
	if got := sharesOf(list); got != "p0 0%, p1 10%, p2 20%, p3 30%, p4 40%, p5 50%, 2 more" {
		t.Errorf("of eight: %q", got)
	}
	if got := sharesOf(list[2:4]); got != "p2 20%, p3 30%" {
		t.Errorf("of two: %q", got)
	}
	few := []merged{{operator: "well", raw: 100, floor: 85, above: 15},
		{operator: "little", raw: 100, floor: 10, above: 1},
		{operator: "lost", raw: 100, floor: 84, above: 85}}
	if got := sharesOf(few); got != "lost 84%, 2 more" {
		t.Errorf("of one that loses: %q", got)
	}
	if few[1].above = 2; sharesOf(few) != "lost 84%, little 10%, 1 more" {
		t.Errorf("of two that lose: %q", sharesOf(few))
	}
	if got := sharesOf(few[:1]); got != "well 85%" {
		t.Errorf("of one that runs well: %q", got)
	}
}

// TestNumbersOfLaunches: how many in each layer, where each has as many.
func TestNumbersOfLaunches(t *testing.T) {
	for _, c := range []struct {
		layers, n int
		want      string
	}{{4, 8, "8 launches, 2 per layer"}, {4, 4, "4 launches, 1 per layer"}, {4, 6, "6 launches"}, {1, 3, "3 launches"},
		{0, 1, "1 launch"},
		{2, 0, "0 launches"}, {2, 1000, "1,000 launches, 500 per layer"}} {
		r := &measured{walk: &walk{device: &layer.Device{Passes: []layer.ForwardPass{{NumLayers: c.layers}}}}}
		if got := r.number(c.n); got != c.want {
			t.Errorf("%d in %d layers: %q, want %q", c.n, c.layers, got, c.want)
		}
	}
}

// TestPlannedOperators: what a kernel's operator means in a plan: all of a name, of fused ones the first addition, an
// alternative where nothing else has the name, and the heading of each.
func TestPlannedOperators(t *testing.T) {
	add := profile.PlanOp{Operator: "add", Width: 2}
	first, second := profile.PlanOp{Operator: "up", K: 4, N: 2}, profile.PlanOp{Operator: "up", K: 5, N: 2}
	decode := profile.PlanOp{Operator: "core", Stage: layer.StageDecode, K: 1, N: 1}
	plan := &profile.Plan{Before: []profile.PlanOp{{Operator: opname.Embed, K: 9, N: 4}, add},
		After: []profile.PlanOp{add, {Operator: "head", K: 3, N: 1}}}
	kind := &profile.PlanKind{Operators: []profile.PlanOp{add, first, add, second, decode,
		{Operator: "x", Or: []profile.PlanOp{{Operator: "y", Experts: 2, K: 7, N: 1}}}}}
	for _, c := range []struct {
		kind     *profile.PlanKind
		operator string
		decode   bool
		want     []int // K of each
		group    group
	}{
		{kind, "add", false, []int{0, 0}, others}, {kind, "add+up", false, []int{0, 4, 5}, products},
		{kind, "up|add", true, []int{4, 5}, products},
		{kind, "y", false, []int{7}, experts}, {kind, "x", false, []int{0}, others}, {kind, "core", true, []int{1}, products},
		{kind, "core", false, nil, others},
		{nil, "add", false, []int{0, 0}, others}, {nil, "add+head", false, []int{0, 3}, products},
		{nil, opname.Embed, false, []int{9}, others}, {nil, "up", false, nil, others},
	} {
		var got []int
		ops := planned(plan, c.kind, c.operator, c.decode)
		for _, op := range ops {
			got = append(got, op.K)
		}
		if !slices.Equal(got, c.want) || groupOf(ops) != c.group {
			t.Errorf("%s: K %v of heading %d, want %v of %d", c.operator, got, groupOf(ops), c.want, c.group)
		}
	}
}

// TestActivationsOfFusedOperators: 5 tokens of 8, 2 bytes each, are 80 bytes. A norm and a rotation read and write once;
// a residual is read beside that, and the sum is kept where another part follows; a kernel for each adds up.
func TestActivationsOfFusedOperators(t *testing.T) {
	w := walk{model: &model{config: &profile.Config{}, tp: 1, ep: 1, activation: "bf16", cache: "bf16"},
		plan: &profile.Plan{}}
	norm, rope := profile.PlanOp{Operator: opname.QKNorm, Width: 8}, profile.PlanOp{Operator: opname.Rope, Width: 8}
	write := profile.PlanOp{Operator: opname.KVWrite, Width: 4}
	add := profile.PlanOp{Operator: opname.ResidualAdd, Width: 8}
	load := Load{Tokens: 5, Requests: 5}
	for _, c := range []struct {
		operator string
		ops      []profile.PlanOp
		want     float64
	}{
		{"qk_norm", []profile.PlanOp{norm}, 160}, {"qk_norm+rope", []profile.PlanOp{norm, rope}, 160},
		{"rope+kv_write", []profile.PlanOp{rope, write}, 160}, {"kv_write", []profile.PlanOp{write, write}, 160},
		{"residual_add+post_norm", []profile.PlanOp{add, norm}, 320}, {"rope+residual_add", []profile.PlanOp{rope, add}, 240},
	} {
		s := &slot{key: key{-1, c.operator}, ops: [2][]profile.PlanOp{c.ops, c.ops}}
		if got := w.workOf(s, &load, layer.StageDecode); got.Activations != c.want {
			t.Errorf("%s: %v bytes, want %v", c.operator, got.Activations, c.want)
		}
	}
}

// TestOrderOfRows: the operators of a type of layer are together where the first of them ran; what is outside layers
// comes before or after them all.
func TestOrderOfRows(t *testing.T) {
	var r measured
	for _, name := range []string{"embed", "0 a", "0 b", "1 a", "outside", "0 c", "1 b", "head"} {
		c := &cell{slot: &slot{key: key{-1, name}}}
		if name[1] == ' ' {
			c.kind = int(name[0] - '0')
		}
		r.order = append(r.order, c)
	}
	var got []string
	for _, c := range r.byLayerType() {
		got = append(got, c.operator)
	}
	if want := []string{"embed", "0 a", "0 b", "0 c", "1 a", "1 b", "outside", "head"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestRowAtTheMemorysSpeed: of 100 ns of element-wise work the memory takes 30. That is a floor without a config; with
// one it is none, as the floor of a plan has no activations.
func TestRowAtTheMemorysSpeed(t *testing.T) {
	for _, c := range []struct {
		model *model
		name  string
		kind  ShareKind
	}{{&model{}, "element-wise and others at the memory's speed", NoFloor}, {nil, "floor: element-wise and others", Floor}} {
		r := measuredOf(&cell{slot: &slot{key: key{0, "rope"}}, group: others, booked: 100, raw: 100, floor: 30, capped: 30,
			launches: 1, longest: oneKernel(t)})
		r.walk.model = c.model
		var sum time.Duration
		found := 0
		for _, s := range r.waterfall() {
			if sum += s.Time; s.Name == c.name && s.Kind == c.kind && s.Time == 30 {
				found++
			}
		}
		if found != 1 || sum != 100 {
			t.Errorf("%d rows %q, %v in all", found, c.name, sum)
		}
	}
}
