package waits

import (
	"strings"

	"github.com/llmstrata/strata/internal/framework"
	"github.com/llmstrata/strata/layer/finding"
)

// Around is a function or range within which waits have a meaning that the innermost name does not have.
type Around struct {
	// Wait is what is waited for within it. The zero Wait: nothing special.
	Wait
	// Whole says that all of its time is waiting, spinning included. Elsewhere only waits within it are.
	Whole bool
	// Rests says that it spins for a second or more before it waits for input: where it does, nothing was sent for
	// long.
	Rests bool
}

// Meaning is what a wait, or code that is none, means within a function.
func (a Around) Meaning(inner Wait) Wait {
	waiting := inner.For == Input || inner.For == Thread
	switch {
	case a.For == Nothing, !a.Whole && !waiting:
		return inner
	case a.Rests && inner.For == Input:
		return inner
	}
	return a.Wait
}

// NOTE: the functions of the tables of this file were read in the sources of SGLang (managers/scheduler.py,
// scheduler_components/request_receiver.py and idle_sleeper.py), vLLM (v1/engine/core.py,
// v1/executor/multiproc_executor.py, distributed/device_communicators/shm_broadcast.py), TensorRT-LLM
// (_torch/pyexecutor/py_executor.py), TokenSpeed (runtime/engine/event_loop.py) and PyTorch (utils/data), as of 2026.

// arounds are functions, and ranges of that name, by file; "" is any file, and ranges.
var arounds = []struct {
	file, function string
	around         Around
}{
	{"shm_broadcast.py", "acquire_read", Around{Wait: process, Whole: true, Rests: true}},
	{"shm_broadcast.py", "acquire_write", Around{Wait: process, Whole: true}},
	{"shm_broadcast.py", "dequeue", Around{Wait: process, Whole: true, Rests: true}},
	{"multiproc_executor.py", "get_response", Around{Wait: process, Whole: true}},
	{"multiproc_executor.py", "result", Around{Wait: process}},
	{"multiprocessing/queues.py", "get", Around{Wait: process, Whole: true}},
	{"dataloader.py", "_try_get_data", Around{Wait: process, Whole: true}},
	{"v1/engine/core.py", "_process_input_queue", Around{Wait: Wait{For: Input, Cause: finding.Lock}}},
	// sleeps while the cache arrives from elsewhere
	{"v1/engine/core.py", "_process_engine_step", Around{Wait: process}},
	{"", "maybe_sleep_on_idle", Around{Wait: message, Whole: true}},
	{"idle_sleeper.py", "maybe_sleep", Around{Wait: message, Whole: true}},
	{"", "wait_request", Around{Wait: message, Whole: true}},
	{"", "_fetch_new_requests", Around{Wait: Wait{For: Input, Cause: finding.Lock}}},
	{"", "pace_idle", Around{Wait: process, Whole: true}},
	{"", "_check_benchmark_disagg_gate", Around{Wait: process}},
	{"", "get_ready_grammar_requests", Around{Wait: lock, Whole: true}}, // spins until another thread has compiled
	{"", "poll_and_all_reduce", Around{Wait: ranks, Whole: true}},
	{"", "poll_and_all_reduce_attn_cp_tp_group", Around{Wait: ranks, Whole: true}},
	{"", "maybe_prepare_mlp_sync_batch", Around{Wait: ranks, Whole: true}},
	{"", "_dp_sync_and_check", Around{Wait: ranks, Whole: true}},
	{"", "_has_global_unfinished_reqs", Around{Wait: ranks, Whole: true}},
	{"", "tp_allgather", Around{Wait: ranks, Whole: true}},
}

// split parts the name of a frame into file and function; a range's name has no file, and what is before its last
// dot is dropped.
func split(name string) (file, function string) {
	if f, ok := framework.ParseFrame(name); ok {
		return f.Path, f.Func
	}
	return "", name[strings.LastIndexByte(name, '.')+1:]
}

// AroundOf is what waits within a range or frame mean.
func AroundOf(name string) Around {
	file, function := split(name)
	for _, a := range arounds {
		if a.function == function && (a.file == "" || file != "" && strings.HasSuffix(file, a.file)) {
			return a.around
		}
	}
	return Around{}
}

// Part is what a function is in an event loop.
type Part uint8

// The parts of an event loop.
const (
	NoPart  Part = iota
	Receive      // it looks for requests, and begins an iteration
	Idle         // it runs where an iteration found nothing to do
	Check        // it runs within an idle part where nothing is left to do at all
)

// loopParts are functions of event loops and calls of the system, by name.
var loopParts = map[string]Part{
	"recv_requests": Receive, "_pull_raw_reqs": Receive, "sock_recv": Receive, "recv_pyobj": Receive,
	"recv_reqs":             Receive,
	"_process_new_requests": Receive, "fetch_new_requests": Receive, "_fetch_new_requests": Receive,
	"_process_input_queue": Receive,
	"get_nowait":           Receive, "recv_nowait": Receive, "try_recv": Receive, "poll": Receive, "ppoll": Receive,
	"recv":    Receive,
	"recvmsg": Receive, "recv_multipart": Receive, "epoll_wait": Receive,

	"on_idle": Idle, "self_check_during_idle": Idle,
	"check_memory": Check, "_check_all_pools": Check, "_check_req_pool": Check, "_check_tree_cache": Check,
	"check_tree_cache": Check,
}

// PartOf is what a range, frame or call is in an event loop, by its function's name.
func PartOf(name string) Part {
	if strings.HasPrefix(name, "<") {
		for _, m := range []string{"method poll", "method 'poll'", "method recv", "method 'recv", "get_nowait"} {
			if strings.Contains(name, m) {
				return Receive
			}
		}
		return NoPart
	}
	_, function := split(name)
	return loopParts[function]
}
