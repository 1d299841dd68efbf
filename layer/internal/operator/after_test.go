package operator_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/llmstrata/strata/layer/internal/operator"
)

// TestFeedForwardTwice: after the attention of a layer with two streams no product is one that the next attention
// reads where an activation is between; what surrounds an activation is a feed-forward part, of low confidence.
func TestFeedForwardTwice(t *testing.T) {
	const front, steps = "fused_add_rms_norm gemm gemm gemm gemm gemm gemm rotary flash_fwd ",
		"(residual_add) input_norm q_proj k_proj v_proj (rope) attention o_proj (residual_add) post_norm gate_up_proj activation down_proj"
	for _, c := range []struct{ name, layer, want string }{
		{"two streams", front + "gemm fused_add_rms_norm gemm fused_add_rms_norm gemm gemm gelu gemm fused_add_rms_norm " +
			"gemm gemm gelu gemm", "o_proj 0.9, residual_add+post_norm 0.9, other 0.0, residual_add+post_norm 0.9, other 0.0, gate_up_proj 0.6, activation 0.6, down_proj 0.6, residual_add+input_norm 0.9, other 0.0, gate_up_proj 0.6, activation 0.6, down_proj 0.6"},
		{"one", front + "gemm fused_add_rms_norm gemm gelu gemm",
			"o_proj 0.9, residual_add+post_norm 0.9, gate_up_proj 0.9, activation 0.9, down_proj 0.9"},
	} {
		var ks []operator.Kernel
		for l := range int32(4) {
			ks = append(ks, kernels(l, c.layer)...)
		}
		ks = append(ks, kernels(-1, "fused_add_rms_norm gemm")...)
		n := len(strings.Fields(c.layer))
		var got []string
		for i, f := range operator.NewFinder(plan(4, steps),
			operator.Defaults()).Find(operator.Pass{Kernels: ks, Layers: 4})[n : 2*n] {
			if i >= len(strings.Fields(front)) {
				got = append(got, fmt.Sprintf("%s %.1f", f.Operator, f.Confidence))
			}
		}
		if s := strings.Join(got, ", "); s != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, s, c.want)
		}
	}
}

// TestTwoProductsBehindAttention: which of two products in a row is the output projection the order alone shows
// weakly, a config or anything between them clearly.
func TestTwoProductsBehindAttention(t *testing.T) {
	const steps = "input_norm qkv_proj attention o_proj (post_norm) gate_up_proj activation down_proj"
	for _, c := range []struct {
		tail   string
		layout *operator.Layout
		want   string
	}{
		{"gemm gemm silu gemm", nil, "o_proj 0.6, gate_up_proj|up_proj 0.6, activation 0.9, down_proj 0.9"},
		{"gemm fused_add_rms_norm gemm silu gemm", nil,
			"o_proj 0.9, residual_add+post_norm 0.9, gate_up_proj|up_proj 0.9, activation 0.9, down_proj 0.9"},
		{"gemm gemm silu gemm", plan(4, steps), "o_proj 0.9, gate_up_proj 0.9, activation 0.9, down_proj 0.9"},
		{"gemm", nil, "o_proj 0.9"},
	} {
		var ks []operator.Kernel
		for l := range int32(4) {
			ks = append(ks, kernels(l, "fused_add_rms_norm gemm flash_fwd "+c.tail)...)
		}
		var got []string
		for _, f := range operator.NewFinder(c.layout,
			operator.Defaults()).Find(operator.Pass{Kernels: ks, Layers: 4})[len(ks)-len(strings.Fields(c.tail)):] {
			got = append(got, fmt.Sprintf("%s %.1f", f.Operator, f.Confidence))
		}
		if s := strings.Join(got, ", "); s != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.tail, s, c.want)
		}
	}
}

// TestBesideTheLane: a kernel on another stream has the step of its layer that no kernel of the lane has, however
// many steps precede it.
func TestBesideTheLane(t *testing.T) {
	ks := set(kernels(0, "fused_add_rms_norm gemm flash_fwd gemm fused_add_rms_norm gemm silu gemm"),
		func(_ int, k *operator.Kernel) {
			if k.Name == "silu" {
				k.Stream = 1
			}
		})
	var got []string
	for _, f := range operator.NewFinder(plan(1, "input_norm qkv_proj attention o_proj post_norm gate_up_proj activation down_proj"), operator.Defaults()).Find(operator.Pass{Kernels: ks, Layers: 1}) {
		got = append(got, f.Operator)
	}
	if s, want := strings.Join(got, " "), "input_norm qkv_proj attention o_proj post_norm gate_up_proj activation down_proj"; s != want {
		t.Errorf("%s, want %s", s, want)
	}
}
