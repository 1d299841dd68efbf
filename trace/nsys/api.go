package nsys

import (
	"fmt"
	"slices"
	"strings"

	"github.com/llmstrata/strata/trace/event"
)

// apiName is an API name without its version.
type apiName struct {
	name string
	kind event.Kind
}

func (s *scanner) readCalls() error {
	return s.timed(tableRuntime, []string{"globalTid", "correlationId", "nameId"}, func(r row, start, end int64) {
		api := s.apiName(r.intOr(4, -1))
		e := s.hostEvent(api.kind, r.Int(2), api.name)
		e.Correlation = correlation(r.Int(3))
		s.add(e, start, end)
	})
}

func (s *scanner) apiName(id int64) apiName {
	a, ok := s.api[id]
	if ok {
		return a
	}
	stored := s.name(id)
	if stored == "" {
		stored = fmt.Sprintf("[unnamed API call %d]", id)
	}
	a = apiName{name: stripVersion(stored), kind: event.Driver}
	if strings.HasPrefix(stored, "cuda") {
		a.kind = event.Runtime
	}
	if a.name != stored && !slices.Contains(s.suffixed[a.name], stored) {
		s.suffixed[a.name] = append(s.suffixed[a.name], stored)
	}
	if len(s.api) < 1<<16 {
		s.api[id] = a
	}
	return a
}

// minVersionDigits is the least number of digits of a CUDA version in an API
// name: cudaMemcpyAsync_v3020 is the oldest seen. Fewer digits belong to the
// name itself, as in cuMemAlloc_v2.
const minVersionDigits = 4

// stripVersion returns the name of a runtime API call without the suffix that
// CUPTI adds for the CUDA version that introduced its current form, and
// without the mark of the per-thread default stream: cudaLaunchKernel_v7000
// and cudaLaunchKernel_ptsz_v7000 become cudaLaunchKernel. Other names are
// returned as they are.
func stripVersion(name string) string {
	i := strings.LastIndex(name, "_v")
	if i <= 0 || len(name)-i-2 < minVersionDigits {
		return name
	}
	for _, c := range name[i+2:] {
		if c < '0' || c > '9' {
			return name
		}
	}
	name = name[:i]
	for _, stream := range []string{"_ptsz", "_ptds"} {
		name = strings.TrimSuffix(name, stream)
	}
	return name
}
