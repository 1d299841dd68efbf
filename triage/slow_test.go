package triage_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer/roofline"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/triage"
)

// TestSlowProducts: BERT's vocabulary of 30522 is no multiple of 8, so its head runs at alignment 2; split products
// of SGLang's decode steps have their reduction apart; ViT has neither.
func TestSlowProducts(t *testing.T) {
	for name, want := range map[string]string{
		"hf-bert-small-eager-h100":                    "alignment 2: N (30522) is no multiple of 8",
		"sglang-qwen3-30b-a3b-b300-TP-0-DECODE.trace": "split-K reduction",
		"hf-vit-nsfw-eager-h100":                      "",
	} {
		r := analyze(t, "traces/torch/"+name+".json.gz", "", triage.Options{})
		var got []string
		for _, row := range r.Stages[0].Slow {
			got = append(got, row.Reason)
			if row.Do == "" || row.SharePct < 1 || row.Launches == 0 || row.GPUTimeNS <= 0 {
				t.Errorf("%s: %+v", name, row)
			}
		}
		if want == "" && len(got) > 0 || want != "" && (len(got) != 1 || !strings.Contains(got[0], want)) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestSlowPaths: each slow path has its reason, its fix and its time above the floor of its shapes; products that
// take none have no row. A product of 4096 tokens by 4096 needs 0.14 ms of an H100.
func TestSlowPaths(t *testing.T) {
	const fast = "cutlass_80_tensorop_bf16_s16816gemm_bf16_256x128_32x3_nn_align8"
	for _, c := range []struct {
		kernel string
		n      int // of the second operand
		want   string
	}{
		{strings.Replace(fast, "align8", "align1", 1), 4097, "alignment 1: N (4097) is no multiple of 8"},
		{strings.Replace(fast, "align8", "align2", 1), 4098, "alignment 2: N (4098) is no multiple of 8"},
		{strings.Replace(fast, "align8", "align4", 1), 4100, "alignment 4: N (4100) is no multiple of 8"},
		{strings.Replace(fast, "align8", "align4", 1), 4096, "alignment 4: a size is no multiple of 8"},
		{"cutlass_80_tensorop_s1688gemm_256x64_16x4_tn_align1", 4096, "alignment 1: a size is no multiple of 4"},
		{"cutlass_80_tensorop_s1688gemm_256x64_16x4_tn_align4", 4096, "single precision"},
		{fast, 4096, ""}, {fast, 4104, ""}, {"nvjet_tst_128x64_64x6_1x2_h_bz_coopA_TNT", 4097,
			"N (4097): no multiple of 8"},
		{"turing_h1688gemm_128x64_ldg8_nn", 4096, "a kernel for sm75 on sm90"},
		{"void cublasLt::splitKreduce_kernel<32, 16, int, __nv_bfloat16, float>(x)", 4096, "split-K reduction"},
		{"ampere_sgemm_128x128_tn", 4096, "single precision"},
	} {
		b := trace.NewBuilder(trace.Options{})
		b.Meta = trace.Meta{Devices: []trace.GPU{{ID: 0, Name: gpus["H100"]}}}
		for i := range int64(8) {
			at := 1_000_000 * (i + 1)
			name, length := fast, int64(400_000) // most products are fast ones of 16 bits
			shape := "[[4096, 4096], [4096, 4096]]"
			if i%2 == 1 {
				name, length, shape = c.kernel, 300_000, fmt.Sprintf("[[4096, 4096], [4096, %d]]", c.n)
			}
			b.Add(trace.EventData{Kind: event.Op, Name: "aten::mm", Start: at - 900, Duration: 500, Thread: 1,
				ExternalID: uint64(i + 1), Shape: shape, Types: `["c10::BFloat16", "c10::BFloat16"]`})
			b.Add(trace.EventData{Kind: event.Runtime, Name: "cudaLaunchKernel", Start: at - 800, Duration: 100,
				Thread: 1, Correlation: uint64(i + 1)})
			b.Add(trace.EventData{Kind: event.Kernel, Name: name, Start: at, Duration: length, Stream: 7,
				Correlation: uint64(i + 1), ExternalID: uint64(i + 1)})
		}
		r, err := triage.Analyze(t.Context(), input(t, built.Trace(b), "x"), triage.Options{})
		if err != nil {
			t.Fatal(err)
		}
		rows := r.Stages[0].Slow
		if c.want == "" {
			if len(rows) > 0 {
				t.Errorf("%s by %d: %+v", c.kernel, c.n, rows)
			}
			continue
		}
		if len(rows) != 1 || !strings.Contains(rows[0].Reason, c.want) || rows[0].Do == "" {
			t.Errorf("%s by %d: %+v, want %q", c.kernel, c.n, rows, c.want)
			continue
		}
		if floor := rows[0].FloorNS; strings.Contains(c.want, "split") != (floor == 0) || floor > 0 &&
			(floor < 4*130_000 || floor > 4*150_000) {
			t.Errorf("%s: a floor of %d ns for four products, want 4 × 0.14 ms", c.kernel, floor)
		}
	}
}

// TestFloorsAreThoseOfLight: a slow kernel's floor is the sum of what the speed of light gives for its launches, on all
// traces with shapes, scaled to launches without; none of a reduction, whose work is its product's.
func TestFloorsAreThoseOfLight(t *testing.T) {
	rows := 0
	paths := slices.Concat(testdata.SharedGlob(t, "traces/torch/hf-*.json.gz"),
		testdata.SharedGlob(t, "traces/units/*/*.json.gz"))
	for _, path := range paths {
		tr, err := trace.Open(t.Context(), path, trace.Options{})
		if err != nil {
			t.Fatal(err)
		}
		in := input(t, tr, path)
		a := in.Formal[0]
		r, err := triage.Analyze(t.Context(), in, triage.Options{MinSharePct: -1})
		if err != nil {
			t.Fatal(err)
		}
		light, err := roofline.Analyze(t.Context(), a, roofline.Options{Kernels: true})
		if err != nil || len(r.Stages) != 1 {
			t.Logf("%s: %d stages, light: %v", path, len(r.Stages), err)
			continue
		}
		type sum struct{ floor, took time.Duration }
		floors := map[string]sum{}
		for k := range a.Devices[0].Kernels() {
			if c, ok := light.Cost(k); ok && c.Floor > 0 {
				s := floors[classify.Canonical(k.Event().Name())]
				floors[classify.Canonical(k.Event().Name())] = sum{s.floor + c.Floor, s.took + k.Event().Duration()}
			}
		}
		for _, row := range r.Stages[0].Slow {
			s := floors[row.Kernel]
			if row.FloorNS == 0 && (s.took == 0 || strings.Contains(row.Reason, "split-K reduction")) {
				continue
			}
			rows++
			want := float64(s.floor) * float64(row.GPUTimeNS) / float64(s.took)
			if math.Abs(float64(row.FloorNS)-want) > 1 {
				t.Errorf("%s, %s: a floor of %d ns, light has %.0f", path, row.Label, row.FloorNS, want)
			}
		}
	}
	if rows < 3 {
		t.Errorf("%d slow kernels have a floor, want some", rows)
	}
}
