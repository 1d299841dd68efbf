package classify

// communicationRules are exchanges between GPUs. Whole words only: "combine"
// and "dispatch" alone belong to many kernels that talk to nobody
// (_combined_routing_compute is MoE routing), so they count only in the
// namespaces of libraries that move tokens between GPUs.
func communicationRules() []Rule {
	comm := func(id, title, sub string, p Pattern) Rule {
		return Rule{ID: id, Title: title, Category: CategoryCommunication, Subcategory: sub, When: p, Refine: collectiveKind}
	}
	return []Rule{
		comm("comm.nccl", "NCCL, RCCL, MSCCL++, NVSHMEM", "", Pattern{Family: []Family{FamilyNCCL}}),
		comm("comm.deep_ep", "DeepEP expert dispatch and combine", "", Pattern{Family: []Family{FamilyDeepEP}}),
		comm("comm.ep_scope", "expert-parallel exchange", "", Pattern{
			Scope: words("internode*", "intranode*", "deep_ep", "moe_comm", "moe_alltoall", "fused_moe_impl_comm", "mnnvl*", "uccl", "pplx", "mori"),
		}),
		comm("comm.allreduce", "all-reduce, also fused with a norm", "all_reduce", Pattern{
			Function: words("*allreduce*", "cross_device_reduce*", "multimem_all_reduce*", "*one_shot_all_reduce*", "*two_shot_all_reduce*", "oneshot_ar*", "ar_fusion*", "*reduce_scatter_allgather*", "quickreduce*", "quick_reduce*", "*oneshotallreduce*", "*twoshotallreduce*", "lamport*", "*allreducefusion*", "*arfusion*"),
		}),
		comm("comm.reduce_scatter", "reduce-scatter", "reduce_scatter", Pattern{Function: words("*reducescatter*")}),
		comm("comm.allgather", "all-gather", "all_gather", Pattern{Function: words("*allgather*", "allgather*")}),
		comm("comm.alltoall", "all-to-all, expert dispatch and combine", "all_to_all", Pattern{
			Function: words("*alltoall*", "*all2all*", "*a2a*", "ep_dispatch*", "ep_combine*", "EpDispatch*", "EpCombine*", "moeA2A*", "moe_a2a*", "*dispatch_low_latency*", "*combine_low_latency*"),
		}),
		comm("comm.p2p", "point to point", "send_recv", Pattern{
			Function: words("sendrecv", "p2p*", "*send_recv*", "put_signal*", "*ring_exchange*", "peer_copy*"),
		}),
		comm("comm.barrier", "barrier or signal between GPUs", "barrier", Pattern{
			Function: words("barrier_kernel*", "*device_barrier*", "*barrier_all*", "nvlink_barrier*", "stream_write_value*", "symm_mem*", "start_sync*", "end_sync*", "sync_all_blocks*", "*wait_signal*", "signal_kernel*"),
		}),
	}
}

var collectiveKinds = []struct {
	kind     string
	patterns []wordPattern
}{
	{"all_reduce", compilePatterns(words("*allreduce*"))},
	{"reduce_scatter", compilePatterns(words("*reducescatter*"))},
	{"all_gather", compilePatterns(words("*allgather*"))},
	{"all_to_all", compilePatterns(words("*alltoall*", "*all2all*"))},
	{"dispatch", compilePatterns(words("*dispatch*"))},
	{"combine", compilePatterns(words("*combine*"))},
	{"send_recv", compilePatterns(words("*sendrecv*", "send", "recv"))},
	{"broadcast", compilePatterns(words("*broadcast*", "*bcast*"))},
	{"reduce", compilePatterns(words("reduce"))},
	{"barrier", compilePatterns(words("*barrier*", "*notify*", "*sync*"))},
	{"layout", compilePatterns(words("*layout*"))},
}

// collectiveKind names the collective from the words of the name.
func collectiveKind(n *Name) string {
	for _, k := range collectiveKinds {
		if anyIn(k.patterns, n.fn) {
			return k.kind
		}
	}
	return ""
}
