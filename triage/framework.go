package triage

import (
	"path/filepath"
	"strings"

	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
)

// Frameworks as reports name them.
const (
	FrameworkSGLang     = "SGLang"
	FrameworkVLLM       = "vLLM"
	FrameworkTRTLLM     = "TensorRT-LLM"
	FrameworkTokenSpeed = "TokenSpeed"
	FrameworkPyTorch    = "PyTorch" // no sign of a server
)

// frameworkWords names a server in flags, paths, registries and traces.
type frameworkWords struct {
	name  string
	keys  []string // in flags, registries and paths
	roots []string // of Python frames
	ops   []string // namespaces of cpu ops
}

// frameworks lists the servers in the order in which bundles show them.
var frameworks = []frameworkWords{
	{FrameworkSGLang, []string{"sglang"}, []string{"sglang/", "sgl_kernel/"}, []string{"sglang::", "sgl_kernel::"}},
	{FrameworkVLLM, []string{"vllm"}, []string{"vllm/"}, []string{"vllm::", "_C_cache_ops::"}},
	{FrameworkTRTLLM, []string{"trtllm", "tensorrt-llm", "tensorrt_llm", "trt-llm", "tensorrtllm"}, []string{"tensorrt_llm/"}, []string{"trtllm::", "auto_deploy::"}},
	{FrameworkTokenSpeed, []string{"tokenspeed"}, []string{"tokenspeed/", "tokenspeed_kernel/"}, []string{"tokenspeed::"}},
}

// ParseFramework returns the framework that a flag or file names, in any of
// the usual spellings; "" where it names none.
func ParseFramework(s string) string {
	if strings.EqualFold(strings.TrimSpace(s), FrameworkPyTorch) {
		return FrameworkPyTorch
	}
	return frameworkByKey(strings.ToLower(strings.TrimSpace(s)))
}

func frameworkByKey(key string) string {
	for _, f := range frameworks {
		for _, k := range f.keys {
			if k == key {
				return f.name
			}
		}
	}
	return ""
}

// frameworkInPath returns the server that a path names, the last part first.
func frameworkInPath(path string) string {
	parts := strings.Split(strings.ToLower(filepath.ToSlash(path)), "/")
	for i := len(parts) - 1; i >= 0; i-- {
		for _, f := range frameworks {
			for _, k := range f.keys {
				if strings.Contains(parts[i], k) {
					return f.name
				}
			}
		}
	}
	return ""
}

// frameworkInTrace returns the server whose code appears most among a trace's
// Python frames, else among its cpu ops, else the one whose step annotations
// it has. Kernel names are no sign: servers borrow each other's kernels.
func frameworkInTrace(t *trace.Trace) string {
	frames := make([]int, len(frameworks))
	ops := make([]int, len(frameworks))
	for i := range t.NumNames() {
		name := t.Name(trace.NameID(i))
		fr, isFrame := parseFrame(name)
		for k, f := range frameworks {
			if isFrame {
				for _, r := range f.roots {
					if segment(fr.path, r) >= 0 {
						frames[k]++
						break
					}
				}
				continue
			}
			for _, o := range f.ops {
				if strings.HasPrefix(name, o) {
					ops[k]++
					break
				}
			}
		}
	}
	for _, counts := range [][]int{frames, ops} {
		best := 0
		for k, n := range counts {
			if n > counts[best] {
				best = k
			}
		}
		if counts[best] > 0 {
			return frameworks[best].name
		}
	}
	seen := make([]bool, t.NumNames())
	for a := range t.Events(trace.LaneAnnotation) {
		if seen[a.NameID()] {
			continue
		}
		seen[a.NameID()] = true
		if st, ok := layer.ParseStep(a.Name()); ok && dialects[st.Dialect] != "" {
			return dialects[st.Dialect]
		}
	}
	return ""
}

// dialects are the servers by the dialect of their step annotations.
var dialects = map[string]string{"sglang": FrameworkSGLang, "vllm": FrameworkVLLM, "trtllm": FrameworkTRTLLM}

// frameworkKey returns the registry's key of a framework, "" for PyTorch.
func frameworkKey(name string) string {
	for _, f := range frameworks {
		if f.name == name {
			return f.keys[0]
		}
	}
	return ""
}
