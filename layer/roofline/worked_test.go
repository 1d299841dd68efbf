package roofline_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/roofline"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// A decode of one token on four H100 whose time was reckoned through by hand: floor, what products take above it, small
// kernels, fills, communication, idle time. The trace holds no shapes; its tokens are in the annotation.
func TestWorkedExample(t *testing.T) {
	r, err := roofline.Analyze(context.Background(), llama70B(t, 0), roofline.Options{TP: 4})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Passes) != 5 || r.GPU == nil || r.GPU.ID != "h100-sxm-80" {
		t.Fatalf("%d passes on %v", len(r.Passes), r.GPUWhy)
	}
	want := map[string]float64{ // ms
		"floor: GEMMs (weights)": 10.373, "floor: attention (cache)": 0.026, "GEMMs above their floor": 2.756,
		"attention above its floor": 1.002,
		"small kernels":             1.301, "communication: transfer": 0.589,
		"communication: waiting for other ranks":            0.097,
		"communication: transfer and waiting not separated": 0.016, "copies and fills": 0.224, "other, outside layers": 0.065,
		"GPU idle inside the pass": 1.324, "GPU idle up to the next pass": 1.100,
	}
	p := &r.Passes[1]
	for _, s := range p.Waterfall {
		if w, ok := want[s.Name]; ok && math.Abs(s.Time.Seconds()*1e3-w) > 0.0015 || !ok && s.Time != 0 {
			t.Errorf("%s: %v, want %.3f ms", s.Name, s.Time, w)
		}
		delete(want, s.Name)
		if s.Name == "GEMMs above their floor" &&
			s.Note != "qkv_proj 62%, o_proj 58%, down_proj 83%, 2 more" {
			t.Errorf("shares of the peak: %s", s.Note)
		}
		if s.Name == "copies and fills" && !strings.Contains(s.Note, "2 per layer") {
			t.Errorf("fills: %s", s.Note)
		}
	}
	for name := range want {
		t.Errorf("no row %s", name)
	}
	busy := p.Wall - 1100*time.Microsecond
	if math.Abs(busy.Seconds()*1e3-17.774) > 0.0015 || math.Abs(100*float64(p.Floor)/float64(busy)-58.5) > 0.05 {
		t.Errorf("floor %v of %v, want 58.5%% of 17.774 ms", p.Floor, busy)
	}
}

func ExampleAnalyze() {
	ctx := context.Background()
	var recorded bytes.Buffer // a trace of Llama-3.3-70B, rank 0 of four H100
	if _, err := gen.Llama70B(0).Write(&recorded); err != nil {
		log.Fatal(err)
	}
	t, err := trace.Read(ctx, &recorded, trace.Options{})
	if err != nil {
		log.Fatal(err)
	}
	c, err := profile.ParseConfig(strings.NewReader(llama))
	if err != nil {
		log.Fatal(err)
	}
	a, err := layer.Analyze(ctx, t, layer.Options{Config: c})
	if err != nil {
		log.Fatal(err)
	}
	r, err := roofline.Analyze(ctx, a, roofline.Options{TP: 4})
	if err != nil {
		log.Fatal(err)
	}
	p := &r.Passes[r.Steady]
	fmt.Printf("%s took %v, on %s at least %v\n", p.Stage, p.Wall.Round(time.Microsecond), r.GPU.ID,
		p.Floor.Round(time.Microsecond))
	for _, i := range r.Recoverable[:2] {
		fmt.Println(i.What, i.Time.Round(time.Microsecond))
	}
	// Output:
	// decode took 18.875ms, on h100-sxm-80 at least 10.399ms
	// GEMMs above their floor 2.756ms
	// GPU idle inside the pass 1.325ms
}

// A GPU that nobody knows has work and no floors; the waterfall still adds up.
func TestUnknownGPU(t *testing.T) {
	a := generated(t, llama, func(w *bytes.Buffer) error {
		var b bytes.Buffer
		if _, err := gen.Llama70B(0).Write(&b); err != nil {
			return err
		}
		_, err := w.WriteString(strings.ReplaceAll(b.String(), "NVIDIA H100 80GB HBM3", "NVIDIA X900"))
		return err
	})
	r, err := roofline.Analyze(context.Background(), a, roofline.Options{TP: 4})
	if err != nil {
		t.Fatal(err)
	}
	if r.GPU != nil || !strings.Contains(r.GPUWhy, "NVIDIA X900") {
		t.Errorf("GPU %v, %q", r.GPU, r.GPUWhy)
	}
	row := find(t, r, "gate_up_proj")
	if row.GFLOP == 0 || row.N != 14336 || row.Floor != 0 || row.PeakShare != 0 {
		t.Errorf("gate_up_proj: %+v, want its work and no floor", row)
	}
	var sum time.Duration
	for _, s := range r.Passes[0].Waterfall {
		sum += s.Time
		if (s.Kind == roofline.Floor) != strings.HasPrefix(s.Name, "floor") ||
			(s.Kind == roofline.Above) != strings.Contains(s.Name, "above") ||
			(s.Kind == roofline.Idle) != strings.HasPrefix(s.Name, "GPU idle") ||
			(s.Kind == roofline.Communication) != strings.HasPrefix(s.Name, "communication") {
			t.Errorf("%s is of kind %d", s.Name, s.Kind)
		}
		if strings.HasPrefix(s.Name, "floor") {
			t.Errorf("%s: %v", s.Name, s.Time)
		}
	}
	if sum != r.Passes[0].Wall || r.Passes[0].Floor != 0 {
		t.Errorf("the waterfall adds up to %v of %v, floor %v", sum, r.Passes[0].Wall, r.Passes[0].Floor)
	}
}

// served70B is a run as vLLM's default path records it without annotations: pieces of a layer are replayed, a compiler
// fused the norms, and only the cache write, which is launched in each layer, has a block a token: 1,049 in the first
// pass, one in each other. The times are those of the worked example.
func served70B(t *testing.T) *layer.Analysis {
	t.Helper()
	b := trace.NewBuilder(trace.Options{})
	b.Meta = trace.Meta{Rank: 0, WorldSize: 4, Distributed: []byte(`{"backend": "nccl", "rank": 0, "world_size": 4,
		"pg_config": [{"pg_name": "0", "pg_desc": "default_pg", "pg_size": 4, "ranks": [0, 1, 2, 3]},
			{"pg_name": "1", "pg_desc": "undefined", "pg_size": 4, "ranks": [0, 1, 2, 3]},
			{"pg_name": "2", "pg_desc": "undefined", "pg_size": 1, "ranks": [0]}]}`), Devices: []trace.GPU{{ID: 0, Name: "NVIDIA H100 80GB HBM3",
		MemoryBytes: 85_000_000_000, SMs: 132, ComputeMajor: 9, WarpSize: 32}}}
	at, corr := int64(1_000_000), uint64(1)
	call := func(name string) {
		corr++
		b.Add(trace.EventData{Kind: event.Runtime, Name: name, Start: at - 500, Duration: 300, Thread: 1,
			Correlation: corr, Device: trace.None, Stream: trace.None})
	}
	kernel := func(name string, dur int64, grid int64) {
		e := trace.EventData{Kind: event.Kernel, Name: name, Start: at, Duration: dur, Correlation: corr, Stream: 7}
		if grid > 0 {
			e.Shape = fmt.Sprintf("%d,1,1|256,1,1", grid)
		}
		b.Add(e)
		at += dur + 800
	}
	const reduce = "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 4>(vllm::RankData*, vllm::RankSignals, vllm::Signal*, __nv_bfloat16*, int, int)"
	for pass := range 6 {
		tokens, longer := int64(1), int64(1)
		if pass == 0 {
			tokens, longer = 1049, 6
		}
		call("cudaLaunchKernel")
		kernel("void at::native::(anonymous namespace)::indexSelectSmallIndex<c10::BFloat16, long>(P)", 2600*longer, 4)
		for range 80 {
			call("cudaGraphLaunch")
			kernel("triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_0", 2500*longer, 0)
			kernel("nvjet_tst_64x8_64x16_4x1_v_bz_TNT", 20_000*longer, 40)
			kernel("triton_poi_fused_cat_3", 2100*longer, 0)
			call("cudaLaunchKernel")
			kernel("void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, __nv_bfloat16>(P)", 2400*longer, tokens)
			call("cudaLaunchKernel")
			kernel("void flash::flash_fwd_splitkv_kernel<T>(P)", 9000*longer, 132)
			call("cudaGraphLaunch")
			kernel("nvjet_tst_64x8_64x16_2x1_v_bz_TNT", 17_000*longer, 64)
			kernel(reduce, 4300*longer, 8)
			kernel("triton_red_fused_add_mean_mul_pow_rsqrt_1", 2500*longer, 0)
			kernel("nvjet_tst_128x8_64x12_4x1_v_bz_TNT", 82_000*longer, 112)
			kernel("triton_poi_fused_mul_silu_2", 2300*longer, 0)
			kernel("nvjet_tst_64x8_64x16_4x1_v_bz_splitK_TNT", 43_000*longer, 64)
			kernel(reduce, 4300*longer, 8)
		}
		call("cudaLaunchKernel")
		kernel("triton_red_fused_add_mean_mul_pow_rsqrt_4", 2500*longer, 0)
		call("cudaLaunchKernel")
		kernel("nvjet_tst_128x64_64x8_1x2_h_bz_TNN", 180_000, 501)
		call("cudaLaunchKernel")
		kernel("ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", 15_000, 4)
		call("cudaLaunchKernel")
		kernel("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::ArgMaxOps<float>, unsigned int, long, 4, 4>>(P)", 52_000, 1)
		at += 800_000
	}
	c, err := profile.ParseConfig(strings.NewReader(llama))
	if err != nil {
		t.Fatal(err)
	}
	tr, err := b.Finish(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	a, err := layer.Analyze(context.Background(), tr, layer.Options{Config: c})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestTokensOfOneFamily: each pass has its own tokens, its stage and its floor, though nothing annotates them and one
// family of kernels alone shows them, and its process groups alone say over how many GPUs it is divided. The cache
// grows by one a step. The floors of a pass's rows, which export prints, add up to that of the pass.
func TestTokensOfOneFamily(t *testing.T) {
	a := served70B(t)
	r, err := roofline.Analyze(context.Background(), a, roofline.Options{Kernels: true}) // no sizes given
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Passes) != 6 {
		t.Fatalf("%d passes, want 6", len(r.Passes))
	}
	byRow := make([]time.Duration, len(r.Passes)) // of the products, as export has them
	for k := range a.Devices[0].Kernels() {
		if c, ok := r.Cost(k); ok && c.K > 0 {
			byRow[k.Place().Pass] += c.Floor
		}
	}
	for i, p := range r.Passes {
		tokens, stage := int64(1), layer.StageDecode
		if i == 0 {
			tokens, stage = 1049, layer.StagePrefill
		}
		if p.Tokens != tokens || p.Stage != stage || p.Basis != roofline.BasisGrids || p.AtLeast {
			t.Errorf("pass %d: %d tokens, %s, by %s; want %d, %s, by grids", i, p.Tokens, p.Stage, p.Basis, tokens,
				stage)
		}
		products := time.Duration(0)
		for _, s := range p.Waterfall {
			if s.Name == "floor: GEMMs (weights)" {
				products = s.Time
			}
		}
		if ms := products.Seconds() * 1e3; i > 0 && math.Abs(ms-10.373) > 0.02 {
			t.Errorf("pass %d: products %.3f ms, want 10.373", i, ms)
		}
		if ms := byRow[i].Seconds() * 1e3; i > 0 && math.Abs(ms-10.373) > 0.02 {
			t.Errorf("pass %d: the rows' floors of products add up to %.3f ms, want 10.373", i, ms)
		}
		if ms := p.Floor.Seconds() * 1e3; i > 0 && math.Abs(ms-10.373-0.026) > 0.02 {
			t.Errorf("pass %d: floor %.3f ms, want 10.37 and 0.026 of cache", i, ms)
		}
	}
}
