// Package eventjson writes the events of loaded traces as the JSON that torch.profiler writes, which viewers and
// [trace.Read] read: of a trace whose file is no JSON, or of the ranks of a run beside each other.
package eventjson
