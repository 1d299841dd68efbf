package operator

import (
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/opname"
)

// TestQueriesOfLatentAttention: queries may be projected in one step where nothing decides, but not beside an indexer, which
// reads those of low rank.
func TestQueriesOfLatentAttention(t *testing.T) {
	for _, c := range []struct{ indexer, given, want bool }{{false, false, true}, {true, false, false},
		{false, true, false}} {
		s := shape{attention: true, mla: true, indexer: c.indexer}
		l := &Layout{Kinds: [][]Step{s.steps()}, LayerKinds: []int{0}, Given: c.given}
		if got := slices.ContainsFunc(l.variants(), func(v variant) bool { return v.wholeQuery }); got != c.want {
			t.Errorf("indexer %v, config %v: whole queries %v, want %v", c.indexer, c.given, got, c.want)
		}
	}
}

// TestCopiesBeforeTheLayers: a copy before a norm serves it within a layer; outside of the layers it prepares
// the pass.
func TestCopiesBeforeTheLayers(t *testing.T) {
	for layer, want := range map[int32]string{-1: opname.Prepare, 0: opname.InputNorm} {
		p := Defaults()
		w := work{p: &p, pass: &Pass{Layers: 1, Kernels: []Kernel{{Name: "Memcpy DtoD", Layer: layer},
			{Name: "rms_norm_kernel", Layer: 0}}}, placed: []bool{false, true},
			reads: []reading{{acts: []classify.Role{classify.RoleCopy}}, {acts: []classify.Role{classify.RoleNorm}}},
			found: []Found{{Layer: layer}, {Operator: opname.InputNorm}}}
		w.serve()
		if got := w.found[0]; got.Operator != want || got.Layer != layer {
			t.Errorf("a copy in layer %d is %s of layer %d, want %s", layer, got.Operator, got.Layer, want)
		}
	}
}

// TestWhatFits: outside of the layers only an addition is one of the residual stream; where experts have kernels of
// their own a plain product is none of theirs.
func TestWhatFits(t *testing.T) {
	p := Defaults()
	for _, c := range []struct {
		name    string
		a       classify.Role
		op      string
		layer   int32
		experts bool
		cost    float64 // −1: it does not fit
	}{
		{"an addition behind the layers", classify.RoleAdd, opname.ResidualAdd, -1, false, 0},
		{"a pointwise kernel behind the layers", classify.RoleElementwise, opname.ResidualAdd, -1, false, -1},
		{"one in the first layer", classify.RoleElementwise, opname.ResidualAdd, 0, false, -1},
		{"a scale", classify.RoleMultiply, opname.ResidualAdd, 0, false, p.Weak},
		{"a scale behind the layers", classify.RoleMultiply, opname.ResidualAdd, -1, false, -1},
		{"a norm", classify.RoleNorm, opname.ResidualAdd, 0, false, -1},
		{"a product of experts", classify.RoleExperts, opname.ExpertsGateUp, 0, true, 0},
		{"a plain product beside those", classify.RoleProduct, opname.ExpertsGateUp, 0, true, -1},
		{"a plain product where there are none", classify.RoleProduct, opname.ExpertsGateUp, 0, false, p.Weak},
		{"the second one", classify.RoleProduct, opname.ExpertsDown, 0, true, -1},
		{"what nobody knows", classify.RoleOther, opname.Rope, 0, false, p.Unknown},
	} {
		w := &work{p: &p, pass: &Pass{}, experts: c.experts}
		steps := []step{newStep(&Step{Op: c.op}, c.layer, 1)}
		u := unit{kernels: []int{0}, acts: []classify.Role{c.a}, scales: c.a == classify.RoleMultiply}
		if u.scales {
			u.acts[0] = folded[c.a]
		}
		end, cost, ok := w.emit(&u, steps, 0, nil)
		if !ok {
			cost = -1
		}
		if cost != c.cost || end != 0 {
			t.Errorf("%s: costs %v up to step %d, want %v", c.name, cost, end, c.cost)
		}
	}
}

// TestWaysToRunALayer: what a layer runs where its products are split, and where its shared experts run first or
// second.
func TestWaysToRunALayer(t *testing.T) {
	dense := []Step{must(opname.InputNorm), {Op: opname.QKVProj,
		Or: []Step{must(opname.QProj), must(opname.KProj), must(opname.VProj)}}, must(opname.QKNorm), must(opname.Rope),
		must(opname.Attention),
		{Op: opname.GateUpProj, Or: []Step{must(opname.GateProj), must(opname.UpProj)}}, must(opname.Activation),
		must(opname.DownProj)}
	experts := []Step{must(opname.PostNorm), must(opname.Router), opt(opname.Routing), must(opname.ExpertsGateUp),
		must(opname.ExpertsDown), must(opname.SharedGateUp), opt(opname.SharedActivation), must(opname.SharedDown),
		opt(opname.MLPAllReduce)}
	scan := []Step{{Op: opname.InProj, Or: []Step{must(opname.InProj), must(opname.InProj)}},
		must(opname.LinearAttention)}
	for _, c := range []struct {
		name string
		kind []Step
		v    variant
		want string // optional ones in parentheses
	}{
		{"whole products", dense, variant{}, "input_norm qkv_proj (rope) qk_norm rope attention gate_up_proj activation down_proj"},
		{"split queries", dense, variant{splitQKV: true},
			"input_norm q_proj (qk_norm) k_proj (qk_norm) v_proj (rope) qk_norm rope attention gate_up_proj activation down_proj"},
		{"split gates", dense, variant{splitGate: true},
			"input_norm qkv_proj (rope) qk_norm rope attention gate_proj (activation) up_proj activation down_proj"},
		{"both", dense, variant{splitQKV: true, splitGate: true, splitIn: true},
			"input_norm q_proj (qk_norm) k_proj (qk_norm) v_proj (rope) qk_norm rope attention gate_proj (activation) up_proj activation down_proj"},
		{"whole input", scan, variant{splitQKV: true}, "in_proj linear_attention"},
		{"split input", scan, variant{splitIn: true}, "in_proj in_proj linear_attention"},
		{"shared experts last", experts, variant{}, "post_norm router (routing) experts_gate_up experts_down shared_gate_up (shared_activation) shared_down (mlp_all_reduce)"},
		{"first", experts, variant{sharedFirst: true},
			"post_norm shared_gate_up (shared_activation) shared_down router (routing) experts_gate_up experts_down (mlp_all_reduce)"},
		{"second", experts, variant{sharedSecond: true},
			"post_norm router shared_gate_up (shared_activation) shared_down (routing) experts_gate_up experts_down (mlp_all_reduce)"},
		{"none to move", dense, variant{sharedFirst: true},
			"input_norm qkv_proj (rope) qk_norm rope attention gate_up_proj activation down_proj"},
	} {
		var got []string
		for _, s := range c.v.apply(c.kind) {
			if s.Optional {
				s.Op = "(" + s.Op + ")"
			}
			got = append(got, s.Op)
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, s, c.want)
		}
	}
}
