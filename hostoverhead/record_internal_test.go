package hostoverhead

import (
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// TestWhatToRecord: launch calls where most are missing, an earlier start where a part is, names where all are there.
func TestWhatToRecord(t *testing.T) {
	for _, c := range []struct {
		orphans int // of a hundred kernels
		want    string
	}{
		{100, "Record launch calls"}, {51, "Record launch calls"}, {50, "Start the profiler before"},
		{11, "Start the profiler before"}, {10, "Record what the host does between"},
		{0, "Record what the host does between"},
	} {
		b := trace.NewBuilder(trace.Options{})
		for i := range int64(100) {
			b.Add(trace.EventData{Kind: event.Kernel, Name: "k", Start: 100 * i, Duration: 50, Stream: 7,
				Correlation: uint64(i + 1)})
			if i >= int64(c.orphans) {
				b.Add(trace.EventData{Kind: event.Runtime, Name: "cudaLaunchKernel", Start: 100*i - 20, Duration: 4, Thread: 1,
					Correlation: uint64(i + 1)})
			}
		}
		p := defaultParams()
		a := &account{l: &ledger{w: &workload{t: built.Trace(b)}, p: &p}}
		if got := a.recordLaunches(); !strings.HasPrefix(got, c.want) {
			t.Errorf("%d of 100 without a launch call: %q, want %q", c.orphans, got, c.want)
		}
	}
}

// TestAdviceOnCommunication: every rank's file is asked for where one is at hand, and no more where several are.
func TestAdviceOnCommunication(t *testing.T) {
	p := defaultParams()
	b := trace.NewBuilder(trace.Options{})
	b.Add(trace.EventData{Kind: event.Kernel, Name: "k", Start: 5, Duration: 50, Stream: 7})
	a := &account{l: &ledger{w: &workload{t: built.Trace(b)}, p: &p}}
	doubt := doubtIf(true, DoubtBusyWithCommunication, finding.Medium, "why")
	for ranks, want := range map[int]int{1: 1, 2: 0, 3: 0} {
		v := &Verdict{Verdict: Yes, Doubts: Doubts{doubt}, Ranks: make([]RankVerdict, ranks)}
		if got := len(a.recordAdvice(v)); got != want {
			t.Errorf("of %d ranks: %d pieces of advice, want %d", ranks, got, want)
		}
	}
}
