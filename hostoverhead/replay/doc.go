// Package replay says what the steps of a trace would take if something about them were different: a host cause
// removed, the host one step ahead, all launches of a step in one graph, a synchronisation removed, a kernel faster,
// two kernels fused.
//
// The trace becomes a list of what the host did, in the order in which it issued work, and of what the GPU did for
// it. A replay goes over it once. An act of the GPU starts when its launch has reached the GPU, the act before it on
// its stream has ended, and what it waits for on another stream has ended; a synchronising call returns when the act
// that it waits for has ended.
//
// Each answer has to pass two gates. The replay with fitted constants instead of measured times must reproduce a
// step within 1%; and without the edges that an edit uses it must not, else the trace does not test them. What the
// model cannot answer is refused, with the reason. Gains are relative to the trace's own steps; never use them as
// absolute times.
package replay
