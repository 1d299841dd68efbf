package layer_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
)

// TestStrayKernels: a kernel half a second before its pass, inside the pass's annotation, is in no pass and has a
// note. One that is apart by less than the pass's work stays, and so does what a pass of layers begins with.
func TestStrayKernels(t *testing.T) {
	for _, c := range []struct {
		apart time.Duration
		stray bool
	}{{500 * time.Millisecond, true}, {10 * time.Microsecond, false}} {
		first, shift := true, float64(c.apart.Microseconds())
		tr, truths := generate(t, gen.Config{Seed: 3, Dialect: gen.SGLang,
			Arch:   gen.Arch{Layers: gen.Uniform(12, gen.Layer{})},
			Passes: []gen.Pass{{Decodes: 8, Context: 500}}}, func(e map[string]any) map[string]any {
			if onGPU(e) && !first {
				e["ts"] = number(t, e["ts"]) + shift
			}
			first = first && !onGPU(e)
			return e
		})
		d := analyze(t, tr, layer.Options{})
		p := &d.Passes[0]
		if (p.Kernels == len(truths)-1) != c.stray || (d.Kernel(0).Place().Pass == trace.None) != c.stray ||
			(p.Wall() < c.apart) != c.stray && c.stray {
			t.Errorf("%v apart: pass of %d of %d kernels, %v", c.apart, p.Kernels, len(truths), p.Wall())
		}
		if strings.Contains(strings.Join(d.Notes, "\n"), "before the pass that launched") != c.stray {
			t.Errorf("%v apart: notes %q", c.apart, d.Notes)
		}
	}
}

// TestStepsThatLaunchNothing are passes without kernels between their neighbours.
func TestStepsThatLaunchNothing(t *testing.T) {
	passes := []gen.Pass{{Decodes: 8, Context: 500}, {Decodes: 8, Context: 501}, {Decodes: 8, Context: 502}}
	tr, _ := generate(t, gen.Config{Seed: 3, Dialect: gen.SGLang, Arch: gen.Arch{Layers: gen.Uniform(12, gen.Layer{})},
		Passes: passes}, nil)
	whole := analyze(t, tr, layer.Options{})
	gone := whole.Passes[1]
	raw := func(x trace.Time) float64 { return float64(tr.Raw(x)) / 1e3 }
	from, to := raw(gone.Host.Start), raw(gone.Host.End)
	launched := map[string]bool{}
	tr, _ = generate(t, gen.Config{Seed: 3, Dialect: gen.SGLang, Arch: gen.Arch{Layers: gen.Uniform(12, gen.Layer{})},
		Passes: passes}, func(e map[string]any) map[string]any {
		args, _ := e["args"].(map[string]any)
		id := fmt.Sprint(args["correlation"])
		if e["cat"] == "cuda_runtime" {
			if ts := number(t, e["ts"]); from <= ts && ts <= to {
				launched[id] = true
				return nil
			}
		}
		if onGPU(e) && launched[id] {
			return nil
		}
		return e
	})
	d := analyze(t, tr, layer.Options{})
	if len(d.Passes) != 3 {
		t.Fatalf("%d passes, want 3", len(d.Passes))
	}
	p := &d.Passes[1]
	if p.Kernels != 0 || p.Stage != layer.StageDecode || p.Host.Annotation == trace.None ||
		p.Host.End <= p.Host.Start || p.Wall() != 0 || p.Start < d.Passes[0].End || p.Start > d.Passes[2].Start {
		t.Errorf("pass without kernels: %+v", p)
	}
	if d.Passes[0].Host.Start > p.Host.Start || p.Host.Start > d.Passes[2].Host.Start || d.Steady.Pass == 1 {
		t.Errorf("host spans %+v, %+v, %+v; steady pass %d", d.Passes[0].Host, p.Host, d.Passes[2].Host, d.Steady.Pass)
	}
}

// TestTwoGPUs: the busiest GPU comes first, and passes that one step of the server launched on both have the same
// number. The second GPU missed the first step.
func TestTwoGPUs(t *testing.T) {
	cfg := gen.Config{Seed: 3, Arch: gen.Arch{Layers: gen.Uniform(12, gen.Layer{})}, TP: 2,
		Passes: []gen.Pass{{Prefills: 1, Tokens: 3000}, {Decodes: 8, Context: 500}, {Decodes: 8, Context: 501}}}
	for _, dialect := range []gen.Dialect{gen.SGLang, gen.TensorRTLLM, gen.NoAnnotations} {
		cfg.Dialect = dialect
		tr := twoRanks(t, cfg)
		a := analyze(t, tr, layer.Options{}).Analysis()
		if len(a.Devices) != 2 || a.Devices[0].Time < a.Devices[1].Time || len(a.Devices[0].Passes) != 3 ||
			len(a.Devices[1].Passes) != 2 {
			t.Fatalf("dialect %d: %d devices", dialect, len(a.Devices))
		}
		for i := range a.Devices {
			d := &a.Devices[i]
			for p := range d.Passes {
				if want := p + i; d.Passes[p].Step != want || d.Passes[p].NumLayers != 12 {
					t.Errorf("dialect %d: GPU %d: pass %d is of step %d with %d layers, want step %d", dialect, d.ID, p,
						d.Passes[p].Step, d.Passes[p].NumLayers, want)
				}
			}
			for k := range d.Kernels() {
				if k.Event().Device() != d.ID || a.Of(k.Event().ID()) != k {
					t.Fatalf("dialect %d: kernel %d of GPU %d is on GPU %d", dialect, k.Index(), d.ID,
						k.Event().Device())
				}
			}
		}
		if d, err := a.Device(&a.Devices[1].ID); err != nil || d != &a.Devices[1] {
			t.Errorf("dialect %d: %v", dialect, err)
		}
	}
}

// twoRanks is a trace of two processes that run the same steps on a GPU each; the second one missed the first step.
func twoRanks(t *testing.T, cfg gen.Config) *trace.Trace {
	t.Helper()
	one, _ := generate(t, cfg, nil)
	d := analyze(t, one, layer.Options{})
	begin := float64(one.Raw(d.Passes[1].Host.Start))/1e3 - 20 // between two steps
	var doc struct {
		Events []map[string]any `json:"traceEvents"`
	}
	for rank := range 2 {
		cfg.Rank = rank
		var b bytes.Buffer
		if err := gen.Write(&b, cfg); err != nil {
			t.Fatal(err)
		}
		edited(t, b.Bytes(), func(e map[string]any) map[string]any {
			if ts, ok := e["ts"].(json.Number); ok && rank == 1 {
				if v, err := ts.Float64(); err != nil || v < begin {
					return nil
				}
			}
			if pid, ok := e["pid"].(json.Number); ok && rank == 1 && !onGPU(e) {
				e["pid"] = pid + "1"
			}
			if args, ok := e["args"].(map[string]any); ok && rank == 1 {
				for _, key := range []string{"correlation", "External id"} {
					if id, ok := args[key].(json.Number); ok {
						args[key] = id + "1"
					}
				}
			}
			if e["ph"] == "X" {
				doc.Events = append(doc.Events, e)
			}
			return e
		})
	}
	data, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	tr, err := trace.Read(t.Context(), bytes.NewReader(data), trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// number reads a number of a trace document.
func number(t *testing.T, v any) float64 {
	t.Helper()
	n, ok := v.(json.Number)
	if !ok {
		t.Fatalf("%v is no number", v)
	}
	f, err := n.Float64()
	if err != nil {
		t.Fatal(err)
	}
	return f
}
