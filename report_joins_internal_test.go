package strata

import (
	"math"
	"testing"

	"github.com/llmstrata/strata/internal/gen/nsysgen"
	"github.com/llmstrata/strata/internal/hosttest"
	"github.com/llmstrata/strata/layer/roofline"
	"github.com/llmstrata/strata/trace"
)

// TestFloorsHaveTheirRows: what passes and operators have to take goes to the rows of the report that are about them.
// One of a pass or an operator that the report lacks is an error.
func TestFloorsHaveTheirRows(t *testing.T) {
	p := &reportPart{name: "x"}
	r := &Report{parts: []*reportPart{p}, Passes: []ReportPass{{Index: 3}, {Index: 4}}}
	if err := r.addFloors(p, []roofline.Pass{{Index: 4, Floor: 7, Covered: 0.5}}); err != nil ||
		r.Passes[1].Floor != 7 || r.Passes[1].Covered != 0.5 || r.Passes[0].Floor != 0 || r.Passes[0].Covered != 0 {
		t.Errorf("%+v, %v", r.Passes, err)
	}
	if err := r.addFloors(p, []roofline.Pass{{Index: 5, Floor: 7}}); err == nil {
		t.Error("the floor of a pass that the report lacks is dropped")
	}
	r.light = &roofline.Report{Operators: []roofline.Row{{LayerType: "layers", Operator: "o_proj",
		Cost: roofline.Cost{Floor: 5}}}}
	rows := []ReportOperator{{LayerType: "layers", Operator: "rope"}, {LayerType: "layers", Operator: "o_proj"}}
	if err := r.addCosts(rows); err != nil || rows[1].Floor != 5 || rows[0].Floor != 0 {
		t.Errorf("%+v, %v", rows, err)
	}
	for _, other := range []ReportOperator{{LayerType: "layers", Operator: "down_proj"},
		{LayerType: "outside layers", Operator: "o_proj"}} {
		if err := r.addCosts([]ReportOperator{other}); err == nil {
			t.Errorf("the cost of an operator that the report lacks is dropped: it has %+v", other)
		}
	}
	r.light.Operators[0].LayerType = roofline.AllLayers // copies, which have a row of their own
	if err := r.addCosts(rows[:1]); err != nil {
		t.Error(err)
	}
}

// TestReportOfOneGPU: a GPU that is asked for is what all figures are of, also those of the floors and of exposed time.
func TestReportOfOneGPU(t *testing.T) {
	a := hosttest.Passes(nsysgen.Default(1))
	if len(a.Devices) != 2 {
		t.Fatalf("%d GPUs", len(a.Devices))
	}
	for i := range a.Devices {
		d := &a.Devices[i]
		r, err := Analyze(t.Context(), &Recording{Parts: []Part{{Trace: a.Trace()}}}, ReportOptions{Device: &d.ID})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.light.Passes) != len(d.Passes) || len(r.Exposure) == 0 {
			t.Fatalf("GPU %d: %d of %d passes, %d categories", d.ID, len(r.light.Passes), len(d.Passes), len(r.Exposure))
		}
		for k, p := range r.light.Passes {
			fp, next := &d.Passes[k], trace.Time(math.MaxInt64)
			if k+1 < len(d.Passes) {
				next = d.Passes[k+1].Start
			}
			if p.Wall < fp.Wall() || int64(p.Wall) > int64(next-fp.Start) {
				t.Errorf("GPU %d, pass %d takes %v, its floor is of one of %v", d.ID, k, fp.Wall(), p.Wall)
			}
		}
		for _, e := range r.Exposure {
			if e.GPUs > 1 {
				t.Errorf("GPU %d: the time of %s is that of %d GPUs", d.ID, e.Category, e.GPUs)
			}
		}
		for _, row := range r.Idle {
			if row.GPU != int(d.ID) {
				t.Errorf("GPU %d: idle time of GPU %d", d.ID, row.GPU)
			}
		}
	}
}

// TestPassesAreNamedByTheirTrace: where there are several.
func TestPassesAreNamedByTheirTrace(t *testing.T) {
	for n, want := range map[int]string{0: "3", 1: "3", 2: "1:3"} {
		if got := passName(&Report{Traces: make([]string, n)}, ReportPass{Trace: 1, Index: 3}); got != want {
			t.Errorf("of %d traces: %s, want %s", n, got, want)
		}
	}
}
