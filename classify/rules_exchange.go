package classify

import (
	"github.com/llmstrata/strata/internal/wordmatch"
)

// communicationRules are exchanges between GPUs. Whole words only: "combine"
// and "dispatch" alone belong to many kernels that talk to nobody
// (_combined_routing_compute is MoE routing), so they count only in the
// namespaces of libraries that move tokens between GPUs.
func communicationRules() []Rule {
	comm := func(id, title, sub string, p Pattern) Rule {
		return Rule{ID: id, Title: title, Category: CategoryCommunication, Subcategory: sub, When: p,
			Refine: collectiveKind}
	}
	return []Rule{
		comm("comm.nccl", "NCCL, RCCL, MSCCL++, NVSHMEM", "", Pattern{Family: []string{familyNCCL}}),
		comm("comm.deep_ep", "DeepEP expert dispatch and combine", "", Pattern{Family: []string{familyDeepEP}}),
		comm("comm.allreduce_gemm", "matrix product fused with a collective", "gemm_collective", Pattern{
			Function: words("*gemm_allreduce*", "*gemm_ar", "*gemm_ar_*", "*allreduce_gemm*", "*gemm_reduce_scatter*",
				"*allgather_gemm*", "*gemm_allgather*", "*ag_gemm*", "*gemm_rs*"),
		}),
		comm("comm.reduce_scatter", "reduce-scatter", "reduce_scatter",
			Pattern{Function: words("*reducescatter*"), None: words("*wgrad*", "*allreduce*")}),
		comm("comm.allreduce", "all-reduce, also fused with a norm", "all_reduce", Pattern{
			// Fused forms are communication: they wait for the slowest GPU.
			Function: words("*allreduce*", "cross_device_reduce*", "ar", "*ar_fusion*", "*arfusion*", "*norm_lamport*",
				"*lamport*", "*rsag*"),
		}),
		// One-shot and two-shot are the two ways of a small all-reduce, through
		// multicast memory or peers' buffers.
		comm("comm.shots", "all-reduce in one or two shots", "all_reduce", Pattern{
			Function: words("*oneshot*", "*twoshot*"), None: words("*gather*", "*scatter*", "*alltoall*", "*moe*"),
		}),
		comm("comm.allgather", "all-gather", "all_gather", Pattern{Function: words("*allgather*")}),
		comm("comm.alltoall", "all-to-all, expert dispatch and combine", "", Pattern{
			Function: words("*alltoall*", "*all2all*", "*moeA2A*", "a2a", "*_a2a", "EpDispatch*", "EpCombine*",
				"*dispatch_low_latency*", "*combine_low_latency*", "ep_dispatch*", "ep_combine*"),
		}),
		comm("comm.ep_scope", "expert-parallel exchange", "", Pattern{
			Scope: words("internode*", "intranode*", "comm", "moe_comm", "mnnvl", "*mnnvl_allreduce", "*allreduce*",
				"uccl", "pplx", "mori", "symmetric_memory", "symm_mem", "quickreduce", "ar_fusion", "minimax_ar", "ep"),
		}),
		comm("comm.multimem", "exchange through multicast memory", "", Pattern{Function: words("*multimem*")}),
		comm("comm.p2p", "point to point", "send_recv", Pattern{
			Function: words("*sendrecv*", "p2p", "put_signal*", "*peer_copy*", "*ring_exchange*", "*nvlink_copy*",
				"userbuffers*", "kuserbuffers*"),
		}),
		comm("comm.barrier", "barrier or signal between GPUs", "barrier", Pattern{
			Function: words("barrier_kernel*", "barrier_on_stream*", "signal_kernel*", "*device_barrier*",
				"*barrier_all*", "nvlink_barrier*", "*multi_gpu_barrier*", "symm_mem*", "*wait_signal*",
				"*stream_signal*"),
		}),
	}
}

var collectiveKinds = []struct {
	kind     string
	patterns wordmatch.Patterns
}{
	// DeepEP's notify kernels exchange counts and wait: a barrier, whichever
	// phase they serve.
	{"barrier", wordmatch.CompileAll(words("*barrier*", "*notify*", "clean_low_latency*", "*enforce_consistency*",
		"*quiet*"))},
	{"layout", wordmatch.CompileAll(words("*layout*"))},
	{"all_reduce", wordmatch.CompileAll(words("*allreduce*", "*lamport*"))},
	{"reduce_scatter", wordmatch.CompileAll(words("*reducescatter*"))},
	{"all_gather", wordmatch.CompileAll(words("*allgather*"))},
	{"all_to_all", wordmatch.CompileAll(words("*alltoall*", "*all2all*"))},
	{"dispatch", wordmatch.CompileAll(words("*dispatch*"))},
	{"combine", wordmatch.CompileAll(words("*combine*"))},
	{"send_recv", wordmatch.CompileAll(words("*sendrecv*", "send", "recv", "*rma*"))},
	{"broadcast", wordmatch.CompileAll(words("*broadcast*", "*bcast*"))},
	{"reduce", wordmatch.CompileAll(words("reduce"))},
}

// collectiveKind names the collective from the words of the name.
func collectiveKind(n *Name) string {
	for _, k := range collectiveKinds {
		if k.patterns.In(n.fn) {
			return k.kind
		}
	}
	return ""
}
