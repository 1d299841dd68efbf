package framework

import (
	"strconv"
	"strings"
)

// PyTorch is a program without any server: scripts, trainers, Hugging Face.
func PyTorch() Framework {
	return Framework{
		Name:       "PyTorch",
		Keys:       []string{"pytorch"},
		Aliases:    []string{"torch"},
		ModelRoots: []string{"transformers/", "timm/", "megatron/", "nemo/", "fairseq/"},
		Step:       readProfilerStep,
		RankLabels: []string{"rank", "tp", "worker"}, // worker0.….pt.trace.json: torch's TensorBoard handler
	}
}

// IsPyTorchKernel reports whether a kernel's name, as the compiler wrote it, is of PyTorch's own library.
func IsPyTorchKernel(name string) bool { return strings.Contains(name, "at::native::") }

// torch.profiler's step() writes ProfilerStep#7.
func readProfilerStep(name string) (Step, bool) {
	num, ok := strings.CutPrefix(name, "ProfilerStep#")
	if !ok {
		return Step{}, false
	}
	st := NewStep("profiler")
	if n, err := strconv.ParseInt(num, 10, 64); err == nil {
		st.Index = n
	}
	st.Weak = true
	return st, true
}
