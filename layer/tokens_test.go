package layer_test

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// TestTokensWithoutAnnotations: with the annotations hidden, stage, batch and tokens of every pass of every real
// trace are what the annotation says, or unknown.
func TestTokensWithoutAnnotations(t *testing.T) {
	files, _ := filepath.Glob("../../shared/traces/torch/*")
	if len(files) == 0 {
		t.Skip("no reference traces")
	}
	// What must be known without them, by file.
	want := map[string]string{
		"sglang-qwen3-8b-extend-eager-mi300.json.gz":                 "unknown -1 15360 15360 grids",
		"sglang-qwen3-8b-decode-graph-mi300.json.gz":                 "decode -1 -1 -1 ",
		"sglang-qwen3-30b-a3b-mi300-TP-0-DECODE.trace.json.gz":       "decode -1 -1 -1 ",
		"sglang-r1-distill-llama-8b-mi300-TP-0-DECODE.trace.json.gz": "decode -1 -1 -1 ",
		"vllm-gptoss20b-decode-fullgraph-mi300.json.gz":              "decode -1 -1 -1 ",
	}
	checked := 0
	for _, f := range testdata.Spread(t, files) {
		tr, err := trace.Open(t.Context(), f, trace.Options{})
		if err != nil {
			continue
		}
		bare, err := trace.Open(t.Context(), f, trace.Options{Lanes: []event.Lane{event.LaneGPU, event.LaneLaunch,
			event.LaneOp, event.LanePython, event.LaneSync, event.LaneOther, event.LaneCounter}})
		if err != nil {
			t.Fatal(err)
		}
		a, err := layer.Analyze(t.Context(), tr, layer.Options{})
		if err != nil {
			continue
		}
		b, err := layer.Analyze(t.Context(), bare, layer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(f)
		for d := range b.Devices {
			for p := range b.Devices[d].Passes {
				fp := &b.Devices[d].Passes[p]
				got := fmt.Sprintf("%s %d %d %d %s", fp.Stage, fp.Batch, fp.Tokens, fp.Rows, fp.TokenEvidence)
				if w, ok := want[name]; ok && len(b.Devices[d].Passes) == 1 && got != w {
					t.Errorf("%s: %q, want %q", name, got, w)
				}
				own := same(&a.Devices[d], &b.Devices[d], p)
				if own == nil || own.Annotation == nil {
					continue
				}
				checked++
				st := own.Annotation
				if fp.Stage != layer.StageUnknown && st.Stage != layer.StageUnknown && fp.Stage != st.Stage ||
					fp.Batch >= 0 && st.Batch >= 0 && fp.Batch != st.Batch ||
					fp.Tokens >= 0 && st.Tokens >= 0 && fp.Tokens != st.Tokens {
					t.Errorf("%s pass %d: %s, annotated %s %d %d", name, p, got, st.Stage, st.Batch, st.Tokens)
				}
			}
		}
	}
	if checked < 6 {
		t.Errorf("%d passes with an annotation were compared, want 6 at least", checked)
	}
}

// same returns the pass of a that holds most kernels of pass p of b, another analysis of the same activities.
func same(a, b *layer.Device, p int) *layer.ForwardPass {
	counts := map[int]int{}
	for i := range b.NumKernels() {
		if b.Kernel(i).Place().Pass == p {
			counts[a.Kernel(i).Place().Pass]++
		}
	}
	best, most := trace.None, 0
	for q, n := range counts {
		if n > most || n == most && q > best {
			best, most = q, n
		}
	}
	if best == trace.None {
		return nil
	}
	return &a.Passes[best]
}

// eager is a model of six layers whose kernels are launched one by one, or replayed, with these grids for norm,
// rotation, cache write and activation.
type tokensCase struct {
	name                string
	norm, rope, kv, act int64
	attention           []string
	replay, experts     bool
	tokens, rows        int64
	stage               layer.Stage
}

// Each rule, on either side.
func TestTokensOfGrids(t *testing.T) {
	const one, any = "void paged_attention_v1_kernel<__nv_bfloat16>(P)", "void flash::flash_fwd_splitkv_kernel<T>(P)"
	for _, c := range []tokensCase{
		{"all agree", 117, 117, 117, 117, []string{any}, false, false, 117, 117, layer.StageUnknown},
		{"and decode", 117, 117, 117, 117, []string{one}, false, false, 117, 117, layer.StageDecode},
		{"decode beside a prompt", 117, 117, 117, 117, []string{one, any}, false, false, 117, 117, layer.StageUnknown},
		{"one token decodes", 1, 1, 1, 1, []string{any}, false, false, 1, 1, layer.StageDecode},
		{"two families", 117, 0, 117, 0, []string{any}, false, false, 117, 117, layer.StageUnknown},
		{"one family in all layers", 0, 0, 117, 0, []string{any}, false, false, 117, 117, layer.StageUnknown},
		{"one family of rows shows no tokens", 117, 0, 0, 0, []string{any}, false, false, -1, 117, layer.StageUnknown},
		{"padded rows beside the tokens that are written", 128, 128, 117, 128, []string{any}, false, false, 117, 128,
			layer.StageUnknown},
		{"rows of fewer than are written", 64, 64, 117, 64, []string{any}, false, false, -1, -1, layer.StageUnknown},
		{"families that differ", 128, 64, 128, 0, []string{any}, false, false, -1, -1, layer.StageUnknown},
		{"rows without a cache write", 128, 128, 0, 128, []string{any}, false, false, -1, 128, layer.StageUnknown},
		{"a graph runs the rows it was captured with", 128, 128, 128, 128, []string{one}, true, false, -1, 128,
			layer.StageDecode},
		{"and may write fewer", 128, 128, 117, 128, []string{one}, true, false, -1, 128, layer.StageDecode},
		{"experts' activations count pairs", 0, 0, 117, 936, []string{any}, false, true, 117, 117, layer.StageUnknown},
		{"and say nothing", 117, 0, 117, 936, []string{any}, false, true, 117, 117, layer.StageUnknown},
	} {
		d := analyze(t, c.build(), layer.Options{NumLayers: tokensLayers})
		if len(d.Passes) != 1 {
			t.Fatalf("%s: %d passes, want 1", c.name, len(d.Passes))
		}
		fp := &d.Passes[0]
		batch := -1
		if c.stage == layer.StageDecode && c.tokens > 0 {
			batch = int(c.tokens)
		}
		if fp.NumLayers != tokensLayers || fp.Tokens != c.tokens || fp.Rows != c.rows || fp.Stage != c.stage ||
			fp.Batch != batch {
			t.Errorf("%s: %d layers, %d tokens, %d rows, stage %s, batch %d; want %d, %d, %d, %s, %d", c.name,
				fp.NumLayers, fp.Tokens, fp.Rows, fp.Stage, fp.Batch,
				tokensLayers, c.tokens, c.rows, c.stage, batch)
		}
	}
}

const tokensLayers = 6

func (c *tokensCase) build() *trace.Trace {
	b := trace.NewBuilder(trace.Options{})
	c.add(b, 0, tokensLayers, "64x8_64x16_4x1")
	return built.Trace(b)
}

// add adds the n-th pass of a trace, of a model of so many layers whose first product runs so large tiles.
func (c *tokensCase) add(b *trace.Builder, n int64, layers int, tiles string) {
	at, corr := 1000+20_000*n, uint64(1+10_000*n)
	call := func(name string) {
		corr++
		b.Add(trace.EventData{Kind: event.Runtime, Name: name, Start: at, Duration: 5, Thread: 1, Correlation: corr,
			Device: trace.None, Stream: trace.None})
	}
	if c.replay {
		call("cudaGraphLaunch")
	}
	kernel := func(name string, grid int64) {
		if !c.replay {
			call("cudaLaunchKernel")
		}
		at += 20
		e := trace.EventData{Kind: event.Kernel, Name: name, Start: at, Duration: 10, Correlation: corr, Stream: 7}
		if grid > 0 {
			e.Shape = fmt.Sprintf("%d,1,1|256,1,1", grid)
		}
		b.Add(e)
	}
	kernel("void at::native::(anonymous namespace)::indexSelectSmallIndex<c10::BFloat16, long>(P)", 4)
	for range layers {
		kernel("void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*)", c.norm)
		kernel("nvjet_tst_"+tiles+"_v_bz_TNT", 132)
		kernel("void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long const*)", c.rope)
		kernel("void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, __nv_bfloat16>(P)", c.kv)
		for _, n := range c.attention {
			kernel(n, 132)
		}
		kernel("nvjet_tst_64x8_64x16_2x1_v_bz_TNT", 132)
		kernel("void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*)", c.norm)
		if c.experts {
			kernel("void vllm::moe::topkGatingSoftmax<4, 128, 4, 16, int>(P)", 4)
		}
		kernel("nvjet_tst_128x8_64x12_4x1_v_bz_TNT", 132)
		kernel("void vllm::act_and_mul_kernel<c10::BFloat16, &(c10::BFloat16 vllm::silu_kernel<c10::BFloat16>(c10::BFloat16 const&)), true>(P)", c.act)
		kernel("nvjet_tst_64x8_64x16_4x1_v_bz_splitK_TNT", 132)
	}
	kernel("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::ArgMaxOps<float>, unsigned int, long, 4, 4>>(P)", 1)
}

// TestStagesAreOfOneModel: that passes of one model decode a token each says nothing of those of another
// one of the trace, and all of those of the same model.
func TestStagesAreOfOneModel(t *testing.T) {
	const any = "void flash::flash_fwd_splitkv_kernel<T>(P)"
	one := tokensCase{norm: 1, rope: 1, kv: 1, act: 1, attention: []string{any}}
	many := tokensCase{norm: 117, rope: 117, kv: 117, act: 117, attention: []string{any}}
	for _, c := range []struct {
		layers int // of the model that runs many tokens
		tiles  string
		want   layer.Stage
	}{{tokensLayers, "64x8_64x16_4x1", layer.StagePrefill}, {10, "256x128_32x4_2x1", layer.StageUnknown}} {
		b := trace.NewBuilder(trace.Options{})
		for n := range int64(8) {
			if n < 4 {
				one.add(b, n, tokensLayers, "64x8_64x16_4x1")
			} else {
				many.add(b, n, c.layers, c.tiles)
			}
		}
		d := analyze(t, built.Trace(b), layer.Options{})
		if len(d.Passes) != 8 || len(d.Models) != 1+c.layers/10 {
			t.Fatalf("%d layers: %d passes of %d models", c.layers, len(d.Passes), len(d.Models))
		}
		for p := range d.Passes {
			fp := &d.Passes[p]
			if want := []layer.Stage{layer.StageDecode, c.want}[p/4]; fp.Stage != want {
				t.Errorf("%d layers, pass %d of model %d and %d tokens: %s, want %s", c.layers, p, fp.Model, fp.Tokens, fp.Stage,
					want)
			}
		}
	}
}

// TestStagesOfLaunches: where a model that writes a cache is replayed whole and launched one by one for far longer
// work, the stages are reported; on the other side of each condition they are not.
func TestStagesOfLaunches(t *testing.T) {
	const both, none = "prefill decode decode", "unknown unknown unknown"
	usual := launchCase{replayed: 1, eager: 1, times: 2, cache: true}
	with := func(edit func(*launchCase)) launchCase { c := usual; edit(&c); return c }
	for _, tt := range []struct {
		name string
		c    launchCase
		want string
	}{
		{"a prefill and two decodes", usual, both},
		{"not twice as long", with(func(c *launchCase) { c.times = 1.9 }), none},
		{"no cache is written", with(func(c *launchCase) { c.cache = false }), none},
		{"nine tenths replayed", with(func(c *launchCase) { c.replayed = 0.9 }), both},
		{"less", with(func(c *launchCase) { c.replayed = 0.85 }), none},
		{"a tenth of the prefill replayed", with(func(c *launchCase) { c.eager = 0.9 }), both},
		{"more", with(func(c *launchCase) { c.eager = 0.85 }), none},
	} {
		d := analyze(t, tt.c.build(), layer.Options{NumLayers: tokensLayers})
		var got []string
		for p := range d.Passes {
			fp := &d.Passes[p]
			got = append(got, string(fp.Stage))
			if (fp.StageEvidence == layer.StageByLaunches) != (fp.Stage != layer.StageUnknown) {
				t.Errorf("%s: stage %s by %q", tt.name, fp.Stage, fp.StageEvidence)
			}
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("%s: stages %q, want %q", tt.name, s, tt.want)
		}
	}
}

// launchCase is one pass launched one by one and two replays of a graph.
type launchCase struct {
	replayed float64 // share of the kernels of a replay that are in the graph
	eager    float64 // share of the kernels of the first pass that are launched one by one
	times    float64 // how much longer the first pass's kernels take
	cache    bool    // keys and values are written
}

func (c launchCase) build() *trace.Trace {
	b := trace.NewBuilder(trace.Options{})
	at, corr := int64(1000), uint64(1)
	call := func(name string) {
		corr++
		b.Add(trace.EventData{Kind: event.Runtime, Name: name, Start: at, Duration: 5, Thread: 1, Correlation: corr,
			Device: trace.None, Stream: trace.None})
	}
	layerNames := []string{"void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*)",
		"nvjet_tst_64x8_64x16_4x1_v_bz_TNT",
		"void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long const*)",
		"void flash::flash_fwd_splitkv_kernel<T>(P)", "nvjet_tst_64x8_64x16_2x1_v_bz_TNT",
		"void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*)", "nvjet_tst_128x8_64x12_4x1_v_bz_TNT",
		"void vllm::act_and_mul_kernel<c10::BFloat16, &(c10::BFloat16 vllm::silu_kernel<c10::BFloat16>(c10::BFloat16 const&)), true>(P)", "nvjet_tst_64x8_64x16_4x1_v_bz_splitK_TNT"}
	if c.cache {
		layerNames = slices.Insert(layerNames, 3, "void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, __nv_bfloat16>(P)")
	}
	names := []string{"void at::native::(anonymous namespace)::indexSelectSmallIndex<c10::BFloat16, long>(P)"}
	for range tokensLayers {
		names = append(names, layerNames...)
	}
	names = append(names, "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::ArgMaxOps<float>, unsigned int, long, 4, 4>>(P)")
	for pass := range 3 {
		share, long := c.replayed, 1000.0
		if pass == 0 {
			share, long = 1-c.eager, 1000*c.times
		}
		graphs := uint64(0)
		for i, name := range names {
			own := i >= int(math.Round(share*float64(len(names))))
			if own {
				call("cudaLaunchKernel")
			} else if graphs == 0 {
				call("cudaGraphLaunch")
				graphs = corr
			}
			of := corr
			if !own {
				of = graphs
			}
			b.Add(trace.EventData{Kind: event.Kernel, Name: name, Start: at, Duration: int64(long), Correlation: of,
				Stream: 7})
			at += int64(long) + 100
		}
		at += 200_000
	}
	return built.Trace(b)
}
