package operator

import (
	"slices"
	"testing"
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
