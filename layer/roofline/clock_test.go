package roofline_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/layer/roofline"
)

// Where samples of the clock lie beside the kernels, floors of arithmetic are those of that clock and say so; floors
// of memory stay, and what the memory's own counter measured is noted.
func TestMeasuredClock(t *testing.T) {
	kernel := regexp.MustCompile(`"cat": "kernel", [^\n]*\n\s*"ts": ([\d.]+)`)
	measured := func(samples ...string) *roofline.Report {
		a := generated(t, small, func(w *bytes.Buffer) error {
			var b bytes.Buffer
			if err := gen.Write(&b, gen.Config{Seed: 1,
				Arch: gen.Arch{Layers: gen.Uniform(8, gen.Layer{}), Hidden: 2048}, Dialect: gen.VLLM,
				Passes: []gen.Pass{{Prefills: 8, Tokens: 8192}, {Prefills: 8, Tokens: 8192}}}); err != nil {
				return err
			}
			text := b.String()
			starts := kernel.FindAllStringSubmatch(text, -1)
			at := strings.LastIndex(text, "]")
			w.WriteString(text[:at])
			for _, s := range samples {
				fmt.Fprintf(w, ",\n"+s, starts[len(starts)/2][1])
			}
			w.WriteString(text[at:])
			return nil
		})
		r, err := roofline.Analyze(context.Background(), a, roofline.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	plain := measured()
	if plain.GPU == nil {
		t.Fatal(plain.GPUWhy)
	}
	sample := func(name string, v float64) string {
		return fmt.Sprintf(`{"ph":"C","name":%q,"pid":"GPU 0 Counters","ts":%%s,"args":{"":%g}}`, name, v)
	}
	slow := measured(sample("SM Clock (MHz)", 915), sample("HBM BW (%%)", 40))
	a, b := find(t, plain, "gate_up_proj"), find(t, slow, "gate_up_proj")
	if a.Bound != roofline.BoundCompute || math.Abs(float64(b.Floor)/float64(a.Floor)-2) > 1e-3 {
		t.Errorf("gate_up_proj at half the clock: floor %v by %s, want twice %v", b.Floor, b.Bound, a.Floor)
	}
	if !strings.Contains(slow.GPUWhy, "measured 915 MHz") || strings.Contains(plain.GPUWhy, "measured") {
		t.Errorf("GPU: %s", slow.GPUWhy)
	}
	if notes := strings.Join(slow.Notes, "\n"); !strings.Contains(notes, "the memory ran at 40% of its peak") {
		t.Errorf("notes: %s", notes)
	}
	if odd := measured(sample("SM Clock (MHz)", 9999)); strings.Contains(odd.GPUWhy, "measured") {
		t.Errorf("a clock that cannot be was used: %s", odd.GPUWhy)
	}
}
