package triage_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/triage"
)

// TestOverlapRows: communication that runs alone is a row with an upper bound, first where it has a stream of its
// own; what runs beside compute is none, and no row is of anything else.
func TestOverlapRows(t *testing.T) {
	const dispatch = "void deep_ep::intranode::dispatch<8, 768, 8192>(int4*)"
	for _, tt := range []struct {
		name   string
		stream trace.StreamID
		beside bool // the communication starts with the product
		length int64
		want   string // priority, "" for no row
		bound  int64  // of each layer, ns
	}{
		{"a stream of its own", 9, false, 4000, "P1", 4000},
		{"the stream of compute", 7, false, 4000, "P2", 4000},
		{"hidden by compute", 9, true, 4000, "", 0},
		{"longer than all compute of its layer", 9, false, 40000, "P1", 15000},
		{"below one percent of the steps", 9, false, 150, "", 0},
	} {
		b := trace.NewBuilder(trace.Options{})
		b.Meta = trace.Meta{Devices: []trace.GPU{{ID: 0, Name: "NVIDIA H100 80GB HBM3"}}}
		at, id := int64(1000), uint64(0)
		add := func(name string, stream trace.StreamID, start, length int64) {
			id++
			b.Add(trace.EventData{Kind: event.Runtime, Name: "cudaLaunchKernel", Start: start - 500, Duration: 100,
				Thread: 1, Correlation: id})
			b.Add(trace.EventData{Kind: event.Kernel, Name: name, Start: start, Duration: length, Stream: stream,
				Correlation: id})
		}
		for range 24 {
			for _, k := range []string{plainNorm, attention, product} {
				add(k, 7, at, 5000)
				at += 5000
			}
			if tt.beside {
				add(dispatch, tt.stream, at-4500, tt.length)
				continue
			}
			add(dispatch, tt.stream, at, tt.length)
			at += tt.length
		}
		r, err := triage.Analyze(t.Context(), input(t, built.Trace(b), "x"), triage.Options{Framework: "SGLang"})
		if err != nil {
			t.Fatal(err)
		}
		s := r.Stages[0]
		got, bound := "", int64(0)
		for _, o := range s.Overlap {
			got, bound = got+o.Priority, bound+o.BoundNS
			if o.Category != classify.CategoryCommunication || o.BoundNS > int64(o.TotalUS*1e3) {
				t.Errorf("%s: row %+v", tt.name, o)
			}
		}
		// Layers are numbered by the repetition, whose first and last may be cut differently.
		if least, most := 22*tt.bound, 24*tt.bound; got != tt.want || bound < least || bound > most {
			t.Errorf("%s: rows %q that gain %d ns, want %q and %d to %d ns (%+v)", tt.name, got, bound, tt.want, least,
				most, s.Exposure.Rows)
		}
	}
}

// TestOverlapCatalogue: a row names what the catalogue knows of its server that hides that kind of exchange, and
// nothing else.
func TestOverlapCatalogue(t *testing.T) {
	const (
		dispatch = "void deep_ep::intranode::dispatch<8, 768, 8192>(int4*)"
		reduce   = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
		sbo      = "Single-batch overlap (SBO)"
		async    = "vLLM-origin AsyncTP GEMM + collective overlap"
	)
	for _, tt := range []struct {
		framework, kernel, has, hasNot string
	}{
		{"SGLang", dispatch, sbo, async},
		{"SGLang", reduce, "", sbo},
		{"vLLM", reduce, async, sbo},
		{"vLLM", dispatch, "vLLM-origin shared-expert aux-stream overlap", async},
		{"TensorRT-LLM", dispatch, "TensorRT-LLM multi-stream MoE shared-vs-routed overlap", sbo},
		{"PyTorch", dispatch, "", sbo},
	} {
		b := trace.NewBuilder(trace.Options{})
		at, id := int64(1000), uint64(0)
		for range 24 {
			for _, k := range []string{plainNorm, attention, product, tt.kernel} {
				id++
				b.Add(trace.EventData{Kind: event.Runtime, Name: "cudaLaunchKernel", Start: at - 500, Duration: 100,
					Thread: 1, Correlation: id})
				b.Add(trace.EventData{Kind: event.Kernel, Name: k, Start: at, Duration: 5000, Stream: 7,
					Correlation: id})
				at += 5000
			}
		}
		r, err := triage.Analyze(t.Context(), input(t, built.Trace(b), "x"), triage.Options{Framework: tt.framework})
		if err != nil {
			t.Fatal(err)
		}
		s := r.Stages[0]
		if len(s.Overlap) != 1 {
			t.Errorf("%s %s: %d rows, want one", tt.framework, tt.kernel, len(s.Overlap))
			continue
		}
		known := s.Overlap[0].Known
		has := func(name string) bool {
			return slices.ContainsFunc(known, func(k string) bool { return strings.HasPrefix(k, name) })
		}
		if tt.has == "" && len(known) > 0 || tt.has != "" && !has(tt.has) || has(tt.hasNot) {
			t.Errorf("%s %s: known %q, want %q and not %q", tt.framework, tt.kernel, known, tt.has, tt.hasNot)
		}
		if strings.Contains(s.OverlapNote, "Known to hide") != (len(known) > 0) {
			t.Errorf("%s: the note is %q", tt.framework, s.OverlapNote)
		}
	}
}

// TestBoundsAddUp: the rows' bounds are that of the exposure ledger, on a trace where all are listed.
func TestBoundsAddUp(t *testing.T) {
	r := analyze(t, "traces/torch/synthetic-deepseek-v4-flash-TP-0.trace.json.gz", "", triage.Options{OverlapLimit: -1})
	for _, s := range r.Stages {
		var rows, ledger int64
		for _, o := range s.Overlap {
			rows += o.BoundNS
		}
		for _, x := range s.Exposure.Rows {
			ledger += x.BoundNS
		}
		if rows != ledger || rows == 0 {
			t.Errorf("%s: rows gain %d ns at most, the ledger says %d", s.Stage, rows, ledger)
		}
	}
}

// TestOverlapOfTheFirstKernel: communication that a trace begins with, and that takes most of its time, is a row like
// any other.
func TestOverlapOfTheFirstKernel(t *testing.T) {
	const dispatch = "void deep_ep::intranode::dispatch<8, 768, 8192>(int4*)"
	b := trace.NewBuilder(trace.Options{})
	b.Meta = trace.Meta{Devices: []trace.GPU{{ID: 0, Name: "NVIDIA H100 80GB HBM3"}}}
	at, id := int64(1000), uint64(0)
	add := func(name string, stream trace.StreamID, length int64) {
		id++
		b.Add(trace.EventData{Kind: event.Runtime, Name: "cudaLaunchKernel", Start: at - 500, Duration: 100, Thread: 1,
			Correlation: id})
		b.Add(trace.EventData{Kind: event.Kernel, Name: name, Start: at, Duration: length, Stream: stream,
			Correlation: id})
		at += length
	}
	add(dispatch, 9, 5000)
	for range 24 {
		for _, k := range []string{plainNorm, attention, product} {
			add(k, 7, 5000)
		}
		add(dispatch, 9, 40000)
	}
	r, err := triage.Analyze(t.Context(), input(t, built.Trace(b), "x"), triage.Options{Framework: "SGLang"})
	if err != nil {
		t.Fatal(err)
	}
	if o := r.Stages[0].Overlap; len(o) != 1 || !strings.Contains(o[0].Kernel, "dispatch") || o[0].BoundNS == 0 {
		t.Errorf("%+v, want a row of the dispatch", o)
	}
}
