package families

import (
	"fmt"
	"strings"

	"github.com/llmstrata/strata/internal/opname"
)

// A Served is a model as a server runs it, with the operator of each kernel: written down from the forward functions
// of the server's model code, kernel after kernel. Where a careful reader would accept several operators they are
// joined by "|".
type Served struct {
	// Name says which model and server, Config is what its config.json says of the layers.
	Name, Config string
	// Unclear: the kernels alone leave it open which of the products around experts is which.
	Unclear bool
	// Prefill and Decode are the orders of a pass with context requests, and of one with generation requests only.
	Prefill, Decode Order
	// PrefillOps and DecodeOps are the operators of the kernels of each layer.
	PrefillOps, DecodeOps [][]string
}

// AllServed returns the models of [Served], with the names that NVIDIA's libraries give kernels or, where amd is set,
// AMD's.
func AllServed(amd bool) []Served {
	all := []Served{deepSeekServed(), deepSeekLiteServed(), kimiLinearServed(), nemotronServed(),
		nemotronExpertsServed(false), nemotronExpertsServed(true), jambaServed(), qwen3NextServed(),
		qwen3NextCompiled(), sparseServed(), sparseShared(), llama4Served()}
	if !amd {
		return all
	}
	for i := range all {
		all[i].Name += ", AMD"
		for _, o := range []*Order{&all[i].Prefill, &all[i].Decode} {
			translate(o.Prologue)
			translate(o.Epilogue)
			for _, l := range o.Layers {
				translate(l)
			}
		}
	}
	return all
}

// does marks kernels as an operator's.
func does(op string, names ...string) string {
	var b strings.Builder
	for _, n := range strings.Fields(strings.Join(names, " ")) {
		fmt.Fprintf(&b, "%s@%s ", n, op)
	}
	return b.String()
}

// serve makes a Served of a function that gives the marked kernels of each layer.
func serve(name, config, prologue string, layers int, epilogue string, layer func(i int, prefill bool) string) Served {
	s := Served{Name: name, Config: config}
	make := func(prefill bool) (Order, [][]string) {
		o := order(prologue, layers, func(i int) string { return layer(i, prefill) }, epilogue)
		var ops [][]string
		for _, l := range o.Layers {
			of := []string{}
			for i, n := range l {
				name, op, _ := strings.Cut(n, "@")
				l[i] = name
				of = append(of, op)
			}
			ops = append(ops, of)
		}
		return o, ops
	}
	s.Prefill, s.PrefillOps = make(true)
	s.Decode, s.DecodeOps = make(false)
	return s
}

// Names of kernels that the models above share.
const (
	bmm      = "nvjet_tst_64x64_64x8_1x1_h_bz_NNT" // torch.bmm: nothing says that it is one for each head
	sigmoid  = "at::native::vectorized_elementwise_kernel<4,at::native::sigmoid_kernel_cuda,std::array<char*,2ul>>"
	fill     = "at::native::vectorized_elementwise_kernel<4,at::native::FillFunctor<c10::BFloat16>,std::array<char*,1ul>>"
	catArray = "at::native::CatArrayBatchedCopy<at::native::OpaqueType<2u>,unsigned,3,128,1>"
	mlaQuant = "_per_tensor_quant_mla_fp8_stage1 _per_tensor_quant_mla_fp8_stage2"
	flashMLA = "flash_fwd_splitkv_mla_kernel<Flash_fwd_kernel_traits_mla<576,64,64,8>> flash_fwd_splitkv_mla_combine_kernel<float,int,512>"
)

// noOperator accepts what has no word of its own: gates of outputs.
const noOperator = opname.Other + "|"

// enter is the norm before a layer.
func enter(i int, plain, added string) string { return does(opname.InputNorm, first(i, plain, added)) }

// fp8 is SGLang's product of block-quantised weights: the input is quantised first.
func fp8(op, sizes string) string {
	return does(op, sQuant, "deep_gemm::sm90_fp8_gemm_1d2d_impl<"+sizes+",1u,64u,128u,128u>")
}

// fp8Latent is SGLang's latent attention: expanded in a prefill, absorbed in a decode.
func fp8Latent(prefill bool) string {
	if prefill {
		return join(fp8(opname.QKVAProj, "2112u,7168u"), does(opname.QANorm, fNorm), fp8(opname.QBProj, "3072u,1536u"),
			does(opname.KVANorm, fNorm), does(opname.Rope, fRope),
			does(opname.KVWrite, "set_mla_kv_buffer_kernel"), fp8(opname.KVBProj, "4096u,512u"),
			does(opname.Attention+"|"+opname.KVBProj, "concat_mla_k_kernel"), does(opname.Attention, fa3),
			fp8(opname.OProj, "7168u,2048u"))
	}
	return join(fp8(opname.QKVAProj, "2112u,7168u"), does(opname.QANorm, fNorm), does(opname.KVANorm, fNorm),
		fp8(opname.QBProj, "3072u,1536u"), does(opname.KAbsorb, mlaQuant, bmm), does(opname.Rope, fRope),
		does(opname.KVWrite, "set_mla_kv_buffer_kernel"), does(opname.Attention, flashMLA),
		does(opname.VAbsorb, mlaQuant, bmm), fp8(opname.OProj, "7168u,2048u"))
}

// sglExperts is SGLang's Triton path, the shared expert first.
func sglExperts(shared, router string, quant bool) string {
	q := func(op string) string { return either(quant, does(op, sQuant), "") }
	return join(shared, does(opname.Router, router),
		does(opname.Routing, "moe_fused_gate_kernel<float,8,32,256>", "moe_align_block_size_kernel<int>",
			"count_and_sort_expert_tokens_kernel<int>"),
		q(opname.ExpertsGateUp), does(opname.ExpertsGateUp, expert), does(opname.ExpertsActivation, fAct),
		q(opname.ExpertsDown), does(opname.ExpertsDown, expert),
		does(opname.ExpertsCombine, "moe_sum_reduce_warp_per_token_vec_kernel<8>"), does(opname.ResidualAdd, addElem))
}

// deepSeekServed: sglang python/sglang/srt/models/deepseek_v2.py and its attention_forward_methods.
func deepSeekServed() Served {
	const config = `{"model_type":"deepseek_v3","hidden_size":7168,"num_hidden_layers":61,"num_attention_heads":128,"num_key_value_heads":128,"kv_lora_rank":512,"q_lora_rank":1536,"qk_nope_head_dim":128,"qk_rope_head_dim":64,"v_head_dim":128,
		"intermediate_size":18432,"moe_intermediate_size":2048,"n_routed_experts":256,"n_shared_experts":1,"num_experts_per_tok":8,"first_k_dense_replace":3,"vocab_size":129280,"hidden_act":"silu","torch_dtype":"bfloat16"}`
	return serve("DeepSeek-V3, SGLang, TP 8", config, join(gather, sReduce), 61, head(fAddNorm),
		func(i int, prefill bool) string {
			ffn := join(fp8(opname.GateUpProj, "4608u,7168u"), does(opname.Activation, fAct),
				fp8(opname.DownProj, "7168u,2304u"))
			if i >= 3 {
				shared := join(fp8(opname.SharedGateUp, "512u,7168u"), does(opname.SharedActivation, fAct),
					fp8(opname.SharedDown, "7168u,256u"))
				ffn = sglExperts(shared, "router_gemm_kernel_float_output<__nv_bfloat16,128,8,16,256,7168>", true)
			}
			return join(enter(i, fNorm, fAddNorm), fp8Latent(prefill), does(opname.AttnAllReduce, sReduce),
				does(opname.PostNorm, fAddNorm), ffn, does(opname.MLPAllReduce, sReduce))
		})
}

// deepSeekLiteServed: the same code without a low rank for queries, bf16 weights.
func deepSeekLiteServed() Served {
	const config = `{"model_type":"deepseek_v2","hidden_size":2048,"num_hidden_layers":27,"num_attention_heads":16,"num_key_value_heads":16,"kv_lora_rank":512,"q_lora_rank":null,"qk_nope_head_dim":128,"qk_rope_head_dim":64,"v_head_dim":128,
		"intermediate_size":10944,"moe_intermediate_size":1408,"n_routed_experts":64,"n_shared_experts":2,"num_experts_per_tok":6,"first_k_dense_replace":1,"vocab_size":102400,"hidden_act":"silu","torch_dtype":"bfloat16"}`
	return serve("DeepSeek-V2-Lite, SGLang", config, gather, 27, head(fAddNorm), func(i int, prefill bool) string {
		qkv := join(does(opname.QProj, tile("64x8_64x16_4x1")), does(opname.KVAProj, tile("64x8_kva")),
			does(opname.KVANorm, fNorm))
		core := join(does(opname.KAbsorb, bmm), does(opname.Rope, fRope),
			does(opname.KVWrite, "set_mla_kv_buffer_kernel"), does(opname.Attention, flashMLA),
			does(opname.VAbsorb, bmm))
		if prefill {
			core = join(does(opname.Rope, fRope), does(opname.KVWrite, "set_mla_kv_buffer_kernel"),
				does(opname.KVBProj, tile("128x8_kvb")), does(opname.Attention+"|"+opname.KVBProj,
					"concat_mla_k_kernel"), does(opname.Attention, fa3))
		}
		ffn := join(does(opname.GateUpProj, tile("128x8_64x12_4x1")), does(opname.Activation, fAct),
			does(opname.DownProj, tile("64x8_64x16_1x4")))
		if i >= 1 {
			shared := join(does(opname.SharedGateUp, tile("64x8_shared1")), does(opname.SharedActivation, fAct),
				does(opname.SharedDown, tile("64x8_shared2")))
			ffn = sglExperts(shared, tile("64x8_64x16_1x8"), false)
		}
		return join(enter(i, fNorm, fAddNorm), qkv, core, does(opname.OProj, tile("64x8_64x16_2x1")),
			does(opname.PostNorm, fAddNorm), ffn)
	})
}

// vllmExperts is vLLM's Triton path with the shared expert first; gate is what follows the shared expert's products.
func vllmExperts(topk, gate string) string {
	return join(does(opname.SharedGateUp, tile("64x8_shared1")), does(opname.SharedActivation, vAct),
		does(opname.SharedDown, tile("64x8_shared2")), gate,
		does(opname.Router, tile("64x8_64x16_1x8")), does(opname.Routing, topk, vAlign),
		does(opname.ExpertsGateUp, expert), does(opname.ExpertsActivation, vAct), does(opname.ExpertsDown, expert),
		does(opname.ExpertsCombine, vMoESum), does(opname.ResidualAdd, addElem))
}

// kimiLinearServed: vllm vllm/model_executor/models/kimi_linear.py and layers/kda.py.
func kimiLinearServed() Served {
	const config = `{"model_type":"kimi_linear","hidden_size":2304,"num_hidden_layers":27,"num_attention_heads":32,"num_key_value_heads":32,"head_dim":72,"kv_lora_rank":512,"q_lora_rank":null,"qk_nope_head_dim":128,"qk_rope_head_dim":64,"v_head_dim":128,
		"mla_use_nope":true,"intermediate_size":9216,"moe_intermediate_size":1024,"num_experts":256,"num_experts_per_token":8,"num_shared_experts":1,"first_k_dense_replace":1,"moe_layer_freq":1,
		"linear_attn_config":{"full_attn_layers":[4,8,12,16,20,24,27],"kda_layers":[1,2,3,5,6,7,9,10,11,13,14,15,17,18,19,21,22,23,25,26],"head_dim":128,"num_heads":32,"short_conv_kernel_size":4},"vocab_size":163840,"hidden_act":"silu","dtype":"bfloat16"}`
	full := map[int]bool{3: true, 7: true, 11: true, 15: true, 19: true, 23: true, 26: true}
	gemm := tile("64x8_64x16_4x1")
	return serve("Kimi-Linear-48B-A3B, vLLM", config, gather, 27, head(vAddNorm), func(i int, prefill bool) string {
		c := either(prefill, conv, convStep)
		core := either(prefill, join("l2norm_fwd_kernel2 l2norm_fwd_kernel2 chunk_local_cumsum_vector_kernel chunk_kda_scaled_dot_kkt_fwd_kernel_intra_sub_inter chunk_kda_scaled_dot_kkt_fwd_kernel_intra_sub_intra",
			"merge_16x16_to_64x64_inverse_kernel recompute_w_u_fwd_kernel chunk_gated_delta_rule_fwd_kernel_h_blockdim64 chunk_gla_fwd_kernel_o"), "fused_recurrent_gated_delta_rule_fwd_kernel")
		mix := join(does(opname.InProj, gemm, gemm, gemm, tile("64x8_b")),
			does(opname.InProj+"|"+opname.LinearAttention, copyEl),
			does(noOperator+opname.InProj+"|"+opname.LinearAttention, sigmoid),
			does(opname.InProj, tile("64x8_fa"), tile("64x8_fb")),
			does(opname.LinearAttention, "kda_gate_fwd_kernel"),
			does(opname.InProj+"|"+opname.GateNorm, tile("64x8_fa"), tile("64x8_fb")),
			does(opname.LinearAttention+"|"+opname.Conv1D+"|copy", fill),
			does(opname.Conv1D, c, c, c), does(opname.LinearAttention, core),
			does(opname.LinearAttention+"|"+opname.GateNorm+"|copy", copyEl),
			does(opname.GateNorm, "layer_norm_gated_fwd_kernel"), does(opname.OutProj, tile("64x8_64x16_2x1")))
		if full[i] {
			core := join(does(opname.KAbsorb, bmm), does(opname.Attention+"|"+opname.KAbsorb+"|copy", catArray),
				does(opname.Attention, flashMLA), does(opname.VAbsorb, bmm))
			if prefill {
				core = join(does(opname.KVBProj, tile("128x8_kvb")),
					does(opname.Attention+"|"+opname.KVBProj+"|copy", catArray), does(opname.Attention, fa3))
			}
			mix = join(does(opname.QProj, gemm), does(opname.KVAProj, tile("64x8_kva")), does(opname.KVANorm, vNorm),
				does(opname.KVWrite, "vllm::concat_and_cache_mla_kernel<__nv_bfloat16,__nv_bfloat16>"), core,
				does(opname.OProj, tile("64x8_64x16_2x1")))
		}
		ffn := join(does(opname.GateUpProj, tile("128x8_64x12_4x1")), does(opname.Activation, vAct),
			does(opname.DownProj, tile("64x8_64x16_1x4")))
		if i > 0 {
			ffn = vllmExperts("vllm::moe::grouped_topk_fused_kernel<float,float,int>", "")
		}
		return join(enter(i, vNorm, vAddNorm), mix, does(opname.PostNorm, vAddNorm), ffn)
	})
}

// stateSpace is vLLM's Mamba-2 mixer: layers/mamba/mamba_mixer2.py.
func stateSpace(prefill bool) string {
	core := either(prefill, "_chunk_cumsum_fwd_kernel _bmm_chunk_fwd_kernel _chunk_state_fwd_kernel _state_passing_fwd_kernel _chunk_scan_fwd_kernel", "_selective_scan_update_kernel")
	return join(does(opname.InProj, tile("128x8_64x12_2x1")), does(opname.Conv1D, either(prefill, conv, convStep)),
		does(opname.LinearAttention, core), does(opname.GateNorm, "_layer_norm_fwd_1pass_kernel"),
		does(opname.OutProj, tile("64x8_64x16_2x1_out")))
}

// plainAttention is vLLM's attention without a rotary embedding.
func plainAttention(prefill bool) string {
	return join(does(opname.QKVProj, tile("64x8_64x16_4x1")), does(opname.KVWrite, vCache),
		does(opname.Attention, fa3, either(prefill, "", fa3Join)), does(opname.OProj, tile("64x8_64x16_2x1")))
}

const relu2 = "triton_poi_fused_pow_relu_0"

// nemotronLayer is a norm and what the pattern says: a state-space mixer, attention, or else the feed-forward part.
func nemotronLayer(i int, kind byte, prefill bool, part string) string {
	switch kind {
	case 'M':
		part = stateSpace(prefill)
	case '*':
		part = plainAttention(prefill)
	}
	return join(enter(i, vNorm, vAddNorm), part)
}

// nemotronServed: vllm vllm/model_executor/models/nemotron_h.py: a layer is one norm and one thing.
func nemotronServed() Served {
	pattern := strings.Repeat("M-M-M-M*-", 6) + "M-M-M-M-"
	config := `{"model_type":"nemotron_h","hidden_size":5120,"intermediate_size":20480,"num_hidden_layers":62,"num_attention_heads":40,"num_key_value_heads":8,"head_dim":128,"hybrid_override_pattern":"` + pattern + `",
		"mamba_num_heads":128,"mamba_head_dim":80,"ssm_state_size":128,"n_groups":8,"conv_kernel":4,"mlp_hidden_act":"relu2","vocab_size":131072,"torch_dtype":"bfloat16"}`
	return serve("Nemotron-Nano-12B-v2, vLLM", config, gather, len(pattern), head(vAddNorm),
		func(i int, prefill bool) string {
			part := join(does(opname.UpProj+"|"+opname.GateUpProj, tile("128x8_64x12_4x1")),
				does(opname.Activation, relu2),
				does(opname.DownProj, tile("64x8_64x16_1x4")))
			return nemotronLayer(i, pattern[i], prefill, part)
		})
}

// nemotronExpertsServed: the same code with experts (E), the shared one after the routed ones, which may work in a
// latent space.
func nemotronExpertsServed(latent bool) Served {
	const pattern = "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME"
	into, out := "", ""
	size, name := "0", "Nemotron-3-Nano-30B-A3B, vLLM"
	if latent {
		into, out, size, name = does(opname.Dispatch, tile("64x8_fc1")), does(opname.ExpertsCombine, tile("64x8_fc2")),
			"1024", "Nemotron-3 with latent experts, vLLM"
	}
	config := `{"model_type":"nemotron_h","moe_latent_size":` + size +
		`,"hidden_size":2688,"intermediate_size":1856,"num_hidden_layers":52,"num_attention_heads":32,"num_key_value_heads":2,"head_dim":128,"hybrid_override_pattern":"` + pattern + `",
		"mamba_num_heads":64,"mamba_head_dim":64,"ssm_state_size":128,"n_groups":8,"conv_kernel":4,"mlp_hidden_act":"relu2","n_routed_experts":128,"n_shared_experts":1,"num_experts_per_tok":6,"moe_intermediate_size":1856,
		"moe_shared_expert_intermediate_size":3712,"vocab_size":131072,"torch_dtype":"bfloat16"}`
	s := serve(name, config, gather, len(pattern), head(vAddNorm), func(i int, prefill bool) string {
		part := join(does(opname.Router, tile("64x8_64x16_1x8")), into,
			does(opname.Routing, "vllm::moe::grouped_topk_fused_kernel<float,float,int>", vAlign),
			does(opname.ExpertsGateUp, expert),
			does(opname.ExpertsActivation, relu2), does(opname.ExpertsDown, expert),
			does(opname.ExpertsCombine, vMoESum), out,
			does(opname.SharedGateUp, tile("64x8_shared1")), does(opname.SharedActivation, relu2),
			does(opname.SharedDown, tile("64x8_shared2")), does(opname.ResidualAdd, addElem))
		return nemotronLayer(i, pattern[i], prefill, part)
	})
	s.Unclear = latent // products before experts and after them could be a shared expert's
	return s
}

// jambaServed: vllm vllm/model_executor/models/jamba.py and layers/mamba/mamba_mixer.py: norms and two products
// inside the mixer.
func jambaServed() Served {
	const config = `{"model_type":"jamba","hidden_size":4096,"intermediate_size":14336,"num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":8,"attn_layer_offset":4,"attn_layer_period":8,"expert_layer_offset":1,
		"expert_layer_period":2,"num_experts":16,"num_experts_per_tok":2,"mamba_d_conv":4,"mamba_d_state":16,"mamba_dt_rank":256,"mamba_expand":2,"vocab_size":65536,"hidden_act":"silu","torch_dtype":"bfloat16"}`
	return serve("Jamba-1.5-Mini, vLLM", config, gather, 32, head(vAddNorm), func(i int, prefill bool) string {
		mix := join(does(opname.InProj, tile("128x8_64x12_2x1")), does(opname.Conv1D, either(prefill, conv, convStep)),
			does(opname.InProj+"|"+opname.LinearAttention, tile("64x8_x")),
			does(opname.GateNorm+"|"+opname.LinearAttention, vNorm, vNorm, vNorm),
			does(opname.InProj+"|"+opname.LinearAttention, tile("64x8_dt")),
			does(opname.LinearAttention, either(prefill,
				"selective_scan_fwd_kernel<Selective_Scan_fwd_kernel_traits<128,16,1,true,true,true,true,c10::BFloat16>>",
				"_selective_scan_update_kernel")), does(opname.OutProj, tile("64x8_64x16_2x1_out")))
		if i%8 == 4 {
			mix = plainAttention(prefill)
		}
		ffn := join(does(opname.GateUpProj, tile("128x8_64x12_4x1")), does(opname.Activation, vAct),
			does(opname.DownProj, tile("64x8_64x16_1x4")))
		if i%2 == 1 {
			ffn = join(does(opname.Router, tile("64x8_64x16_1x8")), does(opname.Routing, vTopK, vAlign),
				does(opname.ExpertsGateUp, expert), does(opname.ExpertsActivation, vAct),
				does(opname.ExpertsDown, expert), does(opname.ExpertsCombine, vMoESum))
		}
		return join(enter(i, vNorm, vAddNorm), mix, does(opname.PostNorm, vAddNorm), ffn)
	})
}

const qwen3NextConfig = `{"model_type":"qwen3_next","hidden_size":2048,"intermediate_size":5120,"num_hidden_layers":48,"num_attention_heads":16,"num_key_value_heads":2,"head_dim":256,"full_attention_interval":4,"linear_conv_kernel_dim":4,
	"linear_key_head_dim":128,"linear_num_key_heads":16,"linear_num_value_heads":32,"linear_value_head_dim":128,"num_experts":512,"num_experts_per_tok":10,"moe_intermediate_size":512,"shared_expert_intermediate_size":512,
	"decoder_sparse_step":1,"mlp_only_layers":[],"vocab_size":151936,"hidden_act":"silu","torch_dtype":"bfloat16"}`

// gatedDelta is the gated delta rule of both servers.
func gatedDelta(prefill bool) string {
	return either(prefill, join("fused_gdn_gating_kernel l2norm_fwd_kernel l2norm_fwd_kernel chunk_local_cumsum_scalar_kernel chunk_scaled_dot_kkt_fwd_kernel merge_16x16_to_64x64_inverse_kernel",
		"recompute_w_u_fwd_kernel chunk_gated_delta_rule_fwd_kernel_h_blockdim64 chunk_fwd_kernel_o"),
		"fused_sigmoid_gating_delta_rule_update_kernel")
}

// qwen3NextServed: sglang python/sglang/srt/models/qwen3_next.py and qwen2_moe.py: the shared expert and its gate
// come first.
func qwen3NextServed() Served {
	gemma := strings.Replace(fAddNorm, "Fused", "GemmaFused", 1)
	return serve("Qwen3-Next-80B-A3B, SGLang", qwen3NextConfig, gather, 48, head(gemma),
		func(i int, prefill bool) string {
			split := either(prefill, catArray, "fused_qkvzba_split_reshape_cat_kernel")
			mix := join(does(opname.InProj, tile("64x8_64x16_qkvz"), tile("64x8_ba")),
				does(opname.InProj+"|"+opname.Conv1D+"|copy", split),
				does(opname.Conv1D, either(prefill, conv, convStep)),
				does(opname.LinearAttention, gatedDelta(prefill)),
				does(opname.GateNorm, "_layer_norm_fwd_1pass_kernel"),
				does(opname.OutProj, tile("64x8_64x16_2x1")))
			if i%4 == 3 {
				mix = join(does(opname.QKVProj, tile("64x8_64x16_4x1")), does(opname.QKNorm, fGemma, fGemma),
					does(opname.Rope, fRope), does(opname.KVWrite, sStore),
					does(opname.Attention, either(prefill, fPrefill, join(fDecode, fMerge))),
					does(noOperator+opname.Attention+"|"+opname.OProj, sigmoid, mulElem),
					does(opname.OProj, tile("64x8_64x16_2x1")))
			}
			shared := join(does(opname.SharedGateUp, tile("64x8_shared1")), does(opname.SharedActivation, fAct),
				does(opname.SharedDown, tile("64x8_shared2")), does(opname.SharedGateUp, tile("64x8_gate")),
				does(noOperator+opname.SharedDown+"|"+opname.SharedActivation+"|"+opname.SharedGateUp, sigmoid,
					mulElem))
			return join(enter(i, fGemma, gemma), mix, does(opname.PostNorm, gemma),
				sglExperts(shared, tile("64x8_64x16_1x8"), false))
		})
}

// qwen3NextCompiled: vllm vllm/model_executor/models/qwen3_next.py, compiled: the norm and rotary embedding of
// queries and keys are one kernel.
func qwen3NextCompiled() Served {
	const addNorm = "triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_0"
	return serve("Qwen3-Next-80B-A3B, vLLM, compiled", qwen3NextConfig, gather, 48,
		join(addNorm, tile("256x8_64x8_4x1"), copyEl, argmax), func(i int, prefill bool) string {
			mix := join(does(opname.InProj, tile("64x8_64x16_qkvz"), tile("64x8_ba")),
				does(opname.Conv1D, either(prefill, conv, convStep)), does(opname.LinearAttention, gatedDelta(prefill)),
				does(opname.GateNorm, "layer_norm_fwd_kernel"), does(opname.OutProj, tile("64x8_64x16_2x1")))
			if i%4 == 3 {
				mix = join(does(opname.QKVProj, tile("64x8_64x16_4x1")),
					does(opname.QKNorm+"|"+opname.Rope, "_fused_qk_rmsnorm_rope_gate_kernel"),
					does(opname.KVWrite, vCache), does(opname.Attention, fa3, either(prefill, "", fa3Join)),
					does(noOperator+opname.Attention+"|"+opname.OProj, "triton_poi_fused_mul_sigmoid_1"),
					does(opname.OProj, tile("64x8_64x16_2x1")))
			}
			gate := join(does(opname.SharedGateUp, tile("64x8_gate")),
				does(noOperator+opname.SharedDown+"|"+opname.SharedActivation+"|"+opname.SharedGateUp,
					"triton_poi_fused_mul_sigmoid_2"))
			return join(does(opname.InputNorm, addNorm), mix, does(opname.PostNorm, addNorm), vllmExperts(vTopK, gate))
		})
}

// rocm are the names that AMD's libraries give what NVIDIA's call otherwise, by their beginnings; "*" is what
// follows the beginning.
var rocm = []struct{ begin, name string }{
	{"deep_gemm::", "_gemm_a8w8_blockscale_kernel_*"},
	{"nvjet_", "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT64x16x256_MI16x16x1_SN_*"},
	{"flashinfer::norm::GemmaFused", "aiter::add_rmsnorm_quant_kernel_gemma"},
	{"flashinfer::norm::Gemma", "aiter::rmsnorm_kernel_gemma"},
	{"flashinfer::norm::Fused", "_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi256ELi8ELb1E"},
	{"flashinfer::norm::RMS", "_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi256ELi8ELb0E"},
	{"flashinfer::BatchQKApply", "rotary_embedding_kernel<c10::BFloat16,true>"},
	{"flashinfer::activation", "_ZN7sgl_hip10activation18act_and_mul_kernelI14__hip_bfloat16silu"},
	{"flashinfer::BatchPrefill", "_ZN7ck_tile6kentryILi2ENS_38FmhaBatchPrefillWithPagedKVCacheKernelE"},
	{"flashinfer::BatchDecode", "paged_attention_ll4mi_QKV_mfma16_kernel<__hip_bfloat16>"},
	{"flashinfer::Persistent", "paged_attention_ll4mi_reduce_kernel<__hip_bfloat16>"},
	{"cutlass::device_kernel<flash::FlashAttnFwdCombine", "paged_attention_ll4mi_reduce_kernel<__hip_bfloat16>"},
	{"cutlass::device_kernel<flash", "_ZN7ck_tile6kentryILi2ENS_13FmhaFwdKernelINS_17TileFmhaTraitsE"},
	{"flash_fwd_splitkv_mla_combine", "kn_mla_reduce_v1"},
	{"flash_fwd_splitkv_mla", "aiter::mla_a16w16_qh16_m16x4_n16x1_coex0_mask1"},
	{"per_token_group_quant", "aiter::dynamic_per_group_scaled_quant_kernel"},
	{"sglang::cross_device", "aiter::cross_device_reduce_1stage"}, {"moe_fused_gate", "aiter::grouped_topk_kernel"},
	{"moe_align", "ck_tile::moe_sorting_kernel"}, {"router_gemm",
		"Cijk_Alik_Bljk_BSS_BH_HA_S_SAV_UserArgs_MT16x16x512_"}, {"vllm::fused_add", "aiter::add_rmsnorm_kernel"},
	{"vllm::rms_norm", "aiter::rmsnorm_kernel"},
}

// translate gives kernels the names of AMD's libraries; what is left of a product's name keeps tiles apart.
func translate(names []string) {
	for i, n := range names {
		for _, r := range rocm {
			if rest, ok := strings.CutPrefix(n, r.begin); ok {
				names[i] = strings.Replace(r.name, "*", rest, 1)
				break
			}
		}
	}
}
