package idle

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/llmstrata/strata/internal/gen/nsysgen"
)

// OperatorRun is a run in which one thing is planted.
type OperatorRun struct {
	Name string
	// PerStep is what a step would be shorter by without the planted thing.
	PerStep time.Duration

	gpu         forwardGPU
	layers      int
	layer, tail []operator
}

// forwardGPU is a device as recorders describe it: memory in bytes.
type forwardGPU struct {
	name          string
	memory, units int64
}

var (
	h100    = forwardGPU{"NVIDIA H100 80GB HBM3", 85_018_279_936, 132}
	rtx4090 = forwardGPU{"NVIDIA GeForce RTX 4090", 25_393_692_672, 128}
)

// operator is an operator of PyTorch and the kernel that it launches.
type operator struct {
	name, dims, types string
	kernel            string
	us                float64
}

const (
	operatorSteps      = 4
	operatorCallTime   = 4_000  // ns of a launch call
	opTime             = 8_000  // ns of an operator on the host
	operatorLatency    = 2_500  // ns from the call to the start on an idle GPU
	gap                = 900    // ns between two kernels of a stream
	opened             = 50_000 // ns from the start of the window to the first step
	operatorMainThread = 1
)

// event is a row of a recording: an operator, its launch call, its kernel, or a step.
type event struct {
	op         *operator
	start, end [3]int64 // of the operator, the call and the kernel
	step       string
	number     int64
}

// play runs the case: the host is far ahead of the GPU in each step and waits for it at its end.
func (c OperatorRun) play() []event {
	var out []event
	host, gpu, number := int64(opened), int64(0), int64(0)
	seed := uint64(1)
	run := func(list []operator) {
		for i := range list {
			o := &list[i]
			number++
			seed = seed*6364136223846793005 + 1442695040888963407 // Knuth's linear congruence, MMIX
			length := int64(1000 * o.us * (0.99 + 0.02*float64(seed>>40)/(1<<24)))
			e := event{op: o, number: number}
			e.start[0], e.end[0] = host, host+opTime
			e.start[1] = host + (opTime-operatorCallTime)/2
			e.end[1] = e.start[1] + operatorCallTime
			e.start[2] = max(e.end[1]+operatorLatency, gpu+gap)
			e.end[2] = e.start[2] + length
			host, gpu = e.end[0], e.end[2]
			out = append(out, e)
		}
	}
	for n := range operatorSteps {
		at, start := len(out), host
		out = append(out, event{step: fmt.Sprintf("ProfilerStep#%d", n)})
		for range c.layers {
			run(c.layer)
		}
		run(c.tail)
		number++
		wait := event{number: number}
		wait.start[1], host = host, max(host, gpu)+2_000
		wait.end[1] = host
		out = append(out, wait)
		out[at].start[0], out[at].end[0] = start, host
	}
	return out
}

// WriteTorch writes the run as torch.profiler does with record_shapes.
func (c OperatorRun) WriteTorch(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, `{"schemaVersion": 1, "record_shapes": 1, "deviceProperties": [{"id": 0, "name": %q, "totalGlobalMem": %d, "numSms": %d}], "displayTimeUnit": "ms", "baseTimeNanoseconds": 1775078550000000000, "traceEvents": [`,
		c.gpu.name, c.gpu.memory, c.gpu.units)
	comma := ""
	put := func(category, name string, pid, tid int, start, end int64, args string) {
		fmt.Fprintf(b, "%s\n"+`{"ph": "X", "cat": %q, "name": %q, "pid": %d, "tid": %d, "ts": %d.%03d, "dur": %d.%03d, "args": {%s}}`,
			comma, category, name, pid, tid, start/1000, start%1000, (end-start)/1000, (end-start)%1000, args)
		comma = ","
	}
	for _, e := range c.play() {
		id := fmt.Sprintf(`"External id": %d`, e.number)
		correlation := fmt.Sprintf(`"correlation": %d`, e.number)
		switch {
		case e.step != "":
			put("user_annotation", e.step, 1, operatorMainThread, e.start[0], e.end[0], `"External id": 0`)
		case e.op == nil:
			put("cuda_runtime", "cudaStreamSynchronize", 1, operatorMainThread, e.start[1], e.end[1], correlation)
		default:
			put("cpu_op", e.op.name, 1, operatorMainThread, e.start[0], e.end[0],
				fmt.Sprintf(`%s, "Input Dims": %s, "Input type": %s`, id, e.op.dims, e.op.types))
			put("cuda_runtime", "cudaLaunchKernel", 1, operatorMainThread, e.start[1], e.end[1], id+", "+correlation)
			put("kernel", e.op.kernel, 0, 7, e.start[2], e.end[2],
				fmt.Sprintf(`%s, "device": 0, "stream": 7, %s, "grid": [1024, 1, 1], "block": [128, 1, 1]`, id, correlation))
		}
	}
	fmt.Fprint(b, "\n]}\n")
	return b.Flush()
}

// WriteNsys writes the run as an export of Nsight Systems with the ranges of torch.cuda.profiler.emit_nvtx with
// record_shapes: "aten::mm, op_id = 7, sizes = [[2, 3], [3, 4]]".
func (c OperatorRun) WriteNsys(path string) error {
	rows := []nsysgen.Row{{Kind: nsysgen.RowGPU, Name: c.gpu.name, Start: c.gpu.memory, Node: c.gpu.units}}
	add := func(kind nsysgen.RowKind, name string, e *event, part int) {
		rows = append(rows, nsysgen.Row{Kind: kind, Name: name, Start: e.start[part], End: e.end[part],
			Thread: operatorMainThread, Correlation: e.number, Stream: 7, Grid: 1024})
	}
	for _, e := range c.play() {
		switch {
		case e.step != "":
			add(nsysgen.RowRange, e.step, &e, 0)
		case e.op == nil:
			add(nsysgen.RowCall, "cudaStreamSynchronize_v3020", &e, 1)
		default:
			add(nsysgen.RowRange, fmt.Sprintf("%s, op_id = %d, sizes = %s", e.op.name, e.number, e.op.dims), &e, 0)
			add(nsysgen.RowCall, "cudaLaunchKernel_v7000", &e, 1)
			add(nsysgen.RowKernel, e.op.kernel, &e, 2)
		}
	}
	return nsysgen.WriteRows(path, rows)
}

// shape writes the dimensions of a tensor.
func shape(dims ...int) string { return strings.ReplaceAll(fmt.Sprint(dims), " ", ", ") }

// tensors writes the shapes and types of operands; one without dimensions is a number.
func tensors(dtype string, dims ...[]int) (string, string) {
	var shapes, types []string
	for _, d := range dims {
		shapes = append(shapes, shape(d...))
		if types = append(types, `"`+dtype+`"`); len(d) == 0 {
			types[len(types)-1] = `"Scalar"`
		}
	}
	return "[" + strings.Join(shapes, ", ") + "]", "[" + strings.Join(types, ", ") + "]"
}

const bf16 = "c10::BFloat16"

// operatorCall is an operator on tensors of bfloat16.
func operatorCall(us float64, name, kernel string, dims ...[]int) operator {
	o := operator{name: name, kernel: kernel, us: us}
	o.dims, o.types = tensors(bf16, dims...)
	return o
}

// linear is a product with a weight and a bias.
func linear(us float64, kernel string, m, k, n int) operator {
	return operatorCall(us, "aten::addmm", kernel, []int{n}, []int{m, k}, []int{k, n}, nil, nil)
}
