package roofline

// Names that only tests use from outside.
const BoundCompute = boundCompute
const BoundLatency = boundLatency
const BoundLink = boundLink
const BoundMemory = boundMemory

var ErrNoGPU = errNoGPU
var ErrNoLoad = errNoLoad
