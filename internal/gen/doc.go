// Package gen writes torch-profiler (Kineto) traces of made-up LLM inference
// runs, together with the truth about every GPU activity in them: which pass,
// layer, half, stage and category it belongs to.
//
// The traces look like real ones: Kineto's own formatting and order of events,
// launches with correlations and flows, CPU ops with input shapes, Python
// stacks and nn.Module frames, step annotations of several serving frameworks,
// eager passes, full and piecewise graph replays, side streams, tensor-parallel
// collectives. [Write] streams them in constant memory at any size, the same
// bytes for the same [Config] on every machine.
//
// # NOTE
//
// A pass is run by a simulator (sim.go) that walks through the model's code
// (model.go) as Python would: it opens frames and ops, calls launch functions
// that take time on the CPU, and queues kernels on streams that start when their
// launch is done, their stream is free and their dependencies are met. In a graph
// replay the same walk only collects kernels; one launch call then starts them all.
// Times are integers in ns and randomness comes from one seeded source, so no
// output depends on the machine.
package gen
