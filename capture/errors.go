package capture

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
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

	// Requests that were not sent, that were not answered in time, that were answered but not carried out, or that some
	// or all workers refused.
	errUnsent  = errors.New("not sent")
	errTimeout = errors.New("no answer in time")
	errNotDone = errors.New("not carried out")
	errPartial = errors.New("refused by workers")
)

// worded is an error with a text of its own, and the errors that errors.Is and errors.As find in it.
type worded struct {
	text string
	is   []error
}

func (e worded) Error() string { return e.text }

// Unwrap returns what it is.
func (e worded) Unwrap() []error { return e.is }

// join is errors.Join on one line.
func join(errs ...error) error {
	var some []error
	var texts []string
	for _, e := range errs {
		if e != nil {
			text := e.Error()
			if len(some) > 0 {
				text = strings.TrimPrefix(text, "capture: ")
			}
			some, texts = append(some, e), append(texts, text)
		}
	}
	switch len(some) {
	case 0:
		return nil
	case 1:
		return some[0]
	}
	return worded{strings.Join(texts, "; "), some}
}

// marked is an error of a kind, which its text says already or need not.
type marked struct {
	error
	kind error
}

// Unwrap returns the error and its kind.
func (e marked) Unwrap() []error { return []error{e.error, e.kind} }

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
	text := fmt.Sprintf("capture: %s %s%s", e.Method, e.Server, e.Endpoint)
	if e.Status != 0 {
		text += fmt.Sprintf(": %d %s", e.Status, http.StatusText(e.Status))
	}
	if e.cause != "" {
		text += ": " + e.cause
	}
	if e.Body != "" {
		text += " (server says: " + e.Body + ")"
	}
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	return text
}

// Unwrap returns the cause.
func (e *ServerError) Unwrap() error { return e.Err }

// Is makes a request that reached nobody an [ErrNoServer].
func (e *ServerError) Is(target error) bool {
	return target == ErrNoServer && e.Status == 0 && neverSent(e.Err)
}

// withHint adds a hint to a *ServerError that has none.
func withHint(err error, hint string) error {
	var se *ServerError
	if errors.As(err, &se) && se.Hint == "" {
		se.Hint = hint
	}
	return err
}

// status is the HTTP status of err, 0 when there was no answer.
func status(err error) int {
	var se *ServerError
	if errors.As(err, &se) {
		return se.Status
	}
	return 0
}

// timedOut reports that the server did not answer in time.
func timedOut(err error) bool { return errors.Is(err, errTimeout) }

// unreachable reports an error without any answer: nothing listens, or nothing speaks.
func unreachable(err error) bool { return err != nil && status(err) == 0 }

// closed reports that nobody can be asked anything: nothing listens, nothing answers, or nothing without a key.
func closed(err error) bool {
	s := status(err)
	return unreachable(err) || s == http.StatusUnauthorized || s == http.StatusForbidden
}

// noRoute reports that the server does not know the path or the method.
func noRoute(err error) bool {
	s := status(err)
	return s == http.StatusNotFound || s == http.StatusMethodNotAllowed
}

// opDial is the Op of a [net.OpError] before there is a connection.
const opDial = "dial"

// neverSent reports a request that did not reach a server: no connection came about, or nothing was written to it.
func neverSent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == opDial || errors.Is(err, errUnsent)
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

// says reports whether the answer holds one of the phrases, whatever their case.
func says(err error, phrases ...string) bool {
	var se *ServerError
	if !errors.As(err, &se) {
		return false
	}
	body := strings.ToLower(se.Body)
	return slices.ContainsFunc(phrases, func(p string) bool { return strings.Contains(body, p) })
}

// firstOf lists some names of many.
func firstOf(names []string) string {
	const most = 12
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
