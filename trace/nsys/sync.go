package nsys

import (
	"cmp"
	"math"

	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// syncNames is CUpti_ActivitySynchronizationType in Kineto's words.
var syncNames = []string{"Unknown Sync", "Event Sync", "Stream Wait Event", "Stream Sync", "Context Sync"}

func (s *scanner) readSync() error {
	return s.activities(tableSync, event.Sync, []string{"syncType"}, func(r row, e *trace.EventData) {
		e.Name = kindWord(syncNames, r.Int(firstOfActivity))
		if e.Stream == math.MaxUint32 {
			e.Stream = trace.None // how CUPTI writes "no stream"
		}
	})
}

// overheadNames is CUpti_ActivityOverheadKind as ENUM_CUPTI_OVERHEAD_TYPE
// labels it. Those marked (Profiler) would not happen without the profiler.
var overheadNames = []string{"Undefined", "Unknown", "Driver JIT compiler (CUDA)", "Buffer flush (Profiler)",
	"Instrumentation (Profiler)",
	"Resource creation/destruction (Profiler)", "Runtime module loading (CUDA)", "Lazy function loading (CUDA)",
	"Command buffer full (CUDA)"}

func (s *scanner) readOverhead() error {
	for _, table := range []string{tableOverhead, tableProfiler} {
		cols := []string{"globalTid", "correlationId", "nameId", "overheadType"}
		err := s.timed(table, cols, func(r row, start, end int64) {
			e := s.hostEvent(event.Overhead, r.Int(2), "")
			e.Correlation = correlation(r.Int(3))
			if k := r.intOr(5, -1); k >= 0 && k < int64(len(overheadNames)) {
				e.Name = overheadNames[k]
			} else {
				e.Name = cmp.Or(s.name(r.intOr(4, -1)), "Overhead")
			}
			if table == tableProfiler {
				e.Name = "Profiler overhead: " + e.Name
			}
			s.add(e, start, end)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
