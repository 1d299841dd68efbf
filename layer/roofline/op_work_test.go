package roofline_test

import (
	"compress/gzip"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/layer/roofline"
)

// input is one input of an op in a test: its type, its sizes, its strides.
type input struct {
	kind    string
	dims    []int64
	strides []int64
	value   string
}

func bf16(dims ...int64) input { return input{kind: "c10::BFloat16", dims: dims} }
func fp32(dims ...int64) input { return input{kind: "float", dims: dims} }
func i64(dims ...int64) input  { return input{kind: "long int", dims: dims} }
func is(value string) input    { return input{kind: "Scalar", value: value} }

var none = input{}

func inputsOf(all ...input) *roofline.Inputs {
	in := &roofline.Inputs{}
	for _, x := range all {
		in.Dims, in.Strides = append(in.Dims, x.dims), append(in.Strides, x.strides)
		in.Types, in.Values = append(in.Types, x.kind), append(in.Values, x.value)
	}
	return in
}

// opCases are ops with their work: each figure is worked by hand in its comment.
var opCases = []struct {
	op          string
	in          *roofline.Inputs
	flop, bytes float64
	most        float64 // bytes; 0: no interval
}{
	// 2·8944·2816·1024; (8944·1024 + 1024·2816 + 8944·2816)·2 B
	{"aten::mm", inputsOf(bf16(8944, 1024), bf16(1024, 2816)), 51_581_550_592, 74_457_088, 0},
	// 2·8944·1024²; (1024 + 8944·1024 + 1024² + 8944·1024)·2 B
	{"aten::addmm", inputsOf(bf16(1024), bf16(8944, 1024), bf16(1024, 1024)), 18_756_927_488, 38_733_824, 0},
	// 2·64·512·64·512; 64·(512·512 + 512·64 + 512·64)·2 B
	{"aten::bmm", inputsOf(bf16(64, 512, 512), bf16(64, 512, 64)), 2_147_483_648, 41_943_040, 0},
	// the keys of one head are expanded over 8: read once. 2·8·16·16·4; (8·16·4 + 4·16 + 8·16·16)·2 B
	{"aten::bmm", inputsOf(bf16(8, 16, 4), input{kind: "c10::BFloat16", dims: []int64{8, 4, 16},
		strides: []int64{0, 16, 1}}), 16_384, 5_248, 0},
	// beta 0: the first input is not read. 2·2·3·5·7; 2·(3·7 + 7·5 + 3·5)·4 B
	{"aten::baddbmm", inputsOf(fp32(2, 3, 5), fp32(2, 3, 7), fp32(2, 7, 5), is("0"), is("1")), 420, 568, 0},
	// 2·6·5·4; (6·4 + 5·4 + 6·5 + 5)·4 B
	{"aten::linear", inputsOf(fp32(2, 3, 4), fp32(5, 4), fp32(5)), 240, 316, 0},
	// batch 2 × 3 broadcast: 2·6·4·6·5; (2·4·5 + 3·5·6 + 6·4·6)·4 B
	{"aten::matmul", inputsOf(fp32(2, 1, 4, 5), fp32(3, 5, 6)), 1440, 1096, 0},
	// 2·16·32·64; 16·64 + 64·32 B, result of 2 B, two scales of 4 B
	{"aten::_scaled_mm", inputsOf(input{kind: "c10::Float8_e4m3fn", dims: []int64{16, 64}},
		input{kind: "c10::Float8_e4m3fn", dims: []int64{64, 32}}, fp32(1), fp32(1), none, none, is("15"),
		is("False")), 65_536, 1024 + 2048 + 1024 + 8, 0},
	// FP4, two values a byte: 2·32·128·256; (32 + 128)·256·(½ + 1/32) + 32·128·2 B
	{"aiter::gemm_a4w4", inputsOf(input{kind: "unsigned char", dims: []int64{32, 128}},
		input{kind: "unsigned char", dims: []int64{128, 128}}), 2_097_152, 21_760 + 8192, 0},
	// causal: 559·560/2 pairs of each of 256 heads, 2·(64 + 64) each; four tensors of 2 B and a sum of 4 B a row
	{"aten::_scaled_dot_product_flash_attention",
		inputsOf(bf16(16, 16, 559, 64), bf16(16, 16, 559, 64), bf16(16, 16, 559, 64), is("0."), is("True"),
			is("False"), is("0.125")), 10_257_694_720, 73_269_248 + 572_416, 0},
	// bias of (1,1,4500,4500) is read: 18 432 000 + 40 500 000 B; 4·4500²·512
	{"aten::_scaled_dot_product_efficient_attention",
		inputsOf(bf16(1, 1, 4500, 512), bf16(1, 1, 4500, 512), bf16(1, 1, 4500, 512), bf16(1, 1, 4500, 4500),
			is("False"), is("0."), is("False")), 41_472_000_000, 58_932_000, 0},
	// grouped heads: 8 of queries, 2 of keys, 3 tokens against 5. 2·8·3·5·(4 + 6); (8·3·4 + 2·5·4 + 2·5·6 +
	// 8·3·6)·2 + 4·8·3 B
	{"flash_attn::_flash_attn_forward", inputsOf(bf16(1, 3, 8, 4), bf16(1, 5, 2, 4), bf16(1, 5, 2, 6), is("0."),
		is("1."), is("False")), 2400, 680 + 96, 0},
	// causal from the end: 15 − 3 pairs
	{"flash_attn::_flash_attn_forward", inputsOf(bf16(1, 3, 8, 4), bf16(1, 5, 2, 4), bf16(1, 5, 2, 6), is("0."),
		is("1."), is("True")), 1920, 680 + 96, 0},
	// a window of one token back: each row sees two at most
	{"flash_attn::_flash_attn_forward", inputsOf(bf16(1, 3, 8, 4), bf16(1, 5, 2, 4), bf16(1, 5, 2, 6), is("0."),
		is("1."), is("False"), is("1"), is("0")), 960, 680 + 96, 0},
	// five products: 2·2·3·5·(3·8 + 2·6); twice q, k, v, o of 48, 80, 60 and 36 elements of 2 B, sums of 4 B
	{"aten::_scaled_dot_product_flash_attention_backward",
		inputsOf(bf16(1, 2, 3, 6), bf16(1, 2, 3, 8), bf16(1, 2, 5, 8), bf16(1, 2, 5, 6), bf16(1, 2, 3, 6), none,
			none, none, none, none, none, is("False")), 2160, 896 + 24, 0},
	// 7×7 of 3 channels to 64, stride 2: 2·64·1024²·147; 4·(3·2048² + 64·147 + 64·1024²) B
	{"aten::convolution", inputsOf(fp32(1, 3, 2048, 2048), fp32(64, 3, 7, 7), none, is("(2,2)"), is("(3,3)"),
		is("(1,1)"), is("False"), is("(0,0)"), is("1")), 19_730_006_016, 318_804_736, 0},
	// with a bias: 2·4·768·14²·768 + 4·768·196; (4·3·224² + 768·768 + 768 + 4·768·196)·2 B
	{"aten::convolution", inputsOf(bf16(4, 3, 224, 224), bf16(768, 3, 16, 16), bf16(768), is("[16, 16]"),
		is("[0, 0]"), is("[1, 1]"), is("False"), is("[0, 0]"), is("1")), 925_446_144, 3_589_632, 0},
	// groups: 2·1·8·10·(2·3); (8·10 + 8·2·3 + 8·10)·4 B
	{"aten::convolution", inputsOf(fp32(1, 8, 10), fp32(8, 2, 3), none, is("[1]"), is("[1]"), is("[1]"),
		is("False"), is("[0]"), is("4")), 960, 832, 0},
	// transposed, stride 2: out 2·3 → (4−1)·2+3 = 9 wide, 6 channels: 2·4·4·(6·3); (16 + 4·6·3 + 54)·4 B
	{"aten::convolution", inputsOf(fp32(1, 4, 4), fp32(4, 6, 3), none, is("[2]"), is("[0]"), is("[1]"), is("True"),
		is("[0]"), is("1")), 576, 568, 0},
	// 2·16·2·(4096·22016 + 11008·4096); two experts of 135 266 304 elements of 2 B and tokens in and out; 32
	// experts at most
	{"vllm::rocm_aiter_fused_moe", inputsOf(bf16(16, 4096), bf16(64, 22016, 4096), bf16(64, 4096, 11008),
		fp32(16, 2)), 8_657_043_456, 541_327_360, 8_657_305_600},
	// rows of four tokens and two experts each: 2·4·2·32·16; 4·16·2 + 2·32·16·2 + 8·32·2 B; four experts at most
	{"sglang_profiler::fused_moe_triton_kernels_invoke_fused_moe_kernel",
		inputsOf(bf16(4, 16), bf16(4, 32, 16), none, bf16(8, 32), none, none, none, none, i64(4, 2)), 8192,
		128 + 2048 + 512, 128 + 4096 + 512},
	// only tokens and weights: one expert each at least, one of the eight is read; 2·4·6·10; 4·6·2 + 6·10·2 B
	{"triton::fused_moe_kernel", inputsOf(bf16(4, 6), bf16(8, 6, 10)), 480, 168, 2*4*6 + 2*4*10 + 3*120 + 7*120 + 120},
	{"aiter::ck_moe_stage1", inputsOf(bf16(4, 6), bf16(8, 6, 10)), 480, 168, 2*4*6 + 2*4*10 + 3*120 + 7*120 + 120},
	// three experts of a token: 4·2·6 additions; 4·3·6 + 4·6 elements of 2 B
	{"aiter::moe_sum", inputsOf(bf16(4, 3, 6), bf16(4, 6)), 48, 192, 0},
	// 2 requests, 4 heads of 8 over 2 of keys: a token each at least, 5 blocks of 16 at most; 4·2·4·8; q and o of 128 B
	// each, 2 tokens of 2·2·8·2 B
	{"_C::paged_attention_v1", inputsOf(bf16(2, 4, 8), bf16(2, 4, 8), bf16(99, 2, 1, 16, 8), bf16(99, 2, 8, 16), is("2"),
		is("0.3"), i64(2, 5), i64(2), is("16")), 256, 256 + 128, 384 + 128*79},
	// whether it is causal is not recorded: 10 of 16 pairs at least; 2·10·(8 + 8)
	{"aten::_scaled_dot_product_flash_attention", inputsOf(bf16(1, 1, 4, 8), bf16(1, 1, 4, 8), bf16(1, 1, 4, 8)), 320, 272,
		0},
	// two requests of 6 tokens, one of 4 at most: at least 4² + 2² pairs; 2·1·(8 + 8)·20; q, k, v, o of 48 of 2 B
	{"flash_attn::_flash_attn_varlen_forward", inputsOf(bf16(6, 1, 8), bf16(6, 1, 8), bf16(6, 1, 8), i64(3), i64(3),
		is("4"), is("4"), none, none, is("False")), 640, 384, 384},
	// causal: (20 + 6)/2 pairs
	{"flash_attn::_flash_attn_varlen_forward", inputsOf(bf16(6, 1, 8), bf16(6, 1, 8), bf16(6, 1, 8), i64(3), i64(3),
		is("4"), is("4"), none, none, is("True")), 416, 384, 384},
	// a cache of 99 pages, 20 in the list: causal, the 6 new tokens at least; two requests of 8 at most: k and v of 10
	// more of 16 B
	{"aiter::mha_batch_prefill", inputsOf(bf16(6, 1, 8), bf16(99, 1, 8), bf16(99, 1, 8), i64(3), i64(3), i64(20), is("4"),
		is("8"), is("0."), is("1."), is("0."), is("False"), is("True")), 416, 384, 384 + 10*32},
	// 5·6 ·4; 24·2 twice, weight and bias of 6, mean and deviation of 4 B for each of 4 rows
	{"aten::native_layer_norm", inputsOf(bf16(4, 6), is("[6]"), bf16(6), bf16(6), is("1e-05")), 120, 96 + 24 + 32,
		0},
	// reads both, writes both: 4·24·2 + 6·2 B
	{"_C::fused_add_rms_norm", inputsOf(bf16(4, 6), bf16(4, 6), bf16(6)), 120, 204, 0},
	// 5·24; 24·2 twice
	{"aten::_softmax", inputsOf(bf16(4, 6), is("-1"), is("False")), 120, 96, 0},
	// 1·12288·32·5; three times as many elements of 2 B
	{"_C::silu_and_mul", inputsOf(bf16(32, 12288), bf16(32, 24576)), 1_966_080, 2_359_296, 0},
	// the second input is expanded over 4·96: 1·96·4·256² of it; 256²·96 are stored
	{"aten::div", inputsOf(bf16(1, 96, 4, 256, 256),
		input{kind: "c10::BFloat16", dims: []int64{1, 96, 4, 256, 256},
			strides: []int64{6_291_456, 65536, 0, 256, 1}}), 25_165_824, 113_246_208, 0},
	// comparisons give a byte: 6·4 twice and 6
	{"aten::eq", inputsOf(fp32(2, 3), fp32(2, 3)), 6, 54, 0},
	// a row and a column: 2·3 results of the wider type
	{"aten::add", inputsOf(fp32(2, 1), bf16(1, 3), is("1")), 6, 8 + 6 + 24, 0},
	// in place: the same
	{"aten::mul_", inputsOf(fp32(2, 3), fp32(2, 3)), 6, 72, 0},
	// the destination is first: 6·4 + 6·2
	{"aten::copy_", inputsOf(fp32(2, 3), bf16(2, 3), is("False")), 0, 36, 0},
	// 16·559·1024 and 16·559 results, of 4 B
	{"aten::mean", inputsOf(fp32(16, 559, 1024), is("[-1]"), is("True")), 9_158_656, 36_634_624 + 35_776, 0},
	// all dimensions, booleans are counted in 8 B
	{"aten::sum", inputsOf(input{kind: "bool", dims: []int64{5}}), 5, 13, 0},
	// 7·4 read; of 2 the value and 8 B of place
	{"aten::topk", inputsOf(fp32(7), is("2"), is("-1")), 7, 28 + 24, 0},
	// rows of 6 B: indices, one row at least and the result
	{"aten::embedding", inputsOf(bf16(100, 3), i64(4)), 0, 32 + 6 + 24, 32 + 48},
	// 10 quantised, a scale: 20 + 10 + 4 B
	{"_C::static_scaled_fp8_quant", inputsOf(input{kind: "c10::Float8_e4m3fn", dims: []int64{2, 5}}, bf16(2, 5),
		fp32(1)), 30, 34, 0},
	// queries of 4 heads, keys of 2; a token sees itself: 2·(96 + 96); q and o of 96, k and v of 48 of 2 B
	{"vllm::unified_attention", inputsOf(bf16(3, 4, 8), bf16(3, 2, 8), bf16(3, 2, 8)), 384, 576, 0},
	// what a compiler fused writes 100 results of 2 B at least, and reads all at most
	{"triton_poi_fused_add_1", inputsOf(bf16(10, 10), fp32(10, 10), is("100")), 0, 200, 600},
}

// TestWorkOfOps: the work of ops is that worked by hand.
func TestWorkOfOps(t *testing.T) {
	for _, c := range opCases {
		w, ok := roofline.OpWork(c.op, c.in)
		switch {
		case !ok:
			t.Errorf("%s: not counted", c.op)
		case w.FLOP != c.flop || w.Bytes != c.bytes || w.MostBytes != c.most:
			t.Errorf("%s: %.0f FLOP, %.0f to %.0f bytes, want %.0f, %.0f to %.0f", c.op, w.FLOP, w.Bytes, w.MostBytes,
				c.flop, c.bytes, c.most)
		}
	}
}

// TestContradictingInputsAreNotCounted: sizes that do not fit, unknown types and negative sizes give nothing, never a
// guess.
func TestContradictingInputsAreNotCounted(t *testing.T) {
	for op, in := range map[string]*roofline.Inputs{
		"aten::mm":     inputsOf(bf16(4, 5), bf16(6, 7)),
		"aten::bmm":    inputsOf(bf16(2, 4, 5), bf16(3, 5, 7)),
		"aten::matmul": inputsOf(bf16(2, 4, 5), bf16(3, 5, 7)),
		"aten::linear": inputsOf(bf16(4, 5), bf16(7, 6)),
		"aten::add":    inputsOf(bf16(4), bf16(5)),
		"aten::convolution": inputsOf(fp32(1, 3, 8), fp32(4, 2, 3), none, is("[1]"), is("[0]"), is("[1]"), is("False"),
			is("[0]"), is("1")),
		"aten::conv2d":   inputsOf(fp32(1, 3, 8, 8), fp32(4, 3, 3, 3)), // stride and padding not recorded
		"aiter::moe_sum": inputsOf(bf16(4096, 8192), bf16(8, 8192, 22016)),
		"aten::sum":      inputsOf(fp32(2, 3), is("[7]")),
		"aten::view":     inputsOf(fp32(2, 3)),
		"aten::repeat":   inputsOf(fp32(2, 3), is("[0]")),
		"aten::relu":     inputsOf(input{kind: "c10::Strange", dims: []int64{4}}),
		"aten::gelu":     inputsOf(),
	} {
		if w, ok := roofline.OpWork(op, in); ok {
			t.Errorf("%s: %+v, want nothing", op, w)
		}
	}
}

// TestRulesComeBeforeTheTable: of a user's op, and of one that the table knows.
func TestRulesComeBeforeTheTable(t *testing.T) {
	rules, err := roofline.LoadRules(strings.NewReader(`[{"op": "mylib::gemm*", "like": "aten::mm", "inputs": [1, 2]}]`))
	if err != nil {
		t.Fatal(err)
	}
	in := inputsOf(is("x"), fp32(2, 3), fp32(3, 5))
	if w, ok := roofline.OpWork("mylib::gemm_fast", in, rules...); !ok || w.FLOP != 60 || w.M != 2 || w.N != 5 ||
		w.K != 3 {
		t.Errorf("%+v %v", w, ok)
	}
	own := roofline.Rule{Op: "aten::mm", Count: func(*roofline.Inputs) (roofline.Work,
		bool) {
		return roofline.Work{FLOP: 1}, true
	}}
	if w, _ := roofline.OpWork("aten::mm", inputsOf(fp32(2, 3), fp32(3, 5)), own); w.FLOP != 1 {
		t.Errorf("%+v: the table came before the rule", w)
	}
	for _, bad := range []string{`[{"op": "x", "like": "no::op"}]`, `[{"op": "a b", "like": "aten::mm"}]`,
		`{"op": "x"}`, `[{"op": "x", "lyke": "aten::mm"}]`} {
		if _, err := roofline.LoadRules(strings.NewReader(bad)); err == nil {
			t.Errorf("%s: no error", bad)
		}
	}
	for _, second := range []string{`{"op": "x", "like": "no::op"}`, `{"op": "a b"}`} {
		_, err := roofline.LoadRules(strings.NewReader(`[{"op": "y", "like": "aten::mm"}, ` + second + `]`))
		if err == nil || !strings.Contains(err.Error(), "rule 2") {
			t.Errorf("%s is not named as the second rule: %v", second, err)
		}
	}
	one, err := roofline.LoadRules(strings.NewReader(`[{"op": "mylib::act", "like": "aten::relu", "inputs": [1]}]`))
	if err != nil {
		t.Fatal(err)
	}
	if w, ok := roofline.OpWork("mylib::act", inputsOf(fp32(9), fp32(2)), one...); !ok || w.Bytes != 16 {
		t.Errorf("an op whose only input is the second: %+v", w)
	}
}

// TestMasksAreIntervals: attention without a recorded mask has half of the square and the diagonal at least, all
// of it at most; a recorded mask leaves nothing open. 4 tokens, heads of 8: 2·16 FLOP a pair, 10 or 16 of them. Five
// products of the backward pass: 2·(3·8 + 2·8).
func TestMasksAreIntervals(t *testing.T) {
	q := bf16(1, 1, 4, 8)
	back := func(mask input) *roofline.Inputs {
		return inputsOf(q, q, q, q, q, none, none, none, none, none, none, mask)
	}
	windowless := inputsOf(bf16(1, 3, 8, 4), bf16(1, 5, 2, 4), bf16(1, 5, 2, 6))
	windowless.Values = nil // nor is the window recorded
	for _, c := range []struct {
		op          string
		in          *roofline.Inputs
		least, most float64
	}{
		{"aten::_scaled_dot_product_flash_attention", inputsOf(q, q, q), 320, 512},
		{"aten::_scaled_dot_product_flash_attention", inputsOf(q, q, q, is("0."), is("False")), 512, 0},
		{"aten::_scaled_dot_product_flash_attention", inputsOf(q, q, q, is("0."), is("True")), 320, 0},
		{"aten::_scaled_dot_product_flash_attention_backward", back(none), 800, 1280},
		{"aten::_scaled_dot_product_flash_attention_backward", back(is("True")), 800, 0},
		// the mask is a number: none, from the first key, from the last one
		{"aten::_efficient_attention_forward", inputsOf(bf16(1, 4, 1, 8), bf16(1, 4, 1, 8), bf16(1, 4, 1, 8), none, none,
			none, none, none, is("0."), is("0")), 512, 0},
		{"aten::_efficient_attention_forward", inputsOf(bf16(1, 4, 1, 8), bf16(1, 4, 1, 8), bf16(1, 4, 1, 8), none, none,
			none, none, none, is("0."), is("1")), 320, 0},
		// no window is recorded: a token sees itself at least. 3 or 15 pairs of 8 heads, 2·(4 + 6)
		{"flash_attn::_flash_attn_forward", windowless, 480, 2400},
		// six tokens that see 8 each at most, or, where as many as are computed is the longest, the triangles alone
		{"aiter::mha_batch_prefill", inputsOf(bf16(6, 1, 8), bf16(99, 1, 8), bf16(99, 1, 8), i64(3), i64(3), i64(20), is("4"),
			is("8"), is("0."), is("1."), is("0."), is("False"), is("True")), 416, 48 * 32},
		{"aiter::mha_batch_prefill", inputsOf(bf16(8, 1, 8), bf16(99, 1, 8), bf16(99, 1, 8), i64(3), i64(3), i64(20), is("4"),
			is("4"), is("0."), is("1."), is("0."), is("False"), is("True")), 640, 640},
		// a window of itself and one before: a token of a sequence of 4, or of two of 4 and 2, sees 2, the first one 1
		{"flash_attn::_flash_attn_forward", inputsOf(bf16(1, 4, 1, 8), bf16(1, 4, 1, 8), bf16(1, 4, 1, 8), is("0."), is("1."),
			is("True"), is("1"), is("0")), 7 * 32, 0},
		{"flash_attn::_flash_attn_varlen_forward", inputsOf(bf16(6, 1, 8), bf16(6, 1, 8), bf16(6, 1, 8), i64(3), i64(3),
			is("4"), is("4"), is("0."), is("1."), is("True"), is("1"), is("0")), 10 * 32, 12 * 32},
		// whether it is causal is not recorded: of two that a token may see, 8 pairs at most
		{"flash_attn::_flash_attn_forward", inputsOf(bf16(1, 4, 1, 8), bf16(1, 4, 1, 8), bf16(1, 4, 1, 8), is("0."), is("1."),
			none, is("1"), is("0")), 7 * 32, 8 * 32},
		// not causal, one to each side: the first and the last see 2, others 3
		{"flash_attn::_flash_attn_forward", inputsOf(bf16(1, 4, 1, 8), bf16(1, 4, 1, 8), bf16(1, 4, 1, 8), is("0."), is("1."),
			is("False"), is("1"), is("1")), 10 * 32, 0},
		// two requests of at most four of six tokens: 20 pairs, 13 of them if it is causal
		{"flash_attn::_flash_attn_varlen_forward", inputsOf(bf16(6, 1, 8), bf16(6, 1, 8), bf16(6, 1, 8), i64(3), i64(3),
			is("4"), is("4")), 416, 640},
	} {
		if w, ok := roofline.OpWork(c.op, c.in); !ok || w.FLOP != c.least || w.MostFLOP != c.most {
			t.Errorf("%s: %v to %v FLOP, want %v to %v", c.op, w.FLOP, w.MostFLOP, c.least, c.most)
		}
	}
}

// TestAttentionOfAMixedBatch: 9 requests prefill 8,155 tokens and 37 decode. Each layer has 64 heads of 64, whose
// window is not recorded: 8,192 pairs at least, all that the step's sums allow at most. Both by hand.
func TestAttentionOfAMixedBatch(t *testing.T) {
	const layers, flopOfAPair = 24, 4 * 64 * 64 // 2 for products and sums, twice: scores and values
	pairs := 7671310 - 7475785/2.0 + 34489      // Σ sq·sk − Σ sq²/2 of context, and Σ sq·sk of generation
	fresh := 8192 * (2*64*64 + 2*8*64) * 2.0    // queries, results, keys and values of the tokens, 2 bytes each
	older := (8430 + 34489 - 8192) * 2 * 8 * 64 * 2.0
	original := testdata.SharedGlob(t, "traces/torch/vllm-gptoss20b-mixed-piecewise-mi300.json.gz")[0] // the copy lacks inputs
	r, _, _, _ := counted(t, original)
	i := slices.IndexFunc(r.Operators, func(o roofline.Row) bool { return o.Operator == "attention" })
	if i < 0 {
		t.Fatal("no attention")
	}
	o := &r.Operators[i]
	for name, c := range map[string][2]float64{"least GFLOP": {o.GFLOP, layers * 8192 * flopOfAPair / 1e9},
		"most GFLOP": {o.MostGFLOP, layers * pairs * flopOfAPair / 1e9}, "least bytes": {float64(o.Bytes), layers * fresh},
		"most bytes": {float64(o.MostBytes), layers * (fresh + older)}} {
		if math.Abs(c[0]/c[1]-1) > 1e-9 {
			t.Errorf("%s: %v, want %v", name, c[0], c[1])
		}
	}
	// The same without the step's sums: nothing bounds it from above, and no gain is claimed of it.
	text := decompressed(t, original)
	path := filepath.Join(t.TempDir(), "no-sums.json")
	step := regexp.MustCompile(`execute_8192_context_9\([^)]*\)_generation_37\([^)]*\)`)
	if err := os.WriteFile(path, step.ReplaceAll(text, []byte("execute_8192_context_9(8155)_generation_37(37)")),
		0o600); err != nil {
		t.Fatal(err)
	}
	r, _, _, _ = counted(t, path)
	for _, row := range r.Operators {
		if row.Operator == "attention" && (!row.AtLeast || row.MostGFLOP != 0) {
			t.Errorf("attention without sums: %+v", row.Cost)
		}
	}
	for _, f := range r.Findings {
		if f.Kind == finding.AboveFloor && f.Code == "attention" {
			t.Errorf("a gain of %v is claimed of attention whose work is not known", f.PerStep)
		}
	}
}

// decompressed is the text of a gzip file.
func decompressed(t *testing.T, path string) []byte {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
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
	return text
}
