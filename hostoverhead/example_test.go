package hostoverhead_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/gen/nsysgen"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/nsys"
)

// load generates a run of an imaginary server and opens it; a program of your
// own opens a file with [nsys.Open] or [trace.Open].
func load(cfg nsysgen.Config) *trace.Trace {
	dir, err := os.MkdirTemp("", "host")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "run.sqlite")
	if _, err := nsysgen.Write(path, cfg); err != nil {
		log.Fatal(err)
	}
	t, err := nsys.Open(context.Background(), path, trace.Options{})
	if err != nil {
		log.Fatal(err)
	}
	return t
}

// passes finds the passes of a trace.
func passes(t *trace.Trace) *layer.Analysis {
	a, err := layer.Analyze(context.Background(), t, layer.Options{})
	if err != nil {
		log.Fatal(err)
	}
	return a
}

func ExampleDetect() {
	v, err := hostoverhead.Detect(context.Background(), passes(load(nsysgen.Default(1))))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(v.Verdict, "with confidence", v.Confidence)
	fmt.Println("GPU idle:", v.AggregateMetrics.GPUIdle)
	for _, phase := range []string{"context", "generation"} {
		fmt.Println(phase, v.Phases[phase].Verdict, "over", v.Phases[phase].IterationCount, "steps")
	}
	// Output:
	// YES with confidence high
	// GPU idle: 0.6660
	// context YES over 6 steps
	// generation YES over 54 steps
}

func ExampleLedger() {
	ledgers, err := hostoverhead.Ledger(context.Background(), load(nsysgen.Default(1)))
	if err != nil {
		log.Fatal(err)
	}
	l := ledgers[0]
	var sum int64
	for _, c := range l.Causes {
		sum += c.TotalNS
	}
	fmt.Println("adds up:", sum == l.IdleNS)
	fmt.Println("largest:", l.Names[0].Cause, l.Names[0].Name)
	// Output:
	// adds up: true
	// largest: host-prep _update_requests
}

func ExampleLedgerEntries() {
	var longest hostoverhead.LedgerEntry
	err := hostoverhead.LedgerEntries(context.Background(), load(nsysgen.Default(1)), func(e hostoverhead.LedgerEntry) bool {
		if e.EndNS-e.StartNS > longest.EndNS-longest.StartNS {
			longest = e
		}
		return true
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(longest.Cause, longest.Range, time.Duration(longest.EndNS-longest.StartNS).Round(10*time.Microsecond))
	// Output: host-prep _sample_async 610µs
}

func ExampleBreakdown() {
	r, err := hostoverhead.Breakdown(context.Background(), passes(load(nsysgen.Default(1))))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d steady steps of %.0f µs, %.0f of them between steps\n", r.SteadySteps, r.WallUSPerStep, r.GapUS)
	fmt.Printf("most: %s\n", r.Operations[0].Name)
	// Output:
	// 53 steady steps of 2224 µs, 1803 of them between steps
	// most: _sample_async
}

func ExampleCompare() {
	before := nsysgen.Default(1)
	after := nsysgen.Default(2).Slow("_fetch_new_requests", 7).With(nsysgen.Op{Name: "broadcast_requests", Mean: 250 * time.Microsecond})
	c, err := hostoverhead.Compare(context.Background(), passes(load(before)), passes(load(after)))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(c.Conclusion)
	for _, d := range c.Regressions(0) {
		fmt.Printf("%s %s %+.0f µs per step\n", d.Status, d.Op, d.DeltaUS)
	}
	// Output:
	// inter-step host overhead
	// NEW broadcast_requests +249 µs per step
	// REGRESSION _fetch_new_requests +217 µs per step
}

func ExampleDrill() {
	d, err := hostoverhead.Drill(context.Background(), passes(load(nsysgen.Default(1))))
	if err != nil {
		log.Fatal(err)
	}
	gpu := d.Devices[0]
	fmt.Println(len(gpu.TopGaps), "longest gaps; replayed from graphs:", gpu.Coverage.Ratio)
	// Output: 10 longest gaps; replayed from graphs: 0.9000
}

func ExampleFindStragglers() {
	rank := func(late time.Duration) *trace.Trace {
		b := trace.NewBuilder()
		for i := range 20 {
			end := time.Duration(i+1) * time.Millisecond
			b.Add(trace.EventData{
				Kind: trace.KindKernel, Name: "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(args)",
				Start: int64(end - 200*time.Microsecond + late), Duration: int64(200*time.Microsecond - late),
			})
		}
		return b.Finish()
	}
	s, err := hostoverhead.FindStragglers(context.Background(), []*trace.Trace{rank(0), rank(80 * time.Microsecond)})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(s.Straggler, "of", s.Collectives, "collectives; rank 0 waited", time.Duration(s.Ranks[0].WaitNS))
	// Output: rank 1 of 20 collectives; rank 0 waited 1.6ms
}

func ExampleNewHandoff() {
	a := passes(load(nsysgen.Default(1)))
	v, err := hostoverhead.Detect(context.Background(), a)
	if err != nil {
		log.Fatal(err)
	}
	h, err := hostoverhead.NewHandoff(context.Background(), a, v)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(h.PrimaryBottleneckPhase, "phase; begin with", h.RecommendedFirstTarget)
	// Output: both phase; begin with _update_requests
}
