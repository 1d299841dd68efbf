package scan_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"testing"

	"github.com/llmstrata/strata/internal/scan"
)

type countShard struct{ n, ns int64 }

func (s *countShard) Event(ev *scan.Event) { s.n++; s.ns += ev.Dur }

type countSink struct{ n int64 }

func (k *countSink) NewShard(int) scan.Shard { return new(countShard) }
func (k *countSink) Commit(s scan.Shard) error {
	c := s.(*countShard)
	k.n += c.n
	*c = countShard{}
	return nil
}
func (k *countSink) Discard(s scan.Shard) { *s.(*countShard) = countShard{} }

// benchInput returns the file named in STRATA_BENCH_TRACE, or the demo events repeated.
func benchInput(tb testing.TB) []byte {
	if path := os.Getenv("STRATA_BENCH_TRACE"); path != "" {
		return load(tb, path)
	}
	data := load(tb, torchFiles(tb)[0])
	return data
}

func BenchmarkScan(b *testing.B) {
	data := benchInput(b)
	b.Run("mode=pull", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		var n int64
		for b.Loop() {
			s := scan.NewScanner(bytes.NewReader(data), scan.Config{})
			for n = 0; ; n++ {
				if _, err := s.Next(); err != nil {
					if err != io.EOF {
						b.Fatal(err)
					}
					break
				}
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/event")
	})
	for _, w := range []int{1, 2} {
		b.Run("mode=parallel/workers="+string(rune('0'+w)), func(b *testing.B) {
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			var k countSink
			for b.Loop() {
				k.n = 0
				if _, err := scan.Parallel(context.Background(), bytes.NewReader(data), scan.Config{Workers: w}, &k); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(k.n), "ns/event")
		})
	}
}
