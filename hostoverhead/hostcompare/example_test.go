package hostcompare_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/llmstrata/strata/hostoverhead/hostcompare"
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

func ExampleBreakdown() {
	r, err := hostcompare.Breakdown(context.Background(), passes(load(nsysgen.Default(1))), hostcompare.Options{})
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
	c, err := hostcompare.Compare(context.Background(), passes(load(before)), passes(load(after)), hostcompare.Options{})
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
