package layer_test

import (
	"fmt"
	"math/rand"
	"testing"

	"github.com/llmstrata/strata/internal/gen/families"
	"github.com/llmstrata/strata/layer"
)

// TestUnseen: of models that nothing is fitted to no answer that is printed with 0.9 is below 90 % right. A subset runs always, all of it with
// -battery.
func TestUnseen(t *testing.T) {
	cases, right, sure, sureRight := 0, 0.0, 0, 0.0
	for fi, f := range families.Unseen() {
		for ti, tf := range transforms {
			for ni, given := range []bool{true, false} {
				if !*wholeBattery && (fi+ti+ni)%12 != 0 {
					continue
				}
				n := 0
				if given {
					n = len(f.Decode.Layers)
				}
				acts := tf.make(rand.New(rand.NewSource(seedOf(f.Name+tf.name))), f)
				name := fmt.Sprintf("%s: %s, N %d", f.Name, tf.name, n)
				an, err := layer.Analyze(t.Context(), built(acts), layer.Options{NumLayers: n})
				if err != nil {
					continue // no answer is no wrong one
				}
				share, conf := unseenShare(&an.Devices[0], acts, len(f.Decode.Layers))
				cases, right = cases+1, right+share
				if conf >= 0.9 {
					sure, sureRight = sure+1, sureRight+share
				}
				if conf >= 0.9 && share < 0.9 {
					t.Errorf("%s: %.1f %% right, printed %.2f", name, 100*share, conf)
				}
			}
		}
	}
	t.Logf("%d cases, mean %.1f %% right; of the %d printed with 0.9 or more %.1f %%", cases, 100*right/float64(cases), sure, 100*sureRight/float64(max(1, sure)))
}

// unseenShare is the share of activities with the right pass and layer, and their mean confidence. What stands in front of the layers may be
// a pass of its own (a tower, an encoder), and so may what stands behind them (a draft model): such passes do not count.
func unseenShare(d *layer.Device, acts []act, n int) (share, conf float64) {
	if len(d.Passes) == 1 && d.Passes[0].FromEnd {
		acts = renumbered(acts, len(d.Passes[0].Layers)-n)
	}
	of := map[int]map[int]int{} // kernels of layers by pass and true pass
	for k := range d.Kernels() {
		p := k.Place().Pass
		if of[p] == nil {
			of[p] = map[int]int{}
		}
		if x := acts[k.Index()]; x.layer != layer.None {
			of[p][x.pass]++
		}
	}
	most := map[int]int{} // the true pass of a pass; −1 where most of it is outside the layers
	for p, passes := range of {
		most[p] = -1
		for q, m := range passes {
			if b, ok := passes[most[p]]; !ok || m > b || m == b && q < most[p] {
				most[p] = q
			}
		}
		if p >= 0 && 2*passes[most[p]] < d.Passes[p].Kernels {
			most[p] = -1
		}
	}
	counted := 0
	for k := range d.Kernels() {
		x, at := acts[k.Index()], k.Place()
		if x.layer == layer.None && most[at.Pass] < 0 {
			continue
		}
		counted++
		conf += float64(at.Confidence)
		if at.Layer == x.layer && (at.Layer == layer.None || most[at.Pass] == x.pass) {
			share++
		}
	}
	return share / float64(max(1, counted)), conf / float64(max(1, counted))
}
