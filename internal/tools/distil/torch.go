package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// event is a trace event with its numbers as they are written.
type event struct {
	Ph   string                     `json:"ph"`
	Cat  string                     `json:"cat,omitempty"`
	Name string                     `json:"name"`
	PID  json.RawMessage            `json:"pid"`
	TID  json.RawMessage            `json:"tid"`
	TS   json.Number                `json:"ts,omitempty"`
	Dur  json.Number                `json:"dur,omitempty"`
	Args map[string]json.RawMessage `json:"args,omitempty"`

	start, end float64 // µs
}

// document is a trace. Top-level keys that no analysis reads are dropped.
type document struct {
	SchemaVersion int             `json:"schemaVersion,omitempty"`
	Devices       json.RawMessage `json:"deviceProperties,omitempty"`
	Distributed   json.RawMessage `json:"distributedInfo,omitempty"`
	WithStack     int             `json:"with_stack,omitempty"`
	RecordShapes  int             `json:"record_shapes,omitempty"`
	CUDA          int             `json:"cuda_runtime_version,omitempty"`
	HIP           int             `json:"hip_runtime_version,omitempty"`
	BaseTime      json.Number     `json:"baseTimeNanoseconds,omitempty"`
	Unit          string          `json:"displayTimeUnit,omitempty"`
	Events        []*event        `json:"traceEvents"`
}

// keptArgs are the arguments that stay, by category; of events that are not
// listed all stay.
var keptArgs = map[string][]string{
	"kernel": {"External id", "device", "stream", "correlation", "grid", "block", "graph id",
		"graph node id"},
	"gpu_memcpy":          {"External id", "device", "stream", "correlation", "bytes", "graph id", "graph node id"},
	"gpu_memset":          {"External id", "device", "stream", "correlation", "bytes", "graph id", "graph node id"},
	"cuda_runtime":        {"External id", "correlation"},
	"cuda_driver":         {"External id", "correlation"},
	"user_annotation":     {"External id"},
	"gpu_user_annotation": {"External id"},
	"cpu_op":              {"External id"},
	"python_function":     {"Python id", "Python parent id", "Python module id"},
}

// shapeArgs stay with CPU ops where a recipe asks for shapes.
var shapeArgs = []string{"Input Dims", "Input type"}

// reduceTrace reads a whole trace and returns its reduced copy.
func reduceTrace(r io.Reader, rec recipe) ([]byte, error) {
	var doc document
	if err := json.NewDecoder(r).Decode(&doc); err != nil {
		return nil, err
	}
	for _, e := range doc.Events {
		if err := e.times(); err != nil {
			return nil, err
		}
	}
	doc.Events = window(doc.Events, rec)
	near := around(doc.Events)
	parents := map[string]json.RawMessage{} // of frames that go
	kept := doc.Events[:0]
	for _, e := range doc.Events {
		if !keep(e, rec, near) {
			if e.Cat == "python_function" {
				parents[string(e.Args["Python id"])] = e.Args["Python parent id"]
			}
			continue
		}
		e.reduceArgs(rec)
		kept = append(kept, e)
	}
	doc.Events = kept
	for _, e := range kept {
		adopt(e, parents)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(&doc)
	return b.Bytes(), err
}

// times fills start and end.
func (e *event) times() (err error) {
	if e.TS != "" {
		if e.start, err = e.TS.Float64(); err != nil {
			return fmt.Errorf("event %q: ts: %w", e.Name, err)
		}
	}
	e.end = e.start
	if e.Dur != "" {
		dur, err := e.Dur.Float64()
		if err != nil {
			return fmt.Errorf("event %q: dur: %w", e.Name, err)
		}
		e.end += dur
	}
	return nil
}

// window returns the events that lie in the recipe's share of the trace: those
// of the CPU that start in it, and the GPU activities that these launched or
// that start in it and were launched by nothing.
func window(events []*event, rec recipe) []*event {
	if rec.to == 0 {
		return events
	}
	first, last := span(events)
	lo, hi := first+(last-first)*rec.from, first+(last-first)*rec.to
	launched := map[string]bool{}
	for _, e := range events {
		if e.launches() {
			launched[string(e.Args["correlation"])] = e.start >= lo && e.start < hi
		}
	}
	return slices.DeleteFunc(events, func(e *event) bool {
		if in, known := launched[string(e.Args["correlation"])]; known && e.onGPU() {
			return !in
		}
		return e.Ph != "M" && (e.start < lo || e.start >= hi)
	})
}

// span returns the time of the first and the end of the last complete event.
func span(events []*event) (first, last float64) {
	for _, e := range events {
		if e.Ph != "X" || e.Cat == "Trace" {
			continue
		}
		if last == 0 || e.start < first {
			first = e.start
		}
		last = max(last, e.end)
	}
	return first, last
}

func (e *event) onGPU() bool {
	return e.Cat == "kernel" || e.Cat == "gpu_memcpy" || e.Cat == "gpu_memset"
}

func (e *event) launches() bool { return e.Cat == "cuda_runtime" || e.Cat == "cuda_driver" }

// keep reports whether an event stays.
func keep(e *event, rec recipe, near map[*event]bool) bool {
	switch {
	case e.Ph == "M":
		return e.Name != "process_sort_index" && e.Name != "thread_sort_index"
	case e.Ph != "X":
		return false
	case e.Cat == "cpu_op":
		return near[e]
	case e.Cat == "python_function":
		return rec.frames == moduleFrames && (strings.HasPrefix(e.Name, "nn.Module: ") || near[e])
	case e.Cat == "overhead", e.Cat == "Trace":
		return false
	}
	return true
}

// around returns the CPU ops that have a launch call in them and, for each
// launch call, the innermost frames of source files outside of PyTorch.
func around(events []*event) map[*event]bool {
	threads := map[string][]*event{}
	for _, e := range events {
		if e.Ph == "X" && (e.Cat == "cpu_op" || e.Cat == "python_function" || e.launches()) {
			key := string(e.PID) + "/" + string(e.TID)
			threads[key] = append(threads[key], e)
		}
	}
	near := map[*event]bool{}
	for _, list := range threads {
		slices.SortStableFunc(list, func(a, b *event) int {
			switch {
			case a.start != b.start:
				return compare(a.start, b.start)
			default:
				return compare(b.end, a.end)
			}
		})
		var open []*event
		for _, e := range list {
			for len(open) > 0 && open[len(open)-1].end < e.end {
				open = open[:len(open)-1]
			}
			if e.launches() {
				mark(open, near)
				continue
			}
			open = append(open, e)
		}
	}
	return near
}

// nearFrames is how many source lines stay of those around a launch call: the
// innermost is often a helper's, and the model's line is found above it.
const nearFrames = 4

// mark notes the ops among the open events and the last frames of source files.
func mark(open []*event, near map[*event]bool) {
	framed := 0
	for _, e := range slices.Backward(open) {
		switch {
		case e.Cat == "cpu_op":
			near[e] = true
		case framed < nearFrames && strings.Contains(e.Name, ".py(") && !strings.HasPrefix(e.Name, "torch/"):
			near[e] = true
			framed++
		}
	}
}

func compare(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// reduceArgs drops the arguments that no analysis reads.
func (e *event) reduceArgs(rec recipe) {
	names, listed := keptArgs[e.Cat]
	if !listed || e.Ph != "X" {
		return
	}
	for name := range e.Args {
		shape := rec.shapes && e.Cat == "cpu_op" && slices.Contains(shapeArgs, name)
		if !shape && !slices.Contains(names, name) {
			delete(e.Args, name)
		}
	}
}

// adopt gives a frame whose parent went the nearest ancestor that stays.
func adopt(e *event, gone map[string]json.RawMessage) {
	if e.Cat != "python_function" {
		return
	}
	parent := e.Args["Python parent id"]
	for range len(gone) + 1 {
		next, ok := gone[string(parent)]
		if !ok {
			break
		}
		parent = next
	}
	if parent == nil {
		parent = json.RawMessage("null")
	}
	e.Args["Python parent id"] = parent
}
