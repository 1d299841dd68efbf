package operator

import (
	"encoding/binary"
)

// Layers repeat: of a long run of equal ones, the two at each end are aligned, and those between have the operators of the second.
// The kernels around a layer decide about it only as far as its neighbours, which are equal there, too.

// keptPeriods is how many of a run are aligned at each end: the outermost has other neighbours than the rest.
const keptPeriods = 2

// maxPeriod is after how many layers kinds of layers may repeat: hybrids have one with attention in four or eight.
const maxPeriod = 8

// folding is a pass without the middles of its runs.
type folding struct {
	pass   Pass
	layout *Layout // of the kept layers; nil where the whole pass had none
	of     []int32 // per kernel of the whole pass: the one of pass that stands for it
	behind []int32 // per kernel of the whole pass: by how many layers its label is behind that one's
}

// fold returns the pass without the middles of its runs of equal layers; nil where it has none, or where the kernels of a layer do not
// stand together.
func foldPass(p *Pass, l *Layout) *folding {
	starts := layerStarts(p)
	if starts == nil || l != nil && p.First+p.Layers > len(l.LayerKinds) {
		return nil
	}
	stand := standIns(blockKeys(p, l, starts))
	if stand == nil {
		return nil
	}
	f := &folding{pass: *p, layout: l, of: make([]int32, len(p.Kernels)), behind: make([]int32, len(p.Kernels))}
	f.pass.Kernels, f.pass.Layers = nil, 0
	at := make([]int32, len(stand)) // of kept layers: their first kernel in the folded pass
	index := make([]int32, len(stand))
	keep := func(from, to int, behind int32) {
		for k := from; k < to; k++ {
			f.of[k], f.behind[k] = int32(len(f.pass.Kernels)), behind
			kernel := p.Kernels[k]
			if kernel.Layer >= 0 {
				kernel.Layer -= behind
			}
			f.pass.Kernels = append(f.pass.Kernels, kernel)
		}
	}
	keep(0, starts[0], 0)
	kinds := []int{}
	for b, s := range stand {
		if int(s) != b {
			for k := starts[b]; k < starts[b+1]; k++ {
				f.of[k], f.behind[k] = at[s]+int32(k-starts[b]), int32(b)-index[s]
			}
			continue
		}
		at[b], index[b] = int32(len(f.pass.Kernels)), int32(f.pass.Layers)
		keep(starts[b], starts[b+1], int32(b-f.pass.Layers))
		if l != nil {
			kinds = append(kinds, l.LayerKinds[p.First+b])
		}
		f.pass.Layers++
	}
	keep(starts[len(stand)], len(p.Kernels), int32(len(stand)-f.pass.Layers))
	if l != nil {
		short := *l
		short.LayerKinds = append(append(append([]int{}, l.LayerKinds[:p.First]...), kinds...), l.LayerKinds[p.First+p.Layers:]...)
		f.layout = &short
	}
	return f
}

// unfold gives every kernel of the whole pass the answer of the one that stands for it.
func (f *folding) unfold(found []Found) []Found {
	out := make([]Found, len(f.of))
	for k, i := range f.of {
		out[k] = found[i]
		if out[k].Layer >= 0 {
			out[k].Layer += f.behind[k]
		}
	}
	return out
}

// layerStarts returns the first kernel of each layer and the one behind the last; nil where the kernels of a layer do not stand
// together, layers are missing or names are not numbered.
func layerStarts(p *Pass) []int {
	if p.Layers <= 2*keptPeriods {
		return nil
	}
	var starts []int
	last := int32(-1)
	for k := range p.Kernels {
		l := p.Kernels[k].Layer
		switch {
		case p.Kernels[k].ID == 0:
			return nil
		case l == last:
		case l == int32(p.First+len(starts)) && (last >= 0 || len(starts) == 0) && len(starts) < p.Layers:
			starts = append(starts, k)
		case l == -1 && len(starts) == p.Layers:
			starts = append(starts, k) // behind the last layer
		default:
			return nil
		}
		last = l
	}
	if len(starts) == p.Layers {
		starts = append(starts, len(p.Kernels))
	}
	if len(starts) != p.Layers+1 {
		return nil
	}
	return starts
}

// blockKeys numbers the layers so that equal numbers are equal kernels, frames, shapes and kinds of layers.
func blockKeys(p *Pass, l *Layout, starts []int) []int32 {
	out := make([]int32, len(starts)-1)
	ids := map[string]int32{}
	var key []byte
	paths := map[int32]uint32{}
	for b := range out {
		key = key[:0]
		clear(paths)
		if l != nil {
			key = binary.LittleEndian.AppendUint32(key, uint32(l.LayerKinds[p.First+b]))
		}
		for k := starts[b]; k < starts[b+1]; k++ {
			kernel := &p.Kernels[k]
			path, ok := paths[kernel.Path] // which of the layer's modules, in order of first use
			if !ok {
				path = uint32(len(paths))
				paths[kernel.Path] = path
			}
			for _, v := range [...]uint32{uint32(kernel.ID), uint32(kernel.Stream), uint32(kernel.K), uint32(kernel.N), uint32(kernel.Width.Over), uint32(kernel.Width.Upto), uint32(kernel.PathKind), path} {
				key = binary.LittleEndian.AppendUint32(key, v)
			}
		}
		id, ok := ids[string(key)]
		if !ok {
			id = int32(len(ids))
			ids[string(key)] = id
		}
		out[b] = id
	}
	return out
}

// standIns says of each layer which one is aligned for it, itself where it is kept; nil where all are.
func standIns(keys []int32) []int32 {
	out := make([]int32, len(keys))
	any := false
	for i := 0; i < len(keys); {
		out[i] = int32(i)
		period, n := run(keys[i:])
		if n <= 2*keptPeriods {
			i++
			continue
		}
		any = true
		for j := range n * period {
			out[i+j] = int32(i + j)
			if q := j / period; q >= keptPeriods && q < n-keptPeriods {
				out[i+j] = int32(i + (keptPeriods-1)*period + j%period)
			}
		}
		i += (n - keptPeriods) * period // the rest may begin another run
	}
	if !any {
		return nil
	}
	return out
}

// run returns the period of the run that keys begin with, and how often it is there; the shortest period that folds.
func run(keys []int32) (period, n int) {
	for p := 1; p <= maxPeriod && p < len(keys); p++ {
		j := p
		for j < len(keys) && keys[j] == keys[j-p] {
			j++
		}
		if j/p > 2*keptPeriods {
			return p, j / p
		}
	}
	return 0, 0
}
