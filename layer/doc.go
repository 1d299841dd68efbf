// Package layer finds forward passes and decoder layers in a trace and says what each of them costs.
//
// # Terminology
//
// A pass is one run of the model over one batch: a prefill step, a decode step, one draft or verify run of
// speculative decoding. A layer is one decoder block of it. A half is a named part of a layer (attention, feed forward)
// where the model's profile defines one. Kernels of a pass that belong to no layer are its prologue (embedding, batch
// preparation) and its epilogue (final norm, logits, sampling); they carry the pass and layer [None].
//
// # Evidence
//
// Analyze climbs down a ladder and says on which rung it stopped. Passes come from step annotations on the launching
// thread, else from the outermost module frame, else from graph replays, else from the structure of the kernel
// sequence. Layers come from module frames, else from the profile's anchor kernel, else from repeats: the kernel-name
// sequence of a pass is prologue · unit₀ … unit_{N−1} · epilogue, with units that need not be equal.
// docs/segmentation.md describes the method, what it was measured on and where it can be wrong.
//
// Results are plain data; package view makes documents and tables of them.
package layer
