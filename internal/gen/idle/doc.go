// Package idle makes traces of an imaginary server whose GPU is idle for one known reason, in the form of
// torch.profiler and of Nsight Systems: what an analysis of idle time must find in them is known.
//
// A decode step launches its kernels far ahead of the GPU, so that nothing but the one reason makes a gap.
package idle
