package gen

// The times of the collectives of [Llama70B] in ns: how long data are under way, what each rank waits in turns, and
// what rank 0 waits in the first collective of a pass, which the others reach late.
const (
	transfer70B  = 3200
	waitStep70B  = 608
	firstWait70B = 25_000
	ranks70B     = 4
)

// Llama70B is what one of four H100 records of Llama-3.1-70B on vLLM while it decodes one token for one request
// after 1050 others, five times, each a replay of one graph. Rank 0 has the times of a run that was reckoned through
// by hand: 17.774 ms a step, 1.1 ms between steps, products at 58 to 87% of the memory's bandwidth. On other ranks
// the product before a collective takes longer or shorter, so that ranks reach it at different times; all of them end
// it together. Nothing is left to chance.
func Llama70B(rank int) Case {
	passes := make([]Pass, 5)
	for i := range passes {
		passes[i] = Pass{Mode: FullGraph, Decodes: 1, Context: 1050}
	}
	return Case{
		Name: "llama70b-tp4", About: "a decode of one token whose time was reckoned through by hand",
		Layers: 80, Passes: passes, Framework: "vllm", TP: ranks70B, Dialect: VLLM, exact: true, rank: rank,
		head: []step{
			named(embedding, 2600+firstWait70B-first70B(rank), 1_100_000),
			{name: reduce70B, category: "communication", dur: transfer70B + first70B(rank), gap: gap70B, grid: 8},
		},
		layer: func(i int, _ Pass) []step {
			all := layer70B(2*i, rank)
			if i == 0 {
				return all[1:] // nothing to add yet
			}
			return all
		},
		tail: []step{
			named(add70B, small70B, gap70B), named(step{name: norm70B, category: "norm"}, small70B, gap70B),
			named(lmHead, 180_250, gap70B), named(gather, 15_880, gap70B), named(argMax, 52_700, gap70B),
			named(step{name: "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)>(int)", category: "memory|elementwise"}, 7667, gap70B),
		},
	}
}

const (
	// gap70B is the idle time before each kernel of a pass.
	gap70B = 868
	// small70B is what each of the eight small kernels of a layer takes: no kernel of this GPU is much shorter.
	small70B  = 2033
	norm70B   = "void vllm::rms_norm_kernel<c10::BFloat16, 8, 2>(c10::BFloat16*, c10::BFloat16 const*, long, c10::BFloat16 const*, float, int, int)"
	reduce70B = "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 4>(vllm::RankData*, vllm::RankSignals, vllm::Signal*, __nv_bfloat16*, int, int)"
)

var add70B = step{name: "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul>>(int, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul>)", category: "elementwise"}

// first70B is what a rank waits in the first collective of a pass, wait70B in collective i of the layers: in each,
// one rank is the last.
func first70B(rank int) int64 {
	return firstWait70B * int64(ranks70B-1-rank) / (ranks70B - 1)
}

func wait70B(i, rank int) int64 { return waitStep70B * int64((i+rank)%ranks70B) }

// named is a kernel with its time.
func named(k step, dur, gap int64) step {
	k.dur, k.gap, k.grid = dur, gap, max(k.grid, 1)
	return k
}

// layer70B is one layer; i numbers its first collective.
func layer70B(i, rank int) []step {
	small := func(name, category string) step { return named(step{name: name, category: category}, small70B, gap70B) }
	fill := func() step {
		return step{name: "Memset (Device)", category: "memory", dur: 1400, gap: gap70B, fill: true}
	}
	// What a rank waits less than rank 0, the product before takes longer.
	product := func(name string, dur int64, meets int) step {
		return step{name: name, category: "gemm", dur: dur + wait70B(meets, 0) - wait70B(meets, rank), gap: gap70B}
	}
	reduce := func(i int) step {
		return step{name: reduce70B, category: "communication", dur: transfer70B + wait70B(i, rank), gap: gap70B,
			grid: 8}
	}
	alone := func(name string, dur int64) step { return step{name: name, category: "gemm", dur: dur, gap: gap70B} }
	add := named(add70B, small70B, gap70B)
	norm := small(norm70B, "norm")
	return join([]step{
		add, norm, fill(),
		alone("nvjet_tst_64x8_64x16_4x1_v_bz_splitK_TNT", 17_800),
		alone("void cublasLt::splitKreduce_kernel<32, 16, int, float, __nv_bfloat16, float, __nv_bfloat16, false, true, false>(cublasLt::cublasSplitKParams<float>, float const*, __nv_bfloat16*, void*, long, float*, int*)", 2394),
		small("triton_poi_fused_cat_3", "rope|elementwise"), small("triton_poi_fused_cat_4", "rope|elementwise"),
		small(cacheFill.name, cacheFill.category),
		named(attention, 10_400, gap70B),
		{name: "void cutlass::device_kernel<flash::FlashAttnFwdCombine<cute::tuple<cute::C<8>, cute::C<128>>, 5, 256, 1, true, true, cutlass::bfloat16_t, float, cutlass::arch::Sm90>>(flash::Params)", category: "attention", dur: 2450, gap: gap70B, grid: 1},
		fill(),
		product("nvjet_tst_64x8_64x16_2x1_v_bz_TNT", 17_269, i), reduce(i),
	}, ffn(
		add, norm,
		alone("nvjet_tst_128x8_64x12_4x1_v_bz_TNT", 82_170),
		small("void vllm::act_and_mul_kernel<c10::BFloat16, &(c10::BFloat16 vllm::silu_kernel<c10::BFloat16>(c10::BFloat16 const&)), true>(c10::BFloat16*, c10::BFloat16 const*, int)", "activation"),
		product("nvjet_tst_64x8_64x16_4x1_v_bz_TNT", 42_237, i+1), reduce(i+1),
	))
}
