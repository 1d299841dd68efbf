package classify

// samplingFirst are the sampling kernels whose other words would mislead: a
// top-k/top-p kernel is no expert routing, a temperature softmax no attention
// score, "renorm" no norm.
func samplingFirst() []Rule {
	return []Rule{
		sampling("sampling.scope", "sampling library", "sampling", Pattern{
			Scope: words("sampling", "samplingTopK*", "samplingTopP*", "speculative_decoding", "mtp", "eagle*"),
			None:  words("*gemm*", "*attention*"),
		}),
		sampling("sampling.probs", "probabilities and logits", "sampling", Pattern{
			Function: words("*sampling*", "*top_k_top_p*", "*topktopp*", "*top_p*", "*topp_*", "*min_p_*", "*renorm_prob*", "*mask_logits*", "*token_bitmask*", "*grammar*", "*topk_log_softmax*", "*softcap*", "*temperature*", "*penalt*", "*multinomial*", "*gumbel*", "*ban_bad_words*", "*ban_repeat*", "*logit_bias*", "*addBiasSoftMax*", "*logprob*", "*log_probs*", "*topk_topp*", "*bad_words*", "*min_tokens*"),
			None:     words("*moe*", "*attention*", "*routing*"),
		}),
		sampling("sampling.speculative", "speculative decoding", "speculative", Pattern{
			Function: words("*rejection*", "*rejected*", "*speculative*", "*eagle*", "*draft*", "verify*", "*_verify*", "*verified*", "*build_tree*", "*tree_mask*", "*spec_info*", "*recovered_tokens*", "*accepted*", "*acceptDraft*", "*accept_draft*", "*ngram*", "*medusa*", "*beam*"),
			None:     words("*attention*", "*attn*", "*kvcache*", "*fmha*", "*mla*", "*gemm*", "*conv*", "*norm*", "*kv_indices*"),
		}),
		// vLLM's rejection sampler expands per-request values to tokens with a
		// kernel of just this name.
		sampling("sampling.expand", "expansion to draft tokens", "speculative", Pattern{Exact: words("expand_kernel")}),
		// Sampling draws -log(u) or uniform numbers with PyTorch's generators.
		sampling("sampling.random", "random numbers", "random", Pattern{
			Function: words("exponential_kernel*", "uniform_kernel*", "uniform_and_transform*", "random_*", "normal_kernel*", "normal_and_transform*", "bernoulli*", "curand*", "*philox*", "sample_multinomial*"),
			None:     words("*dropout*"),
		}),
		sampling("sampling.metadata", "step metadata", "prepare", Pattern{
			Function: words("normal_decode_set_metadata*", "*req_to_token*", "*slot_mapping*", "*_cache_loc*", "*cache_locs*", "*last_loc*", "*metadata_copy*", "*page_table*", "*block_table*", "*lora_a_ptr*"),
			None:     words("*attention*", "*mla*"),
		}),
	}
}

// samplingRules are the preparation of a step's inputs and what is left of
// sampling.
func samplingRules() []Rule {
	return []Rule{
		sampling("sampling.word", "token sampling", "sampling", Pattern{
			Function: words("*sample", "*sample_*", "*sampled*", "*sampler*", "*logits*"),
			None:     words("*upsample*", "*downsample*"),
		}),
		sampling("sampling.prepare", "input preparation", "prepare", Pattern{
			Function: words("*token_ids*", "*position", "*positions", "*position_*", "alloc_*", "*prepare_input*", "prepare_*", "*seq_lens*", "*seqlens*", "*cu_seqlens*", "*metadata*", "*future*", "*input_batch*", "*input_ids*", "post_update*", "*_batch_info*", "*block_ids*", "*kv_lens*", "*seqlen*", "*update_state*", "*request_states*", "*idx_mapping*", "*cumlen*"),
		}),
	}
}

func sampling(id, title, sub string, p Pattern) Rule {
	return Rule{ID: id, Title: title, Category: CategorySamplingIO, Subcategory: sub, When: p}
}
