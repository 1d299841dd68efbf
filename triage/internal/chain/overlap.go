package chain

import (
	"slices"
	"strings"

	"github.com/llmstrata/strata/internal/fusion"
	"github.com/llmstrata/strata/triage/internal/activity"
)

// Hiding lists what a registry's catalogue knows of a server that hides such an exchange between GPUs, as far as it is merged; nothing for
// the server "".
func Hiding(reg *fusion.Registry, server string, f *activity.Kernel) []string {
	var out []string
	for i := range reg.Families {
		family := &reg.Families[i]
		hides := fusion.Step{Collectives: family.Exchanges}
		if server != "" && family.Framework == server && family.Status == fusion.OriginMainline && hides.ByFacts(&f.Parsed, &f.Facts) {
			out = append(out, family.Pattern)
		}
	}
	return out
}

// KnownWays says in a sentence what hides the exchanges of several rows, each once; "" for none.
func KnownWays[R any](rows []R, known func(R) []string) string {
	var once []string
	for _, r := range rows {
		for _, k := range known(r) {
			if !slices.Contains(once, k) {
				once = append(once, k)
			}
		}
	}
	if len(once) == 0 {
		return ""
	}
	return "Known to hide such exchanges (--catalog NAME has where they are written): " + strings.Join(once, "; ") + ". "
}
