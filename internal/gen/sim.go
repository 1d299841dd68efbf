package gen

import (
	"cmp"
	"fmt"
	"strconv"
)

// halfAttention is the first half of a layer, categoryAttention what its largest kernels are.
const (
	halfAttention     = "attn"
	categoryAttention = "attention"
)

// The streams of a simulated GPU.
const (
	mainStream = 0
	sideStream = 1
)

// queued is a kernel or copy that waits for its launch.
type queued struct {
	class    class
	name     string
	category string
	dur      int64
	stream   int
	wait     bool // also wait for the other stream
	layer    int
	half     string
	operator string
	grid     int
	bytes    int64
	gap      int64 // idle time of the stream before it, 0 for the usual
}

// sim is the state of a simulated process and its GPU.
type sim struct {
	cfg Config
	rng random
	out block

	cpu     int64    // the CPU thread's time, raw ns
	free    [2]int64 // when each stream is free
	waiting [2]bool  // the next kernel of the stream waits for the other one

	correlation, external uint64
	frameID               int
	modules               map[string]int // instances seen in this pass, by class
	moduleIDs             map[string]int // "Python module id" by instance
	frames                []int          // open frames: positions in out.frames
	ops                   []uint64       // external ids of open ops

	pass    int // −1 outside the annotated steps
	now     Pass
	stage   string
	rows    int
	layer   int
	half    string
	stream  int // of kernels that do not choose one
	running int // passes begun

	collecting bool     // inside a graph: kernels queue up
	pending    []queued // of the graph
	graphs     int      // graphs replayed in this pass: the id within the model
	passStart  int64    // first GPU start in the pass, 0 for none yet
	passEnd    int64

	from int64 // when the main stream is free and waits for a fault, 0 for none
	late int64 // how long the next kernel waits
	lost int64 // to faults, in all passes
}

// newSim returns a process at the start of the window.
func newSim(cfg Config) *sim {
	s := &sim{
		cfg: cfg, rng: random{cfg.Seed}, cpu: windowStart,
		correlation: 184_000, external: 20_480, frameID: 1000,
		modules: map[string]int{}, moduleIDs: map[string]int{}, pass: -1, layer: -1,
	}
	s.free[mainStream], s.free[sideStream] = windowStart, windowStart
	return s
}

// work lets the CPU thread spend about ns.
func (s *sim) work(ns int64) { s.cpu += s.rng.around(ns, 300) }

// frame runs body inside a Python function's frame.
func (s *sim) frame(name string, body func()) { s.openFrame(name, -1, s.cfg.Stacks, body) }

// module runs body inside the frame of the next instance of a module class and
// the two functions that calling it goes through.
func (s *sim) module(class, source string, body func()) {
	n := s.modules[class]
	s.modules[class]++
	s.instance(class, n, source, body)
}

// instance is module for an instance of known number.
func (s *sim) instance(class string, n int, source string, body func()) {
	if !s.cfg.Modules && !s.cfg.Stacks {
		body()
		return
	}
	name := class + "_" + strconv.Itoa(n)
	id, ok := s.moduleIDs[name]
	if !ok {
		id = len(s.moduleIDs)
		s.moduleIDs[name] = id
	}
	s.openFrame("nn.Module: "+name, id, s.cfg.Modules, func() {
		s.frame("torch/nn/modules/module.py(1779): _call_impl", func() { s.frame(source, body) })
	})
}

// openFrame opens a frame around body, unless it is not recorded. Inside a graph
// there is no Python.
func (s *sim) openFrame(name string, module int, record bool, body func()) {
	if !record || s.collecting {
		body()
		return
	}
	parent := 0
	if n := len(s.frames); n > 0 {
		parent = s.out.frames[s.frames[n-1]].id
	}
	s.frameID++
	at := len(s.out.frames)
	s.out.frames = append(s.out.frames, event{
		class: classFrame, name: name, ts: s.cpu, id: s.frameID, parent: parent, module: module,
	})
	s.frames = append(s.frames, at)
	s.work(350)
	body()
	s.work(250)
	s.frames = s.frames[:len(s.frames)-1]
	s.out.frames[at].dur = s.cpu - s.out.frames[at].ts
}

// op runs body inside a CPU op.
func (s *sim) op(name, dims string, body func()) {
	if s.collecting {
		body()
		return
	}
	s.external++
	at := len(s.out.cpu)
	s.out.cpu = append(s.out.cpu, event{class: classOp, name: name, ts: s.cpu, external: s.external, dims: dims})
	s.ops = append(s.ops, s.external)
	s.work(2600)
	body()
	s.work(900)
	s.ops = s.ops[:len(s.ops)-1]
	s.out.cpu[at].dur = s.cpu - s.out.cpu[at].ts
}

// annotate runs body inside a user annotation and projects it on the GPU.
func (s *sim) annotate(name string, body func()) {
	if name == "" {
		body()
		return
	}
	s.external++
	ext, at := s.external, len(s.out.cpu)
	s.out.cpu = append(s.out.cpu, event{class: classAnnotation, name: name, ts: s.cpu, external: ext})
	s.passStart, s.passEnd = 0, 0
	body()
	s.out.cpu[at].dur = s.cpu - s.out.cpu[at].ts
	if s.passStart > 0 {
		s.out.notes = append(s.out.notes, event{
			class: classGPUAnnotation, name: name, ts: s.passStart - 1, dur: s.passEnd - s.passStart + 2,
			external: ext, stream: mainStream,
		})
	}
}

// kernel runs one kernel of a role inside its op, for dims the op's shapes.
func (s *sim) kernel(r role, dims string) { s.kernelOn(s.stream, r, dims) }

// kernelOn is kernel on a stream of choice.
func (s *sim) kernelOn(stream int, r role, dims string) {
	k := &kinds[r]
	s.extra(s.cfg.ExtraFrames, k.op, func() {
		s.op(k.op, dims, func() { s.launch(s.queue(stream, r)) })
	})
}

// bare launches a kernel of a role inside the op that is already open.
func (s *sim) bare(r role) { s.launch(s.queue(s.stream, r)) }

// queue makes the queue entry of a kernel.
func (s *sim) queue(stream int, r role) queued {
	k := &kinds[r]
	names := k.names[s.cfg.Vendor]
	name := names[0]
	if s.cfg.Arch.TileVariants && len(names) > 1 && s.layer >= 0 {
		// The choice is the layer's, as autotuning by shape and alignment makes it:
		// the same in every pass.
		pick := random{s.cfg.Seed ^ uint64(s.layer)<<8 ^ uint64(r)}
		name = names[pick.next()%uint64(len(names))]
	}
	return queued{
		class: classKernel, name: name, category: k.category, dur: s.duration(k, r), stream: stream,
		operator: s.operator(r, stream),
		grid:     1 + s.rows/4,
	}
}

// duration is how long a kernel runs now.
func (s *sim) duration(k *kernelKind, r role) int64 {
	width := int64(s.cfg.Arch.Hidden)
	ns := k.base*(width+2048)/4096 + k.perRow*int64(s.rows)*width/2048/1000
	switch r {
	case roleDecodeAttn:
		ns += int64(s.now.Decodes) * int64(s.now.Context) / 2
	case rolePrefillAttn:
		ns += int64(s.now.Tokens) * int64(s.now.Tokens) / int64(max(1, s.now.Prefills)) / 40
	}
	if s.layer >= 0 && s.cfg.Arch.Layers[s.layer].Mixer == SlidingAttention && k.category == categoryAttention {
		ns = k.base + (ns-k.base)/4
	}
	ns = s.rng.around(ns, 35)
	if s.cfg.Vendor == NVIDIA {
		ns -= ns % 32 // CUPTI's clock ticks in 32 ns
	}
	return max(ns, 32)
}

// copyMemory runs an asynchronous copy inside its op.
func (s *sim) copyMemory(name string, bytes int64) {
	s.op("aten::copy_", fmt.Sprintf("[[%d], [%d], []]", bytes/8, bytes/8), func() {
		dur := s.rng.around(1400+bytes/12, 50)
		s.launch(queued{class: classMemcpy, name: name, category: "memory", dur: dur - dur%32, stream: mainStream,
			bytes: bytes})
	})
}

// clearMemory runs an asynchronous memset.
func (s *sim) clearMemory(bytes int64) {
	s.op("aten::zero_", fmt.Sprintf("[[%d]]", bytes), func() {
		s.launch(queued{class: classMemset, name: "Memset (Device)", category: "memory", dur: 704, stream: mainStream,
			bytes: bytes})
	})
}

// fork lets the next kernel of the side stream wait for the main one, join the
// other way round.
func (s *sim) fork() { s.dependency(sideStream) }
func (s *sim) join() { s.dependency(mainStream) }

// dependency makes the next kernel of a stream wait for the other stream.
func (s *sim) dependency(stream int) {
	s.waiting[stream] = true
	if !s.collecting {
		s.call(s.api("EventRecordWithFlags"), 900, s.cbid("EventRecordWithFlags"), false)
		s.call(s.api("StreamWaitEvent"), 1100, s.cbid("StreamWaitEvent"), false)
	}
}

// launch queues work in a graph, or launches it by a call of its own.
func (s *sim) launch(q queued) {
	q.layer, q.half = s.layer, s.half
	q.wait, s.waiting[q.stream] = s.waiting[q.stream], false
	if s.collecting {
		s.pending = append(s.pending, q)
		return
	}
	name, cost := "LaunchKernel", int64(4300)
	if s.cfg.Fault.Kind == SlowLaunches {
		cost = s.cfg.Fault.For.Nanoseconds()
	}
	switch q.class {
	case classMemcpy:
		name, cost = "MemcpyAsync", 5200
	case classMemset:
		name, cost = "MemsetAsync", 3900
	}
	c := s.call(s.api(name), cost, s.cbid(name), true)
	s.start(q, c, 0, 0)
}

// call records an API call and returns its correlation and end.
func (s *sim) call(name string, cost int64, cbid int, launches bool) called {
	s.correlation += 1 + s.rng.next()%9 // calls that are not recorded count too
	e := event{
		class: classRuntime, name: name, ts: s.cpu, correlation: s.correlation, cbid: cbid, launches: launches,
		external: s.currentOp(),
	}
	s.work(cost)
	e.dur = s.cpu - e.ts
	s.out.gpu = append(s.out.gpu, e)
	s.work(300)
	return called{s.correlation, e.ts + e.dur, e.external}
}

// called is what an activity knows of its call.
type called struct {
	correlation uint64
	end         int64
	external    uint64
}

// start puts work on its stream after its call and records it.
func (s *sim) start(q queued, c called, graph, node uint64) {
	gap := s.rng.between(380, 900)
	if node != 0 {
		gap = s.rng.between(200, 520)
	}
	if q.gap > 0 {
		gap = q.gap
	}
	gap, s.late = gap+s.late, 0
	if s.cfg.Fault.Kind == SlowNodes && node > 3 {
		more := s.cfg.Fault.For.Nanoseconds() / int64(max(1, len(s.pending)-1))
		gap += more
		s.lost += more
	}
	at := max(s.free[q.stream]+gap, c.end+s.rng.between(1200, 2100))
	if s.cfg.Fault.Kind == SlowLaunches {
		s.from = s.free[q.stream]
	}
	if s.from > 0 {
		s.lost += at - s.from
		s.from = 0
	}
	if q.wait {
		at = max(at, s.free[1-q.stream]+gap)
	}
	s.free[q.stream] = at + q.dur
	s.passStart = cmp.Or(s.passStart, at)
	s.passEnd = max(s.passEnd, at+q.dur)
	e := event{
		class: q.class, name: q.name, ts: at, dur: q.dur, correlation: c.correlation, external: c.external,
		stream: s.streamID(q.stream), graph: graph, node: node, bytes: q.bytes,
		grid: [3]int{max(1, q.grid), 1, 1}, block: [3]int{256, 1, 1},
	}
	if s.cfg.Truth != nil {
		stage := s.stage
		if s.pass < 0 {
			stage = ""
		}
		e.truth = &Truth{
			Start: at, Duration: q.dur, Device: s.cfg.Rank, Stream: e.stream, Kind: kindName(q.class), Name: q.name,
			Pass: s.pass, Layer: q.layer, Half: q.half, Stage: stage, Category: q.category, Graph: node != 0,
			Operator: q.operator, Grid: e.grid[0],
		}
	}
	s.out.gpu = append(s.out.gpu, e)
}

// kindName is the Truth's word for a class.
func kindName(c class) string {
	switch c {
	case classMemcpy:
		return "memcpy"
	case classMemset:
		return "memset"
	}
	return "kernel"
}

// capture collects the kernels of body as one graph and replays it.
func (s *sim) capture(body func()) {
	s.collecting = true
	body()
	s.collecting = false
	s.replay()
}

// replay launches what was collected by a single call.
func (s *sim) replay() {
	if len(s.pending) == 0 {
		return
	}
	s.graphs++
	id := uint64(s.graphs)
	var c called
	s.frame("<built-in method replay of CUDAGraph object at 0x7f3a5c1b4930>", func() {
		cost := 9000 + 30*int64(len(s.pending))
		if s.cfg.Fault.Kind == SlowGraphCall {
			cost += s.cfg.Fault.For.Nanoseconds()
			s.lost += s.cfg.Fault.For.Nanoseconds()
		}
		c = s.call(s.api("GraphLaunch"), cost, s.cbid("GraphLaunch"), true)
	})
	for i, q := range s.pending {
		s.start(q, c, id, uint64(i+1)<<1|1)
	}
	s.pending = s.pending[:0]
}

// extra opens n short frames, nested in fours, and runs body in the innermost:
// what dispatchers and wrappers leave in a real stack.
func (s *sim) extra(n int, op string, body func()) {
	if n <= 0 || s.collecting || !s.cfg.Stacks {
		body()
		return
	}
	for ; n > 8; n -= 2 { // calls that return before the launch
		s.frame(leafFrames[n%len(leafFrames)], func() { s.frame(leafFrames[(n+3)%len(leafFrames)], func() {}) })
	}
	var nest func(int)
	nest = func(k int) {
		if k == 0 {
			body()
			return
		}
		name := "torch/_ops.py(1244): __call__"
		if k%2 == 0 {
			name = "<built-in method " + op + " of PyCapsule object at 0x7f3a5c0e87b0>"
		}
		s.frame(name, func() { nest(k - 1) })
	}
	nest(n)
}

// leafFrames are short calls that real stacks are full of.
var leafFrames = []string{
	"<built-in function len>", "<built-in function isinstance>",
	"<built-in method size of Tensor object at 0x7f3a5c224c30>",
	"torch/_tensor.py(1648): __torch_function__", "<built-in method is_contiguous of Tensor object at 0x7f3a5c224c30>",
	"enum.py(1162): __hash__", "<built-in function getattr>", "torch/cuda/__init__.py(1029): current_device",
}

// currentOp is the external id of the innermost open op, 0 for none.
func (s *sim) currentOp() uint64 {
	if n := len(s.ops); n > 0 {
		return s.ops[n-1]
	}
	return 0
}

// streamID is how the vendor's profiler numbers a stream.
func (s *sim) streamID(stream int) int {
	if s.cfg.Vendor == AMD {
		return 2 + stream
	}
	return [2]int{7, 23}[stream]
}

// api returns the vendor's name of a runtime call.
func (s *sim) api(name string) string {
	if s.cfg.Vendor == AMD {
		return amdAPI[name]
	}
	return cudaAPI[name]
}

// cbid returns the profiler's number of a runtime call.
func (s *sim) cbid(name string) int { return callbackIDs[name][s.cfg.Vendor] }

// The names are looked up instead of joined: they are needed for every event.
var (
	cudaAPI = map[string]string{
		"LaunchKernel": "cudaLaunchKernel", "MemcpyAsync": "cudaMemcpyAsync", "MemsetAsync": "cudaMemsetAsync",
		"GraphLaunch": "cudaGraphLaunch", "EventRecordWithFlags": "cudaEventRecordWithFlags",
		"StreamWaitEvent": "cudaStreamWaitEvent", "StreamSynchronize": "cudaStreamSynchronize",
	}
	amdAPI = map[string]string{
		"LaunchKernel": "hipLaunchKernel", "MemcpyAsync": "hipMemcpyAsync", "MemsetAsync": "hipMemsetAsync",
		"GraphLaunch": "hipGraphLaunch", "EventRecordWithFlags": "hipEventRecord",
		"StreamWaitEvent": "hipStreamWaitEvent", "StreamSynchronize": "hipStreamSynchronize",
	}
	callbackIDs = map[string][2]int{ // as recorded in real traces of both vendors
		"LaunchKernel": {211, 107}, "MemcpyAsync": {41, 134}, "MemsetAsync": {51, 147}, "GraphLaunch": {311, 215},
		"EventRecordWithFlags": {370, 62}, "StreamWaitEvent": {147, 200}, "StreamSynchronize": {131, 198},
	}
)
