// Package xplane reads XSpace, the protobuf that JAX, XLA and TensorFlow record
// (*.xplane.pb), into the model of package trace: the GPUs' streams with the XLA
// operation and module of each kernel, and what the host's threads did.
//
//	t, err := trace.Open(ctx, "host.xplane.pb", trace.Options{Formats: []trace.Format{xplane.Format()}})
//
// Lines that the profiler derives of others (steps, modules, operations) are left
// out: their times would count twice. The modules are annotations of their GPU.
package xplane
