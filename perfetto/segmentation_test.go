package perfetto_test

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/perfetto"
	"github.com/llmstrata/strata/trace"
)

// tokens is what a pass's row says of them.
var tokens = regexp.MustCompile(`tokens -?[0-9]+`)

// layerTable describes passes of an analysis, with their layers and categories,
// by raw times: those are the same in a trace and in slices of it.
func layerTable(a *layer.Device, passes []int) []string {
	var out []string
	for _, i := range passes {
		p := &a.Passes[i]
		out = append(out, fmt.Sprintf("pass %d+%d %s, %d kernels, batch %d, tokens %d, cut %q, found by %s, layers by %s",
			a.Analysis().Trace().Raw(p.Start), p.Wall(),
			p.Stage, p.Kernels, p.Batch, p.Tokens, p.Partial, p.PassEvidence, p.LayerEvidence))
		for _, l := range p.Layers() {
			line := fmt.Sprintf("layer %d %d+%d, sum %d, %s", l.Index, a.Analysis().Trace().Raw(l.Start), l.Wall, l.Sum,
				l.Type)
			for _, n := range l.Kernels {
				line += " " + string(a.Kernel(int(n)).Category())
			}
			out = append(out, line)
		}
	}
	return out
}

// analyze returns nil for a trace without GPU activities.
func analyze(t *testing.T, tr *trace.Trace) *layer.Device {
	t.Helper()
	a, err := layer.Analyze(context.Background(), tr, layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Devices) == 0 {
		return nil
	}
	return &a.Devices[0]
}

// TestSlicesKeepTheSegmentation: on every real trace, the passes of a slice have
// the layer table that they have in the full trace, redacted or not. A pass that
// the window cuts can be sliced only together with others: its layer starts are
// found by comparison with a complete one.
func TestSlicesKeepTheSegmentation(t *testing.T) {
	for _, src := range testdata.Spread(t, realTraces(t)) {
		t.Run(filepath.Base(src), func(t *testing.T) { sliceAll(t, src, open(t, src)) })
	}
}

func TestDemoSlicesKeepTheSegmentation(t *testing.T) {
	src, tr, _ := demoFile(t)
	sliceAll(t, src, tr)
}

// sliceAll cuts all passes, the first and last complete ones, and one in the
// middle out of a trace and compares their layer tables.
func sliceAll(t *testing.T, src string, tr *trace.Trace) {
	a := analyze(t, tr)
	if a == nil {
		return
	}
	var all, whole []int
	for i := range a.Passes {
		all = append(all, i)
		if a.Passes[i].Partial == "" {
			whole = append(whole, i)
		}
	}
	sets := [][]int{all}
	if len(a.Models) > 1 {
		// A slice of one pass of one model does not show that the pass is complete: docs/perfetto.md.
		whole = nil
	}
	if n := len(whole); n > 1 && testdata.Long() {
		sets = append(sets, []int{whole[0], whole[n-1]}, []int{whole[n/2]})
	}
	for i, passes := range sets {
		for name, redact := range map[string]perfetto.Redaction{"plain": {},
			"redacted": {Paths: true, Names: true, Shapes: true}} {
			if i > 0 && name == "redacted" {
				continue // hiding names has nothing to do with which passes are kept
			}
			t.Run(fmt.Sprintf("%s %v", name, passes), func(t *testing.T) {
				var keep []trace.EventID
				for k := range a.Kernels() {
					if slices.Contains(passes, k.Place().Pass) {
						keep = append(keep, k.Event().ID())
					}
				}
				dst := filepath.Join(t.TempDir(), "slice.json.gz")
				if _, err := perfetto.Slice(context.Background(), tr, keep, src, dst,
					perfetto.CopyOptions{Redact: redact}); err != nil {
					t.Fatal(err)
				}
				b := analyze(t, open(t, dst))
				if b == nil {
					t.Fatal("the slice has no GPU activities")
				}
				var got []int
				for i := range b.Passes {
					got = append(got, i)
				}
				want := layerTable(a, passes)
				if name == "redacted" { // without shapes of products nothing may show the tokens
					want, got := tokens.ReplaceAllString(strings.Join(want, "\n"), "tokens"),
						tokens.ReplaceAllString(strings.Join(layerTable(b, got), "\n"), "tokens")
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("layer table (-trace +slice):\n%.3000s", diff)
					}
				} else if diff := cmp.Diff(want, layerTable(b, got)); diff != "" {
					t.Errorf("layer table (-trace +slice):\n%.3000s", diff)
				}
				if b.NumKernels() != len(keep) {
					t.Errorf("the slice has %d activities, want %d", b.NumKernels(), len(keep))
				}
			})
		}
	}
}
