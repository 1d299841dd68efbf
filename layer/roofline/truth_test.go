package roofline_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/roofline"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
)

// qwen15 is the shape of Qwen1.5-0.5B, a public fact.
const qwen15 = `{"model_type":"qwen2","architectures":["Qwen2ForCausalLM"],"num_hidden_layers":24,"hidden_size":1024,"intermediate_size":2816,
"num_attention_heads":16,"num_key_value_heads":16,"vocab_size":151936,"torch_dtype":"bfloat16","tie_word_embeddings":true}`

// shapes are what a recording says about the sizes of operands.
var shapes = regexp.MustCompile(`"(Input Dims|Input Strides|Concrete Inputs)":\s*\[(?:"(?:[^"\\]|\\.)*"|[^\[\]"]|\[(?:[^\[\]]|\[[^\[\]]*\])*\])*\]`)

// hidden analyses a real trace after all shapes were taken out of it.
func hidden(t *testing.T, file string, c *profile.Config) *layer.Analysis {
	t.Helper()
	return edited(t, file, c, func(text []byte) []byte {
		text = shapes.ReplaceAll(text, []byte(`"hidden": 0`))
		if bytes.Contains(text, []byte(`"Input Dims"`)) {
			t.Fatal("the trace still holds shapes")
		}
		return text
	})
}

// edited analyses a real trace whose text was changed.
func edited(t *testing.T, file string, c *profile.Config, edit func([]byte) []byte) *layer.Analysis {
	t.Helper()
	f, err := os.Open(shared + "traces/torch/" + file)
	if err != nil {
		t.Skipf("NOT TESTED: %v", err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	tr, err := trace.Read(context.Background(), bytes.NewReader(edit(text)), trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	a, err := layer.Analyze(context.Background(), tr, layer.Options{Config: c})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// work is one row of a table of work that was counted from recorded shapes.
type work struct {
	kind, op    string
	m, n, k     int64
	flop, bytes float64 // GFLOP, MiB
}

var gemm = regexp.MustCompile(`M=(\d+) N=(\d+) K=(\d+)`)

// truth reads a table of work.
func truth(t *testing.T, file string) []work {
	t.Helper()
	text, err := os.ReadFile(shared + "truth/work/" + strings.TrimSuffix(file, ".json.gz") + ".tsv")
	if err != nil {
		t.Skipf("NOT TESTED: %v", err)
	}
	var out []work
	for _, line := range strings.Split(string(text), "\n") {
		f := strings.Split(line, "\t")
		// listed a second time as aten::mm
		if len(f) < 6 || strings.HasPrefix(f[0], "#") || strings.HasPrefix(f[1], "aiter::gemm") {
			continue
		}
		w := work{kind: f[0], op: f[1]}
		for i, to := range []*float64{&w.flop, &w.bytes} {
			if *to, err = strconv.ParseFloat(f[4+i], 64); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
		}
		if m := gemm.FindStringSubmatch(f[3]); m != nil {
			for i, to := range []*int64{&w.m, &w.n, &w.k} {
				if *to, err = strconv.ParseInt(m[i+1], 10, 64); err != nil {
					t.Fatal(err)
				}
			}
		}
		out = append(out, w)
	}
	return out
}

// matches says that a row of the report is the one that a row of the table means.
func (w *work) matches(row *roofline.Row) bool {
	switch {
	case w.kind == "gemm":
		return row.M == w.m && row.N == w.n && row.K == w.k
	case strings.Contains(w.op, "store_cache"):
		return row.Operator == "kv_write"
	}
	return row.Operator == "attention"
}

// M, N, K of every product are exact, operations and bytes of products, attention and cache writes within 1% of what
// recorded shapes give: from trace and config alone, with all shapes taken out of the trace. If the trace lacks the
// tokens, they are given; where shapes are there, they show them.
func TestWorkAgainstRecordedShapes(t *testing.T) {
	for _, c := range []struct {
		file, config string
		hide         bool
		load         *roofline.Load
		from         string
		gemms, other int
	}{
		{known[0].file, "qwen3-8b", true, nil, "annotation", 5, 2},
		{known[1].file, "qwen3-8b", true, nil, "annotation", 5, 2},
		{"hf-qwen1.5-0.5b-eager-h100.json.gz", "", true, load(roofline.Prefill(16, 559, 0)), "option", 4, 1},
		{"hf-qwen1.5-0.5b-eager-h100.json.gz", "", false, nil, "shapes", 4, 1},
	} {
		t.Run(fmt.Sprintf("%s/hide=%t", c.file, c.hide), func(t *testing.T) {
			cfg := config(t, qwen15)
			if c.config != "" {
				var err error
				if cfg, err = profile.LoadConfig(shared + "configs/" + c.config + ".json"); err != nil {
					t.Skipf("NOT TESTED: %v", err)
				}
			}
			var r *roofline.Report
			if c.hide {
				var err error
				if r, err = roofline.Analyze(context.Background(), hidden(t, c.file, cfg),
					roofline.Options{Load: c.load}); err != nil {
					t.Fatal(err)
				}
			} else {
				r = analyseWith(t, c.file, cfg, roofline.Options{})
			}
			if p := r.Passes[r.Steady]; p.TokensFrom != c.from {
				t.Errorf("tokens from %q, want %q", p.TokensFrom, c.from)
			}
			gemms, other := 0, 0
			for _, w := range truth(t, c.file) {
				if w.k == 1 { // rotary frequencies: no product of the model
					continue
				}
				row := rowOf(r, &w)
				if row == nil {
					t.Errorf("no row for %+v", w)
					continue
				}
				if got := row.GFLOP / float64(row.Count); math.Abs(got-w.flop) > 0.01*w.flop {
					t.Errorf("%s: %v GFLOP, want %v", row.Operator, got, w.flop)
				}
				if got := float64(row.Bytes) / float64(row.Count) / (1 << 20); math.Abs(got-w.bytes) > 0.01*w.bytes {
					t.Errorf("%s: %v MiB, want %v", row.Operator, got, w.bytes)
				}
				if w.kind == "gemm" {
					gemms++
				} else {
					other++
				}
			}
			if gemms != c.gemms || other != c.other {
				t.Errorf("%d products and %d others were checked, want %d and %d", gemms, other, c.gemms, c.other)
			}
		})
	}
}

func load(l roofline.Load) *roofline.Load { return &l }

func rowOf(r *roofline.Report, w *work) *roofline.Row {
	for i := range r.Operators {
		if w.matches(&r.Operators[i]) {
			return &r.Operators[i]
		}
	}
	return nil
}
