package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/llmstrata/strata/internal/tools/repository"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	repository.Run("perf", func() error { return run(ctx, os.Args[1:], os.Stderr) })
}

// run parses the flags, measures and writes the page.
func run(ctx context.Context, args []string, log io.Writer) error {
	fs := flag.NewFlagSet("perf", flag.ContinueOnError)
	sizes := fs.String("size", "10MB,100MB,1GB", "uncompressed `SIZES` of the generated traces, with comma between; "+
		"empty: none")
	loads := fs.String("load", "", "further `SIZES` of traces that are only loaded")
	exports := fs.String("nsys", "", "numbers of `KERNELS` of generated nsys exports, with comma between; empty: none")
	ranks := fs.Int("ranks", 0, "number of `FILES` of a generated directory of ranks; 0: none")
	rankSize := fs.String("rank-size", "20MB", "uncompressed `SIZE` of each of them")
	runs := fs.Int("runs", 3, "runs of each measurement; the median counts")
	out := fs.String("o", "docs/performance.md", "the page to write")
	readme := fs.String("readme", "", "`FILE` whose table of what a GB costs is written, too; empty: none")
	pythonMax := fs.Float64("python-max", 1.2e9, "largest uncompressed `BYTES` to give to Python, which needs some six "+
		"times that much memory")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if *runs < 1 {
		return fmt.Errorf("-runs %d: want at least 1", *runs)
	}
	dir, err := os.MkdirTemp("", "strata-perf")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{dir: dir, runs: *runs, log: log, pythonMax: int64(*pythonMax)}
	if err := b.build(ctx); err != nil {
		return err
	}
	page := page{machine: describeMachine(), runs: *runs}
	if page.files, err = b.measureFiles(ctx, list(*sizes), list(*loads)); err != nil {
		return err
	}
	if *ranks > 0 {
		if page.ranks, err = b.measureRanks(ctx, *ranks, *rankSize); err != nil {
			return err
		}
	}
	for _, n := range list(*exports) {
		kernels, err := strconv.Atoi(n)
		if err != nil || kernels < 1 {
			return fmt.Errorf("-nsys %s: want a positive number of kernels", n)
		}
		rows, err := b.measureExport(ctx, kernels)
		if err != nil {
			return err
		}
		page.exports = append(page.exports, rows)
	}
	text, err := page.markdown()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(*out), 0o777); err != nil {
		return err
	}
	const pages = "\n## Pages in a browser" // this and what follows is measured by tests
	if old, err := os.ReadFile(*out); err == nil {
		if at := strings.Index(string(old), pages); at >= 0 {
			text = append(text, old[at:]...)
		}
	}
	if err := os.WriteFile(*out, text, 0o666); err != nil || *readme == "" {
		return err
	}
	return page.writeCosts(*readme)
}

// measureFiles measures traces of these sizes, of the second kind only their load.
func (b *bench) measureFiles(ctx context.Context, whole, loaded []string) ([]fileResult, error) {
	var all []fileResult
	for i, size := range slices.Concat(whole, loaded) {
		r, err := b.measure(ctx, size, i >= len(whole))
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

// list splits a flag's value at its commas.
func list(s string) []string {
	var out []string
	for _, v := range strings.Split(s, ",") {
		if v = strings.TrimSpace(v); v != "" {
			out = append(out, v)
		}
	}
	return out
}

// describeMachine says what the figures were measured on.
func describeMachine() machine {
	m := machine{
		date: time.Now().UTC().Format("2006-01-02"), goVersion: runtime.Version(), cores: runtime.NumCPU(),
		system: runtime.GOOS + "/" + runtime.GOARCH, cpu: "unknown CPU", python: "not installed", commit: "unknown",
	}
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for _, line := range strings.Split(string(text), "\n") {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				m.cpu = strings.TrimSpace(value)
				break
			}
		}
	}
	m.memory = meminfo("MemTotal")
	if text, err := exec.Command("python3", "--version").Output(); err == nil {
		m.python = strings.TrimPrefix(strings.TrimSpace(string(text)), "Python ")
	}
	if text, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output(); err == nil {
		m.commit = strings.TrimSpace(string(text))
		if dirty, err := exec.Command("git", "status", "--porcelain", "--untracked-files=no").Output(); err == nil &&
			len(dirty) > 0 {
			m.commit += " with local changes"
		}
	}
	return m
}
