package whole

import (
	"math"
	"strconv"

	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// kinds and names that built events take.
var (
	kinds = []event.Kind{
		event.Kernel, event.Memcpy, event.Memset, event.Graph, event.Runtime, event.Driver, event.Op,
		event.Frame, event.Module, event.Annotation, event.GPUAnnotation, event.Range, event.Mark,
		event.Sync, event.Overhead, event.Other, 0, event.Kind(200),
	}
	names = []string{
		"", "cudaLaunchKernel", "cudaGraphLaunch", "void gemm<float, 128>(Params)",
		"ncclDevKernel_AllReduce_Sum_bf16_RING_LL",
		"flash_fwd_kernel", "rms_norm_kernel", "aten::mm", "nn.Module: DecoderLayer_0", "nn.Module: DecoderLayer_1",
		"nn.Module: LlamaForCausalLM_0", "step[DECODE bs=8]", "step[EXTEND bs=1 toks=512]",
		"execute_8_context_0(sq0)_generation_8(sq8)",
		"ProfilerStep#1", "[Executor] _forward_step 12: 3 ctx reqs, 5 gen reqs", "model.py(12): forward", "topk",
		"\x00\xff", "Memcpy HtoD",
	}
	extremes = []int64{0, 1, -1, 1000, math.MaxInt64, math.MinInt64, math.MaxInt64 - 1000, math.MaxInt32, math.MinInt32,
		1 << 40, -1 << 62, 1 << 62}
)

// Build makes a trace of eight bytes an event.
func Build(data []byte) *trace.Trace {
	b := trace.NewBuilder(trace.Options{})
	var at int64
	for n := 0; len(data) >= 8 && n < 256; n, data = n+1, data[8:] {
		v := data[:8]
		pick := func(x byte, scale int64) int64 {
			if x >= 240 {
				return extremes[int(x)%len(extremes)]
			}
			return int64(x) * scale
		}
		at += pick(v[2], 1000)
		e := trace.EventData{
			Kind: kinds[int(v[0])%len(kinds)], Name: names[int(v[1])%len(names)], Start: at, Duration: pick(v[3], 500),
			Process: int64(v[4] % 3), Thread: int64(v[4] / 3 % 4),
			Device: trace.DeviceID(v[5]%4) - 1, Stream: trace.StreamID(v[5] / 4 % 8),
			Correlation: uint64(pick(v[6], 1)), ExternalID: uint64(pick(v[7], 1)), GraphNode: uint64(v[6] / 200),
		}
		if v[7]%16 == 15 {
			e.Scope, e.Shape, e.Domain, e.Args = "r"+strconv.Itoa(int(v[4])), "[[1, 2], []]", "NCCL", []byte("{")
		}
		b.Add(e)
	}
	return built.Trace(b)
}
