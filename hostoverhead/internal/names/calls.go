package names

import (
	"strings"

	"github.com/llmstrata/strata/internal/kind"
)

// IsKernelLaunch reports whether an API call launches a kernel, graphs apart: cudaLaunchKernel, cudaLaunchKernelExC,
// cuLaunchKernel(Ex), cudaLaunchCooperativeKernel and their HIP names.
func IsKernelLaunch(name string) bool {
	return strings.Contains(name, "Launch") && strings.Contains(name, "Kernel") && !kind.IsGraphLaunch(name)
}

// Short leaves out leading directories of a Python frame that is longer than
// width bytes: frames differ at the end.
func Short(name string, width int) string {
	file := strings.Index(name, ".py")
	short := name
	for len(short) > width {
		i := strings.IndexByte(strings.TrimPrefix(short, "…/"), '/')
		if i < 0 || len(name)-len(short)+i > file {
			break
		}
		short = "…/" + strings.TrimPrefix(short, "…/")[i+1:]
	}
	return short
}
