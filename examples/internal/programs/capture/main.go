package capture

import (
	"maps"
	"slices"

	"github.com/llmstrata/strata/examples/internal/app"
)

var commands = map[string]func() app.Program{
	"probe": probeProgram, "stop": stopProgram, "collect": collectProgram, "doctor": doctorProgram,
	"matrix": matrixProgram,
}

// Commands are the sub-commands of capture.
func Commands() []string { return slices.Sorted(maps.Keys(commands)) }

// verb is what people type who expect one.
const verb = "capture"

// Choose picks the program by its first argument, and returns what is left.
func Choose(args []string) (app.Program, []string) {
	if len(args) > 0 && args[0] == verb {
		args = args[1:]
	}
	return app.Choose(args, captureProgram, commands)
}
