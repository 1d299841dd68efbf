package classify_test

import (
	"bytes"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/wordmatch"
)

func TestParse(t *testing.T) {
	type parts struct {
		Function  string
		Scope     []string
		Args      []string
		Operation string
		Family    string
		Truncated bool
	}
	for _, tc := range []struct {
		name string
		want parts
	}{
		{"fused_moe_kernel", parts{Function: "fused_moe_kernel", Family: "triton"}},
		// Not every plain identifier is Triton's.
		{"loop_add_fusion_12", parts{Function: "loop_add_fusion_12", Family: "xla"}},
		{"fusion_3", parts{Function: "fusion_3", Family: "xla"}},
		{"confusion_3", parts{Function: "confusion_3", Family: "triton"}},
		{"wrapped_convert", parts{Function: "wrapped_convert", Family: "xla"}},
		{"__myl_Fc_myl2_3", parts{Function: "__myl_Fc_myl2_3", Family: "tensorrt"}},
		{"__amd_rocclr_batchMemOp", parts{Function: "__amd_rocclr_batchMemOp"}},
		{
			"void vllm::moe::topkGatingSoftmax<8, 128, int>(float const*, bool)",
			parts{"topkGatingSoftmax", []string{"vllm", "moe"}, []string{"8", "128", "int"},
				"", "vllm", false},
		},
		{
			"void (anonymous namespace)::store_kvcache<2048l, 4, false, long>((anonymous namespace)::StoreKVCacheParams)",
			parts{"store_kvcache", nil, []string{"2048l", "4", "false", "long"},
				"", "", false},
		},
		{
			"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float, float>, unsigned int, float, 4> >(int)",
			parts{
				"reduce_kernel", []string{"at", "native"},
				[]string{"512", "1", "at::native::ReduceOp<float, at::native::MeanOps<float, float>, unsigned int, float, 4>"},
				"MeanOps", "pytorch", false,
			},
		},
		{ // Nsight Systems prints its own dialect.
			"void <unnamed>::elementwise_kernel_with_index<int, f(const c10::Scalar &)::[lambda() (instance 1)]::operator ()() const::[lambda(long) (instance 1)]>(T1, T2 *)",
			parts{
				"elementwise_kernel_with_index", nil,
				[]string{"int", "f(const c10::Scalar &)::[lambda() (instance 1)]::operator ()() const::[lambda(long) (instance 1)]"},
				"f", "", false,
			},
		},
		{ // A scope names a function that says nothing.
			"void internal::gemvx::kernel<int, 7, false>(int)",
			parts{"kernel", []string{"internal", "gemvx"}, []string{"int", "7", "false"}, "gemvx", "",
				false},
		},
		{
			"_Z22ncclDevKernel_SendRecv24ncclDevKernelArgsStorageILm4096EE",
			parts{Function: "ncclDevKernel_SendRecv", Family: classify.LibraryNCCL},
		},
		{ // Cut by the profiler in the middle of a template argument.
			"_ZN7ck_tile6kentryILi1ENS_12Rmsnorm2dFwdINS_27Rmsnorm2dFwdPipelineOneP",
			parts{
				Function: "kentry", Scope: []string{"ck_tile"},
				Args:      []string{"Rmsnorm2dFwd", "Rmsnorm2dFwdPipelineOneP"},
				Operation: "Rmsnorm2dFwd", Family: "ck", Truncated: true,
			},
		},
		{
			"void cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnFwdSm90<flash::CollectiveMain",
			parts{
				Function: "device_kernel", Scope: []string{"cutlass"},
				Args:      []string{"flash::enable_sm90<flash::FlashAttnFwdSm90<flash::CollectiveMain"},
				Operation: "FlashAttnFwdSm90", Family: "cutlass", Truncated: true,
			},
		},
		{"Memcpy DtoD (Device -> Device)", parts{Function: "Memcpy DtoD (Device -> Device)", Family: "memcpy"}},
		{"nvjet_tst_128x24_64x11_2x1_v_bz_TNT", parts{Function: "nvjet_tst_128x24_64x11_2x1_v_bz_TNT",
			Family: "nvjet"}},
		{"", parts{}},
	} {
		n := classify.Parse(tc.name)
		got := parts{n.Function, n.Namespaces, n.TemplateArgs, n.Operation, n.Family, n.Truncated}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("Parse(%q) (-want +got):\n%s", tc.name, diff)
		}
	}
}

// TestHostileNames shows that names made to defeat the parser come back: each
// of these once took minutes, or would without its limit.
func TestHostileNames(t *testing.T) {
	for _, s := range []string{
		"_Z1fI" + strings.Repeat("INcvT_", 25),                  // 2^25 ways to demangle
		"_Z" + strings.Repeat("P", 100_000),                     // deep recursion
		"_ZN1a" + strings.Repeat("IS_S_S_S_S_E", 500),           // exponential output
		"a " + strings.Repeat(" ", 1_000_000) + "b(",            // runs of blanks
		strings.Repeat("elementwise_kernel<", 10_000),           // wrappers in wrappers
		strings.Repeat("<", 1_000_000),                          // nothing but brackets
		"f<" + strings.Repeat("1,", 100_000) + "1>()",           // many arguments
		strings.Repeat("f(a)::", 100_000),                       // a name that goes on
		"void f(" + strings.Repeat("operator<", 100_000) + "x)", // operators that look like brackets
	} {
		n := classify.Parse(s)
		if n.Raw != s {
			t.Errorf("Raw of %.20q… changed", s)
		}
		if len(n.TemplateArgs) > 1024 || len(n.Demangled) > 1<<17 {
			t.Errorf("Parse(%.20q…) = %d template arguments, %d bytes", s, len(n.TemplateArgs), len(n.Demangled))
		}
	}
}

func TestHasIdentifier(t *testing.T) {
	for _, tc := range []struct {
		name, keyword string
		want          bool
	}{
		{"_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1", "fp4", false},
		{"_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1", "mxfp4", false},
		{"_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1", "matmul", true},
		{"_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1_swiglu", "swiglu", true},
		{"void deep_gemm::sm90_fp8_gemm_1d2d_impl<0u>(float*)", "fp8", false},
		{"void per_token_group_quant_8bit_kernel<__nv_bfloat16>(int)", "quant", true},
		{"void scaled_fp8_quant_kernel<float>(int)", "fp8", true},
		{"void sglang::cross_device_reduce_1stage<float, 8>(int)", "cross_device_reduce", true},
		{"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(int)", "all_reduce", true},
		{"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(int)", "allreduce", true},
		{"void vllm::act_and_mul_kernel<float, &(vllm::silu_kernel<float>(float const&)), true>(float*)", "silu",
			false},
		{"void f<RmsNorm>(RmsNorm)", "rmsnorm", false},
		{"get_property_kernel", "rope", false},
		{"get_property_kernel", "*rope*", true},
		{"void cutlass::device_kernel<flash::enable_sm90<flash::FlashAttnFwdSm90<int> > >(int)", "flash_attn", true},
		{"anything", "", false},
	} {
		n := classify.Parse(tc.name)
		if got := n.HasIdentifier(tc.keyword); got != tc.want {
			t.Errorf("Parse(%q).HasIdentifier(%q) = %v, want %v", tc.name, tc.keyword, got, tc.want)
		}
	}
}

func TestDType(t *testing.T) {
	for name, want := range map[string]string{
		"_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1":                                    "mxfp4",
		"Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT32x32x256":                        "bf16",
		"Cijk_Alik_Bljk_F8BS_BH_Bias_HA_S_SAV_UserArgs_MT64x32x256":                       "fp8",
		"nvjet_tst_64x16_64x16_4x1_v_bz_TNT":                                              "bf16",
		"nvjet_sm103_hsh_64x16_64x16_4x1_v_bz_TNT":                                        "fp16",
		"nvjet_qqtst_128x128_128x6_2x1_v_bz_TNT":                                          "fp8",
		"bmm_E2m1_E2m1E2m1_Fp32_t128x8x512_s5_et128x8":                                    "fp4",
		"bmm_Bfloat16_Bfloat16Bfloat16_Fp32_t128x8x128u2":                                 "bf16",
		"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64":                     "bf16",
		"void deep_gemm::sm90_fp8_gemm_1d2d_impl<0u>(float*)":                             "fp8",
		"void gemv2T_kernel_val<int, int, __nv_bfloat16, __nv_bfloat16, float>(int)":      "bf16",
		"void paged_attention_v1_kernel<__nv_bfloat16, (vllm::Fp8KVCacheDataType)0>(int)": "bf16",
		"volta_sgemm_64x64_nt":                                                            "fp32",
		"fused_moe_kernel":                                                                "",
	} {
		n := classify.Parse(name)
		if got := n.DType(); got != want {
			t.Errorf("Parse(%q).DType() = %q, want %q", name, got, want)
		}
	}
}

func TestCanonical(t *testing.T) {
	for _, tc := range []struct{ name, want string }{
		{"plain", "plain"},
		{"void f<int>(int, long)", "void f<int>"},
		{"void ns::f<g<int> >((anonymous namespace)::P)", "void ns::f<g<int> >"},
		{"void f(int)", "void f(int)"},
		{"f<int>(int)", "f<int>(int)"},
		{"a  b\tc ", "a b c"},
		{"kernel_0x7f3a5c00 0x12345 x0x1234567", "kernel_0x7f3a5c00 0x12345 x0x1234567"},
		{"kernel at 0x7f3a5c00, 0x123456", "kernel at 0xADDR, 0xADDR"},
		{"MT320x224x64_0x", "MT320x224x64_0x"},
		{"ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)",
			"ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"},
		{"void f<int", "void f<int"},
	} {
		if got := classify.Canonical(tc.name); got != tc.want {
			t.Errorf("Canonical(%q) = %q, want %q", tc.name, got, tc.want)
		}
	}
}

// TestListsOfPatterns asks lists of patterns and each pattern alone.
func TestListsOfPatterns(t *testing.T) {
	names := []string{"", "void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>>(int)",
		"nvjet_tst_128x64_bf16_h_bz",
		"_ZN7cutlass6KernelI4GemmEEvv", "flash_fwd_splitkv_kernel", "matmul_ogs_bf16xbf16xmxfp4",
		"ncclDevKernel_AllReduce_Sum_bf16_RING_LL"}
	keywords := []string{"", " ", "*", "gemm*", "*gemm*", "fp4", "bf16", "all_reduce", "allreduce", "flash_fwd",
		"kernel", "Add*", "elementwise"}
	hits := 0
	for _, raw := range names {
		n := classify.Parse(raw)
		any := false
		for _, k := range keywords {
			want := n.HasIdentifier(k)
			any = any || want
			if got := wordmatch.CompileAll([]string{k}).In(n.Words()); got != want {
				t.Errorf("%q in the words of %q: %v as a list, alone %v", k, raw, got, want)
			}
			if want {
				hits++
			}
		}
		if got := wordmatch.CompileAll(keywords).In(n.Words()); got != any {
			t.Errorf("all keywords in %q: %v, want %v", raw, got, any)
		}
	}
	if hits < 8 {
		t.Errorf("%d hits: the test asks for nothing", hits)
	}
	if wordmatch.Patterns(nil).In("") || wordmatch.CompileAll([]string{"gemm"}).In("") {
		t.Error("the zero values hold something")
	}
}

// corpus returns the kernel names of testdata/kernels.txt.
func corpus(tb testing.TB) []string {
	tb.Helper()
	data, err := os.ReadFile("testdata/kernels.txt")
	if err != nil {
		tb.Fatal(err)
	}
	var names []string
	for line := range strings.SplitSeq(string(data), "\n") {
		if _, name, ok := strings.Cut(line, " "); ok && line[0] != '#' {
			names = append(names, name)
		}
	}
	if len(names) < 400 {
		tb.Fatalf("%d names, want at least 400", len(names))
	}
	return names
}

func BenchmarkParse(b *testing.B) {
	names := corpus(b)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		n := classify.Parse(names[i%len(names)])
		if n.Function == "" {
			b.Fatal(n.Raw)
		}
		i++
	}
}

func BenchmarkCanonical(b *testing.B) {
	names := corpus(b)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if classify.Canonical(names[i%len(names)]) == "" {
			b.Fatal("empty")
		}
		i++
	}
}

// FuzzParse feeds any bytes through every accessor: no panic, no unbounded
// output, and the same answer twice.
func FuzzParse(f *testing.F) {
	for _, s := range corpus(f)[:200] {
		f.Add(s)
	}
	for _, s := range []string{
		"", " ", "<", ">", "((((", "::", "a::", "void ", "operator<<", "f<", "f<>", "_Z", "_ZN", "_ZNI", "__Z3foov",
		"_Z" + strings.Repeat("P", 300) + "i", "f(" + strings.Repeat("<", 5000),
		"_ZN1aIS_S_S_S_S_EE", "Cijk_", "nvjet_", "nvjet_sm", "triton_", "0x123456789", "\xff\xfe",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		n := classify.Parse(raw)
		if len(n.Demangled) > 1<<16+len(raw) {
			t.Errorf("%d bytes demangled from %d", len(n.Demangled), len(raw))
		}
		if len(n.TemplateArgs) > 1024 {
			t.Errorf("%d template arguments", len(n.TemplateArgs))
		}
		_, _ = n.Label(), n.DType()
		n.HasIdentifier(raw)
		a := classify.Default().Facts(raw)
		if b := classify.Default().Facts(raw); !reflect.DeepEqual(a, b) {
			t.Errorf("Facts = %+v, then %+v", a, b)
		}
		if a.Category == "" {
			t.Error("empty category")
		}
		c := classify.Canonical(raw)
		if again := classify.Canonical(c); again != c {
			t.Errorf("Canonical(%q) = %q, then %q", raw, c, again)
		}
	})
}

// FuzzLoadRules reads any bytes as a rules file; what is accepted has ids and
// conditions, and judges names.
func FuzzLoadRules(f *testing.F) {
	f.Add([]byte(`{"version":1,"rules":[{"id":"a","category":"moe","when":{"function":["*topk"]}}]}`))
	f.Add([]byte(`{"version":1,"rules":[{"id":"a","category":"moe","when":{"substring":["x"],"fold":true}}]}`))
	f.Add([]byte(`{"version":2}`))
	f.Add([]byte("// words\n{\"version\":1,\n  // more\n\"rules\":[]}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		rules, err := classify.LoadRules(bytes.NewReader(data))
		if err != nil {
			return
		}
		for _, r := range rules {
			if r.ID == "" || r.Category == "" {
				t.Errorf("a rule without id or category is taken: %+v", r)
			}
		}
		classify.New(rules...).Facts("void ns::f<int>(int)")
	})
}
