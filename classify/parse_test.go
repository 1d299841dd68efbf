package classify_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmstrata/strata/classify"
)

// TestParseReadsEveryDialect has names by what decides how they are cut: brackets,
// scopes, suffixes, and mangled names that a profiler cut.
func TestParseReadsEveryDialect(t *testing.T) {
	type parts struct {
		Function  string
		Scope     []string
		Args      []string
		Operation string
		Outer     []string // of the operation
		Truncated bool
	}
	for _, tc := range []struct {
		name string
		want parts
	}{
		// Brackets.
		{"void f<(a > b)>(int)", parts{"f", nil, []string{"(a > b)"}, "", nil, false}},
		{"a::operator->(int)", parts{"operator->", []string{"a"}, nil, "", nil, false}},
		{"bool operator><int>(int)", parts{"operator>", nil, []string{"int"}, "", nil, false}},
		{"x<int, (f(1, 2))>(a, b<c, d>)", parts{"x", nil, []string{"int", "(f(1, 2))"}, "",
			nil, false}},
		{"f<x[3], {lambda(int)#1}>(a)", parts{"f", nil, []string{"x[3]", "{lambda(int)#1}"}, "", nil,
			false}},
		{"f<a->b, c>(d)", parts{"f", nil, []string{"a->b", "c"}, "", nil, false}},
		{"f<operator>, b>(d)", parts{"f", nil, []string{"operator>", "b"}, "", nil, false}},
		{" f<1>(int)", parts{"f", nil, []string{"1"}, "", nil, false}},
		{"f<1,  2>(int)", parts{"f", nil, []string{"1", "2"}, "", nil, false}},
		{"void gemvx::kernel<int>(int)", parts{"kernel", []string{"gemvx"}, []string{"int"}, "gemvx",
			[]string{}, false}},
		{"f< a , b >( c , d )", parts{"f", nil, []string{"a", "b"}, "", nil, false}},
		{"f<>(int)", parts{"f", nil, nil, "", nil, false}},
		{"f()", parts{"f", nil, nil, "", nil, false}},
		{"f( )", parts{"f", nil, nil, "", nil, false}},
		// Brackets that are left open, and such that nothing opened.
		{"f<a, b", parts{"f", nil, []string{"a", "b"}, "", nil, true}},
		{"f(a, b", parts{"f", nil, nil, "", nil, true}},
		{"f<a>(b))", parts{"f", nil, []string{"a"}, "", nil, false}},
		{"f<a>>(b)", parts{"f", nil, []string{"a"}, "", nil, false}},
		{"f]<a>(b)", parts{"f]", nil, []string{"a"}, "", nil, false}},
		// Text around the name.
		{"void f(int) const", parts{"f", nil, nil, "", nil, false}},
		{"void f(int) [clone .kd]", parts{"f", nil, nil, "", nil, false}},
		{"decltype (x) g<2>(int)", parts{"g", nil, []string{"2"}, "", nil, false}},
		{"f(a) noexcept", parts{"f", nil, nil, "", nil, false}},
		{"f(a) volatiles(b)", parts{"volatiles", nil, nil, "", nil, false}},
		{"std::enable_if<(1 < 2), void>::type ns::f<3>(int)",
			parts{"f", []string{"ns"}, []string{"3"}, "", nil, false}},
		{"f.kd", parts{"f", nil, nil, "", nil, false}},
		{"Memset (Device)", parts{"Memset (Device)", nil, nil, "", nil, false}},
		{"[CUDA memcpy DtoD]", parts{"[CUDA memcpy DtoD]", nil, nil, "", nil, false}},
		{"", parts{}},
		{" ", parts{}},
		// Scopes, and whose arguments count.
		{"(anonymous namespace)::f<1>(int)", parts{"f", nil, []string{"1"}, "", nil, false}},
		{"a::<unnamed>::f<1>(int)", parts{"f", []string{"a"}, []string{"1"}, "", nil, false}},
		{"a::operator()(int)::b<3>(long)", parts{"b", []string{"a"}, []string{"3"}, "", nil, false}},
		{"a<1>::b<2>::c(int)", parts{"c", []string{"a", "b"}, []string{"2"}, "", nil, false}},
		{"a<1>::c(int)", parts{"c", []string{"a"}, []string{"1"}, "", nil, false}},
		{"a<1>b<2>::c<3>(int)", parts{"c", []string{"a"}, []string{"3"}, "", nil, false}},
		{"a:::b", parts{":b", []string{"a"}, nil, "", nil, false}},
		{":: f", parts{"f", nil, nil, "", nil, false}},
		// Mangled, complete.
		{"_ZN2ns3fooILi4EEEvi", parts{"foo", []string{"ns"}, []string{"4"}, "", nil, false}},
		{"__ZN2ns3fooEi", parts{"foo", []string{"ns"}, nil, "", nil, false}},
		// Mangled, cut.
		{"_ZN2ns3fooILi4", parts{"foo", []string{"ns"}, nil, "", nil, true}},
		{"_ZNK2ns3fooILi4", parts{"foo", []string{"ns"}, nil, "", nil, true}},
		{"_ZN12_GLOBAL__N_13fooILi7E3bar", parts{"foo", nil, []string{"bar"}, "", nil, true}},
		{"_ZNSt3foo3barILb1E3baz", parts{"bar", []string{"std", "foo"}, []string{"baz"}, "", nil, true}},
		{"_ZNL3foo3barILin12E3baz6qux", parts{"bar", []string{"foo"}, []string{"baz", "qux"}, "", nil, true}},
		{"_ZN3foo3barILi1E3_ab12_GLOBAL__N_13xyz", parts{"bar", []string{"foo"}, []string{"_ab", "xyz"}, "", nil,
			true}},
		{"_ZN3fooIL3barE", parts{"foo", nil, []string{"bar"}, "", nil, true}},
		{"_ZN3fo", parts{"fo", nil, nil, "", nil, true}},
		{"_ZN3foo2", parts{"foo", nil, nil, "", nil, true}},
		{"_ZN1a1bI", parts{"b", []string{"a"}, nil, "", nil, true}},
		{"_ZN0", parts{"_ZN0", nil, nil, "", nil, true}},
		{"_ZNfoo", parts{"_ZNfoo", nil, nil, "", nil, true}},
		{"_Z", parts{"_Z", nil, nil, "", nil, true}},
		{ // The first identifier that says something is what a wrapper runs.
			"_ZN7ck_tile6kentryILi1ENS_6nativeE4FmhaFwd",
			parts{"kentry", []string{"ck_tile"}, []string{"native", "Fmha"}, "Fmha", []string{"native"}, true},
		},
		{
			"_ZN7cutlass13device_kernelIN7cutlass4gemm6kernel13GemmUniversalI",
			parts{"device_kernel", []string{"cutlass"}, []string{"cutlass", "gemm", "kernel", "GemmUniversal"}, "GemmUniversal",
				[]string{"cutlass", "gemm", "kernel"}, true},
		},
	} {
		n := classify.Parse(tc.name)
		got := parts{n.Function, n.Namespaces, n.TemplateArgs, n.Operation, n.OperationScope, n.Truncated}
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tc.name, diff)
		}
	}
}

// TestParseLimits has the longest name that is read as it is and one that is
// one longer, for each of the limits that keep hostile names cheap.
func TestParseLimits(t *testing.T) {
	mangled := func(id string) string { return fmt.Sprintf("_Z%d%sv", len(id), id) }
	for _, tc := range []struct {
		limit         string
		within, above string
	}{
		{"length", strings.Repeat("ab", 32<<10), strings.Repeat("ab", 32<<10) + "c"},
		{"length of a mangled name", mangled(strings.Repeat("ab", 8188)), mangled(strings.Repeat("ab", 8188) + "c")},
		{"equal letters in a row", mangled(strings.Repeat("a", 96)), mangled(strings.Repeat("a", 97))},
		{"equal letters, not at the start", mangled("b" + strings.Repeat("a", 96)),
			mangled("b" + strings.Repeat("a", 97))},
		{"conversions", mangled(strings.Repeat("cv", 6)), mangled(strings.Repeat("cv", 7))},
	} {
		if classify.Parse(tc.within).Truncated {
			t.Errorf("%s: the longest name that is read is taken for a cut one", tc.limit)
		}
		if !classify.Parse(tc.above).Truncated {
			t.Errorf("%s: a longer name is not taken for a cut one", tc.limit)
		}
	}
	if n := classify.Parse("_ZN16384fooI"); n.Function != "fooI" {
		t.Errorf("the longest identifier of a mangled name: function %q, want fooI", n.Function)
	}
	if n := classify.Parse("_ZN16385fooI"); n.Function != "_ZN16385fooI" {
		t.Errorf("a longer identifier of a mangled name: function %q, want the name as it stands", n.Function)
	}
	args := func(n int) string { return "f<" + strings.TrimSuffix(strings.Repeat("1,", n), ",") + ">(int)" }
	for n, want := range map[int]int{511: 511, 512: 512, 513: 512} {
		if got := len(classify.Parse(args(n)).TemplateArgs); got != want {
			t.Errorf("%d template arguments: %d kept, want %d", n, got, want)
		}
	}
}

// TestTilesOfNames: the first run of numbers joined by x is the tile, and what is
// left of a product's name without its numbers is its base.
func TestTilesOfNames(t *testing.T) {
	rules := classify.Default()
	for _, tc := range []struct{ name, tile, base, dtype string }{
		{"gemm_128x64_nn", "128x64", "gemm_", ""},
		{"gemm_128x6", "128x6", "gemm_", ""},
		{"128x64_gemm", "128x64", "128x", ""},
		{"gemm_1x6", "1x6", "gemm_", ""},
		{"gemm_7_128x64x32_2x1", "128x64x32", "gemm_", ""},
		{"gemm_128x", "", "gemm_", ""},
		{"gemm_x64", "", "gemm_x", ""},
		{"gemm_64_32x", "", "gemm_", ""},
		{"nvjet_tst_128x64_h_bz_TNT", "128x64", "nvjet_tst_", "bf16"},
		{"cutlass_80_tensorop_bf16_s16816gemm_bf16_256x64_64x4_tn_align8", "256x64", "cutlass_", "bf16"},
		{"gemm_e4m3_kernel", "", "gemm_e", "fp8"},
		{"gemm_per1x32Fp4_tn_256x128", "256x128", "gemm_per", "fp4"}, // the first sizes are of a scale
		{"__myl_Fc_0x5d", "", "__myl_Fc_", ""},
		{"GroupedGemmKernel", "", "GroupedGemmKernel", ""}, // no dgemm
		{"cutlass_80_simt_dgemm_64x64_nn", "64x64", "cutlass_", "fp64"},
		{"void gather_rows<uint4>(uint4*)", "", "gather_rows<uint#>", ""}, // a vector, whatever it holds
		{"void gather_rows<unsigned int, float>(float*)", "", "gather_rows<unsigned int, float>", "fp32"},
		{"publish_all_gather", "", "publish_all_gather", ""},
	} {
		f := rules.Facts(tc.name)
		if got := [3]string{f.Tile, f.Base, string(f.DType)}; got != [3]string{tc.tile, tc.base, tc.dtype} {
			t.Errorf("%s: tile, base and type %q, want %q", tc.name, got, [3]string{tc.tile, tc.base, tc.dtype})
		}
	}
	for name, want := range map[string]string{"decode": "decode", "w4a16": "int4", "publish_alltoall": "all_to_all"} {
		if got := rules.Facts(name).Subcategory; got != want {
			t.Errorf("%s: subcategory %q, want %q", name, got, want)
		}
	}
}
