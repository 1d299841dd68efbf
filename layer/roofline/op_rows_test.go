package roofline_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/llmstrata/strata/layer/roofline"
)

// letters are the types of inputs in texts.
var letters = map[byte]string{'h': "c10::BFloat16", 'f': "float", 'l': "long int", 'i': "int", 'b': "bool",
	'q': "c10::Float8_e4m3fn", 'c': "signed char", 'u': "unsigned char", 'x': "float4_e2m1fn_x2", 'z': "complex<double>"}

// read makes inputs of a text: "h4x6" is a tensor by a letter of its type, "!h4x6" one whose type the op must know,
// "=1" a value, "{2x3,4}" a list of tensors, "-" nothing.
func read(t *testing.T, text string) *roofline.Inputs {
	t.Helper()
	sizes := func(text string) (out []int64) {
		for s := range strings.SplitSeq(text, "x") {
			n, err := strconv.ParseInt(s, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, n)
		}
		return out
	}
	var all []input
	var lists [][][]int64
	for i, word := range strings.Fields(text) {
		one, word := none, strings.TrimPrefix(word, "!")
		switch word[0] {
		case '-':
		case '=':
			one = is(word[1:])
		case '{':
			lists = make([][][]int64, i+1)
			for s := range strings.SplitSeq(strings.Trim(word, "{}"), ",") {
				lists[i] = append(lists[i], sizes(s))
			}
		default:
			one = input{kind: letters[word[0]], dims: sizes(word[1:])}
		}
		all = append(all, one)
	}
	in := inputsOf(all...)
	in.Lists, in.Assumed = lists, "bf16"
	return in
}

// rowCases are ops of the table with their work by hand: FLOP, bytes, and where it is an interval the most of both.
// Sizes differ where it shows which input counts, also where real ones are equal.
var rowCases = []struct {
	op, in                           string
	flop, bytes, mostFLOP, mostBytes float64
}{
	// Products: 4×6 by 6×5 is 240 FLOP.
	{"aten::mm", "!h4x6 h6x5", 240, 48 + 60 + 40, 0, 0},
	{"aten::addmm", "h5 !h4x6 h6x5 =1", 240, 10 + 48 + 60 + 40, 0, 0},
	{"aten::addmm", "h5 !h4x6 h6x5 =0", 240, 48 + 60 + 40, 0, 0},
	{"aten::bmm", "!h3x4x6 h3x6x5", 720, 3 * (48 + 60 + 40), 0, 0},
	{"aten::baddbmm", "f3x4x5 !h3x4x6 h3x6x5 =1", 720, 3 * (80 + 48 + 60 + 40), 0, 0},
	{"aten::linear", "!h4x6 h5x6 h5", 240, 48 + 60 + 10 + 40, 0, 0},
	{"aten::matmul", "!h4x6 h6x5", 240, 48 + 60 + 40, 0, 0},
	{"aten::matmul", "!h6 h6x5", 60, 12 + 60 + 10, 0, 0},
	{"aten::matmul", "!h4x6 h6", 48, 48 + 12 + 8, 0, 0},
	{"aten::matmul", "!h6 h6", 12, 12 + 12 + 2, 0, 0},
	{"aten::matmul", "!h2x1x4x6 h3x6x5", 1440, 96 + 180 + 6*40, 0, 0},
	{"aten::_scaled_mm", "!q4x6 q6x5 f4 f5 h5", 240, 24 + 30 + 16 + 20 + 10 + 20, 0, 0},
	{"aten::_scaled_mm", "!q4x6 q6x5 f4 f5 h5 - =6", 240, 24 + 30 + 16 + 20 + 10 + 80, 0, 0},
	{"aten::_scaled_mm", "!q4x6 h6x5 f4 f5 h5 - =6", 240, 24 + 60 + 16 + 20 + 10 + 80, 0, 0},
	{"aten::_scaled_mm", "!x4x3 x3x5", 240, 12 + 15 + 20, 0, 0}, // two values an element
	{"aten::matmul", "!f4x6 h6x5", 240, 96 + 60 + 80, 0, 0},
	{"aten::_weight_int8pack_mm", "!f4x6 c5x6 h5", 240, 96 + 30 + 10 + 80, 0, 0},
	{"aten::_weight_int4pack_mm", "!h4x6 i3x5 =32 h2x5", 240, 48 + 60 + 20 + 40, 0, 0},
	{"aten::_grouped_mm", "!f5x6 !h3x6x4", 240, 120 + 48 + 80, 0, 248 + 2*48},
	{"aten::_grouped_mm", "!q5x6 !q3x6x4", 240, 30 + 24 + 40, 0, 94 + 2*24},
	{"aiter::gemm_a4w4", "u4x16 u5x16", 2 * 4 * 5 * 32, (4+5)*17 + 40, 0, 0},
	{"aten::addmv", "h4 !h4x6 h6 =0", 48, 48 + 12 + 8, 0, 0},
	{"aiter::_gemm_a16w16_asm", "!h4x6 h5x6", 240, 48 + 60 + 40, 0, 0},
	{"aiter::gemm_a16w16", "!q4x6 q5x6", 240, 24 + 30 + 40, 0, 0},
	{"aten::mv", "!h4x6 h6", 48, 48 + 12 + 8, 0, 0},
	{"aten::addmv", "h4 !h4x6 h6 =1", 48, 8 + 48 + 12 + 8, 0, 0},
	{"aten::_grouped_mm", "!h5x6 !h3x6x4", 240, 60 + 48 + 40, 0, 148 + 2*48},
	{"aten::_grouped_mm", "!h5x6 !h3x4x6", 240, 60 + 48 + 40, 0, 148 + 2*48},
	{"aten::_grouped_mm", "!h3x5x6 h3x6x4", 720, 180 + 144 + 120, 0, 0},
	{"aten::_weight_int8pack_mm", "!h4x6 c5x6 h5", 240, 48 + 30 + 10 + 40, 0, 0},
	{"aten::_weight_int4pack_mm", "!h4x6 i3x5 =32 h2x5x2", 240, 48 + 60 + 40 + 40, 0, 0},
	{"bitsandbytes::int8_linear_matmul", "!c4x6 c5x6", 240, 24 + 30 + 40, 0, 0},
	{"aiter::batched_gemm_a16wfp4_", "h3x4x12 u3x5x6", 1440, 3 * (96 + 60*17.0/32 + 40), 0, 0},
	{"aiter::gemm_a8w8", "!q4x6 q5x6 f4 f5 f4x5", 240, 24 + 30 + 16 + 20 + 80, 0, 0},
	{"vllm::rocm_unquantized_gemm", "!h4x6 h5x6 h5", 240, 48 + 60 + 10 + 40, 0, 0},
	{"aiter::gemm_a16w16", "!h4x6 h5x6 h5 =6", 240, 48 + 60 + 10 + 80, 0, 0},
	{"aiter::_gemm_a16w16_asm", "!h4x6 h5x6 f4x5", 240, 48 + 60 + 80, 0, 0},
	{"_C::cutlass_scaled_mm", "h4x5 !q4x6 q6x5 f1 f2 h5", 240, 40 + 24 + 30 + 4 + 8 + 10, 0, 0},
	// Attention of 4 tokens is 16 or, causal, 10 pairs; of the last 3 of 5 it is 15 or 12. A pair is 2·(8 + 8) FLOP, and
	// backward 2·(3·8 + 2·8); a sum of 4 B a row.
	{"aten::scaled_dot_product_attention", "!h1x1x4x8 h1x1x4x8 h1x1x4x8 h1x1x4x4 =0. =False", 512, 256 + 32, 0, 0},
	{"aten::_scaled_dot_product_fused_attention_overrideable", "!h1x1x4x8 h1x1x4x8 h1x1x4x8 h1x1x4x4 =0. =True", 320,
		256 + 32, 0, 0},
	{"aten::_scaled_dot_product_efficient_attention_backward",
		"- !h1x1x4x8 h1x1x4x8 h1x1x4x8 - - - - - - - =True", 800, 512 + 16, 0, 0},
	{"aten::_scaled_dot_product_cudnn_attention_backward",
		"- !h1x1x4x8 h1x1x4x8 h1x1x4x8 - - - - - - - - - - =True", 800, 512 + 16, 0, 0},
	{"aten::_flash_attention_forward", "!h1x4x1x8 h1x4x1x8 h1x4x1x8 - - - - - =True", 320, 256 + 16, 0, 0},
	{"aten::_efficient_attention_forward", "!h1x4x1x8 h1x4x1x8 h1x4x1x8 h1x1x4x4 - - - - - =0", 512, 256 + 32, 0, 0},
	{"aten::_flash_attention_backward", "- !h1x4x1x8 h1x4x1x8 h1x4x1x8 - - - - - - - =True", 800, 512 + 16, 0, 0},
	{"aiter::wrapper_fmha_v3_fwd", "- !h1x3x1x8 h1x5x1x8 h1x5x1x8 - - =True", 384, 256 + 12, 0, 0},
	{"flash_attn::_flash_attn_backward", "- !h1x3x1x8 h1x5x1x8 h1x5x1x8 - - - - - - - =False =2 =0", 720, 512 + 12, 0, 0},
	{"aiter::_flash_attn_backward", "- !h1x3x1x8 h1x5x1x8 h1x5x1x8 - - - - - - - - =True", 960, 512 + 12, 0, 0},
	{"aiter::mha_bwd", "- !h1x3x1x8 h1x5x1x8 h1x5x1x8 - - - - =True", 960, 512 + 12, 0, 0},
	{"aiter::mha_varlen_fwd", "!h6x1x8 h6x1x8 h6x1x8 l3 - =4 - - - - - - =True", 13 * 32, 384, 13 * 32, 384},
	{"_C::paged_attention_v2", "h2x4x8 - - - !h2x4x8 !h99x2x1x16x8 - - - l2x5 l2 =16", 256, 256 + 128, 256 * 80,
		384 + 128*79},
	{"DaoAILab::_causal_conv1d_fwd_cpp", "!h2x6x5 h6x4", 480, 240 + 48, 0, 0},
	// Queries without keys at their place: of 4 queries and 2 keys 3 pairs from the last one, 2 more for each later query
	// from the first one.
	{"aten::scaled_dot_product_attention", "!h1x1x4x8 h1x1x2x8 h1x1x2x8 - =0. =True", 7 * 32, 192, 0, 0},
	{"aiter::wrapper_fmha_v3_fwd", "- !h1x4x1x8 h1x2x1x8 h1x2x1x8 - - =True", 3 * 32, 192 + 16, 0, 0},
	{"flash_attn::_flash_attn_forward", "!h1x4x1x8 h1x2x1x8 h1x2x1x8 - - =True", 3 * 32, 192 + 16, 0, 0},
	{"flash_attn::_flash_attn_varlen_forward", "!h6x1x8 h6x1x8 h6x1x8 l3 l3 =4 =5 - - =False", 640, 384, 640, 384},
	{"aiter::mha_varlen_fwd", "!h3x1x8 h3x1x8 h3x1x8 l4 - =1 - - - - - - =True", 96, 192, 96, 192},
	{"_C::paged_attention_v1", "h2x4x8 !h2x4x8 !h99x2x1x16x8 - - - l2x1 l2 =16", 256, 256 + 128, 256 * 16, 384 + 128*15},
	{"_C::paged_attention_v1", "f2x4x8 !h2x4x8 !h99x1x4x16x8 - - - l2x5 l2 =1", 256, 128 + 256 + 64, 256 * 5, 448 + 64*4},
	{"_C::paged_attention_v1", "h2x4x8 !h2x4x8 !h99x16x2x8 - - - l3x5 l2 =16", 256, 256 + 128, 0, 0},
	{"vllm::unified_attention", "!h3x32 h3x16 h3x16", 384, 576, 0, 0},
	{"vllm::unified_attention", "!h3x32 q3x16 q3x16", 384, 576, 0, 0},
	{"aiter::mha_varlen_fwd", "!h6x1x8 h6x1x8 h6x1x8 l2 - =6 - - - - - - =True", 21 * 32, 384, 21 * 32, 384},
	{"aiter::mha_varlen_fwd", "!h6x1x8 h6x1x8 h6x1x8 l2 - =6 - - - - - - =False", 36 * 32, 384, 36 * 32, 384},
	// 3 tokens of 4 heads of 8, two of keys: a token sees itself.
	{"vllm::unified_attention", "!h3x4x8 h3x2x8 h3x2x8", 384, 576, 0, 0},
	// Convolutions: 10 places of 6 channels, of 4·3 taps each from 16 values; 4 places of 6 channels and 2·3 taps.
	{"aten::conv_transpose1d", "!f1x4x4 f4x6x3 f6 =[2] =[0] =[1] =1 =[1]", 2*16*18 + 60, 64 + 288 + 240 + 24, 0, 0},
	{"aten::conv_transpose1d", "!f1x4x4 f4x3x3 f6 =[2] =[1] =[1] =2 =[2]", 2*16*9 + 60, 64 + 144 + 240 + 24, 0, 0},
	{"aten::conv_transpose1d", "!f1x4x4 f4x3x3 f6 =[2] =[1] - =2 =[2]", 2*16*9 + 54, 64 + 144 + 216 + 24, 0, 0},
	{"aten::conv1d", "!h1x4x9 f6x2x3 - =[] =[] =[2] =2", 360, 72 + 144 + 60, 0, 0},
	{"aten::conv1d", "!h1x4x3 f6x2x3 - =[1] =[0] =[1] =2", 72, 24 + 144 + 12, 0, 0},
	{"aten::cudnn_convolution", "!f1x4x9 f6x2x3 =[1] =[2] =[1] =2", 360, 144 + 144 + 120, 0, 0},
	{"aten::conv1d", "!f4x9 f6x2x3 f6 =[2] =[1] =[2] =2", 288 + 24, 144 + 144 + 96 + 24, 0, 0},
	{"aten::conv1d", "!h1x4x9 f6x2x3 - =[2] =[1] =[2] =2", 288, 72 + 144 + 48, 0, 0},
	{"aten::conv1d", "!f1x4x9 f6x2x3 f6 =[2] =[1] =[2] =2 =[2] =[1] =[2] =2", 288 + 24, 144 + 144 + 96 + 24, 0, 0},
	{"aten::cudnn_convolution", "!f1x4x9 f6x2x3 =[1] =[2] =[2] =2", 288, 144 + 144 + 96, 0, 0},
	{"aten::miopen_convolution", "!f1x4x9 f6x2x3 f6 =[1] =[2] =[2] =2", 288 + 24, 144 + 144 + 96 + 24, 0, 0},
	{"aten::thnn_conv2d", "!f1x2x5x5 f3x2x3x3 =[3,3] f3 =[2,2] =[1,1]", 2*27*18 + 27, 200 + 216 + 108 + 12, 0, 0},
	{"aten::convolution_backward", "f1x6x4 !f1x4x9 f6x2x3 - =[2] =[1] =[2] =False =[0] =2 =[True,True,True]",
		2*288 + 24, 96 + 2*288, 0, 0},
	{"aten::convolution_backward", "f1x6x4 !f1x4x9 f6x2x3 - =[2] =[1] =[2] =False =[0] =2 =[True,False,False]",
		288, 96 + 288, 0, 0},
	{"aten::convolution_backward", "f1x6x10 !f1x4x4 f4x3x3 - =[2] =[0] =[1] =True =[1] =2 =[False,False,True]",
		60, 240, 0, 0},
	{"aten::convolution_backward", "f1x6x10 !f1x4x4 f4x3x3 - =[2] =[0] =[1] =True =[1] =2 =[False,True,False]",
		288, 240 + 64 + 144, 0, 0},
	// Experts of 6·(10 + 5) weights; two of three for each of 4 tokens, one, or as many as there may be.
	{"aiter::fmoe_fp8_blockscale_g1u1", "h1 !h4x6 !h3x10x6 h3x6x5 - - - - =2", 1440, 96 + 360, 0, 96 + 540},
	{"vllm::fused_experts", "!h4x6 !h3x10x6 h3x6x5 f4x2", 1440, 96 + 360, 0, 96 + 540},
	{"aiter::fused_moe_", "!h4x6 !h3x10x6 h3x6x5", 720, 96 + 180, 2160, 96 + 540},
	{"aiter::fused_moe_", "!h4x6 !h3x10x6 h3x6x5 f4x1", 720, 96 + 180, 0, 96 + 540},
	{"aiter::fused_moe_", "!h4x6 !u3x8x3 u3x6x2 f4x2", 2 * 4 * 2 * 72, 96 + 72, 0, 96 + 108},
	{"aiter::ck_moe_stage1", "!h4x6 !h3x10x6 - - - - h4x2x5", 960, 128 + 240, 0, 128 + 360},
	{"aiter::ck_moe_stage2", "!h4x2x5 - !h3x6x5 - - - h4x6", 480, 128 + 120, 0, 128 + 180},
	{"aiter::fused_moe_", "!h4x6 !h3x5x6 h3x6x5 f4x2", 960, 96 + 240, 0, 96 + 360},
	{"aiter::moe_sum", "!h4x3x6 !h4x6", 48, 144 + 48, 0, 0},
	{"triton::fused_moe_kernel", "!h4x6 !h3x6x5", 240, 48 + 60, 720, 48 + 40 + 180 + 2*60},
	{"aiter::ck_moe_stage1", "!h4x6 !h3x6x5", 240, 48 + 60, 720, 48 + 40 + 180 + 2*60},
	{"aiter::ck_moe_stage2", "!h4x6 !h3x6x5", 240, 48 + 60, 720, 48 + 40 + 180 + 2*60},
	{"aiter::ck_moe_stage2", "!h4x6 - !h3x6x5", 240, 48 + 60, 720, 48 + 40 + 180 + 2*60},
	{"sglang_profiler::fused_moe_triton_kernels_invoke_fused_moe_kernel", "!h4x6 !h3x5x6 - f8x5 - - - - l4x2",
		480, 48 + 160 + 120, 0, 208 + 180},
	{"sglang_profiler::fused_moe_triton_kernels_invoke_fused_moe_kernel", "!q4x6 !q3x5x6 - - - - - - l4x2",
		480, 24 + 80 + 60, 0, 104 + 90},
	{"_moe_C::topk_softmax", "f4x2 i4x2 - !f4x8", 160, 128 + 64, 0, 0},
	// Norms of 4 rows of 6.
	{"aten::native_layer_norm", "!h4x6 =[6] h6 f6", 120, 96 + 12 + 24 + 8*4, 0, 0},
	{"_C::fused_add_rms_norm", "!h4x6 f4x6 h6", 120, 48 + 96 + 12 + 48 + 96, 0, 0},
	{"aten::native_layer_norm_backward", "!h4x6 h2x6 =[6] f4 f4 h6 h6", 264, 48 + 24 + 16 + 16 + 12 + 24 + 12 + 12, 0, 0},
	{"aten::_fused_rms_norm", "!h4x6 =[6] h6", 96, 96 + 12 + 16, 0, 0},
	{"aten::_fused_rms_norm_backward", "!h4x6 h2x6 =[6] f4 h6", 216, 48 + 24 + 16 + 12 + 24 + 12, 0, 0},
	{"_C::rms_norm", "h1 !h4x6 h6", 96, 96 + 12, 0, 0},
	{"aiter::rms_norm", "!h4x6 h6", 96, 96 + 12, 0, 0},
	{"aiter::add_rmsnorm", "h1 !h4x6 f4x6 - h6", 120, 48 + 96 + 12 + 48 + 96, 0, 0},
	{"vllm::rocm_aiter_rmsnorm2d_fwd_with_add", "!h4x6 f4x6 h6", 120, 48 + 96 + 12 + 48 + 96, 0, 0},
	{"aten::native_batch_norm", "!h2x3x4 - - - - =True", 120, 96 + 3*4*6, 0, 0},
	{"aten::native_batch_norm", "!h2x3x4 - - - - =False", 48, 96 + 3*4*4, 0, 0},
	{"aten::native_batch_norm_backward", "!h2x3x4 f2", 216, 48 + 8 + 48, 0, 0},
	{"aten::group_norm", "!h2x6 =3 h6 h6", 84, 48 + 24, 0, 0},
	{"aten::native_group_norm", "!h2x6 h6 h6", 84, 48 + 24, 0, 0},
	{"aten::native_group_norm_backward", "!h2x6 f2", 132, 24 + 8 + 8, 0, 0},
	{"aten::_masked_softmax", "h2x6 b2x6 f2x6", 60, 24 + 12 + 24, 0, 0},
	{"aten::_softmax_backward_data", "!h2x6 f2", 48, 24 + 8 + 24, 0, 0},
	// Element-wise ops of 12 elements.
	{"aten::softmax", "!h2x6", 60, 48, 0, 0},
	{"aten::add", "l2x6 h2x6", 12, 96 + 24 + 24, 0, 0}, // an integer of eight bytes and a number of two are a number
	{"aten::add", "b2x6 i2x6", 12, 12 + 48 + 48, 0, 0}, // a bool counts less than an integer
	{"aten::add", "b2x6 b2x6", 12, 12 + 12 + 12, 0, 0},
	{"aten::mul", "z2x6 f2x6", 12, 192 + 48 + 192, 0, 0},
	{"aten::add", "h2x6 f2x6 f9", 12, 24 + 48 + 48, 0, 0}, // the third input is a factor
	{"aten::eq", "h2x6 f2x6 f9", 12, 24 + 48 + 12, 0, 0},
	{"aten::gelu", "!h2x6", 96, 48, 0, 0},
	{"aten::silu", "!h2x6", 12, 48, 0, 0},
	{"aten::logical_not", "!h2x6 f2x6", 12, 24 + 12, 0, 0},
	{"aten::gelu_backward", "!h2x6 f2", 48, 24 + 8 + 24, 0, 0},
	{"aten::where", "b2x6 h2x6 f6", 12, 12 + 24 + 24 + 48, 0, 0},
	{"aten::addcmul", "h2x6 h2x6 h6", 36, 24 + 24 + 12 + 24, 0, 0},
	{"_C::silu_and_mul", "!h2x3 !f2x6", 30, 48 + 12, 0, 0},
	{"_C::gelu_and_mul", "!h2x3 !h2x6", 48, 24 + 12, 0, 0},
	{"LigerSiLUMulFunction", "h2x6 h2x6", 60, 72, 0, 0},
	{"_C::rotary_embedding", "l4 !h4x16 h4x8 =8 h99x4", 144, 32 + 192, 0, 0},
	{"_C::rotary_embedding", "l4 !h4x16 - =8 h99x8", 192, 32 + 256, 0, 0},
	{"_C_cache_ops::reshape_and_cache", "!h4x8 h4x8 - - l4", 0, 128 + 64 + 32, 0, 128 + 128 + 32},
	{"_C_cache_ops::reshape_and_cache", "!h4x8 h4x8 q9x8 - l4", 0, 128 + 64 + 32, 0, 0},
	{"sgl_kernel::store_kv_cache", "!h4x8 h4x2 q9x8 - l4", 0, 64 + 16 + 32 + 8 + 32, 0, 0},
	// Copies and fills.
	{"aten::_to_copy", "!h2x6 =6", 0, 24 + 48, 0, 0},
	{"aten::_to_copy", "!h2x6", 0, 24 + 24, 0, 0},
	{"aten::copy_", "!h2x6 !f2x6", 0, 24 + 48, 0, 0},
	{"aten::clone", "!h2x6", 0, 48, 0, 0},
	{"aten::fill_", "!u1", 0, 1, 0, 0},
	{"aten::fill_", "!h2x6", 0, 24, 0, 0},
	{"aten::normal_", "!h2x6", 120, 24, 0, 0},
	{"aten::cat", "{2x3,4}", 0, 40, 0, 0},
	{"aten::repeat", "!h2x3 =[2,1,4]", 0, 12 + 96, 0, 0},
	{"aten::flip", "!h2x6", 0, 48, 0, 0},
	{"aten::im2col", "!h2x6", 0, 48, 0, 0},
	// Reductions of 12 elements to 2.
	{"aten::sum", "!i2x6 =[1]", 12, 48 + 16, 0, 0},
	{"aten::sum", "!u2x6 =[-1]", 12, 12 + 16, 0, 0},
	{"aten::mean", "!h2x6", 12, 24 + 2, 0, 0},
	{"aten::amax", "!i2x6 =[1]", 12, 48 + 8, 0, 0},
	{"aten::amax", "!h2x6 =[1]", 12, 24 + 4, 0, 0},
	{"aten::max", "!h2x6 =[1]", 12, 24 + 20, 0, 0},
	{"aten::norm", "!h2x6 =2 =[1]", 24, 24 + 4, 0, 0},
	{"aten::std", "!h2x6 =[1]", 48, 24 + 4, 0, 0},
	{"aten::logsumexp", "!h2x6 =[1]", 60, 24 + 4, 0, 0},
	{"aten::cumsum", "!h2x6", 12, 48, 0, 0},
	{"aten::topk", "!h3x4 =2 =0", 12, 24 + 8*10, 0, 0},
	// Lookups: rows of 6, 4 and 12 B.
	{"aten::topk", "!h3x4 =2 =-1", 12, 24 + 6*10, 0, 0},
	{"aten::topk", "!h4 =3 =1", 4, 8 + 3*10, 0, 0},
	{"aten::embedding", "!h10x3 l4", 0, 32 + 6 + 24, 0, 32 + 48},
	{"aten::_embedding_bag", "!h10x3 l4", 0, 32 + 6 + 24, 0, 32 + 48},
	{"aten::index_select", "!h2x6 =1 l4", 0, 32 + 4 + 16, 0, 32 + 32},
	{"aten::index_select", "!h2x6 =0 l4", 0, 32 + 12 + 48, 0, 32 + 96},
	{"aten::gather", "!h2x6 =1 l2x3", 0, 48 + 12, 0, 48 + 24},
	{"aten::scatter", "!h2x6 =1 l2x3 h2x3", 0, 48 + 24, 0, 0},
	{"aten::scatter_add", "!h2x6 =1 l2x3", 6, 48 + 36, 0, 0},
	{"aten::index", "!h2x6", 0, 2, 0, 48},
	{"aten::index_put", "h10x3 - !h4x3", 0, 48, 0, 0},
	{"aten::index_put", "h10x3 - !f4x3", 0, 48 + 24, 0, 0},
	{"aten::nonzero", "!h2x6", 0, 24, 0, 24 + 8*12*2},
	// Training.
	{"aten::nll_loss_forward", "!h4x10 l4", 4, 40, 0, 0},
	{"aten::nll_loss_backward", "f1 !h4x10", 0, 80, 0, 0},
	{"aten::mse_loss", "!h2x6 f2", 36, 24 + 8, 0, 0},
	{"aten::mse_loss_backward", "f1 !h2x6 f2", 36, 24 + 8 + 24, 0, 0},
	{"aten::native_dropout", "!h2x6", 24, 60, 0, 0},
	{"aten::native_dropout_backward", "!h2x6 b2x6", 12, 60, 0, 0},
	{"aten::_foreach_add", "{2x3,4}", 10, 40, 0, 0},
	{"aten::_foreach_sqrt", "{2x3,4}", 10, 40, 0, 0},
	{"aten::_foreach_addcmul", "{2x3,4}", 30, 80, 0, 0},
	{"aten::_foreach_norm", "{2x3,4}", 20, 20, 0, 0},
	{"aten::_foreach_zero", "{2x3,4}", 0, 20, 0, 0},
	{"aten::_fused_adam", "{2x3,4}", 120, 140, 0, 0},
	{"aten::_fused_sgd", "{2x3,4}", 40, 100, 0, 0},
	// Pools and resampling of 3 channels.
	{"aten::avg_pool2d", "!h1x3x8x8 =[2,2] =[2,2] =[1,1]", 75 * 4, 384 + 150, 0, 0},
	{"aten::avg_pool2d", "!h1x3x8x8 =[2,2] =[] =[0,0]", 48 * 4, 384 + 96, 0, 0},
	{"aten::avg_pool2d", "!h3x8x8 =[2,2] =[2,2]", 48 * 4, 384 + 96, 0, 0},
	{"aten::avg_pool2d", "!h1x3x8x8 =[2,4] =[4] =[0,0]", 12 * 8, 384 + 24, 0, 0},
	{"aten::avg_pool2d", "!h3x8x8 =[1,1] =[3,3] =[0,0]", 27, 384 + 54, 0, 0},
	{"aten::avg_pool2d", "!h3x8x8 =[2,2] =[1,1] =[0,0]", 147 * 4, 384 + 294, 0, 0},
	{"aten::avg_pool2d", "!h3x2x2 =[2,2] =[2,2] =[0,0]", 12, 24 + 6, 0, 0},
	{"aten::adaptive_avg_pool2d", "!h1x3x8x8 =[2,2]", 192, 384 + 24, 0, 0},
	{"aten::upsample_nearest2d", "!h1x3x4x4 - =[2.0,2.0]", 0, 96 + 384, 0, 0},
	{"aten::upsample_nearest2d", "!h1x3x4x4 =[8,8]", 0, 96 + 384, 0, 0},
	{"aten::upsample_nearest1d", "!h1x3x4 =[8]", 0, 24 + 48, 0, 0},
	{"aten::upsample_nearest1d", "!h2x3x5 - =[1.5]", 0, 60 + 84, 0, 0},
	{"aten::upsample_bilinear2d", "!h1x3x4x4 - - =[2.0,2.0]", 8 * 192, 96 + 384, 0, 0},
	{"aten::upsample_bicubic2d", "!h1x3x4x4 - - =[2.0,2.0]", 40 * 192, 96 + 384, 0, 0},
	{"aten::upsample_bicubic2d", "!h1x3x4x4 =[8,8]", 40 * 192, 96 + 384, 0, 0},
	// Quantisation of 10 values.
	{"_C::static_scaled_fp8_quant", "q2x5 !h2x5 f3", 30, 20 + 10 + 12, 0, 0},
	{"_C::static_scaled_fp8_quant", "h2x5 !f2x5 f3", 30, 40 + 20 + 12, 0, 0},
	{"sglang::per_token_group_quant_8bit", "!h2x5 - - f2", 30, 20 + 10, 0, 0},
	{"sgl_kernel::sgl_per_token_group_quant_8bit", "!h2x5 q2x5 f2", 30, 20 + 10 + 8, 0, 0},
	{"sgl_kernel::sgl_per_token_group_quant_8bit", "!h2x6 u2x3 f2", 36, 24 + 6 + 8, 0, 0}, // two values a byte
	{"aten::dequantize", "!h2x6", 24, 48, 0, 0},
	// What a compiler fused: 7 results of the narrowest type at least, all arguments at most.
	{"triton_per_fused_mean_3", "h2x6 f2x6 =7 =3", 0, 14, 0, 72},
	{"triton_per_fused_mean_3", "h2x6 f2x6 =99", 0, 72, 0, 72},
}

// TestTypesThatAreNotRecorded: an op is not counted where the type of what it computes with is not known. Of other
// tensors it is, then without their bytes or with those of its own type.
func TestTypesThatAreNotRecorded(t *testing.T) {
	for _, c := range rowCases {
		for i, word := range strings.Fields(c.in) {
			in := read(t, c.in)
			if len(in.Dim(i)) == 0 {
				continue
			}
			in.Types[i] = "c10::Strange"
			w, ok := roofline.OpWork(c.op, in)
			if must := word[0] == '!'; ok == must || ok && w.FLOP != c.flop {
				t.Errorf("%s %s: input %d of an unknown type: counted %t, %+v", c.op, c.in, i, ok, w)
			}
		}
	}
}

// TestMatrixTypes: the wider operand's where both are computed with, that of activations where weights are unpacked.
func TestMatrixTypes(t *testing.T) {
	for _, c := range []struct{ op, in, want string }{
		{"aten::mm", "h4x6 q6x5", "bf16"}, {"aten::mm", "q4x6 h6x5", "bf16"}, {"aten::mm", "u4x6 c6x5", "int8"},
		{"aten::matmul", "h4x6 f6x5", "fp32"}, {"aten::linear", "f4x6 h5x6", "fp32"},
		{"aten::_scaled_mm", "x4x3 x3x5", "fp4"},
		{"aten::_weight_int8pack_mm", "h4x6 c5x6 h5", "bf16"}, {"aiter::gemm_a4w4", "u4x16 u5x16", "fp4"},
		{"aiter::batched_gemm_a16wfp4_", "h3x4x12 u3x5x6", "bf16"}, {"aten::_grouped_mm", "q5x6 h3x6x4", "bf16"},
		{"aten::_grouped_mm", "h5x6 q3x6x4", "bf16"}, {"aten::scaled_dot_product_attention", "h1x1x4x8 f1x1x4x8 f1x1x4x8",
			"bf16"},
		{"aiter::mha_varlen_fwd", "h6x1x8 f6x1x8 f6x1x8 l2 - =6", "bf16"},
		{"vllm::unified_attention", "h3x4x8 f3x2x8 f3x2x8", "bf16"},
		{"_C::paged_attention_v1", "f2x4x8 h2x4x8 q99x2x1x16x8 - - - l2x1 l2 =16", "bf16"},
		{"aten::conv1d", "h4x9 f6x2x3 - =[2] =[1] =[2] =2", "bf16"},
		{"aten::convolution_backward", "f1x6x4 h1x4x9 f6x2x3 - =[2] =[1] =[2] =False =[0] =2 =[True]", "bf16"},
		{"vllm::fused_experts", "q4x6 h3x10x6 h3x6x5 f4x2", "bf16"},
		{"vllm::fused_experts", "h4x6 q3x10x6 q3x6x5 f4x2", "bf16"},
		{"vllm::fused_experts", "h4x6 u3x8x3 u3x6x2 f4x2", "bf16"},
		{"aiter::ck_moe_stage2", "q4x2x5 - h3x6x5 - - - h4x6", "bf16"},
		{"aiter::ck_moe_stage2", "h4x2x5 - q3x6x5 - - - h4x6", "bf16"}, {"aten::add", "h2 h2", ""},
		{"sglang_profiler::fused_moe_triton_kernels_invoke_fused_moe_kernel", "q4x6 h3x5x6 - - - - - - l4x2", "bf16"},
		{"sglang_profiler::fused_moe_triton_kernels_invoke_fused_moe_kernel", "h4x6 q3x5x6 - - - - - - l4x2", "bf16"},
	} {
		if w, ok := roofline.OpWork(c.op, read(t, c.in)); !ok || w.Matrix != c.want {
			t.Errorf("%s %s computes with %q, counted %t; want %q", c.op, c.in, w.Matrix, ok, c.want)
		}
	}
}

// TestInputsThatDoNotFit are not counted.
func TestInputsThatDoNotFit(t *testing.T) {
	for _, c := range [][2]string{{"aten::linear", "h6 h5x6"}, {"aten::native_batch_norm", "h6"},
		{"triton_poi_fused_add_1", "h2x6"},
		{"aten::convolution_backward", "- f1x4x9 f6x2x3 - =[2] =[1] =[2] =False =[0] =2 =[True]"},
		{"aten::avg_pool2d", "h8x8 =[2,2,2]"},
		{"aten::avg_pool2d", "h3x8x8 =[0,2]"}, {"aten::avg_pool2d", "h3x8x8 =[9,2]"},
		{"aten::conv1d", "h1x4x2 f6x2x3 - =[1] =[0] =[1] =2"},
		{"aten::conv1d", "h1x4x2 f6x2x3 - =[2] =[0] =[1] =2"},
		{"aten::conv1d", "h1x4x9 f6x2x3 - =[0] =[0] =[1] =2"}, {"aten::mm", "h99999999999x99999999999 h99999999999x9"},
		{"vllm::unified_attention", "h3x4x8 h3x0x8 h3x0x8"}, {"vllm::unified_attention", "h3 h3 h3"},
		{"vllm::unified_attention", "h3x4 h2x4 h3x4"},
		{"vllm::fused_experts", "h4x6 h3x10x7 h3x6x5"}, {"vllm::fused_experts", "h4x6 h3x9x6 h3x6x5"},
		{"vllm::fused_experts", "h4x6 h3x10x0 h3x6x5"},
		{"vllm::fused_experts", "h4x6 h3x10x6 h3x6x5 f4x4"}, {"aten::upsample_nearest1d", "h1x3x4 =[8,8]"},
		{"aten::adaptive_avg_pool2d", "h8x8 =[2,2]"},
		{"aten::topk", "h3x4 =[1,2]"}, {"aten::native_layer_norm", "h4x6 =[6] h6 h0"}, {"_C::silu_and_mul", "h2x3 h2x5"},
		{"_C::fused_add_rms_norm", "h4x6 h4x5 h6"},
		{"aten::matmul", "h2x4x6 h3x6x5"}, {"aten::mm", "h2x1099511627776 h1099511627776x1099511627776"}, // 2⁸²
		{"_C::paged_attention_v1", "h2x4 h2x4 h99x2x1x16x8"}, {"_C::paged_attention_v1", "h2x4x8 h2x4x8 h99x2x8"},
		{"aiter::mha_varlen_fwd", "h6x1x8 h6x1x8 h6x1x8 l1 - =6"}, {"DaoAILab::_causal_conv1d_fwd_cpp", "h6 h6x4"},
	} {
		if w, ok := roofline.OpWork(c[0], read(t, c[1])); ok {
			t.Errorf("%s %s: %+v, want nothing", c[0], c[1], w)
		}
	}
}

// TestListsOfUnknownTypes take what the kernel's name says, a byte at least.
func TestListsOfUnknownTypes(t *testing.T) {
	for _, c := range []struct {
		assumed string
		element int
		want    float64
	}{{"", 0, 20}, {"", 4, 80}, {"fp32", 0, 80}, {"bf16", 1, 40}} {
		in := read(t, "{2x3,4}")
		in.Assumed, in.Element = c.assumed, c.element
		if w, ok := roofline.OpWork("aten::cat", in); !ok || w.Bytes != c.want {
			t.Errorf("%+v: %v bytes", c, w.Bytes)
		}
	}
	in := read(t, "h4x6 h6x5")
	in.Types, in.Assumed = nil, "fp8"
	if w, ok := roofline.OpWork("aten::mm", in); !ok || w.Bytes != 24+30+20 {
		t.Errorf("inputs of the type that the kernel's name says: %v bytes, want 74", w.Bytes)
	}
}

// TestWorkOfOneElement: tensors of one element each have work, of bytes, too, but where an op wants more: starts of
// two, channels for each group, two chosen experts, two halves, windows of two.
func TestWorkOfOneElement(t *testing.T) {
	more := []string{"aiter::mha_varlen_fwd", "flash_attn::_flash_attn_varlen_forward", "aten::avg_pool2d", "aten::conv1d",
		"aten::cudnn_convolution", "aten::miopen_convolution",
		"aten::convolution_backward", "aten::conv_transpose1d", "aiter::fmoe_fp8_blockscale_g1u1", "_C::gelu_and_mul",
		"_C::silu_and_mul"}
	for _, c := range rowCases {
		in := read(t, c.in)
		if slices.Contains(more, c.op) {
			continue
		}
		for _, sizes := range in.Dims {
			for k := range sizes {
				sizes[k] = 1
			}
		}
		for range 2 {
			w, ok := roofline.OpWork(c.op, in)
			if !ok || c.flop > 0 != (w.FLOP > 0) && c.op != "aiter::moe_sum" {
				t.Errorf("%s %s with sizes of one: counted %t, %+v", c.op, c.in, ok, w)
			}
			for i := range in.Types {
				if len(in.Dims[i]) > 0 {
					in.Types[i] = letters['u']
				}
			}
		}
	}
}

// TestWorkOfEveryRow: each row of the table has an op whose work is worked by hand.
func TestWorkOfEveryRow(t *testing.T) {
	var ops []string
	for _, c := range rowCases {
		ops = append(ops, c.op)
		w, ok := roofline.OpWork(c.op, read(t, c.in))
		got, want := [4]float64{w.FLOP, w.Bytes, w.MostFLOP, w.MostBytes},
			[4]float64{c.flop, c.bytes, c.mostFLOP, c.mostBytes}
		if !ok || got != want {
			t.Errorf("%s %s: FLOP, bytes, most FLOP, most bytes are %v, want %v", c.op, c.in, got, want)
		}
	}
	for _, c := range opCases {
		ops = append(ops, c.op)
	}
	for _, names := range roofline.OpNames() {
		if !slices.ContainsFunc(ops, func(op string) bool {
			return slices.ContainsFunc(names, func(name string) bool {
				prefix, many := strings.CutSuffix(name, "*")
				return strings.TrimSuffix(op, "_") == strings.TrimSuffix(name, "_") || many && strings.HasPrefix(op, prefix)
			})
		}) {
			t.Errorf("no op of %v is worked by hand", names)
		}
	}
}
