package waits

import (
	"slices"
	"strings"

	"github.com/llmstrata/strata/internal/framework"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace/event"
)

// Wait is what a thread waits for in a call or a function. The zero Wait is nothing, or unknown from the name.
type Wait struct {
	For    Awaited       // the sort of thing
	Cause  finding.Cause // of a wait for another thread or process, and of one for input within a step
	Sleeps bool          // it ends after a time, and not by input
}

// Awaited is the sort of thing that a thread waits for.
type Awaited uint8

// What is waited for.
const (
	Nothing Awaited = iota
	Input           // something to do
	Nobody          // the call wakes other threads
	Thread          // another thread or another process
	System          // the operating system, which reads, writes or flushes
)

// WaitForThread returns the wait for another thread or process that has a cause.
func WaitForThread(c finding.Cause) Wait { return Wait{For: Thread, Cause: c} }

var (
	lock    = WaitForThread(finding.Lock)
	gil     = WaitForThread(finding.GIL)
	process = WaitForThread(finding.OtherProcess)
	ranks   = WaitForThread(finding.OtherRanks)
	input   = Wait{For: Input, Cause: finding.SystemCall}
	sleep   = Wait{For: Input, Cause: finding.SystemCall, Sleeps: true}
	message = Wait{For: Input, Cause: finding.OtherProcess} // from another process: a request between two steps
	wakes   = Wait{For: Nobody}
	system  = Wait{For: System}
)

// CallWait is what an API call does that does more than queue work, NoCause for others. Copies are judged by their form
// and duration.
func CallWait(name string) finding.Cause { return meant(callMeanings, name) }

// SystemWait is what a thread waits for in a call of the C library or the system.
func SystemWait(name string) Wait { return meant(osMeanings, name) }

// meaning is what names mean that contain one of some parts, in lower case.
type meaning[T any] struct {
	means T
	parts []string
}

// meant is the meaning of the first entry that fits a name, the zero one for none.
func meant[T any](list []meaning[T], name string) (none T) {
	name = strings.ToLower(name)
	for _, m := range list {
		if containsAny(name, m.parts) {
			return m.means
		}
	}
	return none
}

// callMeanings are API calls that do more than queue work. Copies are judged by their form and duration.
var callMeanings = []meaning[finding.Cause]{
	{finding.Synchronisation, []string{"synchronize", "eventquery", "streamquery"}},
	{finding.ModuleLoad, []string{"moduleload", "moduleget", "libraryload", "librarygetkernel", "graphinstantiate",
		"streamcreate", "streamdestroy", "linkcomplete"}},
	{finding.Allocation, []string{"malloc", "free", "hostalloc", "hostregister", "hostunregister", "memcreate",
		"memmap", "memunmap", "memrelease", "memalloc", "addressreserve", "memsetaccess"}},
}

// osMeanings are C library and system calls that Nsight Systems records (OSRT).
var osMeanings = []meaning[Wait]{
	{gil, []string{"take_gil"}},
	{wakes, []string{"pthread_cond_signal", "pthread_cond_broadcast", "pthread_mutex_unlock", "pthread_rwlock_unlock"}},
	{lock, []string{"pthread_mutex", "pthread_rwlock", "pthread_cond", "pthread_spin", "pthread_join",
		"pthread_barrier", "sem_wait", "sem_timedwait", "sem_clockwait", "futex", "flock"}},
	{input, []string{"poll", "select", "recv", "accept", "sigwait", "mq_receive", "msgrcv"}},
	{sleep, []string{"sleep"}},
	{process, []string{"sched_yield"}},
}

// pythonMeanings are functions of Python in which a thread waits: the last part of a frame's name.
var pythonMeanings = []meaning[Wait]{
	{gil, []string{"take_gil"}},
	{process, []string{"acquire of _multiprocessing", "built-in function sched_yield"}},
	{lock, []string{"acquire of _thread", "'acquire'", "method get of _queue"}},
	{input, []string{"built-in method poll", "built-in method select", "built-in function select", "method 'poll'",
		"method 'accept", "method accept"}},
	{sleep, []string{"built-in function sleep", "built-in method sleep"}},
	{message, []string{"method 'recv", "method recv"}},
	{system, []string{"built-in function read", "built-in function write", "built-in function pread",
		"built-in function pwrite", "built-in function fsync", "built-in function fdatasync",
		"built-in function ftruncate", "built-in function sendfile"}}, // of os
}

// libraryWaits are functions of Python's library that wait, by file and function.
var libraryWaits = []struct {
	file, function string
	wait           Wait
}{
	{"threading.py", "wait", lock}, {"threading.py", "join", lock}, {"threading.py", "_wait_for_tstate_lock", lock},
	{"queue.py", "get", lock}, {"concurrent/futures/_base.py", "result", lock},
	{"selectors.py", "select", input},
	{"zmq/sugar/poll.py", "poll", message}, {"zmq/sugar/socket.py", "recv", message},
	{"zmq/sugar/socket.py", "recv_multipart", message}, {"zmq/sugar/socket.py", "recv_pyobj", message},
	{"zmq/sugar/socket.py", "poll", message},
	{"multiprocessing/connection.py", "recv", message}, {"multiprocessing/connection.py", "poll", message},
	{"multiprocessing/connection.py", "recv_bytes", message}, {"multiprocessing/connection.py", "wait", message},
}

// FrameWait is the wait that a Python frame is, the zero Wait for code that runs.
func FrameWait(name string) Wait {
	if strings.HasPrefix(name, "<") {
		return meant(pythonMeanings, name)
	}
	f, ok := framework.ParseFrame(name)
	if !ok {
		return Wait{}
	}
	for _, w := range libraryWaits {
		if f.Func == w.function && strings.HasSuffix(f.Path, w.file) {
			return w.wait
		}
	}
	return Wait{}
}

// WaitsForGIL recognises the ranges that Nsight Systems (--trace=python-gil) and servers write while a thread waits for
// Python's interpreter lock.
func WaitsForGIL(name string) bool {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r < 'a' || r > 'z' })
	return slices.Contains(words, "gil") && !slices.Contains(words, "holding") && !slices.Contains(words, "held")
}

// hostExchanges are parts of the names of ranges and functions in which ranks exchange objects on the CPU.
var hostExchanges = []string{"barrier", "_object", "broadcast_pyobj", "point_to_point_pyobj", "recv_obj", "send_obj",
	"gloo:", "mpi_"}

// namedExchanges are those of ranges that an application names itself. In operators and functions of torch they are
// the dispatch of a collective of the GPU, which waits for nobody.
var namedExchanges = []string{"broadcast", "gather", "all_reduce", "allreduce", "reduce_scatter", "ncclgroupend"}

// Exchanges reports whether a range, operator or frame is an exchange between ranks that runs on the CPU.
func Exchanges(kind event.Kind, name string) bool {
	name = strings.ToLower(name)
	if containsAny(name, hostExchanges) {
		return true
	}
	applications := kind == event.Range || kind == event.Annotation
	return applications && !strings.Contains(name, "::") && !strings.HasPrefix(name, "nccl:") &&
		!strings.HasPrefix(name, "triton_") && containsAny(name, namedExchanges)
}

func containsAny(s string, parts []string) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(s, p) })
}
