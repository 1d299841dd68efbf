package hosttest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/internal/gen/nsysgen"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/trace/nsys"
)

// Open reads an export.
func Open(tb testing.TB, path string) *trace.Trace {
	tb.Helper()
	t, err := trace.Open(tb.Context(), path, trace.Options{Formats: nsys.Formats()})
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

// Generate writes an export and reads it. Many tests compare with the same run, so it is made once in a process.
func Generate(tb testing.TB, cfg nsysgen.Config) *trace.Trace {
	tb.Helper()
	return Passes(cfg).Trace()
}

var (
	runsLock sync.Mutex
	runs     = map[string]*layer.Analysis{} // by their configuration
)

// Passes is the analysis of a generated run, made once in a process; a program of
// your own has it of trace.Open, and layer.Analyze.
func Passes(cfg nsysgen.Config) *layer.Analysis {
	runsLock.Lock()
	defer runsLock.Unlock()
	key := fmt.Sprintf("%+v", cfg)
	if runs[key] == nil {
		runs[key] = generate(cfg)
	}
	return runs[key]
}

func generate(cfg nsysgen.Config) *layer.Analysis {
	dir, err := os.MkdirTemp("", "host")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "run.sqlite")
	if _, err := nsysgen.Write(path, cfg); err != nil {
		panic(err)
	}
	t, err := trace.Open(context.Background(), path, trace.Options{Formats: nsys.Formats()})
	if err != nil {
		panic(err)
	}
	a, err := layer.Analyze(context.Background(), t, layer.Options{})
	if err != nil {
		panic(err)
	}
	return a
}

// Timeline builds a trace of kernels, launches and ranges by hand; times in µs.
type Timeline struct{ *trace.Builder }

// NewTimeline returns an empty one.
func NewTimeline() Timeline { return Timeline{trace.NewBuilder(trace.Options{})} }

// Finish returns the trace.
func (t Timeline) Finish() *trace.Trace { return built.Trace(t.Builder) }

// Event adds one event of thread 1, or stream 7, of a process for each device.
func (t Timeline) Event(kind event.Kind, name string, device trace.DeviceID, corr int, start, end int64) {
	t.Add(trace.EventData{
		Kind: kind, Name: name, Start: start * 1000, Duration: (end - start) * 1000, Device: device, Stream: 7,
		Process: 1 + int64(device), Scope: string(rune('a' + device)), Thread: 1, Correlation: uint64(corr),
	})
}
