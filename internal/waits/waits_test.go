package waits_test

import (
	"testing"

	"github.com/llmstrata/strata/internal/waits"
	"github.com/llmstrata/strata/layer/finding"
)

// TestWhatWaitsMean: within functions of servers, by file.
func TestWhatWaitsMean(t *testing.T) {
	spin, poll, lock := waits.Wait{}, waits.FrameWait("<built-in method poll of zmq.backend.cython._poll object at 0x1>"),
		waits.FrameWait("/usr/lib/threading.py(355): wait")
	process := waits.WaitForThread(finding.OtherProcess)
	for _, c := range []struct {
		around string
		inner  waits.Wait
		want   waits.Wait
	}{
		{"vllm/distributed/device_communicators/shm_broadcast.py(1): acquire_read", spin, process},
		{"vllm/distributed/device_communicators/shm_broadcast.py(1): acquire_read", poll, poll},
		{"other.py(1): acquire_read", spin, spin},
		{"other.py(1): acquire_read", lock, lock},
		{"vllm/v1/engine/core.py(1): _process_input_queue", spin, spin},
		{"vllm/v1/engine/core.py(1): _process_input_queue", lock, waits.Wait{For: waits.Input, Cause: finding.Lock}},
		{"/usr/lib/python3/multiprocessing/queues.py(1): get", poll, process},
		{"scheduler.get_ready_grammar_requests", spin, waits.WaitForThread(finding.Lock)},
		{"forward", lock, lock},
	} {
		if got := waits.AroundOf(c.around).Meaning(c.inner); got != c.want {
			t.Errorf("%+v within %s: %+v, want %+v", c.inner, c.around, got, c.want)
		}
	}
	for name, want := range map[string]waits.Part{"scheduler.recv_requests": waits.Receive,
		"a/b.py(1): recv_requests": waits.Receive, "a.py(2): on_idle": waits.Idle,
		"a.py(3): check_memory": waits.Check, "ppoll": waits.Receive,
		"<built-in method recv of zmq.Socket object at 0x1>": waits.Receive, "forward": waits.NoPart,
		"<built-in method run>": waits.NoPart} {
		if got := waits.PartOf(name); got != want {
			t.Errorf("%s: part %d, want %d", name, got, want)
		}
	}
	if waits.Exchanges(0, "zmq/sugar/socket.py(975): recv_pyobj") || !waits.Exchanges(0, "a.py(1): broadcast_pyobj") {
		t.Error("a received object is no exchange between ranks, a broadcast one is")
	}
}
