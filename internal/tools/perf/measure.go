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

// whole are the commands measured from start to end, with what they are given:
// GZ is replaced by the trace, OUT by a file that is thrown away. The config is that
// of the generated model.
var whole = []struct{ name, args string }{
	{"strata report", "report GZ --config " + modelConfig},
	{"strata layers", "layers GZ --num-layers 36"},
	{"strata breakdown", "breakdown GZ --num-layers 36 --layer 3"},
	{"strata light", "light GZ --config " + modelConfig},
	{"strata triage", "triage GZ"},
	{"strata host", "host GZ"},
	{"strata compare", "compare --a GZ --b GZ"},
	{"strata host-compare", "host-compare --baseline GZ --target GZ"},
	{"strata export", "export GZ --num-layers 36"},
	{"strata perfetto --annotate", "perfetto GZ --annotate OUT.json.gz"},
}

// modelConfig says how large the generated model is.
const modelConfig = "testdata/configs/qwen3-8b.json"

// build compiles everything that is run.
func (b *bench) build(ctx context.Context) error {
	packages := map[string][2]string{"tracegen": {"internal/tools", "./tracegen"},
		"loadtrace": {"internal/tools", "./perf/load"}, "strata": {".", "./examples/strata"}}
	for name, at := range packages {
		dir, pkg := at[0], at[1]
		cmd := exec.CommandContext(ctx, "go", "build", "-o", filepath.Join(b.dir, name), pkg)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("building %s: %w\n%s", pkg, err, out)
		}
	}
	return nil
}

const (
	// everything is the contender whose count of events is the file's.
	everything     = "strata, everything"
	decompressOnly = "decompress only (klauspost gzip)"
)

// contender is one program to measure on one file.
type contender struct {
	name string
	file string
	argv []string
	self bool // prints its own cost; otherwise it is timed from outside
}

// measure generates a trace of a size and runs every contender on it in turns; of
// one that is only to be loaded, only those that load.
func (b *bench) measure(ctx context.Context, size string, loadOnly bool) (fileResult, error) {
	r := fileResult{size: size, loadOnly: loadOnly}
	files := []string{b.file("trace.json"), b.file("trace.json.gz"), b.file("trace.json.zst"), b.file("trace.pftrace")}
	plain, packed := files[0], files[1]
	for _, f := range files {
		defer os.Remove(f)
		if err := b.write(ctx, size, f, packed); err != nil {
			return r, err
		}
	}
	for i, n := range []*int64{&r.plainBytes, &r.packedBytes} {
		info, err := os.Stat(files[i])
		if err != nil {
			return r, err
		}
		*n = info.Size()
	}
	list := b.loads(files)
	if loadOnly {
		r.noPython = "this file is only loaded"
	} else {
		list = append(list, b.programs(packed)...)
		r.noPython = b.noPython(r.plainBytes, availableMemory())
	}
	if r.noPython == "" {
		list = append(list,
			contender{pythonLoads, "gz", []string{"python3", "-c", pythonLoad, packed}, true},
			contender{pythonLoads, "plain", []string{"python3", "-c", pythonLoad, plain}, true})
	}
	// Once for nothing: files come into the cache, and memory to the machine.
	if _, err := b.once(ctx, list[1]); err != nil {
		return r, err
	}
	err := b.turns(ctx, list, &r)
	return r, err
}

func (b *bench) file(name string) string { return filepath.Join(b.dir, name) }

// write writes the generated trace in the form of the name; Perfetto's
// own form is made of the compressed one.
func (b *bench) write(ctx context.Context, size, path, packed string) error {
	fmt.Fprintf(b.log, "%s: writing %s\n", size, filepath.Base(path))
	argv := []string{b.file("tracegen"), "-size", size, "-o", path}
	if strings.HasSuffix(path, ".pftrace") {
		argv = []string{b.file("strata"), "perfetto", packed, "--annotate", path, "--memory-limit", "0"}
	}
	if out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, out)
	}
	return nil
}

// loads are the contenders that only load a file.
func (b *bench) loads(files []string) []contender {
	load := b.file("loadtrace")
	list := []contender{{decompressOnly, "gz", []string{load, "-gunzip", files[1]}, true}}
	for i, form := range []string{"plain", "gz", "zst", "pftrace"} {
		list = append(list,
			contender{everything, form, []string{load, files[i]}, true},
			contender{"strata, GPU activities and launches", form, []string{load, "-lanes", "gpu", files[i]}, true})
	}
	return list
}

// programs are the contenders that are timed from start to exit.
func (b *bench) programs(packed string) []contender {
	var list []contender
	for _, p := range whole {
		argv := []string{b.file("strata")}
		for _, a := range strings.Fields(p.args) {
			a = strings.Replace(a, "GZ", packed, 1)
			argv = append(argv, strings.Replace(a, "OUT", b.file("out"), 1))
		}
		list = append(list, contender{p.name + wholeProgram, "gz", append(argv, "--output", os.DevNull), false})
	}
	return list
}

// wholeProgram is after the name of what was timed from start to exit.
const wholeProgram = ", whole program"

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
		return fmt.Sprintf("it would need some %s of memory, and %s are free", table.Bytes(need),
			table.Bytes(available))
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
			fmt.Fprintf(b.log, "%s: run %d: %s, %s: %v\n", r.size, run+1, c.name, c.file,
				s.took.Round(time.Millisecond))
			samples[i] = append(samples[i], s)
		}
	}
	for i, c := range list {
		if len(samples[i]) == 0 {
			continue
		}
		m := median(samples[i])
		if c.name == everything && (r.events == 0 || c.file != "pftrace") { // the copy has tracks of its own
			r.events = m.events
		}
		r.rows = append(r.rows, row{name: c.name, file: c.file, took: m.took, spread: spread(samples[i], m.took),
			peak: m.peak})
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
	s := sample{took: time.Since(start), peak: peakOf(cmd.ProcessState)}
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

// spread is how far the slowest and the fastest run lie apart, as a share of their median.
func spread(list []sample, median time.Duration) float64 {
	least, most := list[0].took, list[0].took
	for _, s := range list {
		least, most = min(least, s.took), max(most, s.took)
	}
	return (most - least).Seconds() / median.Seconds()
}
