package layer_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/internal/operator"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// hide writes a copy of a trace without Python frames and op shapes, as a tool
// that must find operators without them gets it.
func opHide(t *testing.T, path string) string {
	t.Helper()
	var doc map[string]json.RawMessage
	if err := json.Unmarshal(testdata.ReadFile(t, path), &doc); err != nil {
		t.Fatal(err)
	}
	var events []map[string]json.RawMessage
	if err := json.Unmarshal(doc["traceEvents"], &events); err != nil {
		t.Fatal(err)
	}
	kept := events[:0]
	for _, e := range events {
		if string(e["cat"]) == `"python_function"` {
			continue
		}
		var args map[string]json.RawMessage
		if json.Unmarshal(e["args"], &args) == nil && args != nil {
			for k := range args {
				if strings.HasPrefix(k, "Input ") || k == "Concrete Inputs" || k == "Module Hierarchy" ||
					k == "Call stack" {
					delete(args, k)
				}
			}
			e["args"], _ = json.Marshal(args)
		}
		kept = append(kept, e)
	}
	doc["traceEvents"], _ = json.Marshal(kept)
	out := filepath.Join(t.TempDir(), "hidden.json")
	data, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(out, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return out
}

// opAnswer is what was found for one activity of a trace.
type opAnswer struct {
	Operator   string
	Part       string
	Evidence   string
	Confidence float32
	Layer      int
	index      int // among the GPU activities, by start
	pass       int
	event      trace.Event
}

// opFind analyses a trace and returns what it says of the kernels in passes.
func opFind(t *testing.T, path string, c *profile.Config) []opAnswer {
	t.Helper()
	d, index := opAnalyze(t, path, c)
	var out []opAnswer
	for k := range d.Kernels() {
		if p := k.Place(); p.Pass != trace.None {
			op, part, conf := k.Operator()
			out = append(out, opAnswer{Operator: string(op), Part: part.String(), Evidence: k.OperatorEvidence(),
				Confidence: conf, Layer: p.Layer, index: index[k.Event().ID()], pass: p.Pass, event: k.Event()})
		}
	}
	return out
}

func opAnalyze(t *testing.T, path string, c *profile.Config) (*layer.Device, map[trace.EventID]int) {
	t.Helper()
	tr, err := trace.Open(context.Background(), path, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	a, err := layer.Analyze(context.Background(), tr, layer.Options{Config: c})
	if err != nil {
		t.Fatal(err)
	}
	index := map[trace.EventID]int{}
	for e := range tr.Events(event.LaneGPU) {
		index[e.ID()] = len(index)
	}
	return &a.Devices[0], index
}

// opBlind finds operators from names and labels alone, as if the segmentation had put the labels of layers so many
// kernels too late; rename changes names.
func opBlind(t *testing.T, path string, c *profile.Config, shift int, rename func(string) string) []opAnswer {
	t.Helper()
	d, index := opAnalyze(t, path, c)
	byPass := make([][]layer.Kernel, len(d.Passes))
	for k := range d.Kernels() {
		if p := k.Place().Pass; p != trace.None {
			byPass[p] = append(byPass[p], k)
		}
	}
	var l *operator.Layout
	if c != nil {
		l = layer.LayoutOf(c.Plan())
	}
	f := operator.NewFinder(l, operator.Defaults())
	at := func(k layer.Kernel) trace.Time {
		if l := k.Event().Launch(); l.Valid() {
			return l.Start()
		}
		return k.Event().Start()
	}
	var out []opAnswer
	for p, list := range byPass {
		slices.SortStableFunc(list, func(x, y layer.Kernel) int { return cmp.Compare(at(x), at(y)) })
		pass := operator.Pass{First: d.Passes[p].FirstLayer, Layers: d.Passes[p].NumLayers}
		for j, k := range list {
			op := operator.Kernel{Name: k.Event().Name(), Stream: int32(k.Event().Stream()), Layer: trace.None}
			if from := j - shift; from >= 0 && from < len(list) {
				op.Layer = int32(list[from].Place().Layer)
			}
			if rename != nil {
				op.Name = rename(op.Name)
			}
			pass.Kernels = append(pass.Kernels, op)
		}
		for j, r := range f.Find(pass) {
			e := list[j].Event()
			out = append(out, opAnswer{Operator: r.Operator,
				Part: map[bool]string{true: "copy"}[r.Part == operator.Copy], Confidence: r.Confidence,
				Layer: int(r.Layer), index: index[e.ID()], pass: p, event: e})
		}
	}
	return out
}

func opConfig(t *testing.T, name string) *profile.Config {
	t.Helper()
	if name == "" {
		return nil
	}
	path := "../testdata/configs/" + name + ".json"
	if _, err := os.Stat(path); err != nil {
		path = testdata.Shared(t, "configs/"+name+".json")
	}
	c, err := profile.LoadConfig(path)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// opTruthRow is one activity of shared/truth/operators.
type opTruthRow struct {
	layer int
	ops   []string
	name  string
}

func opTruth(t *testing.T, name string) map[int]opTruthRow {
	t.Helper()
	data, err := os.ReadFile(testdata.Shared(t, "truth/operators/"+name+".tsv"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[int]opTruthRow{}
	for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		f := strings.Split(line, "\t")
		i, _ := strconv.Atoi(f[0])
		l, _ := strconv.Atoi(f[1])
		out[i] = opTruthRow{l, strings.Split(f[2], "|"), f[3]}
	}
	return out
}

// right reports an opAnswer that the truth accepts: any operator of a fused kernel,
// any of those that cannot be separated.
func (a *opAnswer) right(want opTruthRow) bool {
	for _, op := range want.ops {
		if op == "copy" && a.Part == "copy" {
			return true
		}
		for _, part := range strings.FieldsFunc(a.Operator, func(r rune) bool { return r == '+' || r == '|' }) {
			if part == op {
				return true
			}
		}
	}
	return false
}

// score is the share of the time inside layers with the right operator, and with
// the right layer.
func opScore(t *testing.T, answers []opAnswer, want map[int]opTruthRow, verbose bool) (ops, layers float64) {
	t.Helper()
	var all, good, placed int64
	bad := map[string]int64{}
	for i := range answers {
		a := &answers[i]
		w, ok := want[a.index]
		if !ok {
			continue
		}
		if w.name != a.event.Name() {
			t.Fatalf("activity %d is %q, the truth has %q", a.index, a.event.Name(), w.name)
		}
		d := int64(a.event.Duration())
		all += d
		if a.Layer == w.layer {
			placed += d
		}
		if a.right(w) {
			good += d
		} else {
			bad[fmt.Sprintf("want %v, got %s (%s): %.60s", w.ops, a.Operator, a.Part, w.name)] += d
		}
	}
	if verbose {
		for k, v := range bad {
			t.Logf("%8.3f%% %s", 100*float64(v)/float64(all), k)
		}
	}
	return float64(good) / float64(all), float64(placed) / float64(all)
}
