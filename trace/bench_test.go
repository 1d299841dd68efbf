package trace_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"flag"
	"fmt"
	"io"
	"iter"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// Speed and memory at up to 1 GB, against json.load: go run -C internal/tools ./perf.
var (
	benchSize = flag.Int64("benchsize", 20e6, "bytes of the generated trace that the benchmarks read")
	benchFile = flag.String("trace", "", "let the benchmarks read this uncompressed trace instead")
)

// benchTrace returns a generated trace with Python stacks, nine tenths frames.
func benchTrace(tb testing.TB, size int64) []byte {
	if *benchFile != "" {
		b, err := os.ReadFile(*benchFile)
		if err != nil {
			tb.Fatal(err)
		}
		return b
	}
	cfg := gen.Large(36, 80, false)
	cfg.Size = size
	var buf bytes.Buffer
	if err := gen.Write(&buf, cfg); err != nil {
		tb.Fatal(err)
	}
	return buf.Bytes()
}

// load is the body of BenchmarkRead and of the test of the same name.
func load(tb testing.TB, data []byte, o trace.Options) int64 {
	tr, err := trace.Read(context.Background(), bytes.NewReader(data), o)
	if err != nil {
		tb.Fatal(err)
	}
	var n int64
	for _, categories := range tr.Meta().Counts {
		for _, k := range categories {
			n += k
		}
	}
	if n == 0 || tr.Len(event.LaneGPU) == 0 {
		tb.Fatal("nothing was loaded")
	}
	return n
}

var benchLoads = []struct {
	name string
	opts trace.Options
}{
	{"store=all", trace.Options{}},
	{"store=nopython", trace.Options{Lanes: allLanesBut(event.LanePython)}},
	{"store=gpu", trace.Options{Lanes: []event.Lane{event.LaneGPU, event.LaneLaunch}}},
}

func gzipped(tb testing.TB, data []byte) []byte {
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	if _, err := w.Write(data); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return z.Bytes()
}

// TestBenchmarkBodies runs what the benchmarks run, once, on little input.
func TestBenchmarkBodies(t *testing.T) {
	data := benchTrace(t, 1e6)
	want := load(t, data, trace.Options{})
	for _, in := range [][]byte{data, gzipped(t, data)} {
		for _, l := range benchLoads {
			if got := load(t, in, l.opts); got != want {
				t.Errorf("%s: %d events, want %d", l.name, got, want)
			}
		}
		if got := pull(t, in); got != want {
			t.Errorf("Reader: %d events, want %d", got, want)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	data := benchTrace(b, *benchSize)
	packed := sync.OnceValue(func() []byte { return gzipped(b, data) }) // slow, and not always asked for
	for gz := range 2 {
		for _, l := range benchLoads {
			for _, procs := range []int{1, 2} {
				b.Run(fmt.Sprintf("gz=%v/%s/workers=%d", gz == 1, l.name, procs), func(b *testing.B) {
					in := data
					if gz == 1 {
						in = packed()
					}
					b.SetBytes(int64(len(data)))
					b.ReportAllocs()
					var n int64
					for b.Loop() {
						o := l.opts
						o.Concurrency = procs
						n = load(b, in, o)
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/event")
				})
			}
		}
	}
}

func pull(tb testing.TB, data []byte) (n int64) {
	r := trace.Reader{Input: bytes.NewReader(data)}
	for _, err := range r.Records(tb.Context()) {
		if err != nil {
			tb.Fatal(err)
		}
		n++
	}
	return n
}

func BenchmarkReader(b *testing.B) {
	data := benchTrace(b, *benchSize)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	var n int64
	for b.Loop() {
		n = pull(b, data)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/event")
}

// repeated reads a text so many times.
type repeated struct {
	text []byte
	at   int
	left int64
}

func (r *repeated) Read(p []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.text[r.at:])
	if r.at += n; r.at == len(r.text) {
		r.at, r.left = 0, r.left-1
	}
	return n, nil
}

// BenchmarkReaderMemory reads 1 and 4 GB of events that are made while they are read: the heap is the same.
func BenchmarkReaderMemory(b *testing.B) {
	data := benchTrace(b, 10e6)
	head, rest, ok := bytes.Cut(data, []byte(`"traceEvents": [`))
	end := bytes.LastIndexByte(rest, ']')
	if !ok || end < 0 {
		b.Fatal("the generated trace has no list of events")
	}
	head, events := append(head, `"traceEvents": [`...), append(rest[:end:end], ',')
	for _, size := range []int64{1e9, 4e9} {
		b.Run(fmt.Sprintf("%dGB", size/1e9), func(b *testing.B) {
			b.SetBytes(size)
			var most uint64
			for b.Loop() {
				r := trace.Reader{Input: io.MultiReader(bytes.NewReader(head),
					&repeated{text: events, left: size / int64(len(events))}, strings.NewReader("{}]}"))}
				n := 0
				for _, err := range r.Records(b.Context()) {
					if err != nil {
						b.Fatal(err)
					}
					if n++; n%1e6 == 0 {
						var m runtime.MemStats
						runtime.ReadMemStats(&m)
						most = max(most, m.HeapInuse)
					}
				}
			}
			if b.ReportMetric(float64(most)/1e6, "MB-heap"); most > 100e6 {
				b.Errorf("the heap grows to %d MB", most/1e6)
			}
		})
	}
}

// TestReaderAllocatesNothingForKnownNames: an event whose texts were seen
// lately costs no allocation.
func TestReaderAllocatesNothingForKnownNames(t *testing.T) {
	var doc bytes.Buffer
	doc.WriteString(`{"traceEvents": [`)
	for i := range 5000 {
		fmt.Fprintf(&doc, "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::op%d\", \"pid\": 1, \"tid\": 1, \"ts\": %d, \"dur\": 1},\n", i%10, i)
	}
	pull, stop := iter.Pull2((&trace.Reader{Input: &doc}).Records(t.Context()))
	defer stop()
	next := func() {
		if _, err, ok := pull(); err != nil || !ok {
			t.Fatal(err, ok)
		}
	}
	for range 100 {
		next()
	}
	if n := testing.AllocsPerRun(3000, next); n != 0 {
		t.Errorf("%v allocations an event, want 0", n)
	}
}
