package triage

import (
	"fmt"
	"slices"
	"strings"

	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/internal/fusion"
)

// all asks for all of the catalogue.
const all = "all"

// printCatalog prints the fused paths and the families of the catalogue that have
// a word; all for "all".
func printCatalog(env *app.Env, word string) error {
	if word == all {
		word = ""
	}
	reg, n := fusion.Load(), 0
	line := func(format string, args ...any) { fmt.Fprintf(env.Stdout, format+"\n", args...) }
	for _, p := range reg.Patterns {
		text := strings.ToLower(strings.Join(append([]string{p.Pattern, p.Switch, p.Rationale,
			strings.Join(p.Frameworks, " ")}, p.CandidatePaths...), " "))
		if !strings.Contains(text, strings.ToLower(word)) {
			continue
		}
		n++
		line("%s (%s, %s)", p.Pattern, strings.Join(p.Frameworks, ", "), p.Origin)
		for _, x := range [][2]string{{"where", strings.Join(slices.Concat(p.Requires.Platforms, p.Requires.Archs),
			", ")}, {"flag", p.Switch},
			{"default", string(p.Default)}, {"since", p.Since}, {"limits", p.Limits},
			{"source", strings.Join(p.CandidatePaths, ", ")}, {"checked", p.Checked}} {
			if x[1] != "" {
				line("  %-8s %s", x[0]+":", x[1])
			}
		}
	}
	for _, f := range reg.Find(word) {
		n++
		line("%s (%s, %s, %s)", f.Pattern, f.Framework, f.Kind, f.Status)
		line("  %s", f.Description)
		line("  names:   %s", strings.Join(f.Identifiers, ", "))
		line("  source:  %s", strings.Join(f.Paths, ", "))
	}
	if n == 0 {
		return app.Usagef("--catalog %s: nothing of the registry has that word; --catalog all prints everything", word)
	}
	return nil
}
