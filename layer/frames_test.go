package layer_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
)

// events are those of a trace document, to be changed.
type events []map[string]any

func (e events) ts(k int) float64  { ts, _ := e[k]["ts"].(float64); return ts }
func (e events) end(k int) float64 { dur, _ := e[k]["dur"].(float64); return e.ts(k) + dur }
func (e events) name(k int) string { name, _ := e[k]["name"].(string); return name }
func (e events) gpu(k int) bool {
	return slices.Contains([]any{"kernel", "gpu_memcpy", "gpu_memset"}, e[k]["cat"])
}

// frame returns the n-th frame of a module.
func (e events) frame(t *testing.T, module string, n int) int {
	t.Helper()
	var all []int
	for k := range e {
		if e.name(k) == "nn.Module: "+module {
			all = append(all, k)
		}
	}
	slices.SortFunc(all, func(a, b int) int { return int(e.ts(a) - e.ts(b)) })
	if n >= len(all) {
		t.Fatalf("%d frames of %s", len(all), module)
	}
	return all[n]
}

// window leaves what the host did from one time to another, and what the GPU did for it. Frames that are open at its
// edges are shortened, or left out.
func (e events) window(from, to float64, shorten bool) (out events) {
	launched := map[any]bool{}
	for k := range e {
		args, _ := e[k]["args"].(map[string]any)
		if c := args["correlation"]; c != nil && !e.gpu(k) && e.ts(k) >= from && e.end(k) <= to {
			launched[c] = true
		}
	}
	for k := range e {
		args, _ := e[k]["args"].(map[string]any)
		switch {
		case e[k]["ph"] != "X":
			out = append(out, e[k])
		case e.gpu(k) && launched[args["correlation"]], !e.gpu(k) && e.ts(k) >= from && e.end(k) <= to:
			out = append(out, e[k])
		case !e.gpu(k) && shorten && e.end(k) > from && e.ts(k) < to && args["correlation"] == nil:
			ts := max(from, e.ts(k))
			e[k]["dur"], e[k]["ts"] = min(to, e.end(k))-ts, ts
			out = append(out, e[k])
		}
	}
	return out
}

// moduleNumber is the number that the profiler gave to a decoder layer.
var moduleNumber = regexp.MustCompile(`^nn\.Module: (Llama)(DecoderLayer)_(\d+)$`)

// TestStacksUnderFrames: the frames of a model's layers show its passes wherever the window begins and ends, however
// the profiler numbers modules, and however many stacks the model has.
func TestStacksUnderFrames(t *testing.T) {
	encoder := gen.Config{Seed: 3, Modules: true, Stacks: true,
		Arch:   gen.Arch{Family: "Bert", Layers: gen.Uniform(12, gen.Layer{}), Hidden: 512},
		Passes: []gen.Pass{{Prefills: 1, Tokens: 64}}}
	model := gen.Config{Seed: 4, Modules: true, Stacks: true,
		Arch:   gen.Arch{Family: "Llama", Layers: gen.Uniform(24, gen.Layer{}), Hidden: 4096},
		Passes: []gen.Pass{{Prefills: 1, Tokens: 2048}}}
	const layer7, layer10 = "LlamaDecoderLayer_7", "LlamaDecoderLayer_10"
	renumber := func(e events, name func(pass, n int) string) events {
		seen := map[string]int{}
		order := make([]int, len(e))
		for k := range order {
			order[k] = k
		}
		slices.SortStableFunc(order, func(a, b int) int { return int(e.ts(a) - e.ts(b)) })
		for _, k := range order {
			if m := moduleNumber.FindStringSubmatch(e.name(k)); m != nil {
				n, _ := strconv.Atoi(m[3])
				e[k]["name"] = "nn.Module: " + name(seen[m[3]], n)
				seen[m[3]]++
			}
		}
		return e
	}
	for _, c := range []struct {
		name   string
		runs   []gen.Config
		change func(events) events
		want   string // first layer, layers and cut of each pass
		models string // names and layers
	}{
		{"whole", []gen.Config{model, model}, func(e events) events { return e }, "0+24 0+24", "LlamaForCausalLM:24"},
		{"begins within, frame missing", []gen.Config{model},
			func(e events) events { return e.window(e.ts(e.frame(t, layer7, 0)), 1e18, false) }, "7+17start",
			"LlamaDecoderLayer:24"},
		{"begins within, frame shortened", []gen.Config{model},
			func(e events) events { return e.window(e.ts(e.frame(t, layer7, 0)), 1e18, true) }, "7+17start",
			"LlamaForCausalLM:24"},
		{"ends within, frame missing", []gen.Config{model},
			func(e events) events { return e.window(0, e.end(e.frame(t, layer10, 0)), false) }, "0+11end",
			"LlamaDecoderLayer:11"},
		{"ends within, frame shortened", []gen.Config{model},
			func(e events) events { return e.window(0, e.end(e.frame(t, layer10, 0)), true) }, "0+11end",
			"LlamaForCausalLM:11"},
		{"ends within the second", []gen.Config{model, model},
			func(e events) events { return e.window(0, e.end(e.frame(t, layer10, 1)), false) }, "0+24 0+11end",
			"LlamaForCausalLM:24"},
		{"begins within the first, few layers left", []gen.Config{model, model}, func(e events) events {
			return e.window(e.ts(e.frame(t, "LlamaDecoderLayer_20", 0)), 1e18, false)
		}, "20+4start 0+24", "LlamaForCausalLM:24"},
		{"no frame around the layers", []gen.Config{model, model}, func(e events) events {
			return slices.DeleteFunc(e, func(x map[string]any) bool {
				name, _ := x["name"].(string)
				return strings.HasPrefix(name, "nn.Module: LlamaForCausalLM") ||
					strings.HasPrefix(name, "nn.Module: LlamaModel")
			})
		}, "0+24 0+24", "LlamaDecoderLayer:24"},
		{"numbered from where the window begins", []gen.Config{model, model}, func(e events) events {
			from := e.ts(e.frame(t, layer7, 0))
			return renumber(e, func(_, n int) string {
				return fmt.Sprintf("LlamaDecoderLayer_%d",
					(n+17)%24)
			}).window(from, 1e18, true)
		}, "7+17start 0+24", "LlamaForCausalLM:24"},
		{"layers of two classes in turns", []gen.Config{model, model}, func(e events) events {
			return renumber(e, func(_, n int) string {
				return fmt.Sprintf("Llama%sDecoderLayer_%d",
					[]string{"", "Mamba"}[n%2], n/2)
			})
		}, "0+24 0+24", "LlamaForCausalLM:24"},
		{"an encoder within the model", []gen.Config{encoder, model}, func(e events) events {
			from, to := e.frame(t, "BertForCausalLM_0", 0), e.frame(t, "LlamaForCausalLM_0", 0)
			around := map[string]any{"ph": "X", "cat": "python_function",
				"name": "nn.Module: VisionForConditionalGeneration_0", "pid": e[from]["pid"], "tid": e[from]["tid"],
				"ts": e.ts(from) - 5, "dur": e.end(to) - e.ts(from) + 10,
				"args": map[string]any{"Python id": 900000, "Python parent id": nil, "Python module id": 0}}
			return append(e, around)
		}, "0+12 0+24", "VisionForConditionalGeneration:24 BertModel:12"},
		{"kernels end before the host", []gen.Config{model}, func(e events) events {
			last := e.ts(e.frame(t, "LlamaDecoderLayer_12", 0))
			lost := map[any]bool{}
			for k := range e {
				if args, _ := e[k]["args"].(map[string]any); !e.gpu(k) && args["correlation"] != nil && e.ts(k) > last {
					lost[args["correlation"]] = true
				}
			}
			return slices.DeleteFunc(e, func(x map[string]any) bool {
				args, _ := x["args"].(map[string]any)
				return events{x}.gpu(0) && lost[args["correlation"]]
			})
		}, "0+12end", "LlamaForCausalLM:24"},
	} {
		var b bytes.Buffer
		if err := gen.WriteInTurn(&b, time.Second, c.runs...); err != nil {
			t.Fatal(err)
		}
		var doc map[string]any
		if err := json.Unmarshal(b.Bytes(), &doc); err != nil {
			t.Fatal(err)
		}
		var e events
		for _, x := range doc["traceEvents"].([]any) {
			e = append(e, x.(map[string]any))
		}
		doc["traceEvents"] = c.change(e)
		data, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		tr, err := trace.Read(t.Context(), bytes.NewReader(data), trace.Options{})
		if err != nil {
			t.Fatal(err)
		}
		d := analyze(t, tr, layer.Options{})
		var passes, models []string
		for p := range d.Passes {
			fp := &d.Passes[p]
			passes = append(passes, fmt.Sprintf("%d+%d%s", fp.FirstLayer, fp.NumLayers, fp.Partial))
		}
		for _, m := range d.Models {
			models = append(models, fmt.Sprintf("%s:%d", m.Name, m.NumLayers))
		}
		if got := strings.Join(passes, " "); got != c.want {
			t.Errorf("%s: passes %s, want %s; notes %q", c.name, got, c.want, d.Notes)
		}
		if got := strings.Join(models, " "); got != c.models {
			t.Errorf("%s: models %s, want %s", c.name, got, c.models)
		}
	}
}
