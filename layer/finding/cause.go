package finding

import "github.com/llmstrata/strata/internal/vocabulary"

// Cause is why a GPU is idle, or seems so. Every nanosecond in which nothing is recorded to run has exactly one.
type Cause uint8

// The causes, in report order. More may be added.
const (
	NoCause Cause = iota
	// HostCode: the thread that launches next runs code, named where a range, op or frame was recorded.
	HostCode
	// LaunchCall: it is in the call that launches the next kernel or in another short call, or the call was made
	// while the device was idle and its work has not started yet.
	LaunchCall
	// GraphLaunch: the same for the launch of a graph.
	GraphLaunch
	// Synchronisation: it is in a synchronising call, or catches up after one that emptied the queue within a step.
	Synchronisation
	// BlockingCopy: the same for a copy call that blocks.
	BlockingCopy
	// Allocation: it allocates, frees or registers memory.
	Allocation
	// ModuleLoad: it loads a kernel's module, compiles, creates objects of the runtime, or calls an operator for the
	// first time, which takes longer than all later calls together.
	ModuleLoad
	// Lock: it waits for another thread: a lock, a condition, a queue.
	Lock
	// GIL: it waits for Python's global interpreter lock.
	GIL
	// OtherProcess: it waits for a message of another process: a queue, shared memory, a pipe, a future.
	OtherProcess
	// Descheduled: the operating system runs something else on its core.
	Descheduled
	// SystemCall: it is in a system call, or sleeps, within a step.
	SystemCall
	// GPUDispatch: the next work was already queued; the device takes this long to start it.
	GPUDispatch
	// Dependency: the next work was already queued, but starts late: it waits for an event or a signal, or the GPU
	// runs another process. Which one it is, a trace seldom shows.
	Dependency
	// OtherRanks: the host exchanges something with other ranks, or the next kernel is a collective that was
	// already queued.
	OtherRanks
	// Transfer: a copy or set runs, no kernel.
	Transfer
	// NoRequests: the host waits for input between two steps, or runs a step without requests.
	NoRequests
	// Profiler: the profiler flushes or instruments on that thread.
	Profiler
	// NotRecorded: something ran, and the profiler lost the records of it. This is no idle time: sums of idle time leave
	// it out.
	NotRecorded
	// UnknownCause: the trace does not say.
	UnknownCause

	// NumCauses is one more than the largest cause: the length of an array by cause.
	NumCauses
)

// Group is the row of the headroom that a cause counts for.
type Group uint8

// The groups, in report order. The host costs the time of the first two.
const (
	NoGroup Group = iota
	HostWork
	HostWaiting
	DispatchGroup
	QueuedGroup
	RanksGroup
	TransferGroup
	RequestsGroup
	ProfilerGroup
	LostGroup
	UnknownGroup
)

var groups = vocabulary.New[Group]("group of causes", "", "host work", "host waiting", "GPU dispatch", "queued work late",
	"other ranks", "transfers", "no requests", "profiler", "not recorded", "unknown")

// Groups lists all groups but NoGroup, in report order.
func Groups() []Group { return groups.All(NoGroup + 1) }

// Host reports whether the host costs the time of the group.
func (g Group) Host() bool { return g == HostWork || g == HostWaiting }

// String returns the group's word.
func (g Group) String() string { return groups.Word(g) }

// MarshalText returns the group's word.
func (g Group) MarshalText() ([]byte, error) { return groups.Text(g) }

// UnmarshalText accepts the word of a group.
func (g *Group) UnmarshalText(text []byte) error { return groups.Read(g, text) }

// CauseInfo is the row of a cause: all that consumers show of it.
type CauseInfo struct {
	// Group is the row of the headroom that the cause counts for.
	Group Group
	// Title is the problem in at most ten words. It is the text of findings.
	Title string
	// Help is the line of the documentation: what the launching thread, or the device, does.
	Help string
	// Why follows a share in a sentence: "for 8% of step time the GPU is idle while host code runs".
	Why string
	// Advice helps on every server. Package hostoverhead has the flags of single servers.
	Advice Advice
	// Hint is the code of the hint that the cause makes in tables of kernels, "" for none.
	Hint string
	// Colour is a CSS colour.
	Colour string
}

const (
	torchCUDA = "https://docs.pytorch.org/docs/stable/notes/cuda.html"
)

// causes has one row a cause.
var causes = [NumCauses]row[CauseInfo]{
	NoCause: {"", CauseInfo{Colour: "#968c81"}},
	HostCode: {"host-code", CauseInfo{HostWork, "Host code keeps the GPU waiting",
		"The launching thread runs host code within a step.",
		"the GPU is idle while host code runs", Advice{Do: "Make that host code cheaper, or move it out of the steps."},
		"", "#e9594d"}},
	LaunchCall: {"launch-call", CauseInfo{HostWork, "Kernel launch latency leaves the GPU idle",
		"The launching thread is in the launch call or another short call, or the launch has not reached the GPU.",
		"the GPU is idle while kernels are launched",
		Advice{"Capture the launches in a graph, or fuse kernels (torch: torch.compile mode reduce-overhead).",
			torchCUDA + "#cuda-graphs", ""},
		"", "#dc6c26"}},
	GraphLaunch: {"graph-launch", CauseInfo{HostWork, "Graph launch latency leaves the GPU idle",
		"The launching thread is in the launch call of a graph, or the launch has not reached the GPU.",
		"the GPU is idle while graphs are launched",
		Advice{"Launch the next graph before the GPU is done with this one; join graphs where a step launches several.",
			torchCUDA + "#cuda-graphs", ""},
		"", "#ca8015"}},
	Synchronisation: {"synchronisation", CauseInfo{HostWaiting, "Synchronising calls drain the queue",
		"The launching thread is in a call that waits for the device, or catches up after one that emptied " +
			"the queue.",
		"synchronising calls drain the queue",
		Advice{"Hoist the synchronisation out of the step, or keep what it waits for on the GPU.",
			torchCUDA + "#asynchronous-execution", ""},
		"SYNC+HOIST", "#b28b12"}},
	BlockingCopy: {"blocking-copy", CauseInfo{HostWaiting, "Blocking copies drain the queue",
		"The launching thread is in a copy that blocks, or catches up after one that emptied the queue.",
		"copies that block the host drain the queue", Advice{"Use pinned memory and non_blocking copies.",
			torchCUDA + "#cuda-memory-pinning", ""},
		"", "#a4932e"}},
	Allocation: {"allocation", CauseInfo{HostWaiting, "Memory allocation keeps the GPU waiting",
		"The launching thread allocates, frees or registers memory.",
		"allocations keep the GPU waiting",
		Advice{"Allocate before the run, and avoid fragmentation " +
			"(torch: PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True).",
			torchCUDA + "#cuda-memory-management", ""}, "ALLOC", "#da6376"}},
	ModuleLoad: {"module-load", CauseInfo{HostWaiting, "First use of kernels keeps the GPU waiting",
		"The launching thread loads a kernel's module, compiles, creates graphs or streams, or calls an operator for the " +
			"first time.",
		"the first use of kernels keeps the GPU waiting",
		Advice{Do: "Run every kernel once before the steps that count."}, "", "#c66d91"}},
	Lock: {"lock", CauseInfo{HostWaiting, "The launching thread waits for another thread",
		"The launching thread waits for a lock, a condition or a queue.",
		"the launching thread waits for another thread",
		Advice{Do: "Find the thread that holds the lock, and shorten what it does with it."}, "", "#be7b66"}},
	GIL: {"gil", CauseInfo{HostWaiting, "The launching thread waits for the interpreter lock",
		"The launching thread waits for Python's global interpreter lock.",
		"the launching thread waits for the interpreter lock",
		Advice{Do: "Other threads hold the lock: move their Python work into processes."}, "",
		"#ba7b7a"}},
	OtherProcess: {"other-process", CauseInfo{HostWaiting, "The launching thread waits for another process",
		"The launching thread waits for a message of another process: a queue, shared memory, a pipe, a future.",
		"the launching thread waits for another process",
		Advice{Do: "Record the process that it waits for, too. A scheduler, engine or data loader is too slow, or " +
			"has nothing to send."}, "", "#b8737f"}},
	Descheduled: {"descheduled", CauseInfo{HostWaiting, "The OS deschedules the launching thread",
		"The operating system runs something else on the launching thread's core.",
		"the launching thread does not run",
		Advice{Do: "Give the launching thread a core of its own (taskset, numactl, CPU limits of the " +
			"container)."}, "", "#b08565"}},
	SystemCall: {"system-call", CauseInfo{HostWaiting, "System calls within a step keep the GPU waiting",
		"The launching thread is in a system call, or sleeps, within a step.",
		"the launching thread is in system calls", Advice{Do: "Keep system calls and sleeps out of the step."},
		"", "#b2779e"}},
	GPUDispatch: {"gpu-dispatch", CauseInfo{DispatchGroup, "Gaps between queued kernels",
		"The next work was already queued, or is part of the same graph replay, and starts soon.",
		"the GPU takes time between queued kernels",
		Advice{Do: "Fuse short kernels."},
		"", "#6f9d9d"}},
	Dependency: {"dependency", CauseInfo{QueuedGroup, "Queued work starts late",
		"The next work was already queued and starts late: it waits for an event or a signal, or the GPU runs " +
			"another process.",
		"work was queued and did not start",
		Advice{Do: "Find what the stream waits for: another process on the GPU, an event, or a signal of another rank. " +
			"Pass `--trace DIRECTORY` with every rank's file to see who is late."}, "", "#6d97a4"}},
	OtherRanks: {"other-ranks", CauseInfo{RanksGroup, "Other ranks keep the GPU waiting",
		"The host exchanges objects with other ranks, or the next kernel is a collective that was already queued.",
		"the GPU is idle while other ranks work",
		Advice{Do: "Find the late rank, and what only it does. Pass `--trace DIRECTORY` with " +
			"every rank's file."}, "", "#a57aae"}},
	Transfer: {"transfer", CauseInfo{TransferGroup, "Copies run and no kernel does",
		"A copy or set runs, no kernel.",
		"copies run and no kernel", Advice{"Avoid the copies, or overlap them with kernels on another stream.",
			torchCUDA + "#cuda-memory-pinning", ""}, "", "#778db1"}},
	NoRequests: {"no-requests", CauseInfo{RequestsGroup, "The server has no requests",
		"The host waits for input between two steps, or runs a step without requests.",
		"the server waits for requests", Advice{Do: "Record under load: this time is no cost of the steps."},
		"", "#859788"}},
	Profiler: {"profiler", CauseInfo{ProfilerGroup, "The profiler keeps the GPU waiting",
		"The profiler flushes its buffers or instruments on the launching thread.",
		"the profiler's own work keeps the GPU waiting",
		Advice{Do: "Record fewer activities, or a shorter window: without the profiler this time is not " +
			"lost."}, "", "#8e8aac"}},
	NotRecorded: {"not-recorded", CauseInfo{LostGroup, "Records of kernels are missing",
		"Other passes, or other layers, run kernels here: the profiler lost their records. This time counts as neither " +
			"busy nor idle.",
		"records of kernels are missing",
		Advice{Do: "Record a shorter window, or raise the profiler's buffer size."}, "", "#b3a6a0"}},
	UnknownCause: {"unknown", CauseInfo{UnknownGroup, "Idle time without a known cause",
		"The trace does not say: no launch for the next kernel, nothing recorded for long, or host callbacks.",
		"the GPU is idle for no known cause",
		Advice{Do: "Record launch calls and host activity (nsys --trace=cuda,nvtx,osrt; rocprofv3 --runtime-trace; " +
			"torch.profiler with_stack=True)."}, "", "#a09178"}},
}

var causeWords = wordsOf[Cause]("cause", causes[:])

// Causes lists all causes but NoCause, in report order.
func Causes() []Cause { return causeWords.All(NoCause + 1) }

// Info returns the cause's row.
func (c Cause) Info() CauseInfo { return infoOf(causes[:], c) }

// Group returns the group that the cause counts for.
func (c Cause) Group() Group { return infoOf(causes[:], c).Group }

// String returns the cause's word.
func (c Cause) String() string { return causeWords.Word(c) }

// MarshalText returns the cause's word.
func (c Cause) MarshalText() ([]byte, error) { return causeWords.Text(c) }

// UnmarshalText accepts the word of a cause.
func (c *Cause) UnmarshalText(text []byte) error { return causeWords.Read(c, text) }
