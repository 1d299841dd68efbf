package nsys

import (
	"cmp"
	"fmt"
	"strconv"

	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// readKernels reads the kernel table.
func (s *scanner) readKernels() error {
	cols := []string{"demangledName", "shortName", "mangledName", "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ",
		"graphNodeId", "graphId"}
	shapes := map[[6]int64]string{}
	return s.activities(tableKernel, event.Kernel, cols, func(r row, e *trace.EventData) {
		const c = firstOfActivity
		e.Name = cmp.Or(s.name(r.intOr(c, -1), r.intOr(c+1, -1), r.intOr(c+2, -1)), "[unnamed kernel]")
		var dims [6]int64
		for i := range dims {
			dims[i] = r.Int(c + 3 + i)
		}
		if dims != ([6]int64{}) {
			shape, ok := shapes[dims]
			if !ok {
				shape = fmt.Sprintf("%d,%d,%d|%d,%d,%d", dims[0], dims[1], dims[2], dims[3], dims[4], dims[5])
				// A hostile file can make every row its own shape; the memo
				// only saves formatting.
				if len(shapes) < 1<<16 {
					shapes[dims] = shape
				}
			}
			e.Shape = shape
		}
		e.GraphNode, e.GraphID = uint64(r.Int(c+9)), uint64(r.Int(c+10))
	})
}

// device is the GPU that a process means by a CUDA device number.
func (f *facts) device(globalPid, ordinal int64) trace.DeviceID {
	if len(f.devices) > 0 {
		if gpu, ok := f.devices[cudaDevice{pidOf(globalPid), ordinal}]; ok {
			return device(gpu)
		}
	}
	return device(ordinal)
}

func correlation(v int64) uint64 {
	if v <= 0 {
		return 0
	}
	return uint64(v)
}

// copyKinds and memKinds are CUPTI's CUpti_ActivityMemcpyKind and
// CUpti_ActivityMemoryKind in the words Kineto uses, so that copies are called
// the same whoever recorded them.
var (
	copyKinds = []string{"Unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH", "PtoP",
		"HtoD", "DtoH", "DtoD"}
	memKinds = []string{"Pageable", "Pinned", "Device", "Array", "Managed", "Device Static", "Managed Static"}
)

func kindWord(words []string, v int64) string {
	if v >= 0 && v < int64(len(words)) {
		return words[v]
	}
	return "Unknown"
}

func (s *scanner) readMemcpy() error {
	cols := []string{"bytes", "copyKind", "srcKind", "dstKind", "graphNodeId"}
	names := map[[3]int64]string{}
	return s.activities(tableMemcpy, event.Memcpy, cols, func(r row, e *trace.EventData) {
		const c = firstOfActivity
		k := [3]int64{clampKind(r.Int(c + 1)), clampKind(r.intOr(c+2, -1)), clampKind(r.intOr(c+3, -1))}
		var ok bool
		if e.Name, ok = names[k]; !ok {
			e.Name = "Memcpy " + kindWord(copyKinds, k[0])
			if k[1] >= 0 && k[2] >= 0 {
				e.Name += " (" + kindWord(memKinds, k[1]) + " -> " + kindWord(memKinds, k[2]) + ")"
			}
			names[k] = e.Name
		}
		e.Bytes, e.GraphNode = r.Int(c), uint64(r.Int(c+4))
	})
}

// clampKind keeps the memo of copy names small whatever the file says.
func clampKind(v int64) int64 { return min(max(v, -1), 99) }

func (s *scanner) readMemset() error {
	cols := []string{"bytes", "memKind", "graphNodeId"}
	return s.activities(tableMemset, event.Memset, cols, func(r row, e *trace.EventData) {
		const c = firstOfActivity
		e.Name = "Memset"
		if k := r.intOr(c+1, -1); k >= 0 && k < int64(len(memKinds)) {
			e.Name = "Memset (" + memKinds[k] + ")"
		}
		e.Bytes, e.GraphNode = r.Int(c), uint64(r.Int(c+2))
	})
}

// readGraphs reads the replays that were recorded whole. A row whose start and
// end are 0 has no times ("timestamp information could not be collected",
// CUPTI's CUpti_ActivityGraphTrace); the Builder counts it as not collected.
func (s *scanner) readGraphs() error {
	return s.activities(tableGraph, event.Graph, []string{"graphId"}, func(r row, e *trace.EventData) {
		id := r.Int(firstOfActivity)
		e.Name, e.GraphID = "CUDA graph "+strconv.FormatInt(id, 10), uint64(id)
	})
}
