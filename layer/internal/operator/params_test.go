package operator_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/opname"
	"github.com/llmstrata/strata/layer/internal/operator"
)

// kernels writes a pass of one layer: names, separated by spaces.
func kernels(layer int32, names string) []operator.Kernel {
	var out []operator.Kernel
	for _, n := range strings.Fields(names) {
		out = append(out, operator.Kernel{Name: n, Layer: layer})
	}
	return out
}

// plan is a layout of n equal layers; a name in parentheses is optional.
func plan(n int, names string) *operator.Layout {
	var kind []operator.Step
	for _, s := range strings.Fields(names) {
		name := strings.Trim(s, "()")
		kind = append(kind, operator.Step{Op: name, Optional: name != s})
	}
	return &operator.Layout{Given: true, Kinds: [][]operator.Step{kind}, LayerKinds: make([]int, n)}
}

// answers joins operators, confidences and layers.
func answers(found []operator.Found) string {
	var out []string
	for _, f := range found {
		out = append(out, fmt.Sprintf("%s %.2f layer %d", f.Operator, f.Confidence, f.Layer))
	}
	return strings.Join(out, ", ")
}

// scenario is a case that one parameter decides.
type scenario struct {
	layout  *operator.Layout
	kernels []operator.Kernel
	layers  int
	other   any // a value of the parameter with which the answer is another
}

func set(list []operator.Kernel, change func(i int, k *operator.Kernel)) []operator.Kernel {
	for i := range list {
		change(i, &list[i])
	}
	return list
}

func inRotary(_ int, k *operator.Kernel) { k.Modules = []string{"RotaryEmbedding_0"} }

func withShape(l *operator.Layout, sizes ...int) *operator.Layout {
	for i := range l.Kinds[0] {
		l.Kinds[0][i].K, l.Kinds[0][i].N = sizes[2*i], sizes[2*i+1]
	}
	return l
}

// scenarios has one for every parameter.
func scenarios() map[string]scenario {
	one := func(layout, names string, other any) scenario {
		return scenario{plan(1, layout), kernels(0, names), 1, other}
	}
	hinted := func(other any) scenario { // a product that its frames call a rotary embedding
		return scenario{plan(1, opname.QKVProj), set(kernels(0, "gemm"), inRotary), 1, other}
	}
	shifted := scenario{layout: plan(5, "qkv_proj attention"), layers: 5, other: 3}
	for l := range int32(5) {
		shifted.kernels = append(shifted.kernels, kernels(max(0, l-3), "gemm flash_fwd")...)
	}
	beside := scenario{withShape(plan(1, "gate_up_proj down_proj"), 64, 200, 200, 64),
		set(kernels(0, "gemm gemm"), func(i int, k *operator.Kernel) {
			if k.Stream = int32(i); i == 0 {
				k.K, k.N = 64, 200
			}
		}), 1, 0.0}
	votes := scenario{layout: plan(5, "(gate_proj) (up_proj) attention"), layers: 5, other: 0.7}
	for l := range int32(5) {
		ks := kernels(l, "gemm flash_fwd")
		if l < 2 {
			ks[0].K, ks[0].N = 4, 40
		} else {
			ks[0].K, ks[0].N = 4, 80
		}
		votes.kernels = append(votes.kernels, ks...)
	}
	withShape(votes.layout, 4, 40, 4, 80, 0, 0)
	streams := scenario{plan(2, "input_norm qkv_proj attention"),
		append(kernels(0, "rmsnorm gemm flash_fwd"), kernels(1, "rmsnorm gemm flash_fwd")...), 2, 0.9}
	streams.kernels = append(streams.kernels, set(kernels(0, "rmsnorm gemm flash_fwd"),
		func(_ int, k *operator.Kernel) { k.Stream = 1 })...)
	halves := scenario{layers: 4, other: 1} // the labels of four layers of two halves are off by one half
	for l := range int32(4) {
		halves.kernels = append(halves.kernels, kernels(l, "rmsnorm gemm flash_fwd gemm")...)
		halves.kernels = append(halves.kernels, kernels(min(l+1, 3), "rmsnorm gemm silu gemm")...)
	}
	shape := scenario{withShape(plan(1, "up_proj down_proj"), 64, 200, 200, 64),
		set(kernels(0, "gemm"), func(_ int, k *operator.Kernel) { k.K, k.N = 200, 64 }), 1, 0.0}
	byShape := shape
	byShape.other = float32(0.5)
	rotary := scenario{plan(1, "(rope)"), set(kernels(0, "rotary"), inRotary), 1, float32(0.5)}
	order := one("qkv_proj attention", "gemm flash_fwd", float32(0.5))
	order.layout.Given = false
	return map[string]scenario{
		"SkipProduct":  hinted(4.0),
		"ExtraProduct": hinted(5.0),
		"Miss":         hinted(4.0),
		"SkipSmall":    one("qkv_proj input_norm", "gemm mystery", 0.2),
		"ExtraSmall":   one("qkv_proj input_norm", "gemm mystery", 0.4),
		"Unknown":      one("qkv_proj input_norm", "gemm mystery", 2.0),
		"SkipOptional": one("qkv_proj (rope)", "gemm mystery", 0.5),
		"Weak":         one("gate_up_proj activation", "gemm at::native::elementwise_kernel", 2.0),
		"Again":        one("(qk_norm)", "rmsnorm rmsnorm", 1.5),
		"AgainProduct": one("qkv_proj", "gemm gemm", 3.5),
		"Back":         one("(rope) (kv_write) attention", "store_kvcache rotary flash_fwd", 1.5),
		"BackProduct":  one("(q_proj) attention (o_proj)", "gemm flash_fwd gemm flash_fwd", 5.0),
		"MaxBack":      one("(rope) (kv_write) attention", "store_kvcache rotary flash_fwd", 0),
		"Shape":        shape,
		"Band":         shifted,
		"Taken":        beside,
		"Votes":        votes,
		"Streams":      streams,
		"Halves":       halves,
		"ByModule":     rotary,
		"ByShape":      byShape,
		"ByPlan":       one("qkv_proj attention", "gemm flash_fwd", float32(0.5)),
		"ByOrder":      order,
		"ByWeak":       one("gate_up_proj activation", "gemm at::native::elementwise_kernel", float32(0.5)),
	}
}

// TestEveryParameterDecides has a case for each number whose answer another value changes.
func TestEveryParameterDecides(t *testing.T) {
	cases := scenarios()
	typ := reflect.TypeFor[operator.Params]()
	for i := range typ.NumField() {
		name := typ.Field(i).Name
		s, ok := cases[name]
		if !ok {
			t.Errorf("%s: no case; a number that decides needs one", name)
			continue
		}
		run := func(p operator.Params) string {
			return answers(operator.NewFinder(s.layout, p).Find(operator.Pass{Kernels: s.kernels, Layers: s.layers}))
		}
		p := operator.Defaults()
		before := run(p)
		reflect.ValueOf(&p).Elem().Field(i).Set(reflect.ValueOf(s.other).Convert(typ.Field(i).Type))
		if after := run(p); after == before {
			t.Errorf("%s: %v and %v both give %s; want another answer", name,
				reflect.ValueOf(operator.Defaults()).Field(i), s.other, before)
		}
	}
}

// TestAnswersBySmallCases holds what each kind of evidence and each part gives.
func TestAnswersBySmallCases(t *testing.T) {
	for _, tt := range []struct{ name, layout, kernels, want string }{
		{"fused norm", "(residual_add) input_norm qkv_proj attention o_proj (residual_add) post_norm",
			"rmsnorm gemm flash_fwd gemm fused_add_rmsnorm",
			"input_norm, qkv_proj, attention, o_proj, residual_add+post_norm"},
		{"all-reduce with norm", "o_proj (attn_all_reduce) (residual_add) post_norm gate_up_proj",
			"gemm allreduce_fusion_rmsnorm gemm", "o_proj, attn_all_reduce+residual_add+post_norm, gate_up_proj"},
		{"rope with cache", "qkv_proj (qk_norm) (rope) (kv_write) attention", "gemm fused_rope_store_kernel flash_fwd",
			"qkv_proj, rope+kv_write, attention"},
		{"split-k", "qkv_proj attention o_proj", "gemm splitKreduce_kernel flash_fwd gemm",
			"qkv_proj, qkv_proj, attention, o_proj"},
		{"split attention", "qkv_proj attention o_proj", "gemm flash_fwd FlashAttnFwdCombine gemm",
			"qkv_proj, attention, attention, o_proj"},
		{"quantised input", "input_norm qkv_proj attention", "rmsnorm per_token_group_quant_8bit_kernel gemm flash_fwd",
			"input_norm, qkv_proj, qkv_proj, attention"},
		{"copies of an all-reduce", "o_proj (attn_all_reduce) post_norm",
			"gemm Memcpy cross_device_reduce_1stage Memcpy rmsnorm",
			"o_proj, attn_all_reduce, attn_all_reduce, attn_all_reduce, post_norm"},
		{"sum of the embedding", "embed input_norm qkv_proj attention",
			"indexSelect cross_device_reduce_1stage rmsnorm gemm flash_fwd",
			"embed, embed, input_norm, qkv_proj, attention"},
		{"nothing known", "qkv_proj attention", "gemm mystery flash_fwd", "qkv_proj, other, attention"},
		{"a copy on the GPU serves what follows", "qkv_proj attention o_proj", "gemm MemcpyDtoD flash_fwd gemm",
			"qkv_proj, attention, attention, o_proj"},
		{"a copy from the host serves nobody that is known", "qkv_proj attention o_proj",
			"gemm MemcpyHtoD flash_fwd gemm", "qkv_proj, other, attention, o_proj"},
		{"gates of a scan", "in_proj (in_proj) (conv1d) linear_attention out_proj",
			"gemm kda_gate_fwd_kernel gemm causal_conv1d l2norm_fwd_kernel chunk_scan_fwd gemm",
			"in_proj, linear_attention, in_proj, conv1d, linear_attention, linear_attention, out_proj"},
		{"gates without a scan", "qkv_proj attention o_proj", "gemm l2norm_fwd_kernel flash_fwd gemm",
			"qkv_proj, other, attention, o_proj"},
		{"the keys' norm behind the queries' product", "qkv_a_proj q_a_norm kv_a_norm q_b_proj attention",
			"gemm rmsnorm gemm rmsnorm flash_fwd", "qkv_a_proj, q_a_norm, q_b_proj, kv_a_norm, attention"},
		{"the keys' norm before it", "qkv_a_proj q_a_norm kv_a_norm q_b_proj attention",
			"gemm rmsnorm rmsnorm gemm flash_fwd", "qkv_a_proj, q_a_norm, kv_a_norm, q_b_proj, attention"},
		{"cache before the products of heads", "q_proj (rope) k_absorb (kv_write) attention v_absorb",
			"gemm rotary concat_and_cache_mla gemm flash_fwd_splitkv_mla gemm",
			"q_proj, rope, kv_write, k_absorb, attention, v_absorb"},
		{"cache behind them", "q_proj (rope) k_absorb (kv_write) attention v_absorb",
			"gemm gemm rotary set_mla_kv_buffer flash_fwd_splitkv_mla gemm",
			"q_proj, k_absorb, rope, kv_write, attention, v_absorb"},
		{"quantised for the products of heads", "q_b_proj (k_absorb) attention",
			"gemm _per_tensor_quant_mla_fp8_stage1 gemm flash_fwd_splitkv_mla",
			"q_b_proj, k_absorb, k_absorb, attention"},
		{"norm and rotary embedding of an indexer", "qkv_a_proj q_a_norm kv_a_norm q_b_proj (rope) indexer indexer indexer indexer_topk k_absorb attention v_absorb",
			"gemm rmsnorm rmsnorm gemm gemm gemm layer_norm rotary hadamard mqa_logits topk_transform gemm rotary " +
				"flash_fwd_splitkv_mla gemm",
			"qkv_a_proj, q_a_norm, kv_a_norm, q_b_proj, indexer, indexer, indexer, indexer, indexer, indexer, indexer_topk, " +
				"k_absorb, rope, attention, v_absorb"},
		{"an indexer behind the absorbed keys", "qkv_a_proj q_a_norm kv_a_norm q_b_proj (rope) indexer indexer indexer_topk k_absorb attention v_absorb",
			"gemm gemm rmsnorm rmsnorm gemm gemm gemm mqa_logits topKPerRowDecode flash_fwd_splitkv_mla gemm",
			"qkv_a_proj, indexer, q_a_norm, kv_a_norm, q_b_proj, k_absorb, indexer, indexer, indexer_topk, attention, v_absorb"},
		{"shared experts behind the router", "router (routing) experts_gate_up experts_down shared_gate_up shared_activation shared_down", "gemm gemm silu gemm topk_softmax fused_moe_kernel fused_moe_kernel",
			"router, shared_gate_up, shared_activation, shared_down, routing, experts_gate_up, experts_down"},
		{"shared experts before it", "router (routing) experts_gate_up experts_down shared_gate_up shared_activation shared_down", "gemm silu gemm gemm topk_softmax fused_moe_kernel fused_moe_kernel",
			"shared_gate_up, shared_activation, shared_down, router, routing, experts_gate_up, experts_down"},
		{"norms of what is rotated", "qkv_proj (qk_norm) (rope) attention", "gemm rotary qknorm flash_fwd",
			"qkv_proj, rope, qk_norm, attention"},
		{"one product too many", "qkv_proj attention o_proj", "gemm flash_fwd gemm topk_transform",
			"qkv_proj, attention, o_proj, other"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, f := range operator.NewFinder(plan(1, tt.layout),
				operator.Defaults()).Find(operator.Pass{Kernels: kernels(0, tt.kernels), Layers: 1}) {
				got = append(got, f.Operator)
			}
			if s := strings.Join(got, ", "); s != tt.want {
				t.Errorf("operators\n got %s\nwant %s", s, tt.want)
			}
		})
	}
}

// TestHostilePassesAreGivenUp: a pass of impossible length has no operators, and takes no memory.
func TestHostilePassesAreGivenUp(t *testing.T) {
	layout := plan(2, strings.Repeat("input_norm qkv_proj attention o_proj ", 12))
	for _, n := range []int{1000, 100_000} {
		var ks []operator.Kernel
		for i := range n {
			ks = append(ks, operator.Kernel{Name: "gemm", Layer: int32(2 * i / n)})
		}
		found := operator.NewFinder(layout, operator.Defaults()).Find(operator.Pass{Kernels: ks, Layers: 2})
		placed := 0
		for _, f := range found {
			if f.Operator != opname.Other {
				placed++
			}
		}
		if (placed > 0) != (n == 1000) {
			t.Errorf("%d of %d kernels have an operator, want some of 1000 and none of a hundred thousand", placed, n)
		}
	}
}
