package capture

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"
)

// Sentinels, for errors.Is. Each names another thing to do.
var (
	// ErrUnsupported is wrapped when the server at hand has no such option.
	ErrUnsupported = errors.New("not supported by this server")
	// ErrIncomplete is wrapped when traces are late or incomplete; the error names the ranks and files.
	ErrIncomplete = errors.New("traces missing or incomplete")
	// ErrStillRunning is wrapped when the profiler was armed, or may have been, and could not be stopped.
	ErrStillRunning = errors.New("the profiler may still be running")
	// ErrInvalid is wrapped when traces were captured that do not hold what was asked for; the checks in the result say
	// why.
	ErrInvalid = errors.New("the capture is not valid")
	// ErrTooLarge is wrapped when there is not the room that traces take.
	ErrTooLarge = errors.New("the traces would be too large")
	// ErrLeftOver is wrapped when an earlier run in the same folder has not ended, or was killed and may have left the
	// profiler running; [Stop] settles it.
	ErrLeftOver = errors.New("an earlier capture has not ended")
	// ErrNoServer is wrapped when nothing answers at the address, or nothing that is known.
	ErrNoServer = errors.New("no server answers")
	// ErrNoRoute is wrapped when the server has no profiler route: it was launched without one.
	ErrNoRoute = errors.New("the server has no profiler route")
	// ErrRefused is wrapped when the server answered a start request and did not carry it out.
	ErrRefused = errors.New("the server refuses to profile")
	// ErrDied is wrapped when the server went away while it was profiled. Its profiler went with it.
	ErrDied = errors.New("the server died while it was profiled")
	// ErrGateway is wrapped when the address is of a gateway whose workers cannot be profiled through it.
	ErrGateway = errors.New("this is a gateway, not an engine")
	// ErrWrongKind is wrapped when the server's profiler records something else than what was asked for.
	ErrWrongKind = errors.New("the server's profiler is of another kind")
	// ErrOtherHost is wrapped when traces are missing of ranks that run on another machine.
	ErrOtherHost = errors.New("the traces are on another host")

	// Requests that were not sent, that were answered but not carried out, or that some or all workers refused.
	errUnsent  = errors.New("not sent")
	errNotDone = errors.New("not carried out")
	errPartial = errors.New("refused by workers")
)

// joined is several errors on one line.
type joined []error

// Error separates them by semicolons.
func (j joined) Error() string {
	parts := make([]string, len(j))
	for i, e := range j {
		parts[i] = e.Error()
	}
	return strings.Join(parts, "; ")
}

// Unwrap returns all of them.
func (j joined) Unwrap() []error { return j }

// join is errors.Join on one line.
func join(errs ...error) error {
	var j joined
	for _, e := range errs {
		if e != nil {
			j = append(j, e)
		}
	}
	switch len(j) {
	case 0:
		return nil
	case 1:
		return j[0]
	}
	return j
}

// ServerError is a request that did not work out.
type ServerError struct {
	// Method, Server and Endpoint name the request: "POST", "http://127.0.0.1:30000", "/start_profile".
	Method, Server, Endpoint string
	// Status is the HTTP status, 0 when there was no answer.
	Status int
	// Body is the beginning of the answer on one line, at most 300 bytes.
	Body string
	// Hint says what the server needs, when that is known.
	Hint string
	// Err is what went wrong below HTTP or inside the answer; may be nil.
	Err error

	cause string // the text of Err without secrets
}

// Error names server, endpoint, status and what to do.
func (e *ServerError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "capture: %s %s%s", e.Method, e.Server, e.Endpoint)
	if e.Status != 0 {
		fmt.Fprintf(&b, ": %d %s", e.Status, http.StatusText(e.Status))
	}
	if e.cause != "" {
		fmt.Fprintf(&b, ": %s", e.cause)
	}
	if e.Body != "" {
		fmt.Fprintf(&b, " (server says: %s)", e.Body)
	}
	if e.Hint != "" {
		fmt.Fprintf(&b, "; %s", e.Hint)
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *ServerError) Unwrap() error { return e.Err }

// Is makes a request that reached nobody an [ErrNoServer].
func (e *ServerError) Is(target error) bool {
	return target == ErrNoServer && e.Status == 0 && neverSent(e.Err)
}

// marked is an error of a kind, whose text says so already or need not.
type marked struct {
	error
	kind error
}

// Unwrap returns the error and its kind.
func (e marked) Unwrap() []error { return []error{e.error, e.kind} }

// mark makes err one of a kind; nil stays nil.
func mark(err, kind error) error {
	if err == nil || errors.Is(err, kind) {
		return err
	}
	return marked{err, kind}
}

// timeoutError is a request that ran into its own timeout.
type timeoutError struct{ after time.Duration }

func (e timeoutError) Error() string { return fmt.Sprintf("no answer within %v", e.after) }

// Is makes it a context.DeadlineExceeded for callers.
func (e timeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// status is the HTTP status of err, 0 when there was no answer.
func status(err error) int {
	var se *ServerError
	if errors.As(err, &se) {
		return se.Status
	}
	return 0
}

// timedOut reports that the server did not answer in time.
func timedOut(err error) bool { return errors.As(err, new(timeoutError)) }

// unreachable reports an error without any answer: nothing listens, or nothing speaks.
func unreachable(err error) bool { return err != nil && status(err) == 0 }

// unauthorized reports a key that is missing or wrong.
func unauthorized(err error) bool {
	s := status(err)
	return s == http.StatusUnauthorized || s == http.StatusForbidden
}

// noRoute reports that the server does not know the path or the method.
func noRoute(err error) bool {
	s := status(err)
	return s == http.StatusNotFound || s == http.StatusMethodNotAllowed
}

// withHint adds a hint to a *ServerError that has none.
func withHint(err error, hint string) error {
	var se *ServerError
	if errors.As(err, &se) && se.Hint == "" {
		se.Hint = hint
	}
	return err
}

// neverSent reports a request that did not reach a server: no connection came about, or nothing was written to it.
func neverSent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial" || errors.Is(err, errUnsent)
}

// gone reports that the host is there and nothing listens at the port: the process has ended.
func gone(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }

// lostOnTheWay reports a request that the server may not have seen: the connection broke, or a gateway could not
// forward it.
func lostOnTheWay(err error) bool {
	switch status(err) {
	case 0:
		return err != nil && !timedOut(err) && !errors.Is(err, context.Canceled)
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// notInProgress recognises the answer to a stop request that came after the window had closed by itself. SGLang raises
// "Profiling is not in progress. Call /start_profile first." which its HTTP server turns into a 500.
func notInProgress(err error) bool { return says(err, "not in progress", "not running", "not started") }

// alreadyRunning recognises the answer to a start request while somebody else's window is open: "Profiling is already
// in progress. Call /stop_profile first.", or 409.
func alreadyRunning(err error) bool {
	return status(err) == http.StatusConflict || says(err, "already in progress", "already running")
}

func says(err error, phrases ...string) bool {
	var se *ServerError
	if !errors.As(err, &se) {
		return false
	}
	body := strings.ToLower(se.Body)
	for _, p := range phrases {
		if strings.Contains(body, p) {
			return true
		}
	}
	return false
}

// incompleteError says which traces did not arrive in time.
type incompleteError struct {
	// Server is its address, Stage the window the traces are of.
	Server string
	Stage  Stage
	// Dir is the folder watched on this machine.
	Dir    string
	Waited time.Duration
	// Expected is the number of files waited for, 0 when it is not known.
	Expected int
	// Complete are the finished traces, relative to Dir.
	Complete []string
	// Missing are ranks without any file.
	Missing []string
	// Incomplete are new files that stayed incomplete, each with what is wrong with it.
	Incomplete []string
	// Earlier is the number of traces that lay in Dir before.
	Earlier int
	// Hints are the likely causes, most likely first.
	Hints []string
	// Kind is the specific error: ErrWrongKind, ErrOtherHost, or none.
	Kind []error
}

// Error says what is missing, what was waited for and what to look at.
func (e *incompleteError) Error() string {
	var b strings.Builder
	stage := ""
	if e.Stage != StageLegacy && e.Stage != "" {
		stage = string(e.Stage) + " "
	}
	waited := e.Waited.Round(time.Millisecond)
	if len(e.Complete) == 0 && len(e.Incomplete) == 0 {
		fmt.Fprintf(&b, "capture: no %strace from %s in %s after %v", stage, e.Server, e.Dir, waited)
	} else {
		fmt.Fprintf(&b, "capture: incomplete %straces from %s in %s after %v: %d complete", stage, e.Server, e.Dir,
			waited, len(e.Complete))
		if e.Expected > 0 {
			fmt.Fprintf(&b, " of %d expected", e.Expected)
		}
	}
	if len(e.Missing) > 0 {
		fmt.Fprintf(&b, "; missing: %s", firstOf(e.Missing))
	}
	if len(e.Incomplete) > 0 {
		fmt.Fprintf(&b, "; %s", firstOf(e.Incomplete))
	}
	if e.Earlier > 0 {
		fmt.Fprintf(&b, "; %d earlier traces in the folder were left out", e.Earlier)
	}
	return strings.Join(append([]string{b.String()}, e.Hints...), "; ")
}

// Unwrap returns [ErrIncomplete] and the kind.
func (e *incompleteError) Unwrap() []error {
	return append([]error{ErrIncomplete}, e.Kind...)
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
