package pftracegen

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/llmstrata/strata/internal/wire"
)

// Phases, names and categories of events that are written in a way of their own.
const (
	metadata, counter, complete = "M", "C", "X"
	processName, threadName     = "process_name", "thread_name"
	window                      = "Trace"
	syncs                       = "cuda_sync"
	runtimeCalls, driverCalls   = "cuda_runtime", "cuda_driver"
)

// Form is one of the forms that PyTorch has written.
type Form int

// The forms, in the order of their release.
const (
	Slices     Form = iota // GPU activities are slices
	Stages                 // they are render stages
	Categories             // and CPU slices have categories, render stages numbers of their own
)

// String returns the form's name.
func (f Form) String() string { return [...]string{"slices", "stages", "categories"}[f] }

// event is a row of a Kineto document.
type event struct {
	Ph   string         `json:"ph"`
	Cat  string         `json:"cat"`
	Name string         `json:"name"`
	PID  any            `json:"pid"`
	TID  any            `json:"tid"`
	TS   json.Number    `json:"ts"`
	Dur  json.Number    `json:"dur"`
	Args map[string]any `json:"args"`
}

// encoder collects packets: tracks, then the interned texts, then the events.
type encoder struct {
	form       Form
	base       int64
	out        []byte // tracks
	names      table
	categories table
	kernels    table
	queues     table // streams
	ids        table // processes and threads that are texts
	counters   table
	gpus       map[int64]bool // with counters
	tracks     map[string]uint64
	labels     map[string]string // of processes and threads
}

// table numbers texts from 1 on.
type table struct {
	id    map[string]uint64
	order []string
}

func (t *table) of(s string) uint64 {
	if t.id == nil {
		t.id = map[string]uint64{}
	}
	id, ok := t.id[s]
	if !ok {
		id = uint64(len(t.order) + 1)
		t.id[s] = id
		t.order = append(t.order, s)
	}
	return id
}

// Encode writes a document; it returns the packets one by one, but for those at
// the beginning, which come together.
func Encode(doc []byte, form Form) ([][]byte, error) {
	var d struct {
		BaseTimeNanoseconds json.Number
		TraceEvents         []event
	}
	dec := json.NewDecoder(bytes.NewReader(doc))
	dec.UseNumber()
	if trimmed := bytes.TrimSpace(doc); len(trimmed) > 0 && trimmed[0] == '[' {
		if err := dec.Decode(&d.TraceEvents); err != nil {
			return nil, fmt.Errorf("pftracegen: %w", err)
		}
	} else if err := dec.Decode(&d); err != nil {
		return nil, fmt.Errorf("pftracegen: %w", err)
	}
	e := &encoder{form: form, tracks: map[string]uint64{}, labels: map[string]string{}, gpus: map[int64]bool{}}
	e.base, _ = d.BaseTimeNanoseconds.Int64()
	for _, ev := range d.TraceEvents {
		if name, _ := ev.Args["name"].(string); ev.Ph == metadata && ev.Name == processName {
			e.labels[fmt.Sprint(ev.PID)] = name
		} else if ev.Ph == metadata && ev.Name == threadName {
			e.labels[fmt.Sprint(ev.PID, "/", ev.TID)] = name
		}
	}
	groups, stages, samples := e.events(d.TraceEvents)
	out := [][]byte{append(e.clocks(), e.out...), e.interned()}
	for _, g := range groups {
		out = append(append(out, g.begins...), g.ends...)
	}
	return append(append(out, stages...), samples...), nil
}

// group is the slices of one category: all begins are before all ends.
type group struct{ begins, ends [][]byte }

func (e *encoder) events(events []event) (groups []*group, stages, samples [][]byte) {
	byCategory := map[string]*group{}
	for _, ev := range events {
		ts := e.base + nanos(ev.TS)
		if ev.Ph == counter {
			samples = append(samples, e.sample(ev, ts))
		}
		if ev.Ph != complete || ev.Cat == window {
			continue
		}
		dur := max(nanos(ev.Dur), 0)
		if stage, ok := stageOf[ev.Cat]; ok && e.form != Slices {
			stages = append(stages, Packet(uint64(ts), wire.Msg(nil, 53, e.renderStage(ev, stage, dur, len(stages)+1))))
			continue
		}
		g := byCategory[ev.Cat]
		if g == nil {
			g = &group{}
			byCategory[ev.Cat] = g
			groups = append(groups, g)
		}
		track := e.trackOf(ev)
		g.begins = append(g.begins, Packet(uint64(ts), wire.Msg(nil, 11, e.begin(ev, track))))
		g.ends = append(g.ends, Packet(uint64(ts+dur), wire.Msg(nil, 11, wire.Num(wire.Num(nil, 9, 2), 11, track))))
	}
	return groups, stages, samples
}

// trackOf is the track of a slice: that of its stream, for what has one.
func (e *encoder) trackOf(ev event) uint64 {
	if _, gpu := stageOf[ev.Cat]; gpu || ev.Cat == syncs {
		pid, tid := ev.PID, ev.TID
		if v, ok := ev.Args["device"]; ok {
			pid = v
		}
		if v, ok := ev.Args["stream"]; ok {
			tid = v
		}
		return e.track(pid, tid, fmt.Sprint("GPU ", ev.PID), fmt.Sprint("stream ", ev.TID))
	}
	return e.track(ev.PID, ev.TID, "", "")
}

// callArgs are the args of calls that stay.
var callArgs = []string{"cbid", "correlation"}

// begin is the begin of a slice, with its args as annotations.
func (e *encoder) begin(ev event, track uint64) []byte {
	m := wire.Num(wire.Num(wire.Num(nil, 9, 1), 11, track), 10, e.names.of(ev.Name))
	if e.form == Categories && ev.Cat != "" {
		m = wire.Num(m, 3, e.categories.of(ev.Cat))
	}
	call := ev.Cat == runtimeCalls || ev.Cat == driverCalls
	for _, name := range slices.Sorted(maps.Keys(ev.Args)) {
		if call && !slices.Contains(callArgs, name) {
			continue
		}
		m = wire.Msg(m, 4, annotation(name, ev.Args[name]))
	}
	return m
}

func (e *encoder) label(key, other, id string) string {
	return cmp.Or(e.labels[key], other, id)
}

// number is an id as the format holds it: texts are numbered.
func (e *encoder) number(v any) uint64 {
	if n, ok := v.(json.Number); ok {
		if i, err := strconv.ParseInt(string(n), 10, 64); err == nil {
			return uint64(i) & 0x7fffffff
		}
	}
	return e.ids.of(fmt.Sprint(v))
}

func (e *encoder) track(pid, tid any, process, thread string) uint64 {
	p := fmt.Sprint(pid)
	parent, ok := e.tracks[p]
	if !ok {
		parent = uint64(len(e.tracks) + 1)
		e.tracks[p] = parent
		d := wire.Num(nil, 1, parent)
		e.out = wire.Msg(e.out, 1, wire.Msg(nil, 60, wire.Msg(d, 3,
			wire.Str(wire.Num(nil, 1, e.number(pid)), 6, e.label(p, process, p)))))
	}
	t := fmt.Sprint(pid, "/", tid)
	id, ok := e.tracks[t]
	if !ok {
		id = uint64(len(e.tracks) + 1)
		e.tracks[t] = id
		d := wire.Num(wire.Num(nil, 1, id), 5, parent)
		m := wire.Num(wire.Num(nil, 1, e.number(pid)), 2, e.number(tid))
		e.out = wire.Msg(e.out, 1, wire.Msg(nil, 60, wire.Msg(d, 4, wire.Str(m, 5, e.label(t, thread, fmt.Sprint(tid))))))
	}
	return id
}

var stageOf = map[string]uint64{"kernel": 1, "gpu_memcpy": 2, "gpu_memset": 3, "gpu_user_annotation": 4}

// firstQueue is the number of the first stream among the interned stages.
const firstQueue = 100

func (e *encoder) renderStage(ev event, stage uint64, dur int64, number int) []byte {
	arg := func(name string, other any) any {
		if v, ok := ev.Args[name]; ok {
			return v
		}
		return other
	}
	device, stream := arg("device", ev.PID), arg("stream", ev.TID)
	id := uint64(whole(ev.Args["correlation"]))
	if e.form == Categories {
		id = uint64(number)
	}
	b := wire.Num(wire.Num(wire.Num(nil, 1, id), 2, uint64(dur)), 11, uint64(whole(device)))
	b = wire.Num(wire.Num(wire.Num(b, 13, firstQueue-1+e.queues.of(fmt.Sprint(stream))), 14, stage), 5, 1)
	if stage == 1 || stage == 4 {
		b = wire.Num(b, 20, e.names.of(ev.Name))
	}
	grid, ok := ev.Args["grid"].([]any)
	block, ok2 := ev.Args["block"].([]any)
	if stage == 1 && ok && ok2 {
		b = wire.Num(b, 19, e.kernels.of(ev.Name))
		b = wire.Msg(b, 21, wire.Msg(wire.Msg(nil, 1, dims(grid)), 2, dims(block)))
	}
	extra := func(name string, v any) {
		b = wire.Msg(b, 6, wire.Str(wire.Str(nil, 1, name), 2, fmt.Sprint(v)))
	}
	extra("device id", device)
	extra("context id", arg("context", json.Number("1")))
	extra("stream id", stream)
	for _, name := range []string{"correlation", "queued", "graph id", "graph node id", "bytes"} {
		if v, ok := ev.Args[name]; ok && whole(v) != 0 {
			extra(name, v)
		}
	}
	return b
}

func dims(list []any) (m []byte) {
	for i, v := range list {
		m = wire.Num(m, protowire.Number(i+1), uint64(whole(v)))
	}
	return m
}

// sample is one value of a counter.
func (e *encoder) sample(ev event, ts int64) []byte {
	var gpu int64
	_, _ = fmt.Sscanf(fmt.Sprint(ev.PID), "GPU %d", &gpu)
	e.gpus[gpu] = true
	v, _ := ev.Args[""].(json.Number)
	f, _ := v.Float64()
	m := wire.Num(nil, 4, uint64(gpu+1))
	return Packet(uint64(ts), wire.Msg(nil, 52, wire.Msg(m, 2,
		wire.Double(wire.Num(nil, 1, e.counters.of(ev.Name)), 3, f))))
}

// clocks relates the trace's clock to the time of day.
func (e *encoder) clocks() []byte {
	if e.form != Categories {
		return nil
	}
	clock := func(id uint64) []byte { return wire.Num(wire.Num(nil, 1, id), 2, uint64(e.base)) }
	return Packet(uint64(e.base), wire.Msg(nil, 6, wire.Msg(wire.Msg(nil, 1, clock(6)), 1, clock(1))))
}

func (e *encoder) interned() []byte {
	var in []byte
	entry := func(field, text protowire.Number, id uint64, s string) {
		in = wire.Msg(in, field, wire.Str(wire.Num(nil, 1, id), text, s))
	}
	for i, s := range e.names.order {
		entry(2, 2, uint64(i+1), s)
	}
	for i, s := range e.categories.order {
		entry(1, 2, uint64(i+1), s)
	}
	for i, s := range []string{"Kernel", "Memcpy", "Memset", "Annotation"} {
		entry(24, 2, uint64(i+1), s)
	}
	for i, s := range e.queues.order {
		name := "stream " + s
		if e.form == Categories {
			name = fmt.Sprintf("[%s] %s", s, name)
		}
		entry(24, 2, uint64(firstQueue+i), name)
	}
	for i, s := range e.kernels.order {
		entry(1000, 3, uint64(i+1), s)
	}
	for _, gpu := range slices.Sorted(maps.Keys(e.gpus)) {
		var specs []byte
		for i, s := range e.counters.order {
			specs = wire.Msg(specs, 1, wire.Str(wire.Num(nil, 1, uint64(i+1)), 2, s))
		}
		in = wire.Msg(in, 47, wire.Num(wire.Msg(wire.Num(nil, 1, uint64(gpu+1)), 2, specs), 3, uint64(gpu)))
	}
	return wire.Msg(nil, 1, append(wire.Num(wire.Num(nil, 10, 1), 13, 1), wire.Msg(nil, 12, in)...))
}

// annotation is one debug annotation.
func annotation(name string, v any) []byte { return value(wire.Str(nil, 10, name), v) }

func value(m []byte, v any) []byte {
	switch x := v.(type) {
	case bool:
		n := uint64(0)
		if x {
			n = 1
		}
		return wire.Num(m, 2, n)
	case json.Number:
		if n, err := strconv.ParseInt(string(x), 10, 64); err == nil {
			return wire.Num(m, 4, uint64(n))
		}
		f, _ := x.Float64()
		return wire.Double(m, 5, f)
	case string:
		return wire.Str(m, 6, x)
	case []any:
		for _, y := range x {
			m = wire.Msg(m, 12, value(nil, y))
		}
		return m
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(x)) {
			m = wire.Msg(m, 11, annotation(k, x[k]))
		}
		return m
	}
	return wire.Str(m, 6, "null")
}

// nanos reads microseconds with up to three decimals.
func nanos(n json.Number) int64 {
	s, negative := strings.CutPrefix(string(n), "-")
	before, part, _ := strings.Cut(s, ".")
	v, err := strconv.ParseInt(before+(part + "000")[:3], 10, 64)
	if err != nil {
		return 0
	}
	if negative {
		return -v
	}
	return v
}

// whole reads a whole number, quoted or not.
func whole(v any) int64 {
	n, _ := strconv.ParseInt(fmt.Sprint(v), 10, 64)
	return n
}

// Packet is a packet of sequence 1 with a time and a body.
func Packet(ts uint64, body []byte) []byte {
	return wire.Msg(nil, 1, append(wire.Num(wire.Num(wire.Num(nil, 8, ts), 10, 1), 13, 2), body...))
}
