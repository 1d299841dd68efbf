package gen

// role is what a kernel does in the model, independent of the vendor.
type role uint8

const (
	roleEmbed role = iota
	roleNorm
	roleAddNorm
	roleQKV
	roleQKNorm
	roleRope
	roleStoreKV
	rolePrefillAttn
	roleDecodeAttn
	roleOut
	roleSplitK
	roleReduceK
	roleAllReduceBig
	roleAllReduceSmall
	roleGateUp
	roleAct
	roleDown
	roleRouter
	roleTopK
	roleAlign
	roleExpert1
	roleExpert2
	roleExpertSum
	roleSharedGateUp
	roleSharedDown
	roleAdd
	roleInProj
	roleConv
	roleScan
	roleState
	roleGatedNorm
	roleMixOut
	roleLMHead
	roleCast
	roleArgMax
	numRoles
)

// kernelKind is what one role looks like in a trace.
type kernelKind struct {
	names    [2][]string // by Vendor; the first is the usual one, the others tile variants
	category string      // see Truth.Category
	base     int64       // ns of a decode step with few rows
	perRow   int64       // ps more for each row of the batch at hidden size 2048
	op       string
}

// kinds are names as real traces show them (function and template shape;
// parameters shortened) with the triage category of each.
var kinds = [numRoles]kernelKind{
	roleEmbed: {[2][]string{
		{"void at::native::(anonymous namespace)::indexSelectSmallIndex<c10::BFloat16, long, unsigned int, 2, 2, -2>(at::cuda::detail::TensorInfo<c10::BFloat16, unsigned int>, at::cuda::detail::TensorInfo<c10::BFloat16 const, unsigned int>, at::cuda::detail::TensorInfo<long const, unsigned int>, int, int, unsigned int, long)"},
		{"void at::native::(anonymous namespace)::vectorized_gather_kernel<16, long>(char*, char*, long*, int, long, long, long, long, bool)"},
	}, "memory|elementwise|other", 2400, 1500, "aten::embedding"},
	roleNorm: {[2][]string{
		{"void flashinfer::norm::RMSNormKernel<8u, __nv_bfloat16>(__nv_bfloat16*, __nv_bfloat16*, __nv_bfloat16*, unsigned int, unsigned int, unsigned int, float, float)"},
		{"_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi256ELi8ELb0ELb0ELb1ELi1EEEvPT0_PT_PfS4_S4_S4_diiiiiiib"},
	}, "norm", 2300, 1100, "sgl_kernel::rmsnorm"},
	roleAddNorm: {[2][]string{
		{"void flashinfer::norm::FusedAddRMSNormKernel<8u, __nv_bfloat16>(__nv_bfloat16*, __nv_bfloat16*, __nv_bfloat16*, unsigned int, unsigned int, unsigned int, float, float)"},
		{"_ZN5aiter24add_rmsnorm_quant_kernelIDF16bDF16bLi256ELi8ELb1ELb0ELb1ELi1EEEvPT0_PT_PfS4_S4_S4_diiiiiiib"},
	}, "norm", 2700, 1500, "sgl_kernel::fused_add_rmsnorm"},
	roleQKV: {[2][]string{
		{"nvjet_tst_64x8_64x16_4x1_v_bz_TNT", "nvjet_tst_128x128_64x6_2x1_v_bz_coopA_TNT",
			"nvjet_tst_192x64_64x8_1x2_h_bz_TNT"},
		{"Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT64x16x256_MI16x16x1_SN_LDSB0_AFC1_GRVWA8_PLR1",
			"Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT128x32x128_MI16x16x1_SN_LDSB1_AFC1_GRVWA8_PLR1"},
	}, "gemm", 7200, 21000, "aten::mm"},
	roleQKNorm: {[2][]string{
		{"void (anonymous namespace)::fused_qknorm_warp<128l, true, __nv_bfloat16>((anonymous namespace)::QKNormParams)"},
		{"_ZN7ck_tile6kentryILi1ENS_12Rmsnorm2dFwdINS_27Rmsnorm2dFwdPipelineOnePassINS_27Rmsnorm2dFwdPipelineProblemIDF16bDF16bfDF16bDF16bDF16bffEEEEEEEEvDpT0_"},
	}, "norm", 2600, 900, "sgl_kernel::qk_norm"},
	roleRope: {[2][]string{
		{"void flashinfer::BatchQKApplyRotaryPosIdsCosSinCacheEnhancedKernel<false, true, 128u, 8u, 32u, __nv_bfloat16, long>(flashinfer::RopeQuantizeParams)"},
		{"void rotary_embedding_kernel<c10::BFloat16, true>(long const*, c10::BFloat16*, c10::BFloat16*, c10::BFloat16 const*, int, long, long, long, int, int, int)"},
	}, "rope", 2200, 800, "sgl_kernel::apply_rope_pos_ids_cos_sin_cache"},
	roleStoreKV: {[2][]string{
		{"void (anonymous namespace)::store_kvcache<1024l, 4, false, long>((anonymous namespace)::StoreKVCacheParams)"},
		{"void (anonymous namespace)::store_kvcache<2048l, 4, false, long>((anonymous namespace)::StoreKVCacheParams)"},
	}, "kv_cache|memory", 1900, 400, "sglang::store_cache"},
	rolePrefillAttn: {[2][]string{
		{"void flashinfer::BatchPrefillWithRaggedKVCacheKernel<flashinfer::KernelTraits<(flashinfer::MaskMode)1, 128u, 2u, 4u, 8u, 8u, 4u, 1u, (flashinfer::PosEncodingMode)0, __nv_bfloat16, __nv_bfloat16, __nv_bfloat16, float, int>>(flashinfer::RaggedParams)"},
		{"_ZN7ck_tile6kentryILi2ENS_38FmhaBatchPrefillWithPagedKVCacheKernelINS_40BlockFmhaBatchPrefillPipelineQRKSVSAsyncIDF16bEEEEEEvDpT0_"},
	}, "attention", 9000, 26000, "sglang::unified_attention_with_output"},
	roleDecodeAttn: {[2][]string{
		{"void flashinfer::BatchDecodeWithPagedKVCacheKernel<(flashinfer::PosEncodingMode)0, 2u, 4u, 8u, 16u, 1u, 8u, flashinfer::DefaultAttention<false, false, false, false>>(flashinfer::DecodeParams)"},
		{"void paged_attention_ll4mi_QKV_mfma16_kernel<__hip_bfloat16, __hip_bfloat16, 16, 128, 256, false, 8>(__hip_bfloat16 const*, __hip_bfloat16 const*, __hip_bfloat16 const*)"},
	}, "attention", 9500, 180000, "sglang::unified_attention_with_output"},
	roleOut: {[2][]string{
		{"nvjet_tst_64x8_64x16_2x1_v_bz_TNT", "nvjet_tst_128x64_64x8_2x1_v_bz_TNT",
			"nvjet_tst_64x64_64x13_1x2_h_bz_TNT"},
		{"Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT32x16x512_MI16x16x1_SN_LDSB0_AFC1_GRVWA8_PLR1",
			"Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT64x32x256_MI16x16x1_SN_LDSB0_AFC1_GRVWA8_PLR1"},
	}, "gemm", 6100, 14000, "aten::mm"},
	roleSplitK: {[2][]string{
		{"nvjet_tst_64x8_64x16_2x1_v_bz_splitK_TNT"},
		{"Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT32x16x512_MI16x16x1_SN_GSU4_LDSB0_AFC1_GRVWA8_PLR1"},
	}, "gemm", 4100, 9000, "aten::mm"},
	roleReduceK: {[2][]string{
		{"void cublasLt::splitKreduce_kernel<32, 16, int, float, __nv_bfloat16, float, __nv_bfloat16, false, float, __nv_bfloat16, __nv_bfloat16, true, false, false>(cublasLt::cublasSplitKParams<float>, float const*, __nv_bfloat16 const*, __nv_bfloat16*, float*, float const*, float const*, __nv_bfloat16 const*, float const*, void*, long, float*, int*)"},
		{"Cijk_BBS_BH_PostGSU4_VW4"},
	}, "gemm", 2300, 1200, "aten::mm"},
	roleAllReduceBig: {[2][]string{
		{"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"},
		{"ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)"},
	}, "communication", 21000, 22000, "c10d::allreduce_"},
	roleAllReduceSmall: {[2][]string{
		{"void sglang::cross_device_reduce_1stage<__nv_bfloat16, 2>(sglang::RankData*, sglang::RankSignals, sglang::Signal*, __nv_bfloat16*, int, int)"},
		{"void aiter::cross_device_reduce_1stage<__hip_bfloat16, 2>(aiter::RankData*, aiter::RankSignals, aiter::Signal*, __hip_bfloat16*, int, int)"},
	}, "communication", 6600, 3000, "sglang::inplace_all_reduce"},
	roleGateUp: {[2][]string{
		{"nvjet_tst_128x8_64x12_4x1_v_bz_TNT", "nvjet_tst_256x128_64x4_2x1_v_bz_coopA_TNT"},
		{"Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT128x16x256_MI16x16x1_SN_LDSB0_AFC1_GRVWA8_PLR1",
			"Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x32x64_MI16x16x1_SN_LDSB1_AFC1_GRVWA8_PLR1"},
	}, "gemm", 12600, 44000, "aten::mm"},
	roleAct: {[2][]string{
		{"void flashinfer::activation::act_and_mul_kernel<__nv_bfloat16, &(float silu<float>(float const&))>(__nv_bfloat16*, __nv_bfloat16 const*, int)"},
		{"_ZN7sgl_hip10activation18act_and_mul_kernelI14__hip_bfloat16TnPFT_RKS3_EXadL_Z4siluIS2_ES3_S5_EEEEvPS3_PS4_i"},
	}, "activation", 2200, 1600, "sgl_kernel::silu_and_mul"},
	roleDown: {[2][]string{
		{"nvjet_tst_64x8_64x16_4x1_v_bz_splitK_TNT", "nvjet_tst_128x64_64x10_2x1_v_bz_TNT"},
		{"Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT64x16x512_MI16x16x1_SN_LDSB0_AFC1_GRVWA8_PLR1",
			"Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT128x16x256_MI16x16x1_SN_LDSB1_AFC1_GRVWA8_PLR1"},
	}, "gemm", 8300, 23000, "aten::mm"},
	roleRouter: {[2][]string{
		{"void gemmSN_TN_kernel<float, 128, 16, 2, 4, 2, 2, true, cublasGemvTensorStridedBatched<__nv_bfloat16 const>>(cublasGemmSmallNParams)"},
		{"Cijk_Alik_Bljk_BSS_BH_HA_S_SAV_UserArgs_MT16x16x512_MI16x16x1_SN_LDSB0_AFC1_GRVWA4_PLR1"},
	}, "gemm|moe", 3600, 1800, "aten::mm"},
	roleTopK: {[2][]string{
		{"void topkGatingSoftmax<float, 8, 32, 4, 16>(float const*, bool const*, float*, int, int*, int, int, int, bool)"},
		{"aiter::topksoftmax_4x32x8_bf16"},
	}, "moe|reduce_topk|softmax", 2900, 500, "sgl_kernel::topk_softmax"},
	roleAlign: {[2][]string{
		{"void moe_align_block_size_kernel<int>(int const*, int*, int*, int*, int, int, int, unsigned long, int*)"},
		{"void ck_tile::moe_sorting_kernel<ck_tile::MoeSortingProblem<int, float, 4, true>>(ck_tile::MoeSortingHostArgs)"},
	}, "moe", 3400, 700, "sgl_kernel::moe_align_block_size"},
	roleExpert1: {[2][]string{
		{"fused_moe_kernel"},
		{"void ck::kernel_moe_gemm<ck::GridwiseMoeGemm<ck::tensor_layout::gemm::RowMajor, ck::tensor_layout::gemm::ColumnMajor, 0>>(ck::MoeGemmArgument)"},
	}, "moe|gemm", 31000, 52000, "sglang::inplace_fused_experts"},
	roleExpert2: {[2][]string{
		{"fused_moe_kernel"},
		{"void ck::kernel_moe_gemm<ck::GridwiseMoeGemm<ck::tensor_layout::gemm::RowMajor, ck::tensor_layout::gemm::ColumnMajor, 1>>(ck::MoeGemmArgument)"},
	}, "moe|gemm", 18000, 27000, "sglang::inplace_fused_experts"},
	roleExpertSum: {[2][]string{
		{"void moe_sum_reduce_warp_per_token_vec_kernel<8>(c10::BFloat16 const*, c10::BFloat16*, long, long, long, float)"},
		{"void moe_sum_reduce_warp_per_token_vec_kernel<8>(c10::BFloat16 const*, c10::BFloat16*, long, long, long, float)"},
	}, "moe|reduce_topk", 2500, 1300, "sgl_kernel::moe_sum_reduce"},
	roleSharedGateUp: {[2][]string{
		{"nvjet_tst_64x8_64x16_1x4_h_bz_TNT"},
		{"Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT32x32x256_MI16x16x1_SN_LDSB0_AFC1_GRVWA8_PLR1"},
	}, "gemm", 7000, 17000, "aten::mm"},
	roleSharedDown: {[2][]string{
		{"nvjet_tst_64x8_64x16_1x2_h_bz_splitK_TNT"},
		{"Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT32x16x256_MI16x16x1_SN_LDSB0_AFC1_GRVWA8_PLR1"},
	}, "gemm", 5200, 9000, "aten::mm"},
	roleAdd: {[2][]string{
		{"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul>>(int, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul>)"},
		{"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul>>(int, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul>)"},
	}, "elementwise", 1900, 1100, "aten::add_"},
	roleInProj: {[2][]string{
		{"nvjet_tst_128x8_64x12_2x1_v_bz_TNT", "nvjet_tst_128x256_64x4_2x1_v_bz_coopA_TNT"},
		{"Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT128x16x128_MI16x16x1_SN_LDSB0_AFC1_GRVWA8_PLR1"},
	}, "gemm", 9100, 30000, "aten::mm"},
	roleConv: {[2][]string{
		{"_causal_conv1d_update_kernel"}, {"_causal_conv1d_update_kernel"},
	}, "hybrid_linear", 2800, 1200, "sglang::causal_conv1d"},
	roleScan: {[2][]string{
		{"_chunk_scan_fwd_kernel"}, {"_chunk_scan_fwd_kernel"},
	}, "hybrid_linear", 8800, 9000, "sglang::mamba_chunk_scan"},
	roleState: {[2][]string{
		{"_selective_scan_update_kernel"}, {"_selective_scan_update_kernel"},
	}, "hybrid_linear", 6400, 7000, "sglang::selective_state_update"},
	roleGatedNorm: {[2][]string{
		{"_layer_norm_fwd_1pass_kernel"}, {"_layer_norm_fwd_1pass_kernel"},
	}, "norm", 2400, 1200, "sglang::rms_norm_gated"},
	roleMixOut: {[2][]string{
		{"nvjet_tst_64x8_64x16_2x1_v_bz_TNN"},
		{"Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT32x16x128_MI16x16x1_SN_LDSB0_AFC1_GRVWA8_PLR1"},
	}, "gemm", 6000, 15000, "aten::mm"},
	roleLMHead: {[2][]string{
		{"nvjet_tst_256x8_64x8_4x1_v_bz_TNT"},
		{"Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x16x128_MI16x16x1_SN_LDSB0_AFC1_GRVWA8_PLR1"},
	}, "gemm", 46000, 3000, "aten::mm"},
	roleCast: {[2][]string{
		{"void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda()#7}::operator()() const::{lambda(float)#1}, std::array<char*, 2ul>, 4, TrivialOffsetCalculator<1, unsigned int>, TrivialOffsetCalculator<1, unsigned int>, at::native::memory::LoadWithCast<1>, at::native::memory::StoreWithCast<1>>(int, at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3})"},
		{"void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda()#7}::operator()() const::{lambda(float)#1}, std::array<char*, 2ul>, 4, TrivialOffsetCalculator<1, unsigned int>, TrivialOffsetCalculator<1, unsigned int>, at::native::memory::LoadWithCast<1>, at::native::memory::StoreWithCast<1>>(int, at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3})"},
	}, "elementwise|memory|sampling_io|other", 3100, 1200, "aten::to"},
	roleArgMax: {[2][]string{
		{"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::ArgMaxOps<float>, unsigned int, long, 4, 4>>(at::native::ReduceOp<float, at::native::ArgMaxOps<float>, unsigned int, long, 4, 4>)"},
		{"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::ArgMaxOps<float>, unsigned int, long, 4, 4>>(at::native::ReduceOp<float, at::native::ArgMaxOps<float>, unsigned int, long, 4, 4>)"},
	}, "reduce_topk", 9800, 2000, "aten::argmax"},
}
