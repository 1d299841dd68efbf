// Package host computes the figures of the published host-overhead detector: whether the host limits a run, by ratios
// of the whole window and of the context and generation steps of TensorRT-LLM.
//
// Where the detector is blind, this package is: kernels of all GPUs are one union, which hides an idle GPU beside a
// busy one; launches count only where the file writes cudaLaunchKernel without a version suffix; a phase is one
// window from its first step to its last, whatever lies between; host preparation is summed over ranks. See package
// hostoverhead for answers.
package host
