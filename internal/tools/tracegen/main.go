// Tracegen writes a made-up torch-profiler trace to a file, for benchmarks and
// for trying programs on large input:
//
//	go run -C internal/tools ./tracegen -size 1GB -o /tmp/big.json
//	go run -C internal/tools ./tracegen -size 100MB -o /tmp/big.json.gz -frames 0
//	go run -C internal/tools ./tracegen -size 5MB -o small.json -truth small.tsv
//
// A name that ends in .gz or .zst is compressed. The same flags give the same
// bytes before compression.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/internal/tools/repository"
)

func main() {
	repository.Run("tracegen", func() error { return run(os.Args[1:], os.Stdout) })
}

// run parses the flags and writes the files.
func run(args []string, stdout io.Writer) error {
	fs := flag.NewFlagSet("tracegen", flag.ContinueOnError)
	size := fs.String("size", "100MB", "uncompressed `SIZE` to reach: a number with B, KB, MB or GB (powers of ten)")
	out := fs.String("o", "", "output `FILE`; empty: stdout")
	truth := fs.String("truth", "", "write what is known of each activity to this `FILE`")
	layers := fs.Int("layers", 36, "decoder layers")
	frames := fs.Int("frames", 80, "extra Python frames around each launch; 0 records no Python at all")
	graph := fs.Bool("graph", false, "decode steps as full graph replays")
	amd := fs.Bool("amd", false, "names of AMD's stack instead of NVIDIA's")
	seed := fs.Uint64("seed", 1, "seed of the jitter")
	if err := fs.Parse(args); err != nil {
		return err
	}
	cfg := gen.Large(*layers, *frames, *graph)
	cfg.Seed = *seed
	if *amd {
		cfg.Vendor = gen.AMD
	}
	var err error
	if cfg.Size, err = parseSize(*size); err != nil {
		return err
	}
	dst := stdout
	if *out != "" {
		f, err := os.Create(*out)
		if err != nil {
			return err
		}
		defer f.Close()
		dst = f
	}
	if *truth == "" {
		return write(dst, *out, cfg)
	}
	f, err := os.Create(*truth)
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	fmt.Fprintln(w, gen.TruthHeader)
	var line []byte
	cfg.Truth = func(t gen.Truth) {
		line = append(t.AppendTSV(line[:0]), '\n')
		w.Write(line)
	}
	if err := write(dst, *out, cfg); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Close()
}

// write generates into dst, compressed as the name says.
func write(dst io.Writer, name string, cfg gen.Config) error {
	var z io.WriteCloser
	switch {
	case strings.HasSuffix(name, ".gz"):
		z = gzip.NewWriter(dst)
	case strings.HasSuffix(name, ".zst"):
		enc, err := zstd.NewWriter(dst)
		if err != nil {
			return err
		}
		z = enc
	default:
		return gen.Write(dst, cfg)
	}
	if err := gen.Write(z, cfg); err != nil {
		return err
	}
	return z.Close()
}

// parseSize reads a size with a decimal unit.
func parseSize(s string) (int64, error) {
	units := []struct {
		suffix string
		bytes  float64
	}{{"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}, {"B", 1}}
	for _, u := range units {
		if digits, ok := strings.CutSuffix(strings.ToUpper(s), u.suffix); ok {
			n, err := strconv.ParseFloat(strings.TrimSpace(digits), 64)
			if err != nil || n <= 0 {
				return 0, fmt.Errorf("size %q: want a positive number with B, KB, MB or GB", s)
			}
			return int64(n * u.bytes), nil
		}
	}
	return 0, fmt.Errorf("size %q: want a number with B, KB, MB or GB", s)
}
