package families

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
)

// Waits marks a kernel before which the host waits for a result: a prefix of its name. The GPU idles for longer.
const Waits = "waits:"

// A Script is a run of models that PyTorch launches operation by operation, written down from the models' source:
// what a pass runs depends on what it computes, as the number of experts does that have tokens.
type Script struct {
	Name string
	// Layers is the number of layers of each instance.
	Layers []int
	run    func(s *stage)
}

// A stage lays the passes of a script.
type stage struct {
	*maker
	name string
}

// pass adds a pass of n layers. Joined: in the call of the pass before.
func (s *stage) pass(instance int, joined bool, scale float64, before string, n int, layer func(i int) string,
	after string) {
	o := Order{Prologue: words(before), Epilogue: words(after)}
	for i := range n {
		o.Layers = append(o.Layers, words(layer(i)))
	}
	if joined {
		s.goOn()
	}
	s.run(instance, fmt.Sprint(s.name, instance), o, scale)
}

// Open are scripts that rules may be read from.
func Open() []Script {
	return []Script{switchScript(), nemotronScript(), blipScript(), debertaScript(), cohereScript(),
		rwkvScript(), maeScript(), zambaScript(), graniteScript(), olmoScript(), ibertScript(),
		jambaScript()}
}

// Closed are scripts that nothing is fitted to.
func Closed() []Script {
	return []Script{ledScript(), xlstmScript(), speechScript(), data2vecScript(), nextScript(), falconScript(),
		lfmScript()}
}

// Written returns the cases of scripts, by how much of the host is recorded.
func Written(all []Script) (out []Case) {
	for _, s := range all {
		for _, m := range []mode{eager, gpuOnly} {
			k := newMaker(int64(len(s.Name))*7+int64(m), m)
			s.run(&stage{k, s.Name})
			out = append(out, Case{Group: [...]string{eager: "written, eager", gpuOnly: "written, GPU rows only"}[m],
				Name: s.Name, Kernels: k.out, Layers: s.Layers})
		}
	}
	return out
}

// elementwise is a kernel of a function of each element.
func elementwise(op string) string {
	return "at::native::vectorized_elementwise_kernel<4,at::native::" + op + ",std::array<char*,2ul>>"
}

// operations are kernels of PyTorch by what they compute.
var operations = map[string]string{
	"pow": elementwise("pow_tensor_scalar_kernel_impl"), "adds": elementwise("CUDAFunctorOnSelf_add<float>"),
	"rsqrt": elementwise("rsqrt_kernel_cuda"), "exp": elementwise("exp_kernel_cuda"), "neg": elementwise("neg_kernel_cuda"),
	"sigmoid": elementwise("sigmoid_kernel_cuda"), "tanh": elementwise("tanh_kernel_cuda"),
	"gelu": elementwise("GeluCUDAKernelImpl"), "silu": elementwise("silu_kernel"),
	"relu":     elementwise("launch_clamp_scalar"),
	"softplus": elementwise("softplus_kernel"), "floor": elementwise("floor_kernel_cuda"),
	"sign": elementwise("sign_kernel_cuda"), "abs": elementwise("abs_kernel_cuda"), "log": elementwise("log_kernel_cuda"),
	"round": elementwise("round_kernel_cuda"), "clamp": elementwise("launch_clamp_scalar"),
	"recip": elementwise("reciprocal_kernel_cuda"), "sqrt": elementwise("sqrt_kernel_cuda"),
	"where": elementwise("where_kernel_impl"), "cmp": elementwise("CompareFunctor<long>"),
	"mfill": elementwise("masked_fill_kernel"), "fill": elementwise("FillFunctor<float>"),
	"cos": elementwise("cos_kernel_cuda"), "sin": elementwise("sin_kernel_cuda"),
	"maxi": elementwise("maximum_kernel_cuda"), "logsig": elementwise("log_sigmoid_forward_kernel"),
	"muls": elementwise("AUnaryFunctor<c10::BFloat16,c10::BFloat16,c10::BFloat16,at::native::binary_internal::MulFunctor<float>>"),
	"div":  elementwise("BinaryFunctor<float,float,float,at::native::binary_internal::DivFunctor<float>>"),
	"add":  addElem, "mul": mulElem, "copy": copyEl, "argmax": argmax, "emb": gather,
	"cast": elementwise("bfloat16_copy_kernel_cuda"),
	"mean": "at::native::reduce_kernel<512,1,at::native::ReduceOp<float,at::native::MeanOps<float,float,float,float>,unsigned,float,4,4>>",
	"sum":  "at::native::reduce_kernel<512,1,at::native::ReduceOp<float,at::native::func_wrapper_t<float,at::native::sum_functor<float,float,float>>,unsigned,float,4,4>>",
	"max":  "at::native::reduce_kernel<512,1,at::native::ReduceOp<float,at::native::MaxOps<float>,unsigned,float,4,4>>",
	"min":  "at::native::reduce_kernel<512,1,at::native::ReduceOp<float,at::native::MinOps<float>,unsigned,float,4,4>>",
	"cat":  "at::native::CatArrayBatchedCopy<at::native::OpaqueType<2u>,unsigned,4,64,64>",
	"sm":   "softmax_warp_forward<float,float,float,9,false,false>",
	"ln":   "at::native::vectorized_layer_norm_kernel<c10::BFloat16,float>",
	"idx":  "at::native::index_elementwise_kernel<128,4,at::native::gpu_index_kernel<at::native::index_kernel_impl<at::native::OpaqueType<4>>>>",
	"put":  "at::native::index_elementwise_kernel<128,4,at::native::gpu_index_kernel<at::native::index_put_kernel_impl<at::native::OpaqueType<4>>>>",
	"iadd": "at::native::indexFuncLargeIndex<c10::BFloat16,long,unsigned,2,2,-2,true,at::native::ReduceAdd>",
	"topk": "at::native::sbtopk::gatherTopK<float,unsigned,2,false>",
	"sort": "at::native::bitonicSortKVInPlace<-2,-1,16,16,float,long,at::native::LTOp<float,true>,unsigned>",
	"take": "at::native::_scatter_gather_elementwise_kernel<128,8,at::native::_cuda_scatter_gather_internal_kernel<false,at::native::OpaqueType<4>>>",
	"scat": "at::native::_scatter_gather_elementwise_kernel<128,8,at::native::_cuda_scatter_gather_internal_kernel<true,at::native::OpaqueType<8>>>",
	"scan": "at::native::tensor_kernel_scan_innermost_dim<float,std::plus<float>>",
	"tril": "at::native::triu_tril_kernel<float,int,false,4,8>", "arange": "elementwise_kernel_with_index<int,at::native::arange_cuda_out>",
	"rand": "at::native::distribution_elementwise_grid_stride_kernel<float,4,at::native::templates::cuda::uniform_and_transform>",
	"conv": convolve, "convd": "at::native::(anonymous_namespace)::conv_depthwise2d_forward_kernel<4,c10::BFloat16,int>",
	"conv1": "implicit_convolve_sgemm<float,float,1024,5,5,3,3,3,1,false,false,true>",
	"flash": flash, "dtoh": "Memcpy_DtoH_(Device_->_Pageable)", "glu": elementwise("glu_kernel"),
	"select": "at_cuda_detail::cub::DeviceSelectSweepKernel<policy,cub::CountingInputIterator<long>>",
	"count":  "at_cuda_detail::cub::DeviceReduceSingleTileKernel<policy,int>",
	"gnorm":  "at::native::RowwiseMomentsCUDAKernel<float>",
	"mscat":  scatter,
}

// short are sequences of operations.
var short = map[string]string{
	"nz":   "count waits:dtoh select",                    // nonzero, whose size the host needs
	"t5n":  "pow mean adds rsqrt mul mul",                // T5LayerNorm, float32
	"rms":  "cast pow mean adds rsqrt mul cast mul",      // LlamaRMSNorm
	"rot":  "mul neg cat mul add",                        // rotate_half
	"gate": "silu mul",                                   // of a gated unit
	"step": "copy argmax cmp mul add cat cmp waits:dtoh", // of generate(): the next token, and whether all are done
	"sub":  "add",
	"ids":  "arange arange add abs cmp cast log div mul cast where where emb copy",
}

// words are the kernels of operations: names of the tables, or g.NAME for a product.
func words(s string) (out []string) {
	for _, w := range strings.Fields(s) {
		mark := ""
		if rest, ok := strings.CutPrefix(w, Waits); ok {
			mark, w = Waits, rest
		}
		switch x, ok := short[w]; {
		case ok:
			out = append(out, words(x)...)
		case strings.HasPrefix(w, "g."):
			out = append(out, mark+productOf(w[2:]))
		case operations[w] != "":
			out = append(out, mark+operations[w])
		default:
			panic(w)
		}
	}
	return out
}

// productOf is the kernel of a product: those of one shape run one kernel, and some of other shapes do.
func productOf(name string) string {
	if slices.Contains([]string{"q", "k", "v", "o"}, name) {
		name = "square"
	}
	h := fnv.New32a()
	h.Write([]byte(name))
	k := h.Sum32() >> 7
	return tile(fmt.Sprintf("%dx%d_64x%d_1x%d", 64<<(k%3), 8<<(k>>2%3), 8<<(k>>4%3), 1+k>>6%2))
}

func repeated(n int, s string) string { return strings.Repeat(s+" ", n) }

// T5 with experts in every second layer, the first of as many rows as are routed to it.
func switchScript() Script {
	return Script{"Switch-base-8, transformers, eager", []int{12, 12}, func(s *stage) {
		attend := func(own bool, first, keys string, cached bool) string {
			return join("t5n g.q", keys, either(own && cached, "cat cat", ""), "g.qk", first, "add sm g.pv copy g.o add")
		}
		feed := func(i, most int) string {
			if i%2 == 0 {
				return "t5n g.wi relu g.wo add"
			}
			out := "t5n g.router sm max fill scat scan cmp mul max fill sum cmp nz"
			for range 1 + s.Intn(most) {
				out = join(out, "idx nz emb waits:dtoh", either(s.Intn(2) == 0, "g.wi1 relu g.wo1", "g.wi2 relu g.wo2"),
					"idx mul iadd")
			}
			return join(out, "add")
		}
		for range 2 {
			s.pass(1, false, 2, "cmp cast emb cast add mul", 12, func(i int) string {
				return join(attend(true, either(i == 0, "ids add", ""), "g.k g.v", false), feed(i, 8))
			}, "t5n")
			for k := range 6 {
				s.pass(0, k == 0, 1, "emb fill arange cmp where", 12, func(i int) string {
					return join(attend(true, either(i == 0, "ids add", ""), "g.k g.v", true),
						attend(false, either(i == 0, "fill add", ""), either(k == 0, "g.k g.v", ""), false), feed(i, 2))
				}, "t5n muls g.lm step")
			}
		}
	}}
}

// mambaSteps is the state-space mixer of transformers without its own kernels.
func mambaSteps(prefill bool) string {
	if !prefill {
		return "g.in copy mul sum add silu cast exp neg add softplus clamp mul exp copy mul mul mul add copy copy cast " +
			"g.bmm mul add cast " + gatedSteps + " g.out"
	}
	return "g.in fill copy convd silu add softplus clamp cast cast cast idx idx fill copy mul mul mul fill copy fill " +
		"copy fill copy fill copy scan tril mfill scan tril mfill exp mul sum mul sum mul sum add exp mul mul sum fill " +
		"cat fill copy tril mfill scan tril mfill exp mul sum exp mul sum mul add add copy " + gatedSteps + " cast g.out"
}

// gatedSteps is a norm after a gate.
const gatedSteps = "cast silu mul pow mean adds rsqrt mul cast mul"

func nemotronScript() Script {
	pattern := strings.Repeat("M-M-M*-", 4) + "M-M-"
	return Script{"Nemotron-H, transformers, eager", []int{len(pattern)}, func(s *stage) {
		for k := range 6 {
			s.pass(0, false, slower(k == 0), "emb arange", len(pattern), func(i int) string {
				return join("rms", map[byte]string{'M': mambaSteps(k == 0), '-': "g.up relu pow g.down",
					'*': "g.q g.k g.v cat cat flash g.o"}[pattern[i]], "add")
			}, "rms g.lm cast step")
		}
	}}
}

// slower is how long kernels of a prefill take.
func slower(prefill bool) float64 {
	if prefill {
		return 3
	}
	return 1
}

// One block of attention that several layers share is before the state space of every sixth.
func zambaScript() Script {
	return Script{"Zamba2-1.2B, transformers, eager", []int{38}, func(s *stage) {
		for k := range 6 {
			s.pass(0, false, slower(k == 0), "emb copy arange g.freq cat", 38, func(i int) string {
				shared := "cat rms g.q g.la g.lb add g.k g.la g.lb add g.v g.la g.lb add rot rot cat cat flash g.o " +
					"rms g.gu g.la g.lb2 add gelu mul g.down g.lin add"
				return join(either(i%6 == 5, shared, ""), "rms", mambaSteps(k == 0), "add")
			}, "rms g.lm cast step")
		}
	}}
}

// A vision tower, a Q-Former that looks at it in every second layer, a language model.
func blipScript() Script {
	return Script{"BLIP-2 OPT, transformers, eager", []int{32, 39, 12}, func(s *stage) {
		attend := "g.qk muls sm g.pv copy g.o"
		for range 2 {
			s.pass(1, false, 2, "conv copy cat add", 39, func(int) string {
				return join("ln g.qkv copy", attend, "add ln g.fc1 gelu g.fc2 add")
			}, "ln ln")
			s.pass(2, true, 1, "fill fill ln", 12, func(i int) string {
				a := "g.q g.k g.v g.qk div add sm g.pv copy g.o add ln"
				return join(a, either(i%2 == 0, "g.q g.ek g.ev g.qk div add sm g.pv copy g.o add ln", ""),
					"g.i gelu g.d add ln")
			}, "g.proj")
			for k := range 5 {
				s.pass(0, k == 0, slower(k == 0), either(k == 0, "emb cmp mscat cmp scan mul add emb add",
					"emb scan mul add emb add"), 32, func(int) string {
					return "ln g.q muls g.k g.v cat cat flash g.o add ln g.fc1 relu g.fc2 add"
				}, "ln g.lm step")
			}
		}
	}}
}

// mostExperts is of how many experts a layer has tokens, at most.
func mostExperts(prefill bool) int {
	if prefill {
		return 12
	}
	return 4
}

// Attention to content and to positions.
func debertaScript() Script {
	return Script{"DeBERTa-v2-xlarge, transformers, eager", []int{24}, func(s *stage) {
		for range 4 {
			s.pass(0, false, 1, "emb ln cast mul copy mul cast arange arange sub sign abs where cmp log div mul add where ln",
				24, func(i int) string {
					return join("g.q copy g.k copy g.v copy sqrt div g.qk g.q copy g.k copy sqrt div g.c2p add clamp take add "+
						"sqrt div g.p2c neg add clamp take add add cast cmp mfill sm mfill g.pv copy g.o add ln",
						"g.i gelu g.d add ln", either(i == 0, "copy conv1 copy mfill tanh add ln mul", ""))
				}, "g.pool gelu g.cls waits:dtoh")
		}
	}}
}

// One norm before attention and the feed-forward part, written out; one layer of four has no rotary embedding.
func cohereScript() Script {
	return Script{"Cohere 2, transformers, eager", []int{32}, func(s *stage) {
		for k := range 6 {
			s.pass(0, false, slower(k == 0), "emb arange cmp where g.freq cat", 32, func(i int) string {
				return join("cast mean sub sub pow mean adds rsqrt mul cast mul cast g.q g.k g.v",
					either(i%4 != 3, "cast cast mul neg copy mul add mul neg copy mul add cast cast", ""),
					"cat cat flash g.o g.gate silu g.up mul g.down add add")
			}, "cast mean sub sub pow mean adds rsqrt mul cast mul cast g.lm muls step")
		}
	}}
}

// The scan over tokens is a loop of operations.
func rwkvScript() Script {
	return Script{"RWKV-4, transformers, eager", []int{12}, func(s *stage) {
		mix := func(n int, prefill bool) string {
			return join(either(prefill, "fill copy copy", ""), repeated(n, "muls adds mul mul add"))
		}
		for k := range 7 {
			tokens := 1
			if k == 0 {
				tokens = 6
			}
			s.pass(0, false, 1, either(k == 0, "emb fill fill fill fill fill ln", "emb ln"), 12, func(i int) string {
				return join("ln", mix(3, k == 0), "g.k g.v g.r sigmoid copy exp neg fill",
					repeated(tokens, "cast add maxi sub exp add sub exp mul mul add mul add div copy add maxi add "+
						"sub exp sub exp mul mul add mul add"),
					"copy copy copy mul g.o add ln", mix(2, k == 0), "g.fk relu pow g.fv g.fr sigmoid copy mul add",
					either(i%6 == 5, "muls", ""))
			}, "ln g.lm step")
		}
	}}
}

// An encoder of the patches that are shown and a decoder of all, four times.
func maeScript() Script {
	return Script{"ViT-MAE, transformers, eager", []int{12, 8}, func(s *stage) {
		block := func(int) string { return "ln g.q g.k g.v flash g.o add ln g.fc1 gelu g.fc2 add" }
		for range 4 {
			s.pass(0, false, 1, "conv copy add rand sort sort take fill take cat", 12, block, "ln")
			s.pass(1, true, 1, "g.emb copy cat take cat add", 8, block, "ln g.pred sub pow mean mul sum sum div")
		}
	}}
}

// Attention within windows in the encoder.
func ledScript() Script {
	return Script{"LED-base, transformers, eager", []int{6, 6}, func(s *stage) {
		feed := "g.fc1 gelu g.fc2 add ln"
		for range 2 {
			s.pass(1, false, 2, "cmp cast sub cmp cmp max emb arange emb add ln", 6, func(int) string {
				return join("g.q g.k g.v div copy copy g.qk copy copy copy copy copy fill tril mfill fill mfill fill mfill",
					"cmp cast mfill fill copy copy g.qk copy copy copy copy copy fill tril mfill fill mfill add sm mfill cast",
					"copy copy fill copy fill copy g.pv copy copy g.o add ln", feed)
			}, "")
			for k := range 6 {
				s.pass(0, k == 0, 1, "emb arange emb add ln", 6, func(int) string {
					a := func(keys string) string { return join("g.q muls", keys, "copy g.qk sm g.pv copy g.o add ln") }
					return join(a(join("g.k g.v", either(k > 0, "cat cat", ""))), a(either(k == 0, "g.k g.v", "")), feed)
				}, "g.lm adds step")
			}
		}
	}}
}

// Chunks of tokens are a loop in each layer of a prefill.
func xlstmScript() Script {
	return Script{"xLSTM, transformers, eager", []int{16}, func(s *stage) {
		norm := "cast pow mean adds rsqrt mul mul cast"
		for k := range 6 {
			s.pass(0, false, slower(k == 0), "emb fill fill fill", 16, func(int) string {
				core := "cast logsig add maxi sub exp sub exp mul mul mul g.kv mul add mul add g.qc g.qn abs " +
					"neg exp maxi adds div"
				if k == 0 {
					core = join("logsig scan sub add max", repeated(4, "add maxi sub exp sub exp mul g.kv mul add mul sum mul add"),
						"cat cat cat scan sub add mfill max add maxi sub exp g.qk muls mul sub exp mul g.qc g.sv add "+
							"g.qn sum add neg exp abs maxi adds div copy")
				}
				return join(norm, "g.q g.k g.v g.og g.ig adds div tanh muls g.fg adds div tanh muls", core,
					"cast mean sub pow mean adds rsqrt mul mul sigmoid mul g.out add", norm, "g.gate g.up silu mul g.down add")
			}, join(norm, "g.lm div tanh muls step"))
		}
	}}
}

// Integers: each product, norm and softmax is many operations.
func ibertScript() Script {
	return Script{"I-BERT-base, quantised, transformers, eager", []int{12}, func(s *stage) {
		scale := "abs abs maxi clamp div"
		act := join(scale, "div round cast mul cast round mul div pow round clamp mul")
		lin := func(g string) string {
			return join("min max", scale, "recip muls round clamp mul recip muls round clamp div", g, "mul")
		}
		for range 4 {
			s.pass(0, false, 1, join("cmp cast scan mul add emb emb min max", scale, "muls round clamp mul", act, "add", act,
				"div mean round sub pow sum sqrt div floor mul mul div floor mul add", act), 12, func(int) string {
				soft := join("div max sub div floor maxi div floor mul sub div floor pow div floor add mul add "+
					"sub pow mul floor clamp",
					act, "div sum div floor mul div floor mul")
				norm := "div mean round sub pow pow div floor sum sqrt floor mul div floor mul div floor mul div floor div mul"
				return join(lin("g.q"), lin("g.k"), lin("g.v"), act, act, act, "div div g.qk mul div mul add", soft,
					"div div g.pv mul copy", act, lin("g.o"), act, "add", norm, act,
					lin("g.i"), "div div pow muls div floor div floor sign abs maxi add pow add mul div floor muls "+
						"div floor add mul mul",
					act, lin("g.d"), act, "add", norm, act)
			}, "g.pool tanh g.cls waits:dtoh")
		}
	}}
}

// Two convolutions, an encoder of speech and a decoder.
func speechScript() Script {
	return Script{"Speech2Text-small, transformers, eager", []int{6, 12}, func(s *stage) {
		attend := func(keys string) string { return join("ln g.q muls", keys, "g.qk add sm g.pv copy g.o add") }
		feed := "ln g.fc1 relu g.fc2 add"
		for range 2 {
			s.pass(1, false, 2, "copy conv1 glu conv1 glu copy muls cmp scan mul add cast idx add", 12, func(int) string {
				return join(attend("g.k g.v"), feed)
			}, "ln")
			for k := range 6 {
				s.pass(0, k == 0, 1, "emb muls cmp scan mul add idx add", 6, func(int) string {
					return join(attend(join("g.k g.v", either(k > 0, "cat cat", ""))), attend(either(k == 0, "g.k g.v", "")), feed)
				}, "ln g.lm step")
			}
		}
	}}
}

// State space with its own kernels, attention in one layer of ten, experts in turn over sorted tokens.
func graniteScript() Script {
	return Script{"Granite-4 hybrid with experts, transformers, eager", []int{40}, func(s *stage) {
		for k := range 5 {
			s.pass(0, false, slower(k == 0), "emb muls arange", 40, func(i int) string {
				mix := mambaSteps(k == 0)
				if i%10 == 5 {
					mix = "g.q g.k g.v cat cat flash g.o"
				}
				out := join("rms", mix, "muls add rms g.router topk sm fill scat sum cast waits:dtoh sort div idx emb")
				for range 3 + s.Intn(mostExperts(k == 0)) {
					out = join(out, either(s.Intn(2) == 0, "g.e1", "g.e2"))
				}
				out = join(out, "cat silu mul")
				for range 3 + s.Intn(mostExperts(k == 0)) {
					out = join(out, either(s.Intn(2) == 0, "g.e3", "g.e4"))
				}
				return join(out, "cat mul fill iadd g.s1 silu mul g.s2 add muls add")
			}, "rms g.lm div cast step")
		}
	}}
}

// Convolutions of the wave, of positions, layers; four without a rest between.
func data2vecScript() Script {
	return Script{"data2vec audio, transformers, back to back", []int{12}, func(s *stage) {
		for k := range 4 {
			s.pass(0, k > 0, 1, join(repeated(7, "conv1 copy ln copy gelu"), "copy ln g.proj",
				repeated(5, "copy conv1 copy ln copy gelu"),
				"copy add ln"), 12, func(int) string {
				return "g.q muls g.k g.v flash g.o add ln g.fc1 gelu g.fc2 add ln"
			}, "")
		}
	}}
}

// A delta rule in three of four layers, in loops over chunks; norms after what they norm.
func olmoScript() Script {
	return Script{"OLMo hybrid, transformers, eager", []int{32}, func(s *stage) {
		for k := range 5 {
			s.pass(0, false, slower(k == 0), "emb arange g.freq cat", 32, func(i int) string {
				core := "mul sum add rsqrt mul mul sum add rsqrt mul muls exp mul mul sum sub mul mul add mul sum copy"
				if k == 0 {
					core = join("mul sum add rsqrt mul mul sum add rsqrt mul fill copy muls mul mul scan sub tril "+
						"exp g.kk mul mfill neg",
						repeated(8, "copy mul sum add copy"), "add g.tv exp mul g.tk fill",
						repeated(3, "g.ak mul mfill g.ks sub exp mul g.qs g.av add copy exp mul sub exp mul g.kv add"), "copy cast")
				}
				mix := join("rms g.q g.k g.v conv1 silu conv1 silu conv1 silu g.a g.b sigmoid muls cast add "+
					"softplus exp neg mul", core,
					"cast pow mean adds rsqrt mul mul g.gate silu mul cast g.o add")
				if i%4 == 3 {
					mix = "g.q rms g.k rms g.v rot rot cat cat flash g.o rms add"
				}
				return join(mix, either(i%4 == 3, "g.gate silu g.up mul g.down rms add", "rms g.gate silu g.up mul g.down add"))
			}, "rms g.lm step")
		}
	}}
}

// decoder lays a prefill and five steps of a model of n layers that generates.
func decoder(name, before string, n int, layer func(s *stage, i int, prefill bool) string, after string) Script {
	return Script{name, []int{n}, func(s *stage) {
		for k := range 6 {
			s.pass(0, false, slower(k == 0), before, n, func(i int) string { return layer(s, i, k == 0) }, after)
		}
	}}
}

const gatedFeed = "g.gate silu g.up mul g.down "

// experts is a loop over those that have tokens, which the router chose.
func (s *stage) experts(prefill bool) string {
	out := "g.router cast sm topk cast fill scat copy sum cmp nz"
	for range 3 + s.Intn(mostExperts(prefill)) {
		out = join(out, "idx waits:dtoh idx", either(s.Intn(2) == 0, "g.e1 silu g.e2 mul g.e3", "g.e4 silu g.e5 mul g.e6"),
			"idx mul iadd")
	}
	return out
}

// Norms and two products within the state-space mixer, whose scan is a loop; experts in every second layer.
func jambaScript() Script {
	return decoder("Jamba, transformers, eager", "emb arange", 16, func(s *stage, i int, prefill bool) string {
		mix := jambaMixer(i, prefill, "g.bmm")
		return join("rms", mix, "add rms", either(i%2 == 1, s.experts(prefill), gatedFeed), "add")
	}, "rms g.lm cast step")
}

// jambaMixer is attention in one of eight layers, in the others a state space whose tokens are read out by a product,
// or by what does the same.
func jambaMixer(i int, prefill bool, readOut string) string {
	if i%8 == 4 {
		return "g.q g.k g.v cat cat flash g.o"
	}
	conv, tokens := "copy copy mul sum add silu", 1
	if prefill {
		conv, tokens = "convd copy silu", 6
	}
	return join("g.in", conv, "copy g.x rms rms rms g.dt copy exp neg softplus mul exp mul mul mul cast",
		repeated(tokens, "mul add cast "+readOut+" copy"), either(prefill, "cat", ""), "mul add silu mul g.out")
}

// A gated delta rule in three of four layers, gated attention in the fourth; experts and a shared one.
func nextScript() Script {
	const norm, l2 = "cast pow mean adds rsqrt mul adds mul cast", "mul sum adds rsqrt mul"
	return decoder("Qwen3-Next, transformers, eager", "emb arange g.freq cat cos sin", 24,
		func(s *stage, i int, prefill bool) string {
			conv, core := "cat copy convd silu", join(l2, l2,
				"copy cast cast cast muls exp mul mul sum sub mul mul add mul sum copy")
			if prefill {
				conv, core = "convd silu", join(l2, l2,
					"copy cast cast cast fill fill muls mul mul scan sub exp tril mul g.kk mul neg mfill",
					repeated(12, "copy copy mul sum add copy"), "add g.tv exp mul g.tk fill tril",
					repeated(3, "g.qk mul mfill g.vs sub exp mul g.qs g.av add copy exp mul sub exp mul g.kv add"), "copy cast")
			}
			mix := join("g.qkvz g.ba cat", conv, "sigmoid cast exp neg cast add softplus mul idx idx", core,
				"cast pow mean adds rsqrt mul mul cast silu mul cast g.out")
			if i%4 == 3 {
				mix = join("g.qg copy", norm, "g.k", norm, "g.v rot rot cat cat cat cat flash sigmoid mul g.o")
			}
			return join(norm, mix, "add", norm, s.experts(prefill), gatedFeed, "g.sg sigmoid mul add add")
		}, join(norm, "g.lm step"))
}

// A state space and attention beside each other behind one norm.
func falconScript() Script {
	return decoder("Falcon-H1, transformers, eager", "emb muls arange g.freq cat", 24,
		func(_ *stage, _ int, prefill bool) string {
			return join("rms muls", mambaSteps(prefill), "muls muls g.q g.k muls g.v rot rot cat cat flash g.o muls add add rms",
				"g.up g.gate muls silu mul g.down muls add")
		}, "rms g.lm muls step")
}

// A short convolution between two gates in most layers, attention with norms of heads in the others.
func lfmScript() Script {
	full := []int{2, 5, 8, 10, 12, 14}
	return decoder("LFM2, transformers, eager", "emb arange g.freq cat", 16, func(_ *stage, i int, prefill bool) string {
		mix := join("g.in mul", either(prefill, "fill convd", "copy copy mul sum"), "mul copy g.out")
		if slices.Contains(full, i) {
			mix = "g.q rms g.k rms g.v rot rot cat cat flash g.o"
		}
		return join("rms", mix, "add rms g.w1 silu g.w3 mul g.w2 add")
	}, "rms g.lm step")
}
