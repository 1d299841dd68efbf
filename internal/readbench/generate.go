package main

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/llmstrata/strata/internal/decimal"
)

// generator writes a trace in the formatting of kineto, with the mix of events
// that serving traces recorded with stacks have: about nine tenths Python frames,
// then ops with shapes, launches with flow arrows, and kernels.
type generator struct {
	w      *bufio.Writer
	n      int64
	rng    *rand.Rand
	now    int64 // ns
	id     int64
	corr   int64
	pyID   int64
	frames []string
	ops    []string
	kerns  []string
	buf    []byte
}

// generate writes at least size bytes of trace.
func generate(w io.Writer, size int64) error {
	g := &generator{w: bufio.NewWriterSize(w, 1<<20), rng: rand.New(rand.NewPCG(7, 11)), now: 7_721_328_752_050_448, id: 217_600, corr: 1_922_000}
	g.vocabulary()
	g.print("\n  {\n    \"schemaVersion\": 1,\n    \"deviceProperties\": [\n    {\n      \"id\": 0, \"name\": \"NVIDIA H100\", \"totalGlobalMem\": 85899345920,\n" +
		"      \"computeMajor\": 9, \"computeMinor\": 0,\n      \"warpSize\": 32, \"numSms\": 132\n    }\n    ],\n      \"with_stack\": 1,\n      \"record_shapes\": 1,\n" +
		"      \"distributedInfo\": {\"backend\": \"nccl\", \"rank\": 0, \"world_size\": 1},\n  \"displayTimeUnit\": \"ms\",\n  \"baseTimeNanoseconds\": 1759240000000000000,\n  \"traceEvents\": [")
	for first := true; g.n < size; first = false {
		if !first {
			g.print(",")
		}
		g.layer()
	}
	g.print("\n  ],\n  \"traceName\": \"/tmp/generated.json\"\n}")
	return g.w.Flush()
}

func (g *generator) vocabulary() {
	dirs := []string{"sglang/srt/layers", "sglang/srt/model_executor", "torch/nn/modules", "sglang/srt/models", "torch", "sglang/srt/managers"}
	files := []string{"linear", "module", "forward_batch_info", "radix_attention", "layernorm", "scheduler", "_ops", "qwen3_moe", "quantization/fp8_kernel"}
	calls := []string{"forward", "_call_impl", "_wrapped_call_impl", "__getattr__", "run_batch", "apply", "inner", "__call__", "get_attn_backend"}
	for range 1500 {
		g.frames = append(g.frames, fmt.Sprintf("%s/%s.py(%d): %s", dirs[g.rng.IntN(len(dirs))], files[g.rng.IntN(len(files))], g.rng.IntN(3000), calls[g.rng.IntN(len(calls))]))
	}
	for range 300 {
		g.frames = append(g.frames, fmt.Sprintf("nn.Module: Qwen3MoeDecoderLayer_%d", g.rng.IntN(48)), fmt.Sprintf("<built-in method %s of PyCapsule object at 0x7f%010x>", calls[g.rng.IntN(len(calls))], g.rng.Int64N(1<<40)))
	}
	g.ops = []string{"aten::mm", "aten::empty", "aten::linear", "aten::as_strided", "aten::copy_", "aten::add_", "aten::view", "sgl_kernel::rmsnorm", "aten::matmul"}
	g.kerns = []string{
		"void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native::CUDAFunctor_add<c10::BFloat16> >(at::TensorIteratorBase&, at::native::CUDAFunctor_add<c10::BFloat16> const&)::{lambda(int)#1}>(int, at::native::gpu_kernel_impl_nocast<at::native::CUDAFunctor_add<c10::BFloat16> >(at::TensorIteratorBase&, at::native::CUDAFunctor_add<c10::BFloat16> const&)::{lambda(int)#1})",
		"nvjet_tst_64x8_64x16_4x1_v_bz_TNT",
		"void flashinfer::norm::FusedAddRMSNormKernel<8u, __nv_bfloat16>(__nv_bfloat16*, __nv_bfloat16*, __nv_bfloat16*, unsigned int, unsigned int, unsigned int, unsigned int, float, float)",
		"fused_moe_kernel",
		"_ZN7cutlass13device_kernelIN5flash11enable_sm90INS1_16FlashAttnFwdSm90INS1_25CollectiveMainloopFwdSm90ILi2EN4cute5tupleIJNS5_1CILi1EEES8_S8_EEENS6_IJNS7_ILi128EEESA_SA_EEEEEEEEEEvNT_6ParamsE",
	}
}

func (g *generator) print(s string) {
	g.w.WriteString(s)
	g.n += int64(len(s))
}

func (g *generator) printf(format string, args ...any) {
	g.buf = fmt.Appendf(g.buf[:0], format, args...)
	g.w.Write(g.buf)
	g.n += int64(len(g.buf))
}

func us(ns int64) string { return string(decimal.AppendMicros(nil, ns)) }

// layer writes the events around one op: frames, the op, its launch, its kernel.
func (g *generator) layer() {
	const pid, tid = 267, 267
	depth := 12 + g.rng.IntN(24)
	parent := "null"
	span := int64(depth) * 4000
	for i := range depth {
		if i > 0 {
			g.print(",")
		}
		g.pyID++
		start := g.now + int64(i)*700
		g.printf("\n  {\n    \"ph\": \"X\", \"cat\": \"python_function\", \"name\": %q, \"pid\": %d, \"tid\": %d,\n    \"ts\": %s, \"dur\": %s,\n    \"args\": {\n      \"Python parent id\": %s, \"Python id\": %d, \"Ev Idx\": %d\n    }\n  }",
			g.frames[g.rng.IntN(len(g.frames))], pid, tid, us(start), us(span-int64(i)*1500+g.rng.Int64N(300)), parent, g.pyID, g.pyID+260)
		parent = fmt.Sprint(g.pyID)
	}
	op := g.now + int64(depth)*700
	g.id++
	g.printf(",\n  {\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": %q, \"pid\": %d, \"tid\": %d,\n    \"ts\": %s, \"dur\": %s,\n    \"args\": {\n      \"External id\": %d,\"Record function id\": 0, \"Concrete Inputs\": [\"\", \"\", \"False\"], \"Input type\": [\"c10::BFloat16\", \"c10::BFloat16\", \"Scalar\"], \"Input Strides\": [[4096, 1], [1, 4096], []], \"Input Dims\": [[%d, 4096], [4096, %d], []], \"Ev Idx\": %d\n    }\n  }",
		g.ops[g.rng.IntN(len(g.ops))], pid, tid, us(op), us(900+g.rng.Int64N(500)), g.id, 1<<g.rng.IntN(8), 1024<<g.rng.IntN(4), g.id)
	if g.rng.IntN(2) == 0 {
		g.corr++
		call, kern := op+200, op+4000+g.rng.Int64N(900)
		g.printf(",\n  {\n    \"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": %d, \"tid\": %d,\n    \"ts\": %s, \"dur\": %s,\n    \"args\": {\n      \"External id\": %d,      \"cbid\": 211, \"correlation\": %d\n    }\n  },\n  {\n    \"ph\": \"s\", \"id\": %d, \"pid\": %d, \"tid\": %d, \"ts\": %s,\n    \"cat\": \"ac2g\", \"name\": \"ac2g\"\n  }",
			pid, tid, us(call), us(400), g.id, g.corr, g.corr, pid, tid, us(call))
		g.printf(",\n  {\n    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": %q, \"pid\": 0, \"tid\": 7,\n    \"ts\": %s, \"dur\": %s,\n    \"args\": {\n      \"External id\": %d,      \"queued\": 0, \"device\": 0, \"context\": 1,      \"stream\": 7, \"correlation\": %d,      \"registers per thread\": 32,      \"shared memory\": 0,      \"blocks per SM\": 0.484848,      \"warps per SM\": 1.939394,      \"grid\": [%d, 1, 1],      \"block\": [128, 1, 1],      \"est. achieved occupancy %%\": 3\n    }\n  },\n  {\n    \"ph\": \"f\", \"id\": %d, \"pid\": 0, \"tid\": 7, \"ts\": %s,\n    \"cat\": \"ac2g\", \"name\": \"ac2g\", \"bp\": \"e\"\n  }",
			g.kerns[g.rng.IntN(len(g.kerns))], us(kern), us(1000+g.rng.Int64N(9000)), g.id, g.corr, 1<<g.rng.IntN(12), g.corr, us(kern))
	}
	g.now += span + 500
}
