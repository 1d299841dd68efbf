package hostoverhead_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// randomTrace is a small trace without any order: kernels that overlap, on
// several devices and streams, some without launch or with the launch after
// them; calls, ranges, ops and frames that nest, overlap and have no length.
// All times lie in 0…span.
func randomTrace(rng *rand.Rand, span int64) *trace.Trace {
	b := trace.NewBuilder(trace.Options{})
	kinds := []event.Kind{event.Kernel, event.Kernel, event.Kernel, event.Memcpy, event.Memset, event.Graph,
		event.Runtime, event.Runtime, event.Driver, event.Range, event.Annotation, event.Mark, event.Op, event.Frame,
		event.Overhead, event.Sync}
	names := map[event.Kind][]string{
		event.Kernel: {"gemm", "ncclDevKernel_AllReduce(args)", "void at::native::add<float>(float*)"},
		event.Runtime: {"cudaLaunchKernel", "cudaGraphLaunch", "cudaStreamSynchronize", "cudaMemcpyAsync",
			"cudaMalloc"},
		event.Driver: {"cuLaunchKernel"},
		event.Range: {"_prepare_inputs", "broadcast_requests", "[Executor] _forward_step 3: 1 ctx reqs, 2 gen reqs",
			"[Executor] _forward_step 4: 0 ctx reqs, 2 gen reqs"},
		event.Overhead: {"Buffer flush (Profiler)", "Command buffer full (CUDA)"},
	}
	for range 1 + rng.IntN(60) {
		kind := kinds[rng.IntN(len(kinds))]
		list := names[kind]
		if list == nil {
			list = []string{kind.String()}
		}
		start := rng.Int64N(span)
		dur := rng.Int64N(span - start + 1)
		if rng.IntN(2) == 0 {
			dur = min(dur, span/20)
		}
		e := trace.EventData{
			Kind: kind, Name: list[rng.IntN(len(list))], Start: start, Duration: dur, Thread: int64(rng.IntN(3)),
			Process: int64(rng.IntN(2)), Device: trace.DeviceID(rng.IntN(3)) - 1, Stream: trace.StreamID(rng.IntN(2)),
			Correlation: uint64(rng.IntN(12)),
		}
		if rng.IntN(4) == 0 {
			e.GraphNode = uint64(1 + rng.IntN(3))
		}
		b.Add(e)
	}
	return built.Trace(b)
}

// idleByHand is the idle time of a device, nanosecond by nanosecond.
func idleByHand(tr *trace.Trace, device trace.DeviceID, span int64) (idle, window int64) {
	busy := make([]bool, span+1)
	first, last := span, int64(0)
	for e := range tr.Events(event.LaneGPU) {
		if e.Duration() == 0 || e.Device() != device {
			continue // an activity without a length is no work
		}
		first, last = min(first, int64(e.Start())), max(last, int64(e.End()))
		for t := e.Start(); t < e.End(); t++ {
			busy[t] = true
		}
	}
	for t := first; t < last; t++ {
		if !busy[t] {
			idle++
		}
	}
	return idle, max(0, last-first)
}

// TestLedgerAddsUpOnRandomTraces: whatever the trace, the causes and the pieces
// add up to the idle time counted by hand, the pieces are in order and disjoint,
// and no piece lies in a kernel.
func TestLedgerAddsUpOnRandomTraces(t *testing.T) {
	const span = 2000
	n := 400
	if !testdata.Long() {
		n = 60
	}
	for seed := range uint64(n) {
		rng := rand.New(rand.NewPCG(seed, 7))
		tr := randomTrace(rng, span)
		a := analyzed(t, tr)
		v, err := hostoverhead.Analyze(t.Context(), []*layer.Analysis{a}, hostoverhead.Options{})
		if errors.Is(err, layer.ErrNoKernels) {
			continue
		}
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		checkAddsUp(t, a, v)
		// Times are relative to the first event, so within the span still.
		for _, r := range v.Ranks {
			if idle, window := idleByHand(tr, r.Device, span); r.WindowNS-r.BusyNS != idle || r.WindowNS != window {
				t.Errorf("seed %d device %d: idle %d of %d; by hand %d of %d", seed, r.Device, r.WindowNS-r.BusyNS,
					r.WindowNS, idle, window)
			}
		}
	}
}

// TestRandomTracesAreJudged runs everything else on such traces: ratios that
// are shares stay in 0…1, idle and utilisation add up, JSON has no NaN, and
// reports are written.
func TestRandomTracesAreJudged(t *testing.T) {
	n := 150
	if !testdata.Long() {
		n = 30
	}
	for seed := range uint64(n) {
		rng := rand.New(rand.NewPCG(seed, 8))
		checkJudged(t, fmt.Sprintf("seed %d", seed), analyzed(t, randomTrace(rng, 5000)),
			analyzed(t, randomTrace(rng, 5000)))
	}
}

func checkJudged(t *testing.T, name string, a, other *layer.Analysis) {
	t.Helper()
	v, err := hostoverhead.Analyze(t.Context(), []*layer.Analysis{a, other}, hostoverhead.Options{})
	if err != nil {
		if !errors.Is(err, layer.ErrNoKernels) {
			t.Errorf("%s: %v", name, err)
		}
	} else {
		checkVerdict(t, name, v)
	}
	if c, err := hostoverhead.Compare(context.Background(), a, other, hostoverhead.BreakdownOptions{}); err == nil {
		if _, err := json.Marshal(c); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	} else if !errors.Is(err, layer.ErrNoKernels) {
		t.Errorf("%s: %v", name, err)
	}
}

// checkVerdict: shares stay in 0…1, those of findings are of what the verdict's are of, the document has no list that
// is null and can be written, and so can the text.
func checkVerdict(t *testing.T, name string, v *hostoverhead.Verdict) {
	t.Helper()
	for _, r := range v.Ranks {
		for _, x := range []float64{r.Headroom.Share, r.Alone} {
			if !(x >= 0 && x <= 1) {
				t.Errorf("%s: a share is %v", name, x)
			}
		}
		for _, f := range r.Findings {
			if f.Total > 0 && !r.Ignored && f.Of != v.Basis {
				t.Errorf("%s: %s is of %v, the verdict of %v", name, f.Code, f.Of, v.Basis)
			}
		}
	}
	if (v.Confidence == finding.BandUnknown) != (v.Verdict == hostoverhead.Inconclusive) || v.Summary == "" ||
		v.Schema != "strata.host/4" {
		t.Errorf("%s: verdict %+v", name, v)
	}
	data, err := json.Marshal(v)
	if err != nil {
		t.Errorf("%s: %v", name, err)
	}
	var doc any
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	for _, list := range []string{`"idle":null`, `"ranks":null`, `"doubts":null`, `"next_steps":null`, `"stages":null`,
		`"paths":null`, `"gaps":null`, `"top_gaps":null`, `"streams":null`, `"worst_passes":null`, `"drains":null`,
		`"serving":null`, `"causes":null`, `"names":null`} {
		if strings.Contains(string(data), list) {
			t.Errorf("%s: %s", name, list)
		}
	}
	var text bytes.Buffer
	if err := v.WriteText(&text); err != nil || text.Len() == 0 {
		t.Errorf("%s: %d bytes of text, %v", name, text.Len(), err)
	}
}
