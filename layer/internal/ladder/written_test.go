package ladder

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/intern"
	"github.com/llmstrata/strata/internal/testdata"
)

const point = "void at::native::vectorized_elementwise_kernel<4, at::native::"

// written are kernels by what they compute.
var written = map[string]string{
	"copy":    "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)>",
	"pow":     point + "pow_tensor_scalar_kernel_impl, std::array<char*, 2ul>>",
	"mean":    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float, float, float, float>, unsigned, float, 4, 4>>",
	"eps":     point + "CUDAFunctorOnSelf_add<float>, std::array<char*, 2ul>>",
	"root":    point + "rsqrt_kernel_cuda, std::array<char*, 2ul>>",
	"gemm":    "nvjet_tst_64x8_64x16_4x1_v_bz_TNT",
	"softmax": "void softmax_warp_forward<float, float, float, 10, false>(float*)",
	"topk":    "void at::native::sbtopk::gatherTopK<float, unsigned int, 2, false>(float*)",
	"max":     "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MaxOps<float>, unsigned, float, 4, 4>>",
	"flash":   "void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128>>(Flash_fwd_params)",
	"norm":    "void vllm::rms_norm_kernel<c10::BFloat16, 8>",
	"add":     point + "CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul>>",
	"clamp":   point + "(anonymous namespace)::launch_clamp_scalar(at::TensorIteratorBase&), std::array<char*, 2ul>>",
	"memcpy":  "Memcpy DtoD (Device -> Device)",
	"cat":     "void at::native::CatArrayBatchedCopy<at::native::OpaqueType<2u>, unsigned int, 4, 64, 64>",
	"silu":    point + "silu_kernel, std::array<char*, 2ul>>",
	"mul":     point + "BinaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float>>>",
	"moe":     "fused_moe_kernel",
	"fused":   "void vllm::act_and_mul_kernel<c10::BFloat16, &vllm::silu_kernel<c10::BFloat16>, true>",
	"lookup":  "void at::native::vectorized_gather_kernel<16, long>",
	"argmax":  "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::ArgMaxOps<float>, unsigned, long, 4, 4>>",
	"sum":     "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
}

// TestWrittenParts: a norm that is written as single operations begins with its first one, beside whole norms, too; a
// mean without a root is none. A softmax mixes tokens between two products, beside attention in one kernel, too; before
// a choice of experts it does not, where no kernel is known to mix, either. A part that moves what is between its
// products mixes beside parts that only compute elements, and feeds forward where each follows a mixer.
func TestWrittenParts(t *testing.T) {
	for _, c := range []struct{ kernels, roles string }{
		{"gemm copy pow mean eps root gemm", "0100000"},
		{"gemm pow mean eps root gemm", "010000"},
		{"mean eps root", "100"},
		{"mean root", "10"},
		{"pow mean gemm root", "0000"},
		{"gemm copy pow mean eps gemm", "000000"},
		{"copy pow mean eps eps eps root", "1000000"},
		{"copy pow mean eps eps eps eps root", "00000000"},
		{"copy pow mean eps root norm", "100001"},
		{"gemm copy mean eps pow mean eps root gemm", "010000000"},
		{"gemm mean gemm pow mean eps root gemm", "00010000"},
		{"gemm eps softmax copy gemm", "00M00"},
		{"flash gemm eps softmax gemm", "M00M0"},
		{"flash gemm softmax topk gemm", "M0000"},
		{"gemm softmax topk gemm", "0000"},
		{"gemm softmax max add gemm", "00000"},
		{"gemm softmax add gemm", "0M00"},
		{"flash norm softmax gemm", "M100"},
		{"eps copy norm gemm", "0100"},
		{"add eps norm gemm", "0100"},
		{"gemm copy norm copy norm flash", "00101M"},
		{"memcpy norm gemm", "010"},
		{"gemm clamp gemm clamp eps gemm", "0A0000"},
		// norms of heads and of a state
		{"norm gemm copy pow mean eps root mul copy mul gemm", "10000000000"},
		{"norm gemm pow mean eps root mul copy mul add gemm", "10100000000"},
		{"norm gemm flash pow mean eps root mul gemm", "10M100000"},
		{"norm gemm silu mul pow mean eps root mul gemm", "10A0000000"},
		{"norm gemm add copy pow mean eps root mul gemm", "1001000000"},
		{"norm gemm pow mean eps root mul copy mul copy add gemm", "100000000000"},
		{"norm gemm pow mean eps root mul gemm add gemm", "1000000000"},
		{"norm gemm fused pow mean eps root mul gemm", "10A000000"},
		{"norm gemm argmax gemm pow mean eps root mul gemm", "1000100000"},
		{"norm gemm lookup gemm pow mean eps root mul gemm", "1000100000"},
		{"norm lookup copy pow mean eps root mul gemm", "101000000"},
		// what does more than feed forward mixes, if something is known to feed forward
		{"norm gemm cat gemm add norm gemm silu mul gemm add", "10M00" + "10A000"},
		{"norm gemm cat gemm add norm gemm cat gemm add", "10000" + "10000"},
		{"norm gemm cat silu gemm add norm gemm topk cat gemm add", "10M000" + "100000"},
		{"norm gemm flash gemm add norm gemm cat gemm add norm gemm flash gemm add norm gemm topk gemm add", "10M00" + "10000" +
			"10M00" + "10000"},
		{strings.Repeat("norm gemm flash silu gemm norm gemm silu gemm ", 4) + "norm gemm cat gemm",
			strings.Repeat("10M00"+"10A0", 4) + "1000"},
		{"norm gemm flash gemm silu gemm norm gemm mul gemm", "10M0A0" + "10A0"},
		{"norm gemm flash sum silu gemm", "10M0A0"},
		{"norm gemm cat gemm norm gemm flash gemm silu gemm", "10M0" + "10M0A0"},
		{"norm gemm cat gemm norm gemm flash gemm mul silu gemm", "10M0" + "10M00A0"},
		{"norm gemm cat gemm norm moe gemm", "10M0" + "100"},
		{"norm gemm flash norm silu gemm", "10M" + "1A0"},
		{"norm gemm cat gemm norm gemm flash gemm mul gemm", "1000" + "10M000"},
		{"norm gemm flash gemm norm gemm silu gemm norm gemm cat gemm", "10M0" + "10A0" + "10M0"},
		{"norm gemm flash gemm norm add norm gemm cat gemm norm gemm flash gemm norm gemm topk gemm", "10M0" + "10" + "1000" +
			"10M0" + "1000"},
		// one part of eight, and how many follow one that mixes
		{"norm gemm cat gemm " + strings.Repeat("norm gemm flash silu gemm norm gemm silu gemm ", 3) + "norm gemm silu gemm",
			"10M0" + strings.Repeat("10M00"+"10A0", 3) + "10A0"},
		{strings.Repeat("norm gemm flash gemm norm gemm cat gemm ", 8) + "norm gemm silu gemm norm gemm cat gemm",
			strings.Repeat("10M0"+"10M0", 8) + "10A0" + "10M0"},
		{strings.Repeat("norm gemm flash gemm norm gemm cat gemm ", 9) + "norm gemm silu gemm norm gemm cat gemm",
			strings.Repeat("10M0"+"1000", 9) + "10A0" + "1000"},
	} {
		s, steps := writtenOut(c.kernels)
		writtenParts(s, steps)
		got := ""
		for _, r := range s.Role {
			switch r {
			case RoleNorm:
				got += "1"
			case RoleMixer:
				got += "M"
			case roleActivation:
				got += "A"
			default:
				got += "0"
			}
		}
		if diff := cmp.Diff(c.roles, got); diff != "" {
			t.Errorf("%s: norms and mixers (-want +got):\n%s", c.kernels, diff)
		}
	}
}

// writtenOut is a sequence of kernels that words name, and their steps.
func writtenOut(words string) (*Sequence, []step) {
	var in intern.Keys[string]
	s := &Sequence{}
	var facts []classify.Facts
	for _, k := range strings.Fields(words) {
		id := int32(in.ID(k))
		if int(id) == len(facts) {
			facts = append(facts, FactsOf(written[k]))
		}
		s.ID, s.Base = append(s.ID, id), append(s.Base, id)
	}
	roles := structuralRoles(facts, nil)
	for _, id := range s.ID {
		s.Role = append(s.Role, roles[id])
	}
	return s, writtenSteps(facts)
}

// TestManyNormsOfHeads: norms of heads without one of the residual stream between them take time by their number.
func TestManyNormsOfHeads(t *testing.T) {
	s, steps := writtenOut("norm " + strings.Repeat("gemm copy pow mean eps root mul ", 40_000))
	begin := testdata.CPU()
	writtenParts(s, steps)
	if took := testdata.CPU() - begin; took > time.Second {
		t.Errorf("%d kernels take %v", s.Len(), took)
	}
	if slices.Contains(s.Role[1:], RoleNorm) {
		t.Error("a norm of a head is one of the residual stream")
	}
}
