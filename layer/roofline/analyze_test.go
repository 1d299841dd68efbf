package roofline_test

import (
	"bytes"
	"context"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/roofline"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
)

const shared = "../../../shared/"

// known are real traces whose model is known.
var known = []struct{ file, config string }{
	{"sglang-qwen3-8b-decode-graph-mi300.json.gz", "qwen3-8b"},
	{"sglang-qwen3-8b-extend-eager-mi300.json.gz", "qwen3-8b"},
	{"vllm-gptoss20b-decode-fullgraph-mi300.json.gz", "gpt-oss-20b"},
	{"vllm-gptoss20b-mixed-piecewise-mi300.json.gz", "gpt-oss-20b"},
	{"sglang-qwen3-30b-a3b-b300-TP-0-DECODE.trace.json.gz", "qwen3-30b-a3b"},
	{"sglang-qwen3-30b-a3b-mi300-TP-0-DECODE.trace.json.gz", "qwen3-30b-a3b"},
	{"sglang-r1-distill-llama-8b-b300-TP-0-DECODE.trace.json.gz", "llama-3.1-8b"},
}

// scrambled has records whose names and times do not belong together.
const scrambled = "sglang-r1-distill-llama-8b-mi300-TP-0-DECODE.trace.json.gz"

func analyse(t *testing.T, file, config string, o roofline.Options) *roofline.Report {
	t.Helper()
	cfg, err := profile.LoadConfig(testdata.Shared(t, "configs/"+config+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return analyseWith(t, file, cfg, o)
}

func analyseWith(t *testing.T, file string, cfg *profile.Config, o roofline.Options) *roofline.Report {
	t.Helper()
	tr, err := open(testdata.Shared(t, "traces/torch/"+file))
	if err != nil {
		t.Fatal(err)
	}
	a, err := layer.Analyze(context.Background(), tr, layer.Options{Config: cfg})
	if err != nil {
		t.Fatal(err)
	}
	r, err := roofline.Analyze(context.Background(), a, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestHeadings: on every shared trace whose model is not known, the time of attention's kernels stands under attention
// and that of collectives under communication, whatever else their operators run and whichever kernel comes first. In
// passes where kernels overlap an instant is of one of them, so that those are left out.
func TestHeadings(t *testing.T) {
	seen := 0
	for _, file := range sharedTraces(t) {
		tr, err := open(file)
		if err != nil {
			t.Fatal(err)
		}
		a, err := layer.Analyze(t.Context(), tr, layer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if len(a.Devices) == 0 {
			continue
		}
		d := &a.Devices[0]
		r, err := roofline.Analyze(t.Context(), a, roofline.Options{On: &d.ID})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range r.Passes {
			if d.Passes[p.Index].NumLayers == 0 {
				continue // its operators are kernels
			}
			var all, attention, collectives time.Duration
			for k := range d.Kernels() {
				if k.Place().Pass != p.Index {
					continue
				}
				took := k.Event().Duration()
				all += took
				switch k.Category() {
				case classify.CategoryAttention:
					attention += took
				case classify.CategoryCommunication:
					collectives += took
				}
			}
			var idle, under, moved time.Duration
			for _, s := range p.Waterfall {
				switch {
				case s.Kind == roofline.Idle:
					idle += s.Time
				case strings.Contains(s.Name, "attention"):
					under += s.Time
				case s.Kind == roofline.Communication:
					moved += s.Time
				}
			}
			const near = 0.01
			if float64(all+idle) > (1+near)*float64(p.Wall) || attention+collectives == 0 {
				continue
			}
			seen++
			if float64(under) < (1-near)*float64(attention) || math.Abs(float64(moved-collectives)) > near*float64(all) {
				t.Errorf("%s: pass %d: attention %v of %v, communication %v of %v", filepath.Base(file), p.Index,
					under, attention, moved, collectives)
			}
		}
	}
	if seen < 5 {
		t.Errorf("%d passes", seen)
	}
}

// TestWaterfallAddsUp: every pass's waterfall adds up to its wall time, to the nanosecond, and no share of it is
// negative: on every shared trace, with and without a config, tokens and rules that count copies and collectives, and
// with a GPU that it did not run on, whose floors are wrong.
func TestWaterfallAddsUp(t *testing.T) {
	configs := map[string]string{}
	for _, c := range known {
		configs[c.file] = c.config
	}
	move := func(in *roofline.Inputs) (roofline.Work, bool) { return roofline.Work{Bytes: 1e9}, true }
	rules := []roofline.Rule{{Op: "aten::*", Count: move}, {Op: "nccl*", Count: move}, {Op: "c10d::*", Count: move},
		{Op: "record_param_comms", Count: move}, {Op: "vllm::*", Count: move}, {Op: "_C*", Count: move},
		{Op: "sgl*", Count: move}}
	collectives := 0
	for _, file := range sharedTraces(t) {
		tr, err := open(file)
		if err != nil {
			t.Fatal(err)
		}
		given := []*profile.Config{nil}
		if name := configs[filepath.Base(file)]; name != "" {
			cfg, err := profile.LoadConfig(testdata.Shared(t, "configs/"+name+".json"))
			if err != nil {
				t.Fatal(err)
			}
			given = append(given, cfg)
		}
		for _, cfg := range given {
			a, err := layer.Analyze(context.Background(), tr, layer.Options{Config: cfg})
			if err != nil {
				t.Fatal(err)
			}
			decode := roofline.Decode(7, 900)
			for name, o := range map[string]roofline.Options{"alone": {}, "another GPU": {Device: "H20"},
				"tokens": {Load: &decode, Seen: 900, TP: 2}, "rules": {Rules: rules}} {
				r, err := roofline.Analyze(context.Background(), a, o)
				if err != nil {
					t.Fatal(err)
				}
				for _, p := range r.Passes {
					var sum time.Duration
					for _, s := range p.Waterfall {
						if sum += s.Time; s.Time < 0 {
							t.Errorf("%s, %s, config %t: pass %d: %s %v", filepath.Base(file), name, cfg != nil,
								p.Index, s.Name, s.Time)
						}
					}
					if sum != p.Wall {
						t.Errorf("%s, %s, config %t: pass %d: the waterfall adds up to %v, the pass takes %v",
							filepath.Base(file), name, cfg != nil, p.Index, sum, p.Wall)
					}
				}
				collectives += len(r.Collectives)
			}
		}
	}
	if collectives == 0 {
		t.Error("no trace had a collective")
	}
}

// sharedTraces are the shared torch traces that are no larger than tests can read often.
func sharedTraces(t *testing.T) []string {
	t.Helper()
	files, _ := filepath.Glob(testdata.Shared(t, "traces/torch") + "/*.json.gz")
	units, _ := filepath.Glob(testdata.Shared(t, "traces/units") + "/*/*.json.gz")
	if files = append(files, units...); len(files) == 0 {
		t.Skip("NOT TESTED: no shared traces")
	}
	return files
}

// On real traces with a known model no row of weights, cache or arithmetic is faster than the GPU can be.
func TestNothingIsFasterThanPossible(t *testing.T) {
	for _, c := range known {
		t.Run(c.file, func(t *testing.T) {
			r := analyse(t, c.file, c.config, roofline.Options{})
			if r.GPU == nil {
				t.Fatalf("GPU: %s", r.GPUWhy)
			}
			for _, row := range r.Operators {
				if strings.Contains(row.Note, "faster than") || row.PeakShare > 1.02 {
					t.Errorf("%s: %.0f%% of the peak, %s", row.Operator, 100*row.PeakShare, row.Note)
				}
			}
			if notes := strings.Join(r.Notes, "\n"); strings.Contains(notes, "faster than") {
				t.Errorf("notes: %s", notes)
			}
			for _, p := range r.Passes {
				if p.Tokens > 0 && p.Floor == 0 {
					t.Errorf("pass %d has no floor", p.Index)
				}
			}
		})
	}
}

// Records that are mixed up make kernels of a microsecond that read a hundred megabytes.
func TestScrambledRecordsAreCaught(t *testing.T) {
	r := analyse(t, scrambled, "llama-3.1-8b", roofline.Options{})
	if r.Passes[0].Floor != 0 {
		t.Errorf("a floor of %v is shown", r.Passes[0].Floor)
	}
	if notes := strings.Join(r.Notes, "\n"); !strings.Contains(notes, "faster than the GPU can be") {
		t.Errorf("notes: %s", notes)
	}
}

// Figures that were reckoned by hand for a decode pass of 32 requests.
func TestDecodeByHand(t *testing.T) {
	r := analyse(t, known[0].file, known[0].config, roofline.Options{})
	want := map[string]float64{"floor: GEMMs (weights)": 2.856, "floor: attention (cache)": 0.912,
		"GEMMs above their floor": 2.926, "attention above its floor": 1.216,
		"GPU idle inside the pass": 0.682}
	for _, s := range r.Passes[0].Waterfall {
		if w, ok := want[s.Name]; ok && math.Abs(s.Time.Seconds()*1e3-w) > 0.0006 {
			t.Errorf("%s: %v, want %.3f ms", s.Name, s.Time, w)
		}
		delete(want, s.Name)
	}
	for name := range want {
		t.Errorf("no row %s", name)
	}
	if got := r.Passes[0].Wall; got != 10450292 {
		t.Errorf("wall %v, want 10.450292ms: the stray kernel 463 ms before belongs to no step", got)
	}
}

// The text holds the waterfall, the operators and the possible gains.
func TestText(t *testing.T) {
	load := roofline.Decode(1, 1050)
	r, err := roofline.Plan(context.Background(), config(t, llama),
		roofline.Options{Device: "H100", Load: &load, TP: 4})
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	var markdown pageOfMarkdown
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	if err := r.WriteText(&markdown); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Speed of light of LlamaForCausalLM on h100-sxm-80", "floor: GEMMs (weights)",
		"10.373", "gate_up_proj", "14336"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the text lacks %q:\n%s", want, text.String())
		}
		if !strings.Contains(markdown.String(), want) {
			t.Errorf("the Markdown lacks %q", want)
		}
	}
	if got := markdown.String(); !strings.HasPrefix(got, "# Speed of light of ") ||
		!strings.Contains(got, "\n## Operators\n\n| ") {
		t.Errorf("the Markdown has no headings:\n%s", got)
	}
}

// pageOfMarkdown asks for Markdown.
type pageOfMarkdown struct{ bytes.Buffer }

func (pageOfMarkdown) Markdown() bool { return true }

// The same trace gives the same bytes.
func TestSameBytes(t *testing.T) {
	var first string
	for range 3 {
		r := analyse(t, known[4].file, known[4].config, roofline.Options{})
		var b bytes.Buffer
		if err := r.WriteText(&b); err != nil {
			t.Fatal(err)
		}
		if first != "" && first != b.String() {
			t.Error("two runs print different texts")
		}
		first = b.String()
	}
}

func open(path string) (*trace.Trace, error) {
	return trace.Open(context.Background(), filepath.FromSlash(path), trace.Options{})
}

// The experts of one token are a floor that holds; of an even choice it is said how many that are, or how many can
// have been chosen.
func TestExpertsHaveTheFloorOfOneToken(t *testing.T) {
	for _, c := range []struct {
		trace int
		note  string
	}{{2, "4 to 32 experts active, 32 if chosen evenly"}, {4, "8 to 63 experts active, 82 if chosen evenly"}} {
		t.Run(known[c.trace].file, func(t *testing.T) {
			r := analyse(t, known[c.trace].file, known[c.trace].config, roofline.Options{})
			row := find(t, r, "experts_down")
			if row.Floor <= 0 || row.Floor > row.Time || !strings.Contains(row.Note, c.note) {
				t.Errorf("floor %v of %v, %q; want one, and %q", row.Floor, row.Time, row.Note, c.note)
			}
			if i := slices.IndexFunc(r.Passes[0].Waterfall,
				func(s roofline.Share) bool { return s.Name == "floor: experts" }); i < 0 {
				t.Errorf("the waterfall has no floor of experts: %v", r.Passes[0].Waterfall)
			}
		})
	}
}
