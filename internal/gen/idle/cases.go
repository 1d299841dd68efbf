package idle

import (
	"slices"
	"strings"

	"github.com/llmstrata/strata/internal/gen/nsysgen"
)

// Case is a run whose GPU is idle for one reason.
type Case struct {
	Name string
	// Cause is the reason, as the host report calls it; Host says whether the host causes it.
	Cause string
	Host  bool
	// Nsys and Torch say which profilers show the reason.
	Nsys, Torch bool

	names                []string // of kernels, nil for the usual ones
	middle, after, whole func(*sim)
}

// both is a case that both profilers show in the middle of a step.
func both(name, cause string, host bool, middle func(*sim)) Case {
	return Case{Name: name, Cause: cause, Host: host, Nsys: true, Torch: true, middle: middle}
}

// wait is what a thread does, as each of the profilers shows it: a call of the C library, or a frame of Python.
func wait(system, python string) func(*sim) {
	return func(s *sim) {
		if s.nsys {
			s.busy(nsysgen.RowOS, system)
		} else {
			s.busy(frame, python)
		}
	}
}

// call is an API call that takes until the gap is over.
func call(name string) func(*sim) {
	return func(s *sim) { s.call(name, s.until()-s.host) }
}

// nothing happens.
func nothing(*sim) {}

// Cases lists the runs.
func Cases() []Case {
	list := []Case{
		both("host code in a range", "host-code", true, func(s *sim) { s.busy(nsysgen.RowRange, "_prepare_inputs") }),
		both("host code without a name", "host-code", true, func(s *sim) { s.host = s.until() }),
		both("allocation", "allocation", true, call("cudaMalloc")),
		both("kernels are loaded", "module-load", true, call("cuLibraryLoadData")),
		both("lock", "lock", true, wait("pthread_mutex_lock",
			"<built-in method acquire of _thread.lock object at 0x7f5a3c0b2d40>")),
		both("interpreter lock", "gil", true, func(s *sim) { s.busy(nsysgen.RowRange, "Waiting for GIL") }),
		both("system call in a step", "system-call", true, wait("read", "<built-in function sleep>")),
		both("objects are broadcast", "other-ranks", false, func(s *sim) {
			if s.nsys {
				s.busy(nsysgen.RowRange, "broadcast_requests")
			} else {
				s.busy(frame, "torch/distributed/distributed_c10d.py(3000): broadcast_object_list")
			}
		}),
		both("profiler flushes", "profiler", false, func(s *sim) {
			s.busy(nsysgen.RowOverhead,
				"Activity Buffer Flush")
		}),
		both("copy", "transfer", false, func(s *sim) { s.copies(s.call("cudaMemcpyAsync", callTime), gapTime) }),
		both("event comes late", "dependency", false,
			func(s *sim) { s.run(s.kernel(), s.call("cudaLaunchKernel", callTime), kernelTime, gapTime, 0) }),
		both("another rank is late", "other-ranks", false, func(s *sim) {
			s.run("ncclDevKernel_AllReduce_Sum_bf16_RING_LL(args)", s.call("cudaLaunchKernel", callTime), kernelTime,
				gapTime, 0)
		}),
		both("busy", "", false, nothing),
		both("memory is pinned", "allocation", true, call("cudaHostAlloc")),
		both("memory is freed", "allocation", true, call("cudaFree")),
		both("graphs are made", "module-load", true, call("cudaGraphInstantiate")),
		both("tokens are sent", "other-ranks", false, func(s *sim) { s.busy(nsysgen.RowRange, "dist_barrier") }),
		both("statistics are logged", "host-code", true, func(s *sim) { s.busy(nsysgen.RowRange, "log_stats") }),
		both("a queue of another process", "other-process", true,
			wait("sched_yield", "<built-in method acquire of _multiprocessing.SemLock object at 0x7f5a3c0b2d40>")),
		both("a condition", "lock", true, wait("pthread_cond_wait", "/usr/lib/python3.12/threading.py(355): wait")),
		both("a semaphore", "lock", true, wait("sem_wait",
			"<built-in method acquire of _thread.RLock object at 0x7f5a3c0b2d40>")),
		both("a sleep in a step", "system-call", true, wait("nanosleep", "<built-in function sleep>")),
		both("hidden scheduler", "", false, func(s *sim) { // hidden by the work that is queued
			s.add(nsysgen.RowRange, "schedule", s.host, s.host+200_000)
			s.host += 200_000
		}),
		both("back-pressure", "", false, func(s *sim) { // the launch waits for room in the queue while the GPU works
			s.run(s.kernel(), s.call("cudaLaunchKernel", 300_000), kernelTime, 0, 0)
		}),
		{Name: "descheduled", Cause: "descheduled", Host: true, Nsys: true,
			middle: func(s *sim) { s.busy(nsysgen.RowOff, "") }},
		{Name: "sampled without ranges", Cause: "host-code", Host: true, Nsys: true, middle: func(s *sim) {
			for at := s.host; at < s.until(); at += gapTime / 10 {
				s.add(nsysgen.RowSample, "PyEval_EvalFrameDefault", at, at)
			}
			s.host = s.until()
		}},
		{Name: "no requests", Cause: "no-requests", Nsys: true, Torch: true, middle: nothing,
			after: wait("epoll_wait", "<built-in method poll of select.epoll object at 0x7f5a3c0b2d40>")},
	}
	return slices.Concat(list, longer(), fromSources())
}

// longer are the cases in which more than one activity makes the gaps.
func longer() []Case {
	return []Case{
		{Name: "launches are slow", Cause: "launch-call", Host: true, Nsys: true, Torch: true, whole: func(s *sim) {
			start := s.host
			for range 2 * half { // each call takes longer than the kernel of the one before
				s.run(s.kernel(), s.call("cudaLaunchKernel", 2*kernelTime), kernelTime, 0, 0)
			}
			s.add(nsysgen.RowRange, stepName, start, s.host)
		}},
		both("synchronisation empties the queue", "synchronisation", true,
			func(s *sim) { s.drain("cudaStreamSynchronize", 0) }),
		{Name: "item of each layer", Cause: "blocking-copy", Host: true, Nsys: true, Torch: true, middle: func(s *sim) {
			for range half { // each waits for the one kernel before it
				s.launch(1)
				s.number++
				s.copies(s.number, 200)
				s.call("cudaMemcpy", s.gpu+2_000-s.host)
				s.host += 10_000
			}
		}},
		both("copy empties the queue", "blocking-copy", true, func(s *sim) { s.drain("cudaMemcpy", 2_000) }),
		{Name: "graph launch is slow", Cause: "graph-launch", Host: true, Nsys: true, Torch: true, whole: func(s *sim) {
			start := s.host
			s.host = max(s.host, s.gpu-gapTime/2)
			s.replay(gapTime*3/2, 0)
			s.add(nsysgen.RowRange, stepName, start, s.host)
		}},
		{Name: "dispatch inside graphs", Cause: "gpu-dispatch", Nsys: true, Torch: true, whole: func(s *sim) {
			start := s.host
			s.replay(callTime, gapTime/(2*half))
			s.add(nsysgen.RowRange, stepName, start, s.host)
		}},
	}
}

// within is a stretch of frames, outermost first, or of Nsight Systems a range of the outermost's function, that leaves
// a gap.
func within(frames ...string) func(*sim) {
	return func(s *sim) {
		end := s.until()
		if s.nsys {
			_, function, _ := strings.Cut(frames[0], "): ")
			s.add(nsysgen.RowRange, function, s.host, end)
		} else {
			for i, f := range frames {
				s.add(frame, f, s.host+200*int64(i), end-200*int64(i))
			}
		}
		s.host = end
	}
}

// fromSources are what the sources of servers do between two launches, or between two steps.
func fromSources() []Case {
	torch := func(name, cause string, host bool, frames ...string) Case {
		return Case{Name: name, Cause: cause, Host: host, Torch: true, middle: within(frames...)}
	}
	const lock = "<built-in method acquire of _thread.lock object at 0x7f5a3c0b2d40>"
	list := []Case{
		torch("vLLM's worker has no message", "other-process", true, broadcast+": dequeue", broadcast+": acquire_read",
			utils+": wait", "<built-in function sched_yield>"),
		torch("a loader's workers are slow", "other-process", true,
			"enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", loader+": _next_data",
			loader+": _try_get_data", "/usr/lib/python3.12/multiprocessing/queues.py(113): get",
			"/usr/lib/python3.12/multiprocessing/connection.py(440): _poll"),
		torch("ranks of data parallel attention meet", "other-ranks", false,
			"/sgl-workspace/sglang/python/sglang/srt/managers/scheduler_dp_attn_mixin.py(199): maybe_prepare_mlp_sync_batch",
			"/usr/lib/python3.12/site-packages/torch/distributed/distributed_c10d.py(3921): all_gather_into_tensor"),
		torch("ranks poll a transfer together", "other-ranks", false,
			"/sgl-workspace/sglang/python/sglang/srt/disaggregation/utils.py(69): poll_and_all_reduce",
			"/usr/lib/python3.12/site-packages/torch/distributed/distributed_c10d.py(2810): all_reduce"),
		torch("compiled code is checked", "host-code", true, "TorchDynamo Cache Lookup"),
		both("a grammar's mask", "host-code", true, within(
			"/usr/lib/python3/dist-packages/vllm/v1/structured_output/__init__.py(204): grammar_bitmask")),
		torch("garbage is collected", "host-code", true, "<built-in function collect>"),
		torch("a compiler thread is waited for", "lock", true,
			"/usr/lib/python3.12/concurrent/futures/_base.py(428): result",
			"/usr/lib/python3.12/threading.py(355): wait", lock),
		both("TokenSpeed commits", "synchronisation", true, func(s *sim) {
			start := s.host
			s.drain("cudaEventSynchronize", 0)
			s.add(nsysgen.RowRange, "commit:sync", start, s.gpu+2_500)
		}),
		both("a communicator aborts late", "other-ranks", false, within(
			"/usr/lib/python3.12/site-packages/torch/distributed/distributed_c10d.py(4600): barrier")),
	}
	rests := func(name string, nsys bool, frames ...string) {
		list = append(list, Case{Name: name, Cause: "no-requests", Torch: !nsys, Nsys: nsys, middle: nothing,
			after: within(frames...)})
	}
	rests("SGLang's sleeper", false, scheduler+": on_idle", sleeper+": maybe_sleep",
		"<built-in method poll of zmq.backend.cython._poll object at 0x7f00>")
	rests("an engine without work", false, engine+": _process_input_queue", "/usr/lib/python3.12/queue.py(171): get",
		"/usr/lib/python3.12/threading.py(355): wait", lock)
	return list
}

// drain is a call that waits until the GPU is done, after which the host catches up.
func (s *sim) drain(name string, copied int64) {
	if copied > 0 {
		s.number++
		s.copies(s.number, copied)
	}
	done := s.gpu
	s.call(name, done+2_000-s.host)
	s.host = done + gapTime - callTime - latency
}

// replay launches a graph of a step's kernels.
func (s *sim) replay(length, between int64) {
	correlation := s.call("cudaGraphLaunch", length)
	for i := range 2 * half {
		late := int64(0)
		if i > 0 {
			late = between
		}
		s.run(s.kernel(), correlation, kernelTime, late, int64(100+i))
	}
}
