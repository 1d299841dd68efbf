// Package apptest runs example programs in the test's own process and compares
// what they print with golden files.
package apptest
