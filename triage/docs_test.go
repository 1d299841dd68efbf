package triage_test

import (
	"os"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/triage"
)

// TestDocsReadRealReports: each line that docs/triage.md quotes of the three reports is in them, in this order.
func TestDocsReadRealReports(t *testing.T) {
	data, err := os.ReadFile("../docs/triage.md")
	if err != nil {
		t.Fatal(err)
	}
	_, page, ok := strings.Cut(string(data), "## Three reports, line by line")
	if !ok {
		t.Fatal("the page has no section that reads reports")
	}
	parts := strings.Split(page, "\n### ")[1:]
	traces := [][2]string{
		{"sglang-qwen3-8b-decode-graph-mi300", "sglang-qwen3-8b-extend-eager-mi300"},
		{"vllm-gptoss20b-decode-fullgraph-mi300", ""}, {"hf-qwen1.5-0.5b-eager-h100", ""},
	}
	if len(parts) != len(traces) {
		t.Fatalf("%d reports are read, want %d", len(parts), len(traces))
	}
	for i, part := range parts {
		mapping := ""
		testdata.SharedGlob(t, "traces/torch/"+traces[i][0]+".json.gz") // a distilled copy has other lines
		if traces[i][1] != "" {
			mapping = "traces/torch/" + traces[i][1] + ".json.gz"
		}
		var b strings.Builder
		if err := analyze(t, "traces/torch/"+traces[i][0]+".json.gz", mapping, triage.Options{}).WriteText(&b,
			110); err != nil {
			t.Fatal(err)
		}
		report, quoted := b.String(), 0
		for line := range strings.Lines(part) {
			line, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "    ")
			if !ok {
				continue
			}
			quoted++
			_, rest, found := strings.Cut(report, line+"\n")
			if !found {
				t.Errorf("%s: not there, or not in this order: %q", traces[i][0], line)
				continue
			}
			report = rest
		}
		if quoted < 5 {
			t.Errorf("%s: %d lines are quoted, want 5 at least", traces[i][0], quoted)
		}
	}
}
