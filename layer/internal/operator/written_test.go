package operator

import (
	"strings"
	"testing"
)

// operations are kernels of PyTorch, and of what it calls, by what they compute.
var operations = map[string]string{
	"gemm":     "nvjet_sm90_tst_64x8_64x16_4x1_v_bz_TNT",
	"flash":    "flash_fwd_kernel",
	"layer":    "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float, false>",
	"embed":    "void at::native::(anonymous namespace)::indexSelectSmallIndex<c10::BFloat16, long, unsigned int, 2, 2, -2>",
	"copy":     "void at::native::vectorized_elementwise_kernel<4, at::native::bfloat16_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda(float)#1}, std::array<char*, 2ul> >",
	"pow":      "void at::native::vectorized_elementwise_kernel<4, at::native::(anonymous namespace)::pow_tensor_scalar_kernel_impl<float, float>(at::TensorIteratorBase&, float)::{lambda(float)#1}, std::array<char*, 2ul> >",
	"mean":     "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float, float, float, float>, unsigned int, float, 4, 4> >",
	"eps":      "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctorOnSelf_add<float>, std::array<char*, 2ul> >",
	"add":      "void at::native::vectorized_elementwise_kernel<8, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul> >",
	"rsqrt":    "void at::native::vectorized_elementwise_kernel<4, at::native::rsqrt_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}::operator()() const::{lambda()#2}::operator()() const::{lambda(float)#1}, std::array<char*, 2ul> >",
	"mul":      "void at::native::vectorized_elementwise_kernel<8, at::native::BinaryFunctor<c10::BFloat16, c10::BFloat16, c10::BFloat16, at::native::binary_internal::MulFunctor<float> >, std::array<char*, 3ul> >",
	"neg":      "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native::neg_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}::operator()() const::{lambda()#7}::operator()() const::{lambda(c10::BFloat16)#1}> >",
	"cat":      "void at::native::(anonymous namespace)::CatArrayBatchedCopy<at::native::(anonymous namespace)::OpaqueType<2u>, unsigned int, 4, 64, 64>",
	"silu":     "void at::native::vectorized_elementwise_kernel<8, at::native::(anonymous namespace)::silu_kernel(at::TensorIteratorBase&)::{lambda()#1}::operator()() const::{lambda()#8}::operator()() const::{lambda(c10::BFloat16)#1}, std::array<char*, 2ul> >",
	"gelu":     "void at::native::vectorized_elementwise_kernel<8, at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&, at::native::GeluType)::{lambda()#1}::operator()() const::{lambda()#4}::operator()() const::{lambda(c10::BFloat16)#1}, std::array<char*, 2ul> >",
	"clamp":    "void at::native::vectorized_elementwise_kernel<8, at::native::(anonymous namespace)::launch_clamp_scalar(at::TensorIteratorBase&, c10::Scalar, c10::Scalar, at::native::detail::ClampLimits)::{lambda()#1}::operator()() const::{lambda()#6}::operator()() const::{lambda(c10::BFloat16)#1}, std::array<char*, 2ul> >",
	"softplus": "void at::native::vectorized_elementwise_kernel<8, at::native::(anonymous namespace)::softplus_kernel(at::TensorIteratorBase&, c10::Scalar const&, c10::Scalar const&)::{lambda()#1}::operator()() const::{lambda()#4}::operator()() const::{lambda(c10::BFloat16)#1}, std::array<char*, 2ul> >",
	"exp":      "void at::native::vectorized_elementwise_kernel<4, at::native::exp_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}::operator()() const::{lambda()#2}::operator()() const::{lambda(float)#1}, std::array<char*, 2ul> >",
	"cumsum":   "void at::native::tensor_kernel_scan_innermost_dim<float, std::plus<float> >(float*, float const*, unsigned int, unsigned int, unsigned int, float, std::plus<float>)",
	"sum":      "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::func_wrapper_t<float, at::native::sum_functor<float, float, float>::operator()(at::TensorIterator&)::{lambda(float, float)#1}>, unsigned int, float, 4, 4> >",
	"conv":     "void at::native::(anonymous namespace)::conv_depthwise2d_forward_kernel_generic<c10::BFloat16, int>",
	"softmax":  "void (anonymous namespace)::softmax_warp_forward<float, float, float, 4, false, false>(float*, float const*, int, int, int, bool const*, int, bool)",
	"topk":     "void at::native::sbtopk::gatherTopK<float, unsigned int, 2, false>(at::cuda::detail::TensorInfo<float const, unsigned int>, unsigned int)",
	"sigmoid":  "void at::native::vectorized_elementwise_kernel<4, at::native::sigmoid_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}::operator()() const::{lambda()#2}::operator()() const::{lambda(float)#1}, std::array<char*, 2ul> >",
	"grouped":  "void cutlass::device_kernel<at::cuda::detail::enable_3x_kernel_for_sm9x<cutlass::gemm::kernel::GemmUniversal<cutlass::gemm::GroupProblemShape<cute::tuple<int, int, int> > > > >",
	"memset":   "Memset (Device)",
	"lean":     "void cudnn::fusion::lean_reduction_kernel<false, false, false>(void*, float*, float*)",
	"store":    "void at::native::index_elementwise_kernel<128, 4, at::native::index_copy_kernel_impl<at::native::OpaqueType<2> >(at::TensorIterator&, long, long, long)::{lambda(int)#1}>",
	"batch":    "void at::native::batch_norm_transform_input_channels_last_kernel<c10::BFloat16, c10::BFloat16, float, 4>(c10::BFloat16 const*)",
}

// Norms and rotations as the models' code writes them.
const (
	llamaNorm  = "copy,pow,mean,eps,rsqrt,mul,copy,mul"
	olmoNorm   = "copy,pow,mean,eps,rsqrt,mul,mul,copy"
	gemmaNorm  = "copy,pow,mean,eps,rsqrt,mul,copy,eps,mul,copy"
	cohereNorm = "copy,mean,add,pow,mean,add,eps,rsqrt,mul,copy,mul"
	rotation   = "mul,neg,cat,mul,add,mul,neg,cat,mul,add"
	turned     = "mul,mul,add,mul,mul,add,cat,mul,mul,add,mul,mul,add,cat"
	stacked    = "mul,neg,copy,copy,mul,add,mul,neg,copy,copy,mul,add"
)

// TestLayersOfSingleOperations: layers as transformers runs them, one operation of PyTorch after the other, have the
// operators that the models' code names. Each row is one layer: operators and the kernels of each.
func TestLayersOfSingleOperations(t *testing.T) {
	for _, c := range []struct{ name, layer string }{
		{"Qwen 3: a norm after queries and one after keys", "input_norm=" + llamaNorm + " q_proj=gemm qk_norm=" + llamaNorm +
			" k_proj=gemm qk_norm=" + llamaNorm + " v_proj=gemm rope=" + rotation + " attention=cat,cat,flash o_proj=gemm " +
			"residual_add=add post_norm=" + llamaNorm + " gate_proj=gemm activation=silu up_proj=gemm activation=mul " +
			"down_proj=gemm residual_add=add"},
		{"OLMo 2: norms behind the parts", "q_proj=gemm qk_norm=" + olmoNorm + " k_proj=gemm qk_norm=" + olmoNorm +
			" v_proj=gemm rope=" + rotation + " attention=cat,cat,flash o_proj=gemm post_norm|input_norm=" + olmoNorm +
			" residual_add=add gate_proj=gemm activation=silu up_proj=gemm activation=mul down_proj=gemm " +
			"post_norm|input_norm=" + olmoNorm + " residual_add=add"},
		{"Gemma 3: norms before and behind the parts", "input_norm=" + gemmaNorm + " q_proj=gemm k_proj=gemm v_proj=gemm qk_norm=" +
			gemmaNorm + "," + gemmaNorm + " rope=" + rotation + " attention=cat,cat,flash o_proj=gemm post_norm|input_norm=" +
			gemmaNorm + " residual_add=add post_norm=" + gemmaNorm + " gate_proj=gemm activation=gelu up_proj=gemm " +
			"activation=mul down_proj=gemm post_norm|input_norm=" + gemmaNorm + " residual_add=add"},
		{"Cohere: the mean taken off, halves of vectors stacked", "input_norm=" + cohereNorm + " q_proj=gemm k_proj=gemm v_proj=gemm " +
			"rope=" + stacked + " attention=cat,cat,flash o_proj=gemm gate_proj=gemm activation=silu up_proj=gemm " +
			"activation=mul down_proj=gemm residual_add=add,add"},
		{"OPT: no gate, a bound as the activation", "input_norm=layer q_proj=gemm k_proj=gemm v_proj=gemm attention=flash o_proj=gemm " +
			"residual_add=add post_norm=layer up_proj=gemm activation=clamp down_proj=gemm residual_add=add"},
		{"DINOv2: what the parts leave is scaled", "input_norm=layer q_proj=gemm k_proj=gemm v_proj=gemm attention=flash o_proj=gemm " +
			"residual_add=mul,add post_norm=layer up_proj=gemm activation=gelu down_proj=gemm residual_add=mul,add"},
		{"Mamba 2: a scan written out", "input_norm=" + llamaNorm + " in_proj=gemm linear_attention=exp,neg conv1d=conv linear_attention=silu,add," +
			"softplus,clamp,copy,mul,mul,cumsum,exp,mul,sum,mul,sum,add,cat,cumsum,exp,mul,sum,add,add,silu,mul gate_norm=" +
			llamaNorm + " out_proj=gemm residual_add=add post_norm=" + llamaNorm + " gate_proj=gemm activation=silu up_proj=gemm " +
			"activation=mul down_proj=gemm residual_add=add"},
		{"Mamba 1: products before the gates, one of the state", "input_norm=" + llamaNorm + " in_proj=gemm conv1d=conv linear_attention=silu in_proj=gemm gate_norm=" +
			llamaNorm + " in_proj=gemm linear_attention=add,softplus,mul,exp,mul,mul,mul,add,gemm,mul,add,silu,mul out_proj=gemm " +
			"residual_add=add post_norm=" + llamaNorm + " gate_proj=gemm activation=silu up_proj=gemm activation=mul down_proj=gemm residual_add=add"},
		{"GLM 4: a router with a sigmoid, and shared experts with two products before the last", "input_norm=" + llamaNorm +
			" q_proj=gemm k_proj=gemm v_proj=gemm rope=" + rotation + " attention=cat,cat,flash o_proj=gemm residual_add=add post_norm=" +
			llamaNorm + " router=gemm routing=sigmoid,topk experts_gate_up=grouped experts_activation=silu,mul experts_down=grouped " +
			"experts_combine=mul,sum shared_gate_up=gemm shared_activation=silu shared_gate_up=gemm shared_activation=mul " +
			"shared_down=gemm residual_add=add,add"},
		{"Qwen 2 MoE: the shared expert first", "input_norm=" + llamaNorm +
			" q_proj=gemm k_proj=gemm v_proj=gemm rope=" + rotation + " attention=cat,cat,flash o_proj=gemm residual_add=add post_norm=" +
			llamaNorm + " shared_gate_up=gemm shared_activation=silu shared_gate_up=gemm shared_activation=mul shared_down=gemm " +
			"router=gemm routing=softmax,topk experts_gate_up=grouped experts_activation=silu,mul experts_down=grouped " +
			"experts_combine=mul experts_combine|residual_add=sum residual_add=add,add"},
		{"Falcon-H1: a scan beside attention", "input_norm=" + llamaNorm + " other=mul in_proj=gemm conv1d=conv linear_attention=silu,add,softplus,exp,mul,mul,add," +
			"gemm,mul,add,silu,mul out_proj=gemm other=mul,mul q_proj=gemm k_proj=gemm v_proj=gemm rope=" + rotation +
			" attention=cat,cat,flash o_proj=gemm residual_add=mul,add,add post_norm=" + llamaNorm +
			" gate_proj=gemm activation=silu up_proj=gemm activation=mul down_proj=gemm residual_add=add"},
		{"Apertus: an activation with parameters that are made positive", "input_norm=" + llamaNorm + " q_proj=gemm k_proj=gemm v_proj=gemm rope=" + rotation +
			" attention=cat,cat,flash o_proj=gemm residual_add=add post_norm=" + llamaNorm +
			" up_proj|gate_up_proj=gemm other|activation=softplus,softplus,mul,mul,exp,mul,mul down_proj=gemm residual_add=add"},
		{"BART's decoder: attention to an encoder, whose keys and values it makes", "input_norm=layer q_proj=gemm k_proj=gemm " +
			"v_proj=gemm attention=cat,cat,flash o_proj=gemm residual_add=add input_norm=layer q_proj=gemm k_proj=gemm v_proj=gemm " +
			"attention=cat,cat,flash o_proj=gemm residual_add=add post_norm=layer up_proj=gemm activation=gelu down_proj=gemm residual_add=add"},
		{"BART's decoder: attention to keys and values that are kept", "input_norm=layer q_proj=gemm k_proj=gemm " +
			"v_proj=gemm attention=cat,cat,flash o_proj=gemm residual_add=add input_norm=layer q_proj=gemm " +
			"attention=flash o_proj=gemm residual_add=add post_norm=layer up_proj=gemm activation=gelu down_proj=gemm residual_add=add"},
		{"DeepSeek V3: products of low rank, halves of vectors turned", "input_norm=" + llamaNorm + " q_a_proj=gemm q_a_norm=" +
			llamaNorm + " q_b_proj=gemm kv_a_proj=gemm kv_a_norm=" + llamaNorm + " rope=" + turned + " kv_b_proj=gemm attention=copy,copy,flash " +
			"o_proj=gemm residual_add=add post_norm=" + llamaNorm + " gate_proj=gemm activation=silu up_proj=gemm activation=mul " +
			"down_proj=gemm residual_add=add"},
		{"DeepSeek V2 Lite: keys and values of low rank", "input_norm=" + llamaNorm + " q_proj=gemm kv_a_proj=gemm kv_a_norm=" +
			llamaNorm + " kv_b_proj=gemm rope=" + rotation + " attention=copy,copy,flash o_proj=gemm residual_add=add post_norm=" +
			llamaNorm + " gate_proj=gemm activation=silu up_proj=gemm activation=mul down_proj=gemm residual_add=add"},
		{"no low rank: a norm behind the part before, one product of queries, keys and values", "qkv_proj=gemm attention=flash o_proj=gemm " +
			"post_norm|input_norm=layer residual_add=add up_proj=gemm activation=gelu down_proj=gemm post_norm|input_norm=layer residual_add=add"},
		{"a cleared buffer before a product is no cast of the norm's", "input_norm=" + llamaNorm + " q_proj=memset,gemm k_proj=gemm " +
			"v_proj=gemm rope=" + rotation + " attention=flash o_proj=gemm residual_add=add post_norm=" + llamaNorm +
			" gate_proj=gemm activation=silu up_proj=gemm activation=mul down_proj=gemm residual_add=add"},
		{"a cache of fixed size, attention in parts", "input_norm=layer q_proj=gemm k_proj=gemm v_proj=gemm rope=" + rotation +
			" kv_write=store,store attention=flash,lean o_proj=gemm residual_add=add post_norm=layer up_proj=gemm " +
			"activation=gelu down_proj=gemm residual_add=add"},
		{"MobileBERT: several feed-forward parts", "q_proj=gemm k_proj=gemm v_proj=gemm attention=flash o_proj=gemm residual_add=add " +
			"post_norm=layer" + strings.Repeat(" up_proj=gemm activation=clamp down_proj=gemm residual_add=add post_norm|input_norm|final_norm=layer", 4)},
		{"Aria: products of experts in a loop", "input_norm=layer q_proj=gemm k_proj=gemm v_proj=gemm attention=flash o_proj=gemm " +
			"residual_add=add post_norm=layer router=gemm routing=topk,softmax experts_gate_up=copy" + strings.Repeat(",gemm,copy", 12) +
			" experts_activation=silu,mul experts_down=gemm" + strings.Repeat(",copy,gemm", 11) + " experts_combine=mul,sum residual_add=add"},
		{"LeViT: norms of channels are of no heads", "q_proj=gemm input_norm|post_norm|other=batch k_proj=gemm input_norm|post_norm|other=batch " +
			"v_proj=gemm input_norm|post_norm|other=batch attention=flash o_proj=gemm residual_add=add post_norm=layer up_proj=gemm " +
			"activation=gelu down_proj=gemm residual_add=add"},
		{"DiffLlama: weights of two attentions from sums and exponentials", "input_norm=layer q_proj=gemm k_proj=gemm v_proj=gemm rope=" +
			rotation + " attention=mul,sum,exp,mul,sum,exp,flash,mul o_proj=gemm residual_add=add post_norm=layer gate_proj=gemm " +
			"activation=silu up_proj=gemm activation=mul down_proj=gemm residual_add=add"},
	} {
		const layers = 6
		p := Pass{Layers: layers, Kernels: []Kernel{{Name: operations["embed"], Layer: -1}}}
		want := []string{"embed"}
		for l := range int32(layers) {
			for _, part := range strings.Fields(c.layer) {
				op, kernels, _ := strings.Cut(part, "=")
				for _, k := range strings.Split(kernels, ",") {
					p.Kernels, want = append(p.Kernels, Kernel{Name: operations[k], Layer: l}), append(want, op)
				}
			}
		}
		found := NewFinder(nil, Defaults()).Find(p)
		wrong := 0
		for i := range found {
			if !among(found[i].Operator, want[i]) && wrong < 5 {
				t.Errorf("%s: kernel %d of layer %d is %s, want %s", c.name, i, p.Kernels[i].Layer, found[i].Operator, want[i])
				wrong++
			}
		}
	}
}

// among reports that two answers have an operator in common.
func among(got, want string) bool {
	for _, g := range strings.FieldsFunc(got, func(r rune) bool { return r == '|' || r == '+' }) {
		for _, w := range strings.Split(want, "|") {
			if g == w {
				return true
			}
		}
	}
	return false
}
