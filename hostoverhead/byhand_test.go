package hostoverhead_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/hosttest"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// sixSteps are six decode steps of 1 ms (the last of 1.20 ms), each of 100 µs of Python, a kernel of 200 µs, 90 µs of
// Python, a kernel of 200 µs, and 100 µs of a synchronising call, in µs from its start: kernels at 100–300 and
// 400–600.
func sixSteps() *trace.Trace { return sixStepsWithin("") }

// sixStepsWithin are sixSteps within a range, "" for none.
func sixStepsWithin(run string) *trace.Trace {
	tl := hosttest.NewTimeline()
	if run != "" {
		tl.Event(event.Annotation, run, 0, 0, -5, 6500)
	}
	for i := range int64(6) {
		at, more := 1000*i, int64(0)
		if i == 5 {
			more = 200
		}
		tl.Event(event.Annotation, "step[DECODE bs=8]", 0, 0, at, at+900+more)
		tl.Event(event.Frame, "server.py(7): schedule", 0, 0, at, at+90+more)
		tl.Event(event.Runtime, "cudaLaunchKernel", 0, int(2*i)+1, at+90+more, at+95+more)
		tl.Event(event.Kernel, "gemm", 0, int(2*i)+1, at+100+more, at+300+more)
		tl.Event(event.Frame, "model.py(9): forward", 0, 0, at+300+more, at+390+more)
		tl.Event(event.Runtime, "cudaLaunchKernel", 0, int(2*i)+2, at+390+more, at+396+more)
		tl.Event(event.Kernel, "flash_fwd", 0, int(2*i)+2, at+400+more, at+600+more)
		tl.Event(event.Runtime, "cudaStreamSynchronize", 0, 0, at+600+more, at+700+more)
	}
	return tl.Finish()
}

// TestSixStepsByHand: from the first kernel's start to the last one's end are 5.70 ms, 2.4 of them busy. Each line
// can be added up from what sixSteps says.
func TestSixStepsByHand(t *testing.T) {
	v := judged(t, sixSteps(), func(o *hostoverhead.Options) { n := 2; o.TopGaps = &n })
	var b strings.Builder
	if err := v.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	lines := map[string]bool{}
	for line := range strings.Lines(b.String()) {
		lines[strings.Join(strings.Fields(line), " ")] = true
	}
	for want := range strings.Lines(sixStepsText) {
		if want = strings.TrimSpace(want); !lines[want] {
			t.Errorf("no line %q", want)
		}
	}
	if t.Failed() {
		t.Log(b.String())
	}
}

// TestRangeAroundTheRun: a range around all steps names the idle time that nothing else names, and no other.
func TestRangeAroundTheRun(t *testing.T) {
	const run = "execute_pipeline"
	want := decider(judged(t, sixSteps())).Idle
	got := decider(judged(t, sixStepsWithin(run))).Idle
	for i := range want {
		for k := range want[i].Names {
			if n := &want[i].Names[k]; n.Name == "unattributed host time" {
				n.Name = run
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("idle time within a range around the run (-without, +with it):\n%s", diff)
	}
}

// TestUnnamedTimeBeforeALostLaunch: before a kernel whose launch is in the trace, short host time without a name is the
// host's; before one whose launch is not, nothing says so.
func TestUnnamedTimeBeforeALostLaunch(t *testing.T) {
	for lost, want := range map[bool]finding.Cause{false: finding.HostCode, true: finding.UnknownCause} {
		tl := hosttest.NewTimeline()
		for i := range int64(6) {
			at, launch := 1000*i, int(2*i)+1
			tl.Event(event.Runtime, "cudaLaunchKernel", 0, launch, at, at+5)
			tl.Event(event.Kernel, "gemm", 0, launch, at+10, at+300)
			launch++
			if lost {
				launch = 0
			} else {
				tl.Event(event.Runtime, "cudaLaunchKernel", 0, launch, at+580, at+585)
			}
			tl.Event(event.Kernel, "flash_fwd", 0, launch, at+600, at+990)
		}
		causes := causesOf(judged(t, tl.Finish()))
		if got := causes[want]; got < 1500 {
			t.Errorf("launches lost: %t: %d µs are %s, want at least 1500; all are %v", lost, got, want, causes)
		}
	}
}

const sixStepsText = `Host bound: YES (confidence low)
Host overhead: 550 µs of 950 µs per step (at most a 2.38× speedup); largest cause: host-code (81.5%), led by step[DECODE bs=N] (37.2%).
Device 0: 6 steps, 12 kernels; threshold: host share ≥ 10%
- SGLang replays graphs in decode (by default), but none of the 6 decode steps of this window does: the window does not show what the server does
Time of the steps: 5.70 ms, busy 2.40 ms (42.1%), idle 3.30 ms
idle cause in the steps of step time largest
host work 2.80 ms 49.1%
host-code 2.69 ms 47.2% step[DECODE bs=N]
launch-call 110 µs 1.9% cudaLaunchKernel
host waiting 500 µs 8.8%
synchronisation 500 µs 8.8% cudaStreamSynchronize
all 3.30 ms 57.9%
Stages
stage steps verdict time idle host at most largest cause
decode 6 YES 5.70 ms 57.9% 57.9% 2.38× host-code
How kernels reach the device
stage path kernels share of kernel time exposed launches of the time
decode eager 12 100.0% 100.0% 110 µs 1.9%
Host overhead per pass: median 600 µs, p90 800 µs, max 800 µs; share of the pass: median 60.0%, p90 66.7%, max 66.7%
worst passes stage host share at most largest cause from to Perfetto visStart visEnd
4 decode 800 µs 66.7% 3.00× host-code 0.004100 s 0.005300 s 4100000 5300000
0 decode 600 µs 60.0% 2.50× host-code 0.000100 s 0.001100 s 100000 1100000
1 decode 600 µs 60.0% 2.50× host-code 0.001100 s 0.002100 s 1100000 2100000
2 decode 600 µs 60.0% 2.50× host-code 0.002100 s 0.003100 s 2100000 3100000
3 decode 600 µs 60.0% 2.50× host-code 0.003100 s 0.004100 s 3100000 4100000
Published metrics (M1–M5): YES
Idle here is the time in which no kernel runs; copies count as idle.
Whole window: YES
- gpu_idle_ratio 0.5789 crossed
- launch_overhead_ratio 0.0107
- gpu_utilization 0.4211 crossed
- nccl_ratio 0.0000
Doubts
- [few-kernels, low] the window has only 12 kernels; a running server has more
- [python-tracing, medium] Python stacks slow host code; at a 2× speedup without them, host overhead is 44.9% of the steps
Next steps
Gap ledger, device 0: idle 3.30 ms of 5.70 ms, by what ran
cause range, frame or call idle of idle pieces
host-code step[DECODE bs=N] 1.00 ms 30.3% 5
host-code server.py: schedule 650 µs 19.7% 5
host-code model.py: forward 540 µs 16.4% 6
host-code unattributed host time 500 µs 15.2% 5
synchronisation cudaStreamSynchronize 500 µs 15.2% 5
launch-call cudaLaunchKernel 61.0 µs 1.8% 11
launch-call cudaLaunchKernel: launch latency 49.0 µs 1.5% 11
Gaps of the device (no stream busy)
length count total of idle largest cause
100–500 µs 6 600 µs 18.2% host-code 90.0%
0.5–1 ms 5 2.70 ms 81.8% host-code 79.6%
Longest gaps
700 µs 0.004600 s flash_fwd gemm 41.4% host-code server.py: schedule
28.6% host-code step[DECODE bs=N]
14.3% host-code unattributed host time
500 µs 0.000600 s flash_fwd gemm 40.0% host-code step[DECODE bs=N]
20.0% host-code unattributed host time
20.0% synchronisation cudaStreamSynchronize
- SYNC+HOIST: for 500 µs synchronising calls drain the queue: Hoist the synchronisation out of the step, or keep what it waits for on the GPU.`

// TestFirstCallOfAnOperator: a call that takes longer than all later ones of its operator together sets something up.
// Where the other calls take as long, or are few, the operator is slow.
func TestFirstCallOfAnOperator(t *testing.T) {
	for _, c := range []struct {
		name         string
		calls        int
		first, later int64 // µs
		want         finding.Cause
	}{
		{"a plan is made", 6, 5000, 90, finding.ModuleLoad},
		{"all are slow", 6, 5000, 1500, finding.HostCode},
		{"too few to tell", 4, 5000, 90, finding.HostCode},
		{"short", 6, 900, 90, finding.HostCode},
	} {
		tl, at := hosttest.NewTimeline(), int64(0)
		tl.Event(event.Runtime, "cudaLaunchKernel", 0, 1, -20, -15)
		tl.Event(event.Kernel, "gemm", 0, 1, -10, 0)
		for i := range c.calls {
			long := c.later
			if i == 0 {
				long = c.first
			}
			tl.Event(event.Op, "aten::_cudnn_attention_forward", 0, 0, at, at+long)
			tl.Event(event.Runtime, "cudaLaunchKernel", 0, i+2, at+long, at+long+5)
			tl.Event(event.Kernel, "flash_fwd", 0, i+2, at+long+10, at+long+30)
			at += long + 30
		}
		v := judged(t, tl.Finish())
		got := causesOf(v)
		if got[c.want] < c.first || c.want == finding.HostCode && got[finding.ModuleLoad] > 0 {
			t.Errorf("%s: %v, want at least %d µs of %s", c.name, got, c.first, c.want)
		}
	}
}

// TestLateWithoutAWait: where nothing waits for an event, the late start is not said to be one, however many streams work.
func TestLateWithoutAWait(t *testing.T) {
	for _, wait := range []bool{false, true} {
		tl := hosttest.NewTimeline()
		tl.Add(trace.EventData{Kind: event.Kernel, Name: "beside", Start: 910_000, Duration: 1000, Stream: 8, Process: 1,
			Scope: "a"})
		for i := range int64(8) {
			at := 1000 * i
			if wait {
				tl.Event(event.Runtime, "cudaStreamWaitEvent", 0, 0, at-5, at-1)
			}
			tl.Event(event.Runtime, "cudaLaunchKernel", 0, int(i)+1, at, at+5)
			tl.Event(event.Kernel, "gemm", 0, int(i)+1, at+500, at+900)
		}
		var b strings.Builder
		if err := judged(t, tl.Finish()).WriteText(&b); err != nil {
			t.Fatal(err)
		}
		if text := b.String(); strings.Contains(text, "waited for an event") != wait ||
			strings.Contains(text, "late without a recorded wait") == wait {
			t.Errorf("with waits %t:\n%s", wait, text)
		}
	}
}
