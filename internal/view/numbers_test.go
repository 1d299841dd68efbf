package view

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/internal/opname"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// aDevice is any GPU with passes and layers.
func aDevice(t *testing.T) *layer.Device {
	t.Helper()
	var b bytes.Buffer
	if err := gen.Write(&b, gen.Config{Seed: 5, Arch: gen.Arch{Layers: gen.Uniform(4, gen.Layer{})},
		Passes: []gen.Pass{{Decodes: 4, Context: 100}, {Decodes: 4, Context: 101}}}); err != nil {
		t.Fatal(err)
	}
	tr, err := trace.Read(t.Context(), &b, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	a, err := layer.Analyze(t.Context(), tr, layer.Options{NumLayers: 4})
	if err != nil {
		t.Fatal(err)
	}
	return &a.Devices[0]
}

// TestOperatorsBelowNineTenths: a table by operator is made where any is known, and says how much where it is less than
// nine tenths of the layers' time.
func TestOperatorsBelowNineTenths(t *testing.T) {
	for known, want := range map[time.Duration]int{900: 1, 899: 1, 1000: 1, 0: 0} {
		var sums OperatorTable
		sums.finish(map[profile.Operator]*OperatorTotal{opname.QKVProj: {Operator: opname.QKVProj, TimeNS: 1000}},
			known, 1000)
		if len(sums.Rows) != want || want > 0 && sums.Rows[0].SharePct != 100 {
			t.Errorf("%d of 1000 known: %+v, want %d rows", known, sums.Rows, want)
		}
		var out bytes.Buffer
		w := table.NewWriter(&out)
		(&Timeline{Operators: []OperatorTable{sums}}).operatorTable(w)
		w.Flush()
		if said := strings.Contains(out.String(), "known for only"); said != (known == 899) {
			t.Errorf("%d of 1000 known, said: %v\n%s", known, said, out.String())
		}
	}
}

// TestColumnsThatFit: the table by operator has a column for each of six types of layers, that of layers one for each
// of the six largest categories.
func TestColumnsThatFit(t *testing.T) {
	row := OperatorTotal{Operator: opname.QKVProj, TimeNS: 1e6, SharePct: 100, Kernels: 1}
	line := &Timeline{Operators: []OperatorTable{{Scope: "pass", KnownShare: 1, Rows: []OperatorTotal{row}}}}
	for k := range 8 {
		line.Operators = append(line.Operators, OperatorTable{Scope: fmt.Sprintf("TYPE%d", k), Layers: 1,
			Rows: []OperatorTotal{row}})
	}
	var out bytes.Buffer
	w := table.NewWriter(&out)
	line.operatorTable(w)
	w.Flush()
	for k := range 8 {
		if has := strings.Contains(out.String(), fmt.Sprintf("TYPE%d µs/layer", k)); has != (k < 6) {
			t.Errorf("type %d of 8 has a column: %v\n%s", k, has, out.String())
		}
	}
	var layers []LayerRow
	for k := range 8 {
		layers = append(layers, LayerRow{Categories: Shares{{Key: fmt.Sprintf("c%d", k), Value: float64(10 - k)}}})
	}
	var got []string
	for _, c := range columnsFor(aDevice(t), layers) {
		got = append(got, c.title)
	}
	if s := strings.Join(got, " "); s != "c0 c1 c2 c3 c4 c5" {
		t.Errorf("columns %s, want the six largest categories", s)
	}
}

// TestRemarksOnPasses: a pass that is idle for a quarter of its time has a remark; so has one where graphs replay
// more than half of the kernels.
func TestRemarksOnPasses(t *testing.T) {
	a := aDevice(t)
	for _, c := range []struct {
		name   string
		idle   float64
		replay int // of 10 kernels
		want   string
	}{{"busy", 24.9, 0, ""}, {"idle", 25, 0, "GPU idle 25%"}, {"half replayed", 0, 5, ""},
		{"more than half", 0, 6, "graph replay"}} {
		r := passRow(a, &layer.ForwardPass{Index: 9, Kernels: 10, Replay: c.replay, Tokens: -1, Rows: -1, NumLayers: 0},
			c.idle)
		if r.Note != c.want {
			t.Errorf("%s: %q, want %q", c.name, r.Note, c.want)
		}
	}
}

// TestWhatASummaryNames: the slowest kind of layers where it takes 1.05 times as long as the usual one, and layers of
// which a quarter has no kernel.
func TestWhatASummaryNames(t *testing.T) {
	a := aDevice(t)
	for _, c := range []struct {
		name             string
		slowest, running float64 // ms a layer; the usual one takes 1
		slow, idle       bool
	}{{"as slow", 1.05, 1, false, false}, {"slower", 1.06, 1, true, false}, {"a quarter idle", 1, 0.75, false, false},
		{"more", 1, 0.74, false, true}} {
		line := &Timeline{Clusters: []ClusterRow{{Type: "USUAL", Count: 9, AvgWallMS: 1, AvgSumMS: c.running},
			{Type: "OTHER", Count: 1, AvgWallMS: c.slowest, AvgSumMS: c.slowest}}, Layers: make([]LayerRow, 10)}
		s := summarise(a, line)
		if !strings.Contains(s, "9 of 10 layers are of type USUAL and take ") ||
			strings.Contains(s, "slowest type is OTHER") != c.slow || strings.Contains(s, "No kernel runs in ") != c.idle {
			t.Errorf("%s: %s; want the slowest named %v, idle time %v", c.name, s, c.slow, c.idle)
		}
	}
}

// TestCopiesAreNoKernels: a row of a layer counts kernels, not the copies and sets between them.
func TestCopiesAreNoKernels(t *testing.T) {
	a := aDevice(t)
	lay := layer.Layer{}
	kernels := 0
	for i := range a.NumKernels() {
		lay.Kernels = append(lay.Kernels, int32(i))
		if a.Kernel(i).Event().Kind() == event.Kernel {
			kernels++
		}
	}
	if got := layerRow(a, &a.Passes[0], &lay).Kernels; got != kernels || kernels == len(lay.Kernels) {
		t.Errorf("%d kernels, want %d of %d activities", got, kernels, len(lay.Kernels))
	}
}
