package layer

import (
	"iter"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/trace"
)

// columns hold what is known of each kernel of a device: 19 bytes a kernel, and 4 more in [Layer.Kernels].
type columns struct {
	event    []trace.EventID // ascending
	pass     []int32
	layer    []int16
	half     []int8
	category []uint16
	operator []uint16 // see Device.operators; nil: not looked for
	order    []int32  // kernels in launch order
}

// Kernel is a view of one GPU activity (kernel, copy or set) with its place in the model: a small comparable value that reads
// its device's columns. The zero Kernel is none.
type Kernel struct {
	d *Device
	i int32
}

// Place is where a kernel stands in the model. Pass indexes [Device.Passes], Layer is the decoder layer, Half indexes
// [Analysis.HalfLabels]; each is [None] for a kernel outside of any.
type Place struct {
	Pass, Layer, Half int
	// Confidence in Pass and Layer, 0…1: that of the pass, 0 outside of any.
	Confidence float32
}

// NumKernels counts the activities of the device.
func (d *Device) NumKernels() int { return len(d.columns.event) }

// Kernel returns activity i of the device, by start, then input order; it is not valid when there is none.
func (d *Device) Kernel(i int) Kernel {
	if i < 0 || i >= len(d.columns.event) {
		return Kernel{}
	}
	return Kernel{d, int32(i)}
}

// Kernels iterates over all activities of the device, by start, then input order.
func (d *Device) Kernels() iter.Seq[Kernel] {
	return func(yield func(Kernel) bool) {
		for i := range d.columns.event {
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

// Event returns the activity in the trace.
func (k Kernel) Event() trace.Event { return k.d.of.trace.At(k.d.columns.event[k.i]) }

// Place returns the kernel's place in the model.
func (k Kernel) Place() Place {
	c := &k.d.columns
	p := Place{Pass: int(c.pass[k.i]), Layer: int(c.layer[k.i]), Half: int(c.half[k.i])}
	if p.Pass != None {
		p.Confidence = float32(k.d.Passes[p.Pass].Confidence)
	}
	return p
}

// Half returns the label of the half of the layer that the kernel is in, "" outside of layers. With one block per layer it
// is "full".
func (k Kernel) Half() string {
	h := k.d.columns.half[k.i]
	if labels := k.d.of.HalfLabels; h >= 0 && int(h) < len(labels) {
		return labels[h]
	}
	return ""
}

// Category returns the key of the category that tables show the kernel under, "other" when none is known.
func (k Kernel) Category() classify.Category { return k.d.keys[k.d.columns.category[k.i]] }

// Facts returns what the kernel's name alone tells.
func (k Kernel) Facts() *classify.Facts { return k.d.of.factsOf(k.Event().NameID()) }

// Replay says that a graph replay launched the kernel.
func (k Kernel) Replay() bool { return k.Event().IsReplay() }
