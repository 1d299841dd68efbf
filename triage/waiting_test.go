package triage_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/triage"
)

// TestWaitingOfOneRank: passes of 24 layers with an all-reduce of 20 µs in each, give or take a tenth. The
// first of each pass waits for a late rank. The result from one rank is within a fifth of that.
func TestWaitingOfOneRank(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, late := range []int64{0, 500_000, 2_150_000} {
		b := trace.NewBuilder(trace.Options{})
		at, id, waited, all := int64(1000), uint64(0), int64(0), int64(0)
		const passes, layers, transfer = 4, 24, 20_000
		for pass := range passes {
			b.Add(trace.EventData{Kind: event.Annotation, Name: "step[DECODE bs=8]", Start: at - 600,
				Duration: 3_000_000, Thread: 1})
			for layer := range layers {
				for _, k := range []string{plainNorm, attention, product,
					"void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(RankData*)"} {
					took := int64(10_000)
					if k[5:9] == "vllm" {
						took = transfer + rnd.Int64N(transfer/5) - transfer/10
						if layer == 0 {
							took += late
							waited += late
						}
						all += took
					}
					id++
					b.Add(trace.EventData{Kind: event.Runtime, Name: "cudaLaunchKernel", Start: at - 500, Duration: 100,
						Thread: 1, Correlation: id})
					b.Add(trace.EventData{Kind: event.Kernel, Name: k, Start: at, Duration: took, Stream: 7,
						Correlation: id})
					at += took + 500
				}
			}
			at += 50_000 * int64(pass+1)
		}
		r, err := triage.Analyze(t.Context(), input(t, built.Trace(b), "x"), triage.Options{Framework: "vLLM"})
		if err != nil {
			t.Fatal(err)
		}
		var waiting, exposed int64
		for _, s := range r.Stages {
			for _, row := range s.Exposure.Rows {
				waiting += row.WaitingNS
				if row.Category == classify.CategoryCommunication {
					exposed += row.ExposedNS
				}
			}
		}
		if exposed < all*9/10 || waiting < waited*8/10 || waiting > waited*12/10+all/10 && late == 0 || late > 0 &&
			waiting > waited*12/10 {
			t.Errorf("late by %d ns: waiting %d of %d ns exposed, want %d of %d", late, waiting, exposed, waited, all)
		}
	}
}

// TestExchangesOfAProfile: categories of a model's profile hide no communication.
func TestExchangesOfAProfile(t *testing.T) {
	c, err := profile.ResolveConfig(testdata.Shared(t, "configs/deepseek-v4-flash.json"))
	if err != nil {
		t.Fatal(err)
	}
	of := source(t, "traces/torch/synthetic-deepseek-v4-flash-TP-0.trace.json.gz")
	in, err := triage.NewInput(t.Context(), []triage.Source{of}, nil, layer.Options{Config: c})
	if err != nil {
		t.Fatal(err)
	}
	r, err := triage.Analyze(t.Context(), in, triage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range r.Stages {
		if !slices.ContainsFunc(s.Exposure.Rows, func(r triage.ExposureRow) bool { return r.Category == classify.CategoryCommunication }) {
			t.Errorf("%s: no communication in %+v", s.Stage, s.Exposure.Rows)
		}
	}
}
