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
	var ids []int32
	var usual, durations []float64
	for _, part := range slices.Backward(r.byLayer()) {
		if len(part.List) < rotatedLeast {
			continue
		}
		durations = w.appendDurations(durations[:0], part.List)
		if w.ids = w.appendIDs(w.ids[:0], part.List); !slices.Equal(w.ids, ids) {
			ids = slices.Clone(w.ids)
			usual = last.Get(ids, func() []float64 { return slices.Clone(durations) })
		}
		far := apart(durations, usual, 0)
		for shift := 1; far >= rotatedFrom && shift < len(usual); shift++ {
			if apart(durations, usual, shift) <= rotatedTo*far {
				found++
				break
			}
		}
	}
	return found
}

// byLayer returns the kernels of each layer, in launch order.
func (r *Result) byLayer() []segment.Part {
	of := make([]segment.Part, r.Count)
	to := 0
	for run := range runs(r.Layer, func(a, b *int32) bool { return *a == *b }) {
		if to += len(run); run[0] != None {
			of[int(run[0])-r.First].Add(r.Kernels, to-len(run), to)
		}
	}
	return of
}

// appendDurations appends the durations of kernels, none below a nanosecond.
func (w *Work) appendDurations(to []float64, kernels []int32) []float64 {
	for _, i := range kernels {
		to = append(to, float64(max(1, w.Act(i).Duration())))
	}
	return to
}

// apart is the mean distance of the logarithms of durations, two lists of equal length, the second one shifted.
func apart(durations, others []float64, shift int) float64 {
	sum, product := 0.0, 1.0
	for k, a := range durations {
		b := others[(k+shift)%len(others)]
		if product *= max(a, b) / min(a, b); product > 1e100 { // which costs less than a logarithm of each
			sum, product = sum+math.Log(product), 1
		}
	}
	return (sum + math.Log(product)) / float64(len(durations))
}
