package roofline_test

import (
	"testing"

	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer/roofline"
)

// TestOpsAreCountedOnce: a counter that is asked for a device again has the same ops, an analysis that is given it says
// what one that counts by itself says, and a GPU that is not in the table is an error.
func TestOpsAreCountedOnce(t *testing.T) {
	_, a, flop, bytes := counted(t, testdata.Shared(t, "traces/torch/hf-bert-small-eager-h100.json.gz"))
	d, err := a.Device(nil)
	if err != nil {
		t.Fatal(err)
	}
	o := roofline.Options{Kernels: true}
	o.Counter = &roofline.Counter{Options: o}
	first, err := o.Counter.Ops(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	r, err := roofline.Analyze(t.Context(), a, o)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := o.Counter.Ops(t.Context(), d); err != nil || again != first {
		t.Errorf("the ops are counted again, error %v", err)
	}
	for k := range d.Kernels() {
		c, _ := r.Cost(k)
		flop -= 1e9 * c.GFLOP
		bytes -= float64(c.Bytes)
	}
	if flop != 0 || bytes != 0 {
		t.Errorf("%v FLOP and %v bytes differ from an analysis of its own", flop, bytes)
	}
	wrong := roofline.Counter{Options: roofline.Options{Device: "none"}}
	if _, err := wrong.Ops(t.Context(), d); err == nil {
		t.Error("ops are counted for a GPU that is not in the table")
	}
}
