package idle

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/llmstrata/strata/internal/gen/nsysgen"
)

// Times of the imaginary server, in ns.
const (
	steps      = 40
	half       = 15     // kernels of half a step
	kernelTime = 40_000 // of one kernel
	callTime   = 4_000  // of one launch call
	latency    = 3_000  // from the end of a call to the start of its kernel on an idle GPU
	gapTime    = 300_000
	begin      = 1_000_000 // of the host
	mainThread = 1
	stepName   = "execute_context_0(0)_generation_8(8)"
)

// frame marks a row of a Python frame, which Nsight Systems has not.
const frame nsysgen.RowKind = 100

// recorder is a thread of a made-up server and what is recorded of it.
type recorder struct {
	host   int64 // its time
	number int64 // of correlations
	rows   []nsysgen.Row
}

// add notes an event of the host that ends now or later.
func (s *recorder) add(kind nsysgen.RowKind, name string, start, end int64) {
	s.rows = append(s.rows, nsysgen.Row{Kind: kind, Name: name, Start: start, End: end, Thread: mainThread})
}

// call makes an API call of some length and returns its correlation.
func (s *recorder) call(name string, length int64) int64 {
	s.number++
	s.rows = append(s.rows, nsysgen.Row{Kind: nsysgen.RowCall, Name: name, Start: s.host, End: s.host + length,
		Thread: mainThread, Correlation: s.number})
	s.host += length
	return s.number
}

// sim plays the server: one thread of the host and one GPU with one stream.
type sim struct {
	recorder
	gpu     int64
	nsys    bool
	kernels int
	gap     time.Duration // of a loop
	seed    uint64
	plain   bool
	names   []string // of kernels, nil for the usual ones
}

// run puts a kernel on the GPU that was launched by a call, later by some time than it could start.
func (s *sim) run(name string, correlation, length, late, node int64) {
	start := max(s.host+latency, s.gpu) + late
	s.rows = append(s.rows, nsysgen.Row{Kind: nsysgen.RowKernel, Name: name, Start: start, End: start + length,
		Thread: mainThread, Correlation: correlation, Stream: 7, Node: node})
	s.gpu = start + length
}

// copies puts a copy on the GPU.
func (s *sim) copies(correlation, length int64) {
	start := max(s.host+latency, s.gpu)
	s.rows = append(s.rows, nsysgen.Row{Kind: nsysgen.RowCopy, Name: "Memcpy DtoH (Device -> Pinned)", Start: start,
		End: start + length, Thread: mainThread, Correlation: correlation, Stream: 7})
	s.gpu = start + length
}

// launch launches n kernels.
func (s *sim) launch(n int) {
	for range n {
		s.run(s.kernel(), s.call("cudaLaunchKernel", callTime), kernelTime, 0, 0)
	}
}

// kernel is the name of the next kernel: layers of five.
func (s *sim) kernel() string {
	s.kernels++
	if s.names != nil {
		return s.names[s.kernels%len(s.names)]
	}
	return []string{"rms_norm_kernel", "gemm_bf16_kernel", "flash_attention_kernel", "gemm_fp8_kernel",
		"silu_mul_kernel"}[s.kernels%5]
}

// until is when an activity of the host must end to leave a gap of gapTime before the next kernel.
func (s *sim) until() int64 { return s.gpu + gapTime - callTime - latency }

// busy is an activity of the host from now on that leaves a gap.
func (s *sim) busy(kind nsysgen.RowKind, name string) {
	end := s.until()
	s.add(kind, name, s.host, end)
	s.host = end
}

// step is a decode step: half of its kernels, the middle, the other half.
func (s *sim) step(middle func(*sim)) {
	start := s.host
	s.launch(half)
	middle(s)
	s.launch(half)
	if !s.plain {
		s.add(nsysgen.RowRange, stepName, start, s.host)
	}
}

// play runs a case.
func (c Case) play(nsys bool) []nsysgen.Row {
	s := &sim{recorder: recorder{host: begin}, gpu: begin, nsys: nsys, names: c.names}
	for range steps {
		if c.whole != nil {
			c.whole(s)
		} else {
			s.step(c.middle)
		}
		if c.after != nil {
			c.after(s)
		}
		if lead := s.gpu - int64(half*kernelTime); s.host < lead {
			s.host = lead // never more than half a step ahead
		}
	}
	return s.rows
}

// fewAbove is from which length of a gap on a run has fewer steps.
const fewAbove = 10 * time.Millisecond

// play runs a loop.
func (l *Loop) play(nsys bool) []nsysgen.Row {
	s := &sim{recorder: recorder{host: begin}, gpu: begin, nsys: nsys, gap: l.Gap, seed: 1, plain: l.Plain}
	count := steps
	if l.Gap > fewAbove {
		count = steps / 4 // a polling thread has thousands of rows in each
	}
	for n := range count {
		s.step(nothing)
		s.call("cudaStreamSynchronize", max(1_000, s.gpu+1_000-s.host)) // the step's result is waited for
		l.body(s, n)
	}
	s.step(nothing)
	return s.rows
}

// WriteNsys writes the run as an export of Nsight Systems.
func (l *Loop) WriteNsys(path string) error { return nsysgen.WriteRows(path, l.play(true)) }

// WriteTorch writes the run as torch.profiler does.
func (l *Loop) WriteTorch(w io.Writer) error { return writeTorch(w, l.play(false)) }

// WriteNsys writes the case as an export of Nsight Systems.
func (c Case) WriteNsys(path string) error { return nsysgen.WriteRows(path, c.play(true)) }

// WriteTorch writes the case as torch.profiler does.
func (c Case) WriteTorch(w io.Writer) error { return writeTorch(w, c.play(false)) }

func writeTorch(w io.Writer, rows []nsysgen.Row) error {
	b := bufio.NewWriter(w)
	fmt.Fprint(b, `{"schemaVersion":1,"deviceProperties":[{"id":0,"name":"NVIDIA H200"}],"traceEvents":[`)
	for i, r := range rows {
		if i > 0 {
			b.WriteString(",")
		}
		name, err := json.Marshal(r.Name)
		if err != nil {
			return err
		}
		cat, args, pid := torchForm(&r)
		fmt.Fprintf(b, "\n"+`{"ph":"X","cat":%q,"name":%s,"pid":%d,"tid":%d,"ts":%d.%03d,"dur":%d.%03d,"args":{%s}}`,
			cat, name, pid, r.Thread, r.Start/1000, r.Start%1000, (r.End-r.Start)/1000, (r.End-r.Start)%1000, args)
	}
	fmt.Fprint(b, "\n]}\n")
	return b.Flush()
}

// torchForm is how torch.profiler writes a row.
func torchForm(r *nsysgen.Row) (category, args string, pid int) {
	gpu := fmt.Sprintf(`"device":0,"stream":%d,"correlation":%d`, r.Stream, r.Correlation)
	switch r.Kind {
	case nsysgen.RowKernel:
		if r.Node != 0 {
			gpu += fmt.Sprintf(`,"graph node id":%d`, r.Node)
		}
		return "kernel", gpu, 0
	case nsysgen.RowCopy:
		return "gpu_memcpy", gpu, 0
	case nsysgen.RowCall:
		return "cuda_runtime", fmt.Sprintf(`"correlation":%d`, r.Correlation), 1
	case nsysgen.RowOverhead:
		return "overhead", "", 1
	case frame:
		return "python_function", "", 1
	}
	return "user_annotation", "", 1
}
