package pftrace

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/llmstrata/strata/internal/kind"
	"github.com/llmstrata/strata/internal/wire"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// NOTE on what is written: activities as render stages, each with its own duration, so that those that overlap on a
// stream show whole; everything else as slices with a category. The end of a slice follows its begin at once: viewers
// sort by time, and readers that pair in the order of the file are right as well.

// Span is one slice of a [Track].
type Span struct {
	Name  string         // as the viewer shows it
	Start trace.Time     // since the trace's first event
	End   trace.Time     // since the trace's first event
	Args  map[string]any // shown when the slice is selected; may be nil
}

// Track is a row that [Write] adds to a trace.
type Track struct {
	Name  string // as the viewer shows it
	Spans []Span // by start, not overlapping
}

// WriteOptions changes what [Write] writes.
type WriteOptions struct {
	// Keep chooses events. Nil: all.
	Keep func(trace.Event) bool
	// Tracks are added above all others, with events of category Category.
	Tracks   []Track
	Category string // of the events of Tracks
}

// Write writes a trace as .pftrace, not compressed. [Read] gives the same events again, less what the format does not
// carry (docs/format/pftrace.md). Timestamps are those of [trace.Trace.Raw]. It returns how many events it wrote; the
// error is that of w or ctx.
func Write(ctx context.Context, w io.Writer, t *trace.Trace, o WriteOptions) (int64, error) {
	x := &writer{ctx: ctx, w: w, t: t, o: o, processes: map[string]uint64{}, queues: map[trace.StreamID]uint64{},
		categories: map[string]uint64{},
		names:      make([]bool, t.NumNames()), threads: map[trace.ThreadIndex]bool{}, counters: map[string]uint64{},
		gpus: map[trace.DeviceID]bool{}}
	x.survey()
	x.renumber = x.ambiguous()
	x.describe()
	for i := range t.Len() {
		e := t.At(trace.EventID(i))
		if !x.keeps(e) {
			continue
		}
		x.written++
		x.event(e)
		if x.err != nil {
			break
		}
	}
	x.tracks()
	return x.written, x.err
}

// writer holds the numbers that texts, threads and streams are given.
type writer struct {
	ctx        context.Context
	w          io.Writer
	t          *trace.Trace
	o          WriteOptions
	names      []bool // used, by NameID
	categories map[string]uint64
	processes  map[string]uint64 // numbers of processes that are texts
	queues     map[trace.StreamID]uint64
	threads    map[trace.ThreadIndex]bool
	counters   map[string]uint64
	gpus       map[trace.DeviceID]bool // with counters
	renumber   bool                    // correlations
	buf, body  []byte
	written    int64
	err        error
}

// Numbers of tracks and queues: above what they share a space with.
const (
	firstTrack = 1 << 20 // processes below, threads from here
	addedTrack = 1 << 40
	firstQueue = 100
)

// Numbers of stages, which begin at 1.
const (
	stageKernel = iota + 1
	stageMemcpy
	stageMemset
	stageAnnotation
	stageGraph
)

// stageNames are the names of stages from 1 on.
var stageNames = []string{"Kernel", "Memcpy", "Memset", "Annotation", "Graph"}

func stageOf(k event.Kind) uint64 {
	switch k {
	case event.Kernel:
		return stageKernel
	case event.Memcpy:
		return stageMemcpy
	case event.Memset:
		return stageMemset
	case event.GPUAnnotation:
		return stageAnnotation
	case event.Graph:
		return stageGraph
	}
	return 0
}

func (x *writer) keeps(e trace.Event) bool { return x.o.Keep == nil || x.o.Keep(e) }

// survey numbers what the kept events use.
func (x *writer) survey() {
	for i := range x.t.Len() {
		e := x.t.At(trace.EventID(i))
		if !x.keeps(e) {
			continue
		}
		switch {
		case e.Kind() == event.Counter:
			if _, ok := x.counters[e.Name()]; !ok {
				x.counters[e.Name()] = uint64(len(x.counters) + 1)
			}
			x.gpus[e.Device()] = true
			continue
		case stageOf(e.Kind()) != 0:
			if _, ok := x.queues[e.Stream()]; !ok {
				x.queues[e.Stream()] = uint64(firstQueue + len(x.queues))
			}
		default:
			x.threads[e.Thread()] = true
			d := e.Data()
			if c := category(&d); x.categories[c] == 0 {
				x.categories[c] = uint64(len(x.categories) + 1)
			}
		}
		x.names[e.NameID()] = true
	}
	if len(x.o.Tracks) > 0 && x.categories[x.o.Category] == 0 {
		x.categories[x.o.Category] = uint64(len(x.categories) + 1)
	}
}

// ambiguous reports whether a correlation means different things in different processes, as in traces of several. The
// format has one space of them.
func (x *writer) ambiguous() bool {
	type process struct {
		id    int64
		label string
	}
	of := map[uint64]process{}
	for e := range x.t.Events(event.LaneLaunch) {
		d := e.Data()
		if d.Correlation == 0 {
			continue
		}
		p := process{d.Process, d.ProcessLabel}
		if other, ok := of[d.Correlation]; ok && other != p {
			return true
		}
		of[d.Correlation] = p
	}
	for e := range x.t.Events(event.LaneGPU) {
		if _, ok := of[e.Data().Correlation]; ok && !e.Launch().Valid() {
			return true
		}
	}
	return false
}

// correlation is the number that pairs an event with its launch in the copy: its own, or where those are ambiguous
// that of the launch.
func (x *writer) correlation(e trace.Event, d *trace.EventData) uint64 {
	switch {
	case !x.renumber || d.Correlation == 0:
		return uint64(d.Correlation)
	case e.Launch().Valid():
		return uint64(e.Launch().ID()) + 1
	}
	return uint64(e.ID()) + 1
}

// packet writes one packet of sequence 1.
func (x *writer) packet(ts int64, field protowire.Number, m []byte) {
	if x.err == nil && x.written&(1<<12-1) == 0 {
		x.err = x.ctx.Err()
	}
	if x.err != nil {
		return
	}
	b := wire.Num(wire.Num(x.body[:0], packetTimestamp, uint64(ts)), packetSequence, 1)
	x.body = wire.Msg(wire.Num(b, packetFlags, 2), field, m)
	x.buf = wire.Msg(x.buf[:0], tracePacket, x.body)
	_, x.err = x.w.Write(x.buf)
}

// describe writes the clock, the tracks and the texts.
func (x *writer) describe() {
	at := x.t.Raw(0)
	if at > 0 {
		clock := func(id uint64, ts int64) []byte { return wire.Num(wire.Num(nil, 1, id), 2, uint64(ts)) }
		x.packet(at, packetClocks, wire.Msg(wire.Msg(nil, 1, clock(clockBoot, at)), 1,
			clock(clockReal, at+x.t.Meta().BaseTime)))
	}
	m := x.t.Meta()
	value, err := json.Marshal(recorded{m.Source, m.Rank, m.WorldSize, m.Backend, m.Devices})
	if err != nil {
		x.err = err
		return
	}
	x.packet(at, packetChrome, wire.Msg(nil, chromeMetadata,
		wire.Msg(wire.Str(nil, chromeName, recordedKey), chromeText, value)))
	seen := map[uint64]bool{}
	for _, i := range slices.Sorted(maps.Keys(x.threads)) {
		th := x.t.Thread(i)
		pid, parent := x.process(th)
		if !seen[parent] {
			seen[parent] = true
			name := cmp.Or(th.ProcessName, th.ProcessLabel, strconv.FormatUint(pid, 10))
			x.packet(at, packetDescriptor, wire.Msg(wire.Num(nil, descriptorID, parent), descriptorProcess,
				wire.Str(wire.Num(nil, 1, pid), 6, name)))
		}
		name := cmp.Or(th.Name, th.Label, strconv.FormatInt(int64(th.ID), 10))
		d := wire.Num(wire.Num(nil, descriptorID, threadTrack(i)), descriptorParent, parent)
		x.packet(at, packetDescriptor, wire.Msg(d, descriptorThread,
			wire.Str(wire.Num(wire.Num(nil, 1, pid), 2, uint64(th.ID)), 5, name)))
	}
	x.describeAdded(at)
	x.flagged(at, x.interned())
}

func threadTrack(i trace.ThreadIndex) uint64 { return uint64(firstTrack + 1 + int64(i)) }

// process returns a process's number, and that of its track. Processes that are texts are numbered above all that an
// operating system gives.
func (x *writer) process(th trace.Thread) (pid, track uint64) {
	key := strconv.FormatInt(int64(th.Process), 10) + th.ProcessLabel
	n, ok := x.processes[key]
	if !ok {
		n = uint64(len(x.processes) + 1)
		x.processes[key] = n
	}
	if th.ProcessLabel != "" {
		return 1<<29 + n, n
	}
	return uint64(th.Process), n
}

// describeAdded describes the added tracks: threads of a process of their own.
func (x *writer) describeAdded(at int64) {
	if len(x.o.Tracks) == 0 {
		return
	}
	const pid = 1 << 30
	d := wire.Msg(wire.Num(nil, descriptorID, addedTrack), descriptorProcess,
		wire.Str(wire.Num(nil, 1, pid), 6, "passes and layers (strata)"))
	x.packet(at, packetDescriptor, d)
	for i, tr := range x.o.Tracks {
		id := addedTrack + 1 + uint64(i)
		d := wire.Num(wire.Num(nil, descriptorID, id), descriptorParent, addedTrack)
		x.packet(at, packetDescriptor, wire.Msg(d, descriptorThread,
			wire.Str(wire.Num(wire.Num(nil, 1, pid), 2, pid+1+uint64(i)), 5, tr.Name)))
	}
}

// interned are the texts that events refer to.
func (x *writer) interned() []byte {
	var in []byte
	entry := func(field protowire.Number, id uint64, s string) {
		in = wire.Msg(in, field, wire.Str(wire.Num(nil, internedID, id), internedName, s))
	}
	for id, used := range x.names {
		if used {
			entry(internedNames, uint64(id)+1, x.t.Name(trace.NameID(id)))
		}
	}
	for _, c := range slices.Sorted(maps.Keys(x.categories)) {
		entry(internedCategories, x.categories[c], c)
	}
	for i, s := range stageNames {
		entry(internedStages, uint64(i+1), s)
	}
	for _, q := range slices.Sorted(maps.Keys(x.queues)) {
		entry(internedStages, x.queues[q], "stream "+strconv.FormatInt(int64(q), 10))
	}
	var specs []byte
	for _, name := range slices.Sorted(maps.Keys(x.counters)) {
		specs = wire.Msg(specs, counterSpecs, wire.Str(wire.Num(nil, 1, x.counters[name]), 2, name))
	}
	for _, gpu := range slices.Sorted(maps.Keys(x.gpus)) {
		m := wire.Msg(wire.Num(nil, internedID, uint64(gpu)+2), 2, specs) // a counter of no GPU has the number 1
		in = wire.Msg(in, internedCounters, wire.Num(m, 3, uint64(gpu)))
	}
	return in
}

// flagged writes the packet that begins the sequence's texts.
func (x *writer) flagged(at int64, interned []byte) {
	if x.err != nil {
		return
	}
	b := wire.Num(wire.Num(wire.Num(nil, packetTimestamp, uint64(at)), packetSequence, 1), packetFlags, flagCleared)
	_, x.err = x.w.Write(wire.Msg(nil, tracePacket, wire.Msg(b, packetInterned, interned)))
}

// event writes one event.
func (x *writer) event(e trace.Event) {
	start, d := x.t.Raw(e.Start()), e.Data()
	switch stage := stageOf(e.Kind()); {
	case e.Kind() == event.Counter:
		v := wire.Double(wire.Num(nil, 1, x.counters[e.Name()]), 3, d.Value)
		x.packet(start, packetCounter, wire.Msg(wire.Num(nil, counterDescriptorID, uint64(e.Device())+2), counterValue,
			v))
	case stage != 0:
		x.packet(start, packetRenderStage, x.stage(e, &d, stage))
	default:
		track := threadTrack(e.Thread())
		m := wire.Num(wire.Num(wire.Num(nil, eventType, typeBegin), eventTrack, track), eventNameID, uint64(e.NameID())+1)
		m = wire.Num(m, eventCategoryID, x.categories[category(&d)])
		x.packet(start, packetTrackEvent, x.args(m, e, &d))
		x.end(start+int64(e.Duration()), track)
	}
}

// category is an event's category; one without gets that of what is kept and not interpreted.
func category(d *trace.EventData) string { return cmp.Or(d.Category, event.Other.String()) }

func (x *writer) end(at int64, track uint64) {
	x.packet(at, packetTrackEvent, wire.Num(wire.Num(nil, eventType, typeEnd), eventTrack, track))
}

// args are the annotations of a slice, and which activities a launch caused.
func (x *writer) args(m []byte, e trace.Event, d *trace.EventData) []byte {
	whole := func(name string, v uint64) {
		if v != 0 {
			m = wire.Msg(m, eventArg, wire.Num(wire.Str(nil, argName, name), argInt, v))
		}
	}
	whole(kind.ArgCorrelation, x.correlation(e, d))
	whole(kind.ArgExternalID, d.ExternalID)
	whole(kind.ArgBytes, uint64(d.Bytes))
	if e.Kind() == event.Sync {
		m = wire.Msg(m, eventArg, wire.Num(wire.Str(nil, argName, kind.ArgDevice), argInt, uint64(e.Device())))
		m = wire.Msg(m, eventArg, wire.Num(wire.Str(nil, argName, kind.ArgStream), argInt, uint64(e.Stream())))
	}
	for name, s := range map[string]string{kind.ArgInputDims: d.Shape, argDomain: d.Domain} {
		if s != "" { // an event has at most one of them
			m = wire.Msg(m, eventArg, wire.Str(wire.Str(nil, argName, name), argString, s))
		}
	}
	var ids []byte
	for a := range e.Activities() {
		if x.keeps(a) {
			ids = wire.Num(ids, 1, uint64(a.ID())+1)
		}
	}
	if ids != nil {
		m = wire.Msg(m, eventLaunch, ids)
	}
	return m
}

// stage is an activity or an annotation of a stream.
func (x *writer) stage(e trace.Event, d *trace.EventData, stage uint64) []byte {
	m := wire.Num(wire.Num(nil, stageEventID, uint64(e.ID())+1), stageDuration, uint64(d.Duration))
	m = wire.Num(wire.Num(wire.Num(m, stageDevice, uint64(e.Device())), stageQueueID, x.queues[e.Stream()]), stageID,
		stage)
	m = wire.Num(m, stageNameID, uint64(e.NameID())+1)
	if grid, block, ok := strings.Cut(d.Shape, "|"); ok {
		m = wire.Msg(m, stageLaunch, wire.Msg(wire.Msg(nil, launchGrid, dims(grid)), launchBlock, dims(block)))
	}
	extra := func(name string, v int64) {
		m = wire.Msg(m, stageExtra, wire.Str(wire.Str(nil, 1, name), 2, strconv.FormatInt(v, 10)))
	}
	extra(altDevice, int64(e.Device()))
	extra(altStream, int64(e.Stream()))
	for _, f := range []struct {
		name  string
		value int64
	}{{kind.ArgCorrelation, int64(x.correlation(e, d))}, {kind.AltExternalID, int64(d.ExternalID)},
		{kind.ArgGraphID, int64(d.GraphID)},
		{kind.ArgGraphNode, int64(d.GraphNode)}, {kind.ArgBytes, d.Bytes}} {
		if f.value != 0 {
			extra(f.name, f.value)
		}
	}
	return m
}

// dims are the three numbers of "x,y,z".
func dims(s string) (m []byte) {
	for i, part := range strings.Split(s, ",") {
		if v, err := strconv.ParseUint(part, 10, 64); err == nil {
			m = wire.Num(m, protowire.Number(i+1), v)
		}
	}
	return m
}

// tracks writes the added slices.
func (x *writer) tracks() {
	for i, tr := range x.o.Tracks {
		track := addedTrack + 1 + uint64(i)
		for _, s := range tr.Spans {
			m := wire.Str(wire.Num(wire.Num(nil, eventType, typeBegin), eventTrack, track), eventName, s.Name)
			m = wire.Num(m, eventCategoryID, x.categories[x.o.Category])
			for _, k := range slices.Sorted(maps.Keys(s.Args)) {
				v, err := json.Marshal(s.Args[k])
				if err != nil {
					x.err = cmp.Or(x.err, fmt.Errorf("pftrace: %w", err))
				}
				m = wire.Msg(m, eventArg, annotation(k, v))
			}
			x.packet(x.t.Raw(s.Start), packetTrackEvent, m)
			x.end(x.t.Raw(s.End), track)
			x.written++
		}
	}
}

// annotation is a debug annotation of a value: a number, or a text.
func annotation(name string, v json.RawMessage) []byte {
	m := wire.Str(nil, argName, name)
	var s string
	if n, err := strconv.ParseInt(string(v), 10, 64); err == nil {
		return wire.Num(m, argInt, uint64(n))
	}
	if f, err := strconv.ParseFloat(string(v), 64); err == nil {
		return wire.Double(m, argDouble, f)
	}
	if json.Unmarshal(v, &s) == nil {
		return wire.Str(m, argString, s)
	}
	return wire.Str(m, argString, string(v))
}
