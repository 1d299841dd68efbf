package classify

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/llmstrata/strata/internal/wordmatch"
)

// LibraryNCCL is the library of NCCL, RCCL, MSCCL++ and NVSHMEM: what exchanges
// data between GPUs and does nothing else.
const LibraryNCCL = "nccl"

// The families Parse recognises.
const (
	familyUnknown     string = ""
	familyMemcpy      string = "memcpy"       // "Memcpy HtoD (Pinned -> Device)", "[CUDA memcpy DtoH]"
	familyMemset      string = "memset"       // "Memset (Device)"
	familyInductor    string = "inductor"     // triton_poi_fused_…: kernels torch.compile wrote
	familyTriton      string = "triton"       // plain C identifiers as user-written Triton kernels have
	familyTileLang    string = "tilelang"     // …_tilelang_kernel, main_kernel
	familyCuTeDSL     string = "cute_dsl"     // kernel_cutlass_…: CUTLASS Python DSL
	familyCUTLASS     string = "cutlass"      // cutlass::…, cute::…
	familyCuBLAS      string = "cublas"       // cublasLt::…, sm90_xmma_gemm_…, volta_sgemm_…, gemv…
	familyCuDNN       string = "cudnn"        // cudnn::…, cudnn_generated_…
	familyNvjet       string = "nvjet"        // nvjet_tst_…
	familyTRTLLMGen   string = "trtllm_gen"   // bmm_…, gemm_…_sm100f, fmhaSm100f…
	familyTRTLLM      string = "tensorrt_llm" // tensorrt_llm::…
	familyTensile     string = "tensile"      // Cijk_…
	familyCK          string = "ck"           // ck::…, ck_tile::…
	familyAITER       string = "aiter"        // aiter::…
	familyNCCL        string = LibraryNCCL    // ncclDevKernel_…, also RCCL, MSCCL++ and NVSHMEM
	familyDeepEP      string = "deep_ep"      // deep_ep::…, dpsk::ep::…
	familyDeepGEMM    string = "deep_gemm"    // deep_gemm::…
	familyFlashInfer  string = "flashinfer"   // flashinfer::…
	familyFlash       string = "flash_attn"   // flash::…, pytorch_flash::…
	familyFlashMLA    string = "flash_mla"    // flash_fwd_splitkv_mla…, smxx::…
	familyVLLM        string = "vllm"         // vllm::…
	familySGLang      string = "sglang"       // sgl_kernel, sgl_hip::…
	familyPyTorch     string = "pytorch"      // at::native::…
	familyCUB         string = "cub"          // cub::…, thrust::…, rocprim::…, hipcub::…
	familyXFormers    string = "xformers"     // fmha_cutlassF_…, PyTorchMemEffAttention
	familyTransformer string = "te"           // transformer_engine::…
	familyONNX        string = "onnxruntime"  // onnxruntime::…
	familyTensorRT    string = "tensorrt"     // __myl_…: kernels TensorRT's compiler wrote
	familyXLA         string = "xla"          // loop_add_fusion_3, wrapped_convert: kernels XLA wrote
)

// familyPrefix finds families by the start of the full name.
var familyPrefix = []struct {
	prefix string
	family string
}{
	{"Memcpy", familyMemcpy}, {"[CUDA memcpy", familyMemcpy}, {"[CUDA Unified Memory memcpy", familyMemcpy},
	{"CopyDeviceTo", familyMemcpy}, {"CopyHostTo", familyMemcpy}, {"__amd_rocclr_copyBuffer", familyMemcpy},
	{"Memset", familyMemset}, {"[CUDA memset", familyMemset}, {"__amd_rocclr_fillBuffer", familyMemset},
	{"FillBuffer", familyMemset},
	{"triton_poi_", familyInductor}, {"triton_red_", familyInductor}, {"triton_per_", familyInductor},
	{"triton_tem_", familyInductor}, {"triton_for_", familyInductor}, {"triton_mm", familyInductor},
	{"triton_bmm", familyInductor}, {"triton_fused_", familyInductor}, {"triton__0", familyInductor},
	{"triton_foreach_", familyInductor}, {"triton_split_scan_", familyInductor}, {"triton_spl_", familyInductor},
	{"triton_flex_attention", familyInductor}, {"triton_convolution", familyInductor}, {"triton_mix_", familyInductor},
	{"kernel_cutlass_", familyCuTeDSL}, {"cutlass_", familyCUTLASS}, {"cutlass3x_", familyCUTLASS},
	{"__myl_", familyTensorRT}, {"wrapped_", familyXLA},
	{"nvjet_", familyNvjet}, {"Cijk_", familyTensile}, {"Custom_Cijk_", familyTensile},
	{"ncclDevKernel", familyNCCL}, {"ncclKernel", familyNCCL}, {"rcclKernel", familyNCCL}, {"rccl", familyNCCL},
	{"nccl", familyNCCL}, {"msccl", familyNCCL}, {"nvshmem", familyNCCL},
	{"fmhaSm", familyTRTLLMGen}, {"fmha_cutlassF", familyXFormers}, {"fmha_cutlassB", familyXFormers},
	{"cudnn_generated_", familyCuDNN}, {"cudnn_", familyCuDNN},
	{"cublas", familyCuBLAS}, {"gemv2", familyCuBLAS}, {"gemvNSP", familyCuBLAS}, {"gemvx", familyCuBLAS},
	{"splitKreduce_kernel", familyCuBLAS}, {"gemmk1_kernel", familyCuBLAS},
	{"main_kernel", familyTileLang}, {"default_function_kernel", familyTileLang},
}

// familyLetters are the rows of familyPrefix by the first letter.
var familyLetters = func() (of [256][]uint8) {
	for i, p := range familyPrefix {
		of[p.prefix[0]] = append(of[p.prefix[0]], uint8(i))
	}
	return of
}()

// familyScope finds families by the first namespaces of the name.
var familyScope = map[string]string{
	"at": familyPyTorch, "at_cuda_detail": familyCUB, "c10": familyPyTorch,
	"cub": familyCUB, "thrust": familyCUB, "rocprim": familyCUB, "hipcub": familyCUB,
	"cutlass": familyCUTLASS, "cute": familyCUTLASS,
	"cublasLt": familyCuBLAS, "cublas": familyCuBLAS,
	"cudnn": familyCuDNN, "cask_cudnn": familyCuDNN, "cask_cudnn_infer": familyCuDNN, "cask_cudnn_train": familyCuDNN,
	"ck": familyCK, "ck_tile": familyCK, "aiter": familyAITER,
	"deep_ep": familyDeepEP, "deep_gemm": familyDeepGEMM,
	"flashinfer": familyFlashInfer, "flash": familyFlash, "pytorch_flash": familyFlash, "flash_attn": familyFlash,
	"smxx": familyFlashMLA, "sm90": familyFlashMLA, "sm100": familyFlashMLA,
	"vllm": familyVLLM, "sgl_hip": familySGLang, "sgl_kernel": familySGLang, "sglang": familySGLang,
	"tensorrt_llm": familyTRTLLM, "PyTorchMemEffAttention": familyXFormers,
	"transformer_engine": familyTransformer, "mscclpp": familyNCCL, "nvshmem": familyNCCL,
	"nvshmemi": familyNCCL, "rccl": familyNCCL, "onnxruntime": familyONNX,
}

// ncclPrefixes begin the function's name where a return type precedes it.
var ncclPrefixes = []string{"nccl", "rccl", "msccl", "nvshmem"}

// The namespaces of DeepSeek's inference library and of DeepEP in it.
const scopeDeepSeek, scopeDeepEP = "dpsk", "ep"

func detectFamily(n *Name) string {
	s := n.Demangled
	if s != "" {
		for _, i := range familyLetters[s[0]] {
			if p := &familyPrefix[i]; strings.HasPrefix(s, p.prefix) {
				return p.family
			}
		}
	}
	for i, ns := range n.Namespaces {
		if f, ok := familyScope[ns]; ok {
			return f
		}
		// DeepSeek's inference library holds DeepEP beside its products.
		if ns == scopeDeepSeek && i+1 < len(n.Namespaces) && n.Namespaces[i+1] == scopeDeepEP {
			return familyDeepEP
		}
	}
	f := n.Function
	switch {
	case hasAnyPrefix(f, ncclPrefixes):
		return familyNCCL
	case strings.HasPrefix(f, "Kernel") && strings.HasPrefix(n.Operation, "cutlass_"):
		return familyCUTLASS
	case isTRTLLMGen(f):
		return familyTRTLLMGen
	case strings.Contains(f, "_xmma_"), hasArchGEMMPrefix(f):
		return familyCuBLAS
	case strings.HasPrefix(f, "flash_fwd_splitkv_mla"), strings.HasPrefix(f, "flash_fwd_mla"):
		return familyFlashMLA
	case strings.HasPrefix(f, "flash_fwd"), strings.HasPrefix(f, "flash_bwd"):
		return familyFlash
	case strings.Contains(f, "tilelang"):
		return familyTileLang
	}
	// A bare C identifier that is not C++ at all is what the Triton compiler
	// emits: the Python function's name. Two underscores begin those of a runtime.
	if len(n.Namespaces) == 0 && n.TemplateArgs == nil && !n.hasArgs &&
		s == n.Function && !n.mangled && isIdentifier(f) && hasLower(f) && !strings.HasPrefix(f, "__") {
		if isFusion(f) {
			return familyXLA
		}
		return familyTriton
	}
	return familyUnknown
}

// isFusion recognises XLA's fusions, which are numbered: fusion, fusion_3, loop_add_fusion_1.
func isFusion(f string) bool {
	f = strings.TrimRight(strings.TrimRight(f, "0123456789"), "_.")
	return strings.HasSuffix("_"+f, "_fusion")
}

// isTRTLLMGen recognises the generated batched and dense GEMMs of TensorRT-LLM:
// bmm_ or gemm_ followed by a data type in camel case (Bfloat16, E4m3, MxE2m1).
func isTRTLLMGen(f string) bool {
	rest, ok := strings.CutPrefix(f, "bmm_")
	if !ok {
		rest, ok = strings.CutPrefix(f, "gemm_")
	}
	if !ok || rest == "" || !wordmatch.IsUpper(rest[0]) {
		return false
	}
	types := []string{"Bfloat16", "Fp16", "Fp32", "E4m3", "E2m1", "E5m2", "MxE", "MxInt", "NvE", "Int8"}
	return slices.ContainsFunc(types, func(t string) bool { return strings.HasPrefix(rest, t) })
}

// hasArchGEMMPrefix recognises cuBLAS's hand-written kernels such as
// volta_sgemm_64x64_nt, ampere_bf16_s16816gemm_…, turing_fp16_….
func hasArchGEMMPrefix(f string) bool {
	return slices.ContainsFunc([]string{"maxwell_", "volta_", "turing_", "ampere_", "hopper_"}, func(arch string) bool {
		return strings.HasPrefix(f, arch) && (strings.Contains(f, "gemm") || strings.Contains(f, "cudnn"))
	})
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
		if wordmatch.IsLower(s[i]) {
			return true
		}
	}
	return false
}

// DType is a type of the numbers that a kernel computes with: one of the words below, or "" where none is known.
type DType string

// The data types, the narrowest first.
const (
	DTypeMXFP4 DType = "mxfp4"
	DTypeNVFP4 DType = "nvfp4"
	DTypeFP4   DType = "fp4"
	DTypeINT4  DType = "int4"
	DTypeFP6   DType = "fp6"
	DTypeMXFP8 DType = "mxfp8"
	DTypeFP8   DType = "fp8"
	DTypeINT8  DType = "int8"
	DTypeBF16  DType = "bf16"
	DTypeFP16  DType = "fp16"
	DTypeTF32  DType = "tf32"
	DTypeFP32  DType = "fp32"
	DTypeFP64  DType = "fp64"
)

// dtypeMarks maps letters in a name to the operand type they mean, narrowest
// first: a product of mxfp4 weights and bf16 activations is an mxfp4 product.
var dtypeMarks = []struct {
	dtype DType
	marks []string
}{
	{DTypeMXFP4, []string{"mxfp4", "mxe2m1"}},
	{DTypeNVFP4, []string{"nvfp4", "nve2m1"}},
	{DTypeFP4, []string{"fp4", "e2m1", "mxf4", "f4gemm", "float4_e2m1"}},
	{DTypeINT4, []string{"int4", "4bit", "w4a16", "a16w4", "w4a8", "gptq_awq", "awq", "gptq", "wna16"}},
	{DTypeFP6, []string{"fp6", "e3m2", "e2m3"}},
	{DTypeMXFP8, []string{"mxfp8", "mxe4m3", "mxf8"}},
	{DTypeFP8, []string{"fp8", "e4m3", "e5m2", "float8", "float_e4m3", "fp8e4", "a8w8_blockscale"}},
	{DTypeINT8, []string{"int8", "i8816", "signed char", "a8w8", "w8a8"}},
	{DTypeBF16, []string{"bf16", "bfloat16"}},
	{DTypeFP16, []string{"fp16", "float16", "half", "f16", "hgemm", "h884", "h1688"}},
	{DTypeTF32, []string{"tf32", "s1688gemm"}},
	{DTypeFP32, []string{"fp32", "f32", "float", "sgemm", "scudnn"}},
	{DTypeFP64, []string{"fp64", "f64", "double", "dgemm"}},
}

// wordMarks are marks that words such as GroupedGemm and BatchGemm end with, too.
var wordMarks = []string{"hgemm", "sgemm", "dgemm"}

// vectorTypes are CUDA's vectors of four integers: 16 bytes of whatever a kernel moves.
var vectorTypes = []string{"int4", "uint4"}

// int4Scopes are namespaces of products with weights of four bits.
var int4Scopes = []string{"gptq", "awq"}

// dType returns the narrowest operand type the name shows, such as "bf16",
// "fp8" or "mxfp4", or "" when it shows none. The function's own name is asked
// first, then its template arguments; parameter types never.
func (n *Name) dType() DType {
	switch n.Family {
	case familyTensile:
		return tensileDType(n.Function)
	case familyNvjet:
		return nvjetDType(n.Function)
	}
	if k := min(dtypeMark(n.Function), dtypeMark(n.Operation)); k < len(dtypeMarks) {
		return dtypeMarks[k].dtype
	}
	for _, s := range n.Namespaces {
		if slices.Contains(int4Scopes, s) || strings.Contains(s, "wna16") {
			return DTypeINT4
		}
	}
	best := len(dtypeMarks)
	for _, a := range n.TemplateArgs {
		if a == "" || a[0] == '(' || slices.Contains(vectorTypes, a) { // "(vllm::Fp8KVCacheDataType)0" is a switch
			continue
		}
		if k := dtypeMark(a[:min(len(a), 256)]); k < best {
			best = k
		}
	}
	if best < len(dtypeMarks) {
		return dtypeMarks[best].dtype
	}
	return ""
}

// marks are those of dtypeMarks in their order, with the pairs of their letters.
var marks = func() (all []mark) {
	for k, d := range dtypeMarks {
		for _, m := range d.marks {
			all = append(all, mark{m, wordmatch.PairsOf(m), k, slices.Contains(wordMarks, m)})
		}
	}
	return all
}()

type mark struct {
	text  string
	pairs uint64
	dtype int // in dtypeMarks
	word  bool
}

// dtypeMark is the narrowest type that a text shows, as a row of dtypeMarks; their number where it shows none.
func dtypeMark(s string) int {
	if s == "" {
		return len(dtypeMarks)
	}
	s = strings.ToLower(s)
	pairs := wordmatch.PairsOf(s)
	for i := range marks {
		if m := &marks[i]; m.pairs&^pairs == 0 && m.in(s) {
			return m.dtype
		}
	}
	return len(dtypeMarks)
}

// in reports whether a text in lower case has the mark.
func (m *mark) in(s string) bool {
	i := strings.Index(s, m.text)
	return i >= 0 && (!m.word || i == 0 || !wordmatch.IsLower(s[i-1]))
}

// tensileDType reads the data type letters of Cijk_Alik_Bljk_<types>_…: the
// operand comes first (B bf16, H fp16, S fp32, D fp64, F8 and B8 fp8, I8).
func tensileDType(f string) DType {
	_, rest, ok := strings.Cut(f, "_B") // the name of operand B, as in Bljk
	if !ok {
		return ""
	}
	_, rest, _ = strings.Cut(rest, "_")
	for _, t := range []struct {
		prefix string
		dtype  DType
	}{
		{"F8", DTypeFP8}, {"B8", DTypeFP8}, {"I8", DTypeINT8}, {"F4", DTypeFP4}, {"F6", DTypeFP6},
		{"B", DTypeBF16}, {"H", DTypeFP16}, {"X", DTypeTF32}, {"S", DTypeFP32}, {"D", DTypeFP64},
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
func nvjetDType(f string) DType {
	rest := strings.TrimPrefix(f, "nvjet_")
	if strings.HasPrefix(rest, "sm") {
		_, rest, _ = strings.Cut(rest, "_")
	}
	if rest == "" {
		return ""
	}
	switch rest[0] {
	case 't':
		return DTypeBF16
	case 'h':
		return DTypeFP16
	case 'q':
		return DTypeFP8
	case 's':
		return DTypeFP32
	case 'd':
		return DTypeFP64
	}
	return ""
}

// operands finds the types of two operands in the name of a product that has both, the first one first.
var operands = regexp.MustCompile(`(?i)(bf16|fp16|fp8|e4m3|mxfp8)x(?:mxfp4|nvfp4|fp4|e2m1|int4|fp8|e4m3|mxfp8)(?:[^a-z0-9]|$)`)

// longestOperands is how far into a name its operands are looked for.
const longestOperands = 256

// operandNames are the types that names of kernels spell otherwise.
var operandNames = map[string]string{"e4m3": "fp8", "mxfp8": "fp8"}

// operandType reads [Facts.Operand].
func operandType(raw string) string {
	if !strings.ContainsAny(raw, "xX") {
		return ""
	}
	m := operands.FindStringSubmatch(raw)
	if m == nil {
		return ""
	}
	t := strings.ToLower(m[1])
	return cmp.Or(operandNames[t], t)
}

// opaque is the size in the type of what a kernel moves without looking into it.
var opaque = regexp.MustCompile(`OpaqueType<(1|2|4|8|16)[u>]`)

// elementBytes reads [Facts.Element].
func elementBytes(raw string) int {
	m := opaque.FindStringSubmatch(raw)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1]) // the pattern has numbers only
	return n
}
