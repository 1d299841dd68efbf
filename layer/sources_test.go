package layer_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// TestReplayFindsItsSource aligns the decode replay with the trace of its capture and with the eager prefill of the
// same model, and checks that module paths carry the right layer.
func TestReplayFindsItsSource(t *testing.T) {
	decode := open(t, "sglang-qwen3-8b-decode-graph-mi300.json.gz")
	for _, c := range []struct {
		mapping string
		least   float64 // share of replayed kernels with a twin
		names   float64 // share of twins with the very name
	}{
		{"sglang-qwen3-8b-graph-capture-mi300.json.gz", 0.99, 0.99},
		{"sglang-qwen3-8b-extend-eager-mi300.json.gz", 0.9, 0.5},
	} {
		t.Run(c.mapping, func(t *testing.T) {
			m := open(t, c.mapping, trace.Options{Args: []event.Kind{event.Runtime}})
			a := analyze(t, decode, layer.Options{Config: config(t, "qwen3-8b.json"),
				Mapping: analyze(t, m, layer.Options{Config: config(t, "qwen3-8b.json")}).Analysis()})
			replayed, found, named, wrong, modules := 0, 0, 0, 0, 0
			for i := range a.NumKernels() {
				if !a.Kernel(i).Event().IsReplay() {
					continue
				}
				replayed++
				tw := a.Kernel(i).Twin()
				if !tw.Launch.Valid() {
					t.Logf("no twin: %.60s layer %d", a.Kernel(i).Event().Name(), a.Kernel(i).Place().Layer)
					continue
				}
				found++
				if tw.How == layer.HowName {
					named++
				}
				if a.Kernel(i).Place().Layer != trace.None {
					path := layer.ModulePath(tw.Launch)
					if strings.Contains(path, "DecoderLayer") {
						modules++
					}
					if want := "Qwen3DecoderLayer_" + strconv.Itoa(a.Kernel(i).Place().Layer); !strings.Contains(path+
						"/", want+"/") {
						wrong++
						t.Logf("kernel %d layer %d: %s %v", i, a.Kernel(i).Place().Layer, path, tw.How)
					}
				}
			}
			t.Logf("%d replayed, %d found, %d named, %d with modules, %d wrong", replayed, found, named, modules, wrong)
			if float64(found) < c.least*float64(replayed) || float64(named) < c.names*float64(found) || wrong > 0 {
				t.Errorf("%d replayed kernels: %d twins, %d by name, %d in a wrong layer", replayed, found, named,
					wrong)
			}
		})
	}
}

// TestPiecewiseMapping: a run whose graphs are captured in pieces launches attention and its cache write by itself.
// As mapping it gives those their sources, in the right layers, and no other kernel any.
func TestPiecewiseMapping(t *testing.T) {
	mapping := analyze(t, open(t, "vllm-gptoss20b-mixed-piecewise-mi300.json.gz"),
		layer.Options{Config: config(t, "gpt-oss-20b.json")}).Analysis()
	for _, force := range []bool{false, true} {
		d := analyze(t, open(t, "vllm-gptoss20b-decode-fullgraph-mi300.json.gz"),
			layer.Options{Config: config(t, "gpt-oss-20b.json"), Mapping: mapping, ForceMapping: force})
		if why := d.MappingRefused(); why != "" {
			t.Errorf("refused: %s", why)
		}
		found := map[string]int{}
		for i := range d.NumKernels() {
			k := d.Kernel(i)
			if tw := k.Twin(); tw.Launch.Valid() && k.Event().IsReplay() {
				op, _, _ := k.Operator()
				found[string(op)]++
				if of := mapping.Of(tw.Kernel.ID()); of.Place().Layer != k.Place().Layer {
					t.Errorf("layer %d has a source in layer %d", k.Place().Layer, of.Place().Layer)
				}
			}
		}
		if found["attention"] != 36 || found["kv_write"] != 24 || found["qkv_proj"] != 0 {
			t.Errorf("sources by operator %v, want 36 of attention (12 with a reduction), 24 of the cache write, none of a "+
				"product", found)
		}
	}
}
