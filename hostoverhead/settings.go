package hostoverhead

import (
	"strings"

	"github.com/llmstrata/strata/layer/finding"
)

// The documents that the settings were taken from, read in November 2026: files of repositories at the commit that
// was read, and pages of documentation.
const (
	sglangArguments = "https://github.com/sgl-project/sglang/blob/004813e1dd464844bd92ddbca5cab8c024a75f78/docs/advanced_features/server_arguments.md"
	vllmGraphs      = "https://github.com/vllm-project/vllm/blob/0045689bdb239a1c53951f3847b9475098f36ef7/docs/design/cuda_graphs.md"
	vllmScheduler   = "https://github.com/vllm-project/vllm/blob/01230b40128e570a58e54e75f7e55c4d5cd9246d/vllm/config/scheduler.py"
	trtllmGraphs    = "https://nvidia.github.io/TensorRT-LLM/1.3.0rc27/llm-api/reference/DecodeCudaGraphConfig.html"
	trtllmOverlap   = "https://nvidia.github.io/TensorRT-LLM/features/overlap-scheduler.html"
	tokenspeedArgs  = "https://github.com/lightseekorg/tokenspeed/blob/026340fb8cf6b371359206df60de254af80e4ae0/docs/configuration/server.md"
	tokenspeedLoop  = "https://github.com/lightseekorg/tokenspeed/blob/0237f2cdced235859bf25e1444069e0e82078f76/docs/design/event-loop.md"
	torchCUDA       = "https://docs.pytorch.org/docs/stable/notes/cuda.html"
)

// captureGraphs, prefillGraphs and overlapSteps are settings by the framework's registry key; "" for all others.
var (
	captureVLLM = finding.Advice{Do: "vLLM: in --compilation-config let cudagraph_mode be other than NONE " +
		"(FULL_AND_PIECEWISE is the default) and cudagraph_capture_sizes cover the batch sizes that run", Source: vllmGraphs}
	captureAny = finding.LaunchCall.Info().Advice
	// besideGraph is for launches beside graphs that run already.
	besideGraph = finding.Advice{Do: "Capture what is launched next to the graph in each step, or fuse it.",
		Source: torchCUDA + "#cuda-graphs"}

	captureGraphs = map[string]finding.Advice{
		"sglang": {Do: "SGLang: leave out --disable-cuda-graph and raise --cuda-graph-max-bs[-decode] to the batch " +
			"sizes that run", Source: sglangArguments},
		"vllm": captureVLLM,
		"trtllm": {Do: "TensorRT-LLM: set cuda_graph_config with batch_sizes or max_batch_size (128 by default) that " +
			"cover the batch sizes that run; enable_padding rounds batches up to them", Source: trtllmGraphs},
		"tokenspeed": {Do: "TokenSpeed: leave out --enforce-eager and raise --max-cudagraph-capture-size to the batch " +
			"sizes that run", Source: tokenspeedArgs},
		"": captureAny,
	}
	// graphs of prefills and mixed steps are other ones, where a server has them
	prefillGraphs = map[string]finding.Advice{
		"sglang": {Do: "SGLang: leave out --disable-piecewise-cuda-graph, and let --piecewise-cuda-graph-max-tokens " +
			"cover the tokens that run", Source: sglangArguments},
		"vllm": captureVLLM,
		"tokenspeed": {Do: "TokenSpeed: leave out --disable-prefill-graph and let --prefill-graph-capture-token-sizes " +
			"cover the tokens that run", Source: tokenspeedArgs},
		"": captureAny,
	}
	overlapSteps = map[string]finding.Advice{
		"sglang": {Do: "SGLang: leave out --disable-overlap-schedule, so that the next step is prepared while this " +
			"one runs", Source: sglangArguments},
		"vllm": {Do: "vLLM: --async-scheduling (on by default since v0.14 where it is supported), so that the next " +
			"step is prepared while this one runs", Source: vllmScheduler},
		"trtllm": {Do: "TensorRT-LLM: leave disable_overlap_scheduler false (the default), so that the next step is " +
			"prepared while this one runs", Source: trtllmOverlap},
		"tokenspeed": {Do: "TokenSpeed: TOKENSPEED_DATA_PLANE_SYNC_DEBUG=warn names the code that waits for the device: " +
			"without it the next step is launched while this one runs", Source: tokenspeedLoop},
		"": {Do: "Prepare the next step while this one runs on the device."},
	}
)

// loadAhead is for programs that wait for a data loader.
var loadAhead = finding.Advice{Do: "Load ahead: raise num_workers and prefetch_factor of the DataLoader, with " +
	"pin_memory=True.",
	Source: "https://docs.pytorch.org/docs/stable/data.html#multi-process-data-loading"}

// ofLoader reports whether a range, frame or operator is a data loader's.
func ofLoader(name string) bool {
	return strings.Contains(name, "DataLoader") || strings.Contains(name, "utils/data/")
}

// adviceFor is the setting for a framework.
func adviceFor(list map[string]finding.Advice, key string) finding.Advice {
	if s, ok := list[key]; ok {
		return s
	}
	return list[""]
}
