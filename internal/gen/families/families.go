package families

import "strings"

// A Family is the order of kernels of a kind of model, written down from the public sources of servers and models:
// what runs before the layers, in each of them, and after them. Names are real ones without their parameters.
//
// Unlike what package gen simulates, a Family is data alone: two orders of names.
type Family struct {
	// Name says which model and server.
	Name string
	// Prefill and Decode are the orders of a pass with context requests, and of one with generation requests only.
	Prefill, Decode Order
}

// An Order is the names of the kernels of one pass.
type Order struct {
	// Prologue runs before the first layer, Epilogue after the last one.
	Prologue, Epilogue []string
	// Layers are the decoder layers.
	Layers [][]string
}

// All returns the orders of all kinds of models.
func All() []Family {
	var all []Family
	for _, group := range [][]func() Family{denseFamilies, expertFamilies, hybridFamilies} {
		for _, f := range group {
			all = append(all, f())
		}
	}
	return all
}

// family makes a Family of a function that gives an order.
func family(name string, order func(prefill bool) Order) Family {
	return Family{Name: name, Prefill: order(true), Decode: order(false)}
}

// order makes an Order of n layers; layer gives the names of each, separated by spaces.
func order(prologue string, n int, layer func(i int) string, epilogue string) Order {
	o := Order{Prologue: strings.Fields(prologue), Epilogue: strings.Fields(epilogue)}
	for i := range n {
		o.Layers = append(o.Layers, strings.Fields(layer(i)))
	}
	return o
}

// either is a where yes, else b.
func either(yes bool, a, b string) string {
	if yes {
		return a
	}
	return b
}

// join puts parts of a layer one after another.
func join(parts ...string) string { return strings.Join(parts, " ") }

// Names of kernels by the library they are from.
const (
	gather  = "at::native::vectorized_gather_kernel<16,long>"
	argmax  = "at::native::reduce_kernel<512,1,at::native::ReduceOp<float,at::native::ArgMaxOps<float>,unsigned,long,4,4>>"
	addElem = "at::native::vectorized_elementwise_kernel<4,at::native::CUDAFunctor_add<c10::BFloat16>,std::array<char*,3ul>>"
	mulElem = "at::native::vectorized_elementwise_kernel<4,at::native::BinaryFunctor<c10::BFloat16,c10::BFloat16,c10::BFloat16,at::native::MulFunctor<float>>,std::array<char*,3ul>>"
	copyEl  = "at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)>"

	vNorm    = "vllm::rms_norm_kernel<c10::BFloat16,8>"
	vAddNorm = "vllm::fused_add_rms_norm_kernel<c10::BFloat16,8>"
	vRope    = "vllm::rotary_embedding_kernel<c10::BFloat16,true>"
	vCache   = "vllm::reshape_and_cache_flash_kernel<__nv_bfloat16,__nv_bfloat16,(vllm::Fp8KVCacheDataType)0>"
	vAct     = "vllm::act_and_mul_kernel<c10::BFloat16,&(vllm::silu_kernel),true>"
	vReduce  = "vllm::cross_device_reduce_1stage<__nv_bfloat16,8>"
	vQuant   = "vllm::dynamic_per_token_scaled_fp8_quant_kernel_strided<c10::BFloat16,c10::Float8_e4m3fn>"
	vAlign   = "vllm::moe::moe_align_block_size_kernel<int>"
	vTopK    = "vllm::moe::topkGatingSoftmax<4,8,4,16,32,int>"
	vMoESum  = "vllm::moe::moe_sum_kernel<c10::BFloat16,8>"
	fa3      = "cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<2>>>>"
	fa3Join  = "cutlass::device_kernel<flash::FlashAttnFwdCombine<cute::tuple<8,128>,5,256,1,false>>"

	fNorm    = "flashinfer::norm::RMSNormKernel<8u,__nv_bfloat16>"
	fAddNorm = "flashinfer::norm::FusedAddRMSNormKernel<8u,__nv_bfloat16>"
	fGemma   = "flashinfer::norm::GemmaRMSNormKernel<8u,__nv_bfloat16>"
	fRope    = "flashinfer::BatchQKApplyRotaryPosIdsCosSinCacheEnhancedKernel<true,128u,8u,16u,__nv_bfloat16,long>"
	fPrefill = "flashinfer::BatchPrefillWithPagedKVCacheKernel<flashinfer::KernelTraits<(flashinfer::MaskMode)1,128u,2u>>"
	fDecode  = "flashinfer::BatchDecodeWithPagedKVCacheKernel<(flashinfer::PosEncodingMode)0,2u,4u,8u,16u,1u,8u>"
	fMerge   = "flashinfer::PersistentVariableLengthMergeStatesKernel<8u,16u,8u,4u,__nv_bfloat16>"
	fAct     = "flashinfer::activation::act_and_mul_kernel<__nv_bfloat16,&silu>"
	fGelu    = "flashinfer::activation::act_and_mul_kernel<__nv_bfloat16,&gelu_tanh>"
	fFused   = "flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<(flashinfer::trtllm_allreduce_fusion::AllReduceFusionPattern)1,__nv_bfloat16,8>"
	sStore   = "store_kvcache<1024l,4,false,long>"
	sQuant   = "per_token_group_quant_8bit_kernel<c10::BFloat16,c10::Float8_e4m3fn,128,true>"
	sReduce  = "sglang::cross_device_reduce_1stage<__nv_bfloat16,8>"
	deepGemm = "deep_gemm::sm90_fp8_gemm_1d2d_impl<7168u,2112u,1u,64u,128u,128u>"
	expert   = "fused_moe_kernel"
	conv     = "_causal_conv1d_fwd_kernel"
	convStep = "_causal_conv1d_update_kernel"
	gatedN   = "layer_norm_fwd_kernel"
)

// tile is the name of a tuned product of bf16 matrices: shapes differ by product, not by layer.
func tile(shape string) string { return "nvjet_tst_" + shape + "_v_bz_TNT" }

// head is what servers run after the last layer: the final norm comes first.
func head(norm string) string { return join(norm, tile("256x8_64x8_4x1"), copyEl, argmax) }
