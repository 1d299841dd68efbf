package perfettomap

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata"
	"github.com/llmstrata/strata/examples/internal/apptest"
	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// added are the slices that an annotated copy in JSON has more than its original.
func added(t *testing.T, path string) (out []struct {
	Name string
	Dur  float64
	Args map[string]any
}) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var e struct {
			Cat  string
			Name string
			Dur  float64
			Args map[string]any
		}
		if json.Unmarshal(bytes.TrimRight(line, ",\n"), &e) == nil && e.Cat == "strata" {
			out = append(out, struct {
				Name string
				Dur  float64
				Args map[string]any
			}{e.Name, e.Dur, e.Args})
		}
	}
	return out
}

// sumOf adds up the args whose names begin and end so.
func sumOf(args map[string]any, prefix, suffix string) (sum float64) {
	for name, v := range args {
		if us, ok := v.(float64); ok && strings.HasPrefix(name, prefix) && strings.HasSuffix(name, suffix) {
			sum += us
		}
	}
	return sum
}

// TestGapsAreNamedByCause: each gap that host-detect lists from 20 µs on is called by what took most of it, and its
// causes add up to it; a layer's categories add up to its kernels.
func TestGapsAreNamedByCause(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.json")
	apptest.MustRun(t, program(quiet()), "--annotate", path)
	gaps, layers := 0, 0
	for _, s := range added(t, path) {
		switch {
		case strings.HasPrefix(s.Name, "gap"):
			gaps++
			if sum := sumOf(s.Args, "", "_us"); !strings.HasPrefix(s.Name, "gap: ") || math.Abs(sum-s.Dur) > 0.01 {
				t.Errorf("%s of %v µs has causes of %v µs: %v", s.Name, s.Dur, sum, s.Args)
			}
		case strings.HasPrefix(s.Name, "layer "):
			layers++
			if sum, want := sumOf(s.Args, "sum_us ", ""), s.Args["sum_us"].(float64); math.Abs(sum-want) > 0.01 {
				t.Errorf("%s: the categories have %v µs, the kernels %v", s.Name, sum, want)
			}
		}
	}
	if gaps != 4 || layers != 40 {
		t.Errorf("%d gaps and %d layers, want 4 and 40", gaps, layers)
	}
}

// TestGapsThatAreDrawn: as many are asked for as the host verdict has of that length, copies being work.
func TestGapsThatAreDrawn(t *testing.T) {
	b := trace.NewBuilder(trace.Options{})
	add := func(kind event.Kind, start, duration int64) {
		b.Add(trace.EventData{Kind: kind, Name: "k", Start: start, Duration: duration, Stream: 7})
	}
	add(event.Kernel, 0, 10)
	add(event.Memcpy, 12, 5)
	add(event.Kernel, 20, 10) // after 3 ns
	add(event.Memset, 31, 5)
	add(event.Kernel, 25, 10) // at once
	add(event.Kernel, 44, 10) // after 8
	add(event.Kernel, 65, 10) // after 11
	a, err := layer.Analyze(t.Context(), built.Trace(b), layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	all := math.MaxInt32
	v, err := hostoverhead.Analyze(t.Context(), []*layer.Analysis{a}, hostoverhead.Options{TopGaps: &all})
	if err != nil {
		t.Fatal(err)
	}
	for minGap, want := range map[time.Duration]int{0: 4, 8: 2, 9: 1, 11: 1, 12: 0} {
		n := 0
		for _, g := range v.Ranks[0].Top {
			if time.Duration(g.NS) >= minGap {
				n++
			}
		}
		if got := countGaps(&a.Devices[0], minGap); got != want || n != want {
			t.Errorf("from %d ns on: %d gaps, the verdict has %d, want %d", minGap, got, n, want)
		}
	}
}

// TestEveryGPUHasTracks: without --device all GPUs of a trace are drawn.
func TestEveryGPUHasTracks(t *testing.T) {
	src := testdata.Shared(t, "traces/nsys/torchrun-2gpu-hopper.sqlite")
	rec, err := strata.Open(t.Context(), src, strata.Options{})
	if err != nil {
		t.Fatal(err)
	}
	a, err := layer.Analyze(t.Context(), rec.Parts[0].Trace, layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for every, want := range map[bool][]string{true: {"GPU 0: forward passes", "GPU 1: forward passes"},
		false: {"forward passes"}} {
		tracks, err := tracksOf(t.Context(), &a.Devices[1], 0, every)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, tr := range tracks {
			if strings.HasSuffix(tr.Name, "forward passes") {
				got = append(got, tr.Name)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("every GPU %v: tracks of passes %q, want %q", every, got, want)
		}
	}
	out := filepath.Join(t.TempDir(), "x.pftrace")
	r := apptest.MustRun(t, program(quiet()), src, "--annotate", out)
	if !strings.Contains(r.Stderr, "wrote "+out) {
		t.Errorf("stderr %q", r.Stderr)
	}
}

// TestTunnel: users of SSH get a hint how the browser reaches this machine.
func TestTunnel(t *testing.T) {
	m := quiet()
	m.browser.SSH = "192.0.2.8"
	r := apptest.Run(t, program(m), "--open", "--open-timeout", "1ms")
	if !strings.Contains(r.Stderr, "ssh -N -L 9001:127.0.0.1:9001 192.0.2.8") ||
		strings.Contains(r.Stderr, "browser on this computer") {
		t.Errorf("stderr %q", r.Stderr)
	}
}
