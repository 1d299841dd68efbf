package perfetto

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/llmstrata/strata/internal/framework"
	"github.com/llmstrata/strata/internal/kind"
)

// What is public: all that a redacted slice may still say. A text or field that
// is not here goes.

// publicRoots begin the public part of a path: the servers' packages and
// libraries that they run on.
var publicRoots = func() []string {
	servers, kernels := framework.ServerRoots(framework.All())
	return slices.Concat(servers, kernels, []string{"flashinfer/", "transformers/", "torch/", "triton/", "deep_gemm/",
		"deep_ep/", "aiter/"})
}()

// expression is a regular expression that is compiled when it is first asked for, as a program that redacts nothing
// needs none.
type expression func() *regexp.Regexp

func lazily(text string) expression {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// Fields of events.
var (
	number       = lazily(`^-?[0-9.]+(?:[eE][-+]?[0-9]+)?$`)
	numbers      = lazily(`^(?:true|false|null|"?-?[0-9.]+(?:[eE][-+]?[0-9]+)?"?|\[[-0-9., \n]*\])$`)
	processID    = lazily(`^(?:[0-9]+|Spans|Traces|PyTorch Profiler(?: \([0-9]+\))?|)$`)
	threadID     = lazily(`^(?:[0-9]+|stream [0-9]+|PyTorch Profiler(?: \([0-9]+\))?|)$`)
	flowID       = lazily(`^(?:0x)?[0-9]+$`)
	shortWord    = lazily(`^[a-zA-Z]?$`)
	category     = lazily(`^(?:[Kk]ernel|gpu_mem(?:cpy|set)|[Mm]em(?:cpy|set)|cuda_(?:runtime|driver|sync)|[Rr]untime|hip_runtime|cpu_op|[Oo]perator|python_function|user_annotation|gpu_user_annotation|ac2g|async_gpu|async_cpu_to_gpu|fwdbwd|forward_backward|overhead|cpu_instant_event|Trace|privateuse1_runtime|privateuse1_driver|mtia_[a-z_]+|)$`)
	flowName     = lazily(`^(?:ac2g|fwdbwd|async_gpu|forward_backward|async_cpu_to_gpu|)$`)
	metadataName = lazily(`^(?:process|thread)_(?:name|labels|sort_index)$`)
	trackName    = lazily(`^(?:CPU|GPU ?[0-9]*|python[0-9.]*|stream [0-9]+ *|thread [0-9]+(?: \(python[0-9.]*\))?|PyTorch Profiler(?: \([0-9]+\))?|Spans|Traces)$`)
)

// Names of events.
var (
	copyName = lazily(`^Mem(?:cpy|set)(?: [DHPA]to[DHPA])?(?: \((?:Device|Host|Pageable|Pinned|Peer|Array|Unknown|Managed| |->|-&gt;)*\))?$`)
	apiName  = lazily(`^(?:(?:cuda|hip)[A-Z][A-Za-z0-9]{2,60}(?:_v[0-9]+)?(?:_ptsz)?|cu(?:Launch|Mem|Stream|Event|Ctx|Module|Graph|Func|Device)[A-Za-z0-9_]{0,50}|Event Synchronize|Stream (?:Synchronize|Wait Event)|Context Synchronize|Stream Sync|Event Sync|Buffer Flush|Activity Buffer Request|Instrumentation|Resource|Runtime Triggered Module Loading|Lazy Function Loading|Command Buffer Full)$`)
	opName   = lazily(`^(?:(?:aten|prims|prim|c10d|c10d_functional|_c10d_functional|_c10d_functional_autograd|quantized|torch|torchvision|profiler|autograd|inductor|symm_mem|_C|_C_cache_ops|_C_custom_ar|_moe_C|_vllm_fa2_C|_vllm_fa3_C|vllm|sglang|sgl_kernel|sgl_diffusion|flashinfer|trtllm|trtllm_torch|tensorrt_llm|aiter|triton|fbgemm|xformers|flash_attn|deep_gemm|deep_ep|mscclpp)::[A-Za-z0-9_.:]+|(?:nccl|rccl|gloo|mpi|ucc):[a-z_0-9]+|record_param_comms|cudagraph|CudaGraphReplay|ProfilerStep#[0-9]+|Torch-Compiled Region: [0-9/]+|TorchDynamo Cache Lookup|Pregraph bytecode|AOTDispatcher Runtime Wrapper Prologue|CompiledFunction|Iteration)$`)
	// builtin are functions of Python and torch that say that the host waits or copies.
	builtin    = lazily(`^<built-in (?:method|function) (?:item|cpu|cuda|to|copy_|tolist|numpy|synchronize|wait|acquire|release|__enter__|__exit__|recv|send|poll|select|sleep|replay|len|isinstance|getattr|setattr|hasattr|append|get|empty|zeros|ones|mm|matmul|linear|cat|stack|add|mul|embedding|layer_norm|softmax|argmax|_nested_autograd)(?: of (?:type|Tensor|PyCapsule|dict|list|str|tuple|set|_thread\.lock|torch\.[A-Za-z_.]+|Event|Stream) object at 0x[0-9A-F]+)?>$`)
	windowMark = lazily(`^(?:Iteration Start: PyTorch Profiler|Record Window End|PyTorch Profiler(?: \([0-9]+\))?|Trace (?:Start|End)|\[memory\]|)$`)
	frameName  = lazily(`^(.*)\((\d+)\): (.*)$`)
	// moduleName keeps what makes a module a layer or a model to the analysis.
	moduleName = lazily(`^nn\.Module: (.*?)((?:DecoderLayer|TransformerBlock|EncoderLayer|Layer|Block|ForCausalLM|ForConditionalGeneration|Model)?(?:_\d+)?)$`)
	// functionName are functions that say nothing about a model.
	functionName = lazily(`^(?:forward(?:_(?:native|cuda|hip|decode|extend|mixed|impl|context|batch|split_prefill))?|__(?:call|init|enter|exit|getattr|setattr|iter|next|new|len|del)__|_(?:wrapped_)?call_impl|apply|run|run_once|run_batch|step|execute_model|generate|replay|decorate_context|wrapper|wrapped|inner|_fn|fn|main|worker|loop|event_loop_normal|event_loop_overlap|process_batch_result|get_next_batch_to_run|recv_requests|sample|schedule|update|load_weights|<module>|<lambda>)$`)
)

// replacement is a frame reduced to its numbers.
var replacement = lazily(`^(?:<built-in function[0-9]+>|function[0-9]+|nn\.Module: Module[0-9]+(?:[A-Z][A-Za-z]+)?(?:_[0-9]+)?|file[0-9]+\.py\([0-9]+\): function[0-9]+)$`)

// stepWord is a run of letters in a step annotation; stepWords are those that
// the frameworks write themselves.
var (
	stepWord  = lazily(`[A-Za-z]+`)
	stepWords = words("step STEP Step bs BS toks tokens num ProfilerStep execute model context generation new cached " +
		"capture full piecewise forward ctx gen reqs reqeusts requests iter iteration " +
		"EXTEND DECODE PREFILL MIXED IDLE VERIFY TARGET DRAFT extend decode prefill mixed idle verify target draft sq sk " +
		"sqsq sqsk x")
)

// commonFiles are folders and files of the servers and of PyTorch that run
// whatever the model is.
var commonFiles = words("srt v1 nn modules layers models model_executor managers scheduler tp_worker model_runner " +
	"gpu_model_runner cuda_graph_runner worker gpu_worker engine core core_client " +
	"executor entrypoints attention backends ops custom_op linear activation layernorm rotary_embedding sampler " +
	"logits_processor vocab_parallel_embedding quantization unquant moe fused_moe " +
	"distributed parallel_state communication_op device_communicators utils _contextlib functional module grad_mode autograd function profiler cuda graphs streams _tensor _ops _dynamo _inductor " +
	"eval_frame output_code runtime compilation cuda_graph forward_context multiproc_executor uniproc_executor llm_engine llm http_server radix_attention flashinfer_backend triton_backend " +
	"pyexecutor py_executor model_engine _torch compiler jit autotuner __init__")

// launchedKernel is the arg in which launch calls of ROCm name their kernel.
const launchedKernel = "kernel"

var shapeArgs = []string{kind.ArgInputDims, kind.AltInputDims, kind.ArgInputType, kind.ArgInputStrides, "Output Dims"}

// flowPhases are the phases of arrows between events.
var flowPhases = []byte{'s', 'f', 't'}

// numberArgs are args that hold numbers made by the profiler.
var numberArgs = keys([]string{"External id", "external id", "Record function id", "Ev Idx", "Sequence number",
	"Fwd thread id", "Python id", "Python parent id", "Python module id",
	"Op count", "device", "context", "stream", "correlation", "queued", "registers per thread", "shared memory",
	"blocks per SM", "warps per SM", "grid", "block",
	"est. achieved occupancy %", "bytes", "memory bandwidth (GB/s)", "graph id", "graph node id", "cbid", "cid",
	"sort_index", "In msg nelems", "Out msg nelems", "Group size", "Rank", "Seq",
	"wait_on_stream", "wait_on_cuda_event_record_corr_id", "wait_on_cuda_event_id", "Total Reserved", "Total Allocated",
	"Bytes", "Device Id", "Device Type", "Process Group Ranks",
	"collective_seq", "size", "value"})

// textArgs are args that hold a word of a known list.
var textArgs = map[string]expression{
	"Collective name": lazily(`^_?(?:all_?reduce|all_?gather(?:_base|_into_tensor)?(?:_coalesced)?|reduce_?scatter(?:_base|_tensor)?(?:_coalesced)?|broadcast(?:_oop)?|reduce|gather|scatter|all_?to_?allv?(?:_base|_single)?|send|recv|barrier|wait|coalesced)$`),
	"dtype":           lazily(`^(?:BFloat16|Half|Float|Double|Byte|Char|Short|Int|Long|Bool|Float8_e4m3fn|Float8_e5m2|Float8_e4m3fnuz|Float8_e5m2fnuz)$`),
	"kind":            lazily(`^(?:Dispatch ?(?:Kernel|Graph)?|Kernel|Host ?To ?Device|Device ?To ?Host|Device ?To ?Device|Copy(?:HostToDevice|DeviceToHost|DeviceToDevice)?|[HD]to[HD]|FillBuffer|Barrier|[0-9]+)$`),
	"cuda_sync_kind":  lazily(`^(?:Event|Stream|Context) (?:Sync(?:hronize)?|Wait Event)$`),
	"backend":         lazily(`^(?:cpu:|cuda:)?(?:nccl|gloo|mpi|ucc|rccl|xccl)(?:,(?:cpu:|cuda:)?(?:nccl|gloo|mpi|ucc|rccl|xccl))*$`),
}

// metaKeys are top-level values, and those of the lists in them, that say
// nothing about who recorded the trace.
var metaKeys = keys([]string{"schemaVersion", "baseTimeNanoseconds", "cuda_runtime_version", "cuda_driver_version",
	"cupti_version", "hip_runtime_version",
	"hip_driver_version", "roctracer_version", "with_stack", "record_shapes", "with_flops", "with_modules",
	"profile_memory",
	"id", "totalGlobalMem", "computeMajor", "computeMinor", "maxThreadsPerBlock", "maxThreadsPerMultiprocessor",
	"regsPerBlock", "regsPerMultiprocessor", "warpSize", "sharedMemPerBlock",
	"sharedMemPerBlockOptin", "sharedMemPerMultiprocessor", "maxSharedMemoryPerMultiProcessor", "numSms",
	"maxGridWidth", "maxGridHeight", "runtimeMajorVersion", "runtimeMinorVersion",
	"rank", "world_size", "pg_count", "pg_name", "pg_size", "ranks"})

// longestGPU is the length of the longest name of a GPU that stays.
const longestGPU = 80

// metaLists hold further values.
var metaLists = keys([]string{"deviceProperties", "distributedInfo", "pg_config"})

// metaTexts are values that are words of a known list.
var metaTexts = map[string]expression{
	"displayTimeUnit": lazily(`^[mn]s$`),
	"name":            lazily(`^(?:GPU|(?:(?:NVIDIA|Tesla|GeForce|GTX|RTX|Quadro|TITAN|AMD|Radeon|Instinct|Intel|Graphics|Device|PRO|Pro|SXM[0-9]?|AC|VF|PG[0-9]+|DGXS|OAM|Superchip|Blackwell|Server|Workstation|Edition|Laptop|Max|PCIe|PCIE|NVL|HBM[0-9]e?|MIG|Ti|SUPER|Ada|Generation|[A-Z]{0,3}[0-9]{1,5}[A-Z]{0,3}|[0-9]+GB|gfx[0-9a-f]+)[ -]?)+|)$`),
	"backend":         textArgs["backend"],
	"backend_config":  textArgs["backend"],
	"nccl_version":    lazily(`^[0-9.]+$`),
	"pg_desc":         lazily(`^(?:default_pg|undefined|(?:mesh_)?(?:tp|pp|dp|ep|cp|sp|dcp|world|attn_tp|moe_ep|moe_tp)(?::[0-9]+)?)$`),
}

// publicMeta returns a top-level value without what is not known, nil where nothing is
// left of it. Strict allows known names of GPUs alone.
func publicMeta(key string, v json.RawMessage, strict bool) json.RawMessage {
	v = json.RawMessage(strings.TrimSpace(string(v)))
	if !strict && key == kind.KeyName { // of a GPU
		var text string
		if json.Unmarshal(v, &text) == nil && len(text) <= longestGPU {
			return v
		}
	}
	if list, ok := metaTexts[key]; ok {
		var text string
		if json.Unmarshal(v, &text) != nil || !list().MatchString(text) {
			return nil
		}
		return v
	}
	if metaKeys[key] {
		if numbers().Match(v) {
			return v
		}
		return nil
	}
	if !metaLists[key] {
		return nil
	}
	var many []map[string]json.RawMessage
	if json.Unmarshal(v, &many) == nil {
		for _, one := range many {
			publicFields(one, strict)
		}
		return marshal(many)
	}
	var one map[string]json.RawMessage
	if json.Unmarshal(v, &one) != nil {
		return nil
	}
	publicFields(one, strict)
	return marshal(one)
}

func publicFields(fields map[string]json.RawMessage, strict bool) {
	for k, v := range fields {
		if clean := publicMeta(k, v, strict); clean != nil {
			fields[k] = clean
		} else {
			delete(fields, k)
		}
	}
}

func marshal(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		return nil // a raw part that is not JSON
	}
	return b
}

func words(list string) map[string]bool { return keys(strings.Fields(list)) }

func keys(list []string) map[string]bool {
	m := make(map[string]bool, len(list))
	for _, k := range list {
		m[k] = true
	}
	return m
}
