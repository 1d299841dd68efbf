package chain

import (
	"slices"
	"strings"

	"github.com/llmstrata/strata/internal/fusion"
	"github.com/llmstrata/strata/triage/internal/activity"
)

// Hiding lists what a registry's catalogue knows of a server that hides such an exchange between GPUs, as far as it
// is merged: here are names with the flag and what is not known to hold in a setting, notHere those with a condition
// that fails; nothing for the server "".
func Hiding(reg *fusion.Registry, server string, f *activity.Kernel, at *fusion.Setting) (here, notHere []string) {
	for i := range reg.Families {
		family := &reg.Families[i]
		hides := fusion.Step{Collectives: family.Exchanges}
		if server == "" || family.Framework != server || family.Status != fusion.Mainline ||
			!hides.ByFacts(f.Parsed, f.Facts) {
			continue
		}
		outcome, _, texts := fusion.Worst(family.Requires.Judge(at))
		if outcome == fusion.Fails {
			notHere = append(notHere, family.Pattern+": "+strings.Join(texts, "; "))
			continue
		}
		way := family.Pattern
		if family.Switch != "" {
			way += ", " + family.Switch
		}
		if len(texts) > 0 {
			way += ", if it holds: " + strings.Join(texts, "; ")
		}
		here = append(here, way)
	}
	return here, notHere
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
