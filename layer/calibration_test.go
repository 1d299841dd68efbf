package layer_test

import (
	"fmt"
	"math"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/gen/families"
	"github.com/llmstrata/strata/internal/gen/mixed"
	"github.com/llmstrata/strata/layer"
)

// calibration is how right answers are that were printed with a confidence, by tenths.
type calibration struct {
	// sure: printed 0.95 and more; wrong: of these, below 90% right; right: 90% and more
	cases, sure, wrong, right, rightSure int
	n                                    [10]int
	printed, share                       [10]float64
}

func (c *calibration) add(share, conf float64) {
	k := min(9, int(conf*10))
	c.cases, c.n[k], c.printed[k], c.share[k] = c.cases+1, c.n[k]+1, c.printed[k]+conf, c.share[k]+share
	if share >= 0.9 {
		c.right++
	}
	if conf >= 0.95 {
		c.sure++
		if share < 0.9 {
			c.wrong++
		} else {
			c.rightSure++
		}
	}
}

// off is the expected calibration error.
func (c *calibration) off() (sum float64) {
	for k := range c.n {
		sum += math.Abs(c.printed[k]-c.share[k]) / float64(c.cases)
	}
	return sum
}

// TestCalibration prints the table of docs/segmentation.md, of families that numbers were read from and of others: go
// test ./layer -run Calibration -v -battery. Of the others at most one in a hundred answers printed with 0.95 may be
// below 90% right, three in five right ones are printed with that, and the expected calibration error, 0.041 now, may
// not grow. It was 0.037 before more of the answers printed with 0.8 became right: what is off is too modest. The aim is
// 0.03: a higher limit for kernels outside of layers prints two wrong answers of TestUnseen as certain.
func TestCalibration(t *testing.T) {
	if !*wholeBattery {
		t.Skip("takes a minute: -battery")
	}
	var by [2]calibration // tuned on, not
	for which, all := range [][]families.Family{families.All(), slices.Concat(families.Unseen(), families.Field())} {
		for _, f := range all {
			for _, tf := range transforms {
				for _, n := range []int{0, len(f.Decode.Layers)} {
					acts := tf.make(rand.New(rand.NewSource(seedOf(f.Name+tf.name))), f)
					// no answer is no wrong one
					if an, err := layer.Analyze(t.Context(), traceOf(acts), layer.Options{NumLayers: n}); err == nil {
						by[which].add(unseenShare(&an.Devices[0], acts, len(f.Decode.Layers)))
					}
				}
			}
		}
	}
	for which, all := range [][]families.Family{mixed.Tuning(), mixed.Held()} {
		for _, c := range mixed.Groups(all, *groupSeed) {
			an, err := layer.Analyze(t.Context(), runTrace(c), layer.Options{})
			if err != nil {
				t.Fatal(err)
			}
			j := judge(&an.Devices[0], c)
			by[which].add(j.right, j.conf)
		}
	}
	var b strings.Builder
	b.WriteString("\n| printed | tuned on: cases | mean printed | mean right | others: cases | mean printed | mean right |\n|---|---|---|---|---|---|---|\n")
	for k := range by[0].n {
		fmt.Fprintf(&b, "| %.1f–%.1f |", float64(k)/10, float64(k+1)/10)
		for _, c := range by {
			n := float64(max(1, c.n[k]))
			fmt.Fprintf(&b, " %d | %.3f | %.3f |", c.n[k], c.printed[k]/n, c.share[k]/n)
		}
		b.WriteByte('\n')
	}
	for which, name := range []string{"tuned on", "others"} {
		c := &by[which]
		fmt.Fprintf(&b, "%s: expected calibration error %.3f; %d of %d printed with 0.95 are below 90%% right; %d of %d right ones are printed with that\n", name, c.off(), c.wrong, c.sure, c.rightSure, c.right)
	}
	t.Log(b.String())
	if c := &by[1]; 100*c.wrong > c.sure || 5*c.rightSure < 3*c.right || c.off() > 0.042 {
		t.Error("the confidence of families that nothing was tuned on")
	}
}
