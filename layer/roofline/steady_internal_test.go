package roofline

import (
	"testing"
	"time"

	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// TestPassThatRepresentsAll: the steady one, else the longest full one with layers, else the longest, the first of
// equals.
func TestPassThatRepresentsAll(t *testing.T) {
	pass := func(ns trace.Time, layers int, partial string) layer.ForwardPass {
		return layer.ForwardPass{Start: 100, End: 100 + ns, NumLayers: layers, Partial: partial}
	}
	list := func(p ...layer.ForwardPass) []layer.ForwardPass { return p }
	for _, c := range []struct {
		what   string
		passes []layer.ForwardPass
		steady int
		want   int
	}{
		{"none", nil, trace.None, trace.None}, {"none, and one is said to be steady", nil, 0, trace.None},
		{"steady", list(pass(9, 1, ""), pass(5, 1, "")), 1, 1},
		{"the first is steady", list(pass(5, 1, ""), pass(9, 1, "")), 0, 0},
		{"longest full one", list(pass(5, 1, ""), pass(9, 1, ""), pass(99, 1, "end"), pass(99, 0, "")), trace.None, 1},
		{"first of equals", list(pass(5, 1, ""), pass(9, 1, ""), pass(9, 1, "")), trace.None, 1},
		{"of no time", list(pass(0, 1, ""), pass(0, 1, "")), trace.None, 0},
		{"all are cut", list(pass(5, 1, "end"), pass(9, 1, "end"), pass(9, 1, "end")), trace.None, 1},
		{"no layers", list(pass(5, 0, ""), pass(9, 0, ""), pass(7, 0, "")), trace.None, 1},
	} {
		d := &layer.Device{Passes: c.passes}
		d.Steady.Pass = c.steady
		if got := steadyPass(d); got != c.want {
			t.Errorf("%s: pass %d, want %d", c.what, got, c.want)
		}
	}
	d := &layer.Device{Passes: make([]layer.ForwardPass, 4), Models: []layer.Model{{Role: layer.RoleTower},
		{Role: layer.RoleDraft}}}
	for i, want := range []layer.Role{layer.RoleUnknown, layer.RoleTower, layer.RoleDraft, layer.RoleUnknown} {
		if d.Passes[i].Model = i - 1; roleOf(d, i) != want {
			t.Errorf("model %d of two: %v, want %v", i-1, roleOf(d, i), want)
		}
	}
}

// TestTitlesOfOps: name and sizes: of a product its own, of others those of the inputs.
func TestTitlesOfOps(t *testing.T) {
	b := trace.NewBuilder(trace.Options{})
	for i, shape := range []string{"[[4,6],[6]]", "[[],[7]]", ""} {
		b.Add(trace.EventData{Kind: event.Op, Name: "aten::op", Start: int64(10 * i), Duration: 5, Thread: 1, Shape: shape})
	}
	tr := built.Trace(b)
	for i, want := range []string{"aten::op 4×6 6", "aten::op 7", "aten::op"} {
		g := &opGroup{op: tr.LaneAt(event.LaneOp, i), opResult: &opResult{}}
		if got := g.title(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	g := &opGroup{op: tr.LaneAt(event.LaneOp, 0), opResult: &opResult{}}
	if g.work.M, g.work.N, g.work.K = 1, 2, 3; g.title() != "aten::op 1×2×3" {
		t.Errorf("a product: %q", g.title())
	}
}

// TestBoundsOfALoad: cached tokens that requests read, each within a window, and tokens that a type moves.
func TestBoundsOfALoad(t *testing.T) {
	for _, c := range []struct {
		l    Load
		w    float64
		want float64
	}{
		{Load{Requests: 1, GenerationTokens: 3, GenerationSeen: 100}, 10, 10}, // one request, three tokens of a draft
		{Load{Requests: 2, GenerationTokens: 1, GenerationSeen: 100}, 10, 10},
		{Load{GenerationTokens: 3, GenerationSeen: 100}, 10, 30},
		{Load{Requests: 1, GenerationTokens: 1, GenerationSeen: 7}, 10, 7},
		{Load{Requests: 2, ContextTokens: 5, ContextSeen: 100}, 10, 25},
		{Load{Requests: 2, ContextTokens: 5, ContextSeen: 24}, 10, 24},
	} {
		if got := c.l.seenWithin(c.w); got != c.want {
			t.Errorf("%+v within %v: %v, want %v", c.l, c.w, got, c.want)
		}
	}
	m := &model{activation: "bf16"}
	for _, c := range []struct {
		tokens        int64
		read, written int
		want          float64
	}{{1, 1, 0, 2}, {1, 0, 1, 1}, {3, 4, 5, 3 * (4*2 + 5)}, {0, 1, 1, 0}, {1, 0, 0, 0}} {
		w := m.moved(c.tokens, c.read, c.written, "fp8")
		if w.Activations != c.want || w.Known != (c.want > 0) {
			t.Errorf("%+v: %v bytes, known: %t", c, w.Activations, w.Known)
		}
	}
}

// TestProductsThatLoadsFit: sizes of at least 128 of which a load of 16 bytes takes no whole part, where K is a load or
// more.
func TestProductsThatLoadsFit(t *testing.T) {
	for _, c := range []struct {
		m, n, k int64
		want    int64
	}{{1, 129, 128, 8}, {1, 127, 128, 0}, {1, 129, 8, 8}, {1, 129, 7, 0}, {0, 129, 128, 0}, {1, 1, 129, 8}, {1, 0, 129, 0},
		{1, 136, 136, 0}} {
		w := Work{M: c.m, N: c.n, K: c.k, Matrix: "bf16"}
		if got, _ := w.Unaligned(); got != c.want {
			t.Errorf("%+v: multiples of %d", c, got)
		}
	}
}

// TestTaxOfAMixedPass: what it takes longer than the middle decode pass with as many generating requests.
func TestTaxOfAMixedPass(t *testing.T) {
	var passes []Pass
	for _, wall := range []time.Duration{10, 1, 9, 2} {
		passes = append(passes, Pass{Stage: layer.StageDecode, Batch: 4, Wall: wall})
	}
	passes = append(passes, Pass{Stage: layer.StageMixed, Batch: 5, Wall: 20, generating: 4},
		Pass{Stage: layer.StageMixed, Batch: 5, Wall: 30, generating: 4, partial: true},
		Pass{Stage: layer.StageMixed, Batch: 5, Wall: 40}, Pass{Stage: layer.StageDecode, Batch: 4})
	for _, b := range economy(passes) {
		want := map[layer.Stage]Bucket{layer.StageDecode: {Passes: 4, Wall: 22},
			layer.StageMixed: {Passes: 2, Wall: 60, Tax: 11, Taxed: 1}}[b.Stage]
		if b.Passes != want.Passes || b.Wall != want.Wall || b.Tax != want.Tax || b.Taxed != want.Taxed {
			t.Errorf("%+v, want %+v", b, want)
		}
	}
}

// TestBasisOfNoFloor: a pass without a floor rests on nothing; one with a floor on its load, or on shapes.
func TestBasisOfNoFloor(t *testing.T) {
	for _, c := range []struct {
		serial  float64
		load    *Load
		basis   Basis
		want    Basis
		atLeast bool
	}{{0, nil, BasisNone, BasisNone, false}, {1e-6, nil, BasisNone, BasisShapes, true},
		{1e-6, nil, BasisWeights, BasisShapes, true}, {1e-6, &Load{}, BasisWeights, BasisWeights, true},
		{1e-6, &Load{}, BasisNone, BasisShapes, true}} {
		r := &measured{walk: &walk{}, load: c.load, basis: c.basis, raw: 100,
			order: []*cell{{raw: 100, sum: passFloor{serial: c.serial}}}}
		r.withhold()
		if r.pass.Basis != c.want || r.pass.AtLeast != c.atLeast || r.withheld || r.walk.marked != 0 {
			t.Errorf("%+v: %+v, withheld: %t", c, r.pass, r.withheld)
		}
	}
}

// TestStoredElements: an expanded dimension is read once, whatever its size.
func TestStoredElements(t *testing.T) {
	for _, c := range []struct {
		dims, strides []int64
		want          float64
	}{{[]int64{4, 6}, []int64{6, 1}, 24}, {[]int64{4, 6}, []int64{0, 1}, 6}, {[]int64{4, 1}, []int64{1, 0}, 4},
		{[]int64{4, 0}, []int64{0, 0}, 0}, {[]int64{4, 6}, []int64{1}, 24}, {[]int64{2, 3}, []int64{0, 0}, 1}} {
		in := &Inputs{Dims: [][]int64{c.dims}, Strides: [][]int64{c.strides}}
		if got := in.Stored(0); got != c.want {
			t.Errorf("%v with strides %v: %v elements, want %v", c.dims, c.strides, got, c.want)
		}
	}
}
