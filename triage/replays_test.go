package triage_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/triage"
)

// block is a layer: names of its kernels.
var block = []string{plainNorm, product, "void vllm::rotary_embedding_kernel<c10::BFloat16>(P)", attention, product,
	plainNorm, product, "void vllm::act_and_mul_kernel<c10::BFloat16>(P)", product}

// blocks runs three passes of eight layers. Of an eager run each launch is in a frame that names the kernel's
// place in its layer; other changes a layer's kernels.
func blocks(replay bool, other map[int]string) *trace.Trace {
	b := trace.NewBuilder(trace.Options{})
	at, corr := int64(1000), uint64(0)
	launch := func(name, frame string) {
		corr++
		if frame != "" {
			b.Add(trace.EventData{Kind: event.Frame, Name: frame, Start: at - 10, Duration: 100, Thread: 1,
				Device: trace.None, Stream: trace.None})
		}
		b.Add(trace.EventData{Kind: event.Runtime, Name: name, Start: at, Duration: 5, Thread: 1, Correlation: corr,
			Device: trace.None, Stream: trace.None})
	}
	for range 3 {
		if replay {
			launch("cudaGraphLaunch", "vllm/v1/worker/gpu_model_runner.py(10): execute_model")
		}
		node := uint64(0)
		kernel := func(name string, place int) {
			node++
			e := trace.EventData{Kind: event.Kernel, Name: name, Duration: 1000, Stream: 7}
			if replay {
				e.GraphNode = node
			} else {
				launch("cudaLaunchKernel", fmt.Sprintf("vllm/model_executor/models/qwen3.py(%d): forward", 100+place))
			}
			e.Correlation, e.Start = corr, at+10
			b.Add(e)
			at += 1010
		}
		kernel("void at::native::(anonymous namespace)::indexSelectSmallIndex<c10::BFloat16, long>(P)", 50)
		for range 8 {
			for k, name := range block {
				if n, ok := other[k]; ok {
					name = n
				}
				kernel(name, k)
			}
		}
		kernel("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::ArgMaxOps<float>, unsigned int, long, 4, 4>>(P)", 60)
		at += 5000
	}
	return built.Trace(b)
}

// TestLinesOfReplays: a replayed kernel has the line of the eager launch in the same place of its layer, also of one
// of another name between two that match; without a mapping trace it is a replay without a known source.
func TestLinesOfReplays(t *testing.T) {
	for _, c := range []struct {
		what    string
		mapping map[int]string
		none    bool
		kernel  string
		want    string // places of its launches
		from    string
	}{
		{"of the same name", nil, false, attention, "103 100%", "alignment"},
		{"in four places", nil, false, product, "101 25%, 104 25%", "alignment"},
		{"a variant", map[int]string{1: "nvjet_tst_64x8_64x16_4x1_v_bz_TNT", 4: "nvjet_tst_64x8_64x16_4x1_v_bz_TNT",
			6: "nvjet_tst_64x8_64x16_4x1_v_bz_TNT", 8: "nvjet_tst_64x8_64x16_4x1_v_bz_TNT"}, false, product,
			"101 25%, 104 25%", "alignment"},
		{"another name between two that match", map[int]string{2: "something_else"}, false, block[2], "102 100%",
			"alignment"},
		{"no mapping", nil, true, attention, "graph replay", ""},
	} {
		var mapping []triage.Source
		if !c.none {
			mapping = []triage.Source{{Trace: blocks(false, c.mapping), Path: "m"}}
		}
		in, err := triage.NewInput(t.Context(), []triage.Source{{Trace: blocks(true, nil), Path: "f"}}, mapping,
			layer.Options{NumLayers: 8})
		if err != nil {
			t.Fatal(err)
		}
		r, err := triage.Analyze(t.Context(), in, triage.Options{MinSharePct: -1})
		if err != nil {
			t.Fatal(err)
		}
		k := slices.IndexFunc(r.Stages[0].Kernels, func(k triage.KernelRow) bool {
			return strings.Contains(c.kernel,
				k.Kernel)
		})
		if k < 0 {
			t.Fatalf("%s: no row of %s", c.what, c.kernel)
		}
		row := &r.Stages[0].Kernels[k]
		var got []string
		for _, l := range row.Locations {
			if rest, ok := strings.CutPrefix(l.Location, "vllm/model_executor/models/qwen3.py:"); ok {
				got = append(got, fmt.Sprintf("%s %.0f%%", strings.TrimSuffix(rest, " forward"), l.SharePct))
			} else {
				got = append(got, l.Location)
			}
			if l.From != c.from {
				t.Errorf("%s: found by %q, want %q", c.what, l.From, c.from)
			}
		}
		if s := strings.Join(got, ", "); s != c.want || row.Replayed != row.Launches {
			t.Errorf("%s: %s, %d of %d replayed; want %s", c.what, s, row.Replayed, row.Launches, c.want)
		}
		if want := "vllm/v1/worker/gpu_model_runner.py:10 execute_model"; row.ReplayedAt != want {
			t.Errorf("%s: replayed at %q, want %q", c.what, row.ReplayedAt, want)
		}
	}
}

// TestOptionsOfAnotherModel: where the number of layers is that of another model than a trace shows, the trace alone
// is asked.
func TestOptionsOfAnotherModel(t *testing.T) {
	tr := blocks(false, nil)
	for n, fits := range map[int]bool{8: true, 5: false} {
		if _, err := layer.Analyze(t.Context(), tr, layer.Options{NumLayers: n}); (err == nil) != fits {
			t.Fatalf("%d layers: %v", n, err)
		}
		in, err := triage.NewInput(t.Context(), []triage.Source{{Trace: tr, Path: "x"}}, nil,
			layer.Options{NumLayers: n})
		if err != nil || in.Formal[0].Devices[0].NumLayers != 8 {
			t.Errorf("%d layers: %v, want an input of 8", n, err)
		}
	}
}

// TestReplayIsAskedForChains: a replay is asked only where a chain could be fused and something ran on a GPU; its
// error, here that of a context that has ended, is the report's.
func TestReplayIsAskedForChains(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	an, err := layer.Analyze(ctx, built.Kernels([2]int64{0, 10}), layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	for _, c := range []struct {
		launches int
		of       *layer.Analysis
		asks     bool
	}{{0, an, false}, {1, an, true}, {1, &layer.Analysis{}, false}} {
		r := &triage.Report{Stages: []triage.StageReport{{Fuse: []triage.FuseRow{{Pattern: "p",
			State: triage.StateAvailable, Gain: triage.Gain{Launches: c.launches}}}}}}
		if err := r.Replay(ctx, []*layer.Analysis{c.of}, nil); (err != nil) != c.asks {
			t.Errorf("%d launches fewer on %d GPUs: %v, want an error: %v", c.launches, len(c.of.Devices), err, c.asks)
		}
	}
}
