package compare

import "github.com/llmstrata/strata/layer/finding"

var topicsOfDoubts = map[DoubtCode]struct{ title, means, do string }{
	DoubtServing: {"Unexpected serving path", "A window does not run what the server is configured to run.", "Record a window of the path that serves requests."},
	DoubtClock:   {"Clock changed", "A GPU's clock changed during a run, or differs between the sides.", "Lock the clocks (nvidia-smi -lgc) and record again."},
	DoubtModel:   {"Different models", "The passes have different numbers of layers.", "Compare runs of one model, or pass `--a-config` and `--b-config`."},
	DoubtBimodal: {"Two kinds of runs", "The runs of a side fall into two groups. Their median is one of them by chance.", "Find what differs between the groups; record more runs."},
	DoubtWork:    {"Different work", "The passes of the sides process different numbers of tokens or requests.", "Pass `--normalize tokens` to compare time per token."},
}

// Topics explains the codes of all doubts about a comparison.
func Topics() []finding.Topic {
	var out []finding.Topic
	for _, c := range DoubtCodes() {
		t := topicsOfDoubts[c]
		out = append(out, finding.Topic{ID: c.String(), Section: finding.SectionCompare, Title: t.title, Means: t.means,
			Advice: finding.Advice{Do: t.do, Next: "strata compare --a A --b B"}, Page: "compare.md"})
	}
	return out
}
