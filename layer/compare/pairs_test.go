package compare_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/compare"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
)

// doc is a trace as JSON, to be changed in one known way.
type doc map[string]any

func (d doc) events() []map[string]any {
	var out []map[string]any
	for _, e := range d["traceEvents"].([]any) {
		out = append(out, e.(map[string]any))
	}
	return out
}

func ts(e map[string]any) float64 { f, _ := e["ts"].(float64); return f }

func onGPU(e map[string]any) bool {
	cat, _ := e["cat"].(string)
	return cat == "kernel" || cat == "gpu_memcpy" || cat == "gpu_memset"
}

// named reports whether a kernel's name holds a word.
func named(word string) func(map[string]any) bool {
	return func(e map[string]any) bool {
		name, _ := e["name"].(string)
		return onGPU(e) && strings.Contains(name, word)
	}
}

// stretch makes the activities chosen by which take factor times as long; all that comes later moves.
func (d doc) stretch(which func(map[string]any) bool, factor float64) {
	list := d.events()
	slices.SortStableFunc(list, func(a, b map[string]any) int { return cmp.Compare(ts(a), ts(b)) })
	var shift float64
	for _, e := range list {
		if _, ok := e["ts"].(float64); !ok {
			continue
		}
		e["ts"] = ts(e) + shift
		if dur, ok := e["dur"].(float64); ok && which(e) {
			e["dur"] = dur * factor
			shift += dur * (factor - 1)
		}
	}
}

// drop removes events.
func (d doc) drop(which func(map[string]any) bool) {
	d["traceEvents"] = slices.DeleteFunc(d["traceEvents"].([]any),
		func(e any) bool { return which(e.(map[string]any)) })
}

// pause puts a time of so many µs between the steps: on the CPU before each annotation, on the GPU before the kernels
// of each pass.
func (d doc) pause(us float64, passOf map[int64]int) {
	var starts []float64
	for _, e := range d.events() {
		if name, _ := e["name"].(string); strings.HasPrefix(name, "step[") && e["cat"] == "user_annotation" {
			starts = append(starts, ts(e))
		}
	}
	slices.Sort(starts)
	for _, e := range d.events() {
		if _, ok := e["ts"].(float64); !ok {
			continue
		}
		n := 0
		if p, ok := passOf[int64(math.Round(ts(e)*1e3))]; ok && onGPU(e) {
			n = p
		} else {
			for n+1 < len(starts) && starts[n+1] <= ts(e) {
				n++
			}
		}
		e["ts"] = ts(e) + us*float64(n)
	}
}

// analysed reads the changed trace.
func (d doc) analysed(t *testing.T, config *profile.Config) *layer.Analysis {
	t.Helper()
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	tr, err := trace.Read(context.Background(), bytes.NewReader(text), trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	a, err := layer.Analyze(context.Background(), tr, layer.Options{Config: config})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// side measures the changed trace.
func (d doc) side(t *testing.T, config *profile.Config) *compare.Side {
	t.Helper()
	run, err := compare.Measure(context.Background(), d.analysed(t, config))
	if err != nil {
		t.Fatal(err)
	}
	return &compare.Side{Runs: []compare.Run{*run}}
}

// host measures what the host does in the changed trace.
func (d doc) host(t *testing.T) *compare.Host {
	t.Helper()
	h, err := hostoverhead.Series(context.Background(), d.analysed(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func parse(t *testing.T, text []byte) doc {
	t.Helper()
	var d doc
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// generated is a trace of a prefill and twenty decode steps; passOf gives the pass of a GPU activity by its start in
// ns.
func generated(t *testing.T, seed uint64, edits ...func(*gen.Config)) (text []byte, passOf map[int64]int) {
	t.Helper()
	passes := []gen.Pass{{Prefills: 1, Tokens: 512}}
	for range 20 {
		passes = append(passes, gen.Pass{Decodes: 16, Context: 1024, Mode: gen.FullGraph})
	}
	passOf = map[int64]int{}
	cfg := gen.Config{Seed: seed, Arch: gen.Arch{Family: "Llama", Layers: gen.Uniform(8, gen.Layer{}), Hidden: 4096,
		Vocab: 128256}, Passes: passes, Dialect: gen.SGLang, OneBlock: true,
		Truth: func(x gen.Truth) {
			if x.Pass >= 0 {
				passOf[x.Start] = x.Pass
			}
		}}
	for _, edit := range edits {
		edit(&cfg)
	}
	var b bytes.Buffer
	if err := gen.Write(&b, cfg); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), passOf
}

// kindsOf are the findings of a report: kind and operator, without idle time that the change brings with it.
func kindsOf(r *compare.Report) string {
	var out []string
	for _, f := range r.Findings {
		out = append(out, strings.TrimSpace(f.Kind.String()+" "+f.Code))
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// Pairs of generated traces that differ in one known way: it is found, with its size, and nothing else is.
func TestMadePairs(t *testing.T) {
	base, _ := generated(t, 1)
	for _, c := range []struct {
		name     string
		change   func(doc, map[int64]int)
		verdict  string
		findings string
		least    float64 // µs a pass, of the full difference
		most     float64
	}{
		{"the same", func(doc, map[int64]int) {}, "same", "", -30, 30},
		{"the window cut to 70%", func(d doc, _ map[int64]int) {
			first, last := math.Inf(1), 0.0
			for _, e := range d.events() {
				if onGPU(e) {
					first, last = min(first, ts(e)), max(last, ts(e))
				}
			}
			d.drop(func(e map[string]any) bool { return ts(e) > first+0.7*(last-first) })
		}, "same", "", -30, 30},
		{"steps of one and a half times, the same kernels", func(d doc, passOf map[int64]int) { d.pause(700, passOf) },
			"slower", "waiting between steps", 650, 750},
		{"a renamed tile", func(d doc, _ map[int64]int) {
			for _, e := range d.events() {
				if name, _ := e["name"].(string); onGPU(e) {
					e["name"] = strings.Replace(name, "nvjet_tst_128x8_64x12_4x1_v_bz_TNT",
						"nvjet_tst_256x8_64x8_4x2_v_bz_TNT", 1)
				}
			}
		}, "same", "rename gate_up_proj", -30, 30},
		{"attention × 1.6", func(d doc, _ map[int64]int) { d.stretch(named("BatchDecode"), 1.6) }, "slower",
			"operator attention", 20, 400},
		{"no activation, whose time is idle", func(d doc, _ map[int64]int) { d.drop(named("act_and_mul")) }, "mixed",
			"removed activation", -5, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, passOf := generated(t, 2)
			d := parse(t, text)
			c.change(d, passOf)
			a, b := parse(t, base).side(t, nil), d.side(t, nil)
			r := report(t, a, b, compare.Options{})
			delta := float64(r.Delta) / 1e3
			if r.Verdict != compare.Outcome(c.verdict) || kindsOf(r) != c.findings || delta < c.least ||
				delta > c.most {
				t.Errorf("%s (%+.1f µs), findings %q; want %s, %q, %v to %v µs", r.Text, delta, kindsOf(r), c.verdict,
					c.findings, c.least, c.most)
			}
			opposite := compare.Opposite(compare.Outcome(c.verdict))
			if back := report(t, b, a, compare.Options{}); back.Verdict != opposite {
				t.Errorf("the other way round: %s", back.Text)
			}
		})
	}
}

// real is a shared trace as JSON.
func real(t *testing.T, name string) doc {
	t.Helper()
	return parse(t, testdata.ReadFile(t, testdata.Shared(t, "traces/torch/"+name)))
}

// Pairs made of real traces by one known change.
func TestPairsOfRealTraces(t *testing.T) {
	for _, c := range []struct {
		trace, config, name string
		change              func(doc)
		floor               float64
		findings            string
		delta               float64 // µs of the finding
	}{
		{"sglang-qwen3-30b-a3b-b300-TP-0-DECODE.trace.json.gz", "qwen3-30b-a3b", "attention × 1.6",
			func(d doc) { d.stretch(named("fmhaSm100"), 1.6) }, 0, "operator attention", 0.6 * 435.3},
		{"sglang-qwen3-30b-a3b-b300-TP-0-DECODE.trace.json.gz", "qwen3-30b-a3b", "attention × 1.1",
			func(d doc) { d.stretch(named("fmhaSm100"), 1.1) }, 0, "operator attention", 0.1 * 435.3},
		{"sglang-qwen3-30b-a3b-b300-TP-0-DECODE.trace.json.gz", "qwen3-30b-a3b", "no finalize",
			func(d doc) { d.drop(named("finalizeKernel")) }, 0, "removed experts_combine", -234.3},
		{"sglang-r1-distill-llama-8b-b300-TP-0-DECODE.trace.json.gz", "llama-3.1-8b", "down projection × 1.5",
			func(d doc) { d.stretch(named("nvjet_sm103_tst_64x16_64x16_2x1_2cta_v_bz_splitK_TNT"), 1.5) }, 0,
			"operator down_proj", 0},
		{"sglang-r1-distill-llama-8b-b300-TP-0-DECODE.trace.json.gz", "llama-3.1-8b", "all × 1.03",
			func(d doc) { d.stretch(onGPU, 1.03) }, 0.003, "uniform", 0},
		{"sglang-r1-distill-llama-8b-b300-TP-0-DECODE.trace.json.gz", "llama-3.1-8b", "all × 1.005",
			func(d doc) { d.stretch(onGPU, 1.005) }, 0.003, "", 0},
	} {
		t.Run(c.config+", "+c.name, func(t *testing.T) {
			cfg, err := profile.LoadConfig(testdata.Shared(t, "configs/"+c.config+".json"))
			if err != nil {
				t.Fatal(err)
			}
			d := real(t, c.trace)
			c.change(d)
			r := report(t, real(t, c.trace).side(t, cfg), d.side(t, cfg), compare.Options{Floor: c.floor})
			if kindsOf(r) != c.findings {
				t.Fatalf("%s, findings %q, want %q", r.Text, kindsOf(r), c.findings)
			}
			if got := float64(0); c.delta != 0 {
				got = float64(r.Findings[0].PerStep) / 1e3
				if math.Abs(got-c.delta) > 0.05*math.Abs(c.delta) {
					t.Errorf("%+.1f µs, want %+.1f", got, c.delta)
				}
			}
		})
	}
}
