package settings

// Setting is a flag of a framework that changes a cause, with the document that was read for it.
type Setting struct {
	Do     string // what to set
	Source string // the document, "" for general advice
}

// The documents that the settings were taken from, read in November 2026: files of repositories at the commit that was read, and
// pages of documentation.
const (
	sglangArguments = "https://github.com/sgl-project/sglang/blob/004813e1dd464844bd92ddbca5cab8c024a75f78/docs/advanced_features/server_arguments.md"
	vllmGraphs      = "https://github.com/vllm-project/vllm/blob/0045689bdb239a1c53951f3847b9475098f36ef7/docs/design/cuda_graphs.md"
	vllmScheduler   = "https://github.com/vllm-project/vllm/blob/01230b40128e570a58e54e75f7e55c4d5cd9246d/vllm/config/scheduler.py"
	trtllmGraphs    = "https://nvidia.github.io/TensorRT-LLM/1.3.0rc27/llm-api/reference/DecodeCudaGraphConfig.html"
	trtllmOverlap   = "https://nvidia.github.io/TensorRT-LLM/features/overlap-scheduler.html"
	tokenspeedArgs  = "https://github.com/lightseekorg/tokenspeed/blob/026340fb8cf6b371359206df60de254af80e4ae0/docs/configuration/server.md"
	tokenspeedLoop  = "https://github.com/lightseekorg/tokenspeed/blob/0237f2cdced235859bf25e1444069e0e82078f76/docs/design/event-loop.md"
	TorchCUDA       = "https://docs.pytorch.org/docs/stable/notes/cuda.html"
	CUDALazy        = "https://docs.nvidia.com/cuda/cuda-programming-guide/04-special-topics/lazy-loading.html"
)

// CaptureGraphs, PrefillGraphs and OverlapSteps are settings by the framework's registry key; "" for all others.
var (
	captureVLLM = Setting{"vLLM: in --compilation-config let cudagraph_mode be other than NONE (FULL_AND_PIECEWISE is the default) and cudagraph_capture_sizes cover the batch sizes that run", vllmGraphs}
	captureAny  = Setting{"capture the launches in a CUDA graph, or fuse kernels (torch.compile mode reduce-overhead)", TorchCUDA + "#cuda-graphs"}
	// BesideGraph is for launches beside graphs that run already.
	BesideGraph = Setting{"let the graph take in what is launched beside it in each step, or fuse it", TorchCUDA + "#cuda-graphs"}

	// FewerGraphs is for launches of graphs.
	FewerGraphs = Setting{"make fewer, larger graphs, and launch the next one before the device is done", TorchCUDA + "#cuda-graphs"}

	CaptureGraphs = map[string]Setting{
		"sglang":     {"SGLang: leave out --disable-cuda-graph and raise --cuda-graph-max-bs[-decode] to the batch sizes that run", sglangArguments},
		"vllm":       captureVLLM,
		"trtllm":     {"TensorRT-LLM: set cuda_graph_config with batch_sizes or max_batch_size (128 by default) that cover the batch sizes that run; enable_padding rounds batches up to them", trtllmGraphs},
		"tokenspeed": {"TokenSpeed: leave out --enforce-eager and raise --max-cudagraph-capture-size to the batch sizes that run", tokenspeedArgs},
		"":           captureAny,
	}
	PrefillGraphs = map[string]Setting{ // graphs of prefills and mixed steps are other ones, where a server has them
		"sglang":     {"SGLang: leave out --disable-piecewise-cuda-graph, and let --piecewise-cuda-graph-max-tokens cover the tokens that run", sglangArguments},
		"vllm":       captureVLLM,
		"tokenspeed": {"TokenSpeed: leave out --disable-prefill-graph and let --prefill-graph-capture-token-sizes cover the tokens that run", tokenspeedArgs},
		"":           captureAny,
	}
	OverlapSteps = map[string]Setting{
		"sglang":     {"SGLang: leave out --disable-overlap-schedule, so that the next step is prepared while this one runs", sglangArguments},
		"vllm":       {"vLLM: --async-scheduling (on by default since v0.14 where it is supported), so that the next step is prepared while this one runs", vllmScheduler},
		"trtllm":     {"TensorRT-LLM: leave disable_overlap_scheduler false (the default), so that the next step is prepared while this one runs", trtllmOverlap},
		"tokenspeed": {"TokenSpeed: TOKENSPEED_DATA_PLANE_SYNC_DEBUG=warn names the code that waits for the device: without it the next step is launched while this one runs", tokenspeedLoop},
		"":           {"prepare the next step while this one runs on the device", ""},
	}
)

// Of is the setting for a framework.
func Of(list map[string]Setting, key string) Setting {
	if s, ok := list[key]; ok {
		return s
	}
	return list[""]
}

// ByCause is what helps against a cause of idle time, and how it reads as a reason: "8 % of the steps" stands before it.
var ByCause = map[string]struct {
	Setting
	Why string
}{
	"host-code":       {Setting{"make that host code cheaper, or move it out of the steps", ""}, "the device waits for host code"},
	"synchronisation": {Setting{"hoist the synchronisation out of the step, or keep what it waits for on the device", TorchCUDA + "#asynchronous-execution"}, "is lost to synchronising calls"},
	"blocking-copy":   {Setting{"use pinned memory and non_blocking copies", TorchCUDA + "#cuda-memory-pinning"}, "is lost to copies that block the host"},
	"allocation":      {Setting{"allocate before the run, or let the caching allocator keep its memory (PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True)", TorchCUDA + "#cuda-memory-management"}, "is lost to allocations"},
	"module-load":     {Setting{"warm every kernel up before serving (CUDA_MODULE_LOADING=EAGER loads all modules at the start)", CUDALazy}, "is lost to loading kernels"},
	"lock":            {Setting{"find the thread that holds what the launching thread waits for: it is work that the step needs", ""}, "the launching thread waits for another thread"},
	"gil":             {Setting{"move Python work of other threads into processes: they hold the interpreter lock", ""}, "the launching thread waits for the interpreter lock"},
	"descheduled":     {Setting{"give the launching thread a core of its own (taskset, numactl, CPU limits of the container)", ""}, "the launching thread does not run"},
	"system-call":     {Setting{"keep system calls and sleeps out of the step", ""}, "the launching thread is in system calls"},
	"dependency":      {Setting{"find what the stream waited for: an event, a signal of another rank or process; with every rank's file (--trace DIRECTORY) the report tells who is late", ""}, "work was queued and did not start"},
	"other-ranks":     {Setting{"find the rank that is last (several files: --trace DIRECTORY), and what only it does", ""}, "the device waits for other ranks"},
	"transfer":        {Setting{"avoid the copies, or overlap them with kernels on another stream", TorchCUDA + "#cuda-memory-pinning"}, "copies run and no kernel"},
}
