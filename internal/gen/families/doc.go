// Package families holds the orders of kernels of many kinds of models, written down from the public sources of
// servers and models, to try on them what finds passes and layers.
//
// It makes runs of one or several of them on a GPU, with what goes wrong when they are recorded: records lost in one
// place, single records lost, a window that begins or ends within a pass, names that mean nothing. The truth is written
// beside each kernel by what makes it. It shares nothing with what finds passes and layers; durations, pauses and
// damage are drawn from a seed.
package families
