package strata_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/llmstrata/strata"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/trace"
)

// TestOnlyTheScrambledTraceIs: of all reference traces the one whose records are scrambled is degraded for it, and no
// other; the times of none are in another unit than the file says.
func TestOnlyTheScrambledTraceIs(t *testing.T) {
	testdata.ManyInputs(t)
	const scrambled = "sglang-r1-distill-llama-8b-mi300-TP-0-DECODE.trace.json.gz"
	files, _ := filepath.Glob("../shared/traces/*/*")
	if len(files) == 0 {
		t.Skip("no reference traces")
	}
	has := func(tr *trace.Trace, code trace.Code) bool {
		return slices.ContainsFunc(tr.Health().Findings, func(f trace.Remark) bool { return f.Code == code })
	}
	least := 25
	if !testdata.Long() {
		least = 18
	}
	read := 0
	for _, f := range testdata.Spread(t, files) {
		rec, err := strata.Open(t.Context(), f, strata.Options{})
		if err != nil {
			continue // what is no trace
		}
		read++
		tr := rec.Parts[0].Trace
		if got, want := has(tr, "scrambled-records"), filepath.Base(f) == scrambled; got != want {
			t.Errorf("%s: scrambled %t, want %t", filepath.Base(f), got, want)
		}
		if has(tr, "time-scale") {
			t.Errorf("%s: its times are in microseconds", filepath.Base(f))
		}
		if filepath.Base(f) != scrambled {
			continue
		}
		if tr.Health().Status != trace.HealthDegraded {
			t.Errorf("%s: health %v, want degraded", scrambled, tr.Health().Status)
		}
		rec, err = strata.Open(t.Context(), f, strata.Options{Trace: trace.Options{RepairOrder: true}})
		if err != nil {
			t.Fatal(err)
		}
		if h := rec.Parts[0].Trace.Health(); !has(rec.Parts[0].Trace, "order-repaired") ||
			h.Status != trace.HealthDegraded {
			t.Errorf("%s: health %+v, want repaired and degraded", scrambled, h)
		}
	}
	if read < least {
		t.Errorf("%d traces were read, want %d at least", read, least)
	}
}
