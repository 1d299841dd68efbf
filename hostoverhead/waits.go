package hostoverhead

import (
	"slices"
	"strings"

	"github.com/llmstrata/strata/internal/framework"
	"github.com/llmstrata/strata/trace"
)

// meaning is what names mean that contain one of some parts, in lower case.
type meaning struct {
	cause Cause
	parts []string
}

// meant is the cause of the first entry that fits a name, "" for none.
func meant(list []meaning, name string) Cause {
	name = strings.ToLower(name)
	for _, m := range list {
		if containsAny(name, m.parts) {
			return m.cause
		}
	}
	return ""
}

func containsAny(s string, parts []string) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(s, p) })
}

// callMeanings are API calls that do more than queue work. Copies are judged by their form and duration.
var callMeanings = []meaning{
	{CauseSync, []string{"synchronize", "eventquery", "streamquery"}},
	{CauseModule, []string{"moduleload", "moduleget", "libraryload", "librarygetkernel", "graphinstantiate", "streamcreate", "streamdestroy", "linkcomplete"}},
	{CauseAllocation, []string{"malloc", "free", "hostalloc", "hostregister", "hostunregister", "memcreate", "memmap", "memunmap", "memrelease", "memalloc", "addressreserve", "memsetaccess"}},
}

// hostName is what the name of a call, range, operator or frame says about the host. Names are asked once.
type hostName struct {
	known                     bool
	call                      Cause // of API calls: what they do beside queueing work
	kernelLaunch, graphLaunch bool
	copies, async             bool
	system                    Cause // of system calls: what the thread waits for
	frame                     Cause // of Python frames: the wait that the function is
	step, gil                 bool  // of ranges
	exchange, rangeExchange   bool  // of operators and frames; of ranges
}

// name is what a name says.
func (l *ledger) name(id trace.NameID) *hostName {
	n := &l.names[id]
	if !n.known {
		name := l.w.t.Name(id)
		*n = hostName{known: true, call: meant(callMeanings, name), kernelLaunch: isKernelLaunch(name), graphLaunch: trace.IsGraphLaunchName(name),
			copies: strings.Contains(name, "emcpy"), async: strings.Contains(name, "Async"), system: meant(osMeanings, name), frame: frameWait(name),
			step: isStep(name, l.w.steps), gil: waitsForGIL(name), exchange: exchanges(trace.KindOp, name), rangeExchange: exchanges(trace.KindRange, name)}
	}
	return n
}

// callCause classifies the time inside an API call.
func (p *Params) callCause(e trace.Event, n *hostName) Cause {
	switch {
	case n.graphLaunch:
		return CauseGraphLaunch
	case n.kernelLaunch:
		if e.Duration() >= p.BlockedLaunch {
			return CauseModule
		}
		return CauseLaunch
	case n.copies:
		if !n.async || e.Duration() >= p.LongCopyCall {
			return CauseCopyCall
		}
		return CauseLaunch
	case n.call != "":
		return n.call
	}
	return CauseLaunch
}

// waitsForDevice reports whether a call returns only when the device has caught up, so that the queue is empty then.
func waitsForDevice(c Cause) bool { return c == CauseSync || c == CauseCopyCall }

// input marks what a thread calls that waits for something to do.
const input Cause = "waits-for-input"

// wakesOthers marks calls that wake other threads, and wait for nobody.
const wakesOthers Cause = "wakes-others"

// osMeanings are C library and system calls that Nsight Systems records (OSRT).
var osMeanings = []meaning{
	{CauseGIL, []string{"take_gil"}},
	{wakesOthers, []string{"pthread_cond_signal", "pthread_cond_broadcast", "pthread_mutex_unlock", "pthread_rwlock_unlock"}},
	{CauseLock, []string{"pthread_mutex", "pthread_rwlock", "pthread_cond", "pthread_spin", "pthread_join", "pthread_barrier", "sem_wait", "sem_timedwait", "sem_clockwait", "futex", "flock"}},
	{input, []string{"poll", "select", "epoll", "recv", "accept", "nanosleep", "usleep", "sleep", "sigwait", "mq_receive", "msgrcv", "sched_yield"}},
}

// inStep says what waiting for input is: without anything to do between two steps, a system call within one.
func inStep(c Cause, between bool) Cause {
	switch {
	case c == input && between:
		return CauseNoRequests
	case c == input, c == wakesOthers, c == "":
		return CauseSystemCall
	}
	return c
}

// pythonMeanings are functions of Python in which a thread waits: the last part of a frame's name.
var pythonMeanings = []meaning{
	{CauseGIL, []string{"take_gil"}},
	{CauseLock, []string{"acquire of _thread", "'acquire'", "method get of _queue"}},
	{input, []string{"built-in method poll", "built-in method select", "built-in function select", "method 'poll'", "built-in function sleep", "built-in method sleep", "method 'recv", "method recv", "method 'accept", "method accept"}},
}

// libraryWaits are functions of Python's library that wait, by file and function.
var libraryWaits = []struct {
	file, function string
	cause          Cause
}{
	{"threading.py", "wait", CauseLock}, {"threading.py", "join", CauseLock}, {"threading.py", "_wait_for_tstate_lock", CauseLock},
	{"queue.py", "get", CauseLock}, {"concurrent/futures/_base.py", "result", CauseLock},
	{"selectors.py", "select", input}, {"zmq/sugar/poll.py", "poll", input}, {"zmq/sugar/socket.py", "recv", input}, {"zmq/sugar/socket.py", "recv_multipart", input},
	{"multiprocessing/connection.py", "recv", input}, {"multiprocessing/connection.py", "poll", input},
}

// frameWait is the wait that a Python frame is, "" for code that runs.
func frameWait(name string) Cause {
	if strings.HasPrefix(name, "<") {
		return meant(pythonMeanings, name)
	}
	f, ok := framework.ParseFrame(name)
	if !ok {
		return ""
	}
	for _, w := range libraryWaits {
		if f.Func == w.function && strings.HasSuffix(f.Path, w.file) {
			return w.cause
		}
	}
	return ""
}

// waitsForGIL recognises the ranges that Nsight Systems (--trace=python-gil) and servers write while a thread waits for
// Python's interpreter lock.
func waitsForGIL(name string) bool {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r < 'a' || r > 'z' })
	return slices.Contains(words, "gil") && !slices.Contains(words, "holding") && !slices.Contains(words, "held")
}

// hostExchanges are parts of the names of ranges and functions in which ranks exchange objects on the CPU.
var hostExchanges = []string{"barrier", "_object", "pyobj", "recv_obj", "send_obj", "gloo:", "mpi_"}

// namedExchanges are those of ranges that an application names itself. In operators and functions of torch they are
// the dispatch of a collective of the GPU, which waits for nobody.
var namedExchanges = []string{"broadcast", "gather", "all_reduce", "allreduce", "reduce_scatter", "ncclgroupend"}

// exchanges reports whether a range, operator or frame is an exchange between ranks that runs on the CPU.
func exchanges(kind trace.Kind, name string) bool {
	name = strings.ToLower(name)
	if containsAny(name, hostExchanges) {
		return true
	}
	applications := kind == trace.KindRange || kind == trace.KindAnnotation
	return applications && !strings.Contains(name, "::") && !strings.HasPrefix(name, "nccl:") && !strings.HasPrefix(name, "triton_") && containsAny(name, namedExchanges)
}

// isProfilerOverhead reports whether an overhead event is the profiler's own work, unlike the CUDA driver's lazy loading
// or a full command buffer.
func isProfilerOverhead(name string) bool {
	return containsAny(strings.ToLower(name), []string{"profiler", "buffer flush", "buffer request", "instrumentation", "resource"})
}

// isKernelLaunch reports whether an API call launches a kernel, graphs apart: cudaLaunchKernel, cudaLaunchKernelExC,
// cuLaunchKernel(Ex), cudaLaunchCooperativeKernel and their HIP names.
func isKernelLaunch(name string) bool {
	return strings.Contains(name, "Launch") && strings.Contains(name, "Kernel") && !trace.IsGraphLaunchName(name)
}
