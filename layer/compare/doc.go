// Package compare says what differs between two runs of a model, by operator.
package compare
