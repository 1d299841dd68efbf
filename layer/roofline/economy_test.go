package roofline_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/roofline"
)

// small is a model of eight layers.
const small = `{"model_type":"llama","architectures":["LlamaForCausalLM"],"num_hidden_layers":8,"hidden_size":2048,"intermediate_size":8192,
"num_attention_heads":16,"num_key_value_heads":8,"vocab_size":32000,"torch_dtype":"bfloat16"}`

// Passes are added up by stage and number of requests; a graph of 128 rows for 117 requests pads 11 of them; a mixed
// step costs decoding requests what it takes longer than a decode step of as many.
func TestEconomyOfPaddedGraphs(t *testing.T) {
	a := generated(t, small, func(w *bytes.Buffer) error { _, err := gen.Padded().Write(w); return err })
	r, err := roofline.Analyze(context.Background(), a, roofline.Options{})
	if err != nil {
		t.Fatal(err)
	}
	type row struct {
		stage                  layer.Stage
		from, to               int64
		passes                 int
		tokens, requests, rows int64
		taxed                  int
	}
	var got []row
	for _, b := range r.Economy {
		got = append(got, row{b.Stage, b.From, b.To, b.Passes, b.Tokens, b.Requests, b.Rows, b.Taxed})
	}
	want := []row{
		{layer.StageMixed, 65, 128, 2, 512 + 2048 + 2*116, 2 * 117, 512 + 2048 + 2*116, 2},
		{layer.StageDecode, 3, 4, 2, 6, 6, 8, 0},
		{layer.StageDecode, 65, 128, 5, 4*117 + 100, 4*117 + 100, 5 * 128, 0},
	}
	if len(got) != len(want) {
		t.Fatalf("%+v, want %+v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%+v, want %+v", got[i], want[i])
		}
	}
	var wall, alone time.Duration
	for i := range r.Passes {
		p := &r.Passes[i]
		switch {
		case p.Stage == layer.StageMixed:
			wall += p.Wall
		case p.Stage == layer.StageDecode && p.Batch == 117 && p.Wall > alone && i < len(r.Passes)-1:
			alone = p.Wall
		}
		if p.Tokens == 117 && p.Rows != 128 {
			t.Errorf("pass %d: %d rows for 117 tokens, want 128", i, p.Rows)
		}
		if p.PerToken != p.Wall/time.Duration(p.Tokens) || p.PerRequest != p.Wall/time.Duration(p.Batch) {
			t.Errorf("pass %d: %v a token, %v a request of %v", i, p.PerToken, p.PerRequest, p.Wall)
		}
	}
	mixed := r.Economy[0]
	if d := mixed.Tax - (wall - 2*alone); d.Abs() > time.Microsecond || mixed.Tax <= 0 {
		t.Errorf("prefill tax %v, want %v", mixed.Tax, wall-2*alone)
	}
	if b := r.Economy[2]; b.PerToken != b.Wall/time.Duration(b.Tokens) {
		t.Errorf("%v a token, want %v by %d", b.PerToken, b.Wall, b.Tokens)
	}
	var text bytes.Buffer
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"65–128", "11.2%", "Prefill tax", "Padding: kernels ran "} { // (640 − 568) / 640
		if !strings.Contains(text.String(), want) {
			t.Errorf("the text lacks %q:\n%s", want, text.String())
		}
	}
}

// A mixed step without decode steps to compare with has no tax, and is not guessed at.
func TestNoTaxWithoutDecodes(t *testing.T) {
	c := gen.Padded()
	c.Passes = []gen.Pass{c.Passes[0], c.Passes[4], c.Passes[6]} // three decode, 117 are mixed
	a := generated(t, small, func(w *bytes.Buffer) error { _, err := c.Write(w); return err })
	r, err := roofline.Analyze(context.Background(), a, roofline.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if b := r.Economy[0]; b.Stage != layer.StageMixed || b.Passes != 2 || b.Taxed != 0 || b.Tax != 0 {
		t.Errorf("%+v, want two mixed passes without a tax", b)
	}
}

// What attention sees is taken from the user where annotations only count tokens, and not where they say more.
func TestSeenTokensOfTheUser(t *testing.T) {
	read := func(d gen.Dialect) *layer.Analysis {
		return generated(t, small, func(w *bytes.Buffer) error {
			return gen.Write(w, gen.Config{Seed: 1, Arch: gen.Arch{Layers: gen.Uniform(8, gen.Layer{})}, Dialect: d,
				Passes: []gen.Pass{{Decodes: 4, Context: 100}, {Decodes: 4, Context: 100}}})
		})
	}
	attention := func(a *layer.Analysis, o roofline.Options) float64 {
		r, err := roofline.Analyze(context.Background(), a, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range r.Operators {
			if row.Operator == "attention" {
				return row.GFLOP / float64(row.Count)
			}
		}
		return 0
	}
	counted, told := read(gen.SGLang), read(gen.VLLM)
	const decode = 4.0 * 16 * 128 * 4 * 1000 / 1e9 // 4 · heads · width · requests · seen
	if got := attention(counted, roofline.Options{Seen: 1000}); got != decode {
		t.Errorf("attention that sees 1000 tokens: %v GFLOP, want %v", got, decode)
	}
	if got := attention(counted, roofline.Options{}); got != 0 {
		t.Errorf("attention that sees an unknown number: %v GFLOP, want none", got)
	}
	if got := attention(told, roofline.Options{Seen: 1000}); got != decode/10 {
		t.Errorf("attention of an annotated pass: %v GFLOP, want %v", got, decode/10)
	}
}
