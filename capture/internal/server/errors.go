package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// ErrUnsupported is wrapped when the server at hand has no such option.
var ErrUnsupported = errors.New("not supported by this server")

// Error is a request that did not work out.
type Error struct {
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
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "capture: %s %s%s", e.Method, e.Server, e.Endpoint)
	if e.Status != 0 {
		fmt.Fprintf(&b, ": %d %s", e.Status, http.StatusText(e.Status))
	}
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
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
func (e *Error) Unwrap() error { return e.Err }

// UnsentError is a request of which nothing was sent.
type UnsentError struct{ error }

// Unwrap returns the reason.
func (e UnsentError) Unwrap() error { return e.error }

// timeoutError is a request that ran into its own timeout.
type timeoutError struct{ after time.Duration }

func (e timeoutError) Error() string { return fmt.Sprintf("no answer within %v", e.after) }

// Is makes it a context.DeadlineExceeded for callers.
func (e timeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// cause tells the caller's cancelled context from the request's own timeout,
// and cuts the method and URL that net/http repeats.
func (c *Client) cause(ctx context.Context, err error, timeout time.Duration) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return timeoutError{timeout}
	}
	var ue *url.Error
	if errors.As(err, &ue) {
		return ue.Err
	}
	return err
}

// Status is the HTTP status of err, 0 when there was no answer.
func Status(err error) int {
	var se *Error
	if errors.As(err, &se) {
		return se.Status
	}
	return 0
}

// TimedOut reports that the server did not answer in time.
func TimedOut(err error) bool {
	var te timeoutError
	return errors.As(err, &te)
}

// Unreachable reports an error without any answer: nothing listens, or nothing
// speaks.
func Unreachable(err error) bool { return err != nil && Status(err) == 0 }

// Unauthorized reports a key that is missing or wrong.
func Unauthorized(err error) bool {
	s := Status(err)
	return s == http.StatusUnauthorized || s == http.StatusForbidden
}

// WithHint adds a hint to a *Error that has none.
func WithHint(err error, hint string) error {
	var se *Error
	if errors.As(err, &se) && se.Hint == "" {
		se.Hint = hint
	}
	return err
}

// RefusedError marks a request that the server answered and did not carry out.
type RefusedError struct{ error }

// Unwrap returns the reason.
func (e RefusedError) Unwrap() error { return e.error }

// PartialError marks a request that some of a server's workers refused, or all.
type PartialError struct{ error }

// Unwrap returns the reason.
func (e PartialError) Unwrap() error { return e.error }

// Refused reports that a request never reached a server.
func Refused(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}
