package operator

import (
	"slices"
	"testing"

	"github.com/llmstrata/strata/internal/opname"
)

// TestQueriesOfLatentAttention: queries may be projected whole where nothing tells, but not beside an indexer, which reads those of low rank.
func TestQueriesOfLatentAttention(t *testing.T) {
	for _, c := range []struct{ indexer, given, want bool }{{false, false, true}, {true, false, false}, {false, true, false}} {
		s := shape{attention: true, mla: true, indexer: c.indexer}
		l := &Layout{Kinds: [][]Step{s.steps()}, LayerKinds: []int{0}, Given: c.given}
		if got := slices.ContainsFunc(l.variants(), func(v variant) bool { return v.wholeQuery }); got != c.want {
			t.Errorf("indexer %v, config %v: whole queries %v, want %v", c.indexer, c.given, got, c.want)
		}
	}
}

// TestCopiesBeforeTheLayers: a copy in front of a norm serves it within a layer; outside of the layers it prepares the pass.
func TestCopiesBeforeTheLayers(t *testing.T) {
	for layer, want := range map[int32]string{-1: opname.Prepare, 0: opname.InputNorm} {
		p := Defaults()
		w := work{p: &p, pass: &Pass{Layers: 1, Kernels: []Kernel{{Name: "Memcpy DtoD", Layer: layer}, {Name: "rms_norm_kernel", Layer: 0}}}, placed: []bool{false, true},
			reads: []reading{{acts: []act{actCopy}}, {acts: []act{actNorm}}}, found: []Found{{Layer: layer}, {Operator: opname.InputNorm}}}
		w.serve()
		if got := w.found[0]; got.Operator != want || got.Layer != layer {
			t.Errorf("a copy in layer %d is %s of layer %d, want %s", layer, got.Operator, got.Layer, want)
		}
	}
}
