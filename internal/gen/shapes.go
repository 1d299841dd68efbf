package gen

import (
	"bytes"
	"fmt"
)

// Shape is a way to write n events of a valid trace as no workload has them: work grows with the square of the events
// in a program that looks at all others for each one.
type Shape struct {
	Name  string
	About string
	Write func(n int) []byte
}

// Shapes returns all shapes.
func Shapes() []Shape {
	return []Shape{
		{"devices", "kernels on a hundred devices in turn",
			func(n int) []byte { return kernels(n, func(i int) (int, int) { return i % 100, 7 }) }},
		{"thousand-devices", "kernels on a thousand devices in turn",
			func(n int) []byte { return kernels(n, func(i int) (int, int) { return i % 1000, 7 }) }},
		{"streams", "each kernel runs on a stream of its own",
			func(n int) []byte { return kernels(n, func(i int) (int, int) { return 0, i }) }},
		{"replay", "one graph launch whose kernels run on n/2 side streams", replay},
		{"ended-frames", "n/2 nested Python frames that have all ended, then launches", endedFrames},
		{"nested-ops", "n/2 nested operations, each with a launch after it",
			func(n int) []byte { return nested(n, "cpu_op", "aten::op") }},
		{"nested-annotations", "n/2 nested annotations, each with a launch after it",
			func(n int) []byte { return nested(n, "user_annotation", "step") }},
		{"modules", "launches inside n/3 nested modules", modules},
		{"names", "each kernel has a name of its own", names},
		{"no-order", "kernels of a layer's names in no order", noOrder},
	}
}

// shapeWriter writes events one a line.
type shapeWriter struct {
	b bytes.Buffer
	n int
}

func newWriter() *shapeWriter {
	w := &shapeWriter{}
	w.b.WriteString(`{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H100"}], "traceEvents": [` +
		"\n")
	return w
}

func (w *shapeWriter) event(format string, args ...any) {
	if w.n++; w.n > 1 {
		w.b.WriteString(",\n")
	}
	fmt.Fprintf(&w.b, format, args...)
}

func (w *shapeWriter) kernel(name string, device, stream, ts, dur, corr int) {
	w.event(`{"ph": "X", "cat": "kernel", "name": %q, "pid": %d, "tid": %d, "ts": %d, "dur": %d, "args": {"device": %d, "stream": %d, "correlation": %d}}`,
		name, device, stream, ts, dur, device, stream, corr)
}

func (w *shapeWriter) launch(name string, ts, corr int) {
	w.event(`{"ph": "X", "cat": "cuda_runtime", "name": %q, "pid": 1, "tid": 1, "ts": %d, "dur": 1, "args": {"correlation": %d}}`, name, ts, corr)
}

func (w *shapeWriter) cpu(cat, name string, ts, dur int) {
	w.event(`{"ph": "X", "cat": %q, "name": %q, "pid": 1, "tid": 1, "ts": %d, "dur": %d}`, cat, name, ts, dur)
}

func (w *shapeWriter) end() []byte {
	w.b.WriteString("\n]}")
	return w.b.Bytes()
}

// gemm is the name of the kernels about which nothing else is known.
const gemm = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64"

// kernels writes n/2 launches with a kernel each, where place says.
func kernels(n int, place func(i int) (device, stream int)) []byte {
	w := newWriter()
	for i := range n / 2 {
		d, s := place(i)
		w.launch("cudaLaunchKernel", 10*i, i+1)
		w.kernel(gemm, d, s, 10*i+5, 4, i+1)
	}
	return w.end()
}

// names writes n/2 launches with a kernel each, of as many names.
func names(n int) []byte {
	w := newWriter()
	for i := range n / 2 {
		w.launch("cudaLaunchKernel", 10*i, i+1)
		w.kernel(fmt.Sprintf("kernel_%d_%x", i, uint32(i)*2654435761), 0, 7, 10*i+5, 4, i+1)
	}
	return w.end()
}

// noOrder writes n/2 launches with a kernel each, of a norm, a product and an attention at random.
func noOrder(n int) []byte {
	w := newWriter()
	kinds := []string{"rms_norm_kernel", gemm, "flash_fwd_kernel"}
	x := uint32(1)
	for i := range n / 2 {
		x = x*1664525 + 1013904223 // a linear congruence; its upper bits are the random ones
		w.launch("cudaLaunchKernel", 10*i, i+1)
		w.kernel(kinds[(x>>16)%3], 0, 7, 10*i+5, 4, i+1)
	}
	return w.end()
}

// replay writes a graph replay whose kernels fork to n/2 streams.
func replay(n int) []byte {
	w := newWriter()
	w.launch("cudaGraphLaunch", 0, 1)
	for i := range n / 2 {
		w.kernel(gemm, 0, 7, 10+4*i, 3, 1)
		w.kernel("side_kernel", 0, 100+i, 11+4*i, 3, 1)
	}
	return w.end()
}

// endedFrames writes n/2 nested frames, which end, and then n/4 launches.
func endedFrames(n int) []byte {
	w := newWriter()
	d := n / 2
	for i := range d {
		w.event(`{"ph": "X", "cat": "python_function", "name": "f.py(%d): f", "pid": 1, "tid": 1, "ts": %d, "dur": %d, "args": {"Python id": %d, "Python parent id": %d}}`, i, i, 2*(d-i), i+1, i)
	}
	for i := range n / 4 {
		w.launch("cudaLaunchKernel", 3*d+10*i, i+1)
		w.kernel(gemm, 0, 7, 3*d+10*i+5, 4, i+1)
	}
	return w.end()
}

// nested writes n/2 nested ranges with a launch of each depth.
func nested(n int, cat, name string) []byte {
	w := newWriter()
	d := n / 2
	for i := range d {
		w.cpu(cat, fmt.Sprintf("%s %d", name, i), 10*i, 20*(d-i)+20*d)
		if i%2 == 0 {
			w.launch("cudaLaunchKernel", 10*i+1, i+1)
			w.kernel(gemm, 0, 7, 10*i+5, 4, i+1)
		}
	}
	return w.end()
}

// modules writes n/3 nested modules around n/3 launches.
func modules(n int) []byte {
	w := newWriter()
	d := n / 3
	for i := range d {
		w.event(`{"ph": "X", "cat": "python_function", "name": "nn.Module: Block_%d", "pid": 1, "tid": 1, "ts": %d, "dur": %d, "args": {"Python id": %d, "Python parent id": %d, "Python module id": %d}}`,
			i, i, 20*d+2*(d-i), i+1, i, i)
	}
	for i := range d {
		w.launch("cudaLaunchKernel", d+10*i, i+1)
		w.kernel(gemm, 0, 7, d+10*i+5, 4, i+1)
	}
	return w.end()
}
