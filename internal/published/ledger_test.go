package published

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// slowLedger is the obvious twin of sweep: it cuts time at every edge and asks
// each span of each slice about all others.
func slowLedger(spans []span) []overlapEntry {
	out := make([]overlapEntry, len(spans))
	var cuts []int64
	for i, s := range spans {
		out[i].hider = -1
		cuts = append(cuts, s.start, s.end)
	}
	slices.Sort(cuts)
	cuts = slices.Compact(cuts)
	for c := 0; c+1 < len(cuts); c++ {
		a, b := cuts[c], cuts[c+1]
		for i, s := range spans {
			if s.start > a || s.end < b {
				continue
			}
			hidden, byCompute := false, false
			for j, o := range spans {
				if o.stream == s.stream || o.start > a || o.end < b {
					continue
				}
				hidden = true
				byCompute = byCompute || o.bucket == BucketCompute
				if hiderLess(spans, out[i].hider, int32(j)) {
					out[i].hider = int32(j)
				}
			}
			if hidden {
				out[i].hidden += b - a
			}
			if byCompute {
				out[i].hiddenByCompute += b - a
			}
		}
	}
	return out
}

func randomSpans(r *rand.Rand, n, streams int, length int64) []span {
	spans := make([]span, n)
	for i := range spans {
		start := r.Int64N(int64(n) * 10)
		spans[i] = span{start: start, end: start + r.Int64N(length+1), stream: int32(r.IntN(streams)),
			bucket: Bucket(r.IntN(len(buckets)))}
	}
	return spans
}

func TestSweepEqualsSlowTwin(t *testing.T) {
	for seed := uint64(0); seed < 60; seed++ {
		r := rand.New(rand.NewPCG(seed, 4))
		spans := randomSpans(r, 1+r.IntN(70), 1+r.IntN(6), 1+r.Int64N(120))
		got, want := sweep(spans), slowLedger(spans)
		for i := range spans {
			if got[i] != want[i] {
				t.Fatalf("seed %d span %d %+v: sweep = %+v, slow twin = %+v", seed, i, spans[i], got[i], want[i])
			}
		}
	}
}

// TestLedgerAddsUp also holds where spans of one stream overlap, as kernels do
// under programmatic dependent launch.
func TestLedgerAddsUp(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	spans := randomSpans(r, 4000, 5, 300)
	for i, e := range sweep(spans) {
		dur := spans[i].end - spans[i].start
		if e.hidden < 0 || e.hidden > dur {
			t.Fatalf("span %d: hidden %d of %d", i, e.hidden, dur)
		}
		if e.hiddenByCompute < 0 || e.hiddenByCompute > e.hidden {
			t.Fatalf("span %d: hidden by compute %d of hidden %d", i, e.hiddenByCompute, e.hidden)
		}
		if (e.hider >= 0) != (e.hidden > 0) {
			t.Fatalf("span %d: hider %d but hidden %d", i, e.hider, e.hidden)
		}
		if e.hider >= 0 && spans[e.hider].stream == spans[i].stream {
			t.Fatalf("span %d is hidden by its own stream", i)
		}
	}
}

func TestSweepCases(t *testing.T) {
	tests := []struct {
		name   string
		spans  []span
		hidden []int64
	}{
		{"nothing", nil, nil},
		{"one stream that overlaps itself", []span{{0, 10, 0, BucketCompute}, {5, 15, 0, BucketCompute}},
			[]int64{0, 0}},
		{"touching spans do not overlap", []span{{0, 10, 0, BucketCompute}, {10, 20, 1, BucketCompute}}, []int64{0, 0}},
		{"half hidden", []span{{0, 10, 0, BucketCompute}, {5, 15, 1, BucketElementwise}}, []int64{5, 5}},
		{"no length", []span{{0, 10, 0, BucketCompute}, {5, 5, 1, BucketMemoryStrong}}, []int64{0, 0}},
		{"a pair under one of another stream", []span{{0, 10, 0, BucketCompute}, {2, 8, 0, BucketCompute},
			{4, 6, 1, BucketOther}}, []int64{2, 2, 2}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := sweep(tt.spans)
			for i, want := range tt.hidden {
				if got[i].hidden != want {
					t.Errorf("span %d: hidden = %d, want %d", i, got[i].hidden, want)
				}
			}
		})
	}
}

// BenchmarkSweep shows that cost grows as n log n even where all spans overlap.
func BenchmarkSweep(b *testing.B) {
	for _, n := range []int{10_000, 100_000, 1_000_000} {
		for _, length := range []int64{20, int64(n) * 10} {
			b.Run(fmt.Sprintf("spans=%d/length=%d", n, length), func(b *testing.B) {
				spans := randomSpans(rand.New(rand.NewPCG(1, 2)), n, 8, length)
				b.ReportAllocs()
				for b.Loop() {
					sweep(spans)
				}
			})
		}
	}
}
