package segment

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMixesTwice: where a feed-forward part follows every second mixer and one norm between the two of a pair,
// they are one layer; a dense layer whose activation is fused away has two norms, and few layers show no pattern.
func TestMixesTwice(t *testing.T) {
	attention := []Role{norm, product, mixer, product}
	mlp := []Role{norm, product, activation, product}
	fused := []Role{norm, product, product}
	pair := [][]Role{attention, attention, mlp}
	for _, c := range []struct {
		name   string
		layer  [][]Role
		layers int
		want   int
		rest   []Role // the window ends within a layer
	}{
		{"decoder of an encoder", [][]Role{attention, attention, mlp}, 12, 12, nil},
		{"few", [][]Role{attention, attention, mlp}, 3, 0, nil},
		{"enough", [][]Role{attention, attention, mlp}, 4, 4, nil},
		{"one mixer", [][]Role{attention, mlp}, 12, 0, nil},
		{"dense layers with a fused activation in turns", [][]Role{attention, fused, attention, mlp}, 12, 0, nil},
		{"mixers alone", [][]Role{attention}, 24, 0, nil},
		{"half a layer more", [][]Role{attention, attention, mlp}, 12, 12, attention},
		{"one of its mixers of two kernels", [][]Role{attention, {norm, product, mixer, mixer, product}, mlp}, 12, 12,
			nil},
		{"one of six without a feed-forward part", slices.Concat(pair, pair, pair[:2], pair, pair, pair), 1, 0, nil},
		{"one of eleven without one", slices.Concat(pair, pair, pair[:2], slices.Repeat(pair, 8)), 1, 11, nil},
		{"one of six and a half without one", slices.Concat(pair, pair, pair[:2], pair, pair, pair), 1, 0, attention},
	} {
		s := &Sequence{}
		for range c.layers {
			for _, part := range c.layer {
				for _, r := range part {
					s.add(int32(r), r)
				}
			}
		}
		for _, r := range c.rest {
			s.add(int32(r), r)
		}
		if got := MixesTwice(s); got != c.want {
			t.Errorf("%s: %d layers that mix twice, want %d", c.name, got, c.want)
		}
	}
}

// TestTwoReadings: norms before the halves of layers and norms after them are the same kernels in the same
// order, so that without names nothing shows where layers begin; and so are layers of two kinds in turns and half as
// many of both.
func TestTwoReadings(t *testing.T) {
	const layers = 12
	join := func(parts ...[]string) []string { return slices.Concat(parts...) }
	embedding, norm, attention, feed := []string{"lookup"}, []string{"norm"},
		[]string{"qkv", "attention", "out", "add"}, []string{"up", "gelu", "down", "add"}
	behind := join(embedding, norm, slices.Repeat(join(attention, norm, feed, norm), layers))
	front := join(embedding, slices.Repeat(join(norm, attention, norm, feed), layers), norm)
	if diff := cmp.Diff(front, behind); diff != "" {
		t.Errorf("norms in front and behind (-front +behind):\n%s", diff)
	}
	dense, experts := join(norm, attention, norm, feed),
		join(norm, attention, norm, []string{"router", "experts", "sum"})
	var turns []string
	for l := range layers {
		turns = append(turns, [][]string{dense, experts}[l%2]...)
	}
	if diff := cmp.Diff(slices.Repeat(join(dense, experts), layers/2), turns); diff != "" {
		t.Errorf("layers of both kinds and kinds in turns (-both +turns):\n%s", diff)
	}
}
