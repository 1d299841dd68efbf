package layer_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// TestScrambledReplay: where names and times do not belong together no layer is sure, and with the order repaired every kernel has
// the time and the layer that it ran in.
func TestScrambledReplay(t *testing.T) {
	var b bytes.Buffer
	truths, err := gen.ScrambledReplay().Write(&b)
	if err != nil {
		t.Fatal(err)
	}
	for _, repair := range []bool{false, true} {
		tr, err := trace.Read(t.Context(), bytes.NewReader(b.Bytes()), trace.Options{RepairOrder: repair})
		if err != nil {
			t.Fatal(err)
		}
		if tr.Health().Status != trace.HealthDegraded {
			t.Errorf("repair %t: health %v, want degraded", repair, tr.Health().Status)
		}
		d := analyze(t, tr, layer.Options{})
		if len(d.Passes) != 2 {
			t.Fatalf("repair %t: %d passes, want 2", repair, len(d.Passes))
		}
		decode := d.Passes[1]
		if !repair {
			if decode.Confidence > 0.5 || d.Passes[0].Confidence < 0.85 {
				t.Errorf("confidence %.2f of the scrambled pass, %.2f of the other, want 0.5 at most and 0.85 at least", decode.Confidence, d.Passes[0].Confidence)
			}
			continue
		}
		if share, wrong := placed(d, truths, itself); share < 0.995 || decode.Confidence < 0.9 {
			t.Errorf("repaired: %.2f%% right with %.2f, want 99.5%% and 0.9\n%v", 100*share, decode.Confidence, wrong)
		}
	}
}

// TestScrambledAndSorted: a program that sorted the file by time hid its order; the layers still show that names and times do not belong
// together. No replay of a real trace is taken to be so but the scrambled one.
func TestScrambledAndSorted(t *testing.T) {
	var b bytes.Buffer
	if _, err := gen.ScrambledReplay().Write(&b); err != nil {
		t.Fatal(err)
	}
	for _, repair := range []bool{false, true} {
		tr, err := trace.Read(t.Context(), bytes.NewReader(b.Bytes()), trace.Options{RepairOrder: repair})
		if err != nil {
			t.Fatal(err)
		}
		sorted := trace.NewBuilder(trace.Options{})
		for _, l := range []event.Lane{event.LaneLaunch, event.LaneAnnotation, event.LaneGPU} {
			for e := range tr.Events(l) {
				d := trace.EventData{Kind: e.Kind(), Name: e.Name(), Start: tr.Raw(e.Start()), Duration: int64(e.Duration()), Device: e.Device(), Stream: e.Stream(),
					Correlation: e.Data().Correlation, GraphNode: e.Data().GraphNode}
				if th := e.Thread(); th != trace.None {
					d.Thread = tr.Thread(th).ID
				}
				sorted.Add(d)
			}
		}
		d := analyze(t, built.Trace(sorted), layer.Options{})
		if h := d.Analysis().Health; h.Status == trace.HealthDegraded {
			t.Errorf("repaired %t: health %v, want nothing found: the order is gone", repair, h.Findings)
		}
		if got := d.Passes[1].Confidence <= 0.5; got == repair {
			t.Errorf("repaired %t: confidence %.2f", repair, d.Passes[1].Confidence)
		}
	}
	for _, file := range []string{"sglang-qwen3-30b-a3b-b300-TP-0-DECODE.trace.json.gz", "sglang-qwen3-30b-a3b-mi300-TP-0-DECODE.trace.json.gz", "sglang-qwen3-8b-decode-graph-mi300.json.gz",
		"sglang-r1-distill-llama-8b-b300-TP-0-DECODE.trace.json.gz", "vllm-gptoss20b-decode-fullgraph-mi300.json.gz", "vllm-gptoss20b-mixed-piecewise-mi300.json.gz", "xdit-flux1-mi300.json.gz"} {
		for _, e := range analyze(t, open(t, file), layer.Options{}).Evidence {
			if strings.Contains(e.Detail, "scrambled") {
				t.Errorf("%s: %s", file, e.Detail)
			}
		}
	}
}

// TestRotatedLayers: each number that decides, on either side. Of layers of eight kernels, one of which takes so many times as long as the others,
// some have the times three kernels later, and one other kernel that takes longer.
func TestRotatedLayers(t *testing.T) {
	for _, c := range []struct {
		name            string
		layers, rotated int
		longer, other   float64
		want            bool
	}{
		{"shifted", 12, 4, 10, 1, true},
		{"none", 12, 0, 10, 1, false},
		{"rotatedFrom", 12, 4, 5.2, 1, true},
		{"below it", 12, 4, 4.8, 1, false},
		{"rotatedTo", 12, 4, 10, 80, true},
		{"above it", 12, 4, 10, 130, false},
		{"rotatedLayers", 12, 2, 10, 1, true},
		{"one layer", 12, 1, 10, 1, false},
		{"rotatedLeast", 6, 2, 10, 1, true},
		{"fewer layers", 5, 2, 10, 1, false},
	} {
		b := trace.NewBuilder(trace.Options{})
		at := int64(10_000)
		b.Add(trace.EventData{Kind: event.Runtime, Name: "cudaGraphLaunch", Start: 1, Duration: 5, Thread: 1, Correlation: 7, Device: trace.None, Stream: trace.None})
		kernel := func(name string, dur float64) {
			b.Add(trace.EventData{Kind: event.Kernel, Name: name, Start: at, Duration: int64(dur), Stream: 7, Correlation: 7})
			at += int64(dur) + 10
		}
		kernel("void at::native::(anonymous namespace)::indexSelectSmallIndex<c10::BFloat16, long>(P)", 1000)
		for l := range c.layers {
			dur := []float64{1000, 1000, 1000 * c.longer, 1000, 1000, 1000, 1000, 1000}
			if l < c.rotated {
				dur[2], dur[5], dur[0] = 1000, 1000*c.longer, 1000*c.other
			}
			for k, n := range []string{"void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(P)", "nvjet_tst_64x8_64x16_4x1_v_bz_TNT", "void flash::flash_fwd_splitkv_kernel<T>(P)",
				"nvjet_tst_64x8_64x16_2x1_v_bz_TNT", "void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(P)", "nvjet_tst_128x8_64x12_4x1_v_bz_TNT",
				"void vllm::act_and_mul_kernel<c10::BFloat16>(P)", "nvjet_tst_64x8_64x16_4x1_v_bz_splitK_TNT"} {
				kernel(n, dur[k])
			}
		}
		kernel("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::ArgMaxOps<float>, unsigned int, long, 4, 4>>(P)", 1000)
		d := analyze(t, built.Trace(b), layer.Options{NumLayers: c.layers})
		got := false
		for _, e := range d.Evidence {
			got = got || strings.Contains(e.Detail, "scrambled")
		}
		if got != c.want {
			t.Errorf("%s: scrambled %t, want %t: %+v", c.name, got, c.want, d.Evidence)
		}
	}
}
