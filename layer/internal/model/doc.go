// Package model aligns what a GPU ran with what passes of a model usually run, and finds out what that is.
//
// It knows numbers only: names are ids, times nanoseconds. The states are in this file, the recurrence over them in
// decode.go, and how passes and what they have in common are found to begin with in seed.go.
package model
