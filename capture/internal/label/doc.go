// Package label reads what the names of trace files say: which process a file
// is of, which stage, whether it is finished, and which ranks are missing.
package label
