package idle

import (
	"fmt"
	"strings"
	"time"

	"github.com/llmstrata/strata/internal/gen/nsysgen"
)

// Loop is a run of an event loop: a server, or a program, whose GPU is idle between two steps for one reason.
//
// The loops follow the sources of the servers: SGLang's Scheduler.event_loop_overlap and IdleSleeper, vLLM's
// EngineCoreProc.run_busy_loop and WorkerProc.worker_busy_loop with MessageQueue.acquire_read, TensorRT-LLM's
// PyExecutor._executor_loop, TokenSpeed's event_loop, and PyTorch's DataLoader.
type Loop struct {
	Case
	// Gap is how long the GPU is idle between two steps.
	Gap time.Duration
	// Verdicts are those that are right.
	Verdicts []string
	// Plain runs have no step annotations and one long row of different kernels.
	Plain bool

	body func(s *sim, step int) // what the host does from one step to the next
}

// in notes a frame, or of Nsight Systems a range, around what f does. The two name functions in their own way.
func (s *sim) in(file, function string, f func()) {
	start := s.host
	f()
	s.host += 200 // to return
	if s.nsys {
		s.add(nsysgen.RowRange, "scheduler."+function, start, s.host)
		return
	}
	s.add(frame, file+": "+function, start, s.host)
}

// takes lets time pass on the host.
func (s *sim) takes(ns int64) func() { return func() { s.host += ns } }

// builtin notes a built-in function, or a call of the C library.
func (s *sim) builtin(python, system string, ns int64) {
	start := s.host
	s.host += ns
	if s.nsys {
		s.add(nsysgen.RowOS, system, start, s.host)
		return
	}
	s.add(frame, python, start, s.host)
}

// random is a small deterministic generator of a run: 0 to n−1.
func (s *sim) random(n int64) int64 {
	s.seed = s.seed*6364136223846793005 + 1442695040888963407
	return int64((s.seed >> 33) % uint64(n))
}

const (
	receiver  = "/sgl-workspace/sglang/python/sglang/srt/managers/scheduler_components/request_receiver.py(71)"
	scheduler = "/sgl-workspace/sglang/python/sglang/srt/managers/scheduler.py(1402)"
	sleeper   = "/sgl-workspace/sglang/python/sglang/srt/managers/scheduler_components/idle_sleeper.py(33)"
	broadcast = "/usr/lib/python3/dist-packages/vllm/distributed/device_communicators/shm_broadcast.py(512)"
	utils     = "/usr/lib/python3/dist-packages/vllm/distributed/utils.py(90)"
	engine    = "/usr/lib/python3/dist-packages/vllm/v1/engine/core.py(811)"
	executor  = "/usr/lib/python3/dist-packages/vllm/v1/executor/multiproc_executor.py(640)"
	speed     = "/opt/tokenspeed/runtime/engine/event_loop.py(210)"
	handler   = "/opt/tokenspeed/runtime/engine/request_handler.py(77)"
	loader    = "/usr/lib/python3.12/site-packages/torch/utils/data/dataloader.py(741)"
)

// head is the part of SGLang's loop that every iteration begins with: it looks at two sockets without blocking.
func (s *sim) head() {
	s.in(receiver, "recv_requests", func() {
		s.in(receiver, "_pull_raw_reqs", func() {
			for range 2 {
				s.in(receiver, "sock_recv", func() {
					s.builtin("<built-in method recv of zmq.backend.cython.socket.Socket object at 0x7f00>", "ppoll",
						4_000+s.random(4_000))
				})
			}
		})
	})
	s.in(scheduler, "process_input_requests", s.takes(10_000+s.random(5_000)))
	s.in(scheduler, "get_next_batch_to_run", s.takes(40_000+s.random(60_000)))
}

// sglang runs iterations without requests until a time.
func (s *sim) sglang(until int64, idle func()) {
	for s.host < until {
		s.head()
		s.in(scheduler, "on_idle", idle)
	}
	s.head()
}

// checks are what an idle SGLang does.
func (s *sim) checks() {
	for _, f := range []string{"_check_all_pools", "_check_req_pool", "_check_tree_cache", "publish_kv_events"} {
		s.in(scheduler, f, s.takes(15_000+s.random(30_000)))
	}
}

// spin is vLLM's wait for a message: it yields the core for at most a second, then waits in a poll.
func (s *sim) spin(until int64) {
	s.in(broadcast, "dequeue", func() {
		s.in(broadcast, "acquire_read", func() {
			began := s.host
			for s.host < until && s.host < began+1_000_000_000 {
				s.in(utils, "wait", func() {
					s.builtin("<built-in function sched_yield>", "sched_yield",
						4_000+s.random(3_000))
				})
				s.in(utils, "should_warn", s.takes(2_000))
				// the rest of the second in one piece: the generator writes no millions of rows
				if s.host-began > 20_000_000 {
					s.in(utils, "wait", func() {
						s.builtin("<built-in function sched_yield>", "sched_yield",
							min(until, began+1_000_000_000)-s.host)
					})
				}
			}
			if s.host < until {
				s.builtin("<built-in method poll of zmq.backend.cython._poll object at 0x7f00>", "poll", until-s.host)
			}
		})
	})
}

// blocks is a thread in Python's queue.get.
func (s *sim) blocks(until int64) {
	lib := "/usr/lib/python3.12/"
	s.in(lib+"queue.py(171)", "get", func() {
		s.in(lib+"threading.py(355)", "wait", func() {
			s.builtin("<built-in method acquire of _thread.lock object at 0x7f5a3c0b2d40>", "pthread_cond_wait",
				max(until-s.host, 1_000))
		})
	})
}

// Loops lists the runs, each with one length of the gap.
func Loops() (out []Loop) {
	const ms = time.Millisecond
	yes, no, open, notYes := []string{"YES"}, []string{"NO"}, []string{"INCONCLUSIVE"}, []string{"NO", "INCONCLUSIVE"}
	add := func(name, cause string, verdicts []string, body func(s *sim, step int), gaps ...time.Duration) *Loop {
		var last *Loop
		for _, g := range gaps {
			out = append(out, Loop{Case: Case{Name: fmt.Sprintf("%s, %v", name, g), Cause: cause, Torch: true,
				Nsys: true}, Gap: g, Verdicts: verdicts, body: body})
			last = &out[len(out)-1]
		}
		return last
	}
	lengths := []time.Duration{5 * ms, 20 * ms, 99 * ms, 101 * ms, 300 * ms}

	// A loader holds the GPU: however long it takes.
	load := func(s *sim, _ int) {
		s.in(loader, "__next__", func() { s.in(loader, "_next_data", s.takes(s.end()-s.host)) })
	}
	add("loader", "host-code", yes, load, lengths...)
	add("grammar is compiled", "host-code", yes, func(s *sim, _ int) {
		s.in("/opt/app/grammar.py(12)", "compile_grammar", s.takes(s.end()-s.host))
	}, 5*ms, 101*ms, 130*ms)
	workers := func(s *sim, _ int) {
		s.in(loader, "__next__", func() {
			s.in(loader, "_next_data", func() {
				s.in(loader, "_try_get_data", func() {
					s.in("/usr/lib/python3.12/multiprocessing/queues.py(113)", "get", func() {
						s.builtin("<built-in method poll of select.poll object at 0x7f00>", "poll", s.end()-s.host)
					})
				})
			})
		})
	}
	for i, g := range []time.Duration{20 * ms, 99 * ms, 101 * ms} {
		add("loader with workers", "other-process", yes, workers, g)
		out[len(out)-1].Nsys = i < 0 // ranges of workers are nobody's: only frames show it
	}

	// A server without requests: it sleeps, blocks or polls, which is the same.
	add("SGLang polls", "no-requests", no, func(s *sim, _ int) { s.sglang(s.end(), s.checks) }, lengths...)
	add("SGLang sleeps", "no-requests", no, func(s *sim, _ int) {
		for s.host < s.end() {
			s.head()
			s.in(scheduler, "on_idle", func() {
				s.checks()
				s.in(sleeper, "maybe_sleep", func() {
					s.builtin("<built-in method poll of zmq.backend.cython._poll object at 0x7f00>", "poll",
						max(1_000, min(s.end()-s.host, 1_000_000_000)))
				})
			})
		}
		s.head()
	}, lengths...)
	add("SGLang before 0.5", "no-requests", no, func(s *sim, _ int) {
		for s.host < s.end() {
			s.in(scheduler, "recv_requests", func() {
				s.in("/usr/lib/zmq/sugar/socket.py(975)", "recv_pyobj", s.takes(20_000+s.random(9_000)))
			})
			s.in(scheduler, "process_input_requests", s.takes(9_000))
			s.in(scheduler, "get_next_batch_to_run", s.takes(50_000))
			s.in(scheduler, "self_check_during_idle", func() { s.in(scheduler, "check_memory", s.takes(60_000)) })
		}
		s.head()
	}, lengths...)
	add("TokenSpeed polls", "no-requests", no, func(s *sim, _ int) {
		for s.host < s.end() {
			s.in(speed, "_process_new_requests", func() {
				s.in(handler, "recv_reqs", func() { s.in(handler, "recv_pyobj", s.takes(15_000+s.random(9_000))) })
			})
			s.in(speed, "_commit_cache_results", s.takes(30_000))
			s.in(speed, "next_execution_plan", s.takes(40_000+s.random(20_000)))
		}
		s.in(speed, "_process_new_requests", s.takes(20_000))
		s.in(speed, "next_execution_plan", s.takes(40_000))
	}, lengths...)
	// PyExecutor._executor_loop: with no active request rank 0 waits in queue.get, within the range of
	// fetch_new_requests.
	add("TensorRT-LLM blocks", "no-requests", no, func(s *sim, _ int) {
		s.in("", "_fetch_new_requests", func() { s.builtin("", "pthread_cond_wait", s.end()-s.host-50_000) })
		s.in("", "_schedule", s.takes(40_000))
	}, lengths...)
	// The other ranks wait in the broadcast of what rank 0 fetched: MPI yields the core.
	add("TensorRT-LLM's other ranks", "no-requests", no, func(s *sim, _ int) {
		s.in("", "_fetch_new_requests", func() {
			for s.host < s.end()-50_000 {
				s.builtin("", "sched_yield", min(50_000, max(1_000, s.end()-50_000-s.host)))
			}
		})
		s.in("", "_schedule", s.takes(40_000))
	}, 5*ms, 101*ms)
	add("TensorRT-LLM's responses", "host-code", yes, func(s *sim, _ int) {
		s.in("", "_update_requests", s.takes(100_000))
		s.in("", "_handle_responses", s.takes(s.end()-s.host-150_000))
		s.in("", "_fetch_new_requests", s.takes(36_000)) // get_nowait: requests are active
		s.in("", "_schedule", s.takes(80_000))
	}, 5*ms, 99*ms, 101*ms)
	for i := range out {
		out[i].Torch = !strings.HasPrefix(out[i].Name, "TensorRT-LLM") // its torch traces have no frames
	}
	add("an unknown server polls", "no-requests", no, func(s *sim, _ int) {
		for s.host < s.end() {
			s.in("/opt/own/serve.py(40)", "look", func() {
				s.builtin("<built-in method recv of zmq.backend.cython.socket.Socket object at 0x7f00>", "ppoll",
					9_000+s.random(5_000))
			})
			s.in("/opt/own/serve.py(60)", "plan", s.takes(60_000+s.random(30_000)))
		}
	}, lengths...)
	add("vLLM's engine blocks", "no-requests", no, func(s *sim, _ int) {
		s.in(engine, "_process_input_queue", func() { s.blocks(s.end()) })
	}, lengths...)
	out = dropNsys(out, "vLLM's engine blocks") // a range that names no file may be anybody's
	add("vLLM's worker rests", "no-requests", no, func(s *sim, _ int) { s.spin(s.end()) }, 1500*ms, 2500*ms)
	add("epoll", "no-requests", no, func(s *sim, _ int) {
		s.builtin("<built-in method poll of select.epoll object at 0x7f00>", "epoll_wait", s.end()-s.host)
	}, lengths...)
	add("epoll without steps", "no-requests", no, func(s *sim, _ int) {
		s.builtin("<built-in method poll of select.epoll object at 0x7f00>", "epoll_wait", s.end()-s.host)
	}, 5*ms, 20*ms, 101*ms)
	for i := range out[len(out)-3:] {
		out[len(out)-1-i].Plain = true
	}

	// Requests are there, and another process is late.
	add("SGLang parks requests", "other-process", yes, func(s *sim, _ int) { s.sglang(s.end(), s.takes(2_000)) }, 5*ms,
		99*ms, 101*ms)
	add("vLLM's worker waits", "other-process", yes, func(s *sim, _ int) { s.spin(s.end()) }, 2*ms, 20*ms, 99*ms,
		101*ms)
	add("vLLM's engine waits", "other-process", yes, func(s *sim, _ int) {
		s.in(executor, "get_response", func() { s.blocks(s.end()) })
	}, 2*ms, 99*ms, 101*ms)
	out = dropNsys(out, "vLLM's engine waits", "vLLM's worker waits", "vLLM's worker rests")
	add("yields", "other-process", yes, func(s *sim, _ int) {
		for s.host < s.end() {
			s.builtin("<built-in function sched_yield>", "sched_yield", min(50_000, max(1_000, s.end()-s.host)))
		}
	}, 5*ms, 101*ms)

	// Nothing is recorded: the same in every step is code, rare or irregular it is unknown.
	add("unnamed in each step", "host-code", yes, func(s *sim, _ int) {
		s.host = s.end() - s.random(int64(s.gap)/20+1)
	}, ms/2, 950*time.Microsecond, 1050*time.Microsecond, 3*ms, 99*ms, 101*ms)
	add("unnamed now and then", "unknown", open, func(s *sim, step int) {
		if step%3 == 0 {
			s.host = s.end() + s.random(4*int64(s.gap))
		}
	}, 950*time.Microsecond, 1050*time.Microsecond, 3*ms)
	add("unnamed once", "unknown", notYes, func(s *sim, step int) {
		if step == 5 {
			s.host = s.end()
		}
	}, 3*ms, 60*ms, 99*ms, 101*ms, 500*ms)
	return out
}

// dropNsys leaves the runs of some names to torch.profiler, as Nsight Systems has no frames.
func dropNsys(list []Loop, names ...string) []Loop {
	for i := range list {
		for _, n := range names {
			if strings.HasPrefix(list[i].Name, n) {
				list[i].Nsys = false
			}
		}
	}
	return list
}

// end is when what the host does between two steps must end to leave the gap.
func (s *sim) end() int64 { return s.gpu + int64(s.gap) - callTime - latency }
