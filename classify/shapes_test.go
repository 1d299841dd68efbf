package classify_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmstrata/strata/classify"
)

// TestShapesOfNames: how names are cut into scopes, function, template arguments
// and operation, a case for each turn that the reader can take.
func TestShapesOfNames(t *testing.T) {
	const foreach = "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::TensorListMetadata<3>, at::native::BinaryOpListAlphaFunctor<float, 2, 2, 0>"
	type parts struct {
		Scopes    []string
		Function  string
		Arguments []string
		Operation string
	}
	for name, want := range map[string]parts{
		"void a::b<int>::c<float, (x)1>(int)":    {[]string{"a", "b"}, "c", []string{"float", "(x)1"}, ""},
		"void ::b::c(int)":                       {[]string{"b"}, "c", nil, ""},
		"a::::b":                                 {[]string{"a"}, "b", nil, ""},
		"a<b::c>::d<e>::f":                       {[]string{"a", "d"}, "f", []string{"e"}, ""},
		"<unnamed>::k<3>":                        {nil, "k", []string{"3"}, ""},
		"void (anonymous namespace)::k<3>(int)":  {nil, "k", []string{"3"}, ""},
		"void f(int) const":                      {nil, "f", nil, ""},
		"void const_pad(int)":                    {nil, "const_pad", nil, ""},
		"k [clone .kd]":                          {nil, "k", nil, ""},
		"_ZN4vllm15rms_norm_kernelIfLi8EEEvPT_":  {[]string{"vllm"}, "rms_norm_kernel", []string{"float", "8"}, ""},
		"_ZN4vllm15rms_norm_kernelIfLin8EEEvPT_": {[]string{"vllm"}, "rms_norm_kernel", []string{"float", "-8"}, ""},
		"_ZN4vllm4normILb1E3fooEEvv":             {[]string{"vllm"}, "norm", []string{"true", "foo"}, ""},
		"_Z3fooILi64E3barEvv":                    {nil, "foo", []string{"64", "bar"}, ""},
		// A name that was cut off has no demangled form: only identifiers are read, the last as far as it goes.
		"_ZN4vllm4normILb1E3fooLi64E3ba":  {[]string{"vllm"}, "norm", []string{"foo", "ba"}, ""},
		"_ZN4vllm4normILin7E3fooLi64E3ba": {[]string{"vllm"}, "norm", []string{"foo", "ba"}, ""},
		// The functor names the work, unless it is one of those that apply any op.
		foreach + ", std::plus<float>, float>(X)": {[]string{"at", "native"}, "multi_tensor_apply_kernel",
			[]string{"at::native::TensorListMetadata<3>", "at::native::BinaryOpListAlphaFunctor<float, 2, 2, 0>",
				"std::plus<float>", "float"}, "plus"},
		foreach + ">(X)": {[]string{"at", "native"}, "multi_tensor_apply_kernel",
			[]string{"at::native::TensorListMetadata<3>", "at::native::BinaryOpListAlphaFunctor<float, 2, 2, 0>"},
			"BinaryOpListAlphaFunctor"},
		foreach + ", 4>(X)": {[]string{"at", "native"}, "multi_tensor_apply_kernel",
			[]string{"at::native::TensorListMetadata<3>", "at::native::BinaryOpListAlphaFunctor<float, 2, 2, 0>", "4"},
			"BinaryOpListAlphaFunctor"},
	} {
		n := classify.Parse(name)
		if diff := cmp.Diff(want, parts{n.Namespaces, n.Function, n.TemplateArgs, n.Operation}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
