package strata_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/llmstrata/strata"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// fault changes an event of a recording, or drops it. later says that it begins in the second half of the GPU's time,
// span is all of that.
type fault struct {
	name   string
	change func(e *trace.EventData, lane event.Lane, later bool, nth int, span int64) (keep bool)
	code   trace.Code
	least  int // launches of single kernels
}

const fiftyMinutes = 3_000_000_000_000

var faults = []fault{
	{"the clock of all jumps", func(e *trace.EventData, _ event.Lane, later bool, _ int, _ int64) bool {
		if later {
			e.Start += fiftyMinutes
		}
		return true
	}, trace.CodeTimeJump, 2},
	{"the GPU's second half is moved on", func(e *trace.EventData, lane event.Lane, later bool, _ int, span int64) bool {
		if later && lane == event.LaneGPU {
			e.Start += 3*span + 3e9
		}
		return true
	}, trace.CodeTimeJump, 30},
	{"the GPU's second half is moved back", func(e *trace.EventData, lane event.Lane, later bool, _ int, span int64) bool {
		if later && lane == event.LaneGPU {
			e.Start -= 2 * span
		}
		return true
	}, trace.CodeClocksApart, 30},
	{"one in three kernels is lost", func(e *trace.EventData, _ event.Lane, _ bool, nth int, _ int64) bool {
		return e.Kind != event.Kernel || nth%3 != 1
	}, trace.CodeEmptyLaunches, 60},
}

// TestBrokenRecordingsAreNotOK: of the reference traces as they are none has a remark of these faults, and each fault
// made to them has.
func TestBrokenRecordingsAreNotOK(t *testing.T) {
	paths := slices.Concat(testdata.SharedGlob(t, "traces/torch/*.json*"), testdata.SharedGlob(t, "traces/nsys/*"),
		testdata.SharedGlob(t, "traces/other/rocp*"))
	if !testdata.Long() {
		paths = testdata.Smallest(paths, 20)
	}
	found := map[trace.Code]int{}
	for _, path := range paths {
		name := filepath.Base(path)
		tr, err := trace.Open(t.Context(), path, trace.Options{Formats: strata.Formats()})
		if err != nil {
			continue // holds nothing that can be read
		}
		for _, f := range faults {
			if has(tr, f.code) {
				t.Errorf("%s as it is: %s", name, f.code)
			}
		}
		launches := 0
		var first, last trace.Time
		for e := range tr.Events(event.LaneGPU) {
			if launches == 0 && last == 0 {
				first = e.Start()
			}
			if last = max(last, e.End()); e.Kind() == event.Kernel && e.Launch().Valid() && !e.IsReplay() {
				launches++
			}
		}
		if launches == 0 || tr.Health().Orphans > 0 {
			continue
		}
		for _, f := range faults {
			if launches < f.least {
				continue
			}
			found[f.code]++
			broken := changed(t, tr, f, first+(last-first)/2, int64(last-first))
			if !has(broken, f.code) {
				t.Errorf("%s: %s: health is %s without %s: %v", name, f.name, broken.Health().Status, f.code,
					broken.Health().Findings)
			}
		}
	}
	for _, f := range faults {
		if found[f.code] == 0 {
			t.Errorf("no trace shows %s", f.code)
		}
	}
	t.Logf("traces broken by code: %v", found)
}

// has says whether health holds a remark of a code, and says with it that the trace is degraded.
func has(tr *trace.Trace, code trace.Code) bool {
	h := tr.Health()
	return h.Status != trace.HealthOK && slices.ContainsFunc(h.Findings,
		func(r trace.Remark) bool { return r.Code == code })
}

// changed is a trace with a fault.
func changed(t *testing.T, tr *trace.Trace, f fault, half trace.Time, span int64) *trace.Trace {
	t.Helper()
	b := trace.NewBuilder(trace.Options{})
	for _, lane := range []event.Lane{event.LaneGPU, event.LaneLaunch, event.LaneOp} {
		nth := 0
		for e := range tr.Events(lane) {
			d := e.Data()
			if l := e.Launch(); l.Valid() {
				d.Scope = fmt.Sprint(l.Data().Process)
			} else if lane == event.LaneLaunch {
				d.Scope = fmt.Sprint(d.Process)
			}
			if d.Kind == event.Kernel {
				nth++
			}
			if f.change(&d, lane, e.Start() > half, nth, span) {
				b.Add(d)
			}
		}
	}
	out, err := b.Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return out
}
