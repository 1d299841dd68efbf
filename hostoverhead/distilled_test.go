package hostoverhead_test

import (
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/internal/hosttest"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/trace"
)

// TestDistilledTracesEqualWhatIsKnown: in a fresh clone, every device of a real
// trace is there with all its kernels, and busy time is their union.
func TestDistilledTracesEqualWhatIsKnown(t *testing.T) {
	for _, k := range testdata.DistilledTraces(t) {
		t.Run(k.Name, func(t *testing.T) {
			path := testdata.Distilled(t, k.Name)
			var tr *trace.Trace
			if strings.HasSuffix(path, ".sqlite") {
				tr = hosttest.Open(t, path)
			} else {
				var err error
				if tr, err = trace.Open(t.Context(), path, trace.Options{}); err != nil {
					t.Fatal(err)
				}
			}
			v := judged(t, tr)
			if len(v.Ranks) != len(k.Devices) {
				t.Fatalf("%d devices, want %d", len(v.Ranks), len(k.Devices))
			}
			for i, want := range k.Devices {
				got := v.Ranks[i]
				if int(got.Device) != want.Device || got.Kernels != want.Kernels {
					t.Errorf("device %d with %d kernels, want device %d with %d", got.Device, got.Kernels, want.Device,
						want.Kernels)
				}
				busy := got.BusyNS
				if got.Transfers != nil {
					busy -= got.Transfers.NS
				}
				if busy <= 0 || busy > want.KernelNS {
					t.Errorf("device %d: kernels run for %d ns, want more than 0 and no more than their sum, %d",
						got.Device, busy, want.KernelNS)
				}
			}
		})
	}
}

// TestStrayKernelIsNoWait: one kernel runs 463 ms before the only step of this trace, in no pass. The step begins
// with its own kernels.
func TestStrayKernelIsNoWait(t *testing.T) {
	tr, err := trace.Open(t.Context(), testdata.Distilled(t, "sglang-qwen3-8b-decode-mi300.json.zst"), trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	rank := decider(judged(t, tr))
	if got := time.Duration(rank.Headroom.WallNS); got < 10*time.Millisecond || got > 11*time.Millisecond {
		t.Errorf("the step takes %v, want 10.4 ms", got)
	}
}

// TestGapClassesAreWhatTheirTitlesSay: each class of gaps has the bounds of its
// title and begins where the one before ends, and each holds only gaps of its
// length: their mean lies between the bounds.
func TestGapClassesAreWhatTheirTitlesSay(t *testing.T) {
	tr, err := trace.Open(t.Context(), testdata.Distilled(t, "sglang-qwen3-8b-extend-mi300.json.zst"), trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	us := time.Microsecond
	bounds := []time.Duration{0, us, 5 * us, 10 * us, 50 * us, 100 * us, 500 * us, 1000 * us, 5000 * us, 0}
	titles := []string{"< 1 µs", "1–5 µs", "5–10 µs", "10–50 µs", "50–100 µs", "100–500 µs", "0.5–1 ms", "1–5 ms",
		"> 5 ms"}
	gaps := judged(t, tr).Ranks[0].Gaps
	if len(gaps) != len(titles) {
		t.Fatalf("%d classes, want %d", len(gaps), len(titles))
	}
	for i, b := range gaps {
		if b.From != bounds[i] || b.To != bounds[i+1] || b.Title != titles[i] {
			t.Errorf("class %d is %q from %v to %v, want %q from %v to %v", i, b.Title, b.From, b.To, titles[i],
				bounds[i], bounds[i+1])
		}
		if b.Count == 0 {
			continue
		}
		if mean := time.Duration(b.TotalNS / int64(b.Count)); mean < b.From || b.To > 0 && mean >= b.To {
			t.Errorf("%s: gaps of %v on average", b.Title, mean)
		}
	}
}
