package roofline

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/profile/hardware"
	"github.com/llmstrata/strata/trace"
)

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

// kernelsOf analyses a trace of kernels of one name that take so many µs.
func kernelsOf(t *testing.T, name string, took ...int) *layer.Analysis {
	t.Helper()
	var events []string
	for i, us := range took {
		events = append(events, kernelEvent(name, 7, 100*i, us))
	}
	return analysed(t, events...)
}

// kernelEvent is a kernel of a stream, from a time on for so many µs.
func kernelEvent(name string, stream, from, took int) string {
	return fmt.Sprintf(`{"ph":"X","cat":"kernel","name":%q,"pid":0,"tid":%d,"ts":%d,"dur":%d,"args":{"device":0,"stream":%d,"correlation":%d}}`,
		name, stream, from, took, stream, from+1)
}

func analysed(t *testing.T, events ...string) *layer.Analysis {
	t.Helper()
	tr, err := trace.Read(t.Context(), strings.NewReader(`{"traceEvents":[`+strings.Join(events, ",")+`]}`),
		trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	a, err := layer.Analyze(t.Context(), tr, layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// The shortest kernels are those of the lowest tenth: of twenty-one, the third.
func TestShortest(t *testing.T) {
	var took []int
	for i := range 21 {
		took = append(took, i+1)
	}
	a := kernelsOf(t, "k", took...)
	if got := shortestKernel(&a.Devices[0]); got != 3*time.Microsecond {
		t.Errorf("%v, want 3µs", got)
	}
}

// TestCollectivesAreNotSmall: of twelve ops of an unknown model that launch a short kernel and a short collective each,
// the kernels are small, and only they can be part of another one.
func TestCollectivesAreNotSmall(t *testing.T) {
	var events []string
	for i := range 12 {
		at := 100 * (i + 1)
		events = append(events, fmt.Sprintf(`{"ph":"X","cat":"cpu_op","name":"mylib::f","pid":1,"tid":1,"ts":%d,"dur":20,`+
			`"args":{"External id":%d,"Input Dims":[[4,4]],"Input type":["float"]}}`, at-50, i+1))
		for k, name := range []string{"k", "ncclDevKernel_AllReduce_Sum_f32_RING_LL"} {
			from := at + 10*k
			events = append(events, kernelEvent(name, 7, from, 2), fmt.Sprintf(`{"ph":"X","cat":"cuda_runtime",`+
				`"name":"cudaLaunchKernel","pid":1,"tid":1,"ts":%d,"dur":2,"args":{"correlation":%d}}`, at-45+5*k, from+1))
		}
	}
	rule := Rule{Op: "mylib::f", Count: func(*Inputs) (Work, bool) { return Work{Bytes: 1}, true }}
	r, err := Analyze(t.Context(), analysed(t, events...), Options{Rules: []Rule{rule}})
	if err != nil {
		t.Fatal(err)
	}
	notes := map[string]string{}
	for _, s := range r.Passes[0].Waterfall {
		notes[s.Name] = s.Note
	}
	if got := notes["small kernels"]; !strings.HasPrefix(got, "12 launches;") {
		t.Errorf("%q, want 12 launches: %v", got, notes)
	}
	gain := time.Duration(0)
	for _, f := range r.Findings {
		if f.Kind == finding.SmallKernels {
			gain = f.PerStep
		}
	}
	if want := 11 * 2 * time.Microsecond; gain != want {
		t.Errorf("%v may be gained, want %v", gain, want)
	}
}

// TestWhatIsSaidOfSmallKernels: worked by hand. Of twelve kernels of 2 µs eleven may be part of another; a long kernel
// of another stream covers six. Nothing is said where no kernel is short, or where one alone would prove itself.
func TestWhatIsSaidOfSmallKernels(t *testing.T) {
	const us = time.Microsecond
	twelve := func(took int) []string {
		var out []string
		for i := range 12 {
			out = append(out, kernelEvent("k", 7, 100*i, took))
		}
		return out
	}
	for _, c := range []struct {
		name           string
		events         []string
		note, evidence string
		gain           time.Duration
	}{
		{"short ones", twelve(2), "12 launches; nine in ten kernels take at least 2.00 µs",
			"They take 24.0 µs in 12 launches. Nine in ten kernels take at least 2.00 µs.", 22 * us},
		{"beside a long one", append(twelve(2), kernelEvent("ncclDevKernel_AllReduce_Sum_bf16", 8, 50, 600)),
			"12 launches; 12.0 µs more beside other kernels; nine in ten kernels take at least 2.00 µs",
			"They take 24.0 µs in 12 launches, 12.0 µs beside other kernels. Nine in ten kernels take at least 2.00 µs.",
			12 * us},
		{"long ones", twelve(7), "12 launches", "", 0},
		{"one", twelve(2)[:1], "1 launch", "", 0},
	} {
		r, err := Analyze(t.Context(), analysed(t, c.events...), Options{})
		if err != nil {
			t.Fatal(err)
		}
		var note, evidence string
		var gain time.Duration
		for _, s := range r.Passes[0].Waterfall {
			if s.Name == "small kernels" {
				note = s.Note
			}
		}
		for _, f := range r.Findings {
			if f.Kind == finding.SmallKernels {
				evidence, gain = f.Evidence, f.Total
			}
		}
		if note != c.note || evidence != c.evidence || gain != c.gain {
			t.Errorf("%s: %q, %q, %v; want %q, %q, %v", c.name, note, evidence, gain, c.note, c.evidence, c.gain)
		}
		if r.TP != 0 || r.EP != 0 {
			t.Errorf("%s: divided by %d and %d, which nothing says", c.name, r.TP, r.EP)
		}
	}
}

// What the GPU's runtime copies by is no operator, though it be a kernel.
func TestKernelsOfTheRuntimeCopy(t *testing.T) {
	a := kernelsOf(t, "__amd_rocclr_copyBuffer", 20, 20, 20)
	r, err := Analyze(t.Context(), a, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range r.Passes[0].Waterfall {
		if s.Kind == NoFloor && (s.Name == "copies and fills") != (s.Time == 60*time.Microsecond) {
			t.Errorf("%s: %v", s.Name, s.Time)
		}
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
		if got := widerOperand(classify.Default().Facts(c.name).Operand, c.weights); got != c.want {
			t.Errorf("%s with weights of %s: %s, want %s", c.name, c.weights, got, c.want)
		}
	}
}

// TestSeenByDecodes: requests that decode see in their mean what was prefilled for them, and a token for each step
// since. Worked by hand: 1000 and 3000 tokens of 1 and 3 requests, after the first a step of one, after both the second
// step of four: (1000 + 1 + 3000 + 4 + 4)/4.
func TestSeenByDecodes(t *testing.T) {
	prefill := func(requests int, tokens int64) layer.ForwardPass {
		return layer.ForwardPass{Stage: layer.StagePrefill, Batch: requests, Tokens: tokens}
	}
	decode := func(requests int64) layer.ForwardPass {
		return layer.ForwardPass{Stage: layer.StageDecode, Batch: int(requests), Tokens: requests}
	}
	for _, c := range []struct {
		name   string
		passes []layer.ForwardPass
		want   float64
	}{
		{"one request", []layer.ForwardPass{prefill(1, 1049), decode(1)}, 1050},
		{"its third step", []layer.ForwardPass{prefill(1, 1049), decode(1), decode(1), decode(1)}, 1052},
		{"one request of which no batch is known", []layer.ForwardPass{prefill(0, 1049), decode(1)}, 1050},
		{"two prompts", []layer.ForwardPass{prefill(1, 1000), decode(1), prefill(3, 3000), decode(4), decode(4)},
			4009.0 / 4},
		{"several of which no batch is known", []layer.ForwardPass{prefill(0, 4000), decode(4)}, 0},
		{"others decode, too", []layer.ForwardPass{prefill(3, 3000), decode(4)}, 0},
		{"one ended", []layer.ForwardPass{prefill(4, 4000), decode(4), decode(3)}, 0},
		{"a mixed step between", []layer.ForwardPass{prefill(4, 4000), {Stage: layer.StageMixed, Tokens: 9}, decode(4)}, 0},
		{"the window begins later", []layer.ForwardPass{decode(4), decode(4)}, 0},
	} {
		w := walk{device: &layer.Device{Passes: c.passes}}
		if got := w.seenBy(len(c.passes) - 1); got != c.want {
			t.Errorf("%s: %v tokens, want %v", c.name, got, c.want)
		}
	}
}

// TestExpertsByTime: one layer of experts of 1 MB each at 1 TB/s; 8 to 64 of them are chosen, 40 by an even choice. In
// 20 µs the memory delivers 20.
func TestExpertsByTime(t *testing.T) {
	gpu := &hardware.GPU{Bandwidth: hardware.Figure{Value: 1e12}}
	for raw, want := range map[time.Duration]string{
		20 * time.Microsecond:  "8 to 20 experts active, 40 if chosen evenly",
		100 * time.Microsecond: "8 to 64 experts active, 40 if chosen evenly",
	} {
		c := &cell{slot: &slot{key: key{operator: "experts_down"}}, group: experts, raw: raw, floor: 1, instances: 1,
			work: opWork{Expected: true, OneExpert: 1e6, LeastExperts: 8, MostExperts: 64, ActiveExperts: 40}}
		if c.expect(gpu); len(c.notes) != 1 || c.notes[0] != want {
			t.Errorf("%v: %q, want %q", raw, c.notes, want)
		}
		r := &measured{walk: &walk{gpu: gpu}, order: []*cell{c}}
		f := r.uneven()
		if few := raw < 40*time.Microsecond; few != (len(f) == 1) || few &&
			f[0].Evidence != "The time of experts_down proves at most 20 of 40 expected experts in the mean of 1 layer." {
			t.Errorf("%v: %+v", raw, f)
		}
	}
}

// TestShortestOfTheSame: a collective whose bytes are not known takes as long as the shortest of the same, at least.
func TestShortestOfTheSame(t *testing.T) {
	a := kernelsOf(t, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 9, 4, 7)
	r, err := Analyze(context.Background(), a, Options{Kernels: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Operators) != 1 || r.Operators[0].Floor != 12*time.Microsecond || r.Operators[0].Basis != BasisShortest ||
		r.Passes[0].Floor != 0 || r.Passes[0].Covered != 0 || r.Collectives[0].Floor != 12*time.Microsecond {
		t.Errorf("%+v, %+v, %+v", r.Operators, r.Passes, r.Collectives)
	}
}

// TestUneven: a time too short for the experts of one token proves nothing about how tokens choose.
func TestUneven(t *testing.T) {
	for chosen, want := range map[float64]int{3: 0, 4: 1, 9: 1, 10: 0} {
		r := measured{order: []*cell{{slot: &slot{}, chosen: chosen, instances: 1,
			work: opWork{ActiveExperts: 10, LeastExperts: 4}}}}
		if got := r.uneven(); len(got) != want {
			t.Errorf("time for %v of 10 experts, 4 at least: %v", chosen, got)
		}
	}
}

// TestWins: a line says once how many launches it is of.
func TestWins(t *testing.T) {
	for why, want := range map[string]string{"": "(2 launches)\n", "2 launches": "(2 launches)\n",
		"2 launches; 3 µs each": "(2 launches): 3 µs each\n", "q 40%": "(2 launches): q 40%\n"} {
		var b strings.Builder
		p := printer{table.NewWriter(&b)}
		p.wins([]Item{{What: "small", Place: "2 launches", Time: 1, Why: why}})
		p.Flush()
		if !strings.HasSuffix(b.String(), want) {
			t.Errorf("%q: %q", why, b.String())
		}
	}
}
