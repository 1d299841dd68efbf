package nsys

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/llmstrata/strata/trace/event"
)

// The tables that say what threads of the host did beside CUDA calls and ranges: calls of the C library
// (nsys --trace=osrt), when threads were switched (--cpuctxsw), samples (--sample), and what the recorder
// itself reported.
const (
	tableOS         = "OSRT_API"
	tableSwitches   = "SCHED_EVENTS"
	tableSamples    = "COMPOSITE_EVENTS"
	tableChains     = "SAMPLING_CALLCHAINS"
	tableDiagnostic = "DIAGNOSTIC_EVENT"
)

// maxLost is how many messages of the recorder are kept.
const maxLost = 4

// readOSCalls reads calls of the C library and the system.
func (s *scanner) readOSCalls() error {
	return s.timed(tableOS, []string{"globalTid", "nameId"}, func(r row, start, end int64) {
		s.add(s.hostEvent(event.OSCall, r.Int(2), cmp.Or(s.name(r.intOr(3, -1)), "system call")), start, end)
	})
}

// threadSwitch is one switch of a thread: on or off its core.
type threadSwitch struct {
	at int64
	on bool
}

// readSwitches turns the switches of each thread into the times in which it was off the CPU: between a switch off and
// the next one on.
func (s *scanner) readSwitches() error {
	threads := map[int64][]threadSwitch{}
	err := s.read(tableSwitches, []string{"start", "isSchedIn", "globalTid"}, func(r row) {
		if at := r.time(0); at != noTime {
			threads[r.Int(2)] = append(threads[r.Int(2)], threadSwitch{at, r.Int(1) != 0})
		} else {
			s.noTime++
		}
	})
	if err != nil {
		return err
	}
	for _, global := range slices.Sorted(maps.Keys(threads)) {
		list := threads[global]
		slices.SortStableFunc(list, func(a, b threadSwitch) int { return cmp.Compare(a.at, b.at) })
		for i := 1; i < len(list); i++ {
			if !list[i-1].on && list[i].on && list[i].at > list[i-1].at {
				s.add(s.hostEvent(event.OffCPU, global, "off the CPU"), list[i-1].at, list[i].at)
			}
		}
	}
	return nil
}

// readSamples reads what threads were found running, by the function on top of the stack where stacks were kept.
func (s *scanner) readSamples() error {
	top := map[int64]int64{}
	if s.db.Has(tableSamples) && s.db.hasColumn(tableChains, "stackDepth") {
		err := s.db.scan(tableChains, []string{"id", "symbol", "stackDepth"}, func(r row) error {
			if r.intOr(2, -1) == 0 {
				top[r.Int(0)] = r.intOr(1, -1)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return s.read(tableSamples, []string{"id", "start", "globalTid", "threadState"}, func(r row) {
		at := r.time(1)
		switch {
		case at == noTime:
			s.noTime++
		case r.Int(3) <= stateRunning: // others were found waiting: the switches have that with times
			name := ""
			if symbol, ok := top[r.Int(0)]; ok {
				name = s.name(symbol)
			}
			s.add(s.hostEvent(event.Sample, r.Int(2), cmp.Or(name, "running")), at, at)
		}
	})
}

// stateRunning is ENUM_SAMPLING_THREAD_STATE's word for a thread that runs; above it are those that wait. 0 is not
// known.
const stateRunning = 1

// The severities of ENUM_DIAGNOSTIC_SEVERITY_LEVEL from which messages matter.
const (
	severityWarning = 2
	severityError   = 3
)

// lostWords are parts of warnings that say that the recording is not complete. Errors say so always.
var lostWords = []string{"dropped", "lost", "incomplete", "not all", "missing", "overflow", "exceeded",
	"were discarded", "skipped"}

// readDiagnostics reads what the recorder reported.
func (s *scanner) readDiagnostics() error {
	return s.read(tableDiagnostic, []string{"severity", "text"}, func(r row) {
		severity, text := r.Int(0), r.Text(1)
		said := func(w string) bool { return strings.Contains(strings.ToLower(text), w) }
		if severity < severityWarning || severity < severityError && !slices.ContainsFunc(lostWords, said) {
			return
		}
		s.lostRows++
		if len(s.lost) < maxLost && !slices.Contains(s.lost, text) {
			s.lost = append(s.lost, text)
		}
	})
}

// reportHost puts what the recorder says that it lost into the health.
func (l *loader) reportHost(s *scanner) {
	if s.lostRows > 0 {
		l.b.LoseDetail(event.Dropped, s.lostRows, "the recorder says: "+strings.Join(s.lost, "; "))
	}
}
