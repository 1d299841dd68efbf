package gen

import (
	"cmp"
	"io"
)

// Case is a made-up run of a situation that the public traces do not show. The
// kernels are listed one by one instead of coming from a model, since it is their
// names and order that make the situation.
type Case struct {
	// Name says which situation it is, About what is hard about it.
	Name, About string
	// Layers is the number of decoder layers.
	Layers int
	// Passes are those of each GPU.
	Passes []Pass
	// TP is the tensor-parallel size, GPUs how many GPUs the file shows: each runs
	// all passes.
	TP, GPUs int
	// Dialect annotates the steps.
	Dialect Dialect
	// Framework is the server's name as its files spell it, in lower case.
	Framework string

	exact      bool   // times are as they are listed, and nothing is copied around passes
	rank       int    // of the first GPU
	scrambled  bool   // the times of each graph launch are mixed up
	ahead      bool   // the CPU launches a step while the GPU runs the one before
	head, tail []step // around the layers
	layer      func(i int, p Pass) []step
}

// step is one kernel of a case.
type step struct {
	name, category string
	dur            int64 // ns in a decode step
	gap            int64 // ns of idle stream before it, 0 for the usual
	ffn            bool  // belongs to the second half of its layer
	fill           bool  // clears memory
	grid           int   // 0 for the usual
}

// prefillFactor is how much longer the kernels of a case run in a prefill.
const prefillFactor = 8

// Cases returns all cases.
func Cases() []Case {
	return []Case{inductorNorms(), fusedAllReduce(), deepEP(), oneStepAhead(), twoGPUs()}
}

// Write writes the trace of the case to w as uncompressed JSON and returns the
// truth about its activities in the order of the file.
func (c Case) Write(w io.Writer) ([]Truth, error) {
	var all []Truth
	cfg := Config{
		Seed: 11, Arch: Arch{Layers: Uniform(c.Layers, Layer{})}, Passes: c.Passes, Dialect: c.Dialect, TP: c.TP,
		gpus: c.GPUs, NoShapes: true, Truth: func(t Truth) { all = append(all, t) },
	}
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg = cfg.withDefaults()
	cfg.Rank = c.rank
	out := &writer{w: w, cfg: &cfg}
	out.header()
	var end int64
	for gpu := range max(1, c.GPUs) {
		cfg.Rank, cfg.Seed = c.rank+gpu, cfg.Seed+1
		s := newSim(cfg)
		s.correlation += uint64(gpu) << 20
		s.external += uint64(gpu) << 20
		for range gpu {
			s.work(400_000) // the GPUs do not run in step
		}
		c.play(s)
		if c.scrambled {
			s.out.scramble()
		}
		out.thread = gpu
		out.events(&s.out)
		end = max(end, s.cpu, s.free[mainStream])
	}
	out.trailer([]int{7}, end+40_000)
	return all, out.err
}

// play runs the passes of one GPU.
func (c Case) play(s *sim) {
	var ends []int64
	for i, p := range c.Passes {
		s.now, s.stage, s.rows, s.graphs = p, p.Stage(), p.tokens(), 0
		if n := len(ends); c.ahead && n > 1 {
			s.await(ends[n-2])
		}
		s.work(30_000)
		s.pass = i
		s.annotate(stepName(c.Dialect, i, p), func() { c.pass(s, p) })
		s.pass = -1
		ends = append(ends, s.free[mainStream])
		if !c.ahead {
			s.await(s.free[mainStream])
		}
	}
	s.await(s.free[mainStream])
}

// pass runs one pass: inputs, prologue, layers, epilogue.
func (c Case) pass(s *sim, p Pass) {
	if !c.exact {
		s.copyMemory("Memcpy HtoD (Pinned -> Device)", 4096)
	}
	body := func() {
		s.layer = -1
		c.steps(s, p, c.head)
		for i := range c.Layers {
			s.layer = i
			c.steps(s, p, c.layer(i, p))
		}
		s.layer, s.half = -1, ""
	}
	if p.Mode == FullGraph {
		s.capture(body)
	} else {
		body()
	}
	c.steps(s, p, c.tail)
	if !c.exact {
		s.copyMemory("Memcpy DtoH (Device -> Pinned)", 64)
	}
}

// steps launches kernels in order.
func (c Case) steps(s *sim, p Pass, list []step) {
	factor := int64(1)
	if p.Prefills > 0 {
		factor = prefillFactor
	}
	for _, k := range list {
		s.half = ""
		if s.layer >= 0 {
			s.half = map[bool]string{false: halfAttention, true: "ffn"}[k.ffn]
		}
		q := queued{class: classKernel, name: k.name, category: k.category, dur: k.dur, grid: cmp.Or(k.grid, 132),
			gap: k.gap}
		if k.fill {
			q.class = classMemset
		}
		if !c.exact {
			dur := s.rng.around(k.dur*factor, 35)
			dur += dur * int64(s.cfg.Rank) / 10 // the second GPU works longer than the first
			q.dur = dur - dur%32
		}
		s.op("aten::op", "", func() { s.launch(q) })
	}
}

// ffn marks steps as the second half of their layer.
func ffn(list ...step) []step {
	for i := range list {
		list[i].ffn = true
	}
	return list
}

// join appends lists of steps.
func join(lists ...[]step) []step {
	var all []step
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

// decodes returns a prefill and n decode steps after it, replayed from graphs.
func decodes(n int) []Pass {
	passes := []Pass{{Prefills: 2, Tokens: 2048}}
	for range n {
		passes = append(passes, Pass{Mode: FullGraph, Decodes: 16, Context: 1024})
	}
	return passes
}

// Kernels that several cases run, by names as real traces show them.
var (
	embedding = step{name: "void at::native::(anonymous namespace)::indexSelectSmallIndex<c10::BFloat16, long, unsigned int, 2, 2, -2>(at::cuda::detail::TensorInfo<c10::BFloat16, unsigned int>)", category: "memory|elementwise|other", dur: 2600}
	qkv       = step{name: "nvjet_tst_64x8_64x16_4x1_v_bz_TNT", category: "gemm", dur: 9000}
	cacheFill = step{name: "void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, __nv_bfloat16, (vllm::Fp8KVCacheDataType)0>(__nv_bfloat16 const*, __nv_bfloat16 const*, __nv_bfloat16*, __nv_bfloat16*, long const*, long, long, long, long, long, int, int, int, float const*, float const*)", category: "kv_cache|memory", dur: 2400}
	attention = step{name: "void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<2, cute::tuple<cute::C<1>, cute::C<1>, cute::C<1>>, cute::tuple<cute::C<64>, cute::C<128>, cute::C<128>>, 128, cutlass::bfloat16_t, float, cutlass::arch::Sm90>>>>(flash::Params)", category: "attention", dur: 14000}
	outProj   = step{name: "nvjet_tst_64x8_64x16_2x1_v_bz_TNT", category: "gemm", dur: 6500}
	gateUp    = step{name: "nvjet_tst_128x8_64x12_4x1_v_bz_TNT", category: "gemm", dur: 15000}
	down      = step{name: "nvjet_tst_64x8_64x16_4x1_v_bz_splitK_TNT", category: "gemm", dur: 9500}
	siluMul   = step{name: "void flashinfer::activation::act_and_mul_kernel<__nv_bfloat16, &(float silu<float>(float const&))>(__nv_bfloat16*, __nv_bfloat16 const*, int)", category: "activation", dur: 2600}
	lmHead    = step{name: "nvjet_tst_256x8_64x8_4x1_v_bz_TNT", category: "gemm", dur: 46000}
	argMax    = step{name: "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::ArgMaxOps<float>, unsigned int, long, 4, 4>>(at::native::ReduceOp<float, at::native::ArgMaxOps<float>, unsigned int, long, 4, 4>)", category: "reduce_topk", dur: 9800}
	gather    = step{name: "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
		category: "communication", dur: 16000}
	rmsNorm   = step{name: "void flashinfer::norm::RMSNormKernel<8u, __nv_bfloat16>(__nv_bfloat16*, __nv_bfloat16*, __nv_bfloat16*, unsigned int, unsigned int, unsigned int, float, float)", category: "norm", dur: 2400}
	addNorm   = step{name: "void flashinfer::norm::FusedAddRMSNormKernel<8u, __nv_bfloat16>(__nv_bfloat16*, __nv_bfloat16*, __nv_bfloat16*, unsigned int, unsigned int, unsigned int, float, float)", category: "norm", dur: 2800}
	ropeStep  = step{name: "void flashinfer::BatchQKApplyRotaryPosIdsCosSinCacheEnhancedKernel<false, true, 128u, 8u, 32u, __nv_bfloat16, long>(flashinfer::RopeQuantizeParams)", category: "rope", dur: 2300}
	decodeMHA = step{name: "void flashinfer::BatchDecodeWithPagedKVCacheKernel<(flashinfer::PosEncodingMode)0, 2u, 4u, 8u, 16u, 1u, 8u, flashinfer::DefaultAttention<false, false, false, false>>(flashinfer::DecodeParams)", category: "attention", dur: 12000}
)

// Ahead reports whether the CPU launches a step while the GPU still runs the one
// before.
func (c Case) Ahead() bool { return c.ahead }
