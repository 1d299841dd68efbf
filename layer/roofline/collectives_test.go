package roofline_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/fleet"
	"github.com/llmstrata/strata/layer/roofline"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
)

// generated analyses a trace that is written as it is needed.
func generated(t testing.TB, config string, write func(w *bytes.Buffer) error) *layer.Analysis {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	tr, err := trace.Read(context.Background(), &b, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	o := layer.Options{}
	if config != "" {
		o.Config = parse(t, config)
	}
	a, err := layer.Analyze(context.Background(), tr, o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func parse(t testing.TB, text string) *profile.Config { return config(t, text) }

func llama70B(t testing.TB, rank int) *layer.Analysis {
	return generated(t, llama, func(w *bytes.Buffer) error { _, err := gen.Llama70B(rank).Write(w); return err })
}

func share(t *testing.T, p *roofline.Pass, name string) time.Duration {
	t.Helper()
	for _, s := range p.Waterfall {
		if s.Name == name {
			return s.Time
		}
	}
	return 0
}

// Four ranks that reach their collectives at different times and leave them together: the shortest of each is the
// transfer, 3.20 µs, the rest waiting, different for each rank. Their clocks have nothing in common.
func TestRanksTellTransferFromWaiting(t *testing.T) {
	ranks := make([]*layer.Analysis, 4)
	for i := range ranks {
		ranks[i] = llama70B(t, i)
	}
	for me := range ranks {
		t.Run(fmt.Sprint("rank ", me), func(t *testing.T) {
			var others []fleet.Rank
			for i := range ranks {
				if i != me {
					others = append(others, fleet.Recorded(ranks[i])...)
				}
			}
			r, err := roofline.Analyze(context.Background(), ranks[me], roofline.Options{Waits: fleet.Waits(ranks[me:me+1], others)[0], TP: 4})
			if err != nil {
				t.Fatal(err)
			}
			first := 25 * time.Microsecond * time.Duration(3-me) / 3
			for i := range r.Passes {
				p := &r.Passes[i]
				if got, want := share(t, p, "communication: transfer"), 161*3200*time.Nanosecond+15_880; got != want {
					t.Errorf("pass %d: transfer %v, want %v", i, got, want)
				}
				want := first
				for n := range 160 {
					want += 608 * time.Duration((n+me)%4)
				}
				if got := share(t, p, "communication: waiting for other ranks"); got != want {
					t.Errorf("pass %d: waiting %v, want %v", i, got, want)
				}
				if got := share(t, p, "communication: transfer and waiting not separated"); got != 0 {
					t.Errorf("pass %d: %v not kept apart", i, got)
				}
				var sum time.Duration
				for _, s := range p.Waterfall {
					sum += s.Time
				}
				if sum != p.Wall {
					t.Errorf("pass %d: the waterfall adds up to %v of %v", i, sum, p.Wall)
				}
			}
			if len(r.Ranks) != 4 || r.Ranks[1].Passes != 5 {
				t.Errorf("ranks: %+v", r.Ranks)
			}
		})
	}
}

// One rank alone estimates by its fastest collectives: the transfer within 15 %, and no more waiting than there is.
// The all-gather after the layers, which is alone, is not divided.
func TestOneRankEstimatesWaiting(t *testing.T) {
	r, err := roofline.Analyze(context.Background(), llama70B(t, 0), roofline.Options{TP: 4})
	if err != nil {
		t.Fatal(err)
	}
	var count int
	var took time.Duration
	for _, c := range r.Collectives {
		count, took = count+c.Count, took+c.Time
		if c.Time != c.Transfer+c.Waiting+(c.Time-c.Divided) || c.Divided > c.Time {
			t.Errorf("%+v does not add up", c)
		}
	}
	if len(r.Collectives) != 4 || count != 5*162 {
		t.Errorf("%d collectives of %d operators, want 162 in each of five passes: %+v", count, len(r.Collectives),
			r.Collectives)
	}
	const transfer, waiting = 161 * 3200 * time.Nanosecond, 25_000 + 160*912*time.Nanosecond
	p := &r.Passes[0]
	got, waited := share(t, p, "communication: transfer"), share(t, p, "communication: waiting for other ranks")
	if got < transfer || got > transfer*115/100 || waited > waiting || got+waited != transfer+waiting {
		t.Errorf("transfer %v and waiting %v, want %v and %v", got, waited, transfer, waiting)
	}
	if left := share(t, p, "communication: transfer and waiting not separated"); left != 15_880 {
		t.Errorf("%v is not divided", left)
	}
	if r.WaitingBy != layer.WaitingByFastest || len(r.Ranks) != 0 {
		t.Errorf("by %q, ranks %v", r.WaitingBy, r.Ranks)
	}
}

// Eight of the same in the layers of a pass estimate waiting, fewer do not: two all-reduces in each of four layers.
func TestFewCollectivesEstimateNothing(t *testing.T) {
	for layers, want := range map[int]layer.WaitingBy{3: "", 4: layer.WaitingByFastest} {
		a := generated(t, "", func(w *bytes.Buffer) error {
			return gen.Write(w, gen.Config{Seed: 1, Arch: gen.Arch{Layers: gen.Uniform(layers, gen.Layer{})}, TP: 2,
				Dialect: gen.VLLM,
				Passes:  []gen.Pass{{Decodes: 4, Context: 100}, {Decodes: 4, Context: 100}}})
		})
		c := config(t, strings.Replace(llama, `"num_hidden_layers":80`, fmt.Sprintf(`"num_hidden_layers":%d`, layers), 1))
		r, err := roofline.Analyze(context.Background(), a, roofline.Options{Config: c})
		if err != nil {
			t.Fatal(err)
		}
		if r.WaitingBy != want || len(r.Collectives) == 0 {
			t.Errorf("%d layers: by %q, want %q; %+v", layers, r.WaitingBy, want, r.Collectives)
		}
	}
}

// Ranks that only look alike are no group: the same model and as many collectives, but each runs by itself.
func TestStrangersTellNothing(t *testing.T) {
	alone := func(seed uint64, tp int) *layer.Analysis {
		return generated(t, "", func(w *bytes.Buffer) error {
			return gen.Write(w, gen.Config{Seed: seed, Arch: gen.Arch{Layers: gen.Uniform(8, gen.Layer{})}, TP: tp,
				Rank: int(seed) - 1, Dialect: gen.VLLM,
				Passes: []gen.Pass{{Decodes: 4, Context: 100, Mode: gen.FullGraph},
					{Decodes: 4, Context: 100, Mode: gen.FullGraph}}})
		})
	}
	c := config(t, strings.Replace(llama, `"num_hidden_layers":80`, `"num_hidden_layers":8`, 1))
	besides := func(tp int) (*roofline.Report, error) {
		a := alone(1, tp)
		return roofline.Analyze(context.Background(), a, roofline.Options{Config: c,
			Waits: fleet.Waits([]*layer.Analysis{a}, fleet.Recorded(alone(2, tp)))[0]})
	}
	r, err := besides(2)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Ranks) != 0 || r.WaitingBy != layer.WaitingByFastest ||
		share(t, &r.Passes[0], "communication: transfer") == 0 {
		t.Errorf("ranks %+v, waterfall %+v", r.Ranks, r.Passes[0].Waterfall)
	}
	if notes := strings.Join(r.Notes, "\n"); !strings.Contains(notes,
		"waiting is not measured on 1 other GPU") {
		t.Errorf("notes:\n%s", notes)
	}
	if r, err = besides(1); err != nil {
		t.Fatal(err)
	}
	if notes := strings.Join(r.Notes, "\n"); strings.Contains(notes, "collective") {
		t.Errorf("a GPU without collectives: notes:\n%s", notes)
	}
}

// The GPUs of one file are ranks, too.
func TestGPUsOfOneFileTellWaiting(t *testing.T) {
	type document struct {
		Properties any              `json:"deviceProperties"`
		Events     []map[string]any `json:"traceEvents"`
	}
	var both document
	for rank := range 2 {
		var b bytes.Buffer
		if _, err := gen.Llama70B(rank).Write(&b); err != nil {
			t.Fatal(err)
		}
		var one document
		if err := json.Unmarshal(b.Bytes(), &one); err != nil {
			t.Fatal(err)
		}
		for _, e := range one.Events {
			if args, ok := e["args"].(map[string]any); ok && args["correlation"] != nil {
				args["correlation"] = args["correlation"].(float64) + float64(rank<<24)
			}
		}
		both.Properties = one.Properties
		both.Events = append(both.Events, one.Events...)
	}
	text, err := json.Marshal(both)
	if err != nil {
		t.Fatal(err)
	}
	a := generated(t, llama, func(w *bytes.Buffer) error { _, err := w.Write(text); return err })
	if len(a.Devices) != 2 {
		t.Fatalf("%d GPUs, want 2", len(a.Devices))
	}
	r, err := roofline.Analyze(context.Background(), a,
		roofline.Options{TP: 2, Waits: fleet.Waits([]*layer.Analysis{a}, nil)[0]})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Ranks) != 2 || r.Ranks[1].Passes != 5 ||
		share(t, &r.Passes[0], "communication: waiting for other ranks") == 0 {
		t.Errorf("ranks %+v, waterfall %+v", r.Ranks, r.Passes[0].Waterfall)
	}
}
