package gen

import "fmt"

// fusedAllReduce is a model on SGLang with TP 4 whose all-reduces do the norm that
// follows. The first template argument of the kernel says so: 1 is fused with the
// norm, 0 is a plain all-reduce, which follows the embedding. A fused one belongs
// to the layer whose norm it does.
func fusedAllReduce() Case {
	kernel := func(pattern int) step {
		return step{name: fmt.Sprintf("void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<(flashinfer::trtllm_allreduce_fusion::AllReduceFusionPattern)%d, __nv_bfloat16, 4, true, true>(flashinfer::trtllm_allreduce_fusion::AllReduceFusionParams<__nv_bfloat16>)", pattern), category: "communication", dur: 8200}
	}
	plain, fused := kernel(0), kernel(1)
	return Case{
		Name: "flashinfer-allreduce-norm", About: "all-reduces fused with the norm behind them",
		Layers: 12, Passes: decodes(5), Framework: "sglang", TP: 4, Dialect: SGLang,
		head: []step{embedding, plain},
		layer: func(i int, _ Pass) []step {
			opens := fused
			if i == 0 {
				opens = rmsNorm
			}
			return join([]step{opens, qkv, ropeStep, decodeMHA, outProj}, ffn(fused, gateUp, siluMul, down))
		},
		tail: []step{fused, lmHead, gather, argMax},
	}
}
