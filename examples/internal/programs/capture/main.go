package capture

import "github.com/llmstrata/strata/examples/internal/app"

// Choose picks the program by its first argument, and returns what is left.
func Choose(args []string) (app.Program, []string) {
	if len(args) > 0 {
		switch args[0] {
		case "probe":
			return probeProgram(), args[1:]
		case "stop":
			return stopProgram(), args[1:]
		case "collect":
			return collectProgram(), args[1:]
		case "doctor":
			return doctorProgram(), args[1:]
		case "matrix":
			return matrixProgram(), args[1:]
		case "capture":
			// What people type who expect a verb.
			return captureProgram(), args[1:]
		}
	}
	return captureProgram(), args
}
