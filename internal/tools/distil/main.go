package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/llmstrata/strata/internal/atomicfile"
	"github.com/llmstrata/strata/internal/tools/repository"
)

// recipe says how a trace is reduced.
type recipe struct {
	name   string // of the copy
	source string // below the directory of traces
	frames frames // which Python frames stay
	shapes bool   // keep "Input Dims" and "Input type" of CPU ops
	// from and to bound the window kept, as shares of the trace's time from
	// its first to its last event; to 0 is all of it.
	from, to float64
}

// frames selects Python frames.
type frames uint8

const (
	noFrames     frames = iota
	moduleFrames        // nn.Module frames, and the source lines nearest to each launch
)

var recipes = []recipe{
	{name: "sglang-qwen3-8b-extend-mi300.json.zst", source: "torch/sglang-qwen3-8b-extend-eager-mi300.json.gz",
		frames: moduleFrames, shapes: true},
	{name: "sglang-qwen3-8b-decode-mi300.json.zst", source: "torch/sglang-qwen3-8b-decode-graph-mi300.json.gz",
		frames: moduleFrames},
	{name: "sglang-llama-8b-b300-TP-0-DECODE.json.zst",
		source: "torch/sglang-r1-distill-llama-8b-b300-TP-0-DECODE.trace.json.gz", frames: moduleFrames},
	{name: "sglang-qwen3-30b-a3b-b300-TP-0-DECODE.json.zst",
		source: "torch/sglang-qwen3-30b-a3b-b300-TP-0-DECODE.trace.json.gz", frames: moduleFrames},
	{name: "sglang-qwen3-30b-a3b-mi300-TP-0-DECODE.json.zst",
		source: "torch/sglang-qwen3-30b-a3b-mi300-TP-0-DECODE.trace.json.gz", frames: moduleFrames},
	{name: "vllm-gptoss20b-mixed-mi300.json.zst", source: "torch/vllm-gptoss20b-mixed-piecewise-mi300.json.gz",
		frames: moduleFrames},
	{name: "vllm-gptoss20b-decode-mi300.json.zst", source: "torch/vllm-gptoss20b-decode-fullgraph-mi300.json.gz",
		frames: moduleFrames},
	{name: "hf-qwen1.5-0.5b-h100.json.zst", source: "torch/hf-qwen1.5-0.5b-eager-h100.json.gz", frames: moduleFrames,
		shapes: true},
	{name: "train-graphs-a100.json.zst", source: "torch/train-graphs-5streams-a100.json.gz", to: 0.345},
	{name: "train-pair-rank-0.json.zst", source: "torch/train-pair-rank-0.json.gz"},
	{name: "train-pair-rank-1.json.zst", source: "torch/train-pair-rank-1.json.gz"},
	{name: "nsys-torchrun-2gpu.sqlite.zst", source: "nsys/torchrun-2gpu-hopper.sqlite", to: 0.3},
}

func main() {
	if err := repository.Enter(); err != nil {
		fmt.Fprintln(os.Stderr, "distil:", err)
		os.Exit(1)
	}
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "distil:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	fs := flag.NewFlagSet("distil", flag.ContinueOnError)
	from := fs.String("from", "../shared/traces", "`DIR` of the traces")
	to := fs.String("to", "testdata/distilled", "`DIR` of the copies")
	only := fs.String("only", "", "copy only what this `REGEXP` finds in the copy's name")
	if err := fs.Parse(args); err != nil {
		return err
	}
	want, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	for _, r := range recipes {
		if !want.MatchString(r.name) {
			continue
		}
		source, dest := filepath.Join(*from, filepath.FromSlash(r.source)), filepath.Join(*to, r.name)
		if err := distil(source, dest, r); err != nil {
			return fmt.Errorf("%s: %w", source, err)
		}
		info, err := os.Stat(dest)
		if err != nil {
			return err
		}
		fmt.Printf("%8d %s\n", info.Size(), r.name)
	}
	return nil
}

// distil writes the reduced copy of a trace.
func distil(source, dest string, r recipe) error {
	var data []byte
	var err error
	if filepath.Ext(source) == ".sqlite" {
		data, err = reduceExport(source, r)
	} else {
		data, err = reduceFile(source, r)
	}
	if err != nil {
		return err
	}
	return atomicfile.Write(dest, 0o666, func(w io.Writer) error {
		z, err := zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1))
		if err != nil {
			return err
		}
		if _, err := z.Write(data); err != nil {
			return err
		}
		return z.Close()
	})
}

// reduceFile reduces a gzipped torch-profiler trace.
func reduceFile(path string, r recipe) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	return reduceTrace(z, r)
}
