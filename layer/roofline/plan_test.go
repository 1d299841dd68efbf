package roofline_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/layer/roofline"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/profile/hardware"
)

// llama is the shape of Llama-3.1-70B, a public fact.
const llama = `{"model_type":"llama","architectures":["LlamaForCausalLM"],"num_hidden_layers":80,"hidden_size":8192,"intermediate_size":28672,
"num_attention_heads":64,"num_key_value_heads":8,"vocab_size":128256,"torch_dtype":"bfloat16","tie_word_embeddings":false}`

func config(t testing.TB, text string) *profile.Config {
	t.Helper()
	c, err := profile.ParseConfig(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func find(t *testing.T, r *roofline.Report, operator string) roofline.Row {
	t.Helper()
	for _, row := range r.Operators {
		if row.Operator == operator {
			return row
		}
	}
	t.Fatalf("no row %s", operator)
	return roofline.Row{}
}

func ExamplePlan() {
	c, err := profile.ParseConfig(strings.NewReader(llama))
	if err != nil {
		fmt.Println(err)
		return
	}
	load := roofline.Decode(1, 1050)
	r, err := roofline.Plan(context.Background(), c, roofline.Options{Device: "H100", Load: &load, TP: 4})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Passes[0].Stage, r.Passes[0].Floor.Round(10*time.Microsecond))
	// Output: decode 10.4ms
}

// A decode of one token on four H100: the products read 34.75 GB of weights on each GPU, at 3.35 TB/s, which takes
// 10.373 ms.
func TestPlanOfADecode(t *testing.T) {
	load := roofline.Decode(1, 1050)
	r, err := roofline.Plan(context.Background(), config(t, llama),
		roofline.Options{Device: "H100", Load: &load, TP: 4})
	if err != nil {
		t.Fatal(err)
	}
	for operator, want := range map[string][3]int64{ // M, N, K on one rank
		"qkv_proj": {1, 2560, 8192}, "o_proj": {1, 8192, 2048}, "gate_up_proj": {1, 14336, 8192},
		"down_proj": {1, 8192, 7168}, "lm_head": {1, 32064, 8192},
	} {
		row := find(t, r, operator)
		if got := [3]int64{row.M, row.N, row.K}; got != want {
			t.Errorf("%s: M, N, K = %v, want %v", operator, got, want)
		}
		if row.Bound != roofline.BoundMemory {
			t.Errorf("%s: bound by %q, want memory", operator, row.Bound)
		}
	}
	weights := 2.0 * (80*(2560*8192+8192*2048+14336*8192+8192*7168) + 32064*8192)
	want := weights / 3.35e12 * 1e3
	if got := r.Passes[0].Waterfall[0].Time.Seconds() * 1e3; math.Abs(got-want) > 0.001 ||
		math.Abs(want-10.373) > 0.001 {
		t.Errorf("products: %.3f ms, want %.3f (10.373)", got, want)
	}
	cache := 80 * 2.0 * 2 * 128 * 2 * 1050 / 3.35e12 * 1e3
	if got := r.Passes[0].Waterfall[2].Time.Seconds() * 1e3; math.Abs(got-cache) > 0.001 {
		t.Errorf("attention: %.3f ms, want %.3f", got, cache)
	}
}

// Prefill is bound by arithmetic; causal attention computes half of the square.
func TestPlanOfAPrefill(t *testing.T) {
	load := roofline.Prefill(4, 2048, 0)
	r, err := roofline.Plan(context.Background(), config(t, llama),
		roofline.Options{Device: "H100", Load: &load, TP: 4})
	if err != nil {
		t.Fatal(err)
	}
	row := find(t, r, "gate_up_proj")
	if want := 80 * 2.0 * 8192 * 14336 * 8192 / 1e9; row.Bound != roofline.BoundCompute ||
		math.Abs(row.GFLOP/want-1) > 1e-9 {
		t.Errorf("gate_up_proj: %v GFLOP bound by %q, want %v by compute", row.GFLOP, row.Bound, want)
	}
	att := find(t, r, "attention")
	if want := 80 * 4.0 * 16 * 128 * (4 * 2048 * 2048 / 2) / 1e9; math.Abs(att.GFLOP/want-1) > 1e-9 {
		t.Errorf("attention: %v GFLOP, want %v", att.GFLOP, want)
	}
	if find(t, r, "lm_head").M != 4 {
		t.Errorf("lm_head for %d tokens, want one a request", find(t, r, "lm_head").M)
	}
}

// Grouped key and value heads are divided down to one, and no further.
func TestKeyValueHeadsAreNotSplitBelowOne(t *testing.T) {
	load := roofline.Decode(1, 1000)
	for tp, want := range map[int]int64{1: 10240, 8: 8*128 + 2*128, 16: 4*128 + 2*128} {
		r, err := roofline.Plan(context.Background(), config(t, llama),
			roofline.Options{Device: "H100", Load: &load, TP: tp})
		if err != nil {
			t.Fatal(err)
		}
		if got := find(t, r, "qkv_proj").N; got != want {
			t.Errorf("TP %d: qkv_proj gives %d, want %d", tp, got, want)
		}
	}
}

// Sixteen tokens that choose 8 of 128 experts are expected to choose 82 of them, if they choose evenly.
func TestExpertsAreAnExpectation(t *testing.T) {
	c := config(t, `{"model_type":"qwen3_moe","num_hidden_layers":48,"hidden_size":2048,"num_attention_heads":32,"num_key_value_heads":4,"head_dim":128,
"vocab_size":151936,"num_experts":128,"num_experts_per_tok":8,"moe_intermediate_size":768,"intermediate_size":6144,"torch_dtype":"bfloat16","decoder_sparse_step":1}`)
	load := roofline.Decode(16, 1000)
	r, err := roofline.Plan(context.Background(), c, roofline.Options{Device: "B300", Load: &load})
	if err != nil {
		t.Fatal(err)
	}
	row := find(t, r, "experts_gate_up")
	active := 128 * (1 - math.Pow(1-8.0/128, 16))
	want := 48 * active * 1536 * 2048 * 2 / 8e12 * 1e9
	if math.Abs(float64(row.Floor)-want) > 2 || !strings.Contains(row.Note, "82.4 experts active") {
		t.Errorf("floor %v, note %q; want %.0f ns and 82.4 experts", row.Floor, row.Note, want)
	}
}

func TestPlanSaysWhatIsMissing(t *testing.T) {
	load := roofline.Decode(1, 10)
	for want, f := range map[error]func() error{
		roofline.ErrNoConfig: func() error {
			_, err := roofline.Plan(context.Background(), nil, roofline.Options{Device: "H100", Load: &load})
			return err
		},
		roofline.ErrNoLoad: func() error {
			_, err := roofline.Plan(context.Background(), config(t, llama), roofline.Options{Device: "H100"})
			return err
		},
		roofline.ErrNoGPU: func() error {
			_, err := roofline.Plan(context.Background(), config(t, llama),
				roofline.Options{Device: "H900", Load: &load})
			return err
		},
	} {
		if err := f(); !errors.Is(err, want) {
			t.Errorf("%v, want %v", err, want)
		}
	}
}

// TestCacheTypes: names of servers and PyTorch count as the type that they mean, and an unknown one is no default.
func TestCacheTypes(t *testing.T) {
	load := roofline.Decode(16, 4096)
	floor := func(dtype string) (time.Duration, error) {
		r, err := roofline.Plan(t.Context(), config(t, llama), roofline.Options{Device: "H100", Load: &load,
			CacheDType: dtype})
		if err != nil {
			return 0, err
		}
		return r.Passes[0].Floor, nil
	}
	want, err := floor("fp8")
	if err != nil {
		t.Fatal(err)
	}
	for _, same := range []string{"FP8", "fp8_e4m3", "float8_e5m2"} {
		if got, err := floor(same); err != nil || got != want {
			t.Errorf("%s: %v, %v; want %v", same, got, err, want)
		}
	}
	if wide, err := floor("bfloat16"); err != nil || wide <= want {
		t.Errorf("bfloat16: %v, %v; want more than %v", wide, err, want)
	}
	if _, err := floor("fp80"); err == nil || !strings.Contains(err.Error(), "known are bf16") {
		t.Errorf("fp80: %v", err)
	}
}

// Every config that is at hand can be planned, on every GPU of the table, at every parallel size, and no floor is
// negative or endless.
func TestPlanOfEveryConfig(t *testing.T) {
	paths, err := filepath.Glob("../../../shared/configs/*.json")
	if err != nil || len(paths) == 0 {
		t.Skip("no configs in ../../../shared/configs")
	}
	gpus := hardware.Table()
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		c, err := profile.ParseConfig(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		for i := range gpus {
			load := roofline.Decode(32, 4096)
			r, err := roofline.Plan(context.Background(), c,
				roofline.Options{Device: gpus[i].ID, Load: &load, TP: 1 << (i % 4), EP: 1 << (i % 3)})
			if err != nil {
				t.Fatalf("%s on %s: %v", path, gpus[i].ID, err)
			}
			p := r.Passes[0]
			if p.Floor < 0 || p.Overlapped > p.Floor+1 || gpus[i].Bandwidth.Known() &&
				(p.Floor == 0 || p.Floor > 10*time.Second) {
				t.Errorf("%s on %s: floor %v, overlapped %v", filepath.Base(path), gpus[i].ID, p.Floor, p.Overlapped)
			}
		}
	}
}

// An all-reduce of four ranks moves the hidden state once: over all links of a GPU at a switch, over three of seven
// in a mesh. Beside that it takes what the fastest published one does: 2.3 µs on Hopper, 5 µs on an MI300X.
func TestPlanOfAnAllReduce(t *testing.T) {
	load := roofline.Decode(64, 1000)
	for gpu, c := range map[string]struct{ link, latency float64 }{"H100": {450e9, 2300}, "MI300X": {192e9, 5000},
		"A100": {300e9, 0}} {
		r, err := roofline.Plan(context.Background(), config(t, llama),
			roofline.Options{Device: gpu, Load: &load, TP: 4})
		if err != nil {
			t.Fatal(err)
		}
		row := find(t, r, "attn_all_reduce")
		bound := roofline.BoundLink
		if moved := 64 * 8192 * 2 / c.link * 1e9; c.latency > moved {
			bound = roofline.BoundLatency
		}
		if want := 80 * (64*8192*2/c.link*1e9 + c.latency); row.Bound != bound || math.Abs(float64(row.Floor)-want) > 2 {
			t.Errorf("%s: floor %v bound by %q, want %.0f ns by %s", gpu, row.Floor, row.Bound, want, bound)
		}
		if said := strings.Contains(strings.Join(r.Notes, " "), "fastest that was published"); said != (c.latency > 0) {
			t.Errorf("%s: notes %q", gpu, r.Notes)
		}
	}
}
