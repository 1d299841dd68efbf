package hostoverhead

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/llmstrata/strata/hostoverhead/internal/names"
)

// setting is a flag of a framework that changes a cause, with the document that was read for it.
type setting struct{ do, source string }

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
	torchCUDA       = "https://docs.pytorch.org/docs/stable/notes/cuda.html"
	cudaLazy        = "https://docs.nvidia.com/cuda/cuda-programming-guide/04-special-topics/lazy-loading.html"
)

// captureGraphs, prefillGraphs and overlapSteps are settings by the framework's registry key; "" for all others.
var (
	captureVLLM = setting{"vLLM: in --compilation-config let cudagraph_mode be other than NONE (FULL_AND_PIECEWISE is the default) and cudagraph_capture_sizes cover the batch sizes that run", vllmGraphs}
	captureAny  = setting{"capture the launches in a CUDA graph, or fuse kernels (torch.compile mode reduce-overhead)", torchCUDA + "#cuda-graphs"}
	// besideGraph is for launches beside graphs that run already.
	besideGraph = setting{"let the graph take in what is launched beside it in each step, or fuse it", torchCUDA + "#cuda-graphs"}

	captureGraphs = map[string]setting{
		"sglang":     {"SGLang: leave out --disable-cuda-graph and raise --cuda-graph-max-bs[-decode] to the batch sizes that run", sglangArguments},
		"vllm":       captureVLLM,
		"trtllm":     {"TensorRT-LLM: set cuda_graph_config with batch_sizes or max_batch_size (128 by default) that cover the batch sizes that run; enable_padding rounds batches up to them", trtllmGraphs},
		"tokenspeed": {"TokenSpeed: leave out --enforce-eager and raise --max-cudagraph-capture-size to the batch sizes that run", tokenspeedArgs},
		"":           captureAny,
	}
	prefillGraphs = map[string]setting{ // graphs of prefills and mixed steps are other ones, where a server has them
		"sglang":     {"SGLang: leave out --disable-piecewise-cuda-graph, and let --piecewise-cuda-graph-max-tokens cover the tokens that run", sglangArguments},
		"vllm":       captureVLLM,
		"tokenspeed": {"TokenSpeed: leave out --disable-prefill-graph and let --prefill-graph-capture-token-sizes cover the tokens that run", tokenspeedArgs},
		"":           captureAny,
	}
	overlapSteps = map[string]setting{
		"sglang":     {"SGLang: leave out --disable-overlap-schedule, so that the next step is prepared while this one runs", sglangArguments},
		"vllm":       {"vLLM: --async-scheduling (on by default since v0.14 where it is supported), so that the next step is prepared while this one runs", vllmScheduler},
		"trtllm":     {"TensorRT-LLM: leave disable_overlap_scheduler false (the default), so that the next step is prepared while this one runs", trtllmOverlap},
		"tokenspeed": {"TokenSpeed: TOKENSPEED_DATA_PLANE_SYNC_DEBUG=warn names the code that waits for the device: without it the next step is launched while this one runs", tokenspeedLoop},
		"":           {"prepare the next step while this one runs on the device", ""},
	}
)

// of is the setting for a framework.
func of(list map[string]setting, key string) setting {
	if s, ok := list[key]; ok {
		return s
	}
	return list[""]
}

// advice is what the ledger supports, most time first, and what would make the answer surer.
func (a *account) advice(v *Verdict, p *Params) []Advice {
	out := []Advice{}
	byCause := map[Cause]*IdleCause{}
	for i := range v.Idle {
		byCause[v.Idle[i].Cause] = &v.Idle[i]
	}
	least := int64(p.AdviceShare * float64(v.Headroom.WallNS))
	add := func(c Cause, s setting, why string) {
		if x := byCause[c]; x != nil && x.StepsNS > 0 && x.StepsNS >= least {
			largest := ""
			if n := x.Names[0]; n.Name != "" {
				largest = ", above all " + names.Short(n.Name, 90)
			}
			out = append(out, Advice{Do: s.do, Why: fmt.Sprintf("%s of the %s %s (%s)%s", percent(x.Share), v.Basis, why, microseconds(x.StepsNS), largest), Source: s.source, NS: x.StepsNS})
		}
	}
	f := a.l.w.server()
	d := f.Key()
	a.launchAdvice(v, d, byCause, least, &out)
	add(CauseHostCode, setting{"make the host code that the ledger names cheaper, or move it out of the steps", ""}, "the device waits for host code")
	add(CauseSync, setting{"hoist the synchronisation out of the step, or keep what it waits for on the device", torchCUDA + "#asynchronous-execution"}, "is lost to synchronising calls")
	add(CauseCopyCall, setting{"use pinned memory and non_blocking copies", torchCUDA + "#cuda-memory-pinning"}, "is lost to copies that block the host")
	add(CauseAllocation, setting{"allocate before the run, or let the caching allocator keep its memory (PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True)", torchCUDA + "#cuda-memory-management"}, "is lost to allocations")
	add(CauseModule, setting{"warm every kernel up before serving (CUDA_MODULE_LOADING=EAGER loads all modules at the start)", cudaLazy}, "is lost to loading kernels")
	add(CauseLock, setting{"find the thread that holds what the launching thread waits for: it is work that the step needs", ""}, "the launching thread waits for another thread")
	add(CauseGIL, setting{"move Python work of other threads into processes: they hold the interpreter lock", ""}, "the launching thread waits for the interpreter lock")
	add(CauseDescheduled, setting{"give the launching thread a core of its own (taskset, numactl, CPU limits of the container)", ""}, "the launching thread does not run")
	add(CauseSystemCall, setting{"keep system calls and sleeps out of the step", ""}, "the launching thread is in system calls")
	add(CauseDependency, setting{"find what the stream waited for: an event, a signal of another rank or process; with every rank's file (--trace DIRECTORY) the report tells who is late", ""}, "work was queued and did not start")
	add(CauseRanks, setting{"find the rank that is last (several files: --trace DIRECTORY), and what only it does", ""}, "the device waits for other ranks")
	add(CauseTransfer, setting{"avoid the copies, or overlap them with kernels on another stream", torchCUDA + "#cuda-memory-pinning"}, "copies run and no kernel")
	slices.SortStableFunc(out, func(x, y Advice) int { return cmp.Compare(y.NS, x.NS) })
	return append(out, a.recordAdvice(v)...)
}

// launchAdvice rests on exposed launch time alone: launch calls that hide behind GPU work cost nothing.
func (a *account) launchAdvice(v *Verdict, dialect string, byCause map[Cause]*IdleCause, least int64, out *[]Advice) {
	if x := byCause[CauseLaunch]; x != nil && x.StepsNS > 0 && x.StepsNS >= least {
		s := launchSetting(&v.Ranks[v.Deciding], dialect)
		*out = append(*out, Advice{Do: s.do, Source: s.source, NS: x.StepsNS,
			Why: fmt.Sprintf("launch calls that nothing hides take %s of the %s (%s)", percent(x.Share), v.Basis, microseconds(x.StepsNS))})
	}
	if x := byCause[CauseGraphLaunch]; x != nil && x.StepsNS > 0 && x.StepsNS >= least {
		*out = append(*out, Advice{Do: "make fewer, larger graphs, and launch the next one before the device is done", Source: torchCUDA + "#cuda-graphs", NS: x.StepsNS,
			Why: fmt.Sprintf("launches of graphs that nothing hides take %s of the %s (%s)", percent(x.Share), v.Basis, microseconds(x.StepsNS))})
	}
	for _, d := range v.Ranks[v.Deciding].Drains {
		if d.NS > 0 && d.NS >= least {
			s := of(overlapSteps, dialect)
			*out = append(*out, Advice{Do: s.do, Source: s.source, NS: d.NS,
				Why: fmt.Sprintf("%s of host work follows %s, which had emptied the queue between two steps", microseconds(d.NS), d.Call)})
		}
	}
}

// launchSetting is what helps against exposed launches, in the stage that has most of them: graphs of that kind of step, or
// wider ones where most of its kernel time is replayed already.
func launchSetting(r *RankVerdict, dialect string) setting {
	single := func(list []Path) (exposed int64) {
		for _, p := range list {
			if p.Path != pathNames[pathGraph] {
				exposed += p.ExposedNS
			}
		}
		return exposed
	}
	phase, paths, most := names.Generation, r.Paths, int64(-1)
	for i := range r.Stages {
		if s := &r.Stages[i]; single(s.Paths) > most {
			phase, paths, most = names.Phase(s.Stage), s.Paths, single(s.Paths)
		}
	}
	var replayed, rest int64
	for _, p := range paths {
		if p.Path == pathNames[pathGraph] {
			replayed += p.TimeNS
		} else {
			rest += p.TimeNS
		}
	}
	switch {
	case replayed > rest:
		return besideGraph
	case phase == names.Context:
		return of(prefillGraphs, dialect)
	}
	return of(captureGraphs, dialect)
}

// recordAdvice says what to record to be surer.
func (a *account) recordAdvice(v *Verdict) []Advice {
	var out []Advice
	add := func(do, why string) {
		if !slices.ContainsFunc(out, func(x Advice) bool { return x.Do == do }) {
			out = append(out, Advice{Do: do, Why: why})
		}
	}
	nsys := a.l.w.t.Meta().Source == "nsys"
	for _, d := range v.Doubts {
		switch d.Code {
		case "graph-kernels-hidden", "graph-launches-without-kernels":
			add("record again with nsys profile --cuda-graph-trace=node to see the kernels inside graph replays", d.Message)
		case "host-work-unnamed":
			if nsys {
				add("record again with nsys profile --trace=cuda,nvtx,osrt and ranges in the host code, to name it", d.Message)
			} else {
				add("record again with annotations (record_function) or with_stack=True, to name the host code", d.Message)
			}
		case "python-tracing":
			add("record once more without Python stacks to see how much it really is; this recording tells the names", d.Message)
		case "one-long-gap", "window-is-not-steady", "few-kernels", "few-steps", "no-steps":
			add("record a window of more steps inside the steady run, after warm-up and under load", d.Message)
		}
	}
	if v.Verdict == Inconclusive && !slices.ContainsFunc(out, func(x Advice) bool { return strings.Contains(x.Do, "to name") }) {
		add("record launch calls and what the host does (nsys --trace=cuda,nvtx,osrt; torch.profiler: activities CPU and CUDA, with_stack=True)",
			fmt.Sprintf("%s of idle time is unexplained", microseconds(v.Headroom.UnknownNS)))
	}
	if v.Verdict == No {
		add("look at the kernels instead: triage and speed-of-light say what they could save", "the host costs "+percent(v.Headroom.Share)+" of the "+v.Basis)
	}
	return out
}
