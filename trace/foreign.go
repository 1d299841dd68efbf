package trace

import (
	"strings"

	"github.com/llmstrata/strata/internal/scan"
)

// NOTE: other profilers write Chrome's trace format too. What of them can be
// read like Kineto's is; for the rest it is said what the file is, and not that
// its recorder was set up wrongly.

// The sources of traces in Chrome's format, as [Meta.Source] has them.
const (
	sourceTorch  = "torch.profiler"
	sourceProton = "proton" // of Triton
	sourceXLA    = "xla"    // of JAX and TensorFlow
)

// chromeSource tells which profiler wrote a file, by what only that one writes.
func (b *Builder) chromeSource(values []scan.Meta) string {
	for key := range b.thrID {
		if strings.HasPrefix(key.label, "warp ") && strings.Contains(key.proc.label, " CTA") {
			return sourceProton // inside kernels
		}
	}
	for _, name := range b.procs {
		if strings.HasPrefix(name, "/device:GPU:") || strings.HasPrefix(name, "/device:TPU:") {
			return sourceXLA
		}
	}
	for _, v := range values {
		if v.Key == "displayTimeUnit" && string(v.Value) == `"us"` && len(b.t.queues) > 0 && b.noDevices() {
			return sourceProton
		}
	}
	return sourceTorch
}

// noDevices reports whether no activity says which GPU it ran on.
func (b *Builder) noDevices() bool {
	for _, q := range b.t.queues {
		if q.device != NoDevice {
			return false
		}
	}
	return true
}

// adopt makes a Proton trace one of GPU 0: it names streams and no GPUs, as one
// process has one.
func (b *Builder) adopt(source string) {
	if source != sourceProton || len(b.t.queues) == 0 || !b.noDevices() {
		return
	}
	for i := range b.t.queues {
		b.t.queues[i].device = 0
	}
	b.notes = append(b.notes, Finding{"proton", HealthDegraded, int64(b.t.lanes[LaneGPU].len()),
		"a Proton trace of Triton: kernels with their streams and times, taken to be of GPU 0; it has no launches, operators or steps (record with torch.profiler or Nsight Systems for these)",
		[]string{"attribution", "layers"}})
}

// whyNoActivity says why a trace has no GPU work.
func (t *Trace) whyNoActivity(truncated bool) string {
	switch {
	case truncated: // Kineto writes what ran on the GPU behind what ran on the CPU.
		return "the file is cut off, and they come last"
	case t.meta.Source == sourceXLA:
		return "an XLA profile of JAX or TensorFlow, whose GPU rows are not read: record the process with Nsight Systems, then nsys export --type sqlite"
	case t.meta.Source == sourceProton:
		return "a Proton trace of what happens inside kernels, by core and warp: it has no kernels on streams"
	}
	return "profiler without CUDA/HIP activities, or armed outside the work"
}
