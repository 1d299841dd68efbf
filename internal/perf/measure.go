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
	"slices"
	"strings"
	"time"

	"github.com/llmstrata/strata/internal/cost"
	"github.com/llmstrata/strata/internal/table"
)

// pythonLoad is the stdlib way to load a trace, and what it costs: the same
// line of JSON that loadtrace prints.
const pythonLoad = `
import gzip, json, sys, time
start = time.perf_counter_ns()
path = sys.argv[1]
with (gzip.open(path, 'rb') if path.endswith('.gz') else open(path, 'rb')) as f:
    doc = json.load(f)
took = time.perf_counter_ns() - start
peak = 0
try:
    with open('/proc/self/status') as f:
        for line in f:
            if line.startswith('VmHWM:'):
                peak = int(line.split()[1]) << 10
except OSError:
    pass
print(json.dumps({'events': len(doc['traceEvents']), 'load_ns': took, 'peak_rss': peak}))
`

// bench builds the programs and runs them.
type bench struct {
	dir       string
	runs      int
	log       io.Writer
	pythonMax int64
}

// whole are the example programs measured from start to end, where they exist,
// and the flags they get.
var whole = []struct {
	name  string
	flags []string
}{
	{"kernel-export", []string{"--num-layers", "36"}},
	{"layer-timeline", []string{"--num-layers", "36"}},
	{"triage", nil},
}

// build compiles everything that is run.
func (b *bench) build(ctx context.Context) error {
	packages := map[string]string{"tracegen": "./internal/gen/cmd/tracegen", "loadtrace": "./internal/perf/load"}
	for _, p := range whole {
		if _, err := os.Stat(filepath.Join("examples", p.name)); err == nil {
			packages[p.name] = "./examples/" + p.name
		}
	}
	for name, pkg := range packages {
		cmd := exec.CommandContext(ctx, "go", "build", "-o", filepath.Join(b.dir, name), pkg)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("building %s (run this in the module's root): %w\n%s", pkg, err, out)
		}
	}
	return nil
}

// everything is the contender whose count of events is the file's.
const everything = "strata, everything"

// contender is one program to measure on one file.
type contender struct {
	name string
	file string
	argv []string
	self bool // prints its own cost; otherwise it is timed from outside
}

// measure generates a trace of a size and runs every contender on it in turns.
func (b *bench) measure(ctx context.Context, size string) (fileResult, error) {
	plain, packed := filepath.Join(b.dir, "trace.json"), filepath.Join(b.dir, "trace.json.gz")
	for _, f := range []string{plain, packed} {
		fmt.Fprintf(b.log, "%s: writing %s\n", size, filepath.Base(f))
		if out, err := exec.CommandContext(ctx, filepath.Join(b.dir, "tracegen"), "-size", size, "-o", f).CombinedOutput(); err != nil {
			return fileResult{}, fmt.Errorf("tracegen -size %s: %w\n%s", size, err, out)
		}
		defer os.Remove(f)
	}
	r := fileResult{size: size}
	for _, f := range []struct {
		path string
		n    *int64
	}{{plain, &r.plainBytes}, {packed, &r.packedBytes}} {
		info, err := os.Stat(f.path)
		if err != nil {
			return r, err
		}
		*f.n = info.Size()
	}
	load := filepath.Join(b.dir, "loadtrace")
	list := []contender{
		{"decompress only (klauspost gzip)", "gz", []string{load, "-gunzip", packed}, true},
		{everything, "gz", []string{load, packed}, true},
		{"strata, GPU activities and launches", "gz", []string{load, "-lanes", "gpu", packed}, true},
		{everything, "plain", []string{load, plain}, true},
		{"strata, GPU activities and launches", "plain", []string{load, "-lanes", "gpu", plain}, true},
	}
	for _, p := range whole {
		if _, err := os.Stat(filepath.Join(b.dir, p.name)); err == nil {
			argv := append([]string{filepath.Join(b.dir, p.name), "--trace", packed, "--output", os.DevNull}, p.flags...)
			list = append(list, contender{p.name + ", whole program", "gz", argv, false})
		}
	}
	if r.noPython = b.noPython(r.plainBytes, availableMemory()); r.noPython == "" {
		list = append(list,
			contender{"Python json.load", "gz", []string{"python3", "-c", pythonLoad, packed}, true},
			contender{"Python json.load", "plain", []string{"python3", "-c", pythonLoad, plain}, true})
	}
	// Once for nothing: files come into the cache, and memory to the machine.
	if _, err := b.once(ctx, list[1]); err != nil {
		return r, err
	}
	err := b.turns(ctx, list, &r)
	return r, err
}

// pythonFactor is how many bytes of memory json.load needs for each byte of
// JSON, rounded up: 5.6 were measured on a trace with Python stacks.
const pythonFactor = 6

// noPython says why Python is not given a file of that size, "" if it is.
func (b *bench) noPython(size, available int64) string {
	if _, err := exec.LookPath("python3"); err != nil {
		return "there is none on this machine"
	}
	switch need := pythonFactor * size; {
	case size > b.pythonMax:
		return "the file is larger than asked for (-python-max)"
	case available > 0 && need > available:
		return fmt.Sprintf("it would need some %s of memory, and %s are free", table.Bytes(need), table.Bytes(available))
	}
	return ""
}

// turns runs every contender once, then every one again, and so on, and adds
// the medians to r.
func (b *bench) turns(ctx context.Context, list []contender, r *fileResult) error {
	samples := make([][]sample, len(list))
	for run := range b.runs {
		for i, c := range list {
			s, err := b.once(ctx, c)
			if err != nil {
				if c.self {
					return err
				}
				fmt.Fprintf(b.log, "%s: %s: left out: %v\n", r.size, c.name, err)
				continue
			}
			fmt.Fprintf(b.log, "%s: run %d: %s, %s: %v\n", r.size, run+1, c.name, c.file, s.took.Round(time.Millisecond))
			samples[i] = append(samples[i], s)
		}
	}
	for i, c := range list {
		if len(samples[i]) == 0 {
			continue
		}
		m := median(samples[i])
		if c.name == everything {
			r.events = m.events
		}
		r.rows = append(r.rows, row{name: c.name, file: c.file, took: m.took, peak: m.peak})
	}
	return nil
}

// sample is what one run cost.
type sample struct {
	events int64
	took   time.Duration
	peak   int64
}

// once runs a contender.
func (b *bench) once(ctx context.Context, c contender) (sample, error) {
	cmd := exec.CommandContext(ctx, c.argv[0], c.argv[1:]...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	start := time.Now()
	if err := cmd.Run(); err != nil {
		return sample{}, fmt.Errorf("%s: %w: %s", c.name, err, strings.TrimSpace(stderr.String()))
	}
	s := sample{took: time.Since(start), peak: cost.PeakOf(cmd.ProcessState)}
	if !c.self {
		return s, nil
	}
	var own struct {
		Events  int64 `json:"events"`
		LoadNS  int64 `json:"load_ns"`
		PeakRSS int64 `json:"peak_rss"`
	}
	if err := json.Unmarshal(stdout.Bytes(), &own); err != nil {
		return sample{}, fmt.Errorf("%s: %w", c.name, err)
	}
	s.events, s.took = own.Events, time.Duration(own.LoadNS)
	if own.PeakRSS > 0 {
		s.peak = own.PeakRSS
	}
	return s, nil
}

// median takes the middle of each figure.
func median(list []sample) sample {
	middle := func(value func(sample) int64) int64 {
		v := make([]int64, len(list))
		for i, s := range list {
			v[i] = value(s)
		}
		slices.Sort(v)
		if n := len(v); n%2 == 0 {
			return (v[n/2-1] + v[n/2]) / 2
		}
		return v[len(v)/2]
	}
	return sample{
		events: middle(func(s sample) int64 { return s.events }),
		took:   time.Duration(middle(func(s sample) int64 { return int64(s.took) })),
		peak:   middle(func(s sample) int64 { return s.peak }),
	}
}
