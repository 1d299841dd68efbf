package trace_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// TestUnitTracesAreLinked: each activity of the shared unit traces has its launch and the op around it. Eight of them
// record an External id and ac2g flows and no correlation: those are linked by flow, and health says so.
func TestUnitTracesAreLinked(t *testing.T) {
	byFlow := 0
	for _, path := range testdata.SharedGlob(t, "traces/units/*/*.json.gz") {
		tr, err := trace.Open(t.Context(), path, trace.Options{})
		if err != nil {
			t.Fatal(err)
		}
		links, ops, n := map[trace.Link]int{}, 0, 0
		for e := range tr.Events(event.LaneGPU) {
			n++
			links[e.Link()]++
			if e.Op().Valid() {
				ops++
			}
		}
		h, want := tr.Health(), trace.LinkCorrelation
		name := filepath.Base(path)
		uncorrelated := false
		for _, s := range []string{"conv_", "gemm_", "moe_"} {
			uncorrelated = uncorrelated || strings.HasPrefix(name, s)
		}
		if uncorrelated {
			want = trace.LinkFlow
			byFlow++
		}
		if n == 0 || h.Activities != n || h.Orphans != 0 || links[want] != n || ops != n {
			t.Errorf("%s: %d of %d activities are orphans, %d have an op, links %v; want all by %s", name, h.Orphans, n,
				ops, links, want)
		}
		said := int64(0)
		for _, f := range h.Findings {
			if f.Code == trace.CodeLinkedByFlow {
				said = f.Count
			}
		}
		if uncorrelated != (said == int64(n)) {
			t.Errorf("%s: health counts %d of %d linked by flow", name, said, n)
		}
	}
	if byFlow != 8 {
		t.Errorf("%d traces without correlations, want 8", byFlow)
	}
}
