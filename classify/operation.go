package classify

import "strings"

// wrappers are kernels whose own name says nothing: they run what a template
// argument names. Compared with the function's name exactly.
var wrappers = map[string]bool{
	// at::native: the functor is the work (Loops.cuh, Reduce.cuh).
	"elementwise_kernel": true, "vectorized_elementwise_kernel": true, "unrolled_elementwise_kernel": true,
	"elementwise_kernel_manual_unroll": true, "elementwise_kernel_with_index": true,
	"legacy_elementwise_kernel": true, "unrolled_elementwise_kernel_for_multi_outputs": true,
	"vectorized_templated_elementwise_kernel": true, "gpu_kernel_impl": true, "gpu_kernel_impl_nocast": true,
	"gpu_kernel_multiple_outputs_impl": true, "gpu_index_kernel": true,
	"reduce_kernel": true, "ReduceOp": true, "func_wrapper_t": true, "multi_tensor_apply_kernel": true,
	"index_elementwise_kernel": true, "_scatter_gather_elementwise_kernel": true,
	"apply": true, "BinaryFunctor": true, "AUnaryFunctor": true, "BUnaryFunctor": true,
	"distribution_elementwise_grid_stride_kernel": true,
	// cutlass and what is built on it: the operator class is the work.
	"device_kernel": true, "Kernel": true, "Kernel2": true, "device_kernel_sm90": true, "cutlass_kernel": true,
	"kernel_sm90": true, "device_kernel_specialized": true,
	// ck_tile: kentry<occupancy, Operator, Args...>.
	"kentry": true, "kentry_pt": true,
	// cub, rocprim: the algorithm's configuration or implementation.
	"trampoline_kernel": true, "kernel_agent": true, "_kernel_agent": true,
	"invoke_kernel": true, // nunchaku
	// ggml
	"unary_op_kernel": true, "unary_gated_op_kernel": true, "k_bin_bcast": true, "k_bin_bcast_unravel": true,
	"ForEachKernel": true, "static_kernel": true, "for_each_kernel": true,
}

// guardPrefix begins wrappers that compile a kernel for some architectures only: enable_sm90_or_later.
const guardPrefix = "enable_"

// anonymousFunctions are names that say nothing: the nearest scope that does
// replaces them, as in internal::gemvx::kernel.
var anonymousFunctions = map[string]bool{"kernel": true, "globalKernel": true, "run": true, "main": true}

var emptyScopes = map[string]bool{
	"impl": true, "detail": true, "kernel": true, "kernels": true, "internal": true, "device": true, "dev": true,
}

// plainScopes are scopes of a mangled name that hold kernels of any kind.
var plainScopes = map[string]bool{"native": true, "kernel": true, "gemm": true}

// operation finds what a generic kernel runs: the first template argument that
// names code, looking through further wrappers.
func operation(fn string, namespaces, args []string) (op string, scope []string) {
	if anonymousFunctions[fn] {
		for i := len(namespaces) - 1; i >= 0; i-- {
			if !emptyScopes[namespaces[i]] {
				return namespaces[i], namespaces[:i:i]
			}
		}
		return "", nil
	}
	name := fn
	for range 6 { // BinaryFunctor in gpu_kernel_impl in elementwise_kernel is 3
		if !wrappers[name] && !strings.HasPrefix(name, guardPrefix) {
			return op, scope
		}
		arg, ok := codeArgument(name, args)
		if !ok {
			return op, scope
		}
		var buf [16]component
		parts := splitQualified(buf[:0], argumentName(arg))
		last := meaningful(parts)
		if last < 0 {
			return op, scope
		}
		base := stripCall(parts[last].base)
		if base == "" {
			return op, scope
		}
		name, op, scope = base, base, scopes(parts[:last])
		args = splitTop(parts[last].args, ',', maxParts)
	}
	return op, scope
}

// argumentName is the part of a template argument that names it: without a
// leading "void ", which NVIDIA's demangler writes, and including what follows
// a parenthesis, because lambdas name the function they are in. &op_add and
// &(op_add(float, float)) are functions.
func argumentName(arg string) string {
	if f, ok := strings.CutPrefix(arg, "&"); ok {
		arg = strings.TrimSuffix(strings.TrimPrefix(f, "("), ")")
	}
	arg = strings.TrimPrefix(arg, "void ")
	return strings.TrimPrefix(arg, "(anonymous namespace)::")
}

// meaningful returns the index of the component that names the work: the last
// one before the first lambda.
func meaningful(parts []component) int {
	for i, p := range parts {
		if isNoiseComponent(strings.TrimSpace(p.base)) {
			return i - 1
		}
	}
	return len(parts) - 1
}

// stripCall cuts the parameter list that a lambda's enclosing function shows,
// and "const" after it.
func stripCall(base string) string {
	if i := strings.IndexByte(base, '('); i > 0 {
		base = base[:i]
	}
	return strings.TrimSpace(base)
}

// opLast are wrappers whose arguments are <arg types…, op>.
var opLast = map[string]bool{"BinaryFunctor": true, "AUnaryFunctor": true, "BUnaryFunctor": true}

// multiTensor is PyTorch's wrapper of an op on lists of tensors.
const multiTensor = "multi_tensor_apply_kernel"

// codeArgument picks the template argument that names code rather than a
// number, a type or an index.
func codeArgument(wrapper string, args []string) (string, bool) {
	switch {
	case opLast[wrapper]:
		if len(args) > 0 {
			return args[len(args)-1], true
		}
		return "", false
	case wrapper == multiTensor:
		// <metadata, functor, op…>: the functor says more than the op only
		// when it is not one of the generic list functors.
		for i, a := range args {
			if i == 0 || isPlainArgument(a) {
				continue
			}
			if isGenericListFunctor(a) && i+1 < len(args) && !isPlainArgument(args[i+1]) {
				return args[i+1], true
			}
			return a, true
		}
		return "", false
	}
	for _, a := range args {
		if !isPlainArgument(a) {
			return a, true
		}
	}
	return "", false
}

func isGenericListFunctor(a string) bool {
	for _, s := range []string{"OpListAlphaFunctor<", "OpScalarFunctor<", "OpScalarListFunctor<",
		"OpScalarTensorFunctor<", "OpFunctor<", "OpListFunctor<"} {
		if strings.Contains(a, s) {
			return !strings.Contains(a, "UnaryOpFunctor<") || strings.Contains(a, "::Unary")
		}
	}
	return false
}

var plainTypes = map[string]bool{
	"void": true, "bool": true, "char": true, "int": true, "long": true, "short": true, "float": true, "double": true,
	"unsigned int": true, "unsigned long": true, "unsigned char": true, "signed char": true, "unsigned short": true,
	"long long": true, "unsigned long long": true, "true": true, "false": true, "half": true, "__half": true,
	"__nv_bfloat16": true, "__hip_bfloat16": true, "nv_bfloat16": true, "__bf16": true, "_Float16": true,
	"cutlass::bfloat16_t": true, "cutlass::half_t": true,
}

// isPlainArgument reports a template argument that is a number, a constant or
// a data type.
func isPlainArgument(a string) bool {
	if a == "" || plainTypes[a] {
		return true
	}
	switch a[0] {
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return true
	case '(':
		return !strings.HasPrefix(a, anonymous) // "(int)4", "(cute::UMMA::Major)0"
	}
	return strings.HasPrefix(a, "c10::") || strings.HasPrefix(a, "std::complex<")
}
