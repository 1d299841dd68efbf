package hostoverhead_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/hosttest"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// decodes builds 40 decode steps of vLLM that replay a graph, or launch their kernels one by one.
func decodes(graph bool, kernel string) *trace.Trace {
	tl := hosttest.NewTimeline()
	for i := range int64(40) {
		at := i * 1000
		tl.Event(event.Annotation, "execute_context_0(0)_generation_8(8)", 0, 0, at, at+990)
		for k := range int64(8) {
			corr, start := int(100*i+k+1), at+10*k
			e := trace.EventData{Kind: event.Kernel, Name: fmt.Sprint(kernel, k), Start: 1000 * (at + 100 + 100*k),
				Duration: 100_000, Stream: 7,
				Process: 1, Scope: "a", Thread: 1}
			if graph {
				corr, e.GraphNode = int(100*i+1), uint64(k+1)
			}
			e.Correlation = uint64(corr)
			switch {
			case graph && k == 0:
				tl.Event(event.Runtime, "cudaGraphLaunch", 0, corr, start, start+5)
			case !graph:
				tl.Event(event.Runtime, "cudaLaunchKernel", 0, corr, start, start+5)
			}
			tl.Add(e)
		}
	}
	return tl.Finish()
}

// TestWindowThatDoesNotShowTheServer: what the arguments, or without them the framework's defaults, promise about
// graphs and compilation is held against the window.
func TestWindowThatDoesNotShowTheServer(t *testing.T) {
	yes, no := true, false
	for _, c := range []struct {
		name   string
		graph  bool
		kernel string
		told   *profile.ServerArgs
		want   string
	}{
		{"promised and seen", true, "triton_poi_fused_mul_", &profile.ServerArgs{Graphs: &yes, Compile: &yes}, ""},
		{"graphs promised, eager seen", false, "gemm", &profile.ServerArgs{Graphs: &yes}, "no-graphs"},
		{"eager promised, graphs seen", true, "gemm", &profile.ServerArgs{Graphs: &no}, "unexpected-graphs"},
		{"eager promised and seen", false, "gemm", &profile.ServerArgs{Graphs: &no, Compile: &no}, ""},
		{"compiled against what was told", true, "triton_poi_fused_mul_", &profile.ServerArgs{Compile: &no},
			"unexpected-compiled-code"},
		{"compilation promised", true, "gemm", &profile.ServerArgs{Graphs: &yes, Compile: &yes}, "no-compiled-code"},
		{"nothing told of either", false, "gemm", &profile.ServerArgs{}, ""},
		{"vLLM's defaults", false, "gemm", nil, "no-graphs no-compiled-code"},
		{"vLLM's defaults seen", true, "triton_poi_fused_mul_", nil, ""},
	} {
		v := judged(t, decodes(c.graph, c.kernel), func(o *hostoverhead.Options) { o.Server = c.told })
		var codes []string
		for _, s := range v.Serving {
			codes = append(codes, s.Code)
		}
		if got := strings.Join(codes, " "); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		want := "eager"
		if c.graph {
			want = "graph"
		}
		if p := decider(v).Paths; len(p) != 1 || p[0].Path != want || p[0].Kernels != 320 {
			t.Errorf("%s: paths %+v, want 320 kernels by %s", c.name, p, want)
		}
	}
}
