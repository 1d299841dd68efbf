package classify

// memoryOps are the activities that are memory operations by kind. They come
// first: their names are the profiler's, not a programmer's.
func memoryOps() []Rule {
	return []Rule{
		{ID: "memory.memcpy", Title: "memcpy activity", Category: CategoryMemory, Subcategory: "memcpy", When: Pattern{Family: []Family{FamilyMemcpy}}},
		{ID: "memory.memset", Title: "memset activity", Category: CategoryMemory, Subcategory: "memset", When: Pattern{Family: []Family{FamilyMemset}}},
	}
}

// memoryRules are kernels that only move data. They stand below every rule
// that knows what the data is.
func memoryRules() []Rule {
	return []Rule{
		{ID: "memory.copy", Title: "copy or cast", Category: CategoryMemory, Subcategory: "copy", When: Pattern{
			Function: words("direct_copy*", "*copy_kernel_cuda", "copy", "memcpy*", "copy_functor", "*copy_device_to_device*", "copy_kernel*", "*copy_blocks*"),
			None:     words("metadata"),
		}},
		{ID: "memory.concat", Title: "concatenation, split, stack", Category: CategoryMemory, Subcategory: "concat", When: Pattern{
			Function: words("CatArray*", "cat", "concat*", "chunk_cat*", "split_with_sizes*", "*concat_kernel", "stack"),
		}},
		{ID: "memory.gather", Title: "gather, embedding lookup", Category: CategoryMemory, Subcategory: "gather", When: Pattern{
			Function: words("*gather*", "index_select*", "*indexSelect*", "index_kernel*", "index", "*embedding*", "embeddings", "embs", "take", "lookup*", "*embedding_bag*"),
			None:     words("*backward*"),
		}},
		{ID: "memory.scatter", Title: "scatter, indexed write", Category: CategoryMemory, Subcategory: "scatter", When: Pattern{
			Function: words("*scatter*", "index_put*", "index_copy*", "index_fill*", "index_add*", "indexFunc*", "masked_scatter*", "indexing_backward*"),
		}},
		{ID: "memory.transpose", Title: "transpose, permute, layout change", Category: CategoryMemory, Subcategory: "transpose", When: Pattern{
			Function: words("*transpose*", "*permute*", "nchw_to_nhwc*", "nhwc_to_nchw*", "*nchwToNhwc*", "*nhwcToNchw*", "*im2col*", "*col2im*", "batched_transpose*", "shuffle*", "*nchwToFoldedNhwc*", "*relayout*", "tensorTransform*"),
		}},
		{ID: "memory.pad", Title: "padding, packing", Category: CategoryMemory, Subcategory: "pad", When: Pattern{
			Function: words("*_pad", "pad", "*padding*", "pack", "unpack", "pack_*", "unpack_*", "roll_cuda*", "roll", "flip", "*replication_pad*"),
		}},
		{ID: "memory.fill", Title: "buffer fill", Category: CategoryMemory, Subcategory: "fill", When: Pattern{
			Function: words("memset*", "zero", "zero_*", "*zero_buffer*", "*fillBuffer*", "init_*zero*", "*clear_buffer*"),
		}},
	}
}
