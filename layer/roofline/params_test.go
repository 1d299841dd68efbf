package roofline

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/profile/hardware"
	"github.com/llmstrata/strata/trace"
)

// pair makes two ranks that start a hundred collectives up to 40 µs apart, each 50 µs long on the later one. The ends
// of the first apart ones of the second rank are so much later.
func pair(apart int, later time.Duration) (a, b []exchange) {
	for i := range 100 {
		start := trace.Time(i) * trace.Time(time.Millisecond)
		end := start + trace.Time(90*time.Microsecond)
		late := trace.Time(i%5) * trace.Time(10*time.Microsecond)
		x := exchange{kernel: int32(i), kind: classify.AllReduce, start: start, end: end}
		y := exchange{kernel: int32(i), kind: classify.AllReduce, start: start + late, end: end}
		if i < apart {
			y.end += trace.Time(later)
		}
		a, b = append(a, x), append(b, y)
	}
	return a, b
}

// endsWithin is that of package rendezvous.
const endsWithin = 10 * time.Microsecond

// The numbers that decide whether two ranks are one group, each from both sides.
func TestTogether(t *testing.T) {
	for _, c := range []struct {
		name  string
		apart int
		later time.Duration
		want  bool
	}{
		{"all end together", 0, 0, true},
		{"a few records are lost", 10, time.Millisecond, true},
		{"more than that", 11, time.Millisecond, false},
		{"within ten microseconds", 40, endsWithin, true},
		{"beyond them", 40, endsWithin + 1, false},
	} {
		a, b := pair(c.apart, c.later)
		if got := together(a, b); got != c.want {
			t.Errorf("%s: %t, want %t", c.name, got, c.want)
		}
	}
}

// Long collectives may end further apart, by a tenth of what the shorter one takes.
func TestTogetherInLongCollectives(t *testing.T) {
	for later, want := range map[time.Duration]bool{100 * time.Microsecond: true, 101 * time.Microsecond: false} {
		a, b := pair(0, 0)
		for i := range a {
			a[i].end = a[i].start + trace.Time(time.Millisecond)
			b[i].start = a[i].start - trace.Time(i%5)*trace.Time(time.Millisecond)
			b[i].end = a[i].end
			if i < 40 {
				b[i].end += trace.Time(later)
			}
		}
		if got := together(a, b); got != want {
			t.Errorf("%v apart: %t, want %t", later, got, want)
		}
	}
}

// Ranks that end as far apart as they start do not meet; waiting takes at least half of the differences away.
func TestTogetherBecauseOfWaiting(t *testing.T) {
	for _, c := range []struct {
		left trace.Time // of 4 µs
		want bool
	}{{2000, true}, {2001, false}} {
		a, b := pair(0, 0)
		for i := range b {
			sign := trace.Time(1 - 2*(i%2))
			if i%5 == 4 {
				sign = 0
			}
			b[i].start, b[i].end = a[i].start+4000*sign, a[i].end+c.left*sign
		}
		if got := together(a, b); got != c.want {
			t.Errorf("%v of 4 µs left: %t, want %t", time.Duration(c.left), got, c.want)
		}
	}
}

// A row of weights is impossible from 2% above what the memory can do at most; what is no bound never is.
func TestAbove(t *testing.T) {
	g, ok := hardware.Named(hardware.Table(), "h100-sxm-80")
	if !ok {
		t.Fatal("no H100")
	}
	w := walk{gpu: g}
	work := opWork{Weights: 1e9, Known: true}
	f := floorOf(&work, g)
	edge := duration(1e9 / max(g.Bandwidth.Value, g.BusBandwidth.Value) / above)
	for took, want := range map[time.Duration]bool{edge - 1: true, edge + 1: false} {
		if got := w.impossible(&work, &f, took); got != want {
			t.Errorf("%v for a gigabyte: impossible %t, want %t", took, got, want)
		}
	}
	for name, change := range map[string]func(*opWork){
		"an upper bound of the work":        func(w *opWork) { w.AtMost = true },
		"experts that may have no token":    func(w *opWork) { w.Expected = true },
		"experts of which one must be read": func(w *opWork) { w.Expected, w.LeastWeights = true, 1e7 },
	} {
		work := work
		change(&work)
		work.atLeast()
		if f := floorOf(&work, g); w.impossible(&work, &f, edge/2) {
			t.Errorf("%s: impossible", name)
		}
	}
}

// A pass loses its floor when more than 1% of its time is in rows that cannot be true.
func TestWithheld(t *testing.T) {
	for over, want := range map[time.Duration]bool{100: true, 101: false} {
		sum := passFloor{serial: 1e-6, memory: 1e-6}
		r := &measured{walk: &walk{}, load: &Load{Tokens: 1},
			order: []*cell{{raw: 10_000 - over, sum: sum}, {raw: over, over: over}}}
		r.withhold()
		if got := r.pass.Floor > 0; got != want {
			t.Errorf("%d of 10 000 ns cannot be true: a floor is shown: %t, want %t", over, got, want)
		}
		if r.walk.marked != 1 || len(r.order[1].notes) != 1 {
			t.Errorf("marked %d, notes %q", r.walk.marked, r.order[1].notes)
		}
	}
}

// An operator is bound by latency when its kernels take at most twice as long as the GPU's shortest.
func TestNearShortest(t *testing.T) {
	for raw, want := range map[time.Duration]string{3 * 2 * 2000: boundLatency, 3*2*2000 + 1: boundNone} {
		r := &measured{walk: &walk{shortest: 2000, plan: &profile.Plan{}},
			order: []*cell{{slot: &slot{key: key{kind: -1, operator: "rope"}}, raw: raw, launches: 3, instances: 1,
				group: small}}}
		if got := r.rows()[0].Bound; got != want {
			t.Errorf("three kernels of %v: bound by %q, want %q", raw, got, want)
		}
	}
}

// The shortest kernels are those of the lowest tenth: of twenty-one, the third.
func TestShortest(t *testing.T) {
	var events []string
	for i := range 21 {
		events = append(events, fmt.Sprintf(`{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":%d,"dur":%d,"args":{"device":0,"stream":7,"correlation":%d}}`, 100*i, i+1, i+1))
	}
	tr, err := trace.Read(context.Background(), strings.NewReader(`{"traceEvents":[`+strings.Join(events, ",")+`]}`),
		trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	a, err := layer.Analyze(context.Background(), tr, layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := shortestKernel(&a.Devices[0]); got != 3*time.Microsecond {
		t.Errorf("%v, want 3µs", got)
	}
}

// Arithmetic runs at the rate of the wider operand, where the kernel's name names both as a product.
func TestWiderOperand(t *testing.T) {
	for _, c := range []struct{ name, weights, want string }{
		{"_matmul_ogs_NNT_bf16xbf16xmxfp4_128x128x128x1_swiglu", "fp4", "bf16"},
		{"_p_matmul_ogs_NNT_bf16xfp8xmxfp4_128x128x128x1", "fp4", "fp8"},
		{"bmm_Bfloat16_MxE2m1MxE4m3_Fp32_t128x8x512", "fp4", "fp4"}, // bf16 is the output
		{"gemm_e4m3xe4m3_128x128", "fp8", "fp8"},
		{"Cijk_Alik_Bljk_BBS_MT256x32x64", "bf16", "bf16"},
		{"_matmul_fp8xmxfp4_", "bf16", "bf16"},
	} {
		if got := widerOperand(c.name, c.weights); got != c.want {
			t.Errorf("%s with weights of %s: %s, want %s", c.name, c.weights, got, c.want)
		}
	}
}
