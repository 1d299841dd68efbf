package layer_test

import (
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
)

// TestRecordedRuns: runs of PyTorch that were recorded for this test, of models with a known number of layers. What
// each activity is, the recording says, from the ranges, regions and graph launches that the run had around it.
func TestRecordedRuns(t *testing.T) {
	for _, c := range []struct {
		name           string
		layers, passes int
	}{
		{"llama16-prefill-replays", 16, 9}, // an eager prefill, then eight replays of one graph
		{"llama16-compiled", 16, 9},        // torch.compile: the first and the last layer are fused with what is beside them
		{"llama16-compiled-graphs", 16, 9}, // the same by graph launches; before each one is a copy into its input
		{"lfm2-16", 16, 2},                 // layers of two kinds in no period
		{"gemma2-18", 18, 2},               // norms after both halves of a layer
		{"dit14-6steps", 14, 6},            // a denoising loop
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(testdata.Root(t), "testdata", "recorded", c.name+".json.gz")
			tr, err := trace.Open(t.Context(), path, trace.Options{})
			if err != nil {
				t.Fatal(err)
			}
			a := analyze(t, tr, layer.Options{})
			if len(a.Passes) != c.passes {
				t.Errorf("%d passes, want %d", len(a.Passes), c.passes)
			}
			for _, p := range a.Passes {
				if p.NumLayers != c.layers {
					t.Errorf("pass %d has %d layers, want %d", p.Index, p.NumLayers, c.layers)
				}
			}
			checkRecorded(t, a, recorded(t, path))
		})
	}
}

// recordedActivity is a GPU activity of a recorded run: Truth is "PASS LAYER", where LAYER is "-" outside of layers or
// where the recording does not say, and "" for what is in no pass.
type recordedActivity struct {
	Args struct {
		Truth  string
		Stream *int
	}
}

// recorded lists the GPU activities of a recorded run, by start.
func recorded(t *testing.T, path string) (out []recordedActivity) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct{ TraceEvents []recordedActivity }
	if err := json.NewDecoder(z).Decode(&doc); err != nil {
		t.Fatal(err)
	}
	for _, e := range doc.TraceEvents {
		if e.Args.Stream != nil {
			out = append(out, e)
		}
	}
	return out
}

// checkRecorded holds the pass and the layer of each activity against the truth: each pass of the recording is one that
// was found, and no other.
func checkRecorded(t *testing.T, a *layer.Device, truth []recordedActivity) {
	t.Helper()
	if a.NumKernels() != len(truth) {
		t.Fatalf("%d activities, the recording has %d", a.NumKernels(), len(truth))
	}
	shared := map[string]map[int]int{} // activities by the recording's pass and the one found
	wrongLayer := 0
	for i, want := range truth {
		pass, number, ok := strings.Cut(want.Args.Truth, " ")
		if !ok {
			continue
		}
		got := a.Kernel(i).Place()
		if shared[pass] == nil {
			shared[pass] = map[int]int{}
		}
		shared[pass][got.Pass]++
		if number != "-" && number != strconv.Itoa(got.Layer) {
			wrongLayer++
		}
	}
	found, elsewhere := map[int]bool{}, 0
	for _, by := range shared {
		most := 0
		for p, n := range by {
			elsewhere += n
			if n > by[most] {
				most = p
			}
		}
		elsewhere -= by[most]
		found[most] = true
	}
	if len(shared) == 0 || len(found) != len(shared) || elsewhere > 0 || wrongLayer > 0 {
		t.Errorf("%d passes of the recording are %d; %d activities are elsewhere; %d are in another layer",
			len(shared), len(found), elsewhere, wrongLayer)
	}
}
