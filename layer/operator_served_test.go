package layer_test

import (
	"fmt"
	"sort"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/gen/families"
	"github.com/llmstrata/strata/internal/opname"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/internal/operator"
	"github.com/llmstrata/strata/profile"
)

// TestServedModels: models with latent attention and shared experts, state spaces and linear attention, as servers
// run them: with and without their config, launched one by one and as replays of graphs, on two vendors. Half of the
// pairs run always, all with -battery.
func TestServedModels(t *testing.T) {
	for _, amd := range []bool{false, true} {
		for i, s := range families.AllServed(amd) {
			c, err := profile.ParseConfig(strings.NewReader(s.Config))
			if err != nil {
				t.Fatalf("%s: %v", s.Name, err)
			}
			f := families.Family{Name: s.Name, Prefill: s.Prefill, Decode: s.Decode}
			for name, acts := range map[string][]act{"eager": actsOf(f, true, false),
				"graph": replayed(actsOf(f, false, false))} {
				if !*wholeBattery && amd != (name == "graph") {
					continue
				}
				for k, c := range []*profile.Config{c, nil} {
					if !testdata.Long() && (i%2 != k || amd != (i%4 < 2)) {
						continue
					}
					share, sure, bad := servedShare(t, s, acts, c)
					t.Logf("%s, %s, config %v: %.2f%%, products beside experts told surely %.0f%%", s.Name, name,
						c != nil, 100*share, 100*sure)
					// NaN: no experts
					if unclear := c == nil && s.Unclear; unclear && sure > 0 || !unclear && sure < 1 {
						t.Errorf("%s, %s, config %v: %.0f%% of the products beside experts told with more than 0.6, want all: %v", s.Name,
							name, c != nil, 100*sure, !unclear)
					}
					if share < 1-1e-9 {
						t.Errorf("%s, %s, config %v: %.2f%% of the layers' time right, want all\n%s", s.Name, name,
							c != nil, 100*share, bad)
					}
				}
			}
		}
	}
}

// servedShare is the share of the layers' time with the right operator, the share of routers and products of shared
// experts that are reported with more than the weak confidence, and what is wrong, most first.
func servedShare(t *testing.T, s families.Served, acts []act, c *profile.Config) (float64, float64, string) {
	t.Helper()
	analysis, err := layer.Analyze(t.Context(), traceOf(acts),
		layer.Options{Config: c, NumLayers: len(s.Decode.Layers)})
	if err != nil {
		t.Fatalf("%s: %v", s.Name, err)
	}
	byStart := map[int64]layer.Kernel{}
	for k := range analysis.Devices[0].Kernels() {
		byStart[int64(k.Event().Start())] = k
	}
	var all, good int64
	var products, sure int
	wrong := map[string]int64{}
	at := map[[2]int]int{}
	for _, x := range acts {
		if x.layer < 0 {
			continue
		}
		ops := s.DecodeOps
		if x.pass == 0 && !x.graph {
			ops = s.PrefillOps
		}
		n := at[[2]int{x.pass, x.layer}]
		at[[2]int{x.pass, x.layer}]++
		want := ops[x.layer][n]
		all += x.dur
		k, ok := byStart[x.start-acts[0].start+firstStart(analysis)]
		if !ok {
			t.Fatalf("%s: no kernel at %d", s.Name, x.start)
		}
		op, part, confidence := k.Operator()
		if part == layer.PartMain && (op == opname.Router || op == opname.SharedGateUp || op == opname.SharedDown) {
			products++
			if confidence > operator.Defaults().ByWeak {
				sure++
			}
		}
		a := opAnswer{Operator: string(op), Part: part.String()}
		// without a config labels are the segmentation's
		if a.right(opTruthRow{ops: strings.Split(want, "|")}) && (c == nil || k.Place().Layer == x.layer) {
			good += x.dur
		} else {
			wrong[fmt.Sprintf("%s: got %s (%s, layer off by %d); %.60s", want, op, part, k.Place().Layer-x.layer,
				x.name)] += x.dur
		}
	}
	var lines []string
	for k, v := range wrong {
		lines = append(lines, fmt.Sprintf("%6.2f%% %s", 100*float64(v)/float64(all), k))
	}
	sort.Sort(sort.Reverse(sort.StringSlice(lines)))
	return float64(good) / float64(all), float64(sure) / float64(products),
		strings.Join(lines[:min(len(lines), 10)], "\n")
}

// firstStart is when the first activity of a trace starts.
func firstStart(a *layer.Analysis) int64 {
	first := int64(1 << 62)
	for k := range a.Devices[0].Kernels() {
		first = min(first, int64(k.Event().Start()))
	}
	return first
}
