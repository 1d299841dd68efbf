package roofline

import "strings"

// Names that only tests use from outside.
const BoundCompute = boundCompute
const BoundLatency = boundLatency
const BoundLink = boundLink
const BoundMemory = boundMemory

var ErrNoGPU = errNoGPU
var ErrNoLoad = errNoLoad

// OpNames are the names of the ops of each row of the table.
func OpNames() (out [][]string) {
	for _, r := range opRows {
		out = append(out, strings.Fields(r.names))
	}
	return out
}
