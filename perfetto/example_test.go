package perfetto_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/llmstrata/strata/internal/demo"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/perfetto"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// demoAnalysis returns an analysis of a small built-in trace and its file.
func demoAnalysis() (gpu *layer.Device, dir, file string) {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	file = filepath.Join(dir, "run.json.gz")
	if err := os.WriteFile(file, demo.Trace(), 0o600); err != nil {
		log.Fatal(err)
	}
	t, err := trace.Open(context.Background(), file, trace.Options{})
	if err != nil {
		log.Fatal(err)
	}
	a, err := layer.Analyze(context.Background(), t, layer.Options{})
	if err != nil {
		log.Fatal(err)
	}
	return &a.Devices[0], dir, file
}

func Example() {
	gpu, dir, file := demoAnalysis() // trace.Open, layer.Analyze
	defer os.RemoveAll(dir)
	// Draw passes and layers into a copy, and say where layer 3 of pass 1 is in it.
	if _, err := perfetto.Annotate(context.Background(), gpu.Analysis().Trace(), file,
		filepath.Join(dir, "annotated.json.gz"), perfetto.Tracks(gpu, 0), perfetto.CopyOptions{}); err != nil {
		log.Fatal(err)
	}
	m, err := perfetto.NewMap(gpu, 1, []int{3}, "")
	if err != nil {
		log.Fatal(err)
	}
	l := m.Layers[3]
	fmt.Printf("layer %d: %.6f s to %.6f s, %.2f ms\n%s\n", l.Index, l.StartSeconds, l.EndSeconds, l.WallMS, l.URL)
	// Output:
	// layer 3: 0.003115 s to 0.003304 s, 0.19 ms
	// https://ui.perfetto.dev/#!/?visEnd=7721328755364250&visStart=7721328755156027
}

func ExampleSlice() {
	gpu, dir, file := demoAnalysis()
	defer os.RemoveAll(dir)
	var keep []trace.EventID
	for k := range gpu.Kernels() {
		if at := k.Place(); at.Pass == 1 && at.Layer == 3 {
			keep = append(keep, k.Event().ID())
		}
	}
	out := filepath.Join(dir, "layer3.json.gz")
	stats, err := perfetto.Slice(context.Background(), gpu.Analysis().Trace(), keep, file, out,
		perfetto.CopyOptions{Redact: perfetto.Redaction{Paths: true, Names: true, Shapes: true}})
	if err != nil {
		log.Fatal(err)
	}
	t, err := trace.Open(context.Background(), out, trace.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(stats.Activities, "activities;", t.Len(event.LaneGPU), "in the file, the first at the same time:",
		t.Raw(t.LaneAt(event.LaneGPU, 0).Start()) == gpu.Analysis().Trace().Raw(gpu.Analysis().Trace().At(keep[0]).Start()))
	// Output: 20 activities; 20 in the file, the first at the same time: true
}

func ExampleLink() {
	t, err := trace.Read(context.Background(), bytes.NewReader(demo.Trace()), trace.Options{})
	if err != nil {
		log.Fatal(err)
	}
	k := t.LaneAt(event.LaneGPU, 0)
	r := perfetto.NewRange(t, k.Start(), k.End())
	fmt.Println(perfetto.Link("", perfetto.Margin(t, r)))
	// Output: https://ui.perfetto.dev/#!/?visEnd=7721328752163897&visStart=7721328752161997
}
