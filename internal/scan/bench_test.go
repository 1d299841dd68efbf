package scan_test

import (
	"bytes"
	"context"
	"io"
	"testing"

	"github.com/llmstrata/strata/internal/gen"
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

// benchInput returns a generated trace with Python stacks.
func benchInput(tb testing.TB, size int64) []byte {
	cfg := gen.Large(36, 80, false)
	cfg.Size = size
	var buf bytes.Buffer
	if err := gen.Write(&buf, cfg); err != nil {
		tb.Fatal(err)
	}
	return buf.Bytes()
}

// TestGeneratedTraceIsReadWithoutLoss runs what the benchmark runs, once.
func TestGeneratedTraceIsReadWithoutLoss(t *testing.T) {
	data := benchInput(t, 2e6)
	var k countSink
	res, err := scan.Parallel(context.Background(), bytes.NewReader(data), scan.Config{Workers: 2, Segment: 10_000}, &k)
	want := pull(bytes.NewReader(data), scan.Config{})
	if err != nil || len(res.Losses.First) != 0 || k.n != int64(len(want.Events)) || k.n < 4000 {
		t.Errorf("%d events, want %d; losses %v, error %v", k.n, len(want.Events), res.Losses.First, err)
	}
}

func BenchmarkScan(b *testing.B) {
	data := benchInput(b, 20e6)
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
				if _, err := scan.Parallel(context.Background(), bytes.NewReader(data), scan.Config{Workers: w},
					&k); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(k.n), "ns/event")
		})
	}
}
