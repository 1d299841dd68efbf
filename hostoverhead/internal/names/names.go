package names

import (
	"regexp"
	"strings"
)

// word is a number of its own, or what a number is a part of.
var word = regexp.MustCompile(`[0-9A-Za-z_.\x{80}-\x{10FFFF}]+`)

// Generalise makes one name of names that differ in their numbers only:
// separate numbers become N, and addresses, lines of frames and what torch's emit_nvtx appends are cut.
// "[Executor] _forward_step 9: 0 ctx reqs" becomes "[Executor] _forward_step N:
// N ctx reqs"; "layer0" and "gemm_128x64" stay.
func Generalise(name string) string {
	name, _, _ = strings.Cut(name, ", op_id = ")
	name, _, _ = strings.Cut(name, ", seq = ")
	name = WithoutLine(name)
	return word.ReplaceAllStringFunc(name, func(w string) string {
		if strings.Trim(w, "0123456789") == "" {
			return "N"
		}
		return w
	})
}

// WithoutLine drops the line number of a frame's name, which moves with every
// edit of the file: "a.py(12): f" becomes "a.py: f"; and the address of an object.
func WithoutLine(name string) string {
	name = withoutAddress(name)
	i := strings.Index(name, "): ")
	if i < 0 {
		return name
	}
	j := strings.LastIndexByte(name[:i], '(')
	if j < 0 {
		return name
	}
	return name[:j] + name[i+1:]
}

// withoutAddress cuts the address of a Python object, which differs in each run:
// "<built-in method replay of CUDAGraph object at 0x7f46>".
func withoutAddress(name string) string {
	before, address, _ := strings.Cut(name, " at 0x")
	before = strings.TrimSuffix(before, " object")
	if _, after, closed := strings.Cut(address, ">"); closed && before != "" {
		return before + ">" + after
	}
	return name
}

// operator is a PyTorch operator: a library's namespace and a name in it, as torch.library registers them.
var operator = regexp.MustCompile(`^[a-z_][a-z0-9_]*::[a-z0-9_.]+$`)

// Operator reports whether a name is that of a PyTorch operator: "aten::mm", "sgl_kernel::rmsnorm.default".
func Operator(name string) bool { return operator.MatchString(name) }

// OfProfiler reports whether a frame is one of torch.profiler's own functions.
func OfProfiler(frame string) bool {
	source, _ := SplitFrame(frame)
	return strings.Contains(source, "torch/profiler/") || strings.Contains(source, "torch/autograd/profiler")
}

// SplitFrame parts "file.py(12): function" into "file.py(12)" and "function".
func SplitFrame(name string) (source, function string) {
	if i := strings.Index(name, "): "); i > 0 {
		return name[:i+1], name[i+3:]
	}
	return "", name
}
