package strata_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmstrata/strata"
	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
)

// manyNames is a trace of as many kernels as names.
func manyNames(t *testing.T, n int) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(`{"schemaVersion":1,"traceEvents":[`)
	for i := range n {
		fmt.Fprintf(&b, `{"ph":"X","cat":"kernel","name":"kernel_%d","pid":0,"tid":7,"ts":%d,"dur":4,"args":{"device":0,"stream":7,"correlation":%d}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":%d,"dur":2,"args":{"correlation":%d}},
`, i, 1000+6*i, i+1, 997+6*i, i+1)
	}
	b.WriteString(`{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":900,"dur":2}]}`)
	path := filepath.Join(t.TempDir(), "names.json")
	writeFile(t, path, b.String())
	return path
}

// TestWorkOfManyNames: the report of four times as many names allocates four times as much, and a name is judged by a
// user's rules twice at most, however often it runs.
func TestWorkOfManyNames(t *testing.T) {
	testdata.ManyInputs(t)
	const few, times = 2000, 4
	work := func(n int) float64 {
		path := manyNames(t, n)
		return testing.AllocsPerRun(1, func() { reported(t, path, strata.ReportOptions{}) })
	}
	const each = 25 // for one more name: read, judged once, labelled, in the tables of each analysis
	a, b := work(few), work(times*few)
	t.Logf("%.1f allocations for one more name", (b-a)/((times-1)*few))
	if b > 1.1*times*a || b-a > each*(times-1)*few {
		t.Errorf("%.0f allocations for %d names, %.0f for %d", a, few, b, times*few)
	}
	asked := 0
	count := classify.Rule{ID: "count", Category: classify.CategoryOther,
		Func: func(*classify.Name) bool { asked++; return false }}
	tr, err := trace.Open(t.Context(), manyNames(t, few), trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := layer.Analyze(t.Context(), tr, layer.Options{Rules: []classify.Rule{count}}); err != nil {
		t.Fatal(err)
	}
	if asked < few || asked > 2*few+few/10 {
		t.Errorf("rules were asked %d times of %d names", asked, few)
	}
}
