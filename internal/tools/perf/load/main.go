// Load loads one trace, torch-profiler JSON or an nsys .sqlite export, and
// says what that cost, for the measurements of perf: one line of JSON
// with the number of events, the nanoseconds of the load alone and the peak
// resident memory of the process.
//
//	load -lanes all|gpu FILE          load it
//	load -inflight N FILE FILE...     load them all, N at a time, and drop each
//	load -gunzip FILE                 only decompress it, the lower bound
package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"
	"golang.org/x/sync/errgroup"

	"github.com/llmstrata/strata"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// cost is what is printed.
type cost struct {
	Events  int64 `json:"events"`
	Stored  int   `json:"stored"`
	LoadNS  int64 `json:"load_ns"`
	PeakRSS int64 `json:"peak_rss"` // bytes, 0 where the system does not report it
}

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

// run measures one load.
func run(ctx context.Context, args []string, stdout io.Writer) error {
	fs := flag.NewFlagSet("load", flag.ContinueOnError)
	lanes := fs.String("lanes", "all", "`LANES` to keep: all, or gpu for activities and launches")
	gunzip := fs.Bool("gunzip", false, "decompress only")
	inFlight := fs.Int("inflight", 0, "load several files, this `NUMBER` at a time; 0: as many as there are processors")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() == 0 || fs.NArg() > 1 && *gunzip {
		return errors.New("want a file")
	}
	var c cost
	start := time.Now()
	switch {
	case fs.NArg() > 1:
		if err := c.ranks(ctx, fs.Args(), cmp.Or(*inFlight, runtime.GOMAXPROCS(0))); err != nil {
			return err
		}
	case *gunzip:
		n, err := decompress(fs.Arg(0))
		if err != nil {
			return err
		}
		c.Events = n
	default:
		t, err := load(ctx, fs.Arg(0), *lanes == "gpu")
		if err != nil {
			return err
		}
		c.add(t)
	}
	c.LoadNS = time.Since(start).Nanoseconds()
	c.PeakRSS = peakRSS()
	return json.NewEncoder(stdout).Encode(c)
}

// ranks loads files, so many at a time, and drops each.
func (c *cost) ranks(ctx context.Context, paths []string, inFlight int) error {
	var count sync.Mutex
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(inFlight)
	for _, path := range paths {
		g.Go(func() error {
			t, err := trace.Open(ctx, path, trace.Options{Concurrency: max(1, runtime.GOMAXPROCS(0)/inFlight)})
			if err != nil {
				return err
			}
			count.Lock()
			defer count.Unlock()
			c.add(t)
			return nil
		})
	}
	return g.Wait()
}

// add counts the events of a trace.
func (c *cost) add(t *trace.Trace) {
	c.Stored += t.Len()
	for _, categories := range t.Meta().Counts {
		for _, n := range categories {
			c.Events += n
		}
	}
}

// load reads a trace.
func load(ctx context.Context, path string, gpuOnly bool) (*trace.Trace, error) {
	o := trace.Options{Formats: strata.Formats()}
	if gpuOnly {
		o.Lanes = []event.Lane{event.LaneGPU, event.LaneLaunch}
	}
	return trace.Open(ctx, path, o)
}

// decompress reads a gzip file to its end and returns how many bytes it holds.
func decompress(path string) (int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	z, err := gzip.NewReader(bufio.NewReaderSize(f, 1<<20))
	if err != nil {
		return 0, err
	}
	return io.CopyBuffer(io.Discard, struct{ io.Reader }{z}, make([]byte, 1<<20))
}

// peakRSS reads the process's own high-water mark. The figure in its parent's
// rusage would include the parent's memory at the time of the fork.
func peakRSS() int64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for _, line := range strings.Split(string(text), "\n") {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err == nil {
				return kb << 10
			}
		}
	}
	return 0
}
