package trace_test

import (
	"context"
	"strings"
	"testing"

	"github.com/llmstrata/strata/trace"
)

// small is an op with a module frame around two launches, one of which is a
// graph launch with two kernels.
const small = `{"baseTimeNanoseconds": 1000, "traceEvents": [
{"ph":"M","name":"process_name","pid":7,"args":{"name":"python"}},
{"ph":"X","cat":"python_function","name":"nn.Module: Linear_0","pid":7,"tid":7,"ts":100.000,"dur":50.500},
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":7,"tid":7,"ts":110.000,"dur":10.000,"args":{"External id":5,"Input Dims":[[2,3],[3,4]]}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":7,"tid":7,"ts":112.001,"dur":2.0,"args":{"correlation":9}},
{"ph":"X","cat":"cuda_runtime","name":"cudaGraphLaunch","pid":7,"tid":7,"ts":130,"dur":2.0,"args":{"correlation":10}},
{"ph":"X","cat":"kernel","name":"b","pid":0,"tid":3,"ts":140,"dur":1.000,"args":{"device":0,"stream":3,"correlation":10}},
{"ph":"X","cat":"kernel","name":"a","pid":0,"tid":3,"ts":120.123,"dur":5.001,"args":{"device":0,"stream":3,"correlation":9,"External id":5}},
{"ph":"X","cat":"kernel","name":"c","pid":0,"tid":4,"ts":141,"dur":1.000,"args":{"device":0,"stream":4,"correlation":10}},
{"ph":"X","cat":"kernel","name":"d","pid":0,"tid":3,"ts":150,"dur":1.000,"args":{"device":0,"stream":3,"correlation":11}}
]}`

func TestLinksFollowKernelToLaunchOpAndFrames(t *testing.T) {
	tr, err := trace.Read(context.Background(), strings.NewReader(small))
	if err != nil {
		t.Fatal(err)
	}
	if got := tr.Origin(); got != 100_000 {
		t.Errorf("Origin() = %d, want 100000", got)
	}
	a := tr.LaneAt(trace.LaneGPU, 0)
	if a.Name() != "a" || a.Start() != 20_123 || a.Duration() != 5001 {
		t.Errorf("first activity = %s at %d for %d, want a at 20123 for 5001", a.Name(), a.Start(), a.Duration())
	}
	if got := a.Launch().Name(); got != "cudaLaunchKernel" {
		t.Errorf("launch = %q", got)
	}
	if got := a.Op().Name(); got != "aten::mm" {
		t.Errorf("op = %q", got)
	}
	if got := a.Op().InputDims(); got != "[[2,3],[3,4]]" {
		t.Errorf("input dims = %q", got)
	}
	if got := a.Frame().Name(); got != "nn.Module: Linear_0" {
		t.Errorf("frame = %q", got)
	}
	graph := tr.LaneAt(trace.LaneGPU, 1).Launch()
	if !graph.IsGraphLaunch() || graph.NumActivities() != 2 {
		t.Errorf("graph launch %q has %d activities, want 2", graph.Name(), graph.NumActivities())
	}
	if h := tr.Health(); h.Orphans != 1 || h.Status != trace.HealthDegraded {
		t.Errorf("health = %+v, want one orphan, degraded", h)
	}
	if got := tr.Streams(0); len(got) != 2 || got[0] != 3 || got[1] != 4 {
		t.Errorf("streams = %v, want [3 4]", got)
	}
}
