package hostoverhead_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/trace"
)

// randomTrace is a small trace without any order: kernels that overlap, on
// several devices and streams, some without launch or with the launch after
// them; calls, ranges, ops and frames that nest, overlap and have no length.
// All times lie in 0…span.
func randomTrace(rng *rand.Rand, span int64) *trace.Trace {
	b := trace.NewBuilder()
	kinds := []trace.Kind{trace.KindKernel, trace.KindKernel, trace.KindKernel, trace.KindMemcpy, trace.KindMemset, trace.KindGraph,
		trace.KindRuntime, trace.KindRuntime, trace.KindDriver, trace.KindRange, trace.KindAnnotation, trace.KindMark, trace.KindOp, trace.KindFrame, trace.KindOverhead, trace.KindSync}
	names := map[trace.Kind][]string{
		trace.KindKernel:   {"gemm", "ncclDevKernel_AllReduce(args)", "void at::native::add<float>(float*)"},
		trace.KindRuntime:  {"cudaLaunchKernel", "cudaGraphLaunch", "cudaStreamSynchronize", "cudaMemcpyAsync", "cudaMalloc"},
		trace.KindDriver:   {"cuLaunchKernel"},
		trace.KindRange:    {"_prepare_inputs", "broadcast_requests", "[Executor] _forward_step 3: 1 ctx reqs, 2 gen reqs", "[Executor] _forward_step 4: 0 ctx reqs, 2 gen reqs"},
		trace.KindOverhead: {"Buffer flush (Profiler)", "Command buffer full (CUDA)"},
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
			Kind: kind, Name: list[rng.IntN(len(list))], Start: start, Duration: dur, Thread: trace.ThreadID(rng.IntN(3)),
			Process: trace.ProcessRef{ID: trace.ProcessID(rng.IntN(2))}, Device: trace.DeviceID(rng.IntN(3)) - 1, Stream: trace.StreamID(rng.IntN(2)),
			Correlation: trace.CorrelationID(rng.IntN(12)),
		}
		if rng.IntN(4) == 0 {
			e.GraphNode = uint64(1 + rng.IntN(3))
		}
		b.Add(e)
	}
	return b.Finish()
}

// idleByHand is the idle time of a device, nanosecond by nanosecond.
func idleByHand(tr *trace.Trace, device trace.DeviceID, merged bool, span int64) (idle, window int64) {
	busy := make([]bool, span+1)
	first, last := span, int64(0)
	for e := range tr.Events(trace.LaneGPU) {
		if e.Kind() != trace.KindKernel && e.Kind() != trace.KindGraph || e.Duration() == 0 || !merged && e.Device() != device {
			continue // a kernel without a length is no work
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
	if testing.Short() {
		n = 60
	}
	for seed := range uint64(n) {
		rng := rand.New(rand.NewPCG(seed, 7))
		tr := randomTrace(rng, span)
		merged := seed%2 == 1
		var opts []hostoverhead.Option
		if merged {
			opts = append(opts, hostoverhead.WithMergedDevices())
		}
		ledgers, err := hostoverhead.Ledger(context.Background(), tr, opts...)
		if errors.Is(err, hostoverhead.ErrNoKernels) {
			continue
		}
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		pieces, end := map[trace.DeviceID]int64{}, map[trace.DeviceID]int64{}
		err = hostoverhead.LedgerEntries(context.Background(), tr, func(e hostoverhead.LedgerEntry) bool {
			if e.EndNS <= e.StartNS || e.StartNS < end[e.Device] {
				t.Errorf("seed %d: piece %+v after %d", seed, e, end[e.Device])
			}
			end[e.Device] = e.EndNS
			pieces[e.Device] += e.EndNS - e.StartNS
			return true
		}, opts...)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		// Times are relative to the first event, so within the span still.
		for _, l := range ledgers {
			idle, window := idleByHand(tr, l.Device, merged, span)
			var causes, names int64
			for _, c := range l.Causes {
				causes += c.TotalNS
			}
			for _, c := range l.Names {
				names += c.TotalNS
			}
			if l.IdleNS != idle || l.WindowNS != window || causes != idle || names != idle || pieces[l.Device] != idle {
				t.Errorf("seed %d device %d: idle %d of %d, causes %d, names %d, pieces %d; by hand %d of %d",
					seed, l.Device, l.IdleNS, l.WindowNS, causes, names, pieces[l.Device], idle, window)
			}
		}
	}
}

// TestRandomTracesAreJudged runs everything else on such traces: ratios that
// are shares stay in 0…1, idle and utilisation add up, JSON has no NaN, and
// reports are written.
func TestRandomTracesAreJudged(t *testing.T) {
	n := 150
	if testing.Short() {
		n = 30
	}
	for seed := range uint64(n) {
		rng := rand.New(rand.NewPCG(seed, 8))
		checkJudged(t, fmt.Sprintf("seed %d", seed), randomTrace(rng, 5000), randomTrace(rng, 5000))
	}
}

// TestEveryReferenceTraceIsJudged is the same on real traces, torch.profiler
// ones included.
func TestEveryReferenceTraceIsJudged(t *testing.T) {
	everyTrace(t, func(t *testing.T, tr *trace.Trace) {
		checkJudged(t, t.Name(), tr, tr)
	})
}

func checkJudged(t *testing.T, name string, tr, other *trace.Trace) {
	t.Helper()
	for _, opts := range [][]hostoverhead.Option{nil, {hostoverhead.WithMergedDevices()}} {
		v, err := hostoverhead.Detect(context.Background(), analyzed(t, tr), opts...)
		if err != nil {
			if !errors.Is(err, hostoverhead.ErrNoKernels) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		m := &v.AggregateMetrics
		for _, r := range []hostoverhead.Ratio{m.GPUIdle, m.GPUUtilization, m.PrepExposed, m.NCCLOnly} {
			if r.Applicable && (r.Value < 0 || r.Value > 1) {
				t.Errorf("%s: a share is %v", name, r)
			}
		}
		if m.GPUIdle.Applicable && (m.GPUIdle.Value+m.GPUUtilization.Value < 0.9999 || m.GPUIdle.Value+m.GPUUtilization.Value > 1.0001) {
			t.Errorf("%s: idle %s and utilisation %s do not add up", name, m.GPUIdle, m.GPUUtilization)
		}
		if v.Confidence == "" || v.Interpretation() == "" || v.CrossedCount > v.ApplicableCount {
			t.Errorf("%s: verdict %+v", name, v)
		}
		if v.Handoff, err = hostoverhead.NewHandoff(context.Background(), analyzed(t, tr), v, opts...); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := json.Marshal(v); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var text bytes.Buffer
		if err := v.WriteText(&text); err != nil || text.Len() == 0 {
			t.Errorf("%s: %d bytes of text, %v", name, text.Len(), err)
		}
	}
	if d, err := hostoverhead.Drill(context.Background(), analyzed(t, tr)); err == nil {
		if _, err := json.Marshal(d); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	} else if !errors.Is(err, hostoverhead.ErrNoKernels) {
		t.Errorf("%s: %v", name, err)
	}
	if c, err := hostoverhead.Compare(context.Background(), analyzed(t, tr), analyzed(t, other)); err == nil {
		if _, err := json.Marshal(c); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	} else if !errors.Is(err, hostoverhead.ErrNoKernels) {
		t.Errorf("%s: %v", name, err)
	}
}
