package trace_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/internal/demo"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// step is a trace of one op that launches two kernels.
const step = `{"traceEvents": [
{"ph":"X","cat":"python_function","name":"nn.Module: Linear_0","pid":7,"tid":7,"ts":100.000,"dur":50.500},
{"ph":"X","cat":"cpu_op","name":"aten::linear","pid":7,"tid":7,"ts":110.000,"dur":10.000},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":7,"tid":7,"ts":112.000,"dur":2.000,"args":{"correlation":9}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":7,"tid":7,"ts":115.000,"dur":2.000,"args":{"correlation":10}},
{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":120.125,"dur":5.001,"args":{"device":0,"stream":7,"correlation":9}},
{"ph":"X","cat":"kernel","name":"bias","pid":0,"tid":7,"ts":126.000,"dur":1.500,"args":{"device":0,"stream":7,"correlation":10}}
]}`

func ExampleOpen() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "1700-TP-0.trace.json")
	if err := os.WriteFile(path, []byte(step), 0o666); err != nil {
		log.Fatal(err)
	}

	t, err := trace.Open(context.Background(), path, trace.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("health:", t.Health().Status, "rank:", t.Meta().Rank)
	for k := range t.Events(event.LaneGPU) {
		fmt.Printf("%s at %v for %v: launched in %s, %s\n", k.Name(), time.Duration(k.Start()-0), k.Duration(),
			k.Op().Name(), k.Frame().Name())
	}
	// Output:
	// health: ok rank: 0
	// gemm at 20.125µs for 5.001µs: launched in aten::linear, nn.Module: Linear_0
	// bias at 26µs for 1.5µs: launched in aten::linear, nn.Module: Linear_0
}

// Lanes that are not needed cost no memory: Python frames are nine tenths of a
// trace that was recorded with stacks.
func ExampleRead() {
	t, err := trace.Read(context.Background(), bytes.NewReader(demo.Trace()),
		trace.Options{Lanes: []event.Lane{event.LaneGPU, event.LaneLaunch}})
	if err != nil {
		log.Fatal(err)
	}
	var busy time.Duration
	replayed := 0
	for k := range t.Events(event.LaneGPU) {
		busy += k.Duration()
		if k.IsReplay() {
			replayed++
		}
	}
	fmt.Println("activities on devices", t.Devices(), "and", t.Len(event.LanePython), "Python frames")
	fmt.Println("some of them from graph replays:", replayed > 0, "GPU time:", busy > 0)
	// Output:
	// activities on devices [0] and 0 Python frames
	// some of them from graph replays: true GPU time: true
}

// A Reader needs no more memory for a file of 10 GB than for this one.
func ExampleReader() {
	r := trace.Reader{Input: strings.NewReader(step)}
	for rec, err := range r.Records(context.Background()) {
		if err != nil {
			log.Fatal(err)
		}
		if rec.Kind == event.Kernel {
			fmt.Println(rec.Name, rec.Start, rec.Duration, string(rec.Args))
		}
	}
	// Output:
	// gemm 120125 5.001µs {"device":0,"stream":7,"correlation":9}
	// bias 126000 1.5µs {"device":0,"stream":7,"correlation":10}
}

func ExampleListFiles() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for _, name := range []string{"1700-TP-0-EXTEND.trace.json", "1700-TP-1-EXTEND.trace.json",
		"1700-TP-0-DECODE.trace.json", "server_args.json"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(step), 0o666); err != nil {
			log.Fatal(err)
		}
	}

	files, err := trace.ListFiles(dir)
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range files {
		fmt.Println(f.Stage, "rank", f.Rank, filepath.Base(f.Path))
	}
	// Output:
	// decode rank 0 1700-TP-0-DECODE.trace.json
	// prefill rank 0 1700-TP-0-EXTEND.trace.json
	// prefill rank 1 1700-TP-1-EXTEND.trace.json
}

// A Builder makes a Trace of events from any source, in any order.
func ExampleBuilder() {
	b := trace.NewBuilder(trace.Options{})
	b.Meta = trace.Meta{Source: "example", Rank: -1}
	b.Add(trace.EventData{Kind: event.Kernel, Name: "gemm", Start: 2_000, Duration: 500, Device: 0, Stream: 7,
		Correlation: 9})
	b.Add(trace.EventData{Kind: event.Runtime, Name: "cudaLaunchKernel", Start: 1_000, Duration: 300, Process: 7,
		Thread: 7,
		Device: trace.None, Stream: trace.None, Correlation: 9})

	t := built.Trace(b)
	k := t.LaneAt(event.LaneGPU, 0)
	fmt.Println(k.Name(), "waited", time.Duration(k.Start()-k.Launch().Start()))
	// Output:
	// gemm waited 1µs
}
