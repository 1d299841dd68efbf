package layer

import "github.com/llmstrata/strata/classify"

// dividedReduces is how many all-reduces the layers of a pass must run, three for every two layers: a layer that is divided over GPUs has
// one behind its attention and one behind its feed-forward part, one whose experts alone are spread has one at most.
const dividedReduces = 1.5

// Divided says that layers are divided over GPUs, tensor-parallel: the sums behind attention and feed-forward part run in them.
func (a *Analysis) Divided() bool {
	for i := range a.Devices {
		d := &a.Devices[i]
		reduces := make([]int, len(d.Passes))
		for k := range d.Kernels() {
			if at := k.Place(); at.Layer != None && k.Facts().Collective == classify.AllReduce {
				reduces[at.Pass]++
			}
		}
		for p, n := range reduces {
			if layers := len(d.Passes[p].Layers); layers > 1 && float64(n) >= dividedReduces*float64(layers) {
				return true
			}
		}
	}
	return false
}
