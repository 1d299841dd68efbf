package names

import (
	"slices"
	"strings"

	"github.com/llmstrata/strata/internal/framework"
)

// What a thread waits for, in the words of package hostoverhead's causes.
const (
	sync       = "synchronisation"
	module     = "module-load"
	allocation = "allocation"
	lock       = "lock"
	gil        = "gil"
)

// CallWait is what an API call does that does more than queue work, "" for others. Copies are judged by their form and
// duration.
func CallWait(name string) string { return meant(callMeanings, name) }

// SystemWait is what a thread waits for in a call of the C library or the system, "" for no other thread and no input.
func SystemWait(name string) string { return meant(osMeanings, name) }

// meaning is what names mean that contain one of some parts, in lower case.
type meaning struct {
	cause string
	parts []string
}

// meant is the cause of the first entry that fits a name, "" for none.
func meant(list []meaning, name string) string {
	name = strings.ToLower(name)
	for _, m := range list {
		if ContainsAny(name, m.parts) {
			return m.cause
		}
	}
	return ""
}

// callMeanings are API calls that do more than queue work. Copies are judged by their form and duration.
var callMeanings = []meaning{
	{sync, []string{"synchronize", "eventquery", "streamquery"}},
	{module, []string{"moduleload", "moduleget", "libraryload", "librarygetkernel", "graphinstantiate", "streamcreate", "streamdestroy", "linkcomplete"}},
	{allocation, []string{"malloc", "free", "hostalloc", "hostregister", "hostunregister", "memcreate", "memmap", "memunmap", "memrelease", "memalloc", "addressreserve", "memsetaccess"}},
}

// Input marks what a thread calls that waits for something to do.
const Input = "waits-for-input"

// Wakes marks calls that wake other threads, and wait for nobody.
const Wakes = "wakes-others"

// osMeanings are C library and system calls that Nsight Systems records (OSRT).
var osMeanings = []meaning{
	{gil, []string{"take_gil"}},
	{Wakes, []string{"pthread_cond_signal", "pthread_cond_broadcast", "pthread_mutex_unlock", "pthread_rwlock_unlock"}},
	{lock, []string{"pthread_mutex", "pthread_rwlock", "pthread_cond", "pthread_spin", "pthread_join", "pthread_barrier", "sem_wait", "sem_timedwait", "sem_clockwait", "futex", "flock"}},
	{Input, []string{"poll", "select", "epoll", "recv", "accept", "nanosleep", "usleep", "sleep", "sigwait", "mq_receive", "msgrcv", "sched_yield"}},
}

// pythonMeanings are functions of Python in which a thread waits: the last part of a frame's name.
var pythonMeanings = []meaning{
	{gil, []string{"take_gil"}},
	{lock, []string{"acquire of _thread", "'acquire'", "method get of _queue"}},
	{Input, []string{"built-in method poll", "built-in method select", "built-in function select", "method 'poll'", "built-in function sleep", "built-in method sleep", "method 'recv", "method recv", "method 'accept", "method accept"}},
}

// libraryWaits are functions of Python's library that wait, by file and function.
var libraryWaits = []struct {
	file, function string
	cause          string
}{
	{"threading.py", "wait", lock}, {"threading.py", "join", lock}, {"threading.py", "_wait_for_tstate_lock", lock},
	{"queue.py", "get", lock}, {"concurrent/futures/_base.py", "result", lock},
	{"selectors.py", "select", Input}, {"zmq/sugar/poll.py", "poll", Input}, {"zmq/sugar/socket.py", "recv", Input}, {"zmq/sugar/socket.py", "recv_multipart", Input},
	{"multiprocessing/connection.py", "recv", Input}, {"multiprocessing/connection.py", "poll", Input},
}

// FrameWait is the wait that a Python frame is, "" for code that runs.
func FrameWait(name string) string {
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

// WaitsForGIL recognises the ranges that Nsight Systems (--trace=python-gil) and servers write while a thread waits for
// Python's interpreter lock.
func WaitsForGIL(name string) bool {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r < 'a' || r > 'z' })
	return slices.Contains(words, "gil") && !slices.Contains(words, "holding") && !slices.Contains(words, "held")
}

// wakeCalls are calls that let other threads go on, by the calls in which those wait.
var wakeCalls = []struct{ wait, wake []string }{
	{[]string{"pthread_cond_wait", "pthread_cond_timedwait", "pthread_cond_clockwait"}, []string{"pthread_cond_signal", "pthread_cond_broadcast"}},
	{[]string{"sem_wait", "sem_timedwait", "sem_clockwait"}, []string{"sem_post"}},
	{[]string{"pthread_mutex_lock", "pthread_mutex_timedlock", "pthread_mutex_clocklock"}, []string{"pthread_mutex_unlock"}},
	{[]string{"pthread_rwlock_rdlock", "pthread_rwlock_wrlock", "pthread_rwlock_timed"}, []string{"pthread_rwlock_unlock"}},
}

// WakeFamily is the place in wakeCalls of a call that waits, or of one that wakes, −1 for others.
func WakeFamily(name string) (waits, wakes int) {
	name = strings.ToLower(name)
	waits, wakes = -1, -1
	for i, c := range wakeCalls {
		if ContainsAny(name, c.wait) {
			waits = i
		}
		if ContainsAny(name, c.wake) {
			wakes = i
		}
	}
	return waits, wakes
}

// CompiledOp recognises the operators that torch.compile wraps its code in.
func CompiledOp(name string) bool {
	return strings.HasPrefix(name, "## Call CompiledFxGraph") || strings.HasPrefix(name, "CompiledFunction") || strings.HasPrefix(name, "Torch-Compiled Region")
}

// CompiledFrame recognises frames of code that a compiler wrote.
func CompiledFrame(name string) bool {
	f, ok := framework.ParseFrame(name)
	return ok && f.Generated()
}
