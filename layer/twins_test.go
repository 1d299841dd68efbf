package layer_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// tenKernels is a layer.
var tenKernels = []string{"void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(P)",
	"nvjet_tst_64x8_64x16_4x1_v_bz_TNT", "void vllm::rotary_embedding_kernel<c10::BFloat16>(P)",
	"void vllm::reshape_and_cache_flash_kernel<T>(P)", "void flash::flash_fwd_splitkv_kernel<T>(P)",
	"nvjet_tst_64x8_64x16_2x1_v_bz_TNT", "void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(P)",
	"nvjet_tst_128x8_64x16_4x1_v_bz_TNT", "void vllm::act_and_mul_kernel<c10::BFloat16>(P)",
	"nvjet_tst_256x8_64x16_4x1_v_bz_TNT"}

// model runs passes of eight layers of ten kernels on a GPU, replayed from graphs or launched one by one; the last
// ones of a layer may be foreign.
func model(gpu string, replay bool, layers, foreign int) *trace.Trace {
	b := trace.NewBuilder(trace.Options{})
	b.Meta = trace.Meta{Devices: []trace.GPU{{ID: 0, Name: gpu}}}
	at, corr := int64(1000), uint64(0)
	launch := func(name string) {
		corr++
		b.Add(trace.EventData{Kind: event.Runtime, Name: name, Start: at, Duration: 5, Thread: 1, Correlation: corr,
			Device: trace.None, Stream: trace.None})
	}
	for range 3 {
		var names []string
		names = append(names, "void at::native::(anonymous namespace)::indexSelectSmallIndex<c10::BFloat16, long>(P)")
		for range layers {
			for k, n := range tenKernels {
				if k >= len(tenKernels)-foreign {
					n = fmt.Sprintf("foreign_kernel_of_place_%c", 'a'+k)
				}
				names = append(names, n)
			}
		}
		names = append(names, "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::ArgMaxOps<float>, unsigned int, long, 4, 4>>(P)")
		if replay {
			launch("cudaGraphLaunch")
		}
		for i, n := range names {
			e := trace.EventData{Kind: event.Kernel, Name: n, Duration: 1000, Stream: 7}
			if replay {
				e.GraphNode = uint64(i + 1)
			} else {
				launch("cudaLaunchKernel")
			}
			e.Correlation, e.Start = corr, at+10
			b.Add(e)
			at += 1010
		}
		at += 5000
	}
	return built.Trace(b)
}

// TestMappingOfAnotherModel: a mapping trace with six of ten kernels of the same name in the same places is of the
// same model, one with five is not; one of another GPU or another number of layers is refused at once, unless it is
// forced.
func TestMappingOfAnotherModel(t *testing.T) {
	const h100, b200 = "NVIDIA H100", "NVIDIA B200"
	for _, c := range []struct {
		what            string
		gpu             string
		layers, foreign int
		force           bool
		want            string // of why it is refused
	}{
		{"the same", h100, 8, 0, false, ""},
		{"six of ten", h100, 8, 4, false, ""},
		{"five of ten", h100, 8, 5, false, "120 of 240 replayed kernels"},
		{"five of ten, forced", h100, 8, 5, true, ""},
		{"another GPU", b200, 8, 0, false, "it ran on NVIDIA B200, this trace on NVIDIA H100"},
		{"a GPU without a name", "", 8, 0, false, ""},
		{"another number of layers", h100, 9, 0, false, "its model has 9 layers, this one 8"},
		{"another number of layers, forced", h100, 9, 0, true, ""},
	} {
		m, err := layer.Analyze(t.Context(), model(c.gpu, false, c.layers, c.foreign),
			layer.Options{NumLayers: c.layers})
		if err != nil {
			t.Fatal(err)
		}
		a, err := layer.Analyze(t.Context(), model(h100, true, 8, 0),
			layer.Options{NumLayers: 8, Mapping: m, ForceMapping: c.force})
		if err != nil {
			t.Fatal(err)
		}
		d := &a.Devices[0]
		if got := d.MappingRefused(); (got != "") != (c.want != "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: refused because %q, want %q", c.what, got, c.want)
		}
		named := 0
		for k := range d.Kernels() {
			if tw := k.Twin(); tw.How == layer.HowName && k.Place().Layer != trace.None && tw.Launch.Valid() &&
				tw.Kernel.Name() == k.Event().Name() {
				named++
			}
		}
		if want := 3 * 8 * (len(tenKernels) - c.foreign); c.want == "" && named != want || c.want != "" && named != 0 {
			t.Errorf("%s: %d kernels have a twin of their name, want %d, or none where it is refused", c.what, named,
				want)
		}
	}
}

// TestCapturesExplainReplays: launches without activities between two borders of a capture explain the replays of the
// graph, if they are eight at least: a few are the window's edge. HIP writes the kernels' names into the arguments.
func TestCapturesExplainReplays(t *testing.T) {
	for n, want := range map[int]bool{7: false, 8: true, 9: true} {
		b := trace.NewBuilder(trace.Options{})
		call := func(name string, at int64, corr int, args string) {
			b.Add(trace.EventData{Kind: event.Runtime, Name: name, Start: at, Duration: 5, Thread: 1,
				Correlation: uint64(corr), Device: trace.None, Stream: trace.None, Args: []byte(args)})
		}
		call("hipStreamBeginCapture", 100, 0, "")
		for k := range n {
			call("hipLaunchKernel", 200+int64(10*k), 0, fmt.Sprintf(`{"kernel":"captured_%c"}`, 'a'+k))
		}
		call("hipStreamEndCapture", 900, 0, "")
		call("hipGraphLaunch", 1000, 5, "")
		for k := range n {
			b.Add(trace.EventData{Kind: event.Kernel, Name: fmt.Sprintf("captured_%c", 'a'+k),
				Start: 1100 + int64(100*k), Duration: 50, Stream: 7, Correlation: 5, GraphNode: uint64(k + 1)})
		}
		a, err := layer.Analyze(t.Context(), built.Trace(b), layer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for k := range a.Devices[0].Kernels() {
			if tw := k.Twin(); tw.Launch.Valid() && tw.How == layer.HowName && !tw.Kernel.Valid() {
				found++
			}
		}
		if (found == n) != want || !want && found != 0 {
			t.Errorf("%d launches in a capture: %d replayed kernels have one, want all: %v", n, found, want)
		}
	}
}

// TestKernelsOfTheirOwnLaunch: an eager kernel comes from its own launch, for certain.
func TestKernelsOfTheirOwnLaunch(t *testing.T) {
	a, err := layer.Analyze(t.Context(), model("", false, 8, 0), layer.Options{NumLayers: 8})
	if err != nil {
		t.Fatal(err)
	}
	for k := range a.Devices[0].Kernels() {
		if tw := k.Twin(); tw.How != layer.HowLaunch || tw.Confidence != 1 || tw.Kernel != k.Event() {
			t.Fatalf("kernel %d: %+v, want its own launch", k.Index(), tw)
		}
	}
}

// TestModelLinesOfLaunches: the innermost frame in a file of models, else of their building blocks; modules from the
// outside in; compiled code is no line.
func TestModelLinesOfLaunches(t *testing.T) {
	const model, block, runner = "vllm/model_executor/models/qwen3.py(88): forward",
		"vllm/model_executor/layers/linear.py(40): apply", "vllm/v1/worker/gpu_model_runner.py(10): execute_model"
	for _, c := range []struct {
		what         string
		frames       []string // around the launch, from the outside in
		line, module string
	}{
		{"model and block", []string{runner, model, block}, "models/qwen3.py:88 forward", ""},
		{"model inside a block", []string{block, model}, "models/qwen3.py:88 forward", ""},
		{"the inner one of two", []string{model, "vllm/model_executor/models/qwen3.py(99): attend"},
			"models/qwen3.py:99 attend", ""},
		{"block alone", []string{runner, block}, "layers/linear.py:40 apply", ""},
		{"the inner one of two blocks", []string{block, "vllm/model_executor/layers/norm.py(7): rms"},
			"layers/norm.py:7 rms", ""},
		{"neither", []string{runner}, "", ""},
		{"none", nil, "", ""},
		{"modules", []string{runner, "nn.Module: Qwen3Model_0", model, "nn.Module: Qwen3DecoderLayer_3"},
			"models/qwen3.py:88 forward", "Qwen3Model_0/Qwen3DecoderLayer_3"},
		{"one module", []string{"nn.Module: Qwen3Model_0"}, "", "Qwen3Model_0"},
		{"compiled", []string{"/tmp/torchinductor_root/ab/cab.py(12): call"}, "", ""},
	} {
		b := trace.NewBuilder(trace.Options{})
		for i, f := range c.frames {
			kind := event.Frame
			if strings.HasPrefix(f, "nn.Module") {
				kind = event.Module
			}
			b.Add(trace.EventData{Kind: kind, Name: f, Start: int64(i), Duration: int64(1000 - 2*i), Thread: 1,
				Device: trace.None, Stream: trace.None})
		}
		for i := range int64(2) { // the second launch finds what the first one knows
			b.Add(trace.EventData{Kind: event.Runtime, Name: "cudaLaunchKernel", Start: 100 + 10*i, Duration: 5,
				Thread: 1, Correlation: uint64(i + 1), Device: trace.None, Stream: trace.None})
			b.Add(trace.EventData{Kind: event.Kernel, Name: "gemm", Start: 2000 + 100*i, Duration: 50, Stream: 7,
				Correlation: uint64(i + 1)})
		}
		a, err := layer.Analyze(t.Context(), built.Trace(b), layer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for k := range a.Devices[0].Kernels() {
			m := k.ModelLine()
			if !strings.HasSuffix(m.Line, c.line) || (m.Line == "") != (c.line == "") || m.Module != c.module ||
				m.From != "" || k.Twin().How != layer.HowLaunch {
				t.Errorf("%s, kernel %d: %+v, want %q of %q", c.what, k.Index(), m, c.line, c.module)
			}
		}
	}
}

// TestDeepModules: of more modules around a launch than are reported, the innermost are.
func TestDeepModules(t *testing.T) {
	for n, want := range map[int]string{64: "M_0/M_1/", 65: "M_1/M_2/"} {
		b := trace.NewBuilder(trace.Options{})
		for i := range n {
			b.Add(trace.EventData{Kind: event.Module, Name: fmt.Sprintf("nn.Module: M_%d", i), Start: int64(i),
				Duration: int64(1000 - 2*i), Thread: 1, Device: trace.None, Stream: trace.None})
		}
		b.Add(trace.EventData{Kind: event.Runtime, Name: "cudaLaunchKernel", Start: 500, Duration: 5, Thread: 1,
			Correlation: 1, Device: trace.None, Stream: trace.None})
		tr := built.Trace(b)
		for e := range tr.Events(event.LaneLaunch) {
			if got := layer.ModulePath(e); !strings.HasPrefix(got, want) ||
				!strings.HasSuffix(got, fmt.Sprintf("/M_%d", n-1)) || strings.Count(got, "/") != 63 {
				t.Errorf("of %d modules: %q", n, got)
			}
		}
	}
}
