package capture

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/llmstrata/strata/capture/internal/server"
)

// Sentinels, for errors.Is.
var (
	// ErrUnsupported is wrapped when the server at hand has no such option.
	ErrUnsupported = server.ErrUnsupported
	// ErrIncomplete is wrapped when traces did not arrive in time, or not whole;
	// the error names the ranks and files.
	ErrIncomplete = errors.New("traces missing or incomplete")
	// ErrStillRunning is wrapped when the profiler was armed, or may have
	// been, and could not be stopped.
	ErrStillRunning = errors.New("the profiler may still be running")
	// ErrInvalid is wrapped when traces were captured that do not hold what was
	// asked for; the checks in the result say why.
	ErrInvalid = errors.New("the capture is not valid")
	// ErrTooLarge is wrapped when the traces would take more room than allowed
	// or than there is.
	ErrTooLarge = errors.New("the traces would be too large")
	// ErrLeftOver is wrapped when an earlier run in the same folder has not
	// ended, or was killed and may have left the profiler running; see [Stop]
	// and [Collect].
	ErrLeftOver = errors.New("an earlier capture has not ended")
	// errDiffusion is wrapped when a server's log says that it runs a
	// diffusion pipeline, which this workload does not fit.
	errDiffusion = errors.New("the server runs a diffusion pipeline")
)

// ServerError is a request that did not work out.
type ServerError struct {
	// Method, Server and Endpoint name the request: "POST",
	// "http://127.0.0.1:30000", "/start_profile".
	Method, Server, Endpoint string
	// Status is the HTTP status, 0 when there was no answer.
	Status int
	// Body is the beginning of the answer on one line, at most 300 bytes.
	Body string
	// Hint says what the server needs, when that is known.
	Hint string
	// Err is what went wrong below HTTP or inside the answer; may be nil.
	Err error
}

// Error names server, endpoint, status and what to do.
func (e *ServerError) Error() string { return (*server.Error)(e).Error() }

// public is an error as callers see it: what failed at a server is a
// *ServerError to errors.As.
type public struct{ error }

// As finds a *ServerError.
func (e public) As(target any) bool {
	to, ok := target.(**ServerError)
	var se *server.Error
	if !ok || !errors.As(e.error, &se) {
		return false
	}
	*to = (*ServerError)(se)
	return true
}

// Unwrap returns the error as it is inside.
func (e public) Unwrap() error { return e.error }

// export makes an error one that callers can ask.
func export(err error) error {
	if err == nil {
		return nil
	}
	return public{err}
}

// fileState is a file that was not accepted as a finished trace.
type fileState struct {
	// Path is relative to the folder that was watched.
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
	// Reason says what is wrong with it: "still growing", "gzip stream ends
	// early".
	Reason string `json:"reason"`
}

// incompleteError says which traces did not arrive in time.
type incompleteError struct {
	// Server is its address, Stage the window the traces are of.
	Server string
	Stage  string
	// Dir is the folder watched on this machine; ServerDir is what the server
	// was told, or must have been started with, when that is known.
	Dir, ServerDir string
	Waited         time.Duration
	// Expected is the number of files waited for, 0 when it is not known.
	Expected int
	// Complete are the finished traces, relative to Dir.
	Complete []string
	// Missing are ranks without any file.
	Missing []string
	// Incomplete are new files that did not become whole.
	Incomplete []fileState
	// Earlier is the number of traces that lay in Dir before.
	Earlier int
	// Hints are the likely causes, most likely first.
	Hints []string
}

// Error says what is missing, what was waited for and what to look at.
func (e *incompleteError) Error() string {
	var b strings.Builder
	stage := ""
	if e.Stage != stageLegacy && e.Stage != "" {
		stage = e.Stage + " "
	}
	waited := e.Waited.Round(time.Millisecond)
	if len(e.Complete) == 0 && len(e.Incomplete) == 0 {
		fmt.Fprintf(&b, "capture: no %strace from %s in %s after %v", stage, e.Server, e.Dir, waited)
	} else {
		fmt.Fprintf(&b, "capture: incomplete %straces from %s in %s after %v: %d complete", stage, e.Server, e.Dir, waited, len(e.Complete))
		if e.Expected > 0 {
			fmt.Fprintf(&b, " of %d expected", e.Expected)
		}
	}
	if len(e.Missing) > 0 {
		fmt.Fprintf(&b, "; missing: %s", firstOf(e.Missing))
	}
	for i, f := range e.Incomplete {
		if i == 8 {
			fmt.Fprintf(&b, "; and %d more files", len(e.Incomplete)-i)
			break
		}
		fmt.Fprintf(&b, "; %s (%d bytes): %s", f.Path, f.Bytes, f.Reason)
	}
	if e.Earlier > 0 {
		fmt.Fprintf(&b, "; %d earlier traces in the folder were left out", e.Earlier)
	}
	for _, h := range e.Hints {
		fmt.Fprintf(&b, "; %s", h)
	}
	return b.String()
}

// firstOf lists some names of many.
func firstOf(names []string) string {
	const most = 12
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// shortfall is what a check says of an incomplete set.
func shortfall(err error, got, want int) string {
	s := fmt.Sprintf("%d traces", got)
	if want > 0 {
		s = fmt.Sprintf("%d of %d traces", got, want)
	}
	var ie *incompleteError
	if errors.As(err, &ie) && len(ie.Missing) > 0 {
		return s + "; missing: " + firstOf(ie.Missing)
	}
	if ie == nil {
		return s + "; " + err.Error()
	}
	return s
}

// Unwrap returns [ErrIncomplete].
func (e *incompleteError) Unwrap() error { return ErrIncomplete }
