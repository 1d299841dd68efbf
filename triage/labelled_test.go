package triage_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/triage"
)

// NOTE. The labelled set. Each case runs a model in a framework: kernels in the order of the published model code,
// each takes a launch and the time of its bytes. The generator notes which kernels are one chain, what one
// kernel in their place would take, and whether the framework's documentation offers one on this GPU, model and size.
// Nothing here asks the registry or the matcher.

// labModel is a model by its published code.
type labModel struct {
	name                                   string
	hidden, heads, kv, dim, inter, experts int
	// LayerNorm; norm of each head; norms after each half; MLP without a gate; no rotation
	layerNorm, qkNorm, postNorms, plain, latin bool
	act                                        string
}

// labModels: Llama, Qwen2, Mistral, Phi-3, Granite and SmolLM share one structure; Qwen3 and OLMo 2 normalise heads,
// Gemma 2 has two norms more in each half, GPT-2, BERT, OPT and CLIP have LayerNorm and no gate, Mixtral and
// Qwen3-MoE experts.
var labModels = []labModel{
	{name: "llama-3.1-8b", hidden: 4096, heads: 32, kv: 8, dim: 128, inter: 14336, act: kSilu},
	{name: "llama-3.1-70b", hidden: 8192, heads: 64, kv: 8, dim: 128, inter: 28672, act: kSilu},
	{name: "qwen2.5-7b", hidden: 3584, heads: 28, kv: 4, dim: 128, inter: 18944, act: kSilu},
	{name: "mistral-7b", hidden: 4096, heads: 32, kv: 8, dim: 128, inter: 14336, act: kSilu},
	{name: "phi-3-mini", hidden: 3072, heads: 32, kv: 32, dim: 96, inter: 8192, act: kSilu},
	{name: "granite-3-2b", hidden: 2048, heads: 32, kv: 8, dim: 64, inter: 8192, act: kSilu},
	{name: "smollm2-1.7b", hidden: 2048, heads: 32, kv: 32, dim: 64, inter: 8192, act: kSilu},
	{name: "qwen3-8b", hidden: 4096, heads: 32, kv: 8, dim: 128, inter: 12288, qkNorm: true, act: kSilu},
	{name: "olmo-2-7b", hidden: 4096, heads: 32, kv: 32, dim: 128, inter: 11008, qkNorm: true, act: kSilu},
	{name: "gemma-2-9b", hidden: 3584, heads: 16, kv: 8, dim: 256, inter: 14336, postNorms: true, act: kGelu},
	{name: "gpt2-xl", hidden: 1600, heads: 25, kv: 25, dim: 64, inter: 6400, layerNorm: true, plain: true, latin: true,
		act: "gelu_new"},
	{name: "bert-large", hidden: 1024, heads: 16, kv: 16, dim: 64, inter: 4096, layerNorm: true, plain: true,
		latin: true, act: kGelu},
	{name: "opt-6.7b", hidden: 4096, heads: 32, kv: 32, dim: 128, inter: 16384, layerNorm: true, plain: true,
		latin: true, act: kRelu},
	{name: "clip-vit-l", hidden: 1024, heads: 16, kv: 16, dim: 64, inter: 4096, layerNorm: true, plain: true,
		latin: true, act: "quick_gelu"},
	{name: "mixtral-8x7b", hidden: 4096, heads: 32, kv: 8, dim: 128, inter: 14336, experts: 8, act: kSilu},
	{name: "qwen3-30b-a3b", hidden: 2048, heads: 32, kv: 4, dim: 128, inter: 768, qkNorm: true, experts: 128,
		act: kSilu},
}

const (
	kGelu     = "void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&, at::native::GeluType)::{lambda()#2}, std::array<char*, 2ul> >(int)|aten::gelu"
	kRelu     = "void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous namespace)::launch_clamp_scalar(at::TensorIteratorBase&)::{lambda()#1}, std::array<char*, 2ul> >(int)|aten::relu"
	kSigmoid  = "void at::native::vectorized_elementwise_kernel<4, at::native::sigmoid_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}, std::array<char*, 2ul> >(int)|aten::sigmoid"
	kWiden    = "void at::native::unrolled_elementwise_kernel<at::native::bfloat16tofloat32_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda(c10::BFloat16)#1}>(int)|aten::copy_"
	kNarrow   = "void at::native::vectorized_elementwise_kernel<4, at::native::bfloat16_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda(float)#1}, std::array<char*, 2ul> >(int)|aten::copy_"
	kAddEps   = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctorOnSelf_add<float>, std::array<char*, 2ul> >(int)|aten::add"
	kScale    = "void at::native::vectorized_elementwise_kernel<4, at::native::AUnaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float> >, std::array<char*, 2ul> >(int)|aten::mul"
	kBmm      = "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_tn|aten::bmm"
	kLayerN   = "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float>(int)|aten::native_layer_norm"
	kTopkGate = "void vllm::moe::topkGatingSoftmax<4, 8, 4, 16>(x)"
)

// labCase is a model in a framework on a GPU.
type labCase struct {
	labModel
	framework, gpu string
	tp, tokens     int
	decode, shapes bool
	compiled       bool // vLLM with Inductor
	replay         bool // kernels come from graphs
	fp8, eager     bool // quantised activations; attention in pieces
}

func (c *labCase) String() string {
	return fmt.Sprintf("%s %s %s tp%d %d tokens decode=%v compiled=%v replay=%v fp8=%v eager=%v", c.name, c.framework,
		c.gpu, c.tp, c.tokens, c.decode, c.compiled, c.replay, c.fp8, c.eager)
}

// labChain is what is true of a chain.
type labChain struct {
	ns, fused float64
	times     int
	asks      bool
	kernels   map[int]bool
}

// lab writes a trace and what is true of it.
type lab struct {
	labCase
	b              *trace.Builder
	rng            *rand.Rand
	at             float64
	id             uint64
	index          int
	launch, band   float64 // ns, bytes a ns
	flop           float64 // a ns
	float          bool    // tensors are of single precision
	chains         map[string]*labChain
	all, last      float64 // time of all kernels, and of the last
	cur            *labChain
	curNS, curKept float64 // of the open occurrence; what its products and exchanges keep
}

// kernel runs a kernel that reads and writes these bytes, at the speed of the memory; dims are recorded with its op.
func (l *lab) kernel(name string, bytes float64, dims ...string) {
	l.run(name, l.launch+bytes/l.band, dims)
}

func (l *lab) run(name string, ns float64, dims []string) {
	ns *= 1 + .03*(l.rng.Float64()-.5)
	name, op, _ := strings.Cut(name, "|")
	start := int64(l.at)
	e := trace.EventData{Kind: event.Kernel, Name: name, Start: start, Duration: int64(ns), Stream: 7}
	if l.replay {
		e.Correlation, e.GraphNode = l.id, uint64(l.index+1)
	} else {
		l.id++
		if op != "" {
			d := trace.EventData{Kind: event.Op, Name: op, Start: start - 9000, Duration: 1500, Thread: 1,
				ExternalID: l.id}
			if l.shapes && len(dims) > 0 {
				d.Shape = "[" + strings.Join(dims, ", ") + "]"
				types := map[bool]string{true: "float", false: "c10::BFloat16"}
				list := make([]string, len(dims))
				for i := range list {
					list[i] = `"` + types[l.float] + `"`
				}
				if op == "aten::copy_" { // what is written, and what is read in the other type
					list[1] = `"` + types[!l.float] + `"`
				}
				d.Types = "[" + strings.Join(list, ", ") + "]"
			}
			l.b.Add(d)
			e.ExternalID = l.id
		}
		l.b.Add(trace.EventData{Kind: event.Runtime,
			Name: map[bool]string{true: "hipLaunchKernel", false: "cudaLaunchKernel"}[l.rocm()], Start: start - 8500,
			Duration: 500, Thread: 1, Correlation: l.id})
		e.Correlation = l.id
	}
	l.b.Add(e)
	l.all += ns
	l.last = ns
	if l.cur != nil {
		l.cur.kernels[l.index] = true
		l.curNS += ns
	}
	l.index++
	l.at += float64(int64(ns)) + 800
}

// product runs a product, or what else one kernel in place of a chain would still have to do.
func (l *lab) product(name string, flop float64) {
	ns := max(l.launch+1000, flop/l.flop)
	l.run(name, ns, nil)
	l.curKept += ns
}

// chain runs kernels; one in their place would move needed bytes; asks says that the framework offers it here.
func (l *lab) chain(name string, asks bool, needed float64, kernels func()) {
	if l.chains[name] == nil {
		l.chains[name] = &labChain{asks: asks, kernels: map[int]bool{}}
	}
	l.cur, l.curNS, l.curKept = l.chains[name], 0, 0
	kernels()
	c := l.cur
	c.ns += l.curNS
	c.times++
	if l.curKept > 0 {
		c.fused += l.curKept + needed/l.band
	} else {
		c.fused += l.launch + needed/l.band
	}
	l.cur = nil
}

func (l *lab) rocm() bool { return strings.Contains(l.gpu, "MI3") }
func (l *lab) hopper() bool {
	return strings.Contains(l.gpu, "H100") || strings.Contains(l.gpu, "B200")
}

func (l *lab) dims(n ...int) string { return strings.ReplaceAll(fmt.Sprint(n), " ", ", ") }

// norm is the residual sum and the norm after it, as the framework runs them.
func (l *lab) norm(first bool) {
	t := float64(2 * l.tokens * l.hidden)
	x := l.dims(1, l.tokens, l.hidden)
	one := l.dims(1, l.tokens, 1)
	switch {
	case l.framework == "" && l.layerNorm && first:
		l.kernel(kLayerN, 2*t, x)
	case l.framework == "" && l.layerNorm:
		l.chain("residual add + LayerNorm", true, 4*t, func() {
			l.kernel(kAdd, 3*t, x, x)
			l.kernel(kLayerN, 2*t, x)
		})
	case l.framework == "":
		needed := 4 * t
		if first {
			needed = 2 * t
		}
		l.chain(fmt.Sprint("RMSNorm in pieces ", first), true, needed, func() {
			if !first {
				l.kernel(kAdd, 3*t, x, x)
			}
			l.float = true
			l.kernel(kWiden, 3*t, x, x)
			l.kernel(kSquare, 4*t, x)
			l.kernel(kMean, 2*t, x)
			l.kernel(kAddEps, 8*float64(l.tokens), one)
			l.kernel(kRsqrt, 8*float64(l.tokens), one)
			l.kernel(kMul, 4*t, x, one)
			l.float = false
			l.kernel(kNarrow, 3*t, x, x)
			l.kernel(kMul, 2*t, x)
		})
	case l.tp > 1 && !first:
		l.reduceNorm(t)
	case l.fp8:
		l.chain("norm + quantisation", l.framework == "vLLM" && (l.hopper() || l.rocm()), 3.5*t, func() {
			l.kernel(l.addNorm(), 4*t)
			l.kernel(kQuant, 1.5*t)
		})
	default:
		l.kernel(l.addNorm(), 4*t)
	}
}

func (l *lab) addNorm() string {
	if l.compiled {
		return "triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_0"
	}
	return kAddNorm
}

// reduceNorm is a norm after a sum over ranks. vLLM fuses it on sm90 and sm10x up to 64, 2 and 0.5 MiB with 2, 4 and
// 8 ranks on sm90, 64, 32 and 1 on sm100, and with AITER; SGLang on the same GPUs up to 2048 tokens, and with AITER
// up to 64 MiB; TensorRT-LLM everywhere.
func (l *lab) reduceNorm(t float64) {
	limit := map[string]map[int]float64{"H100": {2: 64, 4: 2, 8: .5}, "B200": {2: 64, 4: 32, 8: 1}}
	asks := false
	switch {
	case l.framework == "TensorRT-LLM":
		asks = true
	case l.rocm():
		asks = l.framework == "vLLM" || t <= 64<<20
	case l.framework == "SGLang":
		asks = l.hopper() && l.tokens <= 2048
	default:
		for gpu, sizes := range limit {
			asks = asks || strings.Contains(l.gpu, gpu) && t <= sizes[l.tp]*(1<<20)
		}
	}
	l.chain("all-reduce + norm", asks, 3*t, func() {
		ns := l.launch + 3000 + 2*t/l.band*8
		l.run(kReduce, ns, nil)
		l.curKept += ns
		l.kernel(l.addNorm(), 4*t)
	})
}

// heads returns the kernels between the projections and attention: norms of heads, rotation, cache.
func (l *lab) headsAndCache() {
	q, k := float64(2*l.tokens*l.heads*l.dim), float64(2*l.tokens*l.kv*l.dim)
	if l.framework == "" {
		if l.latin {
			return
		}
		l.chain("rotary embedding in pieces", true, 2*(q+k), func() {
			for _, t := range []struct {
				bytes float64
				dims  string
				half  string
			}{{q, l.dims(1, l.heads, l.tokens, l.dim), l.dims(1, l.heads, l.tokens, l.dim/2)},
				{k, l.dims(1, l.kv, l.tokens, l.dim), l.dims(1, l.kv, l.tokens, l.dim/2)}} {
				l.kernel(kMul, 2*t.bytes, t.dims)
				l.kernel(kNeg, t.bytes, t.half)
				l.kernel(kCat, 2*t.bytes, "["+t.half+", "+t.half+"]")
				l.kernel(kMul, 2*t.bytes, t.dims)
				l.kernel(kAdd, 3*t.bytes, t.dims, t.dims)
			}
		})
		return
	}
	write := "void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, __nv_bfloat16, (vllm::Fp8KVCacheDataType)0>(x)"
	rope := kRope
	switch {
	case l.framework == "SGLang":
		write = "store_kvcache"
	case l.framework == "TensorRT-LLM":
		// its attention op rotates and writes the cache in one kernel
		if l.qkNorm {
			l.kernel("void tensorrt_llm::kernels::fusedQKNormRopeKernel<128, true>(x)", 2*(q+k))
		}
		l.kernel("void tensorrt_llm::kernels::applyBiasRopeUpdateKVCacheV2<__nv_bfloat16, 128>(x)", 2*(q+2*k))
		return
	case l.compiled:
		rope = "triton_poi_fused_cat_index_select_mul_split_sub_1"
	}
	models := l.name == "qwen3-30b-a3b"
	if l.qkNorm && !l.compiled {
		// SGLang's fused_qknorm_warp is CUDA only, vLLM's pass runs everywhere with heads of 64, 128 and 256.
		l.chain("norms of heads + rotary embedding", l.framework == "vLLM" || !l.rocm(), 2*(q+k), func() {
			l.kernel(kNorm, 2*q)
			l.kernel(kNorm, 2*k)
			l.kernel(rope, 2*(q+k))
		})
		l.cacheWrite(write, models)
		return
	}
	// vLLM has it with AITER up to 256 tokens, SGLang in the code of some models.
	l.chain("rotary embedding + cache write", l.framework == "vLLM" && l.rocm() && l.tokens <= 256 ||
		l.framework == "SGLang" && models, 2*q+2*k+3*k, func() {
		l.kernel(rope, 2*(q+k))
		l.kernel(write, 4*k)
	})
}

// cacheWrite writes the cache after a rotation that is part of another chain, too.
func (l *lab) cacheWrite(write string, models bool) {
	q, k := float64(2*l.tokens*l.heads*l.dim), float64(2*l.tokens*l.kv*l.dim)
	rope := l.last
	l.chain("rotary embedding + cache write", l.framework == "vLLM" && l.rocm() && l.tokens <= 256 ||
		l.framework == "SGLang" && models, 2*q+2*k+3*k, func() {
		l.cur.kernels[l.index-1] = true
		l.curNS += rope
		l.kernel(write, 4*k)
	})
}

func (l *lab) attention() {
	q, k := float64(2*l.tokens*l.heads*l.dim), float64(2*l.tokens*l.kv*l.dim)
	ctx := l.tokens
	if !l.eager {
		l.product(kCore, 4*float64(l.tokens)*float64(ctx)*float64(l.heads*l.dim))
		return
	}
	scores := 2 * float64(l.heads) * float64(l.tokens) * float64(ctx)
	flop := 4 * float64(l.tokens) * float64(ctx) * float64(l.heads*l.dim)
	s, x := l.dims(l.heads, l.tokens, ctx), l.dims(l.heads, l.tokens, l.dim)
	l.chain("attention in pieces", true, 0, func() {
		bmm := max(l.launch+(2*q+scores)/l.band, flop/2/l.flop)
		l.run(kBmm, bmm, []string{x, l.dims(l.heads, l.dim, ctx)})
		l.kernel(kScale, 2*scores, s)
		l.kernel(kAdd, 2*scores, s, l.dims(1, l.tokens, ctx))
		l.kernel(kSoftmax, 2*scores, s)
		l.run(kBmm, bmm, []string{s, x})
		// one kernel: inputs and outputs, or the products at flash's speed
		l.cur.fused += max((2*q+2*k)/l.band, flop/(.92*l.flop))
	})
}

func (l *lab) mlp() {
	t := float64(2 * l.tokens * l.inter / l.tp)
	x := l.dims(1, l.tokens, l.inter/l.tp)
	work := 2 * float64(l.tokens) * float64(l.hidden) * float64(l.inter/l.tp)
	switch {
	case l.framework == "" && l.plain && l.act == "gelu_new":
		l.product(kProduct, work)
		l.chain("tanh GELU in pieces", true, 2*t, func() {
			l.kernel(kSquare, 2*t, x)
			l.kernel(kScale, 2*t, x)
			l.kernel(kAdd, 3*t, x, x)
			l.kernel(kScale, 2*t, x)
			l.kernel(kTanh, 2*t, x)
			l.kernel(strings.ReplaceAll(kAddEps, "float", "c10::BFloat16"), 2*t, x)
			l.kernel(kMul, 3*t, x, x)
		})
		l.product(kProduct, work)
	case l.framework == "" && l.plain && l.act == "quick_gelu":
		l.product(kProduct, work)
		l.chain("QuickGELU in pieces", true, 2*t, func() {
			l.kernel(kScale, 2*t, x)
			l.kernel(kSigmoid, 2*t, x)
			l.kernel(kMul, 3*t, x, x)
		})
		l.product(kProduct, work)
	case l.plain:
		l.product(kProduct, work)
		l.kernel(l.act, 2*t, x)
		l.product(kProduct, work)
	case l.framework == "":
		l.product(kProduct, work)
		l.chain("gated activation in pieces", true, 3*t, func() {
			l.kernel(l.act, 2*t, x)
			chain := l.cur // the second product runs between and is no part of it
			l.cur = nil
			l.product(kProduct, work)
			l.cur, l.curKept = chain, 0
			l.kernel(kMul, 3*t, x, x)
		})
		l.product(kProduct, work)
	case l.experts > 0:
		l.product(kProduct, work/float64(l.inter))
		l.kernel(kTopkGate, 4*float64(l.tokens*l.experts))
		l.product(kExperts, 4*work)
		l.kernel(kSwiGLU, 6*t)
		h := float64(2 * l.tokens * l.hidden)
		l.chain("experts + their sum", l.framework == "SGLang" && !l.rocm(), h, func() {
			l.product(kExperts, 2*work)
			l.kernel(kMoESum, 3*h)
		})
	case l.fp8:
		l.product(kProduct, 2*work)
		l.chain("activation + quantisation", l.framework == "vLLM" && (l.hopper() || l.rocm()), 2.5*t, func() {
			l.kernel(kSwiGLU, 3*t)
			l.kernel(kQuant, 1.5*t)
		})
		l.product(kProduct, work)
	case l.compiled:
		l.product(kProduct, 2*work)
		l.kernel("triton_poi_fused_mul_silu_slice_2", 3*t)
		l.product(kProduct, work)
	default:
		l.product(kProduct, 2*work)
		l.kernel(kSwiGLU, 3*t)
		l.product(kProduct, work)
	}
}

// trace runs the case.
func (c labCase) trace(rng *rand.Rand) *lab {
	l := &lab{labCase: c, b: trace.NewBuilder(trace.Options{}), rng: rng, at: 20_000, launch: 1500 + 1000*rng.Float64(),
		chains: map[string]*labChain{}}
	l.band, l.flop = 2400, 500_000
	if l.rocm() {
		l.band, l.flop = 3600, 450_000
	}
	l.heads, l.kv = max(1, l.heads/l.tp), max(1, l.kv/l.tp)
	l.b.Meta = trace.Meta{Devices: []trace.GPU{{ID: 0, Name: l.gpu}}}
	square := 2 * float64(l.tokens) * float64(l.hidden) * float64(l.hidden) / float64(l.tp)
	for range 3 {
		l.at += 30_000
		start := l.at
		if l.replay {
			l.id++
			l.b.Add(trace.EventData{Kind: event.Runtime,
				Name:  map[bool]string{true: "hipGraphLaunch", false: "cudaGraphLaunch"}[l.rocm()],
				Start: int64(l.at) - 9000, Duration: 3000, Thread: 1, Correlation: l.id})
		}
		// Positions and masks, as every model makes.
		l.kernel("void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<long>, std::array<char*, 1ul> >(int)|aten::fill_", 8)
		l.kernel("void (anonymous namespace)::elementwise_kernel_with_index<int, at::native::arange_cuda_out(at::Tensor&)::{lambda()#1}>(int)|aten::arange", 8*float64(l.tokens))
		for layer := range 10 {
			l.norm(layer == 0)
			for range map[bool]int{true: 3, false: 1}[l.framework == ""] {
				l.product(kProduct, square)
			}
			l.headsAndCache()
			l.attention()
			l.product(kProduct, square)
			if l.postNorms && l.framework != "" {
				l.kernel(kNorm, float64(4*l.tokens*l.hidden))
			}
			l.norm(false)
			l.mlp()
		}
		if c.framework == "SGLang" {
			words := fmt.Sprintf("step[EXTEND bs=1 toks=%d]", c.tokens)
			if c.decode {
				words = fmt.Sprintf("step[DECODE bs=%d]", c.tokens)
			}
			l.b.Add(trace.EventData{Kind: event.Annotation, Name: words, Start: int64(start) - 15_000,
				Duration: int64(l.at - start + 10_000), Thread: 1})
		}
		if c.framework == "vLLM" {
			words := fmt.Sprintf("execute_context_1(%d)_generation_0(0)", c.tokens)
			if c.decode {
				words = fmt.Sprintf("execute_context_0(0)_generation_%d(%d)", c.tokens, c.tokens)
			}
			l.b.Add(trace.EventData{Kind: event.Annotation, Name: words, Start: int64(start) - 15_000,
				Duration: int64(l.at - start + 10_000), Thread: 1})
		}
	}
	return l
}

// labCases draws the set of a seed: each model in each framework that has it.
func labCases(rng *rand.Rand) (out []labCase) {
	pick := func(list ...int) int { return list[rng.IntN(len(list))] }
	for i, m := range labModels {
		for _, eager := range []bool{true, false} {
			c := labCase{labModel: m, gpu: gpus["H100"], tp: 1, tokens: pick(512, 1024, 2048), shapes: rng.IntN(3) > 0,
				eager: eager}
			if rng.IntN(3) == 0 {
				c.gpu = gpus["MI300X"]
			}
			// of these eager code has more in pieces than is written here
			if m.experts == 0 && !m.postNorms && !m.qkNorm {
				out = append(out, c)
			}
		}
		if m.plain {
			continue // not served
		}
		for n, framework := range []string{"vLLM", "vLLM", "vLLM", "SGLang", "TensorRT-LLM"} {
			c := labCase{labModel: m, framework: framework,
				gpu: gpus[[]string{"H100", "A100", "B200", "MI300X"}[(i+n+rng.IntN(2))%4]], tp: pick(1, 2, 4, 8),
				decode: rng.IntN(2) == 0}
			if framework == "TensorRT-LLM" && strings.Contains(c.gpu, "MI") {
				c.gpu = gpus["H100"]
			}
			c.tokens = pick(16, 64, 256)
			if !c.decode {
				c.tokens = pick(1024, 3000, 8192)
			}
			c.compiled = framework == "vLLM" && n > 0 && m.experts == 0
			c.replay = n == 2 || framework == "SGLang" && c.decode || framework == "TensorRT-LLM" && c.decode
			c.fp8 = n == 0 && m.experts == 0 && c.tp == 1
			out = append(out, c)
		}
	}
	return out
}

// TestLabelledSet: no row asks for what cannot be had, 95% of the chains above one percent of GPU time are found, and
// gains are those of the generator's own fused kernels. Seed 1 was used while the rules were written; the other seeds
// of the long run were not.
func TestLabelledSet(t *testing.T) {
	seeds := []uint64{1}
	if testdata.Long() {
		seeds = []uint64{1, 2611, 2612, 481516}
	}
	for _, seed := range seeds {
		rng := rand.New(rand.NewPCG(seed, 6))
		cases := labCases(rng)
		wrong, found, all, near, priced := 0, 0, 0, 0, 0
		for i, c := range cases {
			if !testdata.Long() && i%3 > 0 {
				continue
			}
			l := c.trace(rng)
			in, err := triage.NewInput(t.Context(), []triage.Source{{Trace: built.Trace(l.b), Path: "x"}}, nil,
				layer.Options{Config: &profile.Config{HiddenSize: c.hidden, HeadDim: c.dim}})
			if err != nil {
				t.Fatal(err)
			}
			r, err := triage.Analyze(t.Context(), in, triage.Options{Framework: c.framework, Model: c.name,
				TPSize: c.tp, MinSharePct: -1})
			if err != nil {
				t.Fatal(err)
			}
			rows := map[*labChain]*triage.FuseRow{}
			for s := range r.Stages {
				for n := range r.Stages[s].Fuse {
					f := &r.Stages[s].Fuse[n]
					if f.Kind != triage.Split {
						continue
					}
					chain, name := l.chainOf(f)
					if f.State.Asks() && f.SharePct >= 1 && (chain == nil || !chain.asks) {
						wrong++
						t.Errorf("seed %d, %v: %s asks for action, state %s, chain %q: %s", seed, &c, f.Pattern,
							f.State, name, f.Action)
					}
					if chain != nil && (rows[chain] == nil || chain.off(f) < chain.off(rows[chain])) {
						rows[chain] = f
					}
				}
			}
			for name, chain := range l.chains {
				if 100*chain.ns < l.all {
					continue
				}
				all++
				f := rows[chain]
				if f == nil || 2*f.Occurrences < chain.times {
					t.Logf("seed %d, %v: missed %s, %.1f%%", seed, &c, name, 100*chain.ns/l.all)
					continue
				}
				found++
				if f.Gain.NS == 0 {
					continue // a path that cannot be had has no price
				}
				priced++
				ratio := float64(f.Gain.NS) / (chain.ns - chain.fused)
				if ratio > 1/1.3 && ratio < 1.3 {
					near++
				} else {
					t.Logf("seed %d, %v: %s gains %d ns (%d–%d), want %.0f: %.2f", seed, &c, name, f.Gain.NS,
						f.Gain.LowNS, f.Gain.HighNS, chain.ns-chain.fused, ratio)
				}
			}
		}
		t.Logf("seed %d: %d cases, %d false rows, %d of %d chains above 1%% found, gain within 1.3 of %d of %d", seed,
			len(cases), wrong, found, all, near, priced)
		if 100*found < 95*all || 100*near < 95*priced {
			t.Errorf("seed %d: %d of %d chains found, %d of %d gains within 1.3; want 95%% of each", seed, found, all,
				near, priced)
		}
	}
}

// off is by how many kernels a row differs from the chain.
func (c *labChain) off(f *triage.FuseRow) int {
	n := len(f.ExampleKernels) - len(c.kernels)/c.times
	return max(n, -n)
}

// chainOf is the chain that most of a row's example kernels are of.
func (l *lab) chainOf(f *triage.FuseRow) (best *labChain, name string) {
	most := 0
	for n, c := range l.chains {
		hits := 0
		for _, k := range f.ExampleKernels {
			if c.kernels[k] {
				hits++
			}
		}
		if hits > most || hits == most && hits > 0 && n < name {
			best, name, most = c, n, hits
		}
	}
	if 2*most < len(f.ExampleKernels) {
		return nil, ""
	}
	return best, name
}
