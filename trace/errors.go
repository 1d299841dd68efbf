package trace

import (
	"errors"
	"fmt"
	"io"
)

// Sentinel errors; match with errors.Is.
var (
	// ErrFormat is returned when the input is no trace that this package
	// reads. The message says what it seems to be.
	ErrFormat = errors.New("not a profiler trace")

	// ErrTruncated is wrapped by the [*SyntaxError] of a strict load whose input
	// ends early. It wraps io.ErrUnexpectedEOF.
	ErrTruncated = fmt.Errorf("truncated: %w", io.ErrUnexpectedEOF)

	// ErrDamaged is returned when the input seems to be a trace and no event can
	// be read, because what stands in front of them is damaged. The message says
	// where. An input that was cut off there is [ErrTruncated].
	ErrDamaged = errors.New("damaged")

	// ErrLimit is returned when the input exceeds a configured limit.
	ErrLimit = errors.New("limit exceeded")
)

// SyntaxError is input that breaks the format. It is returned in strict mode
// only; otherwise what it describes is skipped and counted (see [Health]).
type SyntaxError struct {
	Offset int64  // byte in the decompressed input
	Path   string // such as /traceEvents/1042/ts
	Err    error
}

// Error implements error.
func (e *SyntaxError) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("trace: %v (offset %d)", e.Err, e.Offset)
	}
	return fmt.Sprintf("trace: %v at %s (offset %d)", e.Err, e.Path, e.Offset)
}

// Unwrap returns the cause.
func (e *SyntaxError) Unwrap() error { return e.Err }
