package strata

import (
	"testing"

	"github.com/llmstrata/strata/layer/roofline"
)

// TestFloorsHaveTheirRows: what passes and operators have to take goes to the rows of the report that are about them.
// One of a pass or an operator that the report lacks is an error.
func TestFloorsHaveTheirRows(t *testing.T) {
	p := &reportPart{name: "x"}
	r := &Report{parts: []*reportPart{p}, Passes: []ReportPass{{Index: 3}, {Index: 4}}}
	if err := r.addFloors(p, []roofline.Pass{{Index: 4, Floor: 7}}); err != nil || r.Passes[1].Floor != 7 ||
		r.Passes[0].Floor != 0 {
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

// TestPassesAreNamedByTheirTrace: where there are several.
func TestPassesAreNamedByTheirTrace(t *testing.T) {
	for n, want := range map[int]string{0: "3", 1: "3", 2: "1:3"} {
		if got := passName(&Report{Traces: make([]string, n)}, ReportPass{Trace: 1, Index: 3}); got != want {
			t.Errorf("of %d traces: %s, want %s", n, got, want)
		}
	}
}
