package nsys

import (
	"math"

	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// syncNames is CUpti_ActivitySynchronizationType in Kineto's words.
var syncNames = []string{"Unknown Sync", "Event Sync", "Stream Wait Event", "Stream Sync", "Context Sync"}

func (s *scanner) readSync() error {
	cols := []string{"start", "end", "deviceId", "streamId", "correlationId", "globalPid", "syncType"}
	var n int64
	err := s.db.scan(tableSync, cols, func(r row) error {
		n++
		e, start, end, ok := s.activity(r, event.Sync)
		if !ok {
			return nil
		}
		e.Name = kindWord(syncNames, r.Int(6))
		if e.Stream == math.MaxUint32 {
			e.Stream = trace.None // how CUPTI writes "no stream"
		}
		s.add(e, start, end)
		return nil
	})
	s.counts = append(s.counts, tableCount{tableSync, n})
	return err
}

// overheadNames is CUpti_ActivityOverheadKind as ENUM_CUPTI_OVERHEAD_TYPE
// labels it. Those marked (Profiler) would not happen without the profiler.
var overheadNames = []string{"Undefined", "Unknown", "Driver JIT compiler (CUDA)", "Buffer flush (Profiler)",
	"Instrumentation (Profiler)",
	"Resource creation/destruction (Profiler)", "Runtime module loading (CUDA)", "Lazy function loading (CUDA)",
	"Command buffer full (CUDA)"}

func (s *scanner) readOverhead() error {
	for _, table := range []string{tableOverhead, tableProfiler} {
		var n int64
		err := s.db.scan(table, []string{"start", "end", "globalTid", "correlationId", "nameId", "overheadType"},
			func(r row) error {
				n++
				start, end := r.time(0), r.time(1)
				if start == noTime || end == noTime {
					s.noTime++
					return nil
				}
				global := r.Int(2)
				e := trace.EventData{
					Kind: event.Overhead, Process: s.pid(global), Scope: s.scope(global), Thread: tidOf(global),
					Correlation: correlation(r.Int(3)), Device: trace.None, Stream: trace.None,
				}
				if k := r.intOr(5, -1); k >= 0 && k < int64(len(overheadNames)) {
					e.Name = overheadNames[k]
				} else if e.Name = s.name(r.intOr(4, -1)); e.Name == "" {
					e.Name = "Overhead"
				}
				if table == tableProfiler {
					e.Name = "Profiler overhead: " + e.Name
				}
				s.add(e, start, end)
				return nil
			})
		if err != nil {
			return err
		}
		s.counts = append(s.counts, tableCount{table, n})
	}
	return nil
}
