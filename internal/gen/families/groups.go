package families

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
)

// Tuning are the families that numbers may be read from, Held those that no number is: figures that are published are
// of those.
func Tuning() []Family { return All() }

// Held returns the families that the tuning never sees.
func Held() []Family { return slices.Concat(Unseen(), Field()) }

// Groups returns the cases of all groups for these families, drawn from a seed; of these the ones that are wanted by
// their number and group, all if want is nil.
func Groups(all []Family, seed int64, want func(number int, group string) bool) []Case {
	var out []Case
	number := -1
	add := func(group, name string, m mode, mk func(m *maker, c *Case)) {
		if number++; want != nil && !want(number, group) {
			return
		}
		h := fnv.New32a()
		fmt.Fprint(h, group, name, seed)
		k := newMaker(int64(h.Sum32()), m)
		c := Case{Group: group, Name: name}
		mk(k, &c)
		if c.Kernels == nil {
			c.Kernels = k.out
		}
		out = append(out, c)
	}
	for fi, f := range all {
		n := []int{len(f.Decode.Layers)}
		passes := func(m *maker) int { return 4 + m.Intn(4) }
		for _, m := range []mode{eager, graphs, gpuOnly} {
			how := [...]string{"eager", "graphs", "GPU rows only"}[m]
			add("intact, "+how, f.Name, m, func(m *maker, c *Case) { c.Layers = n; m.family(f, passes(m)) })
			add("hole, "+how, f.Name, m, func(m *maker, c *Case) {
				c.Layers = n
				for range passes(m) + 1 {
					m.run(0, f.Name, f.Decode, 1)
				}
				c.Kernels = m.out
				c.lose(c.within(m.Rand, 0, .97), 10+m.Intn(51))
			})
		}
		add("hole, annotated", f.Name, eager, func(m *maker, c *Case) {
			c.Layers, c.Annotated = n, true
			m.family(f, passes(m))
			c.Kernels = m.out
			c.lose(c.within(m.Rand, .3, .97), 10+m.Intn(51))
		})
		add("two holes beside a prefill", f.Name, gpuOnly, func(m *maker, c *Case) {
			c.Layers = n
			m.family(f, passes(m))
			c.Kernels = m.out
			c.lose(c.within(m.Rand, .65, .97), 10+m.Intn(51))
			c.lose(c.within(m.Rand, .3, .6), 10+m.Intn(51))
		})
		add("glue: a boundary is lost", f.Name, gpuOnly, func(m *maker, c *Case) {
			c.Layers = n
			for range passes(m) {
				m.run(0, f.Name, f.Decode, 1)
			}
			c.Kernels = m.out
			k := 10 + m.Intn(51)
			c.lose(max(0, c.between(m.Rand)-m.Intn(k)), k)
		})
		if fi%2 == 0 {
			add("1% lost", f.Name, gpuOnly, func(m *maker, c *Case) {
				c.Layers = n
				m.family(f, passes(m))
				c.Kernels = m.out
				c.drop(m.Rand, .01)
			})
			add("cut window", f.Name, gpuOnly, func(m *maker, c *Case) {
				c.Layers = n
				for range 4 {
					m.run(0, f.Name, f.Decode, 1)
				}
				a, z := len(m.out)*(1+m.Intn(3))/16, len(m.out)*(13+m.Intn(3))/16
				c.Kernels = m.out[a:z]
			})
			add("lone pass", f.Name, graphs, func(m *maker, c *Case) { c.Layers = n; m.run(0, f.Name, f.Decode, 1) })
			add("names hidden", f.Name, eager, func(m *maker, c *Case) {
				c.Layers = n
				m.family(f, passes(m))
				c.Kernels = m.out
				c.hide()
			})
		}
		g := all[(fi+3)%len(all)]
		if fi%2 == 1 {
			add("two language models in turn", f.Name+" / "+g.Name, gpuOnly, func(m *maker, c *Case) {
				c.Layers = []int{len(f.Decode.Layers), len(g.Decode.Layers)}
				for range 4 {
					for range 1 + m.Intn(2) {
						m.run(0, f.Name, f.Decode, 1)
					}
					m.run(1, g.Name, g.Decode, 1)
				}
			})
		}
		if len(f.Decode.Layers) >= 24 && !strings.Contains(f.Name, "EAGLE") {
			small := len(f.Decode.Layers)/2 - fi%5 // odd numbers, too
			// drafts runs a draft of n layers so many times before each pass of the target.
			drafts := func(m *maker, c *Case, n int, own bool, times int) {
				c.Layers = []int{len(f.Decode.Layers), n}
				d := smaller(f.Decode, n, own)
				for range 5 {
					for range times {
						m.run(1, "draft "+f.Name, d, .4)
					}
					m.run(0, f.Name, f.Decode, 1)
				}
			}
			how := []mode{gpuOnly, graphs, eager}[fi%3]
			add("draft beside its target", fmt.Sprintf("%s, draft of %d layers", f.Name, small), how,
				func(m *maker, c *Case) { drafts(m, c, small, fi%2 == 0, 2+m.Intn(4)) })
			if fi%2 == 0 {
				add("one-layer draft", f.Name, how,
					func(m *maker, c *Case) { drafts(m, c, 1, true, 2+m.Intn(3)) })
			}
			few := 2 + fi%3
			add("draft of few layers", fmt.Sprintf("%s, draft of %d layers", f.Name, few), []mode{gpuOnly, eager}[fi%2],
				func(m *maker, c *Case) { // the drafts of a step run as many layers as the target
					drafts(m, c, few, true, len(f.Decode.Layers)/few)
				})
			add("tower and language model", f.Name, []mode{gpuOnly, eager}[fi%2], func(m *maker, c *Case) {
				t := Tower([]int{27, 32, 48}[fi%3], fi%2 == 0)
				c.Layers = []int{len(f.Decode.Layers), len(t.Layers)}
				for range 2 + m.Intn(2) {
					m.run(1, "tower", t, 2)
					m.run(0, f.Name, f.Prefill, 3)
					for range 1 + m.Intn(3) {
						m.run(0, f.Name, f.Decode, 1)
					}
				}
			})
		}
		if fi%3 == 0 {
			add("diffusion pipeline", fmt.Sprint(fi), []mode{gpuOnly, eager}[fi%2], func(m *maker, c *Case) {
				text, den, dec := Tower([]int{12, 24}[m.Intn(2)], true), Denoiser(19+m.Intn(22)), Decoder()
				c.Layers = []int{len(den.Layers), len(text.Layers), 0}
				for range 2 {
					m.run(1, "text", text, 1)
					for range 6 + m.Intn(6) {
						m.run(0, "denoiser", den, 4)
					}
					m.run(2, "decoder", dec, 6)
				}
			})
			add("encoder and decoder", fmt.Sprint(fi), []mode{gpuOnly, eager}[fi%2], func(m *maker, c *Case) {
				enc, dec := Tower([]int{6, 12, 24, 32}[m.Intn(4)], true), crossDecoder([]int{4, 6, 12, 32}[m.Intn(4)])
				c.Layers = []int{len(dec.Layers), len(enc.Layers)}
				for range 2 + m.Intn(2) {
					m.run(1, "encoder", enc, 2)
					for range 4 + m.Intn(5) {
						m.run(0, "decoder", dec, 1)
					}
				}
			})
		}
		if len(f.Decode.Layers) >= 24 && !strings.Contains(f.Name, "EAGLE") &&
			len(f.Prefill.Prologue) == len(f.Decode.Prologue) { // else it has a tower of its own
			add("tower within a prefill", f.Name, []mode{eager, gpuOnly}[fi%2], func(m *maker, c *Case) {
				// as transformers run it: words are looked up, then images, and take the places of some
				t, prefill := Tower([]int{7, 12, 27, 40}[fi%4], false), f.Prefill
				t.Prologue, prefill.Prologue = slices.Concat(prefill.Prologue, t.Prologue), []string{scatter, plus}
				c.Layers = []int{len(f.Decode.Layers), len(t.Layers)}
				for range 1 + m.Intn(2) {
					m.run(1, "tower", t, 2)
					m.goOn()
					m.run(0, f.Name, prefill, 3)
					for range 3 + m.Intn(3) {
						m.run(0, f.Name, f.Decode, 1)
					}
				}
			})
		}
	}
	return out
}

// smaller is a model of the same architecture with fewer layers; with other tiles its products have other names.
func smaller(o Order, n int, tiles bool) Order {
	cut := Order{Prologue: o.Prologue, Epilogue: o.Epilogue, Layers: o.Layers[len(o.Layers)-n:]}
	if tiles {
		rename := func(names []string) []string {
			out := slices.Clone(names)
			for i := range out {
				if strings.HasPrefix(out[i], "nvjet") {
					out[i] = strings.Replace(out[i], "_v_bz", "_h_bz", 1)
				}
			}
			return out
		}
		layers := make([][]string, n)
		for l := range layers {
			layers[l] = rename(cut.Layers[l])
		}
		cut = Order{Prologue: cut.Prologue, Epilogue: rename(cut.Epilogue), Layers: layers}
	}
	return cut
}

// Names of the kernels of encoders and denoisers.
const (
	layerNorm = "at::native::vectorized_layer_norm_kernel<c10::BFloat16,float>"
	gelu      = "at::native::vectorized_elementwise_kernel<8,at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&,at::native::GeluType)>"
	plus      = "at::native::vectorized_elementwise_kernel<8,at::native::CUDAFunctor_add<c10::BFloat16>,std::array<char*,3ul>>"
	times     = "at::native::vectorized_elementwise_kernel<8,at::native::BinaryFunctor<c10::BFloat16,c10::BFloat16,c10::BFloat16,at::native::binary_internal::MulFunctor<float>>,std::array<char*,3ul>>"
	flash     = "pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64,128,128,4,false,false,cutlass::bfloat16_t>>"
	scatter   = "at::native::(anonymous namespace)::masked_scatter_size_check"
	convolve  = "sm90_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x128x64"
)

func product(name string) string {
	return "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize" + name + "_cublas"
}

func repeat(n int, names ...string) [][]string {
	out := make([][]string, n)
	for i := range out {
		out[i] = names
	}
	return out
}

// Tower is an encoder of images, or with text of text: n layers.
func Tower(n int, text bool) Order {
	o := Order{Layers: repeat(n, layerNorm, product("64x64x64"), product("64x64x64"), product("64x64x64"),
		flash, product("64x64x32"), plus, layerNorm, product("128x128x32"), gelu, product("128x64x32"), plus)}
	if text {
		o.Prologue = []string{"at::native::(anonymous namespace)::indexSelectLargeIndex<c10::BFloat16,long,unsigned,2,2,-2,true>", plus}
		o.Epilogue = []string{layerNorm}
		return o
	}
	o.Prologue = []string{convolve, "at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)>", plus}
	o.Epilogue = []string{layerNorm, product("256x128x32"), gelu, product("256x64x32")}
	return o
}

// crossDecoder attends to itself and to an encoder.
func crossDecoder(n int) Order {
	attend := []string{layerNorm, product("64x32x64"), product("64x32x64"), product("64x32x64"),
		"fmha_cutlassF_bf16_aligned_64x64_rf_sm80", product("64x32x32"), plus}
	cross := []string{layerNorm, product("64x32x64"), "fmha_cutlassF_bf16_aligned_64x64_rf_sm80", product("64x32x32"),
		plus}
	mlp := []string{layerNorm, product("128x32x32"), gelu, product("32x64x32"), plus}
	return Order{Prologue: []string{
		"at::native::(anonymous namespace)::indexSelectSmallIndex<c10::BFloat16,long,unsigned,2,2,-2>", plus},
		Layers: repeat(n, slices.Concat(attend, cross, mlp)...),
		Epilogue: []string{layerNorm, product("256x32x32"),
			"at::native::reduce_kernel<512,1,at::native::ReduceOp<float,at::native::ArgMaxOps<float>,unsigned,long,4,4>>"}}
}

// Denoiser is a diffusion transformer with modulation: n layers.
func Denoiser(n int) Order {
	block := []string{product("mod"), layerNorm, times, plus, product("64x256x64"), product("64x256x64"),
		product("64x256x64"), flash, product("64x256x32"), times, plus, layerNorm, times, plus, product("256x128x64"),
		gelu, product("128x256x64"), times, plus}
	return Order{Prologue: []string{convolve, plus,
		"at::native::vectorized_elementwise_kernel<4,at::native::sin_kernel_cuda(at::TensorIteratorBase&)>",
		"at::native::vectorized_elementwise_kernel<4,at::native::cos_kernel_cuda(at::TensorIteratorBase&)>",
		product("t"), "at::native::vectorized_elementwise_kernel<8,at::native::silu_kernel(at::TensorIteratorBase&)>",
		product("t")},
		Layers: repeat(n, block...), Epilogue: []string{layerNorm, times, plus, product("32x32x128"),
			"at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)>",
			times, plus}}
}

// Decoder makes images of latents by convolutions: no layers.
func Decoder() Order {
	block := []string{"at::native::RowwiseMomentsCUDAKernel<c10::BFloat16>",
		"at::native::ComputeFusedParamsCUDAKernel<c10::BFloat16>",
		"at::native::vectorized_elementwise_kernel<8,at::native::silu_kernel(at::TensorIteratorBase&)>", convolve}
	var all []string
	for k := range 4 {
		for range 3 {
			all = append(all, block...)
			all = append(all, block...)
			all = append(all, plus)
		}
		all = append(all, "at::native::upsample_nearest2d_nhwc_out_frame<c10::BFloat16>",
			fmt.Sprint(convolve, "_up", k))
	}
	return Order{Prologue: []string{times, convolve}, Epilogue: append(all, block...)}
}
