package layer

import (
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/opname"
	"github.com/llmstrata/strata/trace"
)

// TestWhereRecordsAreMissing: an end of the pass is named where no kernel lies between it and the place.
func TestWhereRecordsAreMissing(t *testing.T) {
	for want, d := range map[string]Damage{
		"between the beginning of the pass and layer 0 ": {Layer: trace.None},
		"between embed outside layers and layer 0 qkv_":  {Layer: trace.None, Operator: opname.Embed, NextOperator: "qkv_proj"},
		"between layer 3 and a kernel outside layers ": {Layer: 3, Operator: opname.Other, NextLayer: trace.None,
			NextOperator: opname.Other},
		"between layer 3 down_proj and the end of the pass (about 7 ": {Layer: 3, Operator: "down_proj",
			NextLayer: trace.None, Kernels: 7},
	} {
		if got := d.String() + " "; !strings.Contains(got, want) {
			t.Errorf("%q, want %q in it", got, want)
		}
	}
}

// TestLikelyLossesAreSaidToBe: a sentence about several places says which are only likely.
func TestLikelyLossesAreSaidToBe(t *testing.T) {
	sure, likely := Damage{Kernels: 20}, Damage{Kernels: 1, Unsure: true}
	for want, list := range map[string][]Damage{
		"about 20 records of kernels are missing at 1 place":                                                          {sure},
		"about 2 records of kernels are likely missing at 2 places":                                                   {likely, likely},
		"about 20 records of kernels are missing at 1 place, about 1 record of a kernel is likely missing at 1 place": {likely, sure},
	} {
		if got, _ := missing(list, "place", "places"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
