package gen

// class is the sort of an event, in the order of the file.
type class uint8

const (
	classAnnotation class = iota // user_annotation
	classOp                      // cpu_op
	classFrame                   // python_function
	classRuntime                 // cuda_runtime
	classKernel
	classMemcpy
	classMemset
	classGPUAnnotation
)

// event is one complete event before it is written. Which fields mean
// something depends on its class.
type event struct {
	class    class
	name     string
	ts, dur  int64 // raw ns
	external uint64

	// frames
	id, parent, module int // module −1 for a function

	// ops
	dims string

	// launches and activities
	correlation uint64
	stream      int
	cbid        int
	node        uint64 // graph node, 0 outside graphs
	graph       uint64 // graph id, 0 outside graphs
	grid, block [3]int
	bytes       int64
	launches    bool // the call starts a flow
	truth       *Truth
}

// block is what the simulator produced for one pass, or for all of them: the
// events by where they are in the file.
type block struct {
	cpu    []event // annotations and ops, by start
	frames []event // by start
	gpu    []event // calls and activities, in launch order
	notes  []event // annotations projected on the GPU
}

// reset empties the block and keeps its memory.
func (b *block) reset() {
	b.cpu, b.frames, b.gpu, b.notes = b.cpu[:0], b.frames[:0], b.gpu[:0], b.notes[:0]
}
