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
	of := make([][]int32, r.Count)
	for k, i := range r.Kernels {
		if l := int(r.Layer[k]); l != None {
			of[l-r.First] = append(of[l-r.First], i)
		}
	}
	kinds := map[uint64][][]int32{}
	var order []uint64
	for _, kernels := range of {
		ids := make([]int32, len(kernels))
		for k, i := range kernels {
			ids[k] = w.ID[i]
		}
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

// rotatedOf counts such layers among those of one kind, by the last of them.
func (w *Work) rotatedOf(layers [][]int32) (found int) {
	usual := w.logs(layers[len(layers)-1])
	for _, kernels := range layers[:len(layers)-1] {
		if len(kernels) != len(usual) {
			continue
		}
		x := w.logs(kernels)
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

// logs are the logarithms of the kernels' durations.
func (w *Work) logs(kernels []int32) []float64 {
	out := make([]float64, len(kernels))
	for k, i := range kernels {
		out[k] = math.Log(float64(max(1, w.Act(i).Duration())))
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
