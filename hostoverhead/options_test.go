package hostoverhead_test

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/gen/nsysgen"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
)

func TestOptionsOfComparisons(t *testing.T) {
	a, b := generate(t, nsysgen.Default(1)), generate(t, nsysgen.Default(2).Slow("_schedule", 2))
	c := compare(t, a, b, hostoverhead.WithLabels("old", "new"), hostoverhead.WithTPSize(4))
	if c.Baseline.Label != "old" || c.Target.Label != "new" {
		t.Errorf("labels %q and %q", c.Baseline.Label, c.Target.Label)
	}
	if want := compare(t, a, b).Baseline.KernelsPerStep / 2; c.Baseline.KernelsPerStep != want {
		t.Errorf("kernels per step of 4 ranks = %v, want half of those of 2, %v", c.Baseline.KernelsPerStep, want)
	}
	// 120 µs of 2.2 ms are 5 %.
	if got := compare(t, a, b, hostoverhead.WithMinChange(0.10)).Conclusion; got != hostoverhead.ConclusionNone {
		t.Errorf("conclusion for changes of 10%% and more = %q", got)
	}
	if got := compare(t, a, b, hostoverhead.WithMinChange(0.01)).Conclusion; got != hostoverhead.ConclusionGap {
		t.Errorf("conclusion for changes of 1%% and more = %q", got)
	}
	x, y := compare(t, a, b, hostoverhead.WithSeed(7)), compare(t, a, b, hostoverhead.WithSeed(8))
	if *x.Figures[0].CI95US == *y.Figures[0].CI95US {
		t.Error("two seeds of the bootstrap give the same interval")
	}
}

func TestTopGapsAreAsManyAsAsked(t *testing.T) {
	tr := generate(t, nsysgen.Default(1))
	for _, n := range []int{0, 3} {
		d, err := hostoverhead.Drill(context.Background(), analyzed(t, tr), hostoverhead.WithTopGaps(n))
		if err != nil {
			t.Fatal(err)
		}
		if got := len(d.Devices[0].TopGaps); got != n {
			t.Errorf("%d gaps, want %d", got, n)
		}
	}
}

// TestOwnStepPatterns recognises the steps of a server that nobody knows.
func TestOwnStepPatterns(t *testing.T) {
	tl := newTimeline()
	for i := range 60 {
		at := int64(i) * 1000
		tl.add(trace.KindRange, "my_server.tick(decode)", 0, 0, at, at+900)
		tl.add(trace.KindRuntime, "cudaLaunchKernel", 0, i+1, at+1, at+2)
		tl.add(trace.KindKernel, "gemm", 0, i+1, at+10, at+500)
	}
	tr := tl.b.Finish()
	if v := detect(t, tr); len(v.Phases) != 0 {
		t.Errorf("phases without the pattern: %v", v.Phases)
	}
	pattern := layer.StepPattern{Name: "mine", Match: regexp.MustCompile(`^my_server\.tick\((?P<stage>\w+)\)$`)}
	a, err := layer.Analyze(t.Context(), tr, layer.Options{StepPatterns: []layer.StepPattern{pattern}})
	if err != nil {
		t.Fatal(err)
	}
	v, err := hostoverhead.Detect(t.Context(), a, hostoverhead.WithStepPatterns(pattern))
	if err != nil {
		t.Fatal(err)
	}
	if p := v.Phases["generation"]; p == nil || p.IterationCount != 60 {
		t.Errorf("generation = %+v, want 60 steps", p)
	}
}

func TestRatioReadsBackWhatItWrites(t *testing.T) {
	for _, c := range []struct {
		r    hostoverhead.Ratio
		text string
	}{
		{hostoverhead.Ratio{}, "null"}, {hostoverhead.Ratio{Value: 0.123449, Applicable: true}, "0.1234"},
		{hostoverhead.Ratio{Value: 1, Applicable: true}, "1"}, {hostoverhead.Ratio{Applicable: true}, "0"},
	} {
		data, err := json.Marshal(c.r)
		if err != nil || string(data) != c.text {
			t.Errorf("%v as JSON = %s (%v), want %s", c.r, data, err, c.text)
		}
		var back hostoverhead.Ratio
		if err := json.Unmarshal(data, &back); err != nil || back.String() != c.r.String() {
			t.Errorf("%s read back = %v (%v), want %v", data, back, err, c.r)
		}
	}
	if err := json.Unmarshal([]byte(`"x"`), new(hostoverhead.Ratio)); err == nil {
		t.Error("a text was read as a ratio")
	}
}

// TestInterpretationFollowsDecisiveDoubts: what the thresholds say is not what
// the run suffers from.
func TestInterpretationFollowsDecisiveDoubts(t *testing.T) {
	us := func(d time.Duration) int64 { return d.Microseconds() }
	for _, c := range []struct {
		name, want string
		gap        time.Duration // after each kernel of 1 ms
		copies     bool          // fill the gaps
		pause      time.Duration // once
		kernels    int
	}{
		{"copies", "data transfers limit this run", 2 * time.Millisecond, true, 0, 200},
		{"one pause", "one long pause", 0, false, 500 * time.Millisecond, 200},
		{"few kernels", "too little GPU work", 2 * time.Millisecond, false, 0, 20},
		{"host", "the GPU waits for the host", 2 * time.Millisecond, false, 0, 200},
		{"busy", "the GPU has work most of the time", 0, false, 0, 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			tl := newTimeline()
			at := int64(0)
			for i := range c.kernels {
				tl.add(trace.KindRuntime, "cudaLaunchKernel", 0, i+1, at, at+4)
				tl.add(trace.KindKernel, "gemm", 0, i+1, at+5, at+1005)
				if c.copies {
					tl.add(trace.KindMemcpy, "Memcpy HtoD", 0, 0, at+1005, at+1005+us(c.gap))
				}
				at += 1000 + us(c.gap)
				if i == c.kernels/2 {
					at += us(c.pause)
				}
			}
			if got := detect(t, tl.b.Finish()).Interpretation(); !strings.Contains(got, c.want) {
				t.Errorf("interpretation = %q, want %q in it", got, c.want)
			}
		})
	}
}
