package compare_test

import (
	"bytes"
	"context"
	"fmt"
	"log"

	"github.com/llmstrata/strata/internal/demo"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/compare"
	"github.com/llmstrata/strata/trace"
)

// Each run is reduced to what a comparison needs, which is small, can be kept as JSON, and is compared later.
func ExampleMeasure() {
	ctx := context.Background()
	t, err := trace.Read(ctx, bytes.NewReader(demo.Trace()), trace.Options{}) // or trace.Open
	if err != nil {
		log.Fatal(err)
	}
	a, err := layer.Analyze(ctx, t, layer.Options{})
	if err != nil {
		log.Fatal(err)
	}
	run, err := compare.Measure(ctx, a)
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range run.Passes[:2] {
		fmt.Println(p.Stage, p.Batch, p.Tokens, p.Wall)
	}
	before := &compare.Side{Label: "before", Runs: []compare.Run{*run}}
	after := &compare.Side{Label: "after", Runs: []compare.Run{*run}}
	r, err := compare.Compare(ctx, before, after, compare.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.Verdict, r.Delta)
	// Output:
	// prefill 1 640 2.45367ms
	// decode 8 8 1.650026ms
	// same 0s
}
