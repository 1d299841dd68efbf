package live

import "strings"

// told is an error of package capture under a program's name.
type told struct{ error }

func (e told) Error() string { return strings.TrimPrefix(e.error.Error(), "capture: ") }

// Unwrap returns the package's error.
func (e told) Unwrap() error { return e.error }

// Tell drops the package's name from the front of an error, where the program's
// name stands already; nil for nil.
func Tell(err error) error {
	if err == nil {
		return nil
	}
	return told{err}
}
