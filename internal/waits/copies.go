package waits

import (
	"strings"

	"github.com/llmstrata/strata/trace"
)

// RunsOn reports whether the host does not wait for the copy that a call made: copies within a device never block it,
// nor do asynchronous ones of pinned memory, or that end after the call (CUDA's "API synchronization behavior").
func RunsOn(call, copied trace.Event) bool {
	name := copied.Name()
	return strings.Contains(name, "DtoD") || strings.Contains(name, "PtoP") ||
		strings.Contains(call.Name(), "Async") && (strings.Contains(name, "Pinned") || copied.End() > call.End())
}
