package hostoverhead_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/gen/nsysgen"
	"github.com/llmstrata/strata/internal/hosttest"
	"github.com/llmstrata/strata/layer"
)

func ExampleAnalyze() {
	ranks := []*layer.Analysis{hosttest.Passes(nsysgen.Default(1))}
	v, err := hostoverhead.Analyze(context.Background(), ranks, hostoverhead.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s with confidence %s: at most %.2f times faster\n", v.Verdict, v.Confidence, v.Headroom.AtMost)
	for _, s := range v.Ranks[v.Deciding].Stages {
		fmt.Printf("%s: %d steps, at most %.2f times, %s\n", s.Stage, s.Steps, s.Headroom.AtMost, s.Largest)
	}
	fmt.Println("longest gap:", time.Duration(v.Ranks[v.Deciding].Top[0].NS).Round(10*time.Microsecond))
	// Output:
	// YES with confidence high: at most 2.67 times faster
	// mixed: 6 steps, at most 2.96 times, host-code
	// decode: 54 steps, at most 2.64 times, host-code
	// longest gap: 1.72ms
}

func ExampleBreakdown() {
	r, err := hostoverhead.Breakdown(context.Background(), hosttest.Passes(nsysgen.Default(1)),
		hostoverhead.BreakdownOptions{})
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
	after := nsysgen.Default(2).Slow("_fetch_new_requests",
		7).With(nsysgen.Op{Name: "broadcast_requests", Mean: 250 * time.Microsecond})
	c, err := hostoverhead.Compare(context.Background(), hosttest.Passes(before), hosttest.Passes(after),
		hostoverhead.BreakdownOptions{})
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

// What the host does in each step, for a comparison of runs.
func ExampleSeries() {
	host, err := hostoverhead.Series(context.Background(), hosttest.Passes(nsysgen.Default(1)))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(host.Walls), "steps")
	for _, op := range host.Operations[:2] {
		fmt.Printf("%s %s, of the %s, in %d steps\n", op.Kind, op.Name, op.Class, len(op.Steps))
	}
	// Output:
	// 60 steps
	// range _sample_async, of the host, in 60 steps
	// range _update_requests, of the host, in 60 steps
}

// The summary for whoever optimises next, of one run.
func ExampleComparison_Handoff() {
	a := hosttest.Passes(nsysgen.Default(1))
	v, err := hostoverhead.Analyze(context.Background(), []*layer.Analysis{a}, hostoverhead.Options{})
	if err != nil {
		log.Fatal(err)
	}
	run, err := hostoverhead.Breakdown(context.Background(), a, hostoverhead.BreakdownOptions{})
	if err != nil {
		log.Fatal(err)
	}
	h := (&hostoverhead.Comparison{Target: run}).Handoff(v)
	fmt.Println(h.Verdict, h.RecommendedFirstTarget)
	// Output:
	// YES _update_requests
}
