package nsys

import (
	"slices"
	"strings"

	"github.com/llmstrata/strata/trace"
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

// hostFacts is what a scanner of these tables finds beside events.
type hostFacts struct {
	lost     []string // messages of the recorder that say that something is missing, at most maxLost
	lostRows int64
}

// maxLost is how many messages of the recorder are kept.
const maxLost = 4

// readOSCalls reads calls of the C library and the system.
func (s *scanner) readOSCalls() error {
	var n int64
	err := s.db.scan(tableOS, []string{"start", "end", "globalTid", "nameId"}, func(r row) error {
		n++
		start, end := r.time(0), r.time(1)
		if start == noTime || end == noTime {
			s.noTime++
			return nil
		}
		e := s.hostEvent(event.OSCall, r.Int(2), s.name(r.intOr(3, -1)))
		if e.Name == "" {
			e.Name = "system call"
		}
		s.add(e, start, end)
		return nil
	})
	s.counts = append(s.counts, tableCount{tableOS, n})
	return err
}

// hostEvent is an event of a thread of the host.
func (s *scanner) hostEvent(kind event.Kind, global int64, name string) trace.EventData {
	return trace.EventData{Kind: kind, Name: name, Process: s.pid(global), Scope: s.scope(global),
		Thread: tidOf(global), Device: trace.None, Stream: trace.None}
}

// threadSwitch is one switch of a thread: on or off its core.
type threadSwitch struct {
	at int64
	on bool
}

// readSwitches turns the switches of each thread into the times in which it was off the CPU: between a switch off and
// the next one on.
func (s *scanner) readSwitches() error {
	var n int64
	threads := map[int64][]threadSwitch{}
	err := s.db.scan(tableSwitches, []string{"start", "isSchedIn", "globalTid"}, func(r row) error {
		n++
		if at := r.time(0); at != noTime {
			threads[r.Int(2)] = append(threads[r.Int(2)], threadSwitch{at, r.Int(1) != 0})
		} else {
			s.noTime++
		}
		return nil
	})
	s.counts = append(s.counts, tableCount{tableSwitches, n})
	if err != nil {
		return err
	}
	order := make([]int64, 0, len(threads))
	for global := range threads {
		order = append(order, global)
	}
	slices.Sort(order)
	for _, global := range order {
		list := threads[global]
		slices.SortStableFunc(list, func(a, b threadSwitch) int {
			switch {
			case a.at < b.at:
				return -1
			case a.at > b.at:
				return 1
			}
			return 0
		})
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
	var n int64
	err := s.db.scan(tableSamples, []string{"id", "start", "globalTid", "threadState"}, func(r row) error {
		n++
		at := r.time(1)
		if at == noTime {
			s.noTime++
			return nil
		}
		if state := r.Int(3); state > stateRunning {
			return nil // found waiting: the switches have that with times
		}
		name := ""
		if symbol, ok := top[r.Int(0)]; ok {
			name = s.name(symbol)
		}
		if name == "" {
			name = "running"
		}
		s.add(s.hostEvent(event.Sample, r.Int(2), name), at, at)
		return nil
	})
	s.counts = append(s.counts, tableCount{tableSamples, n})
	return err
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
	var n int64
	err := s.db.scan(tableDiagnostic, []string{"severity", "text"}, func(r row) error {
		n++
		severity, text := r.Int(0), r.Text(1)
		said := func(w string) bool { return strings.Contains(strings.ToLower(text), w) }
		if severity < severityWarning || severity < severityError && !slices.ContainsFunc(lostWords, said) {
			return nil
		}
		s.host.lostRows++
		if len(s.host.lost) < maxLost && !slices.Contains(s.host.lost, text) {
			s.host.lost = append(s.host.lost, text)
		}
		return nil
	})
	s.counts = append(s.counts, tableCount{tableDiagnostic, n})
	return err
}

// reportHost puts what the recorder says that it lost into the health.
func (l *loader) reportHost(s *scanner) {
	if s.host.lostRows > 0 {
		l.b.LoseDetail(event.Dropped, s.host.lostRows, "the recorder says: "+strings.Join(s.host.lost, "; "))
	}
}
