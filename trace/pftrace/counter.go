package pftrace

import (
	"math"
	"strconv"
	"strings"

	"github.com/llmstrata/strata/internal/wire"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// counterSet is what a sequence says once about the counters of a GPU.
type counterSet struct {
	device int64
	names  map[uint64]string
}

// learnCounters reads an interned description of counters: its number, the GPU, and the names.
func (s *interned) learnCounters(m []byte) bool {
	var id uint64
	set := counterSet{device: int64(trace.None), names: map[uint64]string{}}
	good, whole := true, true
	for f, v := range wire.Fields(m, &whole) {
		switch {
		case f == internedID:
			id = v.Num
		case v.Bytes != nil:
			good = set.learn(v.Bytes) && good
		default:
			set.device = int64(int32(v.Num))
		}
	}
	if whole {
		s.counters[id] = set
	}
	return good && whole
}

// learn reads the names of counters.
func (c *counterSet) learn(m []byte) bool {
	good := true
	for f, v := range wire.Fields(m, &good) {
		if f != counterSpecs {
			continue
		}
		id, _, name, ok := numbered(v.Bytes, counterName)
		if !ok {
			return false
		}
		c.names[id] = string(name)
	}
	return good
}

// gpuCounter reads a gpu_counter_event: values of counters that were described before, or are in it.
func (x *parser) gpuCounter(s *interned, ts int64, m []byte) bool {
	set := &x.inline
	device := int64(trace.None)
	good := true
	for f, v := range wire.Fields(m, &good) { // the description may be after the values
		switch f {
		case counterDescriptor:
			if x.inline.names == nil {
				x.inline.names = map[uint64]string{}
			}
			if !x.inline.learn(v.Bytes) {
				return false
			}
		case counterDevice:
			device = int64(int32(v.Num))
		case counterDescriptorID:
			known, ok := s.counters[v.Num]
			if !ok {
				return false
			}
			set, device = &known, known.device
		}
	}
	if !good {
		return false
	}
	for f, v := range wire.Fields(m, &good) {
		if f == counterValue && !x.sample(set, device, ts, v.Bytes) {
			return false
		}
	}
	return true
}

// sample reads one value.
func (x *parser) sample(set *counterSet, device, ts int64, m []byte) bool {
	var id uint64
	var value float64
	good := true
	for f, v := range wire.Fields(m, &good) {
		switch f {
		case 1:
			id = v.Num
		case 2:
			value = float64(int64(v.Num))
		case 3:
			value = math.Float64frombits(v.Num)
		}
	}
	name, ok := set.names[id]
	if !ok || !good {
		return false
	}
	*x.op() = op{what: opSample, ts: ts, slot: -1}
	x.cur.samples = append(x.cur.samples, sample{name: name, device: device, value: value})
	return true
}

// count hands a sample to the builder.
func (d *reader) count(name string, device, ts int64, value float64) {
	at := d.b.Add(trace.EventData{Kind: event.Counter, Name: name, Start: ts, Device: trace.DeviceID(device),
		Stream: trace.None, Value: value})
	if at >= 0 {
		d.samples++
	}
}

// trackCounter takes the value of a counter that is a track of its own, which was described before; that of a GPU
// lies below a track with the GPU's name.
func (d *reader) trackCounter(id uint64, ts int64, value float64) {
	t := d.tracks[id]
	if t == nil {
		d.bad++
		return
	}
	device := int64(trace.None)
	name := t.name
	for depth := 0; t != nil && depth < maxTrackDepth; depth, t = depth+1, d.tracks[t.parent] {
		for _, text := range []string{t.name, t.label} {
			word, _, _ := strings.Cut(strings.TrimPrefix(text, "GPU "), " ")
			if n, err := strconv.ParseInt(word, 10, 32); err == nil && word != text && n >= 0 {
				device = n
			}
		}
	}
	d.count(name, device, ts, value)
}

// maxTrackDepth bounds how many parents of a track are followed: they may form a circle.
const maxTrackDepth = 8
