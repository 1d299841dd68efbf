package layer_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand"
	"sort"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/internal/gen/families"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// An act is a GPU activity to be written, with what is true of it.
type act struct {
	name, cat   string
	start, dur  int64 // ns
	stream      int
	pass, layer int
	launch      int // launch call; activities of one graph share it; −1: not recorded
	graph       bool
}

// written reads the activities back from a trace document.
func written(t testing.TB, acts []act) *trace.Trace {
	t.Helper()
	us := func(ns int64) json.Number { return json.Number(fmt.Sprintf("%d.%03d", ns/1000, ns%1000)) }
	var events []map[string]any
	seen := map[int]bool{}
	for _, x := range acts {
		args := map[string]any{"device": 0, "stream": x.stream}
		if x.launch >= 0 {
			args["correlation"] = x.launch + 1
			if !seen[x.launch] {
				seen[x.launch] = true
				name := "cudaLaunchKernel"
				if x.graph {
					name = "cudaGraphLaunch"
				}
				events = append(events, map[string]any{"ph": "X", "cat": "cuda_runtime", "name": name, "pid": 1,
					"tid": 1,
					"ts":  us(500_000_000 + int64(x.launch)*3000), "dur": us(2000),
					"args": map[string]any{"correlation": x.launch + 1}})
			}
			if x.graph {
				args["graph node id"] = len(events)
			}
		}
		events = append(events, map[string]any{"ph": "X", "cat": x.cat, "name": x.name, "pid": 0, "tid": x.stream,
			"ts": us(x.start), "dur": us(x.dur), "args": args})
	}
	data, err := json.Marshal(map[string]any{"traceEvents": events})
	if err != nil {
		t.Fatal(err)
	}
	tr, err := trace.Read(t.Context(), bytes.NewReader(data), trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// fromGen makes acts of the generator's truth; eager kernels get a launch each, graphs one.
func fromGen(t testing.TB, cfg gen.Config) []act {
	t.Helper()
	truths, err := gen.Truths(cfg)
	if err != nil {
		t.Fatal(err)
	}
	sort.SliceStable(truths, func(a, b int) bool { return truths[a].Start < truths[b].Start })
	var out []act
	launch := -1
	prevPass, prevGraph := -9, false
	for _, tr := range truths {
		cat := map[string]string{"kernel": "kernel", "memcpy": "gpu_memcpy", "memset": "gpu_memset"}[tr.Kind]
		if !(tr.Graph && prevGraph && tr.Pass == prevPass) {
			launch++
		}
		prevPass, prevGraph = tr.Pass, tr.Graph
		out = append(out, act{tr.Name, cat, tr.Start, tr.Duration, tr.Stream, tr.Pass, tr.Layer, launch, tr.Graph})
	}
	return out
}

// concat puts windows one after another.
func concat(lists ...[]act) []act {
	var out []act
	now, pass, launch := int64(1_000_000_000), 0, 0
	for _, l := range lists {
		if len(l) == 0 {
			continue
		}
		shift := now + 100_000 - l[0].start
		maxPass, maxLaunch := 0, 0
		for _, x := range l {
			x.start += shift
			now = max(now, x.start+x.dur)
			maxPass = max(maxPass, x.pass+1)
			maxLaunch = max(maxLaunch, x.launch+1)
			if x.pass >= 0 {
				x.pass += pass
			}
			if x.launch >= 0 {
				x.launch += launch
			}
			out = append(out, x)
		}
		pass += maxPass
		launch += maxLaunch
	}
	return out
}

// rate is the share of activities whose layer, and in a layer whose pass, is right.
func rate(a *layer.Device, acts []act) (share float64, wrong []string, passes int) {
	sorted := append([]act(nil), acts...)
	sort.SliceStable(sorted, func(a, b int) bool { return sorted[a].start < sorted[b].start })
	right := 0
	// passes are compared up to numbering of unseen ones: order of first appearance
	ids := map[int]int{}
	for _, x := range sorted {
		if x.pass >= 0 {
			if _, ok := ids[x.pass]; !ok {
				ids[x.pass] = len(ids)
			}
		}
	}
	for kernel := range a.Kernels() {
		i, k := kernel.Index(), kernel.Place()
		w := sorted[i]
		if a.Kernel(i).Event().Name() != w.name {
			wrong = append(wrong, "order differs")
			break
		}
		p := trace.None
		if w.pass >= 0 {
			p = ids[w.pass]
		}
		// outside layers the pass is open without marks
		ok := k.Layer == w.layer && (w.layer == trace.None || k.Pass == p)
		if ok {
			right++
		} else if len(wrong) < 4 {
			wrong = append(wrong, fmt.Sprintf("   kernel %d %.50s: pass %d layer %d, want %d %d", i, w.name, k.Pass,
				k.Layer, p, w.layer))
		}
	}
	return float64(right) / float64(a.NumKernels()), wrong, len(ids)
}

// check analyses the activities with and without a known N.
func check(t *testing.T, y *tally, name string, acts []act, n int, least float64) {
	t.Helper()
	tr := written(t, acts)
	for _, n := range []int{n, 0} {
		an, err := layer.Analyze(t.Context(), tr, layer.Options{NumLayers: n})
		if err != nil {
			t.Errorf("%s, n=%d: %v", name, n, err)
			continue
		}
		a := &an.Devices[0]
		share, wrong, passes := rate(a, acts)
		y.add(share)
		if share < least || len(a.Passes) != passes {
			t.Errorf("%s, n=%d: %.2f%% right, N=%d, %d passes, want %d\n%s", name, n, 100*share, a.NumLayers,
				len(a.Passes), passes, strings.Join(wrong, "\n"))
		}
	}
}

// realActs reads a real trace's kernels with the layers the frames, or the repeats with known N, give.
func realActs(t testing.TB, name string, n int) []act {
	return actsOfDevice(analyze(t, open(t, name), layer.Options{NumLayers: n}))
}

// actsOfDevice reads the kernels of a device with the passes and layers that were found.
func actsOfDevice(a *layer.Device) []act {
	var out []act
	ids := map[trace.EventID]int{}
	type ev struct {
		at trace.Time
		id trace.EventID
	}
	var launches []ev
	for i := range a.NumKernels() {
		if l := a.Kernel(i).Event().Launch(); l.Valid() {
			if _, ok := ids[l.ID()]; !ok {
				ids[l.ID()] = 0
				launches = append(launches, ev{l.Start(), l.ID()})
			}
		}
	}
	sort.Slice(launches, func(a, b int) bool { return launches[a].at < launches[b].at })
	for k, l := range launches {
		ids[l.id] = k
	}
	for kernel := range a.Kernels() {
		i, k := kernel.Index(), kernel.Place()
		e := a.Kernel(i).Event()
		x := act{name: e.Name(), cat: "kernel", start: int64(e.Start()), dur: int64(e.Duration()),
			stream: int(e.Stream()), pass: k.Pass, layer: k.Layer, launch: -1, graph: kernel.Event().IsReplay()}
		switch e.Kind() {
		case event.Memcpy:
			x.cat = "gpu_memcpy"
		case event.Memset:
			x.cat = "gpu_memset"
		}
		if l := e.Launch(); l.Valid() {
			x.launch = ids[l.ID()]
		}
		out = append(out, x)
	}
	return out
}

// TestWindowsOfRealTraces: real passes one after the other, without frames and annotations, cut at arbitrary
// kernels, with some or all launches missing. That the layers of the passes themselves are right is tested elsewhere.
func TestWindowsOfRealTraces(t *testing.T) {
	var y tally
	defer y.log(t)
	prefill := realActs(t, "sglang-qwen3-8b-extend-eager-mi300.json.gz", 36)
	decode := realActs(t, "sglang-qwen3-8b-decode-graph-mi300.json.gz", 36)
	four := concat(prefill, decode, decode, prefill)
	check(t, &y, "prefill decode decode prefill", four, 36, 1)
	check(t, &y, "launches missing", orphaned(four, 0.5), 36, 1)
	check(t, &y, "GPU alone", orphaned(four, 1), 36, 0.998) // kernels of a second stream are where they begin
	for k, at := range []int{50, 300, 535, 700, 900} {
		if !testdata.Long() && k%2 == 0 {
			continue
		}
		check(t, &y, fmt.Sprintf("without the first %d", at), four[at:], 36, 0.99)
		check(t, &y, fmt.Sprintf("without the last %d", at), four[:len(four)-at], 36, 0.99)
	}
	for i, c := range []struct {
		name string
		n    int
	}{{"sglang-qwen3-30b-a3b-b300-TP-0-DECODE.trace.json.gz", 48},
		{"sglang-qwen3-30b-a3b-mi300-TP-0-DECODE.trace.json.gz", 48},
		{"vllm-gptoss20b-decode-fullgraph-mi300.json.gz", 24}, {"vllm-gptoss20b-mixed-piecewise-mi300.json.gz", 24}} {
		if !testdata.Long() && i%2 == 1 {
			continue
		}
		one := realActs(t, c.name, c.n)
		two := concat(one, one)
		check(t, &y, c.name+" cut in front", two[len(one)/3:], c.n, 0.99)
		// side streams of a decode step run into the next one
		check(t, &y, c.name+" cut at the end", two[:len(two)-len(one)/3], c.n, 0.97)
		check(t, &y, c.name+" with stray activities", noisy(two, 3), c.n, 0.99)
		check(t, &y, c.name+" launches missing", orphaned(two, 0.3), c.n, 0.99)
	}
}

// noisy puts extra kernels at random places: pct of a hundred.
func noisy(l []act, pct int) []act {
	r := rand.New(rand.NewSource(1))
	var out []act
	names := []string{"Memcpy DtoD (Device -> Device)", "Memset (Device)",
		"void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<long>, std::array<char*, 1ul>>(int)",
		"void at::native::elementwise_kernel<128, 4>(int)"}
	launch := 0
	remap := map[int]int{}
	for _, x := range l {
		if r.Intn(100) < pct && !x.graph {
			k := r.Intn(len(names))
			y := x
			y.name, y.dur, y.cat = names[k], 1, []string{"gpu_memcpy", "gpu_memset", "kernel", "kernel"}[k]
			y.start = x.start - 1
			y.launch = launch
			launch++
			out = append(out, y)
		}
		if x.launch >= 0 {
			if _, ok := remap[x.launch]; !ok {
				remap[x.launch] = launch
				launch++
			}
			x.launch = remap[x.launch]
		}
		out = append(out, x)
	}
	return out
}

// TestWindowsOfGeneratedTraces: the same with stacks of the generator. Where fewer layers than eight remain, halves
// of layers are as many as layers.
func TestWindowsOfGeneratedTraces(t *testing.T) {
	var y tally
	defer y.log(t)
	for si, s := range shapes {
		if len(s.arch.Layers) <= 8 {
			continue
		}
		for ri, run := range runs[:2] {
			acts := fromGen(t, gen.Config{Seed: 7, Arch: s.arch, Passes: run.passes, TP: 1 + si%2})
			per := len(acts) / len(run.passes)
			for k, percent := range []int{10, 40} {
				if chosen(si, ri, k) {
					check(t, &y, fmt.Sprintf("%s, %s, %d%% of a pass cut in front", s.name, run.name, percent),
						acts[per*percent/100:], len(s.arch.Layers), 1)
					check(t, &y, fmt.Sprintf("%s, %s, %d%% of a pass cut at the end", s.name, run.name, percent),
						acts[:len(acts)-per*percent/100], len(s.arch.Layers), 1)
				}
			}
			if chosen(si, ri, 2) {
				check(t, &y, fmt.Sprintf("%s, %s, stray activities", s.name, run.name), noisy(acts, 3),
					len(s.arch.Layers), 0.998)
				check(t, &y, fmt.Sprintf("%s, %s, launches missing", s.name, run.name), orphaned(acts, 0.3),
					len(s.arch.Layers), 0.98)
			}
		}
	}
}

// orphaned takes the launches of a share of the activities away.
func orphaned(l []act, share float64) []act {
	r := rand.New(rand.NewSource(1))
	out := append([]act(nil), l...)
	for i := range out {
		if r.Float64() < share {
			out[i].launch, out[i].graph = -1, false
		}
	}
	return out
}

// laid writes kernel names in one stream: items of "name" with layers by "|" markers. parts: prologue, layers,
// epilogue.
func laid(prologue string, layers []string, epilogue string) []act {
	var out []act
	now, launch := int64(1_000_000_000), 0
	add := func(names string, l int) {
		for _, n := range strings.Fields(names) {
			cat := "kernel"
			if strings.HasPrefix(n, "Memcpy") {
				cat = "gpu_memcpy"
			}
			out = append(out, act{name: n, cat: cat, start: now, dur: 4000, stream: 7, pass: 0, layer: l,
				launch: launch})
			launch++
			now += 5000
		}
	}
	add(prologue, -1)
	for l, x := range layers {
		add(x, l)
	}
	add(epilogue, -1)
	return out
}

// rep returns n layers of the same kernels.
func rep(n int, s string) []string {
	var out []string
	for range n {
		out = append(out, s)
	}
	return out
}

// join puts stacks one after another.
func join(ls ...[]string) []string {
	var out []string
	for _, l := range ls {
		out = append(out, l...)
	}
	return out
}

// replayed makes a graph of every pass.
func replayed(l []act) []act {
	out := append([]act(nil), l...)
	for i := range out {
		out[i].graph, out[i].launch = true, out[i].pass
	}
	return out
}

// TestStacksOfNames: kinds of models by the names and order of their kernels, one pass, several, as graphs, and
// without launches.
func TestStacksOfNames(t *testing.T) {
	var y tally
	defer y.log(t)
	three := func(name string, l []act, n int) {
		if !testdata.Long() {
			check(t, &y, name+", GPU alone", orphaned(concat(l, l, l), 1), n, 1)
			return
		}
		check(t, &y, name+", one pass", l, n, 1)
		check(t, &y, name+", three passes", concat(l, l, l), n, 1)
		check(t, &y, name+", graphs", replayed(concat(l, l, l)), n, 1)
		check(t, &y, name+", GPU alone", orphaned(concat(l, l, l), 1), n, 1)
	}
	// autotuned GEMM names by layer
	r := rand.New(rand.NewSource(3))
	var auto []string
	for i := range 40 {
		tile := func() int { return 1 << (5 + r.Intn(4)) }
		ar := ""
		if i%2 == 0 {
			ar = " ncclDevKernel_AllReduce_Sum_bf16_RING_LL"
		}
		auto = append(auto, fmt.Sprintf("rms_norm_kernel sm90_xmma_gemm_bf16_tilesize%dx%dx64 rotary_kernel flash_fwd_kernel cutlass_gemm_%dx%d_tn%s fused_add_rms_norm_kernel triton_mm_%d silu_and_mul_kernel triton_mm_%d%s", tile(), tile(), tile(), tile(), ar, r.Intn(9), r.Intn(9), ar))
	}
	three("autotuned + allreduce on/off", laid("embedding_kernel", auto,
		"rms_norm_kernel cutlass_gemm_256x128_tn argmax_kernel"), 40)
	dense := "fused_add_rms_norm_kernel nvjet_qkv rotary_kernel reshape_and_cache_kernel flash_fwd_kernel nvjet_o fused_add_rms_norm_kernel nvjet_gate silu_and_mul nvjet_down"
	moe := "fused_add_rms_norm_kernel nvjet_qkv rotary_kernel reshape_and_cache_kernel flash_fwd_kernel nvjet_o fused_add_rms_norm_kernel router_gemm topkGatingSoftmax moe_align_block_size_kernel fused_moe_kernel silu_and_mul fused_moe_kernel moe_sum_kernel"
	three("dense every 2nd", laid("embedding_kernel",
		join(rep(1, dense+" "+""), rep(1, moe), rep(1, dense), rep(1, moe), rep(1, dense), rep(1, moe), rep(1, dense),
			rep(1, moe), rep(1, dense), rep(1, moe), rep(1, dense), rep(1, moe)),
		"fused_add_rms_norm_kernel nvjet_lm argmax_kernel"), 12)
	lin := "fused_add_rms_norm_kernel nvjet_qkvz causal_conv1d_update fused_gdn_gating chunk_gated_delta_rule_fwd gated_norm_kernel nvjet_o fused_add_rms_norm_kernel router_gemm topkGatingSoftmax fused_moe_kernel silu_and_mul fused_moe_kernel moe_sum_kernel"
	full := "fused_add_rms_norm_kernel nvjet_qkv rms_norm_kernel rms_norm_kernel rotary_kernel reshape_and_cache_kernel flash_fwd_kernel sigmoid_mul_kernel nvjet_o fused_add_rms_norm_kernel router_gemm topkGatingSoftmax fused_moe_kernel silu_and_mul fused_moe_kernel moe_sum_kernel"
	var hy []string
	for i := range 48 {
		if i%4 == 3 {
			hy = append(hy, full)
		} else {
			hy = append(hy, lin)
		}
	}
	three("hybrid 3:1 gated delta", laid("embedding_kernel", hy, "fused_add_rms_norm_kernel nvjet_lm argmax_kernel"),
		48)
	slide := strings.ReplaceAll(dense, "flash_fwd_kernel", "flash_fwd_sliding_kernel")
	var sl []string
	for i := range 34 {
		if i%6 == 5 {
			sl = append(sl, dense)
		} else {
			sl = append(sl, slide)
		}
	}
	three("sliding 5:1", laid("embedding_kernel", sl, "fused_add_rms_norm_kernel nvjet_lm argmax_kernel"), 34)
	three("leading dense 3 of 27", laid("embedding_kernel", join(rep(3, dense), rep(24, moe)),
		"fused_add_rms_norm_kernel nvjet_lm argmax_kernel"), 27)
	for _, n := range []int{2, 3, 4} {
		three(fmt.Sprintf("few layers %d", n), laid("embedding_kernel", rep(n, dense),
			"fused_add_rms_norm_kernel nvjet_lm argmax_kernel"), n)
		three(fmt.Sprintf("few layers moe %d", n), laid("embedding_kernel", rep(n, moe),
			"fused_add_rms_norm_kernel nvjet_lm argmax_kernel"), n)
	}
	trt := "void_tensorrt_llm::kernels::generalRmsNorm<half> sm90_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize128x128x64 void_tensorrt_llm::kernels::applyBiasRopeUpdateKVCacheV2<half> masked_multihead_attention_kernel<half,128> void_cutlass::Kernel<gemm_o> void_tensorrt_llm::kernels::userbuffers::allreduce_fusion_kernel nvjet_hsh_128x8 void_tensorrt_llm::kernels::doActivationKernel nvjet_hsh_64x8 void_tensorrt_llm::kernels::userbuffers::allreduce_fusion_kernel"
	three("trtllm", laid("void_tensorrt_llm::kernels::lookup_kernel", rep(32, trt),
		"void_tensorrt_llm::kernels::generalRmsNorm<half> nvjet_logits void_tensorrt_llm::kernels::topKStage1 void_tensorrt_llm::kernels::topKStage2Sampling"), 32)
	myelin := "__myl_MulMeaAddSqrDivMulCasMul_myl0_3 sm90_gemm_qkv _gemm_mha_v2_0x7a sm90_gemm_o __myl_AddCasMulMea_myl0_5 sm90_gemm_gate __myl_SiluMul_0x9 sm90_gemm_down"
	three("myelin", laid("__myl_Gather_0", rep(24, myelin), "__myl_final_1 sm90_gemm_logits __myl_topk"), 24)
	// encoder + decoder, numbered by decoder only
	enc := "layer_norm_kernel gemm_qkv flash_fwd_kernel gemm_o elementwise_add layer_norm_kernel gemm_fc1 gelu_kernel gemm_fc2 elementwise_add"
	dec := "layer_norm_kernel gemm_qkv flash_fwd_splitkv_kernel gemm_o elementwise_add layer_norm_kernel gemm_q flash_fwd_kernel gemm_o2 elementwise_add layer_norm_kernel gemm_fc1 gelu_kernel gemm_fc2 elementwise_add"
	e := laid("conv1d_kernel gelu_kernel conv1d_kernel gelu_kernel elementwise_add", rep(12, enc), "layer_norm_kernel")
	d := laid("embedding_kernel elementwise_add", rep(12, dec), "layer_norm_kernel gemm_logits argmax_kernel")
	check(t, &y, "encoder decoder (enc layers counted)", concat(e, d, d, d), 12, 1)
	// a vision tower and the language model after it, without a pause
	vis := "layer_norm_kernel gemm_qkv rotary_vision_kernel flash_fwd_vision gemm_proj elementwise_add layer_norm_kernel gemm_fc1 gelu_kernel gemm_fc2 elementwise_add"
	v := laid("conv3d_patch_embed", rep(32, vis), "layer_norm_kernel gemm_merge gelu_kernel gemm_merge2")
	last := v[len(v)-1]
	for _, x := range laid("embedding_kernel masked_scatter_kernel", rep(28, dense),
		"fused_add_rms_norm_kernel nvjet_lm argmax_kernel") {
		x.start, x.pass, x.launch = x.start+last.start+5000-1_000_000_000, 1, x.launch+last.launch+1
		v = append(v, x)
	}
	l := laid("embedding_kernel", rep(28, dense), "fused_add_rms_norm_kernel nvjet_lm argmax_kernel")
	check(t, &y, "vision 32 + 28 then decodes", concat(v, l, l, l), 28, 1)
	// two models
	target, draft := laid("embedding_kernel", rep(32, dense), "fused_add_rms_norm_kernel nvjet_lm argmax_kernel"),
		laid("embedding_kernel", rep(4, dense), "fused_add_rms_norm_kernel nvjet_lm argmax_kernel")
	check(t, &y, "draft 4 + target 32", concat(draft, draft, target, draft, draft, target, draft, draft, target), 32, 1)
	check(t, &y, "draft 4 + target 32 graph", replayed(concat(draft, draft, target, draft, draft, target, draft, draft,
		target)), 32, 1)
}

// TestStartsAreNoPass: what a program runs once before its first pass, as initial weights, is outside the passes,
// however much it is, and each kernel after it is where it is without it, but one in two hundred, also where the window
// ends within a pass. The passes of one family are found by a comb of anchors, which takes a start of more than a pass
// for the beginning of the first.
func TestStartsAreNoPass(t *testing.T) {
	const name = "void at::native::(anonymous namespace)::distribution_elementwise_grid_stride_kernel<float>"
	for k, f := range families.Field() {
		if !testdata.Long() && k%4 != 0 {
			continue
		}
		whole := actsOf(f, false, false, false, false)
		for _, cut := range []float64{0, 0.4} { // of a pass
			passes := whole[:len(whole)-int(cut*float64(len(whole)/4))]
			want := analyze(t, traceOf(concat(passes)), layer.Options{})
			for _, share := range []float64{0.5, 1.5, 4} { // of a pass
				var start []act
				for i := range int(share * float64(len(whole)/4)) {
					start = append(start, act{name: name, start: int64(i) * 5000, dur: 3000, launch: i, pass: -1, layer: -1})
				}
				got := analyze(t, traceOf(concat(start, passes)), layer.Options{})
				if share > 1 && strings.Contains(got.Evidence[0].Detail, "comb") {
					continue
				}
				off := 0
				for k := range got.Kernels() {
					pass, at := trace.None, trace.None
					if i := k.Index() - len(start); i >= 0 {
						pass, at = want.Kernel(i).Place().Pass, want.Kernel(i).Place().Layer
					}
					if k.Place().Pass != pass || k.Place().Layer != at {
						off++
					}
				}
				if 200*off > got.NumKernels() || len(got.Passes) != len(want.Passes) {
					t.Errorf("%s, %v of a pass cut: %v of a pass before: %d of %d kernels are elsewhere, %d passes instead of %d",
						f.Name, cut, share, off, got.NumKernels(), len(got.Passes), len(want.Passes))
				}
			}
		}
	}
}
