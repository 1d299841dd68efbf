package eventjson

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/llmstrata/strata/internal/decimal"
	"github.com/llmstrata/strata/internal/kind"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/pftrace"
)

// Part is one trace of a document.
type Part struct {
	Trace *trace.Trace
	Name  string // is before the names of its processes; may be empty
	// Shift is added to the trace's raw timestamps, in ns.
	Shift  int64
	Tracks []pftrace.Track // added above its other rows
	// Keep chooses events; nil: all.
	Keep func(trace.Event) bool
}

// Options change a document.
type Options struct {
	// BaseTime is what has to be added to timestamps for wall-clock time; 0: unknown.
	BaseTime int64
	// Note is kept in the document, for people.
	Note string
	// Category is that of the events of added tracks.
	Category string
}

// Process ids: those of each part follow each other, added tracks first, then the GPUs, then processes of the host.
const (
	partRoom = 1 << 20
	firstGPU = 1 << 10
	firstPID = 1 << 15
)

// checkEvery is how many events are written between two looks at the context.
const checkEvery = 1 << 12

// Write writes a document with the events of all parts and returns how many these are. Devices of several parts that
// have the same number are numbered anew, and so are processes, threads and correlations. The error is that of w or
// ctx.
func Write(ctx context.Context, w io.Writer, parts []Part, o Options) (int64, error) {
	x := &writer{ctx: ctx, out: bufio.NewWriterSize(w, 1<<16), parts: parts, o: o}
	x.number()
	x.head()
	for i := range parts {
		x.part(i)
	}
	x.out.WriteString("\n]}\n")
	if x.err != nil {
		return x.written, x.err
	}
	return x.written, x.out.Flush()
}

type writer struct {
	ctx     context.Context
	out     *bufio.Writer
	parts   []Part
	o       Options
	devices []map[trace.DeviceID]int // number in the document, by part
	begun   bool                     // an event was written
	written int64                    // events of the traces
	b       []byte
	err     error
}

// number gives every device of every part a number of its own; their own ones where these differ.
func (x *writer) number() {
	seen, own := map[trace.DeviceID]bool{}, true
	for _, p := range x.parts {
		for _, d := range p.Trace.Devices() {
			own = own && !seen[d]
			seen[d] = true
		}
	}
	next := 0
	for _, p := range x.parts {
		of := map[trace.DeviceID]int{}
		for _, d := range p.Trace.Devices() {
			of[d] = next
			if own {
				of[d] = int(d)
			}
			next++
		}
		x.devices = append(x.devices, of)
	}
}

// head writes what is before the events.
func (x *writer) head() {
	type gpu struct {
		ID     int    `json:"id"`
		Name   string `json:"name"`
		Memory int64  `json:"totalGlobalMem,omitempty"`
		Major  int    `json:"computeMajor,omitempty"`
		Minor  int    `json:"computeMinor,omitempty"`
		SMs    int    `json:"numSms,omitempty"`
	}
	gpus := []gpu{}
	for i, p := range x.parts {
		for _, g := range p.Trace.Meta().Devices {
			if id, ok := x.devices[i][g.ID]; ok {
				gpus = append(gpus, gpu{id, g.Name, g.MemoryBytes, g.ComputeMajor, g.ComputeMinor, g.SMs})
			}
		}
	}
	x.out.WriteString(`{"schemaVersion":1,"displayTimeUnit":"ms","baseTimeNanoseconds":` +
		strconv.FormatInt(x.o.BaseTime, 10) + `,"deviceProperties":`)
	x.value(gpus)
	x.out.WriteString(`,"strata_note":`)
	x.value(x.o.Note)
	x.out.WriteString(`,"traceEvents":[`)
}

// value writes a small value.
func (x *writer) value(v any) {
	data, err := json.Marshal(v)
	if err != nil && x.err == nil {
		x.err = fmt.Errorf("eventjson: %w", err)
	}
	x.out.Write(data)
}

// part writes the events of one part.
func (x *writer) part(i int) {
	p := &x.parts[i]
	base := (i + 1) * partRoom
	prefix := p.Name
	if prefix != "" {
		prefix += ": "
	}
	x.addTracks(p, base, prefix)
	for _, d := range p.Trace.Devices() {
		x.process(base+firstGPU+x.devices[i][d], prefix+"GPU "+strconv.Itoa(int(d)), i*4+2)
	}
	pids := x.threads(p, base, prefix, i*4+3)
	for id := range p.Trace.Len() {
		if x.err == nil && id%checkEvery == 0 {
			x.err = x.ctx.Err()
		}
		if x.err != nil {
			return
		}
		if e := p.Trace.At(trace.EventID(id)); p.Keep == nil || p.Keep(e) {
			x.event(i, pids, e)
			x.written++
		}
	}
}

// addTracks writes the added tracks as threads of a process above the others.
func (x *writer) addTracks(p *Part, pid int, prefix string) {
	if len(p.Tracks) == 0 {
		return
	}
	x.process(pid, prefix+"passes and layers (strata)", -partRoom+pid/partRoom)
	for k, t := range p.Tracks {
		x.meta(pid, k+1, kind.ThreadName, `"name":`, t.Name)
		for _, s := range t.Spans {
			x.open("X", x.o.Category, s.Name, pid, k+1, p.Trace.Raw(s.Start)+p.Shift)
			x.duration(int64(s.End - s.Start))
			data, err := json.Marshal(s.Args)
			if err != nil && x.err == nil {
				x.err = fmt.Errorf("eventjson: %w", err)
			}
			x.b = append(append(x.b, `,"args":`...), data...)
			x.close()
		}
	}
}

// threads names the processes and threads of a part and returns the process of each thread.
func (x *writer) threads(p *Part, base int, prefix string, order int) []int {
	type process struct {
		id    int64
		label string
	}
	seen := map[process]int{}
	var pids []int
	for i, th := range p.Trace.Threads() {
		key := process{th.Process, th.ProcessLabel}
		pid, ok := seen[key]
		if !ok {
			pid = base + firstPID + len(seen)
			seen[key] = pid
			own := cmp.Or(th.ProcessLabel, strconv.FormatInt(int64(th.Process), 10))
			x.process(pid, prefix+strings.TrimSpace(th.ProcessName+" "+own), order)
		}
		pids = append(pids, pid)
		x.meta(pid, i+1, kind.ThreadName, `"name":`, cmp.Or(th.Name,
			"thread "+cmp.Or(th.Label, strconv.FormatInt(int64(th.ID), 10))))
	}
	return pids
}

func (x *writer) process(pid int, name string, order int) {
	x.meta(pid, 0, kind.ProcessName, `"name":`, name)
	x.meta(pid, 0, "process_sort_index", `"sort_index":`, order)
}

// meta writes an event that describes a row.
func (x *writer) meta(pid, tid int, name, key string, value any) {
	x.separate()
	fmt.Fprintf(x.out, `{"ph":"M","name":%q,"pid":%d,"tid":%d,"ts":0,"args":{%s`, name, pid, tid, key)
	x.value(value)
	x.out.WriteString("}}")
}

// separate writes the comma between two events.
func (x *writer) separate() {
	if x.begun {
		x.out.WriteByte(',')
	}
	x.begun = true
	x.out.WriteByte('\n')
}

// open begins an event.
func (x *writer) open(ph, cat, name string, pid, tid int, ts int64) {
	b := append(x.b[:0], `{"ph":"`...)
	b = append(append(b, ph...), `","cat":`...)
	b = append(appendText(b, cat), `,"name":`...)
	b = append(appendText(b, name), `,"pid":`...)
	b = append(strconv.AppendInt(b, int64(pid), 10), `,"tid":`...)
	b = append(strconv.AppendInt(b, int64(tid), 10), `,"ts":`...)
	x.b = decimal.AppendMicros(b, ts)
}

func (x *writer) duration(ns int64) { x.b = decimal.AppendMicros(append(x.b, `,"dur":`...), ns) }

// close ends an event and writes it.
func (x *writer) close() {
	x.separate()
	if _, err := x.out.Write(append(x.b, '}')); err != nil && x.err == nil {
		x.err = err
	}
}

// appendText appends a JSON string.
func appendText(b []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x7f {
			data, _ := json.Marshal(s) // of a string there is no error
			return append(b, data...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}
