package xplane

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/llmstrata/strata/internal/wire"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// Format returns the format.
func Format() trace.Format {
	return trace.Format{
		Name:     "XSpace (JAX, XLA)",
		Suffixes: []string{".xplane.pb"},
		Match:    match,
		Open: func(ctx context.Context, in *trace.Input, o trace.Options) (*trace.Trace, error) {
			t, err := read(ctx, in.R, in.Name, o)
			if err != nil && in.Name != "" {
				return nil, fmt.Errorf("%s: %w", in.Name, err)
			}
			return t, err
		},
	}
}

// Numbers of fields, from xplane.proto.
const (
	spacePlane = 1

	planeID, planeName, planeLine, planeEvents, planeStats, planeStat = 1, 2, 3, 4, 5, 6
	lineID, lineName, lineStart, lineEvent, lineShown                 = 1, 2, 3, 4, 11
	eventMetadata, eventOffset, eventDuration, eventStat              = 1, 2, 3, 4
	metaName, metaShown, metaStat                                     = 2, 4, 5
	statMetadata, statDouble, statUint, statInt, statText, statRef    = 1, 2, 3, 4, 5, 7
)

// Planes that hold facts about the recording, and no events.
const (
	metadataPlane = "/host:metadata"
	taskPlane     = "Task Environment"
)

// match separates an XSpace from Perfetto's format, which begins alike: the first
// message is a plane, which has a number and a name, and nothing above field 6.
func match(head []byte) bool {
	field, typ, n := protowire.ConsumeTag(head)
	if n < 0 || field != spacePlane || typ != protowire.BytesType {
		return false
	}
	size, m := protowire.ConsumeVarint(head[n:])
	if m < 0 || size == 0 {
		return false
	}
	plane := head[n+m:]
	plane = plane[:min(uint64(len(plane)), size)]
	for len(plane) > 0 {
		field, typ, n := protowire.ConsumeTag(plane)
		switch {
		case n < 0 || field > planeStat:
			return false
		case field == planeID && typ == protowire.VarintType:
			k := protowire.ConsumeFieldValue(field, typ, plane[n:])
			if k < 0 {
				return false
			}
			plane = plane[n+k:]
		case field == planeName && typ == protowire.BytesType:
			name, k := protowire.ConsumeBytes(plane[n:])
			return k > 0 && len(name) > 1 && utf8.Valid(name) &&
				!bytes.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == utf8.RuneError })
		default:
			return false
		}
	}
	return false
}

// errWire is a message that ends too early or is none.
var errWire = errors.New("damaged protobuf")

// each calls f for the fields of a message: with the number, or the bytes.
func each(b []byte, f func(field int, v uint64, text []byte) error) error {
	whole := true
	for field, v := range wire.Fields(b, &whole) {
		if err := f(field, v.Num, v.Bytes); err != nil {
			return err
		}
	}
	if !whole {
		return errWire
	}
	return nil
}

// stat is a value of an event, a kind of events or a plane.
type stat struct {
	id     int64
	text   string
	number int64
	kind   int
}

func readStat(b []byte) (s stat, err error) {
	err = each(b, func(field int, v uint64, text []byte) error {
		switch field {
		case statMetadata:
			s.id = int64(v)
		case statDouble:
			s.number, s.kind = int64(math.Float64frombits(v)), field
		case statUint, statInt, statRef:
			s.number, s.kind = int64(v), field
		case statText:
			s.text, s.kind = string(text), field
		}
		return nil
	})
	return s, err
}

// metadata is a kind of events.
type metadata struct {
	name  string
	stats []stat
}

// plane is one of them; its tables are after its lines.
type plane struct {
	name   string
	lines  [][]byte
	events map[int64]metadata
	stats  map[int64]string
	own    []stat
}

func readPlane(b []byte) (*plane, error) {
	p := &plane{events: map[int64]metadata{}, stats: map[int64]string{}}
	err := each(b, func(field int, _ uint64, text []byte) error {
		switch field {
		case planeName:
			p.name = string(text)
		case planeLine:
			p.lines = append(p.lines, text)
		case planeEvents, planeStats:
			return p.entry(field == planeEvents, text)
		case planeStat:
			s, err := readStat(text)
			p.own = append(p.own, s)
			return err
		}
		return nil
	})
	return p, err
}

// entry reads an entry of a map: key 1, value 2.
func (p *plane) entry(ofEvents bool, b []byte) error {
	var key int64
	var value []byte
	if err := each(b, func(field int, v uint64, text []byte) error {
		if field == 1 {
			key = int64(v)
		} else {
			value = text
		}
		return nil
	}); err != nil {
		return err
	}
	var m metadata
	err := each(value, func(field int, _ uint64, text []byte) error {
		switch {
		case field == metaName:
			m.name = string(text)
		case field == metaStat && ofEvents:
			s, err := readStat(text)
			m.stats = append(m.stats, s)
			return err
		}
		return nil
	})
	if ofEvents {
		p.events[key] = m
	} else {
		p.stats[key] = m.name
	}
	return err
}

// Names of stats: of events, of GPUs, of the task.
const (
	statCorrelation = "correlation_id"
	statKernel      = "kernel_details"
	statCopy        = "memcpy_details"
	statSet         = "Memset_details"
	statOp          = "hlo_op"
	statModule      = "hlo_module"
	statFrameworkOp = "tf_op"
	statName        = "name"

	statVendor    = "device_vendor"
	statCores     = "core_count"
	statMemory    = "memory_size"
	statBandwidth = "memory_bandwidth"
	statClock     = "clock_rate"
	statType      = "device_type_string"
	statGPU       = "gpu_device_name"

	statStartTime = "profile_start_time"
)

// values are the stats of one event that are read, by name.
type values struct {
	correlation               uint64
	details, op, module, name string
}

func (p *plane) values(lists ...[]stat) (v values) {
	for _, s := range slices.Concat(lists...) {
		text := s.text
		if s.kind == statRef {
			text = p.stats[s.number]
		}
		switch p.stats[s.id] {
		case statCorrelation:
			v.correlation = uint64(s.number)
			if text != "" {
				v.correlation, _ = strconv.ParseUint(text, 10, 64) // 0, which is none, where it is no number
			}
		case statKernel, statCopy, statSet:
			v.details = text
		case statOp:
			v.op = text
		case statModule:
			v.module = text
		case statFrameworkOp, statName:
			v.name = text
		}
	}
	return v
}

// details reads "regs:32 grid:1,2,3 block:4,5,6", in blanks or lines.
func details(text string) map[string]string {
	out := map[string]string{}
	for _, f := range strings.Fields(text) {
		if k, v, ok := strings.Cut(f, ":"); ok {
			out[k] = v
		}
	}
	return out
}

// span is a stretch in which one module runs on a stream.
type span struct {
	module     string
	start, end int64
}

type reader struct {
	ctx context.Context
	b   *trace.Builder
	n   int
}

func read(ctx context.Context, in io.Reader, name string, o trace.Options) (*trace.Trace, error) {
	text, err := io.ReadAll(in)
	if err != nil {
		return nil, err
	}
	r := &reader{ctx: ctx, b: trace.NewBuilder(o)}
	r.b.Meta.Path, r.b.Meta.Source, r.b.Meta.Format = name, trace.SourceXLA, "xspace"
	err = each(text, func(field int, _ uint64, b []byte) error {
		if field != spacePlane {
			return nil
		}
		p, err := readPlane(b)
		if err != nil {
			return err
		}
		return r.plane(p)
	})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if errors.Is(err, errWire) {
		r.b.LoseDetail(event.Truncated, 1, "the file ends within a message, or is damaged")
		err = nil
	}
	if err != nil {
		return nil, err
	}
	return r.b.Finish(ctx)
}

// derived are lines that the profiler makes of others.
var derived = []string{"Steps", "XLA Modules", "XLA Ops", "Framework Ops", "Framework Name Scope", "Source code",
	"Launch Stats", "XLA TraceMe"}

func (r *reader) plane(p *plane) error {
	switch {
	case strings.HasPrefix(p.name, "/device:GPU:"):
		n, err := strconv.Atoi(strings.TrimPrefix(p.name, "/device:GPU:"))
		if err != nil {
			return nil // some other device
		}
		r.gpu(p, trace.DeviceID(n))
		for _, line := range p.lines {
			if err := r.stream(p, trace.DeviceID(n), line); err != nil {
				return err
			}
		}
	case strings.HasPrefix(p.name, "/host:") && p.name != metadataPlane:
		for _, line := range p.lines {
			if err := r.thread(p, line); err != nil {
				return err
			}
		}
	case p.name == taskPlane:
		for _, s := range p.own {
			if p.stats[s.id] == statStartTime {
				r.b.Meta.BaseTime = s.number
			}
		}
	}
	return nil
}

// gpu describes a device.
func (r *reader) gpu(p *plane, id trace.DeviceID) {
	g := trace.GPU{ID: id}
	for _, s := range p.own {
		switch p.stats[s.id] {
		case statVendor:
			g.Name = s.text
			if s.kind == statRef {
				g.Name = p.stats[s.number]
			}
		case statCores:
			g.SMs = int(s.number)
		case statMemory:
			g.MemoryBytes = s.number
		case statBandwidth:
			g.Bandwidth = s.number
		case statClock:
			const kiloPerMega = 1000
			g.MaxClockMHz = float64(s.number) / kiloPerMega
		case statType, statGPU:
			if s.text != "" {
				g.Name = s.text
			}
		}
	}
	r.b.Meta.Devices = append(r.b.Meta.Devices, g)
}

// line calls f for the events of a line.
func (r *reader) line(p *plane, b []byte, f func(id int64, line string, name metadata, start, dur int64,
	stats []stat)) error {
	var id, at int64
	var name, shown string
	var events [][]byte
	err := each(b, func(field int, v uint64, text []byte) error {
		switch field {
		case lineID:
			id = int64(v)
		case lineName:
			name = string(text)
		case lineShown:
			shown = string(text)
		case lineStart:
			at = int64(v)
		case lineEvent:
			events = append(events, text)
		}
		return nil
	})
	if err != nil || slices.Contains(derived, name) || strings.HasPrefix(name, "_counters_") {
		return err
	}
	if shown != "" {
		name = shown
	}
	for _, e := range events {
		if r.n++; r.n%(1<<12) == 0 && r.ctx.Err() != nil {
			return r.ctx.Err()
		}
		var kind, offset, dur int64
		var stats []stat
		if err := each(e, func(field int, v uint64, text []byte) error {
			switch field {
			case eventMetadata:
				kind = int64(v)
			case eventOffset:
				offset = int64(v)
			case eventDuration:
				dur = int64(v)
			case eventStat:
				s, err := readStat(text)
				stats = append(stats, s)
				return err
			}
			return nil
		}); err != nil {
			return err
		}
		const picos = 1000 // in a nanosecond
		f(id, name, p.events[kind], at+offset/picos, (dur+picos/2)/picos, stats)
	}
	return nil
}

// stream reads the activities of a stream.
func (r *reader) stream(p *plane, device trace.DeviceID, b []byte) error {
	var modules []span
	stream := trace.StreamID(trace.None)
	err := r.line(p, b, func(id int64, _ string, m metadata, start, dur int64, stats []stat) {
		stream = trace.StreamID(id)
		v := p.values(m.stats, stats)
		d := details(v.details)
		e := trace.EventData{Kind: event.Kernel, Name: strings.TrimSuffix(m.name, ".kd"), Start: start, Duration: dur,
			Device: device, Stream: stream, Correlation: v.correlation}
		switch lower := strings.ToLower(m.name); {
		case strings.HasPrefix(lower, "memcpy"):
			e.Kind = event.Memcpy
		case strings.HasPrefix(lower, "memset"):
			e.Kind = event.Memset
		case d["grid"] != "" && d["block"] != "":
			e.Shape = d["grid"] + "|" + d["block"]
		}
		if e.Kind != event.Kernel {
			e.Bytes, _ = strconv.ParseInt(d["size"], 10, 64) // 0, not recorded, where it is no number
		}
		if v.op != "" || v.module != "" || v.name != "" {
			// of texts: no error
			e.Args, _ = json.Marshal(map[string]string{"hlo_op": v.op, "hlo_module": v.module, "name": v.name})
		}
		r.b.Add(e)
		if last := len(modules) - 1; v.module == "" {
			return
		} else if last >= 0 && modules[last].module == v.module && start >= modules[last].start {
			modules[last].end = max(modules[last].end, start+dur)
		} else {
			modules = append(modules, span{v.module, start, start + dur})
		}
	})
	for _, m := range modules {
		r.b.Add(trace.EventData{Kind: event.GPUAnnotation, Name: m.module, Start: m.start, Duration: m.end - m.start,
			Device: device, Stream: stream})
	}
	return err
}

// launches reports whether a call of this name starts the activities that have its
// id: of AMD's, one that waits for a stream shares its id with kernels that it did not launch.
func launches(name string) bool {
	return !strings.Contains(name, "Wait") && !strings.Contains(name, "EventRecord")
}

// thread reads what a thread of the host did.
func (r *reader) thread(p *plane, b []byte) error {
	return r.line(p, b, func(id int64, line string, m metadata, start, dur int64, stats []stat) {
		v := p.values(m.stats, stats)
		e := trace.EventData{Kind: event.Annotation, Name: m.name, Start: start, Duration: dur, Thread: id,
			Device: trace.None, Stream: trace.None}
		switch frame, python := strings.CutPrefix(m.name, "$"); {
		case python:
			e.Kind, e.Name = event.Frame, frame
		case v.correlation != 0:
			e.Kind = event.Runtime
			if launches(m.name) {
				e.Correlation = v.correlation
			}
		case v.op != "":
			e.Kind = event.Op
		}
		r.b.Add(e)
		r.b.Name(trace.Thread{ID: id, Name: line})
	})
}
