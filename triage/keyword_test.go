package triage_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/llmstrata/strata/triage"
)

// splitByDecoder are reports whose stage the reference took from a range named
// "## decoder …", which is not a decode step; its rows per stage are not ours.
var splitByDecoder = []string{"train-pair-rank-0", "train-pair-rank-1"}

// TestKeywordModeReproducesReference compares the fuse rows of the substring
// rule with those of the reference: pattern, confidence, time and share.
func TestKeywordModeReproducesReference(t *testing.T) {
	rows := 0
	for _, g := range goldens(t) {
		t.Run(g.name, func(t *testing.T) {
			opts := []triage.Option{triage.WithFuseMode(triage.FuseByKeyword)}
			r := analyze(t, g.formal, g.mapping, opts...)
			if r.Framework == "PyTorch" {
				// The reference takes a trace without any sign of a server for SGLang.
				r = analyze(t, g.formal, g.mapping, append(opts, triage.WithFramework("SGLang"))...)
			}
			var got []string
			for _, s := range r.Stages {
				for _, f := range s.Fuse {
					if slices.Contains(splitByDecoder, g.name) {
						got = append(got, f.Pattern+"|"+f.Confidence)
						continue
					}
					got = append(got, fmt.Sprintf("%s|%s|%.2f ms|%.1f%%", f.Pattern, f.Confidence, f.RelatedUS/1e3, f.SharePct))
				}
			}
			var want []string
			for _, f := range g.fuse {
				rows++
				if slices.Contains(splitByDecoder, g.name) {
					want = append(want, f.pattern+"|"+f.confidence)
					continue
				}
				want = append(want, fmt.Sprintf("%s|%s|%s|%s", f.pattern, f.confidence, f.ms, f.share))
			}
			if !slices.Equal(got, want) {
				t.Errorf("fuse rows:\n got %q\nwant %q", got, want)
			}
		})
	}
	if rows < 10 {
		t.Errorf("compared %d rows, want at least 10", rows)
	}
}
