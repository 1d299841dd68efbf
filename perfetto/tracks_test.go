package perfetto_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/perfetto"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/trace/pftrace"
)

func trackNames(tracks []pftrace.Track) []string {
	var out []string
	for _, tr := range tracks {
		out = append(out, tr.Name)
	}
	return out
}

// checkTracks fails the test unless spans are in order and apart, as the UI
// wants them.
func checkTracks(t *testing.T, tracks []pftrace.Track) {
	t.Helper()
	for _, tr := range tracks {
		for i, s := range tr.Spans {
			if s.Name == "" || s.End < s.Start || i > 0 && s.Start < tr.Spans[i-1].End {
				t.Errorf("track %q: span %d %+v crosses its neighbour", tr.Name, i, s)
			}
		}
	}
}

func TestTracksOfTheDemo(t *testing.T) {
	_, tr, _ := demoFile(t)
	a := analyze(t, tr)
	tracks := perfetto.Tracks(a, 50*time.Microsecond)
	if diff := cmp.Diff([]string{"forward passes", "layers", "categories", "gaps ≥ 50µs"},
		trackNames(tracks)); diff != "" {
		t.Fatalf("tracks (-want +got):\n%s", diff)
	}
	checkTracks(t, tracks)
	passes, layers, gaps := tracks[0].Spans, tracks[1].Spans, tracks[3].Spans
	if len(passes) != 5 || passes[0].Name != "pass 0 prefill" || passes[1].Name != "pass 1 decode" ||
		passes[1].Args["batch"] != 8 || passes[1].Args["layers"] != 8 {
		t.Errorf("passes = %+v", passes)
	}
	if len(layers) != 5*8 || layers[0].Name != "layer 0 FIRST" || layers[39].Name != "layer 7 FINAL" {
		t.Errorf("%d layers, from %q to %q", len(layers), layers[0].Name, layers[len(layers)-1].Name)
	}
	if len(gaps) == 0 {
		t.Error("no gap was found: passes of the demo are further apart than that")
	}
	for _, g := range gaps {
		if time.Duration(g.End-g.Start) < 50*time.Microsecond {
			t.Errorf("gap %+v is shorter than asked for", g)
		}
		for e := range tr.Events(event.LaneGPU) {
			if e.Start() < g.End && e.End() > g.Start {
				t.Errorf("%s runs in the gap %+v", e.Name(), g)
			}
		}
	}
}

// TestTracksShowHalves where the model's profile has them.
func TestTracksShowHalves(t *testing.T) {
	src := testdata.Shared(t, "traces/torch/synthetic-deepseek-v4-flash-TP-0.trace.json.gz")
	cfg, err := profile.LoadConfig(testdata.Shared(t, "configs/deepseek-v4-flash.json"))
	if err != nil {
		t.Fatal(err)
	}
	an, err := layer.Analyze(context.Background(), open(t, src), layer.Options{Config: cfg})
	if err != nil {
		t.Fatal(err)
	}
	a := &an.Devices[0]
	tracks := perfetto.Tracks(a, 0)
	checkTracks(t, tracks)
	i := slices.IndexFunc(tracks, func(tr pftrace.Track) bool { return tr.Name == "halves" })
	if i < 0 {
		t.Fatalf("tracks are %q, want one with halves", trackNames(tracks))
	}
	layers := 0
	for _, p := range a.Passes {
		layers += p.NumLayers
	}
	if n := len(tracks[i].Spans); n != layers*an.BlocksPerLayer {
		t.Errorf("%d halves of %d layers, want %d each", n, layers, an.BlocksPerLayer)
	}
}

// TestAnnotatedCopiesGiveTheSameAnalysis: what is drawn into a trace changes
// nothing of what is read from it. On every real trace, and with the tracks that
// users get.
func TestAnnotatedCopiesGiveTheSameAnalysis(t *testing.T) {
	for _, src := range testdata.Spread(t, realTraces(t)) {
		t.Run(filepath.Base(src), func(t *testing.T) {
			tr := open(t, src)
			a := analyze(t, tr)
			if a == nil {
				return
			}
			tracks := perfetto.Tracks(a, 0)
			checkTracks(t, tracks)
			dst := filepath.Join(t.TempDir(), filepath.Base(src))
			if _, err := perfetto.Annotate(context.Background(), tr, src, dst, tracks,
				perfetto.CopyOptions{}); err != nil {
				t.Fatal(err)
			}
			b := analyze(t, open(t, dst))
			if b == nil {
				t.Fatal("the copy has no GPU activities")
			}
			want, err := json.Marshal(a)
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(b)
			if err != nil {
				t.Fatal(err)
			}
			if string(want) != string(got) {
				t.Error("the copy's analysis differs from the original's")
			}
			for k := range a.Kernels() {
				if o := b.Kernel(k.Index()); o.Place() != k.Place() || o.Category() != k.Category() {
					t.Fatalf("kernel %d is in %+v, %s, of the copy in %+v, %s", k.Index(), k.Place(), k.Category(),
						o.Place(), o.Category())
				}
			}
			if b.Analysis().Health.Status != a.Analysis().Health.Status {
				t.Errorf("the copy's health is %v, the original's %v", b.Analysis().Health.Status,
					a.Analysis().Health.Status)
			}
		})
	}
}
