package trace_test

import (
	"encoding/json"
	"testing"

	"github.com/llmstrata/strata/trace"
)

func TestHealthStatusIsReadBack(t *testing.T) {
	for _, want := range []trace.HealthStatus{0, trace.HealthOK, trace.HealthDegraded, trace.HealthUnusable} {
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		got := trace.HealthOK
		if err := json.Unmarshal(text, &got); err != nil || got != want {
			t.Errorf("%v written as %s and read: %v, %v", want, text, got, err)
		}
	}
	got := trace.HealthOK
	if err := json.Unmarshal([]byte(`"a word of a later version"`), &got); err != nil || got != 0 {
		t.Errorf("an unknown word: %v, %v, want unknown", got, err)
	}
}
