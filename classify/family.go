package classify

import (
	"strings"
)

// Family names the code generator or library a kernel comes from, as far as
// its name tells. It answers "who made this", not "what does it do": a CUTLASS
// kernel may be attention. More families may be added.
type Family string

// The families Parse recognises.
const (
	FamilyUnknown     Family = ""
	FamilyMemcpy      Family = "memcpy"       // "Memcpy HtoD (Pinned -> Device)", "[CUDA memcpy DtoH]"
	FamilyMemset      Family = "memset"       // "Memset (Device)"
	FamilyInductor    Family = "inductor"     // triton_poi_fused_…: kernels torch.compile wrote
	FamilyTriton      Family = "triton"       // plain C identifiers as user-written Triton kernels have
	FamilyTileLang    Family = "tilelang"     // …_tilelang_kernel, main_kernel
	FamilyCuTeDSL     Family = "cute_dsl"     // kernel_cutlass_…: CUTLASS Python DSL
	FamilyCUTLASS     Family = "cutlass"      // cutlass::…, cute::…
	FamilyCuBLAS      Family = "cublas"       // cublasLt::…, sm90_xmma_gemm_…, volta_sgemm_…, gemv…
	FamilyCuDNN       Family = "cudnn"        // cudnn::…, cudnn_generated_…
	FamilyNvjet       Family = "nvjet"        // nvjet_tst_…
	FamilyTRTLLMGen   Family = "trtllm_gen"   // bmm_…, gemm_…_sm100f, fmhaSm100f…
	FamilyTRTLLM      Family = "tensorrt_llm" // tensorrt_llm::…
	FamilyTensile     Family = "tensile"      // Cijk_…
	FamilyCK          Family = "ck"           // ck::…, ck_tile::…
	FamilyAITER       Family = "aiter"        // aiter::…
	FamilyNCCL        Family = "nccl"         // ncclDevKernel_…, also RCCL, MSCCL++ and NVSHMEM
	FamilyDeepEP      Family = "deep_ep"      // deep_ep::…, dpsk::ep::…
	FamilyDeepGEMM    Family = "deep_gemm"    // deep_gemm::…
	FamilyFlashInfer  Family = "flashinfer"   // flashinfer::…
	FamilyFlash       Family = "flash_attn"   // flash::…, pytorch_flash::…
	FamilyFlashMLA    Family = "flash_mla"    // flash_fwd_splitkv_mla…, smxx::…
	FamilyVLLM        Family = "vllm"         // vllm::…
	FamilySGLang      Family = "sglang"       // sgl_kernel, sgl_hip::…
	FamilyPyTorch     Family = "pytorch"      // at::native::…
	FamilyCUB         Family = "cub"          // cub::…, thrust::…, rocprim::…, hipcub::…
	FamilyXFormers    Family = "xformers"     // fmha_cutlassF_…, PyTorchMemEffAttention
	FamilyTransformer Family = "te"           // transformer_engine::…
)

// familyPrefix finds families by how the whole name begins.
var familyPrefix = []struct {
	prefix string
	family Family
}{
	{"Memcpy", FamilyMemcpy}, {"[CUDA memcpy", FamilyMemcpy}, {"[CUDA Unified Memory memcpy", FamilyMemcpy},
	{"CopyDeviceTo", FamilyMemcpy}, {"CopyHostTo", FamilyMemcpy}, {"__amd_rocclr_copyBuffer", FamilyMemcpy},
	{"Memset", FamilyMemset}, {"[CUDA memset", FamilyMemset}, {"__amd_rocclr_fillBuffer", FamilyMemset},
	{"FillBuffer", FamilyMemset},
	{"triton_poi_", FamilyInductor}, {"triton_red_", FamilyInductor}, {"triton_per_", FamilyInductor},
	{"triton_tem_", FamilyInductor}, {"triton_for_", FamilyInductor}, {"triton_mm", FamilyInductor},
	{"triton_bmm", FamilyInductor}, {"triton_fused_", FamilyInductor}, {"triton__", FamilyInductor},
	{"triton_foreach_", FamilyInductor}, {"triton_split_scan_", FamilyInductor}, {"triton_spl_", FamilyInductor},
	{"triton_flex_attention", FamilyInductor}, {"triton_convolution", FamilyInductor}, {"triton_mix_", FamilyInductor},
	{"kernel_cutlass_", FamilyCuTeDSL}, {"cutlass_", FamilyCUTLASS},
	{"nvjet_", FamilyNvjet}, {"Cijk_", FamilyTensile}, {"Custom_Cijk_", FamilyTensile},
	{"ncclDevKernel", FamilyNCCL}, {"ncclKernel", FamilyNCCL}, {"rcclKernel", FamilyNCCL}, {"rccl", FamilyNCCL},
	{"nccl", FamilyNCCL}, {"msccl", FamilyNCCL}, {"nvshmem", FamilyNCCL},
	{"fmhaSm", FamilyTRTLLMGen}, {"fmha_cutlassF", FamilyXFormers}, {"fmha_cutlassB", FamilyXFormers},
	{"cudnn_generated_", FamilyCuDNN}, {"cudnn_", FamilyCuDNN},
	{"cublas", FamilyCuBLAS}, {"gemv2", FamilyCuBLAS}, {"gemvNSP", FamilyCuBLAS}, {"gemvx", FamilyCuBLAS},
	{"splitKreduce_kernel", FamilyCuBLAS}, {"gemmk1_kernel", FamilyCuBLAS},
	{"main_kernel", FamilyTileLang}, {"default_function_kernel", FamilyTileLang},
}

// familyScope finds families by the first namespaces of the name.
var familyScope = map[string]Family{
	"at": FamilyPyTorch, "at_cuda_detail": FamilyCUB, "c10": FamilyPyTorch,
	"cub": FamilyCUB, "thrust": FamilyCUB, "rocprim": FamilyCUB, "hipcub": FamilyCUB, "cuda": FamilyCUB,
	"cutlass": FamilyCUTLASS, "cute": FamilyCUTLASS,
	"cublasLt": FamilyCuBLAS, "cublas": FamilyCuBLAS,
	"cudnn": FamilyCuDNN, "cask_cudnn": FamilyCuDNN, "cask_cudnn_infer": FamilyCuDNN, "cask_cudnn_train": FamilyCuDNN,
	"ck": FamilyCK, "ck_tile": FamilyCK, "aiter": FamilyAITER,
	"deep_ep": FamilyDeepEP, "deep_gemm": FamilyDeepGEMM,
	"flashinfer": FamilyFlashInfer, "flash": FamilyFlash, "pytorch_flash": FamilyFlash, "flash_attn": FamilyFlash,
	"smxx": FamilyFlashMLA, "sm90": FamilyFlashMLA, "sm100": FamilyFlashMLA,
	"vllm": FamilyVLLM, "sgl_hip": FamilySGLang, "sgl_kernel": FamilySGLang, "sglang": FamilySGLang,
	"tensorrt_llm": FamilyTRTLLM, "PyTorchMemEffAttention": FamilyXFormers,
	"transformer_engine": FamilyTransformer, "mscclpp": FamilyNCCL, "nvshmem": FamilyNCCL,
	"nvshmemi": FamilyNCCL, "rccl": FamilyNCCL,
}

// ncclPrefixes begin the function's name where a return type stands in front.
var ncclPrefixes = []string{"nccl", "rccl", "msccl", "nvshmem"}

func detectFamily(n *Name) Family {
	s := n.Demangled
	for _, p := range familyPrefix {
		if s[:min(len(s), 1)] == p.prefix[:1] && strings.HasPrefix(s, p.prefix) {
			return p.family
		}
	}
	for i, ns := range n.Namespaces {
		if f, ok := familyScope[ns]; ok {
			return f
		}
		// DeepSeek's inference library holds DeepEP beside its products.
		if ns == "dpsk" && i+1 < len(n.Namespaces) && n.Namespaces[i+1] == "ep" {
			return FamilyDeepEP
		}
	}
	f := n.Function
	switch {
	case hasAnyPrefix(f, ncclPrefixes):
		return FamilyNCCL
	case strings.HasPrefix(f, "Kernel") && strings.HasPrefix(n.Operation, "cutlass_"):
		return FamilyCUTLASS
	case isTRTLLMGen(f):
		return FamilyTRTLLMGen
	case strings.Contains(f, "_xmma_"), hasArchGEMMPrefix(f):
		return FamilyCuBLAS
	case strings.HasPrefix(f, "flash_fwd_splitkv_mla"), strings.HasPrefix(f, "flash_fwd_mla"):
		return FamilyFlashMLA
	case strings.HasPrefix(f, "flash_fwd"), strings.HasPrefix(f, "flash_bwd"):
		return FamilyFlash
	case strings.Contains(f, "tilelang"):
		return FamilyTileLang
	}
	// A bare C identifier that is not C++ at all is what the Triton compiler
	// emits: the Python function's name.
	if len(n.Namespaces) == 0 && n.TemplateArgs == nil && n.ArgTypes == nil && !n.hasArgs &&
		s == n.Function && !n.mangled && isIdentifier(f) && hasLower(f) {
		return FamilyTriton
	}
	return FamilyUnknown
}

// isTRTLLMGen recognises the generated batched and dense GEMMs of TensorRT-LLM:
// bmm_ or gemm_ followed by a data type in camel case (Bfloat16, E4m3, MxE2m1).
func isTRTLLMGen(f string) bool {
	rest, ok := strings.CutPrefix(f, "bmm_")
	if !ok {
		rest, ok = strings.CutPrefix(f, "gemm_")
	}
	if !ok || rest == "" || !isUpper(rest[0]) {
		return false
	}
	for _, t := range []string{"Bfloat16", "Fp16", "Fp32", "E4m3", "E2m1", "E5m2", "MxE", "MxInt", "NvE", "Int8"} {
		if strings.HasPrefix(rest, t) {
			return true
		}
	}
	return false
}

// hasArchGEMMPrefix recognises cuBLAS's hand-written kernels such as
// volta_sgemm_64x64_nt, ampere_bf16_s16816gemm_…, turing_fp16_….
func hasArchGEMMPrefix(f string) bool {
	for _, arch := range []string{"maxwell_", "volta_", "turing_", "ampere_", "hopper_"} {
		if strings.HasPrefix(f, arch) && (strings.Contains(f, "gemm") || strings.Contains(f, "cudnn")) {
			return true
		}
	}
	return false
}

func isIdentifier(s string) bool {
	for i := 0; i < len(s); i++ {
		if !isWordByte(s[i]) && s[i] != '.' {
			return false
		}
	}
	return s != ""
}

func hasLower(s string) bool {
	for i := 0; i < len(s); i++ {
		if isLower(s[i]) {
			return true
		}
	}
	return false
}

// dtypeMarks maps letters in a name to the operand type they mean, narrowest
// first: a product of mxfp4 weights and bf16 activations is an mxfp4 product.
var dtypeMarks = []struct {
	dtype string
	marks []string
}{
	{"mxfp4", []string{"mxfp4", "mxe2m1"}},
	{"nvfp4", []string{"nvfp4", "nve2m1"}},
	{"fp4", []string{"fp4", "e2m1", "mxf4", "f4gemm", "float4_e2m1"}},
	{"int4", []string{"int4", "4bit", "w4a16", "a16w4", "w4a8", "gptq_awq", "awq", "gptq", "wna16"}},
	{"fp6", []string{"fp6", "e3m2", "e2m3"}},
	{"mxfp8", []string{"mxfp8", "mxe4m3", "mxf8"}},
	{"fp8", []string{"fp8", "e4m3", "e5m2", "float8", "float_e4m3", "fp8e4"}},
	{"int8", []string{"int8", "i8816", "signed char", "a8w8", "w8a8"}},
	{"bf16", []string{"bf16", "bfloat16"}},
	{"fp16", []string{"fp16", "float16", "half", "f16", "hgemm", "h884", "h1688"}},
	{"tf32", []string{"tf32", "s1688gemm"}},
	{"fp32", []string{"fp32", "f32", "float", "sgemm", "scudnn"}},
	{"fp64", []string{"fp64", "f64", "double", "dgemm"}},
}

// DType returns the narrowest operand type the name shows, such as "bf16",
// "fp8" or "mxfp4", or "" when it shows none. The function's own name is asked
// first, then its template arguments; parameter types never.
func (n *Name) DType() string {
	switch n.Family {
	case FamilyTensile:
		return tensileDType(n.Function)
	case FamilyNvjet:
		return nvjetDType(n.Function)
	}
	if d := markedDType(n.Function + " " + n.Operation); d != "" {
		return d
	}
	for _, s := range n.Namespaces {
		if s == "gptq" || s == "awq" || strings.Contains(s, "wna16") {
			return "int4"
		}
	}
	best := len(dtypeMarks)
	for _, a := range n.TemplateArgs {
		if a == "" || a[0] == '(' { // "(vllm::Fp8KVCacheDataType)0" is a switch
			continue
		}
		if len(a) > 256 {
			a = a[:256]
		}
		if k := dtypeMark(a); k < best {
			best = k
		}
	}
	if best < len(dtypeMarks) {
		return dtypeMarks[best].dtype
	}
	return ""
}

func markedDType(s string) string {
	if k := dtypeMark(s); k < len(dtypeMarks) {
		return dtypeMarks[k].dtype
	}
	return ""
}

func dtypeMark(s string) int {
	s = strings.ToLower(s)
	for k := range dtypeMarks {
		for _, m := range dtypeMarks[k].marks {
			if strings.Contains(s, m) {
				return k
			}
		}
	}
	return len(dtypeMarks)
}

// tensileDType reads the data type letters of Cijk_Alik_Bljk_<types>_…: the
// operand comes first (B bf16, H fp16, S fp32, D fp64, F8 and B8 fp8, I8).
func tensileDType(f string) string {
	_, rest, ok := strings.Cut(f, "_B") // the name of operand B, as in Bljk
	if !ok {
		return ""
	}
	_, rest, _ = strings.Cut(rest, "_")
	for _, t := range []struct{ prefix, dtype string }{
		{"F8", "fp8"}, {"B8", "fp8"}, {"I8", "int8"}, {"F4", "fp4"}, {"F6", "fp6"},
		{"B", "bf16"}, {"H", "fp16"}, {"X", "tf32"}, {"S", "fp32"}, {"D", "fp64"},
	} {
		if strings.HasPrefix(rest, t.prefix) {
			return t.dtype
		}
	}
	return ""
}

// nvjetDType reads the letters of nvjet_[sm103_]<types>_…: t is bf16, h fp16,
// q fp8, s fp32 computed as tf32 or fp32. Seen: tst on bf16 models, hsh on
// fp16, qqtst on fp8.
func nvjetDType(f string) string {
	rest := strings.TrimPrefix(f, "nvjet_")
	if strings.HasPrefix(rest, "sm") {
		_, rest, _ = strings.Cut(rest, "_")
	}
	if rest == "" {
		return ""
	}
	switch rest[0] {
	case 't':
		return "bf16"
	case 'h':
		return "fp16"
	case 'q':
		return "fp8"
	case 's':
		return "fp32"
	case 'd':
		return "fp64"
	}
	return ""
}
