package layer_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/gen/families"
)

// shortened is a family with its first layers only.
func shortened(f families.Family, layers int) families.Family {
	for _, o := range []*families.Order{&f.Prefill, &f.Decode} {
		o.Layers = o.Layers[:min(layers, len(o.Layers))]
	}
	return f
}

// TestFamiliesToTheKernel: of models of nine layers, so many cases have each kernel in its pass and layer, the number
// of layers and of passes. An average hides one case that becomes wrong while the others stay as they are; this
// number does not.
func TestFamiliesToTheKernel(t *testing.T) {
	const least = 60
	var wrong []string
	cases := 0
	for fi, f := range families.All() {
		f = shortened(f, 9)
		for ti, tf := range transforms {
			for ni, given := range []bool{true, false} {
				if (fi+3*ti+2*ni)%14 != 0 {
					continue
				}
				cases++
				v := runCase(t, f, tf, given)
				if v.share < 1 || v.layers != v.want || v.passes != v.wantPass {
					wrong = append(wrong, fmt.Sprintf("%s: %.1f%%, N %d of %d, %d passes of %d", v.name, 100*v.share,
						v.layers, v.want, v.passes, v.wantPass))
				}
			}
		}
	}
	right := cases - len(wrong)
	t.Logf("%d of %d cases are right to the kernel", right, cases)
	if right < least {
		t.Errorf("%d of %d cases are right to the kernel, want %d; others:\n%s", right, cases, least,
			strings.Join(wrong, "\n"))
	}
}
