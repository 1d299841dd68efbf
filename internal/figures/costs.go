package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/internal/gen/nsysgen"
)

// The traces that are measured: as large as keeps a run below some seconds.
const (
	stackBytes  = 120 << 20 // with Python stacks
	graphBytes  = 60 << 20  // graph replays, no stacks
	nsysKernels = 200_000   // on two GPUs
)

// traceNames are the traces that generate writes.
var traceNames = []string{"stacks.json", "graphs.json", "nsys.sqlite"}

// generate writes the traces into dir.
func generate(dir string) error {
	for name, cfg := range map[string]gen.Config{
		"stacks.json": withSize(gen.Large(36, 80, false), stackBytes),
		"graphs.json": withSize(gen.Large(36, 0, true), graphBytes),
	} {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		err = gen.Write(f, cfg)
		if closed := f.Close(); err == nil {
			err = closed
		}
		if err != nil {
			return err
		}
	}
	_, err := nsysgen.Write(filepath.Join(dir, "nsys.sqlite"), nsysgen.Large(1, nsysKernels))
	return err
}

func withSize(cfg gen.Config, n int64) gen.Config {
	cfg.Size = n
	return cfg
}

// programs are run on each trace.
var programs = []string{"load", "layer-timeline", "triage", "host-detect", "kernel-export", "perfetto-map"}

// loaders are sources of a program that only opens its argument, for the
// interfaces that package trace has had; the first that compiles is used.
var loaders = []string{`package main
import ("context";"os";"strings";"github.com/llmstrata/strata/trace";"github.com/llmstrata/strata/trace/nsys")
func main() {
	var err error
	if strings.HasSuffix(os.Args[2], ".sqlite") { _, err = nsys.Open(context.Background(), os.Args[2]) } else { _, err = trace.Open(context.Background(), os.Args[2]) }
	if err != nil { panic(err) }
}`, `package main
import ("context";"os";"github.com/llmstrata/strata/trace";"github.com/llmstrata/strata/trace/nsys")
func main() {
	if _, err := trace.Open(context.Background(), os.Args[2], trace.Options{Formats: append(nsys.Formats(), trace.Kineto())}); err != nil { panic(err) }
}`}

// build builds the programs of a checkout into out.
func build(ctx context.Context, checkout, out string) error {
	args := []string{"build", "-o", out + string(filepath.Separator)}
	for _, p := range programs[1:] {
		args = append(args, "./examples/"+p)
	}
	if text, err := goCommand(ctx, checkout, args...); err != nil {
		return fmt.Errorf("%s: %w\n%s", checkout, err, text)
	}
	root, err := filepath.Abs(checkout)
	if err != nil {
		return err
	}
	var failed error
	for _, source := range loaders {
		path := filepath.Join(out, "loader.go")
		if err := os.WriteFile(path, []byte(source), 0o666); err != nil {
			return err
		}
		overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(root, "examples", "load", "main.go"): path}})
		if err != nil {
			return err
		}
		if err := os.WriteFile(path+".json", overlay, 0o666); err != nil {
			return err
		}
		text, err := goCommand(ctx, checkout, "build", "-overlay", path+".json", "-o", filepath.Join(out, "load"), "./examples/load")
		if err == nil {
			return nil
		}
		failed = fmt.Errorf("%s: no loader compiles: %w\n%s", checkout, err, text)
	}
	return failed
}

func goCommand(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	return cmd.CombinedOutput()
}

// cost is what one run took.
type cost struct{ millis, megabytes float64 }

// costs runs the programs of all checkouts in turns and prints a table.
func costs(ctx context.Context, w io.Writer, dirs []string, runs int) error {
	dir, remove, err := scratch()
	if err != nil {
		return err
	}
	defer remove()
	// In a process of its own: what a child of a large process has used at most is
	// said to be at least what that one uses.
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if out, err := exec.CommandContext(ctx, self, "-generate", dir).CombinedOutput(); err != nil {
		return fmt.Errorf("traces: %w: %s", err, out)
	}
	for i, checkout := range dirs {
		if err := build(ctx, checkout, bin(dir, i)); err != nil {
			return err
		}
	}
	fmt.Fprintf(w, "CPU ms and allocated MB, median of %d runs, %s, %d cores:\n\n| program | trace | ms | MB |\n|---|---|---|---|\n", runs, runtime.GOARCH, runtime.NumCPU())
	for _, p := range programs {
		for _, name := range traceNames {
			all := make([][]cost, len(dirs))
			for range runs {
				for i := range dirs {
					c, err := once(ctx, filepath.Join(bin(dir, i), p), filepath.Join(dir, name))
					if err != nil {
						return fmt.Errorf("%s %s: %w", p, name, err)
					}
					all[i] = append(all[i], c)
				}
			}
			fmt.Fprintf(w, "| %s | %s | %s | %s |\n", p, name, medians(all, func(c cost) float64 { return c.millis }), medians(all, func(c cost) float64 { return c.megabytes }))
		}
	}
	return nil
}

// once runs a program on a trace without garbage collection.
func once(ctx context.Context, program, trace string) (cost, error) {
	cmd := exec.CommandContext(ctx, program, "--trace", trace)
	cmd.Env = append(os.Environ(), "GOGC=off", "GOMAXPROCS=1")
	var message bytes.Buffer // of stderr: a document would make this process large
	cmd.Stderr = &message
	if err := cmd.Run(); err != nil {
		return cost{}, fmt.Errorf("%w: %.300s", err, &message)
	}
	used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	return cost{float64(used.Microseconds()) / 1e3, residentMB(cmd.ProcessState)}, nil
}

// medians writes the median of each checkout's runs, and the ratio of the last to
// the first where there are several.
func medians(all [][]cost, get func(cost) float64) string {
	var parts []string
	var list []float64
	for _, runs := range all {
		xs := make([]float64, len(runs))
		for i, c := range runs {
			xs[i] = get(c)
		}
		slices.Sort(xs)
		list = append(list, xs[len(xs)/2])
		parts = append(parts, fmt.Sprintf("%.0f", xs[len(xs)/2]))
	}
	text := strings.Join(parts, " → ")
	if len(list) > 1 {
		text += fmt.Sprintf(" (×%.2f)", list[len(list)-1]/list[0])
	}
	return text
}
