// Package idle makes traces of an imaginary server whose GPU is idle for one known reason, in the form of
// torch.profiler and of Nsight Systems: what an analysis of idle time must find in them is known.
//
// A decode step launches its kernels far ahead of the GPU, so that nothing but the one reason makes a gap.
//
// Runs of operators (AttentionRuns, MisalignedRuns) are those of models as transformers runs them, with the shapes of
// their operands: attention computed in pieces, and products of sizes that no load of 16 bytes fits. Names, shapes and
// times are measured ones where a comment names the source; a time that was not measured is the work of the operator
// at a rate that was. The package shares nothing with the analyses.
package idle
