package pftrace_test

import (
	"bytes"
	"context"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/pftrace"
)

// BenchmarkLarge reads traces as JSON and in all forms, uncompressed, in turns, and compares each with the JSON of
// its turn: how many times the events per second of JSON, by the time that passed, and by processor time, which other
// work on the machine makes longer by less. The median of the turns counts. Two traces, small ones without
// STRATA_LONG: the largest reference trace, 219,000 events, every other one with args, and a generated one
// with Python stacks, nine of ten events being frames; the copy is what pftrace.Write makes of it.
func BenchmarkLarge(b *testing.B) {
	b.Run("trace=reference", func(b *testing.B) {
		if !testdata.Long() {
			compare(b, document(b))
			return
		}
		packed, err := os.ReadFile(testdata.Shared(b, "traces/torch/xdit-flux1-mi300.json.gz"))
		if err != nil {
			b.Fatal(err)
		}
		compare(b, testdata.Unpacked(b, packed))
	})
	b.Run("trace=stacks", func(b *testing.B) {
		cfg := gen.Large(36, 80, false)
		if cfg.Size = 20e6; !testdata.Long() {
			cfg.Size = 1e6
		}
		var doc bytes.Buffer
		if err := gen.Write(&doc, cfg); err != nil {
			b.Fatal(err)
		}
		compare(b, doc.Bytes())
	})
}

// source is a trace in one form.
type source struct {
	name            string
	data            []byte
	o               trace.Options
	wall, cpu, rate []float64
}

// compare is the body of BenchmarkLarge.
func compare(b *testing.B, doc []byte) {
	native := trace.Options{Formats: []trace.Format{pftrace.Format()}}
	sources := []*source{{name: "json", data: doc}}
	for _, form := range forms {
		sources = append(sources, &source{name: form.String(), data: bytes.Join(encode(b, doc, form), nil), o: native})
	}
	tr, err := trace.Read(context.Background(), bytes.NewReader(doc), trace.Options{})
	if err != nil {
		b.Fatal(err)
	}
	var written bytes.Buffer
	if _, err := pftrace.Write(context.Background(), &written, tr, pftrace.WriteOptions{}); err != nil {
		b.Fatal(err)
	}
	sources = append(sources, &source{name: "copy", data: written.Bytes(), o: native})
	for b.Loop() {
		var wall, cpu time.Duration // of JSON
		for i, s := range sources {
			runtime.GC()
			start, used := time.Now(), testdata.CPU()
			tr, err := trace.Read(context.Background(), bytes.NewReader(s.data), s.o)
			took, used := time.Since(start), testdata.CPU()-used
			if err != nil {
				b.Fatal(err)
			}
			if i == 0 {
				wall, cpu = took, used
			}
			s.wall = append(s.wall, wall.Seconds()/took.Seconds())
			s.cpu = append(s.cpu, cpu.Seconds()/used.Seconds())
			s.rate = append(s.rate, float64(tr.Len())/took.Seconds()/1e6)
		}
	}
	for _, s := range sources {
		b.ReportMetric(median(s.rate), s.name+"-Mevents/s")
		b.ReportMetric(median(s.wall), s.name+"-times-json")
		b.ReportMetric(median(s.cpu), s.name+"-times-json-cpu")
	}
}

func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}
