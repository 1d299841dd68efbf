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

func ExampleAnalyze() {
	ranks := []*layer.Analysis{passes(load(nsysgen.Default(1)))}
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
	// mixed: 6 steps, at most 2.36 times, host-code
	// decode: 54 steps, at most 2.70 times, host-code
	// longest gap: 1.72ms
}
