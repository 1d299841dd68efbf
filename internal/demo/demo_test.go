package demo_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/klauspost/compress/gzip"

	"github.com/llmstrata/strata/internal/demo"
	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/internal/testdata"
)

var update = flag.Bool("update", false, "write the demo trace where it is not the generator's")

// maxSize is what the demo may add to every program, in bytes.
const maxSize = 200_000

func TestTraceIsWhatTheGeneratorWrites(t *testing.T) {
	var want bytes.Buffer
	if err := gen.Write(&want, gen.Demo()); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(testdata.Unpacked(t, demo.Trace()), want.Bytes()) {
		t.Error("the committed trace is not the generator's: run go test ./internal/demo -update")
		if *update {
			var packed bytes.Buffer
			z, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression)
			if _, err := z.Write(want.Bytes()); err != nil || z.Close() != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile("demo.trace.json.gz", packed.Bytes(), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := len(demo.Trace()); n >= maxSize {
		t.Errorf("the trace has %d bytes, want fewer than %d", n, maxSize)
	}
}

// TestTraceHoldsWhatItPromises counts what the demo is there to show.
func TestTraceHoldsWhatItPromises(t *testing.T) {
	var doc struct {
		TraceEvents []struct {
			Cat, Name string
			Args      struct {
				Correlation uint64
				Stream      int
			}
		}
	}
	if err := json.Unmarshal(testdata.Unpacked(t, demo.Trace()), &doc); err != nil {
		t.Fatal(err)
	}
	cats, streams, replayed := map[string]int{}, map[int]int{}, 0
	var graph uint64
	for _, e := range doc.TraceEvents {
		cats[e.Cat]++
		if e.Name == "cudaGraphLaunch" {
			graph = e.Args.Correlation
			cats["graph launch"]++
		}
	}
	for _, e := range doc.TraceEvents {
		if e.Cat == "kernel" {
			streams[e.Args.Stream]++
			if e.Args.Correlation == graph {
				replayed++
			}
		}
	}
	if cats["graph launch"] != 1 || replayed < 100 {
		t.Errorf("%d graph launches with %d kernels, want one with at least 100", cats["graph launch"], replayed)
	}
	if len(streams) != 2 {
		t.Errorf("kernels on %d streams, want 2", len(streams))
	}
	for _, cat := range []string{"user_annotation", "gpu_user_annotation", "cpu_op", "python_function", "cuda_runtime",
		"gpu_memcpy", "gpu_memset", "ac2g"} {
		if cats[cat] == 0 {
			t.Errorf("no event of category %s", cat)
		}
	}
	truth, err := gen.Truths(gen.Demo())
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	passes := map[int]string{}
	for _, r := range truth {
		seen[r.Category] = true
		passes[r.Pass] = r.Stage
	}
	if got, want := len(truth), cats["kernel"]+cats["gpu_memcpy"]+cats["gpu_memset"]; got != want {
		t.Errorf("truth about %d activities, want one for each of %d", got, want)
	}
	if !seen["communication"] || !seen["attention"] || len(passes) != 5 || passes[0] != "prefill" ||
		passes[4] != "decode" {
		t.Errorf("categories %v, passes %v: want collectives, attention, a prefill and four decodes", seen, passes)
	}
}
