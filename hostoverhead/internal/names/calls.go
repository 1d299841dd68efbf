package names

import (
	"slices"
	"strings"

	"github.com/llmstrata/strata/internal/kind"
	"github.com/llmstrata/strata/trace/event"
)

// ContainsAny reports whether s contains one of some parts.
func ContainsAny(s string, parts []string) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(s, p) })
}

// hostExchanges are parts of the names of ranges and functions in which ranks exchange objects on the CPU.
var hostExchanges = []string{"barrier", "_object", "pyobj", "recv_obj", "send_obj", "gloo:", "mpi_"}

// namedExchanges are those of ranges that an application names itself. In operators and functions of torch they are
// the dispatch of a collective of the GPU, which waits for nobody.
var namedExchanges = []string{"broadcast", "gather", "all_reduce", "allreduce", "reduce_scatter", "ncclgroupend"}

// Exchanges reports whether a range, operator or frame is an exchange between ranks that runs on the CPU.
func Exchanges(kind event.Kind, name string) bool {
	name = strings.ToLower(name)
	if ContainsAny(name, hostExchanges) {
		return true
	}
	applications := kind == event.Range || kind == event.Annotation
	return applications && !strings.Contains(name, "::") && !strings.HasPrefix(name, "nccl:") && !strings.HasPrefix(name, "triton_") && ContainsAny(name, namedExchanges)
}

// IsKernelLaunch reports whether an API call launches a kernel, graphs apart: cudaLaunchKernel, cudaLaunchKernelExC,
// cuLaunchKernel(Ex), cudaLaunchCooperativeKernel and their HIP names.
func IsKernelLaunch(name string) bool {
	return strings.Contains(name, "Launch") && strings.Contains(name, "Kernel") && !kind.IsGraphLaunch(name)
}

// Short leaves out leading directories of a Python frame that is longer than
// width bytes: what tells frames apart is at the end.
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
