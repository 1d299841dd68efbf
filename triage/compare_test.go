package triage_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/triage"
)

// served is the input of a run of so many decode steps of some requests.
func served(t *testing.T, seed uint64, hidden, steps, requests int) triage.Input {
	t.Helper()
	passes := []gen.Pass{{Prefills: 1, Tokens: 512}}
	for range steps {
		passes = append(passes, gen.Pass{Decodes: requests, Context: 1024})
	}
	var b bytes.Buffer
	err := gen.Write(&b, gen.Config{Seed: seed, Arch: gen.Arch{Family: "Llama", Layers: gen.Uniform(4, gen.Layer{}),
		Hidden: hidden, Vocab: 32000}, Passes: passes, Dialect: gen.SGLang, OneBlock: true})
	if err != nil {
		t.Fatal(err)
	}
	tr, err := trace.Read(context.Background(), &b, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return inputOf(t, tr, "run.json")
}

func inputOf(t *testing.T, tr *trace.Trace, path string) triage.Input {
	t.Helper()
	in, err := triage.NewInput(context.Background(), []triage.Source{{Trace: tr, Path: path}}, nil, layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func comparison(t *testing.T, old, now triage.Input) *triage.Comparison {
	t.Helper()
	c, err := triage.Compare(context.Background(), old, now, 0)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A window is no better for being shorter, other sizes are not compared, and what is slower is called so.
func TestCompare(t *testing.T) {
	old := served(t, 1, 4096, 20, 16)
	for _, c := range []struct {
		name    string
		now     triage.Input
		verdict string
		decode  bool   // decode is compared
		note    string // some note holds it
	}{
		{"the same", old, "pass", true, ""},
		{"70% of the steps", served(t, 2, 4096, 14, 16), "pass", true, ""},
		{"a larger model", served(t, 2, 6144, 20, 16), "regressed", true, ""},
		{"a smaller model", served(t, 2, 3072, 20, 16), "pass", true, ""},
		{"another batch", served(t, 2, 4096, 20, 24), "pass", false, "batch 24"},
		{"nothing", inputOf(t, built.Trace(trace.NewBuilder(trace.Options{})), "empty.json"), "inconclusive", false,
			"only in the old run"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := comparison(t, old, c.now)
			if got.Verdict != c.verdict {
				t.Errorf("verdict %s, want %s", got.Verdict, c.verdict)
			}
			decode := false
			for i := range got.Stages {
				s := &got.Stages[i]
				decode = decode || s.Stage == "decode"
				var sum float64
				for _, k := range s.Kernels {
					sum += k.DeltaUS
				}
				if len(s.Kernels) == 0 || len(s.Categories) == 0 || s.Total.OldUS <= 0 {
					t.Errorf("%s: %d kernels, %d categories, %v us", s.Stage, len(s.Kernels), len(s.Categories),
						s.Total.OldUS)
				}
				if d := sum - s.Total.DeltaUS; d > 0.5 || d < -0.5 {
					t.Errorf("%s: kernels add up to %v us, the stage to %v", s.Stage, sum, s.Total.DeltaUS)
				}
			}
			if decode != c.decode {
				t.Errorf("decode is compared: %v, want %v", decode, c.decode)
			}
			if notes := strings.Join(got.Notes, " "); c.note != "" && !strings.Contains(notes, c.note) {
				t.Errorf("notes %q lack %q", notes, c.note)
			}
			var md bytes.Buffer
			if err := got.WriteMarkdown(&md); err != nil || !strings.Contains(md.String(), "Verdict: "+got.Verdict) {
				t.Errorf("Markdown (%v):\n%s", err, md.String())
			}
			if js, err := json.Marshal(got); err != nil ||
				!strings.Contains(string(js), `"verdict":"`+got.Verdict+`"`) || strings.Contains(string(js), ":null") {
				t.Errorf("JSON (%v):\n%s", err, js)
			}
		})
	}
}

// TestCompareRealPair compares two machines running the same model: the categories' totals are those of the kernel
// list, added up by hand, and it is slower one way and not the other.
func TestCompareRealPair(t *testing.T) {
	load := func(name string) triage.Input {
		tr, err := trace.Open(context.Background(), testdata.Shared(t, "traces/torch/"+name), trace.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return inputOf(t, tr, name)
	}
	slow, fast := load("sglang-qwen3-30b-a3b-mi300-TP-0-DECODE.trace.json.gz"),
		load("sglang-qwen3-30b-a3b-b300-TP-0-DECODE.trace.json.gz")
	if c := comparison(t, slow, fast); c.Verdict != "pass" || len(c.Stages) != 1 {
		t.Fatalf("verdict %s, %d stages", c.Verdict, len(c.Stages))
	}
	c := comparison(t, fast, slow)
	s := &c.Stages[0]
	if c.Verdict != "regressed" || s.Batch != 16 || !s.PerStep || s.OldSteps != 1 {
		t.Errorf("verdict %s, batch %d, %d steps", c.Verdict, s.Batch, s.OldSteps)
	}
	for _, d := range s.Categories {
		if d.Name == "attention" && (d.OldUS < 450 || d.OldUS > 457 || d.NewUS < 1063 || d.NewUS > 1074) {
			t.Errorf("attention %v → %v us, want 453.5 → 1068.5", d.OldUS, d.NewUS)
		}
	}
}
