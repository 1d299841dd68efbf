package testdata_test

import (
	"testing"
	"time"

	"github.com/llmstrata/strata/internal/testdata"
)

func TestCPUGrowsWithWork(t *testing.T) {
	before, deadline := testdata.CPU(), time.Now().Add(time.Minute)
	for testdata.CPU()-before < 5*time.Millisecond {
		if time.Now().After(deadline) {
			t.Fatalf("CPU() grew by %v in a minute of work", testdata.CPU()-before)
		}
	}
}
