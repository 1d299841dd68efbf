package hostoverhead_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/nsys"
)

func openExport(tb testing.TB, path string) *trace.Trace {
	tb.Helper()
	t, err := nsys.Open(context.Background(), path)
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

// TestComparableModeEqualsTheReference compares every field of the golden
// files with ours, numbers to the four decimals they have.
func TestComparableModeEqualsTheReference(t *testing.T) {
	golden, err := filepath.Glob(filepath.Join(testdata.Shared(t, "golden/host"), "*.json"))
	if err != nil || len(golden) == 0 {
		t.Fatalf("no golden files: %v", err)
	}
	for _, g := range golden {
		name := strings.TrimSuffix(filepath.Base(g), ".json")
		t.Run(name, func(t *testing.T) {
			v, err := hostoverhead.Detect(context.Background(), openExport(t, testdata.Shared(t, "traces/nsys/"+name+".sqlite")), hostoverhead.WithComparable())
			if err != nil {
				t.Fatal(err)
			}
			data, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			var got, want map[string]any
			if err := json.Unmarshal(data, &got); err != nil {
				t.Fatal(err)
			}
			file, err := os.ReadFile(g)
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(file, &want); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, keep(got, want)); diff != "" {
				t.Errorf("-golden +ours:\n%s", diff)
			}
		})
	}
}

// keep drops what the reference does not have.
func keep(got, want map[string]any) map[string]any {
	out := map[string]any{}
	for k, w := range want {
		g := got[k]
		if wm, ok := w.(map[string]any); ok {
			gm, _ := g.(map[string]any)
			if k == "phases" && len(gm) != len(wm) {
				out[k] = g
				continue
			}
			out[k] = keep(gm, wm)
			continue
		}
		out[k] = g
	}
	return out
}
