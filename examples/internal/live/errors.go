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
	// ExitUnchecked: no problem was found, but something that decides is not known.
	ExitUnchecked = 4
	// ExitNoServer: nothing answers at the address, or nothing that is known.
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
	// ExitNoRoute: the server was launched without a profiler.
	ExitNoRoute = 11
	// ExitRefused: the server answered and does not profile.
	ExitRefused = 12
	// ExitDied: the server went away while it was profiled.
	ExitDied = 13
	// ExitGateway: the address is of a gateway whose engines are to be named.
	ExitGateway = 14
	// ExitWrongKind: the server's profiler records something else.
	ExitWrongKind = 15
	// ExitOtherHost: traces are on another host.
	ExitOtherHost = 16
	// ExitInterrupted: a signal ended the run, and the profiler is off.
	ExitInterrupted = 130
)

// coded is an error of package capture under a program's name, with the exit code of a capture.
type coded struct{ error }

func (e coded) Error() string { return strings.TrimPrefix(e.error.Error(), "capture: ") }

// Unwrap returns the package's error.
func (e coded) Unwrap() error { return e.error }

// exitCodes are by kind, what matters most first.
var exitCodes = []struct {
	kind error
	code int
}{
	{capture.ErrStillRunning, ExitStillRunning}, {context.Canceled, ExitInterrupted}, {capture.ErrDied, ExitDied},
	{capture.ErrWrongKind, ExitWrongKind}, {capture.ErrOtherHost, ExitOtherHost},
	{capture.ErrIncomplete, ExitIncomplete},
	{capture.ErrInvalid, ExitInvalid}, {capture.ErrTooLarge, ExitTooLarge}, {capture.ErrLeftOver, ExitLeftOver},
	{capture.ErrGateway, ExitGateway}, {capture.ErrNoRoute, ExitNoRoute},
}

// ExitCode is by kind.
func (e coded) ExitCode() int {
	for _, c := range exitCodes {
		if errors.Is(e, c.kind) {
			return c.code
		}
	}
	var se *capture.ServerError
	switch {
	case errors.As(e, &se) && (se.Status == http.StatusUnauthorized || se.Status == http.StatusForbidden):
		return ExitKey
	case errors.Is(e, capture.ErrRefused):
		return ExitRefused
	case errors.Is(e, capture.ErrNoServer):
		return ExitNoServer
	}
	return 1
}

// End removes the package's name from the start of an error, as the program's name is there already, and gives it the
// exit code that says what has ended a capture; nil for nil.
func End(err error) error {
	if err == nil {
		return nil
	}
	return coded{err}
}
