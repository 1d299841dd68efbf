package families

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand"
	"slices"
	"strings"
)

// Outside is the layer of kernels that belong to none: embedding, logits, sampling.
const Outside = -1

// A Kernel is one record, and the truth about it.
type Kernel struct {
	Name       string
	Start, Dur int64 // ns
	Stream     int
	Launch     int  // of the call that launched it; kernels of a graph share one. −1: not recorded
	Graph      bool // a graph replay ran it

	Instance, Pass, Layer int // Pass counts the passes of all instances
}

// A Case is a run and what happened to its record.
type Case struct {
	Group, Name string
	Kernels     []Kernel
	// Layers is the number of layers of each instance.
	Layers []int
	// Annotated says that a server marks each pass.
	Annotated bool
	// Lost are the places where records are missing in one stretch, Whole the record before.
	Lost  []Loss
	Whole []Kernel
}

// A Loss is a stretch of missing records.
type Loss struct {
	Pass, Layer, Kernels int // of the first one that is missing
}

// A maker lays kernels one after another.
type maker struct {
	*rand.Rand
	out    []Kernel
	now    int64
	beside int64 // when the last kernel of the second stream ends
	pass   int
	launch int
	mode   mode
	slow   map[string]int64 // usual duration of a kernel of a model
}

// mode is how a host launches.
type mode int

const (
	eager   mode = iota // kernel by kernel, with pauses
	graphs              // a graph a pass
	gpuOnly             // nothing recorded but the GPU
)

func newMaker(seed int64, m mode) *maker {
	return &maker{Rand: rand.New(rand.NewSource(seed)), now: 1_000_000_000, mode: m, slow: map[string]int64{}}
}

// usual is how long a kernel of a model takes: between 1.5 and 60 µs, by its name.
func (m *maker) usual(salt, name string) int64 {
	key := salt + "|" + name
	d, ok := m.slow[key]
	if !ok {
		h := fnv.New32a()
		h.Write([]byte(key))
		d = int64(1500 * math.Exp(float64(h.Sum32()%1000)/1000*math.Log(40)))
		m.slow[key] = d
	}
	return d
}

// run adds a pass of a model; scale makes its kernels longer.
func (m *maker) run(instance int, salt string, o Order, scale float64) {
	begin := len(m.out)
	add := func(names []string, l int) {
		for _, name := range names {
			if late, ok := strings.CutPrefix(name, Waits); ok {
				name = late
				m.now += 20_000 + m.Int63n(40_000)
			}
			x := Kernel{Stream: 7, Instance: instance, Pass: m.pass, Layer: l, Launch: m.launch,
				Graph: m.mode == graphs}
			x.Name, x.Dur = name, int64(float64(m.usual(salt, name))*scale*(1+.04*(m.Float64()-.5)))
			if side, ok := strings.CutPrefix(name, Beside); ok {
				x.Name, x.Stream, x.Start = side, 20, max(m.now-x.Dur/2, m.beside)
				m.now, m.beside = max(m.now, x.Start), x.Start+x.Dur // the first stream waits for its begin
				m.out = append(m.out, x)
			} else {
				x.Start = m.now
				m.out = append(m.out, x)
				m.now += x.Dur + m.pause()
			}
			switch m.mode {
			case eager:
				m.launch++
			case gpuOnly:
				m.out[len(m.out)-1].Launch = -1
			}
		}
	}
	add(o.Prologue, Outside)
	for l, names := range o.Layers {
		add(names, l)
	}
	add(o.Epilogue, Outside)
	slices.SortStableFunc(m.out[begin:], func(a, b Kernel) int { return cmp.Compare(a.Start, b.Start) })
	m.pass++
	m.launch++
	m.now += 20_000 + int64(m.Float64()*m.Float64()*400_000)
}

// pause is the idle time between two kernels.
func (m *maker) pause() int64 {
	if m.mode == eager {
		return 800 + int64(m.ExpFloat64()*2500)
	}
	return 700 + m.Int63n(600)
}

// goOn takes the rest after a pass back: the next one is of the same call.
func (m *maker) goOn() {
	last := m.out[len(m.out)-1]
	m.now = last.Start + last.Dur + m.pause()
}

// family runs a prefill and decode passes.
func (m *maker) family(f Family, decodes int) {
	m.run(0, f.Name, f.Prefill, 3)
	for range decodes {
		m.run(0, f.Name, f.Decode, 1)
	}
}

// lose takes n records away from the i-th on.
func (c *Case) lose(i, n int) {
	n = min(n, len(c.Kernels)-i-1)
	x := c.Kernels[i]
	if c.Whole == nil {
		c.Whole = c.Kernels
	}
	c.Lost = append(c.Lost, Loss{x.Pass, x.Layer, n})
	c.Kernels = append(c.Kernels[:i:i], c.Kernels[i+n:]...)
}

// drop takes single records away.
func (c *Case) drop(r *rand.Rand, share float64) {
	kept := c.Kernels[:0:0]
	for _, x := range c.Kernels {
		if r.Float64() >= share {
			kept = append(kept, x)
		}
	}
	c.Kernels = kept
}

// within is the index of a random kernel of a layer that is in the given part of the run.
func (c *Case) within(r *rand.Rand, from, to float64) int {
	for {
		i := int(float64(len(c.Kernels)) * (from + r.Float64()*(to-from)))
		if c.Kernels[i].Layer != Outside {
			return i
		}
	}
}

// between is the index of the first kernel of a pass that is not the first one.
func (c *Case) between(r *rand.Rand) int {
	for {
		i := 1 + r.Intn(len(c.Kernels)-1)
		for ; i > 0 && c.Kernels[i].Pass == c.Kernels[i-1].Pass; i-- {
		}
		if i > 0 {
			return i
		}
	}
}

// hide makes names mean nothing and keeps which are equal.
func (c *Case) hide() {
	for i := range c.Kernels {
		h := fnv.New64a()
		h.Write([]byte(c.Kernels[i].Name))
		c.Kernels[i].Name = fmt.Sprintf("k_%x", h.Sum64())
	}
}
