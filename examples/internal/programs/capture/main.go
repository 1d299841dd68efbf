package capture

import "github.com/llmstrata/strata/examples/internal/app"

// Choose picks the program by its first argument, and returns what is left.
func Choose(args []string) (app.Program, []string) {
	return app.Choose(args, captureProgram, map[string]func() app.Program{
		"probe": probeProgram, "stop": stopProgram, "collect": collectProgram, "doctor": doctorProgram,
		"matrix":  matrixProgram,
		"capture": captureProgram, // what people type who expect a verb
	})
}
