package nsys

import (
	"fmt"
	"strconv"

	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// readKernels reads the kernel table.
func (s *scanner) readKernels() error {
	cols := []string{"start", "end", "deviceId", "streamId", "correlationId", "globalPid", "demangledName", "shortName",
		"mangledName", "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ", "graphNodeId", "graphId"}
	shapes := map[[6]int64]string{}
	var n int64
	err := s.db.scan(tableKernel, cols, func(r row) error {
		n++
		e, start, end, ok := s.activity(r, event.Kernel)
		if !ok {
			return nil
		}
		e.Name = s.name(r.intOr(6, -1), r.intOr(7, -1), r.intOr(8, -1))
		if e.Name == "" {
			e.Name = "[unnamed kernel]"
		}
		dims := [6]int64{r.Int(9), r.Int(10), r.Int(11), r.Int(12), r.Int(13), r.Int(14)}
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
		e.GraphNode, e.GraphID = uint64(r.Int(15)), uint64(r.Int(16))
		s.add(e, start, end)
		return nil
	})
	s.counts = append(s.counts, tableCount{tableKernel, n})
	return err
}

// activity reads what all activity tables begin with: start, end, deviceId,
// streamId, correlationId, globalPid.
func (s *scanner) activity(r row, kind event.Kind) (e trace.EventData, start, end int64, ok bool) {
	start, end = r.time(0), r.time(1)
	if start == noTime || end == noTime {
		s.noTime++
		return e, 0, 0, false
	}
	global := r.Int(5)
	e = trace.EventData{
		Kind: kind, Process: s.pid(global), Scope: s.scope(global), Device: s.device(global, r.intOr(2, -1)),
		Stream: trace.StreamID(r.intOr(3, int64(trace.None))), Correlation: correlation(r.Int(4)),
	}
	return e, start, end, true
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
	cols := []string{"start", "end", "deviceId", "streamId", "correlationId", "globalPid", "bytes", "copyKind",
		"srcKind", "dstKind", "graphNodeId"}
	names := map[[3]int64]string{}
	var n int64
	err := s.db.scan(tableMemcpy, cols, func(r row) error {
		n++
		e, start, end, ok := s.activity(r, event.Memcpy)
		if !ok {
			return nil
		}
		k := [3]int64{clampKind(r.Int(7)), clampKind(r.intOr(8, -1)), clampKind(r.intOr(9, -1))}
		if e.Name, ok = names[k]; !ok {
			e.Name = "Memcpy " + kindWord(copyKinds, k[0])
			if k[1] >= 0 && k[2] >= 0 {
				e.Name += " (" + kindWord(memKinds, k[1]) + " -> " + kindWord(memKinds, k[2]) + ")"
			}
			names[k] = e.Name
		}
		e.Bytes, e.GraphNode = r.Int(6), uint64(r.Int(10))
		s.add(e, start, end)
		return nil
	})
	s.counts = append(s.counts, tableCount{tableMemcpy, n})
	return err
}

// clampKind keeps the memo of copy names small whatever the file says.
func clampKind(v int64) int64 { return min(max(v, -1), 99) }

func (s *scanner) readMemset() error {
	cols := []string{"start", "end", "deviceId", "streamId", "correlationId", "globalPid", "bytes", "memKind",
		"graphNodeId"}
	var n int64
	err := s.db.scan(tableMemset, cols, func(r row) error {
		n++
		e, start, end, ok := s.activity(r, event.Memset)
		if !ok {
			return nil
		}
		e.Name = "Memset"
		if k := r.intOr(7, -1); k >= 0 && k < int64(len(memKinds)) {
			e.Name = "Memset (" + memKinds[k] + ")"
		}
		e.Bytes, e.GraphNode = r.Int(6), uint64(r.Int(8))
		s.add(e, start, end)
		return nil
	})
	s.counts = append(s.counts, tableCount{tableMemset, n})
	return err
}

// readGraphs reads the replays that were recorded whole. A row whose start and
// end are 0 has no times ("timestamp information could not be collected",
// CUPTI's CUpti_ActivityGraphTrace); the Builder counts it as not collected.
func (s *scanner) readGraphs() error {
	cols := []string{"start", "end", "deviceId", "streamId", "correlationId", "globalPid", "graphId", "graphExecId"}
	var n int64
	err := s.db.scan(tableGraph, cols, func(r row) error {
		n++
		e, start, end, ok := s.activity(r, event.Graph)
		if !ok {
			return nil
		}
		id := r.Int(6)
		e.Name = "CUDA graph " + strconv.FormatInt(id, 10)
		e.GraphID = uint64(id)
		s.add(e, start, end)
		return nil
	})
	s.counts = append(s.counts, tableCount{tableGraph, n})
	return err
}
