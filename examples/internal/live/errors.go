package live

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/llmstrata/strata/capture"
)

// The exit codes of a capture, beside those of all programs.
const (
	// ExitInvalid: traces were captured that do not hold what was asked for.
	ExitInvalid = 3
	// ExitUnchecked: nothing is wrong with them as far as anybody can tell,
	// and something that decides is not known.
	ExitUnchecked = 4
	// ExitNoServer: nothing answers, or nothing that can be profiled.
	ExitNoServer = 5
	// ExitStillRunning: the profiler may be on.
	ExitStillRunning = 6
	// ExitIncomplete: traces are missing or were not finished.
	ExitIncomplete = 7
	// ExitKey: the server wants a key.
	ExitKey = 8
	// ExitTooLarge: the traces would not fit.
	ExitTooLarge = 9
	// ExitLeftOver: an earlier run in the folder has not ended.
	ExitLeftOver = 10
	// ExitInterrupted: a signal ended the run, and the profiler is off.
	ExitInterrupted = 130
)

// told is an error of package capture under a program's name.
type told struct{ error }

func (e told) Error() string { return strings.TrimPrefix(e.error.Error(), "capture: ") }

// Unwrap returns the package's error.
func (e told) Unwrap() error { return e.error }

// coded is an error with the exit code of a capture.
type coded struct{ told }

// ExitCode is by kind; what matters most first.
func (e coded) ExitCode() int {
	var se *capture.ServerError
	switch {
	case errors.Is(e, capture.ErrStillRunning):
		return ExitStillRunning
	case errors.Is(e, context.Canceled):
		return ExitInterrupted
	case errors.Is(e, capture.ErrIncomplete):
		return ExitIncomplete
	case errors.Is(e, capture.ErrInvalid):
		return ExitInvalid
	case errors.Is(e, capture.ErrTooLarge):
		return ExitTooLarge
	case errors.Is(e, capture.ErrLeftOver):
		return ExitLeftOver
	case !errors.As(e, &se):
		return 1
	case se.Status == http.StatusUnauthorized, se.Status == http.StatusForbidden:
		return ExitKey
	case se.Status == 0, se.Status == http.StatusNotFound, se.Status == http.StatusMethodNotAllowed:
		return ExitNoServer
	}
	return 1
}

// End is [Tell] for the programs whose exit codes say what has ended a capture.
func End(err error) error {
	if err == nil {
		return nil
	}
	return coded{told{err}}
}

// Tell drops the package's name from the front of an error, where the program's
// name stands already; nil for nil.
func Tell(err error) error {
	if err == nil {
		return nil
	}
	return told{err}
}
