package hostoverhead_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/gen/nsysgen"
	"github.com/llmstrata/strata/internal/hosttest"
	"github.com/llmstrata/strata/internal/published"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// boundary is a case in which a number decides: below and above are values on either side, and say what is decided with
// each of them.
type boundary struct {
	set           func(*hostoverhead.Params, bool) // to the lower or the higher value
	tr            func() *trace.Trace
	decide        func(*hostoverhead.Verdict) string
	lower, higher string
}

// eager builds steps whose kernels the host launches one by one: kernels of busy µs every period µs, with a call of
// some length right before each.
func eager(n int, busy, period, call int64) *trace.Trace {
	tl := hosttest.NewTimeline()
	for i := range int64(n) {
		at := i * period
		tl.Event(event.Runtime, "cudaLaunchKernel", 0, int(i)+1, at-call-2, at-2)
		tl.Event(event.Kernel, "gemm", 0, int(i)+1, at, at+busy)
	}
	return tl.Finish()
}

// oneGap has two kernels; the thread spends the gap between them in one activity.
func oneGap(kind event.Kind, name string, us int64) *trace.Trace {
	tl := hosttest.NewTimeline()
	tl.Event(event.Runtime, "cudaLaunchKernel", 0, 1, 0, 5)
	tl.Event(event.Kernel, "a", 0, 1, 10, 100)
	tl.Event(kind, name, 0, 0, 100, 100+us)
	tl.Event(event.Runtime, "cudaLaunchKernel", 0, 2, 100+us, 104+us)
	tl.Event(event.Kernel, "b", 0, 2, 105+us, 200+us)
	return tl.Finish()
}

func verdictOf(v *hostoverhead.Verdict) string { return string(v.Verdict) }

func doubted(code hostoverhead.DoubtCode) func(*hostoverhead.Verdict) string {
	return func(v *hostoverhead.Verdict) string { return fmt.Sprint(doubt(v, code) != nil) }
}

func hasCause(c finding.Cause) func(*hostoverhead.Verdict) string {
	return func(v *hostoverhead.Verdict) string { return fmt.Sprint(causesOf(v)[c] > 0) }
}

// decodeSteps are annotated decode steps that wait for the host, between prefills that do not.
func decodeSteps(decode int) *trace.Trace {
	tl := hosttest.NewTimeline()
	at := int64(0)
	for i := range 24 {
		name, busy := "step[EXTEND bs=1 toks=99]", int64(990)
		if i < decode {
			name, busy = "step[DECODE bs=8]", 200
		}
		tl.Event(event.Annotation, name, 0, 0, at, at+1000)
		tl.Event(event.Runtime, "cudaLaunchKernel", 0, i+1, at+1, at+5)
		tl.Event(event.Kernel, "gemm", 0, i+1, at+8, at+8+busy)
		at += 1000
	}
	return tl.Finish()
}

func bigger[T any](p *T, high bool, lo, hi T) {
	*p = lo
	if high {
		*p = hi
	}
}

// boundaries has a case for every number.
func boundaries() map[string]boundary {
	type P = hostoverhead.Params
	us := time.Microsecond
	return map[string]boundary{
		"MinShare": {func(p *P, h bool) { bigger(&p.MinShare, h, 0.19, 0.21) },
			func() *trace.Trace { return eager(200, 80, 100, 10) }, verdictOf, "YES", "NO"},
		"MinStagePasses": {func(p *P, h bool) { bigger(&p.MinStagePasses, h, 2, 3) },
			func() *trace.Trace { return decodeSteps(2) }, verdictOf, "YES", "NO"},
		"QueuedLimit": {func(p *P, h bool) { bigger(&p.QueuedLimit, h, 39*us, 40*us) }, func() *trace.Trace {
			tl := hosttest.NewTimeline()
			for i := range int64(2) {
				tl.Event(event.Runtime, "cudaLaunchKernel", 0, int(i)+1, i, i+1)
				tl.Event(event.Kernel, "gemm", 0, int(i)+1, 10+140*i, 110+140*i)
			}
			return tl.Finish()
		}, hasCause(finding.GPUDispatch), "false", "true"},
		"LongCopyCall": {func(p *P, h bool) { bigger(&p.LongCopyCall, h, 30*us, 31*us) },
			func() *trace.Trace { return oneGap(event.Runtime, "cudaMemcpyAsync", 30) }, hasCause(finding.BlockingCopy),
			"true", "false"},
		"BlockedLaunch": {func(p *P, h bool) { bigger(&p.BlockedLaunch, h, 300*us, 301*us) },
			func() *trace.Trace { return oneGap(event.Runtime, "cudaLaunchKernel", 300) }, hasCause(finding.ModuleLoad),
			"true", "false"},
		"Unnamed": {func(p *P, h bool) { bigger(&p.Unnamed, h, 199*us, 200*us) },
			func() *trace.Trace { return oneGap(event.Mark, "x", 200) }, hasCause(finding.UnknownCause), "true",
			"false"},
		"FewKernels": {func(p *P, h bool) { bigger(&p.FewKernels, h, 50, 51) },
			func() *trace.Trace { return eager(50, 80, 100, 10) }, doubted("few-kernels"), "false", "true"},
		"FewSteps": {func(p *P, h bool) { bigger(&p.FewSteps, h, 24, 25) },
			func() *trace.Trace { return decodeSteps(3) }, doubted("few-steps"), "false", "true"},
		"DominantGap": {func(p *P, h bool) { bigger(&p.DominantGap, h, 0.70, 0.75) },
			func() *trace.Trace { return oneGap(event.Range, "python", 500) }, doubted("one-long-gap"), "true",
			"false"},
		"OrphanShare": {func(p *P, h bool) { bigger(&p.OrphanShare, h, 0.24, 0.25) },
			func() *trace.Trace { return orphans(25) }, doubted("launches-missing"), "true", "false"},
		"CommunicationShare": {func(p *P, h bool) { bigger(&p.CommunicationShare, h, 0.49, 0.50) },
			func() *trace.Trace {
				tl := hosttest.NewTimeline()
				for i := range int64(100) {
					tl.Event(event.Kernel, []string{"gemm", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(args)"}[i%2], 0,
						0,
						i*100, i*100+100)
				}
				return tl.Finish()
			}, doubted("busy-with-communication"), "true", "false"},
		"UnnamedShare": {func(p *P, h bool) { bigger(&p.UnnamedShare, h, 0.80, 0.95) },
			func() *trace.Trace { return eager(200, 40, 100, 4) }, doubted("host-work-unnamed"), "true", "false"},
		"TracingCost": {func(p *P, h bool) { bigger(&p.TracingCost, h, 1.5, 20) },
			func() *trace.Trace { return framed() },
			func(v *hostoverhead.Verdict) string { return doubt(v, "python-tracing").Confidence.String() }, "medium",
			"low"},
		"AdviceShare": {func(p *P, h bool) { bigger(&p.AdviceShare, h, 0.09, 0.13) },
			func() *trace.Trace { return eager(200, 80, 100, 10) },
			func(v *hostoverhead.Verdict) string {
				return fmt.Sprint(strings.Contains(fmt.Sprint(v.Next), finding.LaunchCall.Info().Why))
			}, "true", "false"},
		"MinKernelShare": {func(p *P, h bool) { bigger(&p.MinKernelShare, h, 0.10, 0.11) }, func() *trace.Trace {
			tl := hosttest.NewTimeline()
			for i := range int64(100) {
				tl.Event(event.Kernel, "gemm", 0, 0, i*100, i*100+100)
			}
			for i := range int64(10) {
				tl.Event(event.Kernel, "gemm", 1, 0, i*1000, i*1000+10)
			}
			return tl.Finish()
		}, func(v *hostoverhead.Verdict) string { return fmt.Sprint(v.Ranks[1].Ignored) }, "false", "true"},
		"SplitRun": {func(p *P, h bool) { bigger(&p.SplitRun, h, 2, 3) },
			func() *trace.Trace { return betweenGraphs(3) },
			func(v *hostoverhead.Verdict) string { return fmt.Sprint(len(decider(v).Coverage.Hints)) }, "0", "1"},
	}
}

// orphans has 100 kernels, some without a launch.
func orphans(n int) *trace.Trace {
	tl := hosttest.NewTimeline()
	for i := range int64(100) {
		if int(i) >= n {
			tl.Event(event.Runtime, "cudaLaunchKernel", 0, int(i)+1, i*100-10, i*100-4)
		}
		tl.Event(event.Kernel, "gemm", 0, int(i)+1, i*100, i*100+80)
	}
	return tl.Finish()
}

// framed waits for Python frames.
func framed() *trace.Trace {
	tl := hosttest.NewTimeline()
	for i := range int64(200) {
		tl.Event(event.Frame, "server.py(1): schedule", 0, 0, i*100-20, i*100-8)
		tl.Event(event.Runtime, "cudaLaunchKernel", 0, int(i)+1, i*100-8, i*100-3)
		tl.Event(event.Kernel, "gemm", 0, int(i)+1, i*100, i*100+80)
	}
	return tl.Finish()
}

// betweenGraphs launches some kernels between two replays, without steps.
func betweenGraphs(n int) *trace.Trace {
	tl := hosttest.NewTimeline()
	replay := func(corr int, at int64) {
		tl.Event(event.Runtime, "cudaGraphLaunch", 0, corr, at, at+5)
		tl.Event(event.Graph, "CUDA graph 1", 0, corr, at+10, at+60)
	}
	replay(1, 0)
	for i := range n {
		at := 70 + 10*int64(i)
		tl.Event(event.Runtime, "cudaLaunchKernel", 0, 10+i, at, at+1)
		tl.Event(event.Kernel, "attention", 0, 10+i, at+2, at+8)
	}
	replay(2, 200)
	return tl.Finish()
}

// TestEveryNumberDecides: each number of Params has a case in which what is decided is another thing on its other side.
func TestEveryNumberDecides(t *testing.T) {
	cases := boundaries()
	for _, f := range reflect.VisibleFields(reflect.TypeFor[hostoverhead.Params]()) {
		c, ok := cases[f.Name]
		if !ok {
			t.Errorf("%s has no case", f.Name)
			continue
		}
		for _, side := range []bool{false, true} {
			p := hostoverhead.DefaultParams()
			c.set(&p, side)
			var v *hostoverhead.Verdict
			if c.tr != nil {
				v = judged(t, c.tr(), func(o *hostoverhead.Options) { *o = o.With(&p) })
			} else {
				v = judgedRanks(t, &p)
			}
			want := c.lower
			if side {
				want = c.higher
			}
			if got := c.decide(v); got != want {
				t.Errorf("%s, higher %v: %s, want %s: %s", f.Name, side, got, want, v.Summary)
			}
		}
	}
}

// judgedRanks judges two ranks; one is late by 50 µs nine times in ten.
func judgedRanks(t *testing.T, p *hostoverhead.Params) *hostoverhead.Verdict {
	t.Helper()
	late := func(i int) int64 {
		if i%10 == 0 {
			return 0
		}
		return 50
	}
	ranks := []*layer.Analysis{analyzed(t, collectives(func(int) int64 { return 0 }, 0)),
		analyzed(t, collectives(late, 5))}
	v, err := hostoverhead.Analyze(t.Context(), ranks, hostoverhead.Options{}.With(p))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestZeroOptionsAreTheDefaults: Options{} and the defaults written out give one document.
func TestZeroOptionsAreTheDefaults(t *testing.T) {
	tr := hosttest.Generate(t, nsysgen.Default(1))
	p, n := hostoverhead.DefaultParams(), 10
	published := hostoverhead.PublishedOptions{Thresholds: published.HostThresholds(),
		Generation: published.GenerationThresholds()}
	x := judged(t, tr)
	y := judged(t, tr, func(o *hostoverhead.Options) {
		*o = hostoverhead.Options{HostShare: p.MinShare, Published: published, TopGaps: &n}.With(&p)
	})
	if !reflect.DeepEqual(x, y) {
		t.Errorf("%s and %s", x.Summary, y.Summary)
	}
}
