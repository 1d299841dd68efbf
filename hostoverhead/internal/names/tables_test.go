package names_test

import (
	"testing"

	"github.com/llmstrata/strata/hostoverhead/internal/names"
	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/internal/waits"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// texts holds each answer against what is wanted, by name.
func texts[T comparable](t *testing.T, f func(string) T, want map[string]T) {
	t.Helper()
	for name, w := range want {
		if got := f(name); got != w {
			t.Errorf("%q: %v, want %v", name, got, w)
		}
	}
}

func TestGeneralisedNames(t *testing.T) {
	texts(t, names.Generalise, map[string]string{
		"[Executor] _forward_step 9: 10 ctx reqs": "[Executor] _forward_step N: N ctx reqs",
		"aten::mm, op_id = 12":                    "aten::mm",
		"aten::mm, seq = 3, op_id = 12":           "aten::mm",
		"a, op_id = 12":                           "a",
		"a, seq = 3":                              "a",
		"9 layers":                                "N layers",
		"step 0":                                  "step N",
		"layer0 gemm_128x64":                      "layer0 gemm_128x64",
		"5x 5X 5_ 5. 5é":                          "5x 5X 5_ 5. 5é",
		"5a 5z 5A 5Z 5@ 5[ 5` 5{ 5/ 5:":           "5a 5z 5A 5Z N@ N[ N` N{ N/ N:",
		"é5 a5 z5 A5 Z5 @5 [5 `5 {5":              "é5 a5 z5 A5 Z5 @N [N `N {N",
		"no number":                               "no number",
		"À5 b":                                    "À5 b",
		"a5 b":                                    "a5 b",
		"/5 b":                                    "/N b",
	})
}

func TestFramesInParts(t *testing.T) {
	for name, want := range map[string][2]string{
		"a.py(12): f": {"a.py(12)", "f"}, "f": {"", "f"}, "): f": {"", "): f"}, "x): f": {"x)", "f"},
	} {
		if s, f := names.SplitFrame(name); [2]string{s, f} != want {
			t.Errorf("%q: %q and %q, want %q", name, s, f, want)
		}
	}
	texts(t, names.WithoutLine, map[string]string{
		"(3): f": ": f", "): f": "): f", "a): f": "a): f",
		"x object at 0x7f>": "x>", "<x object at 0x7f>": "<x>", " object at 0x7f>": " object at 0x7f>",
	})
	for _, c := range []struct {
		name  string
		width int
		want  string
	}{
		{"/root/dir/mod.py(12): f", 23, "/root/dir/mod.py(12): f"},
		{"/root/dir/mod.py(12): f", 22, "…/dir/mod.py(12): f"},
		{"/root/dir/mod.py(12): f", 3, "…/mod.py(12): f"},
		{"root/mod.py(12): f", 17, "…/mod.py(12): f"},
		{"mod.py(12): a/b", 3, "mod.py(12): a/b"},
	} {
		if got := names.Short(c.name, c.width); got != c.want {
			t.Errorf("%q in %d bytes: %q, want %q", c.name, c.width, got, c.want)
		}
	}
}

func TestExchanges(t *testing.T) {
	for name, want := range map[string]bool{
		"dist_barrier": true, "nccl:all_reduce": false, "c10d::allreduce_": false, "triton_allreduce": false,
		"all_reduce": true, "forward": false, "gloo:send": true,
	} {
		if got := waits.Exchanges(event.Range, name); got != want {
			t.Errorf("range %s exchanges: %v, want %v", name, got, want)
		}
		if got := waits.Exchanges(event.Annotation, name); got != want {
			t.Errorf("annotation %s exchanges: %v, want %v", name, got, want)
		}
	}
	if waits.Exchanges(event.Op, "all_reduce") || !waits.Exchanges(event.Op, "dist_barrier") {
		t.Error("of operators, barriers exchange on the CPU and reductions do not")
	}
}

func TestWaits(t *testing.T) {
	texts(t, waits.CallWait, map[string]finding.Cause{
		"cudaStreamSynchronize": finding.Synchronisation, "cuModuleLoadData": finding.ModuleLoad,
		"cudaMalloc": finding.Allocation, "cudaLaunchKernel": finding.NoCause})
	lock, input := waits.WaitForThread(finding.Lock), waits.Wait{For: waits.Input, Cause: finding.SystemCall}
	texts(t, waits.SystemWait, map[string]waits.Wait{
		"take_gil": waits.WaitForThread(finding.GIL), "pthread_cond_signal": {For: waits.Nobody},
		"pthread_cond_wait": lock, "epoll_wait": input, "ioctl": {}})
	texts(t, waits.FrameWait, map[string]waits.Wait{
		"<built-in method acquire of _thread.lock object at 0x1>": lock,
		"<built-in method poll of select.epoll>":                  input, "<built-in method run>": {},
		"threading.py(359): wait": lock, "threading.py(359): start": {}, "other.py(359): wait": {},
		"/usr/lib/selectors.py(1): select": input, "wait": {},
	})
	for name, want := range map[string]bool{"Waiting for GIL": true, "Holding GIL": false, "gil held": false,
		"agile": false, "[gil]": true, "a-gil-z": true} {
		if got := waits.WaitsForGIL(name); got != want {
			t.Errorf("%s waits for the GIL: %v, want %v", name, got, want)
		}
	}
}

// TestFactsAreOfTheirName: a second question about a name, and one about another, have the answers of the first.
func TestFactsAreOfTheirName(t *testing.T) {
	b := trace.NewBuilder(trace.Options{})
	all := []string{"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(args)", "gemm 5", "step[DECODE bs=8]"}
	for i, n := range all {
		b.Add(trace.EventData{Kind: event.Kernel, Name: n, Start: int64(i) * 10, Duration: 5})
	}
	tr := built.Trace(b)
	asked := 0
	general := names.ByName(tr, func(name string) string {
		asked++
		return names.Generalise(name)
	})
	for range 2 {
		for e := range tr.Events(event.LaneGPU) {
			id, name := e.NameID(), e.Name()
			if got, want := general(id), names.Generalise(name); got != want {
				t.Errorf("%s: %s, want %s", name, got, want)
			}
		}
	}
	if asked != len(all) {
		t.Errorf("asked %d times about %d names", asked, len(all))
	}
	for stage, want := range map[layer.Stage]string{
		layer.StagePrefill: names.Context, layer.StageMixed: names.Context, layer.StageDecode: names.Generation,
		layer.StageVerify: names.Generation, layer.StageDraft: names.Generation, layer.StageUnknown: "",
	} {
		if got := names.Phase(stage); got != want {
			t.Errorf("%s is of phase %q, want %q", stage, got, want)
		}
	}
}
