package strata

import (
	"testing"

	"github.com/llmstrata/strata/layer/roofline"
)

// TestFloorsHaveTheirRows: what passes and operators have to take goes to the rows of the report that are about them.
// A floor of a pass that the report lacks is an error, and so is an operator without a row of floors.
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
	row := ReportOperator{LayerType: "layers", Operator: "o_proj"}
	if err := r.addFloor(&row); err != nil || row.Floor != 5 {
		t.Errorf("%+v, %v", row, err)
	}
	for _, row := range []ReportOperator{{LayerType: "layers", Operator: "down_proj"}, {LayerType: "outside layers", Operator: "o_proj"}} {
		if err := r.addFloor(&row); err == nil || row.Floor != 0 {
			t.Errorf("%+v has the floor of another row", row)
		}
	}
}
