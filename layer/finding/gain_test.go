package finding_test

import (
	"strings"
	"testing"

	"github.com/llmstrata/strata/layer/finding"
)

// TestGainThatMayBeNone: an interval that reaches as far as the step itself says that nothing may be won.
func TestGainThatMayBeNone(t *testing.T) {
	for _, c := range []struct {
		g    finding.Gain
		want string
	}{
		{finding.Gain{Base: 750, Low: 10, High: 749}, "750 ns → 10 ns–749 ns"},
		{finding.Gain{Base: 750, Low: 10, High: 750}, "750 ns → 10 ns–750 ns, perhaps no gain"},
		{finding.Gain{Base: 750, After: 640, Low: 630, High: 650, Figure: true}, "750 ns → 640 ns (630 ns–650 ns)"},
		{finding.Gain{Base: 750, After: 745, Low: 730, High: 760, Figure: true},
			"750 ns → 745 ns (730 ns–760 ns), perhaps no gain"},
	} {
		if got := c.g.Step(); got != c.want {
			t.Errorf("%+v: %q, want %q", c.g, got, c.want)
		}
	}
}

// TestOverlappingGains: a fused path has kernels that are small or above their floor; no kernel is both.
func TestOverlappingGains(t *testing.T) {
	small, fusion := finding.Finding{Kind: finding.SmallKernels}, finding.Finding{Kind: finding.Fusion}
	others := finding.Finding{Kind: finding.AboveFloor, Code: finding.CodeOthers}
	products := finding.Finding{Kind: finding.AboveFloor, Code: "products"}
	for _, c := range []struct {
		list []finding.Finding
		want string
	}{
		{[]finding.Finding{small, others}, ""}, {[]finding.Finding{fusion, products}, ""},
		{[]finding.Finding{small, products, fusion}, "The gains of 1 and 3 do"},
		{[]finding.Finding{fusion, others}, "The gains of 1 and 2 do"},
		{[]finding.Finding{others, fusion, small}, "The gains of 1, 2 and 3 do"},
	} {
		if got := finding.Overlapping(c.list); !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
