package triage_test

import (
	"strings"
	"testing"

	"github.com/llmstrata/strata/triage"
)

// TestSlowProducts: BERT's vocabulary of 30522 is no multiple of 8, so its head runs at alignment 2; split products of SGLang's
// decode steps have their reduction apart; ViT has neither.
func TestSlowProducts(t *testing.T) {
	for name, want := range map[string]string{
		"hf-bert-small-eager-h100":                    "alignment 2 of 8",
		"sglang-qwen3-30b-a3b-b300-TP-0-DECODE.trace": "split along K",
		"hf-vit-nsfw-eager-h100":                      "",
	} {
		r := analyze(t, "traces/torch/"+name+".json.gz", "", triage.Options{})
		var got []string
		for _, row := range r.Stages[0].Slow {
			got = append(got, row.Reason)
			if row.Do == "" || row.SharePct < 1 || row.Launches == 0 || row.GPUTimeNS <= 0 {
				t.Errorf("%s: %+v", name, row)
			}
		}
		if want == "" && len(got) > 0 || want != "" && (len(got) != 1 || !strings.Contains(got[0], want)) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
