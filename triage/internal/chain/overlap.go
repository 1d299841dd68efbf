package chain

import (
	"slices"
	"strings"

	"github.com/llmstrata/strata/internal/fusion"
	"github.com/llmstrata/strata/triage/internal/activity"
)

// A Way hides an exchange between GPUs.
type Way struct {
	Name string // of the family in the catalogue
	// Here is the name with the flag and what is not known to hold, NotHere why it is of no use at this place; one of
	// them is "".
	Here, NotHere string
}

// Hiding lists what a registry's catalogue knows of a server that hides such an exchange between GPUs, as far as it
// is merged, by its conditions in a setting; nothing for the server "".
func Hiding(reg *fusion.Registry, server string, f *activity.Kernel, at *fusion.Setting) (out []Way) {
	for i := range reg.Families {
		family := &reg.Families[i]
		hides := fusion.Step{Collectives: family.Exchanges}
		if server == "" || family.Framework != server || family.Status != fusion.Mainline ||
			!hides.ByFacts(f.Parsed, f.Facts) {
			continue
		}
		w := Way{Name: family.Pattern}
		switch outcome, _, texts := fusion.Worst(family.Requires.Judge(at)); outcome {
		case fusion.Fails:
			w.NotHere = family.Pattern + ": " + strings.Join(texts, "; ")
		default:
			w.Here = family.Pattern
			if family.Switch != "" {
				w.Here += ", " + family.Switch
			}
			if len(texts) > 0 {
				w.Here += ", if it holds: " + strings.Join(texts, "; ")
			}
		}
		out = append(out, w)
	}
	return out
}

// Once returns each text of several rows once.
func Once[R any](rows []R, texts func(R) []string) (out []string) {
	for _, r := range rows {
		for _, k := range texts(r) {
			if !slices.Contains(out, k) {
				out = append(out, k)
			}
		}
	}
	return out
}
