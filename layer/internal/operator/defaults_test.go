package operator_test

import (
	"testing"

	"github.com/llmstrata/strata/layer/internal/operator"
)

// TestDefaults: the costs stand in these relations to each other, which their comments explain, and were measured with these values.
func TestDefaults(t *testing.T) {
	p := operator.Defaults()
	want := operator.Params{
		SkipProduct: 2, SkipSmall: 0.8, SkipOptional: 0.1, ExtraProduct: 3, ExtraSmall: 1, Weak: 0.5, Unknown: 1.3, Again: 0.2, AgainProduct: 2.5,
		Back: 0.8, MaxBack: 9, BackProduct: 2.5, Miss: 6, Shape: 2, Grids: 0.75, Band: 1, Taken: 2, Votes: 0.6, Halves: 3, Inputs: 12, Streams: 0.5,
		ByModule: 0.99, ByShape: 0.97, ByPlan: 0.95, ByOrder: 0.9, ByWeak: 0.6,
	}
	if p != want {
		t.Errorf("%+v\nwant %+v", p, want)
	}
	for rule, holds := range map[string]bool{
		"a wrong plan bends before a kernel is given up":   p.ExtraProduct > p.SkipProduct,
		"the only small step of a gap is filled":           p.Unknown < p.ExtraSmall+p.SkipSmall,
		"an optional one is not":                           p.Unknown > p.ExtraSmall+p.SkipOptional,
		"a small kernel out of order is placed":            p.Back < p.ExtraSmall,
		"products in two parts cost as those out of order": p.BackProduct == p.AgainProduct,
		"better evidence is worth more":                    p.ByModule > p.ByShape && p.ByShape > p.ByPlan && p.ByPlan > p.ByOrder && p.ByOrder > p.ByWeak,
	} {
		if !holds {
			t.Errorf("%s: not with %+v", rule, p)
		}
	}
}
