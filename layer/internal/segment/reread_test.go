package segment

import "testing"

// startsOf returns where the layers of layersOf begin.
func startsOf(n int) []int {
	var starts []int
	for l := range n + 1 {
		starts = append(starts, 1+8*l)
	}
	return starts
}

// TestNormOfMixer: a norm before a sum is after the part before it; between two sums it begins the layer.
func TestNormOfMixer(t *testing.T) {
	for _, c := range []struct {
		name   string
		before Role
		want   int
	}{
		{"behind a product, summed after it", product, -1},
		{"between sums", elementwise, 2},
	} {
		s := &Sequence{}
		for k, r := range []Role{activation, c.before, norm, elementwise, product, mixer, product} {
			s.add(int32(k), r)
		}
		if got := normOfMixer(unit{s, 0, s.Len()}); got != c.want {
			t.Errorf("%s: norm %d, want %d", c.name, got, c.want)
		}
	}
}

// TestMixedLayers: layers that hold a mixer each do; where every second one is something else, they do not.
func TestMixedLayers(t *testing.T) {
	s := layersOf(24)
	if !mixedLayers(s, startsOf(24)) {
		t.Error("layers with a mixer each have none")
	}
	s = &Sequence{}
	var starts []int
	for range 24 {
		starts = append(starts, s.Len())
		for k, r := range []Role{norm, product, mixer, product} {
			s.add(int32(k), r)
		}
		starts = append(starts, s.Len())
		for k := range 16 {
			s.add(int32(10+k), other)
		}
	}
	if mixedLayers(s, append(starts, s.Len())) {
		t.Error("every second unit has no mixer, and all are layers with one")
	}
}

// TestSettledReading: of two readings of as many layers the one that explains more counts where structure leaves no
// kernel open and layers are equal to each other; else the first one stays.
func TestSettledReading(t *testing.T) {
	for _, c := range []struct {
		name string
		hi   int // the boundary is open up to here
		lost bool
		want bool
	}{
		{"certain", 0, false, true},
		{"open by a kernel", 1, false, false},
		{"no layer equal to another", 0, true, false},
	} {
		s, starts := layersOf(8), startsOf(8)
		if c.lost {
			for l := range 8 {
				s.Base[starts[l]+7] = int32(100 + l)
			}
		}
		cut := &Cut{Starts: starts, Hi: c.hi, unit: unit{s, starts[0], starts[1]}}
		less, more := reading{starts: starts, score: 10}, reading{starts: starts, score: 11}
		if got := readsBetter(s, &more, &less, cut); got != c.want {
			t.Errorf("%s: the one that explains more is taken: %v, want %v", c.name, got, c.want)
		}
		if readsBetter(s, &less, &more, cut) {
			t.Errorf("%s: the one that explains less is taken", c.name)
		}
	}
}

// TestSeveralNorms: which of several norms begins layers is in doubt only where structure leaves it open.
func TestSeveralNorms(t *testing.T) {
	s, starts := layersOf(8), startsOf(8)
	for _, hi := range []int{0, 1} {
		c := &Cut{Starts: starts, Hi: hi, At: 1, unit: unit{s, starts[0], starts[1]}}
		if d := Doubt(s, c, false); !d.Unplaced || d.Several != (hi > 0) {
			t.Errorf("open by %d: unplaced %v, several %v, want true and %v", hi, d.Unplaced, d.Several, hi > 0)
		}
	}
}

// TestByKinds: a draft of one layer is read by its target's layers also where other kernels do the same; not where most
// are foreign to them, and not where a mixer stays outside.
func TestByKinds(t *testing.T) {
	target := layersOf(8)
	whole, ok := Layers(target, 8)
	if !ok {
		t.Fatal("no layers in the target")
	}
	for _, c := range []struct {
		name    string
		renamed []int // kernels of the layer
		mixer   bool  // one more runs at the end
		want    int
	}{
		{"the target's kernels", nil, false, 1},
		{"others of the same roles", []int{0, 2, 4, 6}, false, 1},
		{"foreign ones", []int{0, 1, 2, 3, 4, 5}, false, 0},
		{"a mixer outside", nil, true, 0},
	} {
		s := layersOf(1)
		for _, k := range c.renamed {
			s.ID[1+k] += 100
			s.Base[1+k] += 100
		}
		if c.mixer {
			s.add(200, mixer)
		}
		got := 0
		if cut, ok := ByKinds(s, target, whole); ok {
			got = cut.Layers()
		}
		if got != c.want {
			t.Errorf("%s: %d layers, want %d", c.name, got, c.want)
		}
	}
}
