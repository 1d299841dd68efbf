package fusion_test

import (
	"fmt"

	"github.com/llmstrata/strata/triage/fusion"
)

// The built-in registry says of each path where it exists and how it is turned on.
func ExampleDefault() {
	for _, p := range fusion.Default().Patterns {
		if p.Pattern == "AITER allreduce fusion" {
			fmt.Println(p.Frameworks, p.Platforms, p.Switch, p.Since)
		}
	}
	// Output: [sglang] [rocm] SGLANG_USE_AITER=1 --enable-aiter-allreduce-fusion #13747 2026-02-24
}
