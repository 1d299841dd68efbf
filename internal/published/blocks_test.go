package published

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// kernel is one kernel of a trace built by hand; times in µs.
type kernel struct {
	name       string
	start, dur int64
	device     trace.DeviceID
}

func assembled(kernels ...kernel) *trace.Trace {
	b := trace.NewBuilder(trace.Options{})
	for _, k := range kernels {
		b.Add(trace.EventData{Kind: event.Kernel, Name: k.name, Start: k.start * 1000, Duration: k.dur * 1000,
			Device: k.device, Stream: 7})
	}
	return built.Trace(b)
}

// opening is a trace of blocks of one anchor each, of the given durations, one after the other, and of one anchor more,
// which ends the last block.
func opening(durations ...int64) *trace.Trace {
	var kernels []kernel
	at := int64(0)
	for _, d := range append(durations, 1) {
		kernels = append(kernels, kernel{"open", at, d, 0})
		at += d
	}
	return assembled(kernels...)
}

func model(perLayer int) *profile.ModelProfile {
	return &profile.ModelProfile{Name: "test", Anchor: "open", BlocksPerLayer: perLayer, DefaultLayers: 9}
}

func mustFind(t *testing.T, tr *trace.Trace, o cutOptions) *blockCut {
	t.Helper()
	c, err := findBlocks(t.Context(), tr, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestLayersEndWithTheKernelThatStartsLast: two blocks a layer, each with its kernels; a kernel that runs on does not
// stretch its layer; what follows the last anchor is nowhere.
func TestLayersEndWithTheKernelThatStartsLast(t *testing.T) {
	tr := assembled(
		kernel{"before", 0, 5, 0},
		kernel{"open", 10, 5, 0}, kernel{"long", 15, 500, 0}, kernel{"open", 20, 5, 0}, kernel{"last", 25, 5, 0},
		kernel{"open", 40, 5, 0}, kernel{"open", 50, 5, 0},
		kernel{"open", 60, 5, 0}, kernel{"behind", 70, 5, 0})
	c := mustFind(t, tr, cutOptions{Profile: model(2), NumLayers: 2})
	if c.Anchors != 5 || c.Rest != 0 || len(c.Passes) != 1 || !c.Passes[0].Whole || c.Source != "given" {
		t.Fatalf("cut %+v, want 5 anchors and one whole pass", c)
	}
	p := c.Passes[0]
	got := [][]int64{{int64(p.Start), int64(p.End)}}
	for _, l := range p.Layers {
		got = append(got, []int64{int64(l.Start), int64(l.End), int64(len(l.Kernels))})
	}
	if diff := cmp.Diff([][]int64{{10_000, 55_000}, {10_000, 30_000, 4}, {40_000, 55_000, 2}}, got); diff != "" {
		t.Errorf("start and end of the pass, of layers and their kernels (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int8{0, 0, 1, 1}, p.Layers[0].Halves); diff != "" {
		t.Errorf("halves (-want +got):\n%s", diff)
	}
}

// TestRestIsAPassThatIsNotWhole: whole layers of it only.
func TestRestIsAPassThatIsNotWhole(t *testing.T) {
	for _, c := range []struct{ blocks, passes, rest, lastLayers int }{{8, 2, 0, 2}, {9, 2, 1, 2}, {10, 3, 2, 1},
		{11, 3, 3, 1}, {12, 3, 0, 2}} {
		cut := mustFind(t, opening(slices.Repeat([]int64{5}, c.blocks)...), cutOptions{Profile: model(2), NumLayers: 2})
		last := cut.Passes[len(cut.Passes)-1]
		if len(cut.Passes) != c.passes || cut.Rest != c.rest || len(last.Layers) != c.lastLayers ||
			last.Whole != (c.lastLayers == 2) {
			t.Errorf("%d blocks: %d passes, rest %d, %d layers in the last one, whole %v, want %+v", c.blocks,
				len(cut.Passes), cut.Rest, len(last.Layers), last.Whole, c)
		}
	}
}

// TestLayersByPeriod: the number of layers from the durations of at least four blocks, where blocks one period apart
// are alike by 0.7 in the mean; else the profile's.
func TestLayersByPeriod(t *testing.T) {
	for name, c := range map[string]struct {
		durations []int64
		per, n    int
		source    string
	}{
		"alike":              {[]int64{100, 100, 100, 100, 71, 71, 71, 71}, 1, 4, "period"},
		"not alike":          {[]int64{100, 100, 100, 100, 69, 69, 69, 69}, 1, 9, "default"},
		"four blocks":        {[]int64{5, 6, 5, 6}, 1, 2, "period"},
		"three blocks":       {[]int64{5, 5, 5}, 1, 9, "default"},
		"two blocks a layer": {[]int64{5, 5, 5, 5, 5, 5, 5, 5}, 2, 2, "period"},
	} {
		cut := mustFind(t, opening(c.durations...), cutOptions{Profile: model(c.per)})
		if cut.NumLayers != c.n || cut.Source != c.source {
			t.Errorf("%s: %d layers by %s, want %d by %s", name, cut.NumLayers, cut.Source, c.n, c.source)
		}
	}
}

// TestNotes: first layers that grow by more than half, and from the fourth pass on those within 5 % of the one before.
func TestNotes(t *testing.T) {
	for _, c := range []struct {
		durations []int64
		want      []string
	}{
		{[]int64{1000, 1510, 1510, 1580, 1580}, []string{"cold-start", "growing 1.5x", "", "steady-state",
			"steady-state"}},
		{[]int64{1000, 1490, 1490, 1570, 1480}, []string{"cold-start", "", "", "", ""}},
	} {
		var got []string
		for _, p := range mustFind(t, opening(c.durations...), cutOptions{Profile: model(1), NumLayers: 1}).Passes {
			got = append(got, p.Note)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%v (-want +got):\n%s", c.durations, diff)
		}
	}
}

// TestAnchorAndDevice: an anchor that is given, the profile's, the first auto anchor that occurs four times; the
// busiest GPU.
func TestAnchorAndDevice(t *testing.T) {
	tr := assembled(kernel{"one", 0, 1, 0}, kernel{"two", 1, 1, 0}, kernel{"one", 2, 1, 0}, kernel{"two", 3, 1, 0},
		kernel{"one", 4, 1, 0},
		kernel{"two", 5, 1, 0}, kernel{"two", 6, 1, 0}, kernel{"two", 7, 1, 1}, kernel{"two", 8, 1, 1})
	auto := &profile.ModelProfile{Name: "auto", BlocksPerLayer: 1, DefaultLayers: 1,
		AutoAnchors: []string{"one", "two"}}
	other := trace.DeviceID(1)
	for name, c := range map[string]struct {
		o       cutOptions
		anchor  string
		anchors int
		device  trace.DeviceID
	}{
		"three of the first are too few": {cutOptions{Profile: auto}, "two", 4, 0},
		"given":                          {cutOptions{Profile: auto, Anchor: "one"}, "one", 3, 0},
		"another GPU":                    {cutOptions{Profile: auto, Anchor: "two", Device: &other}, "two", 2, 1},
	} {
		if cut := mustFind(t, tr, c.o); cut.Anchor != c.anchor || cut.Anchors != c.anchors || cut.Device != c.device {
			t.Errorf("%s: %d of %q on GPU %d, want %d of %q on %d", name, cut.Anchors, cut.Anchor, cut.Device,
				c.anchors, c.anchor, c.device)
		}
	}
	for name, o := range map[string]cutOptions{
		"anchor that does not occur":  {Profile: auto, Anchor: "three"},
		"no auto anchor often enough": {Profile: auto, Device: &other},
		"more layers than any model":  {Profile: auto, Anchor: "two", NumLayers: 4097},
		"no number of layers at all":  {Profile: &profile.ModelProfile{Name: "none"}, Anchor: "one"},
	} {
		if c, err := findBlocks(t.Context(), tr, o); !errors.Is(err, errNoAnchor) || c != nil {
			t.Errorf("%s: %v, want ErrNoAnchor", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := findBlocks(ctx, tr, cutOptions{Profile: auto}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
