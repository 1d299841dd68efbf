package triage

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/llmstrata/strata/classify"
)

// Levels of a similarity note.
const (
	SimilarityHigh   = "high"   // all telling words of a family, in another order or apart
	SimilarityMedium = "medium" // two thirds of them, by weight: rare words count more
	SimilarityLow    = "low"    // half of them
)

// maxSimilarity is how many notes a stage gives.
const maxSimilarity = 3

// commonWords tell nothing about a family: most fused kernels have them.
var commonWords = set("fused", "fuse", "fusion", "kernel", "kernels", "triton", "flashinfer", "vllm", "sglang", "trtllm", "and", "with",
	"enable", "cuda", "aiter", "rocm", "fwd", "forward", "the", "npu", "cutlass", "gemm", "fp8", "fp4", "nvfp4", "mxfp4", "bf16", "auto", "deploy")

// similarities names the families of the catalogue that are near the stage's
// large kernels. It is for stages where nothing matched exactly: a note beside
// exact rows would only distract.
func (a *analysis) similarities(s *stageWork) []SimilarityNote {
	type hit struct {
		note  SimilarityNote
		score float64
		ns    int64
	}
	// A word that many families have tells little about one: "norm" is not near
	// a gated norm.
	families := map[string]int{}
	for _, fam := range a.Registry.Families {
		for _, w := range tellingWords(strings.Join(fam.Identifiers, "_")) {
			families[w]++
		}
	}
	var hits []hit
	for i := range s.rows {
		r := &s.rows[i]
		f := &a.pool.facts[r.kernel]
		if s.share(r.ns) < max(a.MinSharePct, lowShareBar) || !couldFuse(f) {
			continue
		}
		best := hit{}
		for _, fam := range a.Registry.Families {
			for _, id := range fam.Identifiers {
				words := tellingWords(id)
				if len(words) < 2 {
					continue
				}
				found, weight, all := 0, 0.0, 0.0
				for _, w := range words {
					all += 1 / float64(families[w])
					if classify.NewKeywords(w).In(f.words) {
						found++
						weight += 1 / float64(families[w])
					}
				}
				score := weight / all
				if found < 2 || score < 0.5 || score <= best.score {
					continue
				}
				level := SimilarityLow
				switch {
				case score == 1:
					level = SimilarityHigh
				case score >= 2.0/3:
					level = SimilarityMedium
				}
				best = hit{SimilarityNote{Stage: stageOrder[s.index], Level: level, Family: fam.Pattern, Kind: fam.Kind, Kernel: f.canonical,
					Because: fmt.Sprintf("%d of %d words of %s are in its name. %s", found, len(words), id, fam.Description)}, score, r.ns}
			}
		}
		if best.score > 0 {
			hits = append(hits, best)
		}
	}
	slices.SortStableFunc(hits, func(x, y hit) int { return cmp.Or(cmp.Compare(y.score, x.score), cmp.Compare(y.ns, x.ns)) })
	var out []SimilarityNote
	named := map[string]bool{}
	for _, h := range hits {
		if len(out) == maxSimilarity {
			break
		}
		if !named[h.note.Family] {
			named[h.note.Family] = true
			out = append(out, h.note)
		}
	}
	return out
}

// couldFuse keeps the kernels a fused family could be near to: not copies,
// pointwise arithmetic and library products, which every program has.
func couldFuse(f *kernelFacts) bool {
	switch f.result.Category {
	case classify.CategoryMemory, classify.CategoryElementwise, classify.CategoryGEMM, classify.CategoryCommunication,
		classify.CategoryReduceTopK, classify.CategoryOther:
		return false
	}
	return true
}

// tellingWords splits an identifier at underscores and drops common words.
func tellingWords(id string) []string {
	var out []string
	for w := range strings.FieldsFuncSeq(strings.ToLower(id), func(r rune) bool { return r == '_' || r == ':' || r == '.' }) {
		if len(w) > 2 && !commonWords[w] && !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}
