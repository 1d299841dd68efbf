package gen

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// The clock of the made-up machine: what real traces of one quarter have. ts is
// relative to baseTime, which is why it is far from zero.
const (
	baseTime    = 1775078550000000000 // "baseTimeNanoseconds"
	windowStart = 7721328752100825    // raw ns of the window's start
	processID   = 267
	flushAt     = 256 << 10 // bytes collected before a write
)

// writer formats events as Kineto does and keeps the first error of w.
type writer struct {
	w       io.Writer
	buf     []byte
	written int64
	err     error

	vendor  Vendor
	cfg     *Config
	thread  int // of the CPU events, counted from the first
	index   int // next "Ev Idx"
	orphans int // activities whose launch is still to be left out
}

// flush passes on what was collected.
func (w *writer) flush() {
	if w.err == nil {
		_, w.err = w.w.Write(w.buf)
	}
	w.written += int64(len(w.buf))
	w.buf = w.buf[:0]
}

// text, num and time append to the buffer.
func (w *writer) text(s string) { w.buf = append(w.buf, s...) }
func (w *writer) num(n int64)   { w.buf = strconv.AppendInt(w.buf, n, 10) }
func (w *writer) time(ns int64) {
	w.num(ns / 1000)
	f := ns % 1000
	w.buf = append(w.buf, '.', byte('0'+f/100), byte('0'+f/10%10), byte('0'+f%10))
}

// header writes everything up to the first event.
func (w *writer) header() {
	w.text("\n  {\n    \"schemaVersion\": 1,\n    \"deviceProperties\": [\n")
	for id := range max(w.cfg.TP, w.cfg.gpus) {
		if id > 0 {
			w.text(",\n")
		}
		if w.vendor == AMD {
			fmt.Fprintf(w, `    {
      "id": %d, "name": "AMD Instinct MI300X", "totalGlobalMem": 206141652992,
      "computeMajor": 9, "computeMinor": 4,
      "maxThreadsPerBlock": 1024, "maxThreadsPerMultiprocessor": 2048,
      "regsPerBlock": 131072, "warpSize": 64,
      "sharedMemPerBlock": 65536, "numSms": 304
    , "maxSharedMemoryPerMultiProcessor": 65536
    }`, id)
			continue
		}
		fmt.Fprintf(w, `    {
      "id": %d, "name": "NVIDIA H100 80GB HBM3", "totalGlobalMem": 85018279936,
      "computeMajor": 9, "computeMinor": 0,
      "maxThreadsPerBlock": 1024, "maxThreadsPerMultiprocessor": 2048,
      "regsPerBlock": 65536, "warpSize": 32,
      "sharedMemPerBlock": 49152, "numSms": 132
    , "regsPerMultiprocessor": 65536, "sharedMemPerBlockOptin": 232448, "sharedMemPerMultiprocessor": 233472
    }`, id)
	}
	w.text("\n    ],\n")
	if w.cfg.Stacks {
		w.text("      \"with_stack\": 1,\n")
	}
	if w.cfg.Modules {
		w.text("      \"with_modules\": 1,\n")
	}
	if !w.cfg.NoShapes {
		w.text("      \"record_shapes\": 1,\n")
	}
	ranks := make([]string, w.cfg.TP)
	for id := range ranks {
		ranks[id] = strconv.Itoa(id)
	}
	all := strings.Join(ranks, ", ")
	fmt.Fprintf(w, `      "distributedInfo": {"backend": "nccl", "rank": %d, "world_size": %d, "pg_count": 2, "pg_config": [{"pg_name": "0", "pg_desc": "default_pg", "backend_config": "cuda:nccl", "pg_size": %d, "ranks": [%s]}, {"pg_name": "1", "pg_desc": "undefined", "backend_config": "cuda:nccl", "pg_size": %d, "ranks": [%s]}], "nccl_version": "2.27.7"},
`, w.cfg.Rank, w.cfg.TP, w.cfg.TP, all, w.cfg.TP, all)
	if w.vendor == AMD {
		w.text("      \"hip_runtime_version\": 70253211,\n      \"hip_driver_version\": 70253211,\n      \"roctracer_version\": 4.1,\n")
	} else {
		w.text("      \"cuda_runtime_version\": 12080,\n      \"cuda_driver_version\": 12090,\n      \"cupti_version\": 26,\n")
	}
	fmt.Fprintf(w, "      \"trace_id\": \"5D2A9C41E7B84F06A3190C%010X\",\n  \"displayTimeUnit\": \"ms\",\n  \"baseTimeNanoseconds\": %d,\n  \"traceEvents\": [\n", w.cfg.Seed&0xffffffffff, int64(baseTime))
}

// Write lets fmt append to the buffer.
func (w *writer) Write(p []byte) (int, error) {
	w.buf = append(w.buf, p...)
	return len(p), nil
}

// events writes a block in Kineto's order.
func (w *writer) events(b *block) {
	for _, list := range [][]event{b.cpu, b.frames, b.gpu, b.notes} {
		for i := range list {
			w.event(&list[i])
			if len(w.buf) >= flushAt {
				w.flush()
			}
		}
	}
}

// categories are the words of the classes.
var categories = [...]string{
	classAnnotation: "user_annotation", classOp: "cpu_op", classFrame: "python_function", classRuntime: "cuda_runtime",
	classKernel: "kernel", classMemcpy: "gpu_memcpy", classMemset: "gpu_memset",
	classGPUAnnotation: "gpu_user_annotation",
}

// event writes one event and the flow that belongs to it. One function: it is the
// text of an event, field by field in the order of the file.
func (w *writer) event(e *event) {
	gpu := e.class >= classKernel
	switch {
	case e.class == classRuntime && e.launches && w.orphans > 0:
		return // the window opened after this call
	case gpu && e.class != classGPUAnnotation && w.orphans > 0:
		w.orphans--
	}
	pid, tid := int64(processID), int64(processID+w.thread)
	if gpu {
		pid, tid = int64(w.cfg.Rank), int64(e.stream)
	}
	w.text("  {\n    \"ph\": \"X\", \"cat\": \"")
	w.text(categories[e.class])
	w.text("\", \"name\": \"")
	w.text(e.name)
	field(w, "\", \"pid\": ", pid)
	field(w, ", \"tid\": ", tid)
	w.text(",\n    \"ts\": ")
	w.time(e.ts)
	w.text(", \"dur\": ")
	w.time(e.dur)
	w.text(",\n    \"args\": {\n      ")
	switch e.class {
	case classAnnotation, classOp:
		field(w, "\"External id\": ", e.external)
		w.text(",\"Record function id\": 0, ")
		if e.dims != "" {
			w.text("\"Input Dims\": ")
			w.text(e.dims)
			w.text(", ")
		}
		w.evIdx()
	case classFrame:
		w.text("\"Python parent id\": ")
		if e.parent == 0 {
			w.text("null")
		} else {
			w.num(int64(e.parent))
		}
		field(w, ", \"Python id\": ", e.id)
		w.text(", ")
		if e.module >= 0 {
			field(w, "\"Python module id\": ", e.module)
			w.text(", ")
		}
		w.evIdx()
	case classGPUAnnotation:
		field(w, "\"External id\": ", e.external)
	case classRuntime:
		w.external(e)
		number := "\"cbid\": "
		if w.vendor == AMD {
			number = "\"cid\": "
		}
		field(w, number, e.cbid)
		field(w, ", \"correlation\": ", e.correlation)
	default:
		w.activity(e)
	}
	w.text("\n    }\n  },\n")
	if !w.cfg.NoFlows && e.class != classGPUAnnotation && (gpu || e.class == classRuntime) {
		w.flow(e, pid, tid)
	}
	if e.truth != nil && w.cfg.Truth != nil {
		w.cfg.Truth(*e.truth)
	}
}

// evIdx writes the running number of CPU events.
func (w *writer) evIdx() {
	field(w, "\"Ev Idx\": ", w.index)
	w.index++
}

// external writes the linked op, or the blank Kineto leaves without one.
func (w *writer) external(e *event) {
	if e.external == 0 {
		w.text("      ")
		return
	}
	field(w, "\"External id\": ", e.external)
	w.text(",      ")
}

// activity writes the args of a kernel, copy or set.
func (w *writer) activity(e *event) {
	w.external(e)
	if w.vendor == NVIDIA && e.class == classKernel {
		w.text("\"queued\": 0, ")
	}
	field(w, "\"device\": ", w.cfg.Rank)
	if w.vendor == NVIDIA {
		w.text(", \"context\": 1")
	}
	field(w, ",      \"stream\": ", e.stream)
	field(w, ", \"correlation\": ", e.correlation)
	if e.class != classKernel {
		field(w, ",      \"bytes\": ", e.bytes)
		w.text(", \"memory bandwidth (GB/s)\": ")
		w.time(1000 * e.bytes / max(1, e.dur)) // B/ns = GB/s, in thousandths
		return
	}
	if w.vendor == AMD {
		if e.node != 0 {
			w.text(", \"kind\": \"Dispatch Task\"") // replays have no shape there
			return
		}
		w.text(", \"kind\": \"Dispatch Kernel\"")
	} else {
		w.text(",      \"registers per thread\": 40,      \"shared memory\": 0")
	}
	w.text(",      \"grid\": [")
	w.triple(e.grid)
	w.text("],      \"block\": [")
	w.triple(e.block)
	w.text("]")
	if w.vendor == NVIDIA {
		w.text(",      \"est. achieved occupancy %\": 0")
	}
	if w.cfg.GraphIDs {
		field(w, ",      \"graph id\": ", e.graph)
		field(w, ", \"graph node id\": ", e.node)
	}
}

// field writes a number after what precedes it.
func field[N int | int64 | uint64](w *writer, before string, n N) {
	w.text(before)
	w.num(int64(n))
}

// triple writes three numbers.
func (w *writer) triple(t [3]int) {
	w.num(int64(t[0]))
	field(w, ", ", t[1])
	field(w, ", ", t[2])
}

// flow writes the start of a flow after a launch, and its end after an
// activity and after calls that launch nothing.
func (w *writer) flow(e *event, pid, tid int64) {
	phase, bind := "f", ", \"bp\": \"e\""
	if e.class == classRuntime && e.launches {
		phase, bind = "s", ""
	}
	w.text("  {\n    \"ph\": \"")
	w.text(phase)
	field(w, "\", \"id\": ", e.correlation)
	field(w, ", \"pid\": ", pid)
	field(w, ", \"tid\": ", tid)
	w.text(", \"ts\": ")
	w.time(e.ts)
	w.text(",\n    \"cat\": \"ac2g\", \"name\": \"ac2g\"")
	w.text(bind)
	w.text("\n  },\n")
}

// trailer writes the metadata rows, the spans of the window and the end.
func (w *writer) trailer(streams []int, end int64) {
	meta := func(name string, pid, tid int, key, value string) {
		fmt.Fprintf(w, "  {\n    \"name\": %q, \"ph\": \"M\", \"ts\": ", name)
		w.time(windowStart)
		fmt.Fprintf(w, ", \"pid\": %d, \"tid\": %d,\n    \"args\": {\n      %q: %s\n    }\n  },\n", pid, tid, key,
			value)
	}
	meta("process_name", processID, 0, "name", `"sglang::scheduler"`)
	meta("process_labels", processID, 0, "labels", `"CPU"`)
	meta("process_sort_index", processID, 0, "sort_index", strconv.Itoa(processID))
	for gpu := range 8 { // declared whether present or not
		meta("process_name", gpu, 0, "name", `"sglang::scheduler"`)
		meta("process_labels", gpu, 0, "labels", fmt.Sprintf(`"GPU %d"`, gpu))
		meta("process_sort_index", gpu, 0, "sort_index", strconv.Itoa(5000000+gpu))
	}
	for _, s := range streams {
		meta("thread_name", w.cfg.Rank, s, "name", fmt.Sprintf(`"stream %d "`, s))
		meta("thread_sort_index", w.cfg.Rank, s, "sort_index", strconv.Itoa(s))
	}
	meta("thread_name", processID, processID, "name", `"thread 267 (sglang::schedul)"`)
	meta("thread_sort_index", processID, processID, "sort_index", strconv.Itoa(processID))
	const before = 50_377 // ns from the window's start to the first frame
	w.text("  {\n    \"ph\": \"X\", \"cat\": \"Trace\", \"ts\": ")
	w.time(windowStart - before)
	w.text(", \"dur\": ")
	w.time(end - windowStart + before)
	w.text(",\n    \"pid\": \"Spans\", \"tid\": \"PyTorch Profiler\",\n    \"name\": \"PyTorch Profiler (0)\",\n    \"args\": {\n      \"Op count\": 0\n    }\n  },\n")
	w.text("  {\n    \"name\": \"process_sort_index\", \"ph\": \"M\", \"ts\": ")
	w.time(windowStart - before)
	w.text(",\n    \"pid\": \"Spans\", \"tid\": 0,\n    \"args\": {\n      \"sort_index\": 536870912\n    }\n  },\n")
	w.text("  {\n    \"name\": \"Iteration Start: PyTorch Profiler\", \"ph\": \"i\", \"s\": \"g\",\n    \"pid\": \"Traces\", \"tid\": \"Trace PyTorch Profiler\", \"ts\": ")
	w.time(windowStart - before)
	w.text("\n  },\n  {\n    \"name\": \"Record Window End\", \"ph\": \"i\", \"s\": \"g\",\n    \"pid\": \"\", \"tid\": \"\", \"ts\": ")
	w.time(end)
	w.text("\n  }\n  ],\n  \"traceName\": \"/tmp/tmpj4c9j8yf.json\"\n}\n")
	w.flush()
}
