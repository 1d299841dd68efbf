package answer

import (
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
)

// TestPassesNameTheirTrace: each stage does where the traces are several, none where they are one.
func TestPassesNameTheirTrace(t *testing.T) {
	for _, c := range []struct{ second, want int }{{0, 0}, {1, 2}} {
		var b strings.Builder
		w := table.NewWriter(&b)
		p := Passes{Item: known, Stages: []StagePasses{{Stage: layer.StagePrefill, Steady: -1},
			{Stage: layer.StageDecode, Trace: c.second, Steady: -1}}}
		p.write(w)
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(b.String(), ", trace "); n != c.want {
			t.Errorf("%d rows name their trace, want %d:\n%s", n, c.want, b.String())
		}
	}
}
