package names

import "github.com/llmstrata/strata/layer"

// ErrNoKernels is a [layer.ErrNoKernels] that says what to do.
var ErrNoKernels error = noKernels{}

type noKernels struct{}

func (noKernels) Error() string {
	return "hostoverhead: no GPU kernels in the trace: record with CUDA or HIP activities, while the server works"
}

func (noKernels) Unwrap() error { return layer.ErrNoKernels }
