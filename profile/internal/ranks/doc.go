// Package ranks reads parallel sizes from the names of a run's trace files.
package ranks
