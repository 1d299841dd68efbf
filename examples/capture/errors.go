package main

import "strings"

// told is an error of package capture under the program's name, which is the
// same word.
type told struct{ error }

func (e told) Error() string { return strings.TrimPrefix(e.error.Error(), "capture: ") }

// Unwrap returns the package's error.
func (e told) Unwrap() error { return e.error }

// tell drops the package's name from the front of an error.
func tell(err error) error {
	if err == nil {
		return nil
	}
	return told{err}
}
