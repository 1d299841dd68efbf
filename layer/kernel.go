package layer

import (
	"iter"
	"math"
	"slices"
	"time"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/trace"
)

// columns hold what is known of each kernel of a device: 15 bytes a kernel, and 4 more where a trace has several
// devices.
type columns struct {
	event    []trace.EventID // ascending; nil where they count up from first
	first    trace.EventID
	pass     []int32
	layer    []int16
	half     []int8
	category []uint16
	operator []uint16 // see Device.operators; nil: not looked for
	order    []int32  // kernels of passes, by pass, then in launch order
	starts   []int32  // in order, by pass, and its length
}

// eventOf is the event of kernel i.
func (c *columns) eventOf(i int32) trace.EventID {
	if c.event == nil {
		return c.first + trace.EventID(i)
	}
	return c.event[i]
}

// kernelOf is the kernel of an event.
func (c *columns) kernelOf(e trace.EventID) (int32, bool) {
	if c.event == nil {
		return int32(e - c.first), e >= c.first && e < c.first+trace.EventID(len(c.pass))
	}
	k, ok := slices.BinarySearch(c.event, e)
	return int32(k), ok
}

// Kernel is a view of one GPU activity (kernel, copy or set) with its place in the model: a small comparable value
// that reads its device's columns. The zero Kernel is none.
type Kernel struct {
	d *Device
	i int32
}

// Place is where a kernel is in the model. Pass indexes [Device.Passes], Layer is the decoder layer, Half indexes
// [Analysis.HalfLabels]; each is [None] for a kernel outside of any.
type Place struct {
	Pass, Layer, Half int
	// Confidence in Pass and Layer, 0…1: that of the pass, 0 outside of any.
	Confidence float32
}

// NumKernels counts the activities of the device.
func (d *Device) NumKernels() int { return len(d.columns.pass) }

// Kernel returns activity i of the device, by start, then input order; it is not valid when there is none.
func (d *Device) Kernel(i int) Kernel {
	if i < 0 || i >= len(d.columns.pass) {
		return Kernel{}
	}
	return Kernel{d, int32(i)}
}

// Kernels iterates over all activities of the device, by start, then input order.
func (d *Device) Kernels() iter.Seq[Kernel] {
	return func(yield func(Kernel) bool) {
		for i := range d.columns.pass {
			if !yield(Kernel{d, int32(i)}) {
				return
			}
		}
	}
}

// Valid reports whether k denotes a kernel. The other methods need one.
func (k Kernel) Valid() bool { return k.d != nil }

// Device returns the GPU that the kernel ran on.
func (k Kernel) Device() *Device { return k.d }

// Index returns the kernel's number on its device, see [Device.Kernel].
func (k Kernel) Index() int { return int(k.i) }

// row is where the kernel is listed; the zero Kernel is the only one of a device without a trace.
func (k Kernel) row() (*Device, int32) {
	if k.d == nil {
		return nowhere, 0
	}
	return k.d, k.i
}

var nowhere = &Device{of: &Analysis{trace: noTrace}, keys: []classify.Category{classify.CategoryOther},
	columns: columns{pass: []int32{trace.None}, layer: []int16{trace.None}, half: []int8{trace.None},
		category: []uint16{0}}}

// Event returns the activity in the trace.
func (k Kernel) Event() trace.Event {
	d, i := k.row()
	return d.event(i)
}

// Place returns the kernel's place in the model.
func (k Kernel) Place() Place {
	d, i := k.row()
	c := &d.columns
	p := Place{Pass: int(c.pass[i]), Layer: int(c.layer[i]), Half: int(c.half[i])}
	if p.Pass != trace.None {
		p.Confidence = float32(d.Passes[p.Pass].Confidence)
	}
	return p
}

// Half returns the label of the half of the layer that the kernel is in, "" outside of layers. With one block per
// layer it is "full".
func (k Kernel) Half() string {
	d, i := k.row()
	h := d.columns.half[i]
	if labels := d.of.HalfLabels; h >= 0 && int(h) < len(labels) {
		return labels[h]
	}
	return ""
}

// Category returns the key of the category that tables show the kernel under, "other" when none is known.
func (k Kernel) Category() classify.Category {
	d, i := k.row()
	return d.keys[d.columns.category[i]]
}

// Does returns the category of what the kernel computes or moves: [Kernel.Category], or that of the default rules and
// the user's where a profile has categories of its own.
func (k Kernel) Does() classify.Category {
	if d, _ := k.row(); d.of.works != nil {
		return d.of.works[k.Event().NameID()]
	}
	return k.Category()
}

// Facts returns what the kernel's name alone shows.
func (k Kernel) Facts() *classify.Facts {
	d, _ := k.row()
	return d.of.Facts(k.Event().NameID())
}

// Layers returns the layers of the pass, in order. They are made of what is known of its kernels, anew in each call:
// ask once where they are looked at often.
func (p *ForwardPass) Layers() []Layer {
	if p.of == nil || p.NumLayers == 0 {
		return nil
	}
	layers, d := make([]Layer, p.NumLayers), p.of
	p.share(layers)
	types, n := p.layerTypes()
	kinds, ends := map[uint64]int{}, d.layerEnds[p.Index]
	for l := range layers {
		lay := &layers[l]
		lay.Index, lay.Partial = p.FirstLayer+l, l == 0 && p.cutFirst || l == p.NumLayers-1 && p.cutLast
		lay.measure(d, kinds)
		if ends != nil && ends[l] != 0 {
			lay.End, lay.Wall = ends[l], time.Duration(ends[l]-lay.Start)
		}
		d.of.label(lay, types, n)
	}
	return layers
}

// share gives each layer of a pass its kernels, in launch order.
func (p *ForwardPass) share(layers []Layer) {
	c := &p.of.columns
	kernels := p.inLaunchOrder()
	counts, all := make([]int, len(layers)), 0
	for _, i := range kernels {
		if l := c.layer[i]; l != trace.None {
			counts[int(l)-p.FirstLayer]++
			all++
		}
	}
	room := make([]int32, all)
	for l, n := range counts {
		layers[l].Kernels, room = room[:0:n], room[n:]
	}
	for _, i := range kernels {
		if l := c.layer[i]; l != trace.None {
			lay := &layers[int(l)-p.FirstLayer]
			lay.Kernels = append(lay.Kernels, i)
		}
	}
}

// measure notes the kind of a layer, which is the sequence of its kernels in launch order, and its times. Its kernels
// are by start then. kinds are those of the layers before it.
func (l *Layer) measure(d *Device, kinds map[uint64]int) {
	h := uint64(1)
	if len(l.Kernels) > 0 {
		l.Start, l.End = math.MaxInt64, math.MinInt64
	}
	for _, i := range l.Kernels {
		e := d.event(i)
		h = (h ^ uint64(uint32(e.NameID()))) * 1099511628211
		l.Start, l.End = min(l.Start, e.Start()), max(l.End, e.End())
		l.Sum += e.Duration()
	}
	l.Wall = time.Duration(l.End - l.Start)
	slices.Sort(l.Kernels)
	kind, ok := kinds[h]
	if !ok {
		kind = len(kinds)
		kinds[h] = kind
	}
	l.Kind = kind
}
