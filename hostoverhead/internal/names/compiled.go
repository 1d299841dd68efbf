package names

import (
	"strings"

	"github.com/llmstrata/strata/internal/framework"
)

// CompiledOp recognises the operators that torch.compile wraps its code in.
func CompiledOp(name string) bool {
	return strings.HasPrefix(name, "## Call CompiledFxGraph") || strings.HasPrefix(name, "CompiledFunction") ||
		strings.HasPrefix(name, "Torch-Compiled Region")
}

// CompiledFrame recognises frames of code that a compiler wrote.
func CompiledFrame(name string) bool {
	f, ok := framework.ParseFrame(name)
	return ok && f.Generated()
}
