package hostoverhead_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/internal/hosttest"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// step is what a made-up step launches: 'g' a graph of three kernels, 'a' attention, 'c' a kernel of a custom operator,
// 'o' a kernel on another stream beside the next replay, 'e' any other kernel.
func stepsOf(n int, annotation, launches string) *trace.Trace {
	tl := hosttest.NewTimeline()
	at, corr := int64(0), 0
	for range n {
		start := at
		gpu := at + 100
		for _, l := range launches {
			corr++
			call, name, dur, stream := "cudaLaunchKernel", "void at::native::elementwise_kernel<128>(int)", int64(20),
				trace.StreamID(7)
			switch l {
			case 'a':
				name = "flash_fwd_kernel"
			case 'o':
				stream = 9
			case 'c':
				tl.Event(event.Op, "mylib::thing", 0, 0, at, at+4)
			case 'g':
				call = "cudaGraphLaunch"
				for k := range int64(3) {
					tl.Add(trace.EventData{Kind: event.Kernel, Name: "gemm", Start: 1000 * (gpu + 20*k),
						Duration: 20_000, Stream: 7, GraphNode: uint64(k + 1),
						Correlation: uint64(corr), Process: 1, Scope: "a"})
				}
				gpu += 60
			}
			tl.Event(event.Runtime, call, 0, corr, at+1, at+3)
			if l != 'g' {
				tl.Add(trace.EventData{Kind: event.Kernel, Name: name, Start: 1000 * gpu, Duration: 1000 * dur,
					Stream:      stream,
					Correlation: uint64(corr), Process: 1, Scope: "a"})
				if l != 'o' {
					gpu += dur
				}
			}
			at += 5
		}
		at = max(at, gpu) + 10
		tl.Event(event.Annotation, annotation, 0, 0, start, at-1)
	}
	return tl.Finish()
}

// TestHintsFollowTheOrderOfLaunches: what splits a graph lies between two graph launches of the host in one step;
// kernels of another stream beside the only replay do not, and of prefills nothing is to be captured.
func TestHintsFollowTheOrderOfLaunches(t *testing.T) {
	decode, prefill := "step[DECODE bs=8]", "step[EXTEND bs=1 toks=99]"
	for _, c := range []struct{ name, annotation, launches, want string }{
		{"one replay, kernels of another stream inside it", decode, "og", "GRAPH_EXPAND"},
		{"one replay alone", decode, "g", ""},
		{"attention between pieces", decode, "gaga", "GRAPH_SPLIT GRAPH_EXPAND"},
		{"attention between pieces only", decode, "gag", "GRAPH_SPLIT"},
		{"another kernel between pieces", decode, "geg", "GRAPH_SPLIT"},
		{"custom operator between pieces", decode, "gcg", "CUSTOM_OP"},
		{"custom operator that feeds attention between pieces", decode, "gcag", "GRAPH_SPLIT"},
		{"attention between pieces of a prefill", prefill, "gcag", ""},
		{"custom operator between pieces of a prefill", prefill, "gcg", "CUSTOM_OP"},
		{"kernels beside a prefill's replay", prefill, "eege", ""},
		{"prefill that launches all", prefill, "eee", ""},
	} {
		var codes []string
		for _, h := range decider(judged(t, stepsOf(20, c.annotation, c.launches))).Coverage.Hints {
			if h.Code == "GRAPH_SPLIT" && c.launches == "gag" && !strings.Contains(h.Why, ", all attention, which") {
				t.Errorf("%s: %s", c.name, h.Why)
			}
			if h.Code == "GRAPH_SPLIT" && strings.Contains(h.Why, "attention") != strings.Contains(c.launches, "a") {
				t.Errorf("%s: %s", c.name, h.Why)
			}
			if strings.HasPrefix(h.Code, "GRAPH") || h.Code == "CUSTOM_OP" {
				codes = append(codes, h.Code)
			}
		}
		if got := strings.Join(codes, " "); got != c.want {
			t.Errorf("%s: hints %q, want %q", c.name, got, c.want)
		}
	}
}

// TestCollectiveNamesThatAreNoWaits: operators that dispatch a collective of the GPU, and generated kernels whose name
// holds one, run on the host and wait for nobody.
func TestCollectiveNamesThatAreNoWaits(t *testing.T) {
	for _, c := range []struct {
		kind  event.Kind
		name  string
		cause finding.Cause
	}{
		{event.Op, "vllm::all_reduce", finding.HostCode},
		{event.Op, "c10d::_allgather_base_", finding.HostCode},
		{event.Frame, "triton_red_fused_all_reduce_add_rms_norm_0", finding.HostCode},
		{event.Frame, "torch/distributed/distributed_c10d.py(2800): all_reduce", finding.HostCode},
		{event.Annotation, "nccl:all_reduce", finding.HostCode},
		{event.Range, "broadcast_requests", finding.OtherRanks},
		{event.Frame, "torch/distributed/distributed_c10d.py(4000): barrier", finding.OtherRanks},
		{event.Op, "gloo:broadcast", finding.OtherRanks},
	} {
		if got := causesOf(judged(t, oneGap(c.kind, c.name, 500))); got[c.cause] < 500 {
			t.Errorf("%s %s: %v, want 500 µs %s", c.kind, c.name, got, c.cause)
		}
	}
}

// TestHiddenLaunchesAreNoAdvice: launch calls hidden by GPU work, and calls blocked by a copy, cross the
// published M2; advice on launches rests on what is exposed.
func TestHiddenLaunchesAreNoAdvice(t *testing.T) {
	tl := hosttest.NewTimeline()
	for i := range int64(200) { // a call of 43 µs every 100 µs, all hidden by kernels without a gap
		tl.Event(event.Runtime, "cudaLaunchKernel", 0, int(i)+1, i*100, i*100+43)
		tl.Event(event.Kernel, "gemm", 0, int(i)+1, 1000+i*100, 1100+i*100)
	}
	v := judged(t, tl.Finish())
	var published struct {
		Metrics struct {
			Launch float64 `json:"launch_overhead_ratio"`
		} `json:"aggregate_metrics"`
	}
	if err := json.Unmarshal(v.Published, &published); err != nil || published.Metrics.Launch < 0.3 ||
		v.Verdict != hostoverhead.No {
		t.Errorf("published M2 %v, verdict %s, error %v; want over 0.3 and NO", published.Metrics.Launch, v.Verdict,
			err)
	}
	for _, a := range v.Next {
		if strings.Contains(strings.ToLower(a.Do), "graph") {
			t.Errorf("advice %q without exposed launches", a.Do)
		}
	}
}

// TestDisagreementIsExplained: one sentence where the published answer is another one, none where it is the same.
func TestDisagreementIsExplained(t *testing.T) {
	for _, c := range []struct {
		name, want string
		tr         func() *trace.Trace
	}{
		{"published YES", "The published metrics say YES by how long", func() *trace.Trace {
			tl := hosttest.NewTimeline()
			for i := range int64(100) { // idle for copies
				tl.Event(event.Runtime, "cudaLaunchKernel", 0, int(i)+1, i*100, i*100+5)
				tl.Event(event.Kernel, "gemm", 0, int(i)+1, 1000+i*100, 1040+i*100)
				tl.Event(event.Memcpy, "Memcpy HtoD", 0, 0, 1040+i*100, 1100+i*100)
			}
			return tl.Finish()
		}},
		{"published NO", "The published metrics say NO by how long",
			func() *trace.Trace { return eager(200, 80, 100, 10) }},
		{"the same", "", func() *trace.Trace { return eager(200, 30, 100, 20) }},
	} {
		v := judged(t, c.tr())
		if c.want == "" && v.Disagreement != "" || !strings.HasPrefix(v.Disagreement, c.want) {
			t.Errorf("%s: %q, want %q", c.name, v.Disagreement, c.want)
		}
	}
}

// TestConfidenceOfThinEvidence: one eager step with stacks is no high confidence, and processes that share a device
// number are listed with the figures of each.
func TestConfidenceOfThinEvidence(t *testing.T) {
	tl := hosttest.NewTimeline()
	tl.Event(event.Annotation, "step[EXTEND bs=1 toks=99]", 0, 0, 0, 20_000)
	for i := range int64(200) {
		tl.Event(event.Frame, "server.py(1): schedule", 0, 0, i*100, i*100+50)
		tl.Event(event.Runtime, "cudaLaunchKernel", 0, int(i)+1, i*100+50, i*100+55)
		tl.Event(event.Kernel, "gemm", 0, int(i)+1, i*100+58, i*100+90)
	}
	v := judged(t, tl.Finish())
	if v.Confidence == finding.High || doubt(v, "few-steps") == nil || doubt(v, "python-tracing") == nil {
		t.Errorf("one eager step with stacks: %s, doubts %v", v.Confidence, v.Doubts)
	}
	if strings.Contains(v.Summary, "decode") || strings.Contains(v.Summary, "generation") {
		t.Errorf("summary %q about steps that were not recorded", v.Summary)
	}
	b := trace.NewBuilder(trace.Options{})
	for p := range int64(2) {
		for i := range int64(100) { // busy 45% and 5% of its time
			corr, busy := uint64(i+1), []int64{45_000, 5_000}[p]
			process, scope := 10+p, string(rune('a'+p))
			at := i*100_000 + p*50_000
			b.Add(trace.EventData{Kind: event.Runtime, Name: "cudaLaunchKernel", Start: at, Duration: 4000,
				Process: process, Scope: scope, Thread: 1, Correlation: corr, Device: trace.None, Stream: trace.None})
			b.Add(trace.EventData{Kind: event.Kernel, Name: "gemm", Start: at + 5000, Duration: busy, Process: process,
				Scope: scope, Correlation: corr, Stream: 7})
		}
	}
	v = judged(t, built.Trace(b))
	d := doubt(v, "processes-share-device")
	if d == nil || v.Confidence != finding.Low || !strings.Contains(d.Evidence, "2 processes launch on device 0") {
		t.Errorf("two processes on one device: %s, %v", v.Confidence, d)
	}
}

// TestTimelinesAreClippedToGaps: of a trace with a million frames only the pieces of a few gaps exist at a time.
func TestTimelinesAreClippedToGaps(t *testing.T) {
	cfg := gen.Large(8, 80, false)
	cfg.Size = 20_000_000
	tr := generated(t, cfg)
	frames := tr.Len(event.LanePython)
	if got := hostoverhead.TimelinePieces(analyzed(t, tr)); got == 0 || got > frames/2 {
		t.Errorf("%d pieces of timelines at a time, %d frames; want some, and less than half", got, frames)
	}
}
