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
