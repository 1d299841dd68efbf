package compare

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// compared is the report on two sides; edit changes the second.
func compared(times float64, edit func(a, b *Run)) *Report {
	a, b := plain(1), plain(times)
	if edit != nil {
		edit(&a.Runs[0], &b.Runs[0])
	}
	r, err := Compare(context.Background(), a, b, Options{})
	if err != nil {
		panic(err)
	}
	return r
}

// numbersOfSides are those of a side, not of its rows.
func numbersOfSides() map[string]number {
	slower := func(gpu string) func(x float64) bool {
		return func(x float64) bool {
			r := compared(1+x, func(_, b *Run) { b.GPU = gpu })
			return len(r.Findings) > 0
		}
	}
	path := func(set func(b *Pass, x float64)) func(x float64) bool {
		return func(x float64) bool {
			r := compared(1, func(a, b *Run) {
				for i := range b.Passes {
					set(&a.Passes[i], 0)
					set(&b.Passes[i], x)
				}
			})
			return len(r.Findings) > 0 && r.Findings[0].Kind == finding.PathChanged
		}
	}
	return map[string]number{
		"Floor":          {0.0451, 0.046, slower("a")},
		"FloorElsewhere": {0.125, 0.127, slower("b")},
		"OtherPath":      {0.49, 0.51, path(func(b *Pass, x float64) { b.Graph = x })},
		"OtherCompiled":  {0.099, 0.101, path(func(b *Pass, x float64) { b.Compiled = x })},
		"ClockShift": {0.019, 0.021, func(x float64) bool {
			r := compared(1, func(a, b *Run) {
				a.Clock, b.Clock = &Clock{Median: 2000}, &Clock{Median: 2000 * (1 - x)}
			})
			return len(r.Doubts) > 0
		}},
		"Equivalent": {-0.0063, -0.0062, func(x float64) bool { // the complete interval lies inside
			r := compared(1, func(_, b *Run) {
				for i := range b.Passes {
					pass := &b.Passes[i]
					pass.Wall = 0
					for k := range pass.Parts {
						t := &pass.Parts[k]
						t.Exclusive = time.Duration(float64(t.Exclusive) * (1 - x))
						t.Time = t.Exclusive
						pass.Wall += t.Time
					}
				}
			})
			return r.Verdict == Same
		}},
	}
}

// server are the steps of a host with one operation, whose times vary by sd.
func server(steps int, name string, us, count, sd float64, slow bool) *Host {
	h := &Host{}
	op := Operation{Kind: "range", Name: name, Class: OfHost, Place: "step", Count: count}
	for i := range steps {
		v := us * (1 + sd*[]float64{1, -1, -1, 1, 0}[i%5])
		if slow { // it swings over the full window: each step resembles the one before it
			v = us * (1 + sd*math.Sin(2*math.Pi*float64(i)/float64(steps)))
		}
		h.Passes, h.Walls = append(h.Passes, i), append(h.Walls, 10*time.Millisecond)
		op.Steps = append(op.Steps, time.Duration(1e3*v))
	}
	h.Operations = []Operation{op}
	return h
}

// servers is a server with so many operations; the first takes so many times as long.
func servers(n int, times float64) *Host {
	h := server(40, "op0", 1000*times, 1, 0, false)
	for i := 1; i < n; i++ {
		h.Operations = append(h.Operations, server(40, fmt.Sprint("op", i), 1000, 1, 0, false).Operations...)
	}
	return h
}

// numbersOfHosts are those of operations of the CPU.
func numbersOfHosts() map[string]number {
	longer := func(steps int, sd float64, slow bool) func(x float64) bool {
		return func(x float64) bool {
			a, b := server(steps, "op", 1000, 1, sd, slow), server(steps, "op", 1000*(1+x), 1, sd, slow)
			return CompareHost([]*Host{a}, []*Host{b}, Options{}).Rows[0].Significant
		}
	}
	return map[string]number{
		"HostFloor":   {0.246, 0.25, longer(40, 0, false)},
		"HostPriorSD": {0.27, 0.273, longer(12, 0, false)},
		"HostSteps":   {11, 12, func(x float64) bool { return longer(int(x), 0, false)(2) }},
		"HostOperations": {11, 12, func(x float64) bool {
			a, b := servers(int(x), 1), servers(int(x), 1)
			return strings.Contains(CompareHost([]*Host{a}, []*Host{b}, Options{}).FloorFrom, "of this pair")
		}},
		"HostChange": {0.29, 0.31, func(x float64) bool { // of an operation that takes a tenth of the step
			a, b := server(40, "op", 1000, 1, 0, false), server(40, "op", 1000*(1+x), 1, 0, false)
			for _, h := range []*Host{a, b} {
				h.Operations = append(h.Operations, Operation{Kind: FigureKind, Name: FigureWall, Class: OfHost,
					Steps: h.Walls})
			}
			return CompareHost([]*Host{a}, []*Host{b}, Options{}).Conclusion != HostSame
		}},
		"HostCorrelation": {0.6, 0.61, longer(100, 0.3, true)},
		"RenameCount": {-1.051, -1.049, func(x float64) bool {
			a, b := server(40, "op", 1000, 1, 0, false), server(40, "op_v2", 1000, -x, 0, false)
			rows := CompareHost([]*Host{a}, []*Host{b}, Options{}).Rows
			return len(rows) == 1 && rows[0].Status == Renamed
		}},
	}
}

// A launch of a collective that takes more than one and a half times as long as they typically do waited for other
// ranks. It follows the product of its own step, and the next step's does not follow it.
func TestTransferOfACollective(t *testing.T) {
	for _, c := range []struct{ us, want int64 }{{149, 0}, {155, 5}} {
		b := trace.NewBuilder(trace.Options{})
		add := func(kind event.Kind, name string, start, duration int64, id uint64) {
			b.Add(trace.EventData{Kind: kind, Name: name, Start: start, Duration: duration, Stream: 7, Process: 1,
				Scope: "a", Thread: 1, Correlation: id})
		}
		for i := range int64(9) {
			at := i * 2_000_000
			add(event.Annotation, "execute_context_0(0)_generation_8(8)", at, 1_000_000, 0)
			for k, name := range []string{"gemm", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"} {
				d := int64(100_000)
				if i == 4 && k == 1 {
					d = c.us * 1000
				}
				id := uint64(2*i + int64(k) + 1)
				start := at + 300_000*int64(k)
				add(event.Runtime, "cudaLaunchKernel", start, 100, id)
				add(event.Kernel, name, start+500, d, id)
			}
		}
		a, err := layer.Analyze(context.Background(), built.Trace(b), layer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		run, err := Measure(context.Background(), a)
		if err != nil {
			t.Fatal(err)
		}
		var got time.Duration
		for _, p := range run.Passes {
			for _, t := range p.Parts {
				if run.Parts[t.Part].Operator == rowWaiting {
					got += t.Exclusive
				}
			}
		}
		for i := range run.Parts {
			p := &run.Parts[i]
			if product := p.Base == "gemm"; p.isKernel() && p.Operator != rowWaiting &&
				((p.Before == "gemm") == product || (p.After == "") == product) {
				t.Errorf("%q is between %q and %q", p.Base, p.Before, p.After)
			}
		}
		if want := time.Duration(c.want) * time.Microsecond; got != want {
			t.Errorf("%d µs where 100 are typical: %v of waiting, want %v", c.us, got, want)
		}
	}
}
