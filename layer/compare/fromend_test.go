package compare_test

import (
	"testing"
	"time"

	"github.com/llmstrata/strata/internal/gen/families"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/compare"
	"github.com/llmstrata/strata/trace"
)

// cutPass is one decode pass from a layer on: each kernel takes a microsecond, those of the slow layer three.
func cutPass(t *testing.T, from, slow int) *compare.Side {
	t.Helper()
	const us = int64(time.Microsecond)
	o := uncoupled(t)
	b := trace.NewBuilder()
	at := 10 * us
	run := func(names []string, d int64) {
		for _, n := range names {
			b.Add(trace.EventData{Kind: trace.KindKernel, Name: n, Start: at, Duration: d, Stream: 7})
			at += d
		}
	}
	if from == 0 {
		run(o.Prologue, us)
	}
	for l := from; l < len(o.Layers); l++ {
		names, d := o.Layers[l], us
		if l == from && from > 0 {
			names = names[2:] // the window cuts it
		}
		if l == slow {
			d = 3 * us
		}
		run(names, d)
	}
	run(o.Epilogue, us)
	a, err := layer.Analyze(t.Context(), b.Finish(), layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := compare.Measure(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	return &compare.Side{Label: "x", Runs: []compare.Run{*r}}
}

// uncoupled is a model without collectives, whose waiting is booked elsewhere.
func uncoupled(t *testing.T) families.Order {
	t.Helper()
	for _, f := range families.All() {
		if f.Name == "Qwen3-32B, SGLang" {
			return f.Decode
		}
	}
	t.Fatal("the family is gone")
	return families.Order{}
}

// TestCutPassesFromTheEnd: of a pass whose first layers the window does not hold the last ones correspond, however many there are; of
// whole passes the first ones do.
func TestCutPassesFromTheEnd(t *testing.T) {
	n := len(uncoupled(t).Layers)
	for _, c := range []struct {
		name         string
		fromA, fromB int
		first, slow  int // numbers in the report
	}{
		{"both cut", n / 2, n/2 + 7, -n / 2, -3},
		{"one cut", 0, n / 2, -n, -3},
		{"both whole", 0, 0, 0, n - 3},
	} {
		r, err := compare.Compare(t.Context(), cutPass(t, c.fromA, -1), cutPass(t, c.fromB, n-3), compare.Options{PassA: new(int), PassB: new(int)})
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if len(r.Layers) == 0 || r.Layers[0].Layer != c.first {
			t.Errorf("%s: %d layers, the first is %+v, want %d", c.name, len(r.Layers), r.Layers, c.first)
			continue
		}
		for _, l := range r.Layers {
			want := l.A
			if l.Layer == c.slow {
				want *= 3
			}
			if both := l.A > 0 && l.B > 0; both && l.Layer != c.fromA-n && l.Layer != c.fromB-n && l.B != want {
				t.Errorf("%s: layer %d takes %v and %v, want %v", c.name, l.Layer, l.A, l.B, want)
			}
		}
	}
}
