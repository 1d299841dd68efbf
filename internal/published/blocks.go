package published

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// errNoAnchor says that no kernel opens a block.
var errNoAnchor = errors.New("no anchor kernel")

// cutOptions says what is known about the model.
type cutOptions struct {
	// Profile names the anchor, blocks per layer and the default number of layers. Not nil.
	Profile *profile.ModelProfile
	// Anchor replaces the profile's: a substring of kernel names. "": the profile's, else the first of its auto
	// anchors that occurs often enough.
	Anchor string
	// NumLayers is the number of layers. 0: the period of the blocks' durations, else the profile's default.
	NumLayers int
	// Device is the GPU. Nil: the one with the most GPU time.
	Device *trace.DeviceID
}

// blockCut is a trace cut into blocks.
type blockCut struct {
	Device    trace.DeviceID
	Anchor    string // the substring that opens a block
	Anchors   int    // kernels that contain it
	NumLayers int
	Source    string // of NumLayers: "given", "period" or "default"
	PerLayer  int    // blocks of a layer
	Passes    []blockPass
	Rest      int // blocks after the last complete pass
}

// blockPass is NumLayers layers.
type blockPass struct {
	Start, End trace.Time // of the first and the last layer
	Layers     []blockLayer
	Whole      bool   // false for the layers that are left over at the end
	Note       string // of the published table: "cold-start", "growing 1.6x", "steady-state" or ""
}

// blockLayer is the kernels of some blocks.
type blockLayer struct {
	Kernels []trace.EventID // by start
	Halves  []int8          // which block of the layer each kernel is in
	Start   trace.Time      // of the first kernel
	End     trace.Time      // of the kernel that starts last

	wallUS float64
}

// findBlocks cuts the trace. The error wraps [errNoAnchor] where nothing opens a block, and is ctx's when cancelled.
func findBlocks(ctx context.Context, t *trace.Trace, o cutOptions) (*blockCut, error) {
	if o.NumLayers < 0 || o.NumLayers > profile.MaxLayers {
		return nil, fmt.Errorf("%w makes %d layers, at most %d", errNoAnchor, o.NumLayers, profile.MaxLayers)
	}
	c := &blockCut{NumLayers: o.NumLayers, Source: "given", PerLayer: max(1, o.Profile.BlocksPerLayer)}
	f := finder{t: t, cut: c}
	if o.Device != nil {
		c.Device = *o.Device
	} else {
		c.Device = busiest(t)
	}
	for e := range t.Events(event.LaneGPU) {
		if e.Device() == c.Device && e.Kind() == event.Kernel {
			f.rows = append(f.rows, e)
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := f.findAnchors(o); err != nil {
		return nil, err
	}
	c.Anchors = len(f.pos)
	if c.NumLayers == 0 {
		c.NumLayers, c.Source = f.period(), "period"
	}
	if c.NumLayers == 0 {
		c.NumLayers, c.Source = o.Profile.DefaultLayers, "default"
	}
	if c.NumLayers <= 0 {
		return nil, fmt.Errorf("%w shows the number of layers, and profile %s has no default (use --num-layers)",
			errNoAnchor, o.Profile.Name)
	}
	f.fill()
	f.addNotes()
	return c, ctx.Err()
}

// busiest returns the GPU with the most GPU time, the lowest id of equals.
func busiest(t *trace.Trace) trace.DeviceID {
	busy := map[trace.DeviceID]time.Duration{}
	for e := range t.Events(event.LaneGPU) {
		busy[e.Device()] += e.Duration()
	}
	best := trace.DeviceID(trace.None)
	for d, b := range busy {
		if best == trace.None || b > busy[best] || b == busy[best] && d < best {
			best = d
		}
	}
	return best
}

// finder is the state of one search.
type finder struct {
	t    *trace.Trace
	cut  *blockCut
	rows []trace.Event // kernels by start
	pos  []int         // which rows are anchors
}

// findAnchors chooses the anchor and finds the rows that contain it.
func (f *finder) findAnchors(o cutOptions) error {
	p := o.Profile.WithAnchor(o.Anchor)
	anchor := p.Anchor
	if anchor == "" {
		for _, candidate := range p.AutoAnchors {
			if len(f.containing(candidate)) >= profile.AutoAnchorMin {
				anchor = candidate
				break
			}
		}
	}
	if anchor == "" {
		return fmt.Errorf("%w: boundaries=anchor-opens needs one and profile %s has none that occurs here; give "+
			"--anchor-kernel", errNoAnchor, p.Name)
	}
	f.cut.Anchor, f.pos = anchor, f.containing(anchor)
	if len(f.pos) == 0 {
		return fmt.Errorf("%w: no kernel name contains the anchor %q of profile %s", errNoAnchor, anchor, p.Name)
	}
	return nil
}

func (f *finder) containing(anchor string) (pos []int) {
	is := map[trace.NameID]bool{}
	for i, e := range f.rows {
		yes, known := is[e.NameID()]
		if !known {
			yes = strings.Contains(e.Name(), anchor)
			is[e.NameID()] = yes
		}
		if yes {
			pos = append(pos, i)
		}
	}
	return pos
}

// fill makes passes of blocks; blocks that are left over make one that is not complete.
func (f *finder) fill() {
	c := f.cut
	blocks, per := len(f.pos)-1, c.NumLayers*c.PerLayer
	c.Rest = blocks % per
	for p := 0; p*per < blocks; p++ {
		pass := blockPass{Whole: (p+1)*per <= blocks}
		for b := p * per; b < (p+1)*per && b+c.PerLayer <= blocks; b += c.PerLayer {
			pass.Layers = append(pass.Layers, f.layer(b))
		}
		if n := len(pass.Layers); n > 0 {
			pass.Start, pass.End = pass.Layers[0].Start, pass.Layers[n-1].End
			c.Passes = append(c.Passes, pass)
		}
	}
}

// layer is the blocks from b on.
func (f *finder) layer(b int) blockLayer {
	first, last := f.pos[b], f.pos[b+f.cut.PerLayer]-1
	l := blockLayer{Start: f.rows[first].Start(), End: f.rows[last].End()}
	l.wallUS = rawUS(f.t, f.rows[last]) + float64(f.rows[last].Duration())/1000 - rawUS(f.t, f.rows[first])
	half := 0
	for k := first; k <= last; k++ {
		if k == f.pos[b+half+1] {
			half++
		}
		l.Kernels = append(l.Kernels, f.rows[k].ID())
		l.Halves = append(l.Halves, int8(half))
	}
	return l
}

// The published guess of the number of layers: the period, in blocks, of the blocks' durations.
const (
	periodBlocks = 200 // blocks that are looked at
	periodMost   = 120 // periods shorter than this are tried
	periodLeast  = 4   // blocks that it takes
	periodAlike  = 0.7 // mean ratio of two durations one period apart, from which on the guess counts
)

// period returns the number of layers by that guess, 0 for none.
func (f *finder) period() int {
	n := min(periodBlocks, len(f.pos)-1)
	if n < periodLeast {
		return 0
	}
	d := make([]float64, n)
	for k := range d {
		first, last := f.rows[f.pos[k]], f.rows[f.pos[k+1]-1]
		d[k] = float64(last.End()-first.Start()) / 1000
	}
	best, bestScore := 0, 0.0
	for p := f.cut.PerLayer; p < min(periodMost, n) && 2*p <= n; p++ {
		score := 0.0
		for i := 0; i < min(p, n-p); i++ {
			if hi := max(d[i], d[i+p]); hi > 0 {
				score += min(d[i], d[i+p]) / hi
			}
		}
		if score > bestScore {
			best, bestScore = p, score
		}
	}
	if best == 0 || bestScore <= periodAlike*float64(best) {
		return 0
	}
	return best / f.cut.PerLayer
}
