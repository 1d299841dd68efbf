package classify

// memoryOps are the activities that are memory operations by kind. They come
// first: their names are the profiler's, not a programmer's.
func memoryOps() []Rule {
	return []Rule{
		{ID: "memory.memcpy", Title: "memcpy activity", Category: CategoryMemory, Subcategory: "memcpy", When: Pattern{Family: []Family{FamilyMemcpy}}},
		{ID: "memory.memset", Title: "memset activity", Category: CategoryMemory, Subcategory: "memset", When: Pattern{Family: []Family{FamilyMemset}}},
		// Joins the position-free and rotary halves of MLA's keys or queries;
		// it must not be taken for attention by its "mla".
		{ID: "memory.concat_mla", Title: "concatenation of MLA halves", Category: CategoryMemory, Subcategory: "concat", When: Pattern{
			Function: words("concat_mla*"),
		}},
	}
}

// memoryRules are kernels that only move data. They stand below every rule
// that knows what the data is.
func memoryRules() []Rule {
	m := func(id, title, sub string, p Pattern) Rule {
		return Rule{ID: id, Title: title, Category: CategoryMemory, Subcategory: sub, When: p}
	}
	return []Rule{
		m("memory.concat", "concatenation, split, stack", "concat", Pattern{
			Function: words("CatArray*", "cat", "*_cat", "concat*", "*concat", "chunk_cat*", "split_with_sizes*", "stack", "*concat_kernel*"),
		}),
		m("memory.scatter", "scatter, indexed write", "scatter", Pattern{
			Function: words("*scatter*", "index_put*", "index_copy*", "index_fill*", "index_add*", "indexFunc*", "indexing_backward*", "index_put*"),
		}),
		m("memory.embedding", "embedding lookup", "gather", Pattern{
			Function: words("*embedding*", "*indexSelect*", "vectorized_gather*", "*embed_tokens*", "embs", "*_embs"),
		}),
		// Embedding lookups and their gradients are gathers and scatters of
		// rows; fbgemm's split_embedding_* are both.
		m("memory.gather", "gather, embedding lookup", "gather", Pattern{
			Function: words("*gather*", "index_select*", "index_kernel*", "index", "take", "lookup*", "*_lookup"),
		}),
		m("memory.copy", "copy or cast", "copy", Pattern{
			Function: words("direct_copy*", "*copy_kernel*", "copy", "*_copy", "*memcpy*", "copy_*", "*copyfunctor*", "*copy_device*"),
		}),
		m("memory.transpose", "transpose, permute, layout change", "transpose", Pattern{
			Function: words("*transpose*", "*permute*", "*nchwToNhwc*", "*nhwcToNchw*", "*im2col*", "*col2im*", "*nchwToFoldedNhwc*", "*relayout*", "tensorTransform*", "*unshuffle*", "*pixel_shuffle*", "roll", "roll_cuda*", "flip*", "*merge_layout*"),
		}),
		m("memory.pad", "padding, packing, upsampling", "pad", Pattern{
			Function: words("pad", "*_pad", "*_padding*", "pack", "unpack", "packed", "*reflection_pad*", "*replication_pad*", "*upsample*", "pad_sequence*", "unpad*", "scalePackedTensor*", "repeat_interleave*", "*broadcast_kernel*"),
		}),
		m("memory.fill", "buffer fill", "fill", Pattern{
			Function: words("memset*", "zero", "zeros", "zero_*", "*_zero", "*zero_buffer*", "*fillBuffer*", "*clear_buffer*", "*zero_fill*", "*fill_zero*", "setOutputZero*", "memZero*"),
		}),
	}
}
