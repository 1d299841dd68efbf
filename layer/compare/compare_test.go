package compare_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/compare"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// parts of a decode pass of 10 ms: mean in µs, class, relative spread from pass to pass.
var parts = []struct {
	name       string
	class      compare.Class
	us, spread float64
}{
	{"qkv_proj", "memory", 900, 0.003}, {"attention", "memory", 1100, 0.004}, {"o_proj", "memory", 700, 0.003},
	{"gate_up_proj", "memory", 2600, 0.002},
	{"down_proj", "memory", 1500, 0.002}, {"input_norm", "latency", 300, 0.006}, {"post_norm", "latency", 310, 0.006},
	{"rope", "latency", 200, 0.008},
	{"kv_write", "latency", 180, 0.008}, {"activation", "latency", 260, 0.006}, {"lm_head", "memory", 500, 0.002},
	{"attn_all_reduce", "transfer", 350, 0.02},
	{"waiting for ranks", "waiting", 60, 0.5}, {"idle", "waiting", 1000, 0.05},
}

// side makes a run of so many passes; change is applied to each pass's times by name.
func side(seed uint64, passes int, change func(name string, us float64) float64) *compare.Side {
	r := rand.New(rand.NewPCG(seed, 1))
	run := compare.Run{Trace: fmt.Sprintf("run-%d.json", seed), GPU: "NVIDIA H100 80GB HBM3", Health: "ok"}
	for _, p := range parts {
		run.Parts = append(run.Parts, compare.MadePart(p.name, p.name+"_kernel<1>", p.class))
	}
	for i := range passes {
		var times []time.Duration
		for _, p := range parts {
			us := p.us * (1 + p.spread*r.NormFloat64())
			if change != nil {
				us = change(p.name, us)
			}
			times = append(times, time.Duration(1e3*max(us, 0)))
		}
		run.AddPass(compare.Pass{Index: i, Stage: layer.StageDecode, Batch: 16, Tokens: 16, Start: int64(i) * 1e7,
			Graph: 1}, 32, times...)
	}
	return &compare.Side{Label: fmt.Sprint("run ", seed), Runs: []compare.Run{run}}
}

func times(name string, by float64) func(string, float64) float64 {
	return func(n string, us float64) float64 {
		if n == name || name == "" && n != "idle" && n != "waiting for ranks" {
			return us * by
		}
		return us
	}
}

func report(t testing.TB, a, b *compare.Side, o compare.Options) *compare.Report {
	t.Helper()
	r, err := compare.Compare(context.Background(), a, b, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func ExampleCompare() {
	r, err := compare.Compare(context.Background(), side(1, 8, nil), side(2, 8, times("attention", 1.6)),
		compare.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Verdict)
	for _, f := range r.Findings {
		fmt.Println(f.Code, f.PerStep.Round(50*time.Microsecond))
	}
	// Output:
	// slower
	// attention 650µs
}

// Rows add up to the difference, and each row's numbers to each other, to the nanosecond.
func TestRowsAddUp(t *testing.T) {
	for seed := range uint64(20) {
		r := report(t, side(seed, 3+int(seed%5), nil), side(seed+100, 7, times("down_proj", 1+float64(seed)/50)),
			compare.Options{})
		var a, b, delta time.Duration
		for _, row := range r.Rows {
			if row.Delta != row.B-row.A {
				t.Errorf("%s: %v − %v is not %v", row.Operator, row.B, row.A, row.Delta)
			}
			a, b, delta = a+row.A, b+row.B, delta+row.Delta
		}
		if delta != r.Delta || b-a != r.Delta {
			t.Errorf("rows add up to %v, the passes differ by %v", delta, r.Delta)
		}
	}
}

func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		name           string
		passesA, passB int
		change         func(string, float64) float64
		want           string
		findings       []string // operators, in any order
	}{
		{"the same", 8, 8, nil, "same", nil},
		{"the same, a shorter window", 20, 14, nil, "same", nil},
		{"attention 60% slower", 8, 8, times("attention", 1.6), "slower", []string{"attention"}},
		{"attention 40% faster", 8, 8, times("attention", 0.6), "faster", []string{"attention"}},
		{"an operator gone", 8, 8, times("kv_write", 0), "faster", []string{"kv_write"}},
		{"idle half as much again, five passes", 5, 5, func(n string, us float64) float64 {
			if n == "idle" {
				return us + 5000
			}
			return us
		}, "slower", []string{"idle"}},
		{"idle half as much again, four passes", 4, 4, func(n string, us float64) float64 {
			if n == "idle" {
				return us + 5000
			}
			return us
		}, "inconclusive", nil},
		{"a small change of a small operator", 8, 8, times("rope", 1.1), "same", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := report(t, side(1, c.passesA, nil), side(2, c.passB, c.change), compare.Options{})
			if r.Verdict != compare.Outcome(c.want) {
				t.Errorf("verdict %s (%s), want %s", r.Verdict, r.Text, c.want)
			}
			var got []string
			for _, f := range r.Findings {
				got = append(got, f.Code)
			}
			if strings.Join(got, " ") != strings.Join(c.findings, " ") {
				t.Errorf("findings %v, want %v", got, c.findings)
			}
		})
	}
}

// A window of fewer passes is the same program: compared the other way round it is neither faster nor slower.
func TestBothWays(t *testing.T) {
	a, b := side(1, 10, nil), side(1, 7, nil)
	for _, r := range []*compare.Report{report(t, a, b, compare.Options{}), report(t, b, a, compare.Options{})} {
		if r.Verdict != compare.Same || len(r.Findings) != 0 {
			t.Errorf("%s, %d findings; want no difference", r.Text, len(r.Findings))
		}
	}
}

// All kernels 3% slower is one finding where runs are known to differ by a third of a per cent, and inconclusive where
// they may differ more.
func TestUniformShift(t *testing.T) {
	a, b := side(1, 8, nil), side(2, 8, times("", 1.04))
	r := report(t, a, b, compare.Options{Floor: 0.003})
	if r.Verdict != compare.Slower || len(r.Findings) != 1 || r.Findings[0].Kind != finding.UniformChange {
		t.Errorf("%s, findings %+v; want one uniform shift", r.Text, r.Findings)
	}
	if f := r.Findings[0]; !strings.HasPrefix(f.Evidence, "all kernels take +") || strings.Contains(f.Evidence, "not so") {
		t.Errorf("%s; want all kernels, without exception", f.Evidence)
	}
	// What clearly stays as it is is named: one clock of the GPU, or one of its limits, is not all of it.
	r = report(t, a, side(2, 8, func(name string, us float64) float64 {
		if name == "attention" {
			return us
		}
		return times("", 1.15)(name, us)
	}), compare.Options{Floor: 0.003})
	uniform := slices.IndexFunc(r.Findings, func(f finding.Finding) bool { return f.Kind == finding.UniformChange })
	if uniform < 0 {
		t.Fatalf("%s, findings %+v; want a shift of most kernels", r.Text, r.Findings)
	}
	if f := r.Findings[uniform]; !strings.HasPrefix(f.Evidence, "most kernels take +1") ||
		!strings.HasSuffix(f.Evidence, "; not so attention") {
		t.Errorf("%s; want most kernels, and the one that stays as it is", f.Evidence)
	}
	// So is what changes by a quarter of the factor, within the noise of its own.
	r = report(t, a, side(2, 8, func(name string, us float64) float64 {
		if name == "attention" {
			return 1.02 * us
		}
		return times("", 1.08)(name, us)
	}), compare.Options{Floor: 0.003})
	uniform = slices.IndexFunc(r.Findings, func(f finding.Finding) bool { return f.Kind == finding.UniformChange })
	if uniform < 0 || !strings.HasSuffix(r.Findings[uniform].Evidence, "; not so attention") {
		t.Errorf("%s, findings %+v; want most kernels, and the one that changes less", r.Text, r.Findings)
	}
	r = report(t, a, side(2, 8, times("", 1.02)), compare.Options{Floor: 0.02})
	if r.Verdict != compare.Inconclusive || len(r.Findings) != 0 {
		t.Errorf("%s, findings %+v; want inconclusive without any", r.Text, r.Findings)
	}
}

func TestPassesThatDoNotMatch(t *testing.T) {
	a, b := side(1, 5, nil), side(2, 5, nil)
	for i := range b.Runs[0].Passes {
		b.Runs[0].Passes[i].Batch, b.Runs[0].Passes[i].Tokens = 32, 32
	}
	r := report(t, a, b, compare.Options{Gates: []compare.Gate{{Limit: 0.03}}})
	if r.Verdict != compare.Inconclusive || r.Gate() != compare.GateUndecided || !strings.Contains(r.Text, "batch 16") ||
		!strings.Contains(r.Text, "batch 32") || !strings.Contains(r.Text, "--allow work") {
		t.Errorf("%s, want both sides named", r.Text)
	}
	if r := report(t, a, b, compare.Options{Allow: []compare.DoubtCode{compare.DoubtWork}}); r.Verdict != compare.Same {
		t.Errorf("allowed: %s", r.Text)
	}
	r = report(t, a, b, compare.Options{PerToken: true})
	if r.Delta > -4*time.Millisecond {
		t.Errorf("per token: %v, want half of the pass less", r.Delta)
	}
}

func TestGates(t *testing.T) {
	a := side(1, 8, nil)
	for _, c := range []struct {
		gate   string
		change func(string, float64) float64
		want   compare.GateOutcome
	}{
		{"5%", nil, compare.GatePassed},
		{"3%", times("gate_up_proj", 1.4), compare.GateFailed},
		{"attention=5%", times("attention", 1.2), compare.GateFailed},
		{"attention=5%", times("qkv_proj", 1.2), compare.GatePassed},
		{"1%", nil, compare.GateUndecided},
		{"nothing=5%", nil, compare.GateUndecided},
	} {
		g, err := compare.ParseGate(c.gate)
		if err != nil {
			t.Fatal(err)
		}
		r := report(t, a, side(2, 8, c.change), compare.Options{Gates: []compare.Gate{g}})
		if got := r.Gate(); got != c.want {
			t.Errorf("%s: %s (%+v), want %s", c.gate, got, r.Gates, c.want)
		}
	}
	for _, bad := range []string{"", "3", "x%", "NaN%", "-3%", "0%", "a=b=3%"} {
		if _, err := compare.ParseGate(bad); !errors.Is(err, compare.ErrGate) {
			t.Errorf("%q: %v, want it refused", bad, err)
		}
	}
}

// A saved side gives the same report as the run itself.
func TestSavedSide(t *testing.T) {
	a, b := side(1, 6, nil), side(2, 6, times("attention", 1.3))
	var buf bytes.Buffer
	if err := a.Write(&buf); err != nil {
		t.Fatal(err)
	}
	saved, err := compare.ReadSide(bytes.NewReader(buf.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	x, y := report(t, a, b, compare.Options{}), report(t, saved, b, compare.Options{})
	if fmt.Sprintf("%+v", x) != fmt.Sprintf("%+v", y) {
		t.Errorf("saved: %+v\nwant %+v", y, x)
	}
	for name, edit := range map[string][2]string{
		"another schema": {"strata.baseline/2", "strata.other/1"}, "a class that is none": {`"memory"`, `"heavy"`},
		"times that do not add up": {`"wall_ns":`, `"wall_ns":1`},
		"cut":                      {`"runs"`, `"ru`}, "launches below none": {`"n":32`, `"n":-32`},
		"a share above all": {`"graph_share":`, `"graph_share":7`},
		"a pass twice":      {`"index":1,`, `"index":0,`}, "a part twice": {`"part":1,`, `"part":0,`},
	} {
		text := strings.Replace(buf.String(), edit[0], edit[1], 1)
		if _, err := compare.ReadSide(strings.NewReader(text)); !errors.Is(err, compare.ErrBaseline) {
			t.Errorf("%s: %v, want it refused", name, err)
		}
	}
}

func FuzzReadSide(f *testing.F) {
	var buf bytes.Buffer
	if err := side(1, 2, nil).Write(&buf); err != nil {
		f.Fatal(err)
	}
	f.Add(buf.Bytes())
	f.Add([]byte(`{"schema":"strata.baseline/2","runs":[{}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := compare.ReadSide(bytes.NewReader(data))
		if err != nil {
			return
		}
		r, err := compare.Compare(context.Background(), s, s, compare.Options{})
		if err == nil && r.Delta != 0 {
			t.Errorf("a side differs from itself by %v", r.Delta)
		}
	})
}

// madeKernel is a kernel of a made trace: when it starts in its step, how long it takes, and its stream.
type madeKernel struct {
	name          string
	start, length int64
	stream        trace.StreamID
}

// measuredSteps is what a trace of decode steps of 4 ms with these kernels is measured as.
func measuredSteps(t *testing.T, steps ...[]madeKernel) *compare.Run {
	t.Helper()
	b := trace.NewBuilder(trace.Options{})
	id := uint64(0)
	for i, kernels := range steps {
		at := int64(i) * 4_000_000
		b.Add(trace.EventData{Kind: event.Annotation, Name: "step[DECODE bs=8]", Start: at, Duration: 150_000, Thread: 1})
		for n, k := range kernels {
			id++
			b.Add(trace.EventData{Kind: event.Runtime, Name: "cudaLaunchKernel", Start: at + 1000 + int64(n)*3000,
				Duration: 2000, Thread: 1, Correlation: id})
			b.Add(trace.EventData{Kind: event.Kernel, Name: k.name, Start: at + k.start, Duration: k.length,
				Stream: k.stream, Correlation: id})
		}
	}
	_, run := runOf(t, built.Trace(b), layer.Options{})
	if len(run.Passes) != len(steps) {
		t.Fatalf("%d passes, want %d", len(run.Passes), len(steps))
	}
	return run
}

// TestHiddenKernelsCount: a kernel that others hide all the time takes none of the pass's time, but is launched.
func TestHiddenKernelsCount(t *testing.T) {
	step := []madeKernel{{"nvjet_tst_64x16_64x16_4x1_v_bz_TNT", 20_000, 100_000, 7},
		{"silu_and_mul_kernel", 50_000, 10_000, 8}}
	for _, p := range measuredSteps(t, step, step, step).Passes {
		launches := 0
		for _, t := range p.Parts {
			launches += t.Count
		}
		if launches != 2 || p.Wall != 4*time.Millisecond && p.Index < 2 {
			t.Errorf("pass %d: %d launches in %v, want 2", p.Index, launches, p.Wall)
		}
	}
}

// TestShortKernelsAreBoundByLatency: a row whose mean launch takes three times the shortest kernels at most is bound by
// latency.
func TestShortKernelsAreBoundByLatency(t *testing.T) {
	for norm, want := range map[int64]compare.Class{6000: compare.Latency, 6001: compare.Memory} {
		step := []madeKernel{{"vectorized_elementwise_kernel", 20_000, 2000, 7}, {"rmsnorm_kernel", 30_000, norm, 7}}
		run := measuredSteps(t, step, step, step)
		var got compare.Class
		for _, r := range run.Parts {
			if r.Category == "norm" {
				got = r.Class
			}
		}
		if got != want {
			t.Errorf("kernels of %d ns beside some of 2000: %q, want %q: %+v", norm, got, want, run.Parts)
		}
	}
}

// TestWaitingInCollectives: what a launch takes beyond 1.5 times the median of its pass is waiting for other ranks. A
// pass of fewer than five launches has the median of all passes.
func TestWaitingInCollectives(t *testing.T) {
	step := func(length int64, launches int, longer int64) (out []madeKernel) {
		for i := range launches {
			k := madeKernel{"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
				200_000 + int64(i)*100_000, length, 7}
			if i == launches-1 {
				k.length = longer
			}
			out = append(out, k)
		}
		return out
	}
	for launches, want := range map[int]time.Duration{1: 70 - 15, 4: 3*(40-15) + 70 - 15, 5: 70 - 60} { // µs
		run := measuredSteps(t, step(10_000, 20, 15_000), step(40_000, launches, 70_000), step(10_000, 20, 15_001))
		for p, want := range []time.Duration{0, want * time.Microsecond, time.Nanosecond} {
			var wait time.Duration
			for _, part := range run.Passes[p].Parts {
				wait += part.Wait
			}
			if wait != want {
				t.Errorf("%d launches, pass %d: %v are waiting, want %v", launches, p, wait, want)
			}
		}
	}
}

// TestRowsAreOperatorsWhereMostAreKnown: nine tenths of the time inside layers need an operator.
func TestRowsAreOperatorsWhereMostAreKnown(t *testing.T) {
	for have, want := range map[time.Duration]bool{0: false, 89: false, 90: true, 100: true} {
		if got := compare.Enough(have, 100); got != want {
			t.Errorf("%d of 100 have an operator: %v, want %v", have, got, want)
		}
	}
	if compare.Enough(0, 0) {
		t.Error("of no time all is known")
	}
}
