package ladder

import (
	"math"

	"github.com/llmstrata/strata/layer/internal/segment"
)

const (
	// rotatedFrom is how far, in ln of the duration a kernel, a layer must be from another one that runs the same kernels before its records
	// are looked at. Layers of one kind differ by 0.05 to 0.2 in real replays, those of the scrambled one by 0.9.
	rotatedFrom = 0.4
	// rotatedTo is the part of that distance that may be left when the durations are shifted by some kernels: a sixth in the scrambled one.
	rotatedTo = 0.5
	// rotatedLayers is how many layers must be so: one alone may be anything. rotatedLeast is how many layers of one kind there must be,
	// and how many kernels they must run.
	rotatedLayers, rotatedLeast = 2, 6
)

// rotated counts the layers of a graph replay whose durations are those of other layers with the same kernels, shifted by some kernels: names and
// times of the records do not belong together. It needs no order of the file, which a program may have sorted.
func (w *Work) rotated(r *Result) int {
	if r.Count < rotatedLeast || !w.Replayed(r.Kernels[len(r.Kernels)/2]) {
		return 0
	}
	kinds := map[uint64][][]int32{}
	var order []uint64
	var ids []int32
	for _, kernels := range r.byLayer() {
		ids = w.appendIDs(ids[:0], kernels)
		h := segment.Hash(ids)
		if kinds[h] == nil {
			order = append(order, h)
		}
		kinds[h] = append(kinds[h], kernels)
	}
	found := 0
	for _, h := range order {
		if layers := kinds[h]; len(layers) >= rotatedLeast && len(layers[0]) >= rotatedLeast {
			found += w.rotatedOf(layers)
		}
	}
	return found
}

// byLayer returns the kernels of each layer, in launch order.
func (r *Result) byLayer() [][]int32 {
	size := make([]int, r.Count)
	for _, l := range r.Layer {
		if l != None {
			size[int(l)-r.First]++
		}
	}
	of, room := make([][]int32, r.Count), make([]int32, len(r.Kernels))
	for l, n := range size {
		of[l], room = room[:0:n], room[n:]
	}
	for k, i := range r.Kernels {
		if l := int(r.Layer[k]); l != None {
			of[l-r.First] = append(of[l-r.First], i)
		}
	}
	return of
}

// rotatedOf counts such layers among those of one kind, by the last of them.
func (w *Work) rotatedOf(layers [][]int32) (found int) {
	last := layers[len(layers)-1]
	var x, usual []float64
	for _, kernels := range layers[:len(layers)-1] {
		if len(kernels) != len(last) || !w.mayBeFar(kernels, last) {
			continue
		}
		if usual == nil {
			usual = w.appendLogs(usual, last)
		}
		x = w.appendLogs(x[:0], kernels)
		far := apart(x, usual, 0)
		for shift := 1; far >= rotatedFrom && shift < len(x); shift++ {
			if apart(x, usual, shift) <= rotatedTo*far {
				found++
				break
			}
		}
	}
	return found
}

// mayBeFar says that the durations of two lists of kernels may be far enough apart for their records to be looked at: the logarithm of a
// ratio is less than what the ratio is above 1, which costs little to ask for.
func (w *Work) mayBeFar(kernels, others []int32) bool {
	sum := 0.0
	for k := range kernels {
		a, b := max(1, w.Act(kernels[k]).Duration()), max(1, w.Act(others[k]).Duration())
		sum += float64(max(a, b)-min(a, b)) / float64(min(a, b))
	}
	return sum >= rotatedFrom*float64(len(kernels))
}

// appendLogs appends the logarithms of the kernels' durations.
func (w *Work) appendLogs(out []float64, kernels []int32) []float64 {
	for _, i := range kernels {
		out = append(out, math.Log(float64(max(1, w.Act(i).Duration()))))
	}
	return out
}

// apart is the mean distance of two lists of equal length, the second one shifted.
func apart(x, y []float64, shift int) float64 {
	sum := 0.0
	for k := range x {
		sum += math.Abs(x[k] - y[(k+shift)%len(y)])
	}
	return sum / float64(len(x))
}
