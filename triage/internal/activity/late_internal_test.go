package activity

import (
	"testing"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// TestHolds: of four kernels of a pass the third is launched 50 ns after all work ends. What the first two save is
// lost, unless the host waits for them before it launches the third: then it saves up to what the host waits. Waits
// after the last such launch, for work that has ended, and of threads that launch nothing on the GPU hold nothing.
func TestHolds(t *testing.T) {
	type call struct {
		name       string
		start, end int64
		thread     int64
	}
	const late, free = 0, -1 // held to nothing, and not held
	for _, c := range []struct {
		name string
		call call
		want [4]int64
	}{
		{"no wait", call{"cudaMalloc", 120, 320, 1}, [4]int64{late, late, free, free}},
		{"a wait for both", call{"cudaStreamSynchronize", 120, 320, 1}, [4]int64{170, 170, free, free}},
		{"a wait for the first", call{"cudaEventSynchronize", 120, 210, 1}, [4]int64{80, late, free, free}},
		{"a wait too late", call{"cudaDeviceSynchronize", 305, 320, 1}, [4]int64{late, late, free, free}},
		{"a wait of another thread", call{"cudaStreamSynchronize", 120, 320, 2}, [4]int64{late, late, free, free}},
		{"a wait at the end", call{"cudaStreamSynchronize", 470, 700, 1}, [4]int64{late, late, free, free}},
	} {
		b := trace.NewBuilder(trace.Options{})
		for i, k := range []struct{ launch, start int64 }{{100, 110}, {105, 200}, {350, 360}, {355, 460}} {
			id := uint64(i + 1)
			b.Add(trace.EventData{Kind: event.Runtime, Name: "cudaLaunchKernel", Start: k.launch, Duration: 4, Thread: 1,
				Correlation: id})
			b.Add(trace.EventData{Kind: event.Kernel, Name: "k", Start: k.start, Duration: 90, Stream: 7,
				Correlation: id})
		}
		b.Add(trace.EventData{Kind: event.Runtime, Name: c.call.name, Start: c.call.start,
			Duration: c.call.end - c.call.start, Thread: c.call.thread})
		an, err := layer.Analyze(t.Context(), built.Trace(b), layer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		w := NewPool().Collect(t.Context(), an, "t", "")
		if len(w.Acts) != len(c.want) {
			t.Fatalf("%s: %d activities", c.name, len(w.Acts))
		}
		for i := range w.Acts {
			w.Acts[i].Pass = 0
		}
		for i, want := range c.want {
			got := int64(free)
			if h := w.Hold(int32(i)); h != nil {
				got = h.Room
			}
			if got != want {
				t.Errorf("%s: what kernel %d saves is held to %d ns, want %d", c.name, i, got, want)
			}
		}
	}
}

// TestCallsThatBlock: calls that synchronise wait for the GPU, and copies that end within their call;
// kernels do not.
func TestCallsThatBlock(t *testing.T) {
	for _, c := range []struct {
		call string
		kind event.Kind
		end  int64
		want bool
	}{{"cudaStreamSynchronize", event.Kernel, 900, true}, {"cudaMemcpy", event.Memcpy, 150, true},
		{"cudaMemcpy", event.Memcpy, 151, false}, {"cudaMemcpy", event.Kernel, 150, false},
		{"cudaMemset", event.Memset, 150, false}} {
		b := trace.NewBuilder(trace.Options{})
		b.Add(trace.EventData{Kind: event.Runtime, Name: c.call, Start: 100, Duration: 50, Thread: 1, Correlation: 1})
		b.Add(trace.EventData{Kind: c.kind, Name: "a", Start: 110, Duration: c.end - 110, Stream: 7, Correlation: 1})
		tr := built.Trace(b)
		if got := (&Trace{Trace: tr}).blocks(tr.LaneAt(event.LaneLaunch, 0)); got != c.want {
			t.Errorf("%s of a %s up to %d: %t", c.call, c.kind, c.end, got)
		}
	}
}

// TestRuleOfACategory: a kernel has the rule that put it into its category, none where it is counted under another.
func TestRuleOfACategory(t *testing.T) {
	const name = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"
	p, facts := NewPool(), classify.Default().Facts(name)
	for category, want := range map[classify.Category]string{facts.Category: facts.Rule, classify.CategoryGEMM: ""} {
		k := p.Facts[p.kernel(name, event.Kernel, category, &facts)]
		if k.Shown.Rule != want || k.Shown.Category != category {
			t.Errorf("%s: %+v, want rule %q", category, k.Shown, want)
		}
	}
	if facts.Rule == "" || len(p.Facts) != 2 {
		t.Errorf("rule %q, %d kernels", facts.Rule, len(p.Facts))
	}
}
