package pftrace

import (
	"strings"

	"github.com/llmstrata/strata/internal/kind"
	"github.com/llmstrata/strata/internal/wire"
	"github.com/llmstrata/strata/trace/event"
)

// evidence is what an event carries; its kind follows from that.
type evidence uint32

const (
	hasCallID   evidence = 1 << iota // cbid: an API call
	hasPython                        // Python id
	hasExternal                      // External id: the profiler's number of an op or annotation
	hasInputs                        // Input Dims and the like: an op, or an annotation with shapes recorded
	hasSequence                      // Sequence number, Fwd thread id: a differentiable op
	hasDevice
	hasStream
	hasGrid
	hasSync
	hasBytes
	hasContext // context, queued: an activity
	hasCorrelation
	onGPU    // on a track of a GPU
	isKernel // the stage says so
	isCopy
	isSet
	isAnnotation
	isOther
	isGraph
)

// kept is one event of the trace, as it waits; its end is math.MinInt64 until it comes. Texts are numbers of the
// parser's table.
type kept struct {
	start, end  int64
	correlation uint64
	external    uint64
	graph, node uint64
	bytes       int64
	device      int64
	stream      int64
	name        uint32
	category    uint32 // 0 in the first forms
	domain      uint32 // of an NVTX range
	shape       uint32 // grid and block
	has         evidence
}

// slice is an event that is being read.
type slice struct {
	kept
	grid, block [3]int64
}

// track is a row of the trace: a thread, or a stream of a GPU.
type track struct {
	parent  uint64
	process int64
	thread  int64
	name    string
	label   string // of the process
	gpu     bool   // known at the end

	described         int      // times
	of                *process // nil while the track is not described
	activities, calls bool     // what lies on it
	waiting           []kept   // see rows.go
	queues            []*queue
}

// interned are the texts of one packet sequence, and what its packets refer to.
type interned struct {
	names, kernels, categories idTable // of texts' numbers
	args                       idTable // of annotations' keys
	texts, stages              map[uint64]string
	counters                   map[uint64]counterSet

	number   int32            // of the sequence
	version  int              // of the texts: they were learned so many times
	queues   map[uint64]int32 // numbers, by track
	recent   int32            // the one used last, −1 for none
	recentID uint64           // its track
}

func newInterned() *interned {
	s := &interned{queues: map[uint64]int32{}, recent: -1}
	s.clear()
	return s
}

func (s *interned) clear() {
	s.version++
	s.names, s.kernels, s.categories, s.args = idTable{}, idTable{}, idTable{}, idTable{}
	s.texts, s.stages, s.counters = map[uint64]string{}, map[uint64]string{}, map[uint64]counterSet{}
}

// idTable maps the numbers that a sequence gives texts to those of the parser. Writers count from 1.
type idTable struct {
	dense  []uint32
	sparse map[uint64]uint32
}

// maxDense bounds the table of numbers that are counted; a hostile file's go into a map.
const maxDense = 1 << 20

func (t *idTable) get(id uint64) uint32 {
	if id < uint64(len(t.dense)) {
		return t.dense[id]
	}
	return t.sparse[id]
}

func (t *idTable) set(id uint64, text uint32) {
	if id < maxDense && id <= 2*uint64(len(t.dense))+64 {
		for uint64(len(t.dense)) <= id {
			t.dense = append(t.dense, t.sparse[uint64(len(t.dense))])
		}
		t.dense[id] = text
		return
	}
	if t.sparse == nil {
		t.sparse = map[uint64]uint32{}
	}
	t.sparse[id] = text
}

// learn takes the names of an interned_data message.
func (x *parser) learn(s *interned, m []byte) bool {
	s.version++
	good := true
	for f, v := range wire.Fields(m, &good) {
		var table *idTable
		var texts map[uint64]string
		field := internedName
		switch f {
		case internedNames:
			table = &s.names
		case internedCategories:
			table = &s.categories
		case internedKernels:
			table, field = &s.kernels, internedKernel
		case internedCounters:
			if !s.learnCounters(v.Bytes) {
				return false
			}
			continue
		case internedArgNames:
			table = &s.args
		case internedArgString:
			texts = s.texts
		case internedStages:
			texts = s.stages
		default:
			continue
		}
		id, _, name, ok := numbered(v.Bytes, field)
		switch {
		case table == &s.args:
			table.set(id, uint32(keyOf(name)))
		case table != nil:
			table.set(id, x.text(name))
		default:
			texts[id] = string(name)
		}
		if !ok {
			return false
		}
	}
	return good
}

// text numbers a text; 0 is "".
func (x *parser) text(b []byte) uint32 {
	if len(b) == 0 {
		return 0
	}
	id, ok := x.textID[string(b)]
	if !ok {
		id = uint32(len(x.texts))
		x.texts = append(x.texts, string(b))
		x.textID[x.texts[id]] = id
	}
	return id
}

// argKey is what an annotation's name means.
type argKey uint32

// The keys whose values are kept. Of others only what they say of the event is: they are evidence, after keyEvidence.
const (
	keyNone argKey = iota
	keyCorrelation
	keyExternal
	keyDevice
	keyStream
	keyGraph
	keyNode
	keyBytes
	keyDomain
	keyGrid
	keyBlock
	keyEvidence
)

// hasValue reports whether the value of an annotation is kept.
func (k argKey) hasValue() bool { return k > keyNone && k < keyEvidence }

// The names of annotations of stages, which [Write] makes.
const (
	altDevice = "device id"
	altStream = "stream id"
)

// evidenceOf has the annotations that say what an event is.
var evidenceOf = map[string]evidence{
	"cbid":      hasCallID,
	"Python id": hasPython, "Python module id": hasPython, "Python parent id": hasPython,
	kind.ArgInputDims: hasInputs, kind.ArgInputType: hasInputs, kind.ArgInputStrides: hasInputs,
	kind.ArgInputValues: hasInputs,
	"Sequence number":   hasSequence, "Fwd thread id": hasSequence, "Collective name": hasSequence,
	"context": hasContext, "context id": hasContext, "queued": hasContext, "registers per thread": hasContext,
	"warps per SM": hasContext, "kind": hasContext,
	"cuda_sync_kind": hasSync,
}

// keyOf is the key of an annotation's name.
func keyOf(name []byte) argKey {
	switch string(name) {
	case kind.ArgCorrelation:
		return keyCorrelation
	case kind.ArgExternalID, kind.AltExternalID:
		return keyExternal
	case kind.ArgDevice, altDevice:
		return keyDevice
	case kind.ArgStream, altStream:
		return keyStream
	case kind.ArgGraphID:
		return keyGraph
	case kind.ArgGraphNode:
		return keyNode
	case kind.ArgBytes:
		return keyBytes
	case argDomain:
		return keyDomain
	case kind.ArgGrid:
		return keyGrid
	case kind.ArgBlock:
		return keyBlock
	}
	if has, ok := evidenceOf[string(name)]; ok {
		return keyEvidence + argKey(has)
	}
	return keyNone
}

// set stores one number.
func (e *slice) set(key argKey, v int64) {
	switch key {
	case keyCorrelation:
		e.correlation, e.has = uint64(v), e.has|hasCorrelation
	case keyExternal:
		e.external, e.has = uint64(v), e.has|hasExternal
	case keyDevice:
		e.device, e.has = v, e.has|hasDevice
	case keyStream:
		e.stream, e.has = v, e.has|hasStream
	case keyGraph:
		e.graph = uint64(v)
	case keyNode:
		e.node = uint64(v)
	case keyBytes:
		e.bytes, e.has = v, e.has|hasBytes
	default:
		if key >= keyEvidence {
			e.has |= evidence(key - keyEvidence)
		}
	}
}

// kindOf finds an event's kind by what it carries, best first.
func (e *kept) kindOf(d *reader) event.Kind {
	name := d.texts[e.name]
	gpu := e.has&onGPU != 0 || e.has&(hasDevice|hasStream) == hasDevice|hasStream
	switch {
	case e.has&isKernel != 0:
		return event.Kernel
	case e.has&isCopy != 0:
		return event.Memcpy
	case e.has&isSet != 0:
		return event.Memset
	case e.has&isAnnotation != 0:
		return event.GPUAnnotation
	case e.has&isOther != 0:
		return event.Other
	case e.has&isGraph != 0:
		return event.Graph
	case e.category != 0:
		return d.categoryKind(e.category, name)
	case e.has&hasSync != 0:
		return event.Sync
	case e.has&hasCallID != 0:
		return callKind(name)
	case gpu:
		return e.activity(name)
	case e.has&hasPython != 0:
		return event.Kind(kind.Of("python_function", name))
	case e.has&hasSequence != 0, e.has&(hasInputs|hasExternal) != 0 && isOp(name):
		return event.Op
	case e.has&(hasInputs|hasExternal) != 0:
		return event.Annotation
	case e.has&hasCorrelation != 0: // not on a GPU: the call that launched something (roctracer gives no cbid)
		return callKind(name)
	}
	return event.Other
}

// categoryKind is the kind of a category of Kineto's, or of one that [Write] gives events of other sources.
func (d *reader) categoryKind(category uint32, name string) event.Kind {
	for int(category) >= len(d.kinds) {
		d.kinds = append(d.kinds, 0)
	}
	k := &d.kinds[category]
	if *k == 0 {
		switch text := d.texts[category]; text {
		case kind.Category(kind.Range):
			*k = event.Range
		case kind.Category(kind.Mark):
			*k = event.Mark
		default:
			*k = event.Kind(kind.OfCategory(text))
		}
	}
	if *k == event.Frame {
		return event.Kind(kind.Of(d.texts[category], name)) // a module's frame has another
	}
	return *k
}

// callKind separates the driver's calls (cuLaunchKernel) from the runtime's (cudaLaunchKernel, hipLaunchKernel).
func callKind(name string) event.Kind {
	if strings.HasPrefix(name, "cu") && len(name) > 2 && name[2] >= 'A' && name[2] <= 'Z' {
		return event.Driver
	}
	return event.Runtime
}

// activity is what ran on a stream.
func (e *kept) activity(name string) event.Kind {
	switch {
	case strings.HasPrefix(name, "Memcpy") || e.has&hasBytes != 0 && strings.Contains(name, "Copy"):
		return event.Memcpy
	case strings.HasPrefix(name, "Memset") || e.has&hasBytes != 0 && strings.Contains(name, "Fill"):
		return event.Memset
	case e.has&(hasGrid|hasContext|hasCorrelation) != 0:
		return event.Kernel
	}
	return event.GPUAnnotation // it has a place and nothing that the hardware reports
}

// isOp says that a name is one of an operator: a namespace and no blank, as in aten::mm, or one of autograd's.
func isOp(name string) bool {
	return strings.HasPrefix(name, "autograd::") || strings.Contains(name, "::") && !strings.ContainsAny(name, " [(")
}
