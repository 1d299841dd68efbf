package operator

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/opname"
)

// readsOf reads a row of letters: n a norm, p a product, a an activation, x experts, t attention, c a convolution, s
// a scan, o a collective, u unknown, q a quantisation, m a copy, A an addition.
func readsOf(row string) []reading {
	out := make([]reading, len(row))
	for i, l := range row {
		out[i].acts = []classify.Role{map[rune]classify.Role{'n': classify.RoleNorm, 'p': classify.RoleProduct,
			'a': classify.RoleActivation, 'x': classify.RoleExperts, 't': classify.RoleAttention,
			'c': classify.RoleConv, 's': classify.RoleScan, 'o': classify.RoleCollective, 'u': classify.RoleOther,
			'q': classify.RoleQuantize, 'm': classify.RoleCopy, 'r': classify.RoleRouter,
			'R': classify.RoleProductReduce, 'A': classify.RoleAdd, 'T': classify.RoleAttentionReduce}[l]}
	}
	return out
}

// TestDenseRows: a product, an activation and a product in a row make a dense part, beside the experts where they are
// on another stream.
func TestDenseRows(t *testing.T) {
	for _, c := range []struct {
		row, streams  string
		layer         int32
		dense, beside bool
	}{
		{"pap", "000", 0, true, false}, {"pap", "000", 1, true, false}, {"pap", "000", -1, false, false},
		{"pap", "000", 2, false, false}, {"ppap", "0000", 0, true, false}, {"paup", "0000", 0, false, false},
		{"paqp", "0000", 0, true, false},
		{"paap", "0000", 0, false, false}, {"ap", "00", 0, false, false}, {"uap", "000", 0, false, false},
		{"xap", "000", 0, false, false}, {"papap", "00000", 0, true, false}, {"pp", "00", 0, false, false},
		{"xpap", "0000", 0, true, false}, {"xpap", "1000", 0, true, true}, {"pxap", "0100", 0, true, true},
		{"pap", "010", 0, false, false},
	} {
		p := &Pass{}
		seen := make([]shape, 2)
		for i, r := range c.row {
			p.Kernels = append(p.Kernels, Kernel{Layer: c.layer, Stream: int32(c.streams[i] - '0')})
			if r == 'x' {
				seen[0].experts = true
			}
		}
		denseRows(p, readsOf(c.row), seen)
		got := shape{}
		if c.layer >= 0 && c.layer < 2 {
			got = seen[c.layer]
		}
		if got.dense != c.dense || got.beside != c.beside {
			t.Errorf("%s on %s in layer %d: dense %v, beside %v; want %v, %v", c.row, c.streams, c.layer, got.dense,
				got.beside, c.dense, c.beside)
		}
	}
}

// TestDenseRowsOfTwoLayers: the product that ends a dense part may begin another one, and is none by itself with the
// next product.
func TestDenseRowsOfTwoLayers(t *testing.T) {
	// after a product, an activation and a product of the first layer
	for row, want := range map[string]bool{"p": false, "pp": false, "ap": true, "pap": true, "up": false} {
		p := &Pass{Kernels: []Kernel{{}, {}, {}}}
		for range row {
			p.Kernels = append(p.Kernels, Kernel{Layer: 1})
		}
		seen := make([]shape, 2)
		denseRows(p, readsOf("pap"+row), seen)
		if !seen[0].dense || seen[1].dense != want {
			t.Errorf("pap and %s: dense %v and %v, want true and %v", row, seen[0].dense, seen[1].dense, want)
		}
	}
}

// TestHalvesOfLayers: a layer that shows one half has the shape of its neighbour, the one before it first, unless
// three show the same.
func TestHalvesOfLayers(t *testing.T) {
	kinds := map[rune]shape{'F': {attention: true, activation: true}, 'E': {attention: true, experts: true},
		'm': {attention: true}, 'f': {activation: true}, 's': {scan: true, feeds: true}}
	for row, want := range map[string]string{
		"FFFF": "FFFF", "mFFF": "FFFF", "FFFf": "FFFF", "FmEE": "FFEE", "mmFF": "FFFF", "mmmF": "mmmF",
		"mFmFm": "mFmFm", "mFmF": "FFFF", "mff": "mff", "FEmE": "FEEE", "sms": "sss", "fE": "EE", "": "",
	} {
		var seen []shape
		for _, k := range row {
			seen = append(seen, kinds[k])
		}
		complete(seen, 3)
		got := ""
		for _, s := range seen {
			for k, kind := range kinds {
				if kind == s {
					got += string(k)
				}
			}
		}
		if got != want {
			t.Errorf("%s becomes %s, want %s", row, got, want)
		}
	}
}

// TestProductsOfExperts: what products around experts need an explanation, and which show that experts have a space
// of their own.
func TestProductsOfExperts(t *testing.T) {
	for _, c := range []struct {
		row             string // between two norms
		unclear, latent bool
	}{
		{"prxax", false, false}, {"pprxax", true, false}, {"prxaxp", true, false}, {"pprxaxp", true, true},
		{"prxaxpap", false, false}, {"prxaxpapp", false, false}, {"prxaxpappp", true, false},
		{"papprxax", false, false}, {"pappprxax", false, false}, {"papppprxax", true, false},
		{"papprxaxp", true, false}, {"prxaxpau", true, false}, {"papprxaxpapp", false, false},
	} {
		row := "n" + c.row + "n"
		halves := expertHalves(&Pass{Kernels: make([]Kernel, len(row))}, readsOf(row))
		if len(halves) != 1 {
			t.Fatalf("%s: %d halves with experts", row, len(halves))
		}
		if h := halves[0]; h.unclear() != c.unclear || h.latent() != c.latent {
			t.Errorf("%s: unclear %v, latent %v; want %v, %v (%+v)", c.row, h.unclear(), h.latent(), c.unclear,
				c.latent, *h)
		}
	}
	row := "npappprxaxpappn" // one gate is explained, a second one is not
	if h := expertHalves(&Pass{Kernels: make([]Kernel, len(row))}, readsOf(row)); !h[0].unclear() {
		t.Errorf("two shared experts with gates need no explanation: %+v", *h[0])
	}
	const latent, plain = "pprxaxpn", "prxaxn"
	for _, c := range []struct {
		latent, plain int
		want          bool
	}{{1, 0, true}, {1, 1, false}, {2, 1, true}, {1, 2, false}, {3, 2, true}} {
		row := "n" + strings.Repeat(latent, c.latent) + strings.Repeat(plain, c.plain)
		if _, got := unclearProducts(&Pass{Kernels: make([]Kernel, len(row))}, readsOf(row)); got != c.want {
			t.Errorf("%d halves with a space of the experts, %d without: %v, want %v", c.latent, c.plain, got, c.want)
		}
	}
}

// TestNextOfFused: a fused kernel takes the nearest step of its next classify.Role, over optional ones.
func TestNextOfFused(t *testing.T) {
	p := Defaults()
	w := &work{p: &p, pass: &Pass{}}
	for _, c := range []struct {
		steps string
		want  int
	}{{"o_proj post_norm", 1}, {"o_proj (residual_add) post_norm", 2},
		{"o_proj (residual_add) (attn_all_reduce) post_norm", 3}, {"o_proj gate_up_proj post_norm", -1},
		{"o_proj (residual_add)", -1}, {"o_proj", -1}} {
		var steps []step
		for _, s := range strings.Fields(c.steps) {
			op := strings.Trim(s, "()")
			st := Step{Op: op, Optional: op != s}
			steps = append(steps, newStep(&st, 0, w.skipCost(st)))
		}
		if got := w.follow(steps, 0, classify.RoleNorm); got != c.want {
			t.Errorf("%s: step %d, want %d", c.steps, got, c.want)
		}
	}
}

// TestSizesThatContradict: a product costs more at a step of other sizes, where both are known.
func TestSizesThatContradict(t *testing.T) {
	p := Defaults()
	w := &work{p: &p, pass: &Pass{}}
	for _, c := range []struct {
		name string
		u    unit
		s    Step
		want float64
	}{
		{"equal", unit{k: 64, n: 200}, Step{K: 64, N: 200}, 0},
		{"others", unit{k: 64, n: 200}, Step{K: 300, N: 100}, p.Shape},
		{"the step's are not known", unit{k: 64, n: 200}, Step{}, 0},
		{"one of the step's is not", unit{k: 64, n: 200}, Step{K: 300}, 0},
		{"the other is not", unit{k: 64, n: 200}, Step{N: 100}, 0},
		{"one of the kernel's is not", unit{k: 64}, Step{K: 300, N: 100}, 0},
		{"the kernel's are not", unit{}, Step{K: 300, N: 100}, 0},
		{"of size one", unit{k: 1, n: 200}, Step{K: 300, N: 100}, p.Shape},
		{"of one column", unit{k: 64, n: 1}, Step{K: 300, N: 100}, p.Shape},
		{"a step of size one", unit{k: 64, n: 200}, Step{K: 1, N: 100}, p.Shape},
		{"of one", unit{k: 64, n: 200}, Step{K: 300, N: 1}, p.Shape},
	} {
		st := newStep(&c.s, 0, 0)
		if got := w.shapeCost(&c.u, &st); got != c.want {
			t.Errorf("%s: costs %v, want %v", c.name, got, c.want)
		}
	}
}

// TestWrittenOutOperators: which single operations make a norm and a rotary embedding together, and how many kernels
// that are.
func TestWrittenOutOperators(t *testing.T) {
	tags := map[byte]classify.Role{'c': classify.RoleCopy, 'p': classify.RolePower, 'm': classify.RoleMean,
		's': classify.RoleAddScalar, 'r': classify.RoleRsqrt, 'x': classify.RoleMultiply, 'n': classify.RoleNegate,
		'k': classify.RoleConcat, 'a': classify.RoleAdd, '-': classify.RoleOther}
	for _, c := range []struct {
		row  string
		n    int
		want classify.Role
	}{
		{"cpmsrxcx", 8, classify.RoleNorm}, {"pmrx", 4, classify.RoleNorm}, {"pmrxx", 5, classify.RoleNorm},
		{"cpmsrx-", 6, classify.RoleNorm}, {"pmsr", 0, classify.RoleOther}, {"pm-rx", 0, classify.RoleOther},
		{"cxmsrxcx", 8, classify.RoleNorm},
		{"xnkxa", 5, classify.RoleRope}, {"nkxxa", 5, classify.RoleRope}, {"nkxa", 4, classify.RoleRope},
		{"xnkx", 0, classify.RoleOther}, {"-pmrx", 0, classify.RoleOther}, {"", 0, classify.RoleOther},
	} {
		var reads []reading
		var idx []int
		for i := range c.row {
			reads, idx = append(reads, reading{tag: tags[c.row[i]]}), append(idx, i)
		}
		if n, a := findMacro(reads, idx); n != c.n || a != c.want {
			t.Errorf("%s: %d kernels are act %d, want %d and %d", c.row, n, a, c.n, c.want)
		}
	}
}

// TestStepsOfAWindow: what is before the layers is looked for where the window holds the first of them, what
// follows them where it holds the last; the first layer has nothing to add.
func TestStepsOfAWindow(t *testing.T) {
	p := Defaults()
	for _, c := range []struct {
		pass Pass
		want string
	}{
		{Pass{Layers: 2}, "embed-1 qkv_proj0 residual_add1 qkv_proj1 lm_head-1"},
		{Pass{Layers: 1}, "embed-1 qkv_proj0"},
		{Pass{First: 1, Layers: 1}, "residual_add1 qkv_proj1 lm_head-1"},
		{Pass{Layers: 2, CutStart: true}, "qkv_proj0 residual_add1 qkv_proj1 lm_head-1"},
		{Pass{Layers: 2, CutEnd: true}, "embed-1 qkv_proj0 residual_add1 qkv_proj1"},
		{Pass{Layers: 3}, "embed-1 qkv_proj0 residual_add1 qkv_proj1 lm_head-1"},
	} {
		w := &work{p: &p, pass: &c.pass, layout: &Layout{Before: []Step{must(opname.Embed)},
			After: []Step{must(opname.LMHead)}, Kinds: [][]Step{{opt(opname.ResidualAdd), must(opname.QKVProj)}},
			LayerKinds: []int{0, 0}}}
		var got []string
		for _, s := range w.steps(variant{}) {
			got = append(got, fmt.Sprint(s.Op, s.layer))
			if s.layer < 0 && s.skip != 0 {
				t.Errorf("%+v: leaving out %s costs %v, what surrounds layers is often recorded in part", c.pass, s.Op,
					s.skip)
			}
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%+v: %s, want %s", c.pass, s, c.want)
		}
	}
}

// TestVariantsAreTriedOnASample: which way a model's layers run is tried on two layers in the middle of a long pass,
// on more where kinds take turns; in a short one, and where the middle lacks a kind, on all.
func TestVariantsAreTriedOnASample(t *testing.T) {
	p := Defaults()
	kind := []Step{{Op: opname.GateUpProj, Or: []Step{must(opname.GateProj), must(opname.UpProj)}},
		must(opname.Activation), must(opname.DownProj)}
	dense := []Step{must(opname.OProj)}
	turns := func(n, every int) (out []int) {
		for l := range n {
			out = append(out, min(1, (l+1)%every))
		}
		return out
	}
	for _, c := range []struct {
		name  string
		kinds []int
		want  int // variants that are left
	}{
		{"five layers", make([]int, 5), 2}, {"six", make([]int, 6), 1}, {"sixty", make([]int, 60), 1},
		{"another kind at the edge alone", append([]int{1}, make([]int, 30)...), 2},
		{"every second another", turns(12, 2), 1}, {"every eighth", turns(32, 8), 1}, {"every tenth", turns(40, 10), 2},
		{"every eighth of seventeen", turns(17, 8), 2}, {"every eighth of eighteen", turns(18, 8), 1},
	} {
		w := &work{p: &p, pass: &Pass{Layers: len(c.kinds)},
			layout: &Layout{Kinds: [][]Step{kind, dense}, LayerKinds: c.kinds}}
		var units []unit
		for l, k := range c.kinds {
			row := "pap"
			if k == 1 {
				row = "p"
			}
			for range row {
				w.pass.Kernels = append(w.pass.Kernels, Kernel{Layer: int32(l)})
			}
			for i, r := range readsOf(row) {
				units = append(units, unit{kernels: []int{i}, acts: r.acts, label: int32(l)})
			}
		}
		got := w.choose(units, w.layout.variants())
		if len(got) != c.want || c.want == 1 && got[0].splitGate {
			t.Errorf("%s: %+v, want %d variants, the fused products first", c.name, got, c.want)
		}
	}
}

// TestModulesTell: what module frames leave of the operators that a kernel may be.
func TestModulesTell(t *testing.T) {
	layer := "Qwen3DecoderLayer_4"
	for _, c := range []struct {
		name    string
		modules [][]string // of kernels one after the other; the last is asked for
		want    string     // the first operator it may be
		behind  bool       // norms follow the parts
	}{
		{"no frames", [][]string{nil}, "", false},
		{"the first norm", [][]string{{layer, "RMSNorm_8"}}, opname.InputNorm, false},
		{"the second norm", [][]string{{layer, "RMSNorm_8"}, {layer, "RMSNorm_9"}}, opname.PostNorm, false},
		{"the first one again", [][]string{{layer, "RMSNorm_8"}, {layer, "RMSNorm_8"}}, opname.InputNorm, false},
		{"that of another layer", [][]string{{layer, "RMSNorm_8"}, {"Qwen3DecoderLayer_5", "RMSNorm_10"}},
			opname.InputNorm, false},
		{"a norm of no layer", [][]string{{"Qwen3Model_0", "RMSNorm_60"}}, opname.FinalNorm, false},
		{"a norm by itself", [][]string{{"RMSNorm_60"}}, opname.FinalNorm, false},
		{"the third of four products", [][]string{{"A_Attention_0", "Linear_0"}, {"A_Attention_0", "Linear_1"},
			{"A_Attention_0", "Linear_3"}, {"A_Attention_0", "Linear_2"}}, opname.OProj, false},
		{"of three in attention nobody knows", [][]string{{"A_Attention_0", "Linear_0"}, {"A_Attention_0", "Linear_1"},
			{"A_Attention_0", "Linear_2"}}, opname.QKVProj, false},
		{"the last of three in a feed-forward part",
			[][]string{{"A_MLP_0", "Linear_0"}, {"A_MLP_0", "Linear_1"}, {"A_MLP_0", "Linear_2"}}, opname.DownProj,
			false},
		{"of two there", [][]string{{"A_MLP_0", "Linear_0"}, {"A_MLP_0", "Linear_1"}}, opname.GateUpProj, false},
		{"the first norm where all stand behind", [][]string{{layer, "RMSNorm_8"}}, opname.PostNorm, true},
		{"a head's product outside layers that nothing tells", [][]string{{"A_LMHead_0", "Linear_0"}}, opname.LMHead,
			false},
		{"a model with a head", [][]string{{"A_LMHeadModel_0", "A_Attention_0", "Dense_0"}}, opname.QKVProj, false},
		{"a model of attention", [][]string{{"AttentionForCausalLM_0", "Dense_0"}}, "", false},
	} {
		p := &Pass{}
		for _, m := range c.modules {
			p.Kernels = append(p.Kernels, Kernel{Modules: m})
		}
		hints := moduleHints(p, readsOf(strings.Repeat("u", len(c.modules))), c.behind)
		got := ""
		if n := len(hints); n > 0 && hints[n-1].ops != nil {
			got = hints[n-1].ops[0]
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestClassesOfModules: an instance's class is what precedes its number.
func TestClassesOfModules(t *testing.T) {
	for module, want := range map[string]string{"RMSNorm_9": "RMSNorm", "A_4": "A", "_4": "_4", "Linear": "Linear",
		"My_Linear_12": "My_Linear", "": ""} {
		if got := classOf(module); got != want {
			t.Errorf("%q: %q, want %q", module, got, want)
		}
	}
}

// TestTailsOfLayers: around an activation are the products of a feed-forward part, at either end of what comes
// after attention, too. The first is named by what shows a gate (a row by itself), that there is none (-), or neither (?).
func TestTailsOfLayers(t *testing.T) {
	p := Defaults()
	for row, want := range map[string]string{"pap": "gate_up_proj activation down_proj", "ap": "activation down_proj",
		"pa": "gate_up_proj activation", "ppap": "other gate_up_proj activation down_proj",
		"papp": "gate_up_proj activation down_proj other", "upu": "q_proj other q_proj",
		"pap-": "up_proj activation down_proj", "pap?": "gate_up_proj|up_proj activation down_proj"} {
		kernels := strings.TrimRight(row, "-?")
		w := &work{p: &p, pass: &Pass{}, reads: readsOf(kernels), placed: make([]bool, len(kernels)),
			gates: !strings.HasSuffix(row, "?"), plain: strings.HasSuffix(row, "-")}
		var tail []int
		for i := range kernels {
			w.pass.Kernels, tail = append(w.pass.Kernels, Kernel{}), append(tail, i)
			f := Found{Operator: opname.QProj, Evidence: Plan}
			if kernels[i] == 'u' {
				f.Evidence = ByDims
			}
			w.found = append(w.found, f)
		}
		w.readTail(tail)
		var got []string
		for _, f := range w.found {
			got = append(got, f.Operator)
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s: %s, want %s", row, s, want)
		}
	}
}

// TestServants: what serves others goes to the product before it, to the attention before it, to what follows, or to
// the collective beside it; of a fused operator what finishes it goes to the last, what feeds it to the first.
func TestServants(t *testing.T) {
	for _, c := range []struct{ row, want string }{
		{"pR", "p2"}, {"ptR", "p2"}, {"R", "other"}, {"tT", "t2"}, {"tpT", "t2"}, {"qp", "p1"}, {"pq", "p1"},
		{"tqp", "p1"}, {"om", "o1"}, {"omp", "o1"}, {"mp", "p1"}, {"pm", "p1"}, {"tmp", "p1"}, {"pmo", "o1"},
		{"m", "other"},
	} {
		p := Defaults()
		w := &work{p: &p, pass: &Pass{Layers: 1}, reads: readsOf(c.row), placed: make([]bool, len(c.row))}
		at := strings.IndexAny(c.row, "RTqm")
		for i := range c.row {
			w.pass.Kernels = append(w.pass.Kernels, Kernel{Name: "k"})
			w.found = append(w.found, Found{Operator: c.row[i:i+1] + "1+" + c.row[i:i+1] + "2"})
			w.placed[i] = i != at
		}
		w.found[at].Operator = opname.Other
		w.serve()
		if got := w.found[at].Operator; got != c.want {
			t.Errorf("%s: %s, want %s", c.row, got, c.want)
		}
	}
}

// unitsOf are units of layers, each a row of letters, on one stream.
func unitsOf(layers ...string) (p *Pass, units []unit) {
	p = &Pass{}
	for l, row := range layers {
		for _, r := range readsOf(row) {
			units = append(units, unit{kernels: []int{len(p.Kernels)}, acts: r.acts, label: int32(l)})
			p.Kernels = append(p.Kernels, Kernel{Layer: int32(l)})
		}
	}
	return p, units
}

// TestWhatLeadsToAttention: keys come from a low rank where they do so in most layers with a product before attention;
// a second attention crosses where products lead to it.
func TestWhatLeadsToAttention(t *testing.T) {
	const plain, low, ranked, cross, bare = "npt", "nppnpt", "npnppnpt", "nptpt", "nptt"
	for _, c := range []struct {
		layers       []string
		rank, ranked bool
		crossed      []int
	}{
		{[]string{low}, true, false, nil}, {[]string{ranked}, true, true, nil}, {[]string{plain}, false, false, nil},
		{[]string{low, plain}, false, false, nil}, {[]string{low, plain, low}, true, false, nil},
		{[]string{ranked, low, plain}, true, false, nil}, {[]string{plain, plain, ranked}, false, false, nil},
		{[]string{plain, cross, bare}, false, false, []int{1}}, {[]string{cross, plain}, false, false, []int{0}},
		{[]string{"t", "t", low}, true, false, nil},
		{[]string{"nppnxt", low, plain}, false, false, nil}, // experts lie between
	} {
		p, units := unitsOf(c.layers...)
		seen := make([]shape, len(c.layers))
		// what is in no layer that is present says nothing
		for _, label := range []int32{-1, int32(len(seen))} {
			for _, r := range readsOf("npt") {
				units = append(units, unit{kernels: []int{0}, acts: r.acts, label: label})
			}
		}
		rank, ranked := inputsOf(p, units, seen)
		if rank != c.rank || ranked != c.ranked {
			t.Errorf("%q: low rank %t, of queries %t; want %t, %t", c.layers, rank, ranked, c.rank, c.ranked)
		}
		for l := range seen {
			if seen[l].crossed != slices.Contains(c.crossed, l) {
				t.Errorf("%q: layer %d crosses: %t", c.layers, l, seen[l].crossed)
			}
		}
	}
}

// TestNormsOfSums: norms between a part and its sum, one a layer at least, are after the parts; where as many feed
// products, they end parts that a norm begins.
func TestNormsOfSums(t *testing.T) {
	for _, c := range []struct {
		row         string
		layers      int
		after, ends bool
	}{
		{"pnA", 1, true, false}, {"pnA", 2, false, false}, {"pnAnp", 1, false, true}, {"pnAxnAnp", 2, true, false},
		{"pnAnpxnAnp", 2, false, true}, {"anA", 1, false, false}, {"pna", 1, false, false}, {"pAn", 1, false, false},
	} {
		var units []unit
		for _, r := range readsOf(c.row) {
			units = append(units, unit{acts: r.acts})
		}
		if after, ends := normsOfSums(units, c.layers); after != c.after || ends != c.ends {
			t.Errorf("%s of %d layers: after %t, ends %t", c.row, c.layers, after, ends)
		}
	}
}

// TestRowsOfSharedExperts: a product, an activation and a product are of a shared expert, and so is one more after a
// product of elements; a product directly after is its gate. All others are loose.
func TestRowsOfSharedExperts(t *testing.T) {
	roles := map[rune]classify.Role{'p': classify.RoleProduct, 'a': classify.RoleActivation, 'x': classify.RoleExperts,
		'm': classify.RoleElementwise, 'u': classify.RoleOther}
	for row, want := range map[string]expertHalf{
		"p": {loose: 1}, "pp": {loose: 2}, "pap": {}, "papp": {loose: 1, gates: 1}, "pappp": {loose: 2, gates: 1},
		"papmp": {}, "papmpp": {loose: 1, gates: 1}, "papmmp": {loose: 1}, "papup": {loose: 1}, "paup": {loose: 2},
		"puap": {loose: 2}, "paap": {loose: 2}, "papap": {loose: 1}, "pmap": {loose: 2}, "ap": {loose: 1},
		"pxp": {loose: 2, front: 1}, "papxp": {loose: 1}, "papxpap": {}, "pappxp": {loose: 2, front: 1, gates: 1, frontGates: 1},
		"pxpapp": {loose: 2, front: 1, gates: 1}, "pxpxp": {loose: 3, front: 1}, "pax": {loose: 1, front: 1},
		"paxp": {loose: 2, front: 1},
	} {
		h, products := &expertHalf{}, 0
		for i, l := range row {
			h.add(i, roles[l])
			products += strings.Count("p", string(l))
		}
		got := expertHalf{loose: h.loose, front: h.front, gates: h.gates, frontGates: h.frontGates}
		if fmt.Sprint(got) != fmt.Sprint(want) || len(h.products) != products || h.experts != strings.Contains(row, "x") {
			t.Errorf("%s: %+v of %d products, want %+v", row, *h, products, want)
		}
	}
}

// TestLoopedExperts: from eight products on, behind a choice of experts and with nothing but copies between, they are of
// experts that run in a loop.
func TestLoopedExperts(t *testing.T) {
	eight := strings.Repeat("p", 8)
	for row, want := range map[string]string{ // X experts, s what serves them
		"r" + eight: "rXsssssss", "rppppppp": "rppppppp", eight: eight, "rn" + eight: "rn" + eight, "rt" + eight: "rt" + eight,
		"ru" + eight: "ruXsssssss", "rmpppmppppp": "rmXssssssss", "rppppupppp": "rppppupppp", "rppppppppp": "rXssssssss",
		"rpppprpppp": "rpppprpppp", "r" + eight + "mnp": "rXssssssssnp", "r" + eight + "u" + eight: "rXsssssssuXsssssss",
	} {
		reads := readsOf(row)
		loopedExperts(&Pass{Kernels: make([]Kernel, len(row))}, reads)
		got, first := "", 0
		for i := range reads {
			switch {
			case reads[i].acts[0] == classify.RoleExperts:
				got, first = got+"X", i
			case reads[i].serves > 0:
				got += "s"
				if reads[i].serves != first+1 {
					t.Errorf("%s: kernel %d serves %d, want %d", row, i, reads[i].serves-1, first)
				}
			default:
				got += row[i : i+1]
			}
		}
		if got != want {
			t.Errorf("%s: %s, want %s", row, got, want)
		}
	}
}
