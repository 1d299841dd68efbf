package pftrace

import (
	"strconv"
	"strings"

	"github.com/llmstrata/strata/trace"
)

// counterSet is what a sequence says once about the counters of a GPU.
type counterSet struct {
	device int64
	names  map[uint64]string
}

// learnCounters reads an interned description of counters: its number, the GPU, and the names.
func (s *interned) learnCounters(m []byte) bool {
	var id uint64
	set := counterSet{device: int64(trace.NoDevice), names: map[uint64]string{}}
	var f field
	c := fields{rest: m}
	for c.next(&f) {
		switch {
		case f.id == internedID:
			id = f.num
		case f.bytes != nil:
			set.learn(f.bytes)
		default:
			set.device = int64(int32(f.num))
		}
	}
	s.counters[id] = set
	return !c.bad
}

// learn reads the names of counters.
func (c *counterSet) learn(m []byte) {
	var f, g field
	for d := (fields{rest: m}); d.next(&f); {
		if f.id != counterSpecs {
			continue
		}
		var id uint64
		var name string
		for e := (fields{rest: f.bytes}); e.next(&g); {
			switch g.id {
			case 1:
				id = g.num
			case 2:
				name = string(g.bytes)
			}
		}
		c.names[id] = name
	}
}

// gpuCounter reads a gpu_counter_event: values of counters that were described before, or are in it.
func (d *reader) gpuCounter(s *interned, ts int64, m []byte) bool {
	set := &d.inline
	device := int64(trace.NoDevice)
	var f field
	c := fields{rest: m}
	for c.next(&f) { // the description may stand behind the values
		switch f.id {
		case counterDescriptor:
			if d.inline.names == nil {
				d.inline.names = map[uint64]string{}
			}
			d.inline.learn(f.bytes)
		case counterDevice:
			device = int64(int32(f.num))
		case counterDescriptorID:
			known, ok := s.counters[f.num]
			if !ok {
				return false
			}
			set, device = &known, known.device
		}
	}
	if c.bad {
		return false
	}
	for c = (fields{rest: m}); c.next(&f); {
		if f.id == counterValue && !d.sample(set, device, ts, f.bytes) {
			return false
		}
	}
	return true
}

// sample reads one value.
func (d *reader) sample(set *counterSet, device, ts int64, m []byte) bool {
	var id uint64
	var value float64
	var f field
	c := fields{rest: m}
	for c.next(&f) {
		switch f.id {
		case 1:
			id = f.num
		case 2:
			value = float64(int64(f.num))
		case 3:
			value = f.double()
		}
	}
	name, ok := set.names[id]
	if c.bad || !ok {
		return false
	}
	d.count(name, device, ts, value)
	return true
}

// count hands a sample to the builder.
func (d *reader) count(name string, device, ts int64, value float64) {
	if !d.wanted(trace.KindCounter, ts, ts) {
		d.b.See(ts)
		return
	}
	d.samples++
	d.b.Add(trace.EventData{Kind: trace.KindCounter, Name: name, Start: ts, Device: trace.DeviceID(device), Stream: trace.NoStream, Value: value})
}

// trackCounter takes the value of a counter that is a track of its own, which was described before; that of a GPU lies below a track with the GPU's name.
func (d *reader) trackCounter(id uint64, ts int64, value float64) {
	t := d.tracks[id]
	if t == nil {
		d.bad++
		return
	}
	device := int64(trace.NoDevice)
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
