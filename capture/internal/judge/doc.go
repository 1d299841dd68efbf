// Package judge holds the numbers that decide whether a capture is valid, and
// what follows from them.
package judge
