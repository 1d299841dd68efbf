package trace

import (
	"errors"
	"fmt"
	"io"
)

// Sentinel errors; match with errors.Is.
var (
	// ErrOtherFormat is returned by [Format.Open] where the content is that of
	// another format with the same first bytes: the next one that matches is asked.
	// Only a format that reads [Input.File] alone may return it.
	ErrOtherFormat = errors.New("another format")
	// ErrFormat is returned when the input is no trace that this package
	// reads. The message says what it seems to be.
	ErrFormat = errors.New("not a profiler trace")

	// ErrDamaged is returned when the input seems to be a trace and no event can
	// be read, because what is before them is damaged, and by a strict
	// load for anything that breaks the format. The message says where. An input
	// that was cut off is io.ErrUnexpectedEOF.
	ErrDamaged = errors.New("damaged")

	// ErrLimit is returned when the input exceeds a configured limit.
	ErrLimit = errors.New("limit exceeded")
)

// errTruncated is the cause where an input ends early.
var errTruncated = fmt.Errorf("truncated: %w", io.ErrUnexpectedEOF)

// syntaxError is input that breaks the format. It is returned in strict mode
// only; otherwise what it describes is skipped and counted (see [Health]).
type syntaxError struct {
	Offset int64  // byte in the decompressed input
	Path   string // such as /traceEvents/1042/ts
	Err    error
}

// Error implements error.
func (e *syntaxError) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("trace: %v (offset %d)", e.Err, e.Offset)
	}
	return fmt.Sprintf("trace: %v at %s (offset %d)", e.Err, e.Path, e.Offset)
}

// Is says that what breaks the format is damage.
func (e *syntaxError) Is(target error) bool { return target == ErrDamaged }

// Unwrap returns the cause.
func (e *syntaxError) Unwrap() error { return e.Err }
