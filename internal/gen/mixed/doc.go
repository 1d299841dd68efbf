// Package mixed makes runs of one or several models on a GPU, with what goes wrong when they are recorded: records
// lost in one place, single records lost, a window that begins or ends within a pass, names that mean nothing. The
// truth is written beside each kernel by what makes it.
//
// It shares nothing with what finds passes and layers. Orders of kernels are those of package families; durations,
// pauses and damage are drawn from a seed.
package mixed
