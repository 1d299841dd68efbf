package ladder

import (
	"math"
	"slices"

	"github.com/llmstrata/strata/layer/internal/segment"
)

const (
	// rotatedFrom is how far, in ln of the duration a kernel, a layer must be from another one that runs the same kernels before its records
	// are looked at. Layers of one kind differ by 0.05 to 0.2 in real replays, those of the scrambled one by 0.9.
	rotatedFrom = 0.4
	// rotatedTo is the part of that distance that may be left when the durations are shifted by some kernels: a sixth in the scrambled one.
	rotatedTo = 0.5
	// rotatedLayers is how many layers must be so: one alone may be anything. rotatedLeast is how many layers there must be,
	// and how many kernels each of those must run.
	rotatedLayers, rotatedLeast = 2, 6
)

// rotated counts the layers of a graph replay whose durations are those of the last layer with the same kernels, shifted by some kernels: names and
// times of the records do not belong together. It needs no order of the file, which a program may have sorted.
func (w *Work) rotated(r *Result) (found int) {
	if r.Count < rotatedLeast || !w.Replayed(r.Kernels[len(r.Kernels)/2]) {
		return 0
	}
	var last segment.Memo[[]float64]
	for _, kernels := range slices.Backward(r.byLayer()) {
		if len(kernels) < rotatedLeast {
			continue
		}
		x := make([]float64, len(kernels))
		for k, i := range kernels {
			x[k] = math.Log(float64(max(1, w.Act(i).Duration())))
		}
		usual := last.Get(w.idsOf(kernels), func() []float64 { return x })
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

// byLayer returns the kernels of each layer, in launch order.
func (r *Result) byLayer() [][]int32 {
	of := make([][]int32, r.Count)
	for k, i := range r.Kernels {
		if l := int(r.Layer[k]); l != None {
			of[l-r.First] = append(of[l-r.First], i)
		}
	}
	return of
}

// apart is the mean distance of two lists of equal length, the second one shifted.
func apart(x, y []float64, shift int) float64 {
	sum := 0.0
	for k := range x {
		sum += math.Abs(x[k] - y[(k+shift)%len(y)])
	}
	return sum / float64(len(x))
}
