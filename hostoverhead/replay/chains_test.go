package replay_test

import (
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/hostoverhead/replay"
	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/internal/gen/idle"
	"github.com/llmstrata/strata/internal/stat"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/triage"
)

// pairs are the norms of a device with the products after them, as chains whose one kernel takes a share of their time.
func pairs(d *layer.Device, least, most float64) (list []replay.Fused) {
	for i := 1; i < d.NumKernels(); i++ {
		norm, product := d.Kernel(i-1).Event(), d.Kernel(i).Event()
		if !strings.Contains(norm.Name(), "rms_norm") || !strings.Contains(product.Name(), "gemm_bf16") {
			continue
		}
		took := float64(norm.Duration() + product.Duration())
		list = append(list, replay.Fused{Trace: d.Analysis().Trace(),
			Kernels: []trace.EventID{norm.ID(), product.ID()},
			Least:   time.Duration(least * took), Most: time.Duration(most * took)})
	}
	return list
}

// TestChainsAgainstFusedRuns: of servers that run a norm and the product after it as one kernel of 0.9 times their
// time, the step lies in the interval of the chain's edit, wherever the trace tests it.
func TestChainsAgainstFusedRuns(t *testing.T) {
	servers := uint64(16)
	if testdata.Long() {
		servers = 90
	}
	answered, inside := 0, 0
	for seed := range servers {
		server := idle.RandomServer(firstServer + 5000 + seed)
		fused := server
		if fused.Fused = 0.9; server.Second {
			continue
		}
		a := analysisOf(t, server.Play(1), false)
		d := &a.Devices[0]
		gains, err := replay.Analyze(t.Context(), d, []replay.Edit{
			replay.Edit{Kind: replay.Chain, Name: "norm + product"}.With(pairs(d, 0.85, 0.95))})
		if err != nil {
			t.Fatal(err)
		}
		g := &gains[0]
		if g.Refused != "" {
			continue
		}
		answered++
		mean := func(s *idle.Server, first uint64) (sum float64) {
			for run := range uint64(runsOfTruth) {
				sum += stat.Mean(idle.StepTimes(s.Play(first + run))[1:])
			}
			return sum
		}
		truth := time.Duration(float64(g.Base) * mean(&fused, 10) / mean(&server, 50))
		if g.Low <= truth && truth <= g.High {
			inside++
		} else {
			t.Logf("server %d: %v → %v–%v, want %v", seed, g.Base, g.Low, g.High, truth)
		}
		if g.Figure || g.High <= g.Low || g.Ask != "chain=norm + product" {
			t.Errorf("server %d: %+v is no interval", seed, g)
		}
	}
	t.Logf("%d servers, %d answered, %d inside", servers, answered, inside)
	if answered < int(servers)/3 || 100*inside < 90*answered {
		t.Errorf("%d of %d servers answered, %d inside; want a third, and 90%% of them", answered, servers, inside)
	}
}

// TestChainsThatAreNotHere: occurrences of another trace, or with kernels of two chains, are left out; without any the
// edit is refused.
func TestChainsThatAreNotHere(t *testing.T) {
	server := idle.RandomServer(firstServer + 5000)
	a, other := analysisOf(t, server.Play(1), false), analysisOf(t, server.Play(1), false)
	d := &a.Devices[0]
	own, strange := pairs(d, 0.5, 0.5), pairs(&other.Devices[0], 0.5, 0.5)
	ask := replay.Edit{Kind: replay.Chain, Name: "x"}
	gains, err := replay.Analyze(t.Context(), d, []replay.Edit{ask.With(own), ask.With(append(own, own...)),
		ask.With(append(own, strange...)), ask.With(strange), ask})
	if err != nil {
		t.Fatal(err)
	}
	for i, g := range gains {
		if same := g.Gain == gains[0].Gain && g.Refused == gains[0].Refused; same != (i < 3) {
			t.Errorf("edit %d: %+v, %q, want %+v: %v", i, g.Gain, g.Refused, gains[0].Gain, i < 3)
		}
		if i >= 3 && g.Refused != "no chain of that name runs on this GPU" {
			t.Errorf("edit %d: refused with %q", i, g.Refused)
		}
	}
}

// play runs six steps of an eager model that the host launches ahead and waits for: a residual sum and a norm after
// each product, as two kernels or as one. A kernel takes 2 µs, and 4 µs for each tensor that it reads or writes.
func play(t *testing.T, fused bool) (a *layer.Analysis, step time.Duration) {
	const (
		product = "nvjet_tst_128x64_64x6_1x2_h_bz_coopA_TNT|aten::mm"
		add     = "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>, std::array<char*, 3ul> >(int)|aten::add"
		norm    = "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float>(int)|aten::native_layer_norm"
		both    = "void fused_add_layer_norm_kernel<c10::BFloat16>(int)|aten::add_layer_norm"
		steps   = 6
	)
	b := trace.NewBuilder(trace.Options{})
	b.Meta = trace.Meta{Devices: []trace.GPU{{ID: 0, Name: "NVIDIA H100 80GB HBM3"}}}
	host, gpu, id := int64(100_000), int64(0), uint64(0)
	var ends []int64
	for range steps {
		began := host
		launch := func(kernel string, took int64) {
			name, op, _ := strings.Cut(kernel, "|")
			id++
			b.Add(trace.EventData{Kind: event.Op, Name: op, Start: host, Duration: 3500, Thread: 1, ExternalID: id})
			b.Add(trace.EventData{Kind: event.Runtime, Name: "cudaLaunchKernel", Start: host + 1000, Duration: 2000,
				Thread: 1, Correlation: id})
			gpu = max(gpu+800, host+6000)
			b.Add(trace.EventData{Kind: event.Kernel, Name: name, Start: gpu, Duration: took, Stream: 7, Correlation: id,
				ExternalID: id})
			host, gpu = host+4000, gpu+took
		}
		for range 12 {
			launch(product, 40_000)
			if fused {
				launch(both, 2000+4*4000)
			} else {
				launch(add, 2000+3*4000)
				launch(norm, 2000+2*4000)
			}
		}
		b.Add(trace.EventData{Kind: event.Runtime, Name: "cudaStreamSynchronize", Start: host, Duration: gpu + 2000 - host,
			Thread: 1})
		host = gpu + 10_000
		b.Add(trace.EventData{Kind: event.Annotation, Name: "step[DECODE bs=8]", Start: began - 500,
			Duration: host - began - 1000, Thread: 1})
		ends = append(ends, gpu)
	}
	a, err := layer.Analyze(t.Context(), built.Trace(b), layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return a, time.Duration((ends[steps-1] - ends[0]) / (steps - 1))
}

// TestRowsHaveTheirReplay: a row of the fuse table and its finding say what a step would take, and that is what it
// takes where the two are one kernel.
func TestRowsHaveTheirReplay(t *testing.T) {
	a, base := play(t, false)
	_, want := play(t, true)
	r, err := triage.Analyze(t.Context(), triage.Input{Formal: []*layer.Analysis{a}, FormalPaths: []string{"x"}},
		triage.Options{Framework: "PyTorch"})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Replay(t.Context(), []*layer.Analysis{a}, nil); err != nil {
		t.Fatal(err)
	}
	if len(r.Stages) != 1 || len(r.Stages[0].Fuse) != 1 {
		t.Fatalf("%+v, want one row", r.Stages)
	}
	f := &r.Stages[0].Fuse[0]
	g := f.Replayed
	if g == nil || g.Base != base || g.Low > want || want > g.High || g.High >= g.Base {
		t.Fatalf("%s: replayed %+v, want %v → %v", f.Pattern, g, base, want)
	}
	if step := time.Duration((f.Gain.StepLowNS + f.Gain.StepHighNS) / 2); step < (base-want)*8/10 ||
		step > (base-want)*14/10 {
		t.Errorf("priced: %v a step, want %v", step, base-want)
	}
	for _, found := range r.Findings {
		if found.Kind == finding.Fusion && (len(found.Gains) != 1 || found.Gains[0] != *g) {
			t.Errorf("the finding has %+v, want %+v", found.Gains, g)
		}
	}
	var b strings.Builder
	if err := r.WriteText(&b, 0); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "Replayed: "+g.Step()) {
		t.Errorf("%s\ndoes not say %s", b.String(), g.Step())
	}
	if e := r.Edit("norm"); e.String() != "chain=norm" {
		t.Errorf("edit %s", e.String())
	} else if gains, err := replay.Analyze(t.Context(), &a.Devices[0], []replay.Edit{e}); err != nil ||
		gains[0].After != g.After {
		t.Errorf("by a part of its name: %+v, %v, want %v", gains, err, g.After)
	}
}
