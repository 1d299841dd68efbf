package layer_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/opname"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
)

// TestTruthOfRealTraces: module frames and shapes show all; without them the plan, and without a config the kernels,
// show at least 99%; labels of layers that are off are repaired.
func TestTruthOfRealTraces(t *testing.T) {
	for _, tt := range []struct{ trace, config string }{
		{"sglang-qwen3-8b-extend-eager-mi300", "qwen3-8b"},
		{"hf-qwen1.5-0.5b-eager-h100", "qwen1.5-0.5b"},
	} {
		want := opTruth(t, tt.trace)
		path := testdata.Shared(t, "traces/torch/"+tt.trace+".json.gz")
		if ops, layers := opScore(t, opFind(t, path, opConfig(t, tt.config)), want, true); ops < 1 || layers < 1 {
			t.Errorf("%s with frames and shapes: %.2f%% operators, %.2f%% layers right, want all", tt.trace, 100*ops,
				100*layers)
		}
		hidden := opHide(t, path)
		for i, c := range []string{tt.config, ""} {
			if ops, layers := opScore(t, opFind(t, hidden, opConfig(t, c)), want, true); ops < 0.99 || layers < 0.99 {
				t.Errorf("%s, frames and shapes hidden, config %q: %.2f%% operators, %.2f%% layers right, want 99%%",
					tt.trace, c, 100*ops, 100*layers)
			}
			for k, shift := range []int{0, 1, 2, 5, 9, 12, -1, -7, -12} {
				if !testdata.Long() && k%4 != 2*i {
					continue
				}
				bound := 0.99
				if shift != 0 {
					bound = 0.97
				}
				ops, layers := opScore(t, opBlind(t, hidden, opConfig(t, c), shift, nil), want, false)
				if ops < bound || layers < bound {
					t.Errorf("%s, nothing but names, config %q, labels off by %d: %.2f%% operators, %.2f%% layers right, want %.0f%%",
						tt.trace, c, shift, 100*ops, 100*layers, 100*bound)
				}
			}
		}
	}
}

// TestUnknownNames: with all names but products, attention and collectives unknown most is still right, and what is
// wrong is not reported with confidence.
func TestUnknownNames(t *testing.T) {
	want := opTruth(t, "sglang-qwen3-8b-extend-eager-mi300")
	hidden := opHide(t, testdata.Shared(t, "traces/torch/sglang-qwen3-8b-extend-eager-mi300.json.gz"))
	mask := func(name string) string {
		if strings.HasPrefix(name, "Cijk") || strings.Contains(name, "Fmha") {
			return name
		}
		return fmt.Sprintf("k%x", len(name))
	}
	answers := opBlind(t, hidden, opConfig(t, "qwen3-8b"), 0, mask)
	if ops, _ := opScore(t, answers, want, false); ops < 0.9 {
		t.Errorf("%.1f%% right with unknown names, want 90%%", 100*ops)
	}
	for i := range answers {
		a := &answers[i]
		if w, ok := want[a.index]; ok && a.Operator != opname.Other && a.Confidence > 0.9 && !a.right(w) {
			t.Fatalf("%s told as %s with confidence %.2f, it is %v", w.name, a.Operator, a.Confidence, w.ops)
		}
	}
}

// TestReplaysHaveOperators: graph replays without truth: at least 98% of the time inside layers has an operator, and
// all layers of a kind have the same ones, the first one's missing addition apart.
func TestReplaysHaveOperators(t *testing.T) {
	for _, tt := range []struct {
		trace, config string
		orders        int // how many different lists of operators the layers may have
	}{
		{"sglang-qwen3-30b-a3b-b300-TP-0-DECODE.trace", "qwen3-30b-a3b", 2},
		{"sglang-qwen3-30b-a3b-mi300-TP-0-DECODE.trace", "qwen3-30b-a3b", 2},
		{"sglang-r1-distill-llama-8b-b300-TP-0-DECODE.trace", "llama-3.1-8b", 2},
		{"sglang-qwen3-8b-decode-graph-mi300", "qwen3-8b", 2},
		{"vllm-gptoss20b-decode-fullgraph-mi300", "gpt-oss-20b", 3}, // full attention is reduced, sliding is not
		{"vllm-gptoss20b-mixed-piecewise-mi300", "gpt-oss-20b", 2},
		{"synthetic-deepseek-v4-flash-TP-0.trace", "deepseek-v4-flash", 3},
	} {
		answers := opFind(t, testdata.Shared(t, "traces/torch/"+tt.trace+".json.gz"), opConfig(t, tt.config))
		var all, have int64
		lists := map[string]string{}
		for i := range answers {
			a := &answers[i]
			if a.Layer < 0 {
				continue
			}
			all += int64(a.event.Duration())
			if a.Operator != opname.Other {
				have += int64(a.event.Duration())
			}
			lists[fmt.Sprint(a.pass, " ", a.Layer)] += fmt.Sprintf("%s/%s ", a.Operator, a.Part)
		}
		orders := map[string]int{}
		for _, l := range lists {
			orders[l]++
		}
		if share := float64(have) / float64(all); share < 0.98 || len(orders) > tt.orders {
			t.Errorf("%s: %.2f%% of the layers' time has an operator in %d different orders, want 98%% in at most %d",
				tt.trace, 100*share, len(orders), tt.orders)
			for o, n := range orders {
				t.Logf("%d × %s", n, o)
			}
		}
	}
}

// TestScrambledRecordsHaveOneOrder: in the one real replay whose names and times do not belong together every layer
// has the same operators once the order of its records is repaired. As it is the trace is degraded, and no operator
// is reported with confidence.
func TestScrambledRecordsHaveOneOrder(t *testing.T) {
	path := testdata.Shared(t, "traces/torch/sglang-r1-distill-llama-8b-mi300-TP-0-DECODE.trace.json.gz")
	for _, config := range []string{"llama-3.1-8b", ""} {
		for _, repair := range []bool{false, true} {
			tr, err := trace.Open(t.Context(), path, trace.Options{RepairOrder: repair})
			if err != nil {
				t.Fatal(err)
			}
			d := analyze(t, tr, layer.Options{Config: opConfig(t, config)})
			layers, orders := map[int]string{}, map[string]int{}
			most, all, have := float32(0), 0.0, 0.0
			for k := range d.Kernels() {
				if p := k.Place(); p.Layer >= 0 {
					op, part, conf := k.Operator()
					if all += float64(k.Event().Duration()); op != opname.Other {
						have += float64(k.Event().Duration())
					}
					layers[p.Layer] += fmt.Sprintf("%s/%s ", op, part)
					most = max(most, conf)
				}
			}
			for _, l := range layers {
				orders[l]++
			}
			if have < 0.98*all {
				t.Errorf("config %q, repaired %t: %.2f%% of the layers' time has an operator, want 98%%", config,
					repair, 100*have/all)
			}
			if tr.Health().Status != trace.HealthDegraded {
				t.Errorf("config %q, repaired %t: health %v, want degraded", config, repair, tr.Health().Status)
			}
			if (len(orders) == 1 && len(layers) == 32) != repair || (most > 0.5) != repair {
				t.Errorf("config %q, repaired %t: %d orders of operators in %d layers, told with up to %.2f; want one in 32 and "+
					"more than 0.5 only where repaired", config, repair, len(orders), len(layers), most)
			}
		}
	}
}

// TestProductsOfTheWorkTable: the operator of every product in shared/truth/work has the sizes that the table has.
func TestProductsOfTheWorkTable(t *testing.T) {
	for _, tt := range []struct{ trace, config string }{
		{"sglang-qwen3-8b-decode-graph-mi300", "qwen3-8b"},
		{"sglang-qwen3-8b-extend-eager-mi300", "qwen3-8b"},
	} {
		c := opConfig(t, tt.config)
		rows := opWorkSizes(t, tt.trace)
		checked := map[string]bool{}
		for _, a := range opFind(t, opHide(t, testdata.Shared(t, "traces/torch/"+tt.trace+".json.gz")), c) {
			want, ok := rows[a.event.Name()]
			if !ok || a.Part != "main" {
				continue
			}
			o, ok := opPlanned(c.Plan(), profile.Operator(a.Operator))
			if got := fmt.Sprintf("%d×%d", o.K, o.N); !ok || !want[got] {
				t.Errorf("%s: %.60s is read as %s (%s), the table has %v", tt.trace, a.event.Name(), a.Operator, got,
					want)
			}
			checked[a.event.Name()] = true
		}
		if len(rows) < 4 || len(checked) != len(rows) {
			t.Errorf("%s: %d of %d kernels of the table were found", tt.trace, len(checked), len(rows))
		}
	}
}

// opWorkSizes are the sizes that the table gives for the product kernels of a trace, by name.
func opWorkSizes(t *testing.T, name string) map[string]map[string]bool {
	t.Helper()
	data, err := os.ReadFile(testdata.Shared(t, "truth/work/"+name+".tsv"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]map[string]bool{}
	for _, line := range strings.Split(string(data), "\n") {
		f := strings.Split(line, "\t")
		if f[0] != "gemm" {
			continue
		}
		size := map[string]int{}
		for _, p := range strings.Fields(f[3]) {
			if k, v, ok := strings.Cut(p, "="); ok {
				size[k], _ = strconv.Atoi(v)
			}
		}
		for _, k := range strings.Split(f[7], " ; ") {
			if !strings.HasPrefix(k, "Cijk_Alik") {
				continue
			}
			if out[k] == nil {
				out[k] = map[string]bool{}
			}
			out[k][fmt.Sprintf("%d×%d", size["K"], size["N"])] = true
		}
	}
	return out
}

func opPlanned(p *profile.Plan, op profile.Operator) (profile.PlanOp, bool) {
	for i := range p.Kinds {
		if o, ok := p.Kinds[i].Find(op); ok {
			return o, true
		}
	}
	for _, o := range p.After {
		if o.Operator == op {
			return o, true
		}
	}
	return profile.PlanOp{}, false
}

// TestOutsideTheLayers: in real traces with frames what is outside the layers has the operators that its modules
// say and no others: the head and the embeddings of BERT, what CLIP reads its sentence off with, and in the layers
// T5's bias of positions.
func TestOutsideTheLayers(t *testing.T) {
	for _, tt := range []struct {
		trace string
		want  map[string]int // operators of model and layer, of main kernels
	}{
		{"hf-bert-small-eager-h100", map[string]int{"0 outside embed": 6, "0 outside final_norm": 1,
			"0 outside lm_head": 1, "0 outside other": 4, "0 layer 3 post_norm": 2, "0 layer 3 down_proj": 1}},
		{"xdit-flux1-mi300", map[string]int{"0 outside embed": 3, "0 outside final_norm": 1, "0 outside other": 3,
			"1 layer 0 attention": 3, "1 layer 0 o_proj": 1, "1 layer 0 residual_add": 2}},
	} {
		got, outside := map[string]int{}, 0
		answers := opFind(t, testdata.Shared(t, "traces/torch/"+tt.trace+".json.gz"), nil)
		for i := range answers {
			a := &answers[i]
			where := "outside"
			if a.Layer >= 0 {
				where = fmt.Sprint("layer ", a.Layer)
			}
			if a.Part != "copy" && a.Part != "quant" && a.Part != "reduce" || a.Operator == opname.Other {
				got[fmt.Sprint(a.pass, " ", where, " ", a.Operator)]++
				outside += map[bool]int{true: 1}[a.pass == 0 && a.Layer < 0]
			}
		}
		for key, n := range tt.want {
			if got[key] != n {
				t.Errorf("%s: %s %d times, want %d", tt.trace, key, got[key], n)
			}
			if strings.HasPrefix(key, "0 outside") {
				outside -= n
			}
		}
		if outside != 0 {
			t.Errorf("%s: %d kernels outside the layers with operators that are not listed: %v", tt.trace, outside, got)
		}
	}
}
