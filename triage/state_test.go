package triage_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/triage"
)

const (
	flashinferAR = "void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<(flashinfer::trtllm_allreduce_fusion::AllReduceFusionPattern)%s, __nv_bfloat16, 4, true>(x)"
	mnnvlOneShot = "void flashinfer::trtllm_mnnvl_allreduce::oneshotAllreduceFusionKernel<(unsigned char)4, __nv_bfloat16, false, false>(x)"
	mnnvlTwoShot = "void flashinfer::trtllm_mnnvl_allreduce::twoshotAllreduceKernel<(unsigned char)4, __nv_bfloat16>(x)"
	mnnvlNorm    = "void flashinfer::trtllm_mnnvl_allreduce::rmsNormLamport<__nv_bfloat16>(x)"
	aiterScatter = "void aiter::reduce_scatter_cross_device_store<__hip_bfloat16, 8>(x)"
	aiterNorm    = "void aiter::local_device_load_rmsnorm_512n<__hip_bfloat16, 8>(x)"
	vllmAR       = "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(RankData*)"
	inductorNorm = "triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_1"
	plainNorm    = "void flashinfer::norm::RMSNormKernel<8, __nv_bfloat16>(x)"
	attention    = "void flash_fwd_kernel<Flash_fwd_kernel_traits<128>>(Flash_fwd_params)"
	product      = "nvjet_tst_128x64_64x6_1x2_h_bz_coopA_TNT"
)

// layers is a trace of a model whose layers are the given kernels, run on a GPU.
func layers(gpu, launch string, kernels ...string) *trace.Trace {
	b := trace.NewBuilder(trace.Options{})
	b.Meta = trace.Meta{Devices: []trace.GPU{{ID: 0, Name: gpu}}}
	at, id := int64(1000), uint64(0)
	for range 24 {
		for _, k := range kernels {
			id++
			b.Add(trace.EventData{Kind: event.Runtime, Name: launch, Start: at - 500, Duration: 100, Thread: 1,
				Correlation: id})
			b.Add(trace.EventData{Kind: event.Kernel, Name: k, Start: at, Duration: 5000, Stream: 7, Correlation: id})
			at += 5500
		}
	}
	return built.Trace(b)
}

// TestFuseStates: what a name's facts and the GPU say about fused paths.
func TestFuseStates(t *testing.T) {
	const (
		vllmRow   = "vLLM-origin AllReduce + RMSNorm (+ residual / quant)"
		sglangRow = "FlashInfer unified allreduce_fusion"
		aiterRow  = "AITER allreduce fusion"
	)
	for _, tt := range []struct {
		name, server, gpu, launch string
		kernels                   []string
		pattern                   string
		want                      triage.FuseState // "": no row
	}{
		{"compiled norms after all-reduces", "vLLM", "NVIDIA H100 80GB HBM3", "cudaLaunchKernel",
			[]string{product, vllmAR, inductorNorm, attention}, vllmRow, triage.StateAvailable},
		{"the same on a GPU without the path", "vLLM", "NVIDIA A100-SXM4-80GB", "cudaLaunchKernel",
			[]string{product, vllmAR, inductorNorm, attention}, vllmRow, triage.StateElsewhere},
		{"the same of no known server", "PyTorch", "NVIDIA H100 80GB HBM3", "cudaLaunchKernel",
			[]string{product, vllmAR, inductorNorm, attention}, sglangRow, triage.StateUnknown},
		{"a fused all-reduce", "SGLang", "NVIDIA H100 80GB HBM3", "cudaLaunchKernel",
			[]string{product, pattern("1"), attention}, sglangRow, triage.StateActive},
		{"a plain one of the same kernel", "SGLang", "NVIDIA H100 80GB HBM3", "cudaLaunchKernel",
			[]string{product, pattern("0"), plainNorm, attention}, sglangRow, triage.StateAvailable},
		{"a one-shot one without a norm", "SGLang", "NVIDIA B200", "cudaLaunchKernel",
			[]string{product, mnnvlOneShot, plainNorm, attention}, sglangRow, triage.StateAvailable},
		{"a fused path in two kernels", "SGLang", "NVIDIA B200", "cudaLaunchKernel",
			[]string{product, mnnvlTwoShot, mnnvlNorm, attention}, sglangRow, triage.StateActive},
		{"AITER's in two kernels", "SGLang", "AMD Instinct MI300X", "hipLaunchKernel",
			[]string{product, aiterScatter, aiterNorm, attention}, aiterRow, triage.StateActive},
		{"which is no path of NVIDIA's", "SGLang", "AMD Instinct MI300X", "hipLaunchKernel",
			[]string{product, aiterScatter, aiterNorm, attention}, sglangRow, ""},
		{"a path of NVIDIA's on AMD", "SGLang", "AMD Instinct MI300X", "hipLaunchKernel",
			[]string{product, plainNorm, plainNorm, "rotary_embedding_kernel", attention}, "Fused QK RMSNorm + RoPE",
			triage.StateElsewhere},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, err := triage.Analyze(t.Context(), input(t, layers(tt.gpu, tt.launch, tt.kernels...), "x"),
				triage.Options{Framework: tt.server})
			if err != nil {
				t.Fatal(err)
			}
			got := triage.FuseState("")
			for _, s := range r.Stages {
				for _, f := range s.Fuse {
					if f.Pattern != tt.pattern {
						continue
					}
					got = f.State
					if f.Action == "" || f.State != triage.StateAvailable && f.Kind == triage.Split &&
						f.Confidence == triage.Confirmed {
						t.Errorf("row %+v has no action, or is confirmed where it cannot be had", f)
					}
				}
			}
			if got != tt.want {
				t.Errorf("state of %q = %q, want %q", tt.pattern, got, tt.want)
			}
		})
	}
}

// pattern is FlashInfer's all-reduce with what it fuses.
func pattern(n string) string { return strings.Replace(flashinferAR, "%s", n, 1) }

// TestCollectivesAreFusedUpToASize: vLLM's path on an H100 is for 2 MiB with 4 ranks, which are 128 tokens of hidden
// size 8192 in 16 bits, 256 of 4096; on either side the answer is another. Without a config, or of another number of
// ranks, the size does not decide, and the row says what it asks for.
func TestCollectivesAreFusedUpToASize(t *testing.T) {
	const row = "vLLM-origin AllReduce + RMSNorm (+ residual / quant)"
	for _, tt := range []struct {
		tokens, hidden, ranks int
		want                  triage.FuseState
	}{
		{128, 8192, 4, triage.StateAvailable}, {129, 8192, 4, triage.StateTooLarge},
		{256, 4096, 4, triage.StateAvailable}, {257, 4096, 4, triage.StateTooLarge},
		{2048, 8192, 2, triage.StateAvailable}, {33, 8192, 8, triage.StateTooLarge},
		{32, 8192, 8, triage.StateAvailable},
		{4096, 0, 4, triage.StateAvailable}, {1, 8192, 3, triage.StateTooLarge},
	} {
		b := trace.NewBuilder(trace.Options{})
		b.Meta = trace.Meta{Devices: []trace.GPU{{ID: 0, Name: "NVIDIA H100 80GB HBM3"}}}
		at, id := int64(1000), uint64(0)
		for range 24 {
			for _, k := range []string{product, vllmAR, inductorNorm, attention} {
				id++
				b.Add(trace.EventData{Kind: event.Runtime, Name: "cudaLaunchKernel", Start: at - 500, Duration: 100,
					Thread: 1, Correlation: id})
				b.Add(trace.EventData{Kind: event.Kernel, Name: k, Start: at, Duration: 5000, Stream: 7,
					Correlation: id})
				at += 5500
			}
		}
		b.Add(trace.EventData{Kind: event.Annotation,
			Name: fmt.Sprintf("execute_context_1(%d)_generation_0(0)", tt.tokens), Start: 100, Duration: at, Thread: 1})
		o := layer.Options{}
		if tt.hidden > 0 {
			o.Config = &profile.Config{HiddenSize: tt.hidden}
		}
		in, err := triage.NewInput(t.Context(), []triage.Source{{Trace: built.Trace(b), Path: "x"}}, nil, o)
		if err != nil {
			t.Fatal(err)
		}
		r, err := triage.Analyze(t.Context(), in, triage.Options{Framework: "vLLM", TPSize: tt.ranks})
		if err != nil {
			t.Fatal(err)
		}
		got := triage.FuseState("")
		for _, f := range r.Stages[0].Fuse {
			if f.Pattern == row {
				got = f.State
				if (f.EstimatedGainUS > 0) != (tt.want == triage.StateAvailable) {
					t.Errorf("%+v: gain %v µs in state %s", tt, f.EstimatedGainUS, f.State)
				}
			}
		}
		if got != tt.want {
			t.Errorf("%+v: state %q", tt, got)
		}
	}
}

// TestExampleIsOfTheMiddle: the kernels that a row shows are of its middle occurrence, where the run is steady.
func TestExampleIsOfTheMiddle(t *testing.T) {
	r, err := triage.Analyze(t.Context(), input(t,
		layers("NVIDIA H100 80GB HBM3", "cudaLaunchKernel", product, vllmAR, inductorNorm, attention), "x"),
		triage.Options{Framework: "vLLM"})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Stages[0].Fuse {
		if f.Kind == triage.Split && (f.Occurrences != 24 || len(f.ExampleKernels) != 2 ||
			f.ExampleKernels[0] != 12*4+1 || f.ExampleKernels[1] != 12*4+2) {
			t.Errorf("%s: %d occurrences, e.g. %v; want 24, e.g. the 13th layer's", f.Pattern, f.Occurrences,
				f.ExampleKernels)
		}
	}
	if len(r.Stages[0].Fuse) == 0 {
		t.Error("no rows")
	}
}
