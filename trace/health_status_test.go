package trace_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/llmstrata/strata/trace"
)

func TestHealthStatusIsReadBack(t *testing.T) {
	for want, word := range map[trace.HealthStatus]string{"": `""`, trace.HealthOK: `"ok"`,
		trace.HealthDegraded: `"degraded"`, trace.HealthUnusable: `"unusable"`} {
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		got := trace.HealthOK
		if err := json.Unmarshal(text, &got); err != nil || got != want || string(text) != word {
			t.Errorf("%v written as %s and read: %v, %v", want, text, got, err)
		}
	}
}

func TestWorseStatuses(t *testing.T) {
	ordered := []trace.HealthStatus{"", trace.HealthOK, trace.HealthDegraded, trace.HealthUnusable}
	got := slices.Clone(ordered)
	slices.Reverse(got)
	slices.SortFunc(got, trace.HealthStatus.Compare)
	if !slices.Equal(got, ordered) {
		t.Errorf("from best to worst: %q", got)
	}
}
