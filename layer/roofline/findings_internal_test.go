package roofline

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/profile/hardware"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// oneKernel analyses a trace of one kernel named k.
func oneKernel(t *testing.T) layer.Kernel {
	t.Helper()
	b := trace.NewBuilder(trace.Options{})
	b.Add(trace.EventData{Kind: event.Kernel, Name: "k", Duration: 5})
	a, err := layer.Analyze(t.Context(), built.Trace(b), layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return a.Devices[0].Kernel(0)
}

// gemm is the cell of a product of 256 by 256 of bf16 that took 100 ns.
func gemm(k layer.Kernel, operator string, sum int64, floor time.Duration, bound string) *cell {
	return &cell{slot: &slot{key: key{0, operator}}, group: products, booked: 100, raw: 100, floor: floor, capped: floor,
		bound: bound, launches: 1, longest: k, work: opWork{M: 256, N: 256, K: sum, DType: "bf16"}}
}

// measuredOf is a pass of 1000 ns with these operators, on a GPU whose GEMMs reach 0.8 of its peak.
func measuredOf(order ...*cell) *measured {
	gpu := &hardware.GPU{FLOP: map[string]hardware.Figure{"bf16": {Value: 10e12}},
		Measured: map[string]hardware.Figure{"bf16": {Value: 8e12}}, Units: 1}
	return &measured{walk: &walk{gpu: gpu, model: &model{}, device: &layer.Device{Passes: []layer.ForwardPass{{}}}},
		pass: Pass{Floor: 1, Wall: 1000, Stage: layer.StageDecode}, order: order}
}

// TestFindingsByHand: what a pass of 1000 ns loses. Products reach 0.8 of the peak, or as much as the best of the pass;
// padding a misaligned one makes it as good as the best aligned one that arithmetic bounds.
func TestFindingsByHand(t *testing.T) {
	k := oneKernel(t)
	attention := &cell{slot: &slot{key: key{0, "core"}}, group: attentionCore, booked: 100, raw: 100, floor: 30,
		capped: 30, longest: k, launches: 1}
	for _, c := range []struct {
		name  string
		order []*cell
		want  string // code, time and advice of each finding
	}{
		// 100 − 40 / 0.8
		{"a product", []*cell{gemm(k, "a", 128, 40, boundCompute)}, "products 50"},
		{"bound by memory", []*cell{gemm(k, "a", 128, 40, boundMemory)}, "products 60"},
		{"the other of the pass reaches all", []*cell{gemm(k, "a", 128, 40, boundCompute),
			gemm(k, "b", 128, 100, boundCompute)}, "products 60"},
		{"the other of the pass reaches 0.9", []*cell{gemm(k, "a", 128, 45, boundCompute),
			gemm(k, "b", 128, 90, boundCompute)}, "products 50"},
		{"as good as the GPU's maker", []*cell{gemm(k, "a", 128, 80, boundCompute)}, ""},
		{"misaligned, no aligned one", []*cell{gemm(k, "odd", 132, 40, boundCompute)}, "misaligned 60"},
		// the padded one takes 40 / 0.5
		{"misaligned, the aligned one reaches half", []*cell{gemm(k, "odd", 132, 40, boundCompute),
			gemm(k, "a", 128, 50, boundCompute)}, "products 38, misaligned 20"},
		{"misaligned, bound by memory", []*cell{gemm(k, "odd", 132, 40, boundMemory),
			gemm(k, "a", 128, 100, boundCompute)}, "misaligned 60"},
		{"misaligned, bound by memory, as is the aligned one", []*cell{gemm(k, "odd", 132, 40, boundCompute),
			gemm(k, "a", 128, 90, boundMemory)}, "misaligned 60, products 10"},
		{"misaligned, and as good as padded", []*cell{gemm(k, "odd", 132, 50, boundCompute),
			gemm(k, "a", 128, 50, boundCompute)}, "products 76"},
		{"misaligned, and well", []*cell{gemm(k, "odd", 132, 85, boundMemory)}, "products 15"},
		{"misaligned, and nearly well", []*cell{gemm(k, "odd", 132, 84, boundMemory)}, "misaligned 16"},
		{"attention", []*cell{attention}, "attention 70"},
	} {
		r := measuredOf(c.order...)
		var got []string
		for _, f := range r.findings() {
			got = append(got, fmt.Sprintf("%s %d", f.Code, f.PerStep))
			if f.Share != float64(f.PerStep)/1000 || f.Place.Kernel != "k" {
				t.Errorf("%s: %+v is %v of the pass", c.name, f, f.Share)
			}
		}
		if text := strings.Join(got, ", "); text != c.want {
			t.Errorf("%s: %q, want %q", c.name, text, c.want)
		}
	}
}

// TestStartsAreNoBandwidth: of an element-wise operator, what ten launches take as the shortest kernels do is not won,
// and one that moves less than that is not far below the memory's speed.
func TestStartsAreNoBandwidth(t *testing.T) {
	b := trace.NewBuilder(trace.Options{})
	for i := range int64(10) {
		b.Add(trace.EventData{Kind: event.Kernel, Name: "k", Start: 10 * i, Duration: 5})
	}
	a, err := layer.Analyze(t.Context(), built.Trace(b), layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := &a.Devices[0]
	d.Passes = []layer.ForwardPass{{}}
	for _, c := range []struct {
		floor, shortest, want time.Duration
		text                  string
	}{
		{10, 2, 80, "Element-wise and others above their floor"}, {20, 2, 80, bandwidthLow}, {30, 2, 70, bandwidthLow},
		{10, 0, 90, bandwidthLow}, {10, 10, 0, ""},
	} {
		r := measuredOf(&cell{slot: &slot{key: key{0, "rope"}}, group: others, booked: 100, raw: 100, floor: c.floor,
			capped: c.floor, launches: 10, longest: d.Kernel(0)})
		r.walk.device, r.walk.shortest = d, c.shortest
		f := append(r.findings(), finding.Finding{})[0]
		if f.PerStep != c.want || f.Text != c.text {
			t.Errorf("floor %d, shortest %d: %q, %d; want %q, %d", c.floor, c.shortest, f.Text, f.PerStep, c.text, c.want)
		}
	}
}

// TestMuchTimeWithoutAFloor: operators that take a tenth of the pass, and kernels that copy.
func TestMuchTimeWithoutAFloor(t *testing.T) {
	k := oneKernel(t)
	for _, c := range []struct {
		took   time.Duration
		copied int
		all    int
		want   string
	}{
		{100, 0, 0, "attention 100"}, {99, 0, 0, ""},
		{0, 2, 2, "copies 7: 2 launches. Most for b: 4 ns."},
		{0, 2, 3, "copies 7: 2 of 3 launches under copies and fills. Most for b: 4 ns."},
	} {
		r := measuredOf(&cell{slot: &slot{key: key{0, "core"}}, group: attentionCore, booked: c.took, raw: c.took,
			launches: 1, longest: k})
		if r.counts[copies] = c.all; c.copied > 0 {
			r.copied.booked, r.copied.count, r.copied.longest = 7, c.copied, k
			r.copied.by = map[string]time.Duration{"a": 3, "b": 4}
		}
		got := ""
		for _, f := range r.findings() {
			if got += fmt.Sprintf("%s %d", f.Code, f.PerStep); f.Code == CodeCopies {
				got += ": " + f.Evidence
			}
			if f.Kind != finding.NoFloor {
				t.Errorf("%+v has a floor", f)
			}
		}
		if got != c.want {
			t.Errorf("%v: %q, want %q", c.took, got, c.want)
		}
	}
}

// TestFewExperts: fewer than 0.95 of an even choice of 8, and as many as one token needs at least.
func TestFewExperts(t *testing.T) {
	for _, c := range []struct {
		chosen   float64
		withheld bool
		want     bool
	}{{7.6, false, false}, {7.5, false, true}, {2, false, true}, {1.9, false, false}, {0, false, false},
		{4, true, false}} {
		r := measuredOf(&cell{slot: &slot{}, chosen: c.chosen, work: opWork{ActiveExperts: 8, LeastExperts: 2}})
		r.withheld = c.withheld
		if got := len(r.uneven()) > 0; got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
	r := measuredOf(&cell{slot: &slot{key: key{0, "a"}}, chosen: 4, instances: 2, work: opWork{ActiveExperts: 8}},
		&cell{slot: &slot{key: key{1, "b"}}, chosen: 3, instances: 1, work: opWork{ActiveExperts: 8}},
		&cell{slot: &slot{key: key{2, "c"}}, chosen: 3, instances: 1, work: opWork{ActiveExperts: 8}})
	if got := r.uneven(); got[0].Evidence !=
		"The time of b proves at most 3 of 8 expected experts in the mean of 1 layer." {
		t.Errorf("of three types of layers: %q", got[0].Evidence)
	}
}

// TestFusibleKernels: those that are small, less one that the others would be part of.
func TestFusibleKernels(t *testing.T) {
	b := trace.NewBuilder(trace.Options{})
	for i := range int64(10) {
		b.Add(trace.EventData{Kind: event.Kernel, Name: "k", Start: i * 100, Duration: 5})
	}
	a, err := layer.Analyze(t.Context(), built.Trace(b), layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ small, products, copies, want int }{{2, 1, 9, 2}, {2, 0, 9, 1}, {1, 5, 0, 0},
		{0, 5, 0, 0}} {
		r := &measured{walk: &walk{device: &a.Devices[0], shortest: 1}}
		r.counts[small], r.counts[products], r.counts[copies], r.counts[communication] = c.small, c.products, c.copies, 7
		if got := r.fusible(); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
		if r.walk.shortest = 0; r.fusible() != 0 {
			t.Errorf("%+v: some are fusible where nothing shows what short ones take", c)
		}
	}
}

// TestInstanceByThePlan: what one instance of an operator that took 100 ns costs at least, and why there is no floor.
func TestInstanceByThePlan(t *testing.T) {
	const ns = 1e-9
	compute := func(ns float64) floor { return floor{compute: ns * 1e-9, bound: boundCompute, known: true} }
	one := &opSum{count: 1, work: Work{M: 1, N: 3, K: 4}}
	for _, c := range []struct {
		name       string
		work       opWork
		least      floor
		ops        *opSum
		load       Load
		planned    bool
		floor      time.Duration
		basis      Basis
		impossible bool
	}{
		{"arithmetic", opWork{Known: true}, compute(40), nil, Load{}, true, 40, BasisGrids, false},
		{"as fast as the GPU", opWork{Known: true}, compute(100), nil, Load{}, true, 100, BasisGrids, false},
		{"faster, within rounding", opWork{Known: true}, compute(101), nil, Load{}, true, 101, BasisGrids, false},
		{"faster", opWork{Known: true}, compute(110), nil, Load{}, true, 110, BasisContradiction, true},
		{"an upper bound", opWork{Known: true, AtMost: true}, compute(100), nil, Load{}, true, 100, BasisGrids, false},
		{"above an upper bound", opWork{Known: true, AtMost: true}, compute(101), nil, Load{}, true, 0, BasisFewer, false},
		{"unknown", opWork{}, compute(40), nil, Load{}, false, 0, BasisNone, false},
		{"a link", opWork{Known: true}, floor{link: 30 * ns, latency: 20 * ns, bound: boundLink, known: true}, nil, Load{},
			true, 50, BasisGrids, false},
		{"faster than its latency", opWork{Known: true}, floor{link: 90 * ns, latency: 20 * ns, bound: boundLink,
			known: true}, nil, Load{}, true, 90, BasisGrids, false},
		{"a link as fast as published", opWork{Known: true}, floor{link: 80 * ns, latency: 20 * ns, bound: boundLink,
			known: true}, nil, Load{}, true, 100, BasisGrids, false},
		{"activations that memory moves in 100 ns", opWork{Known: true, Activations: 100}, floor{}, nil, Load{}, true, 100,
			BasisGrids, false},
		{"activations of a cache", opWork{Known: true, Activations: 102}, floor{}, nil, Load{}, true, 0, BasisCache, false},
		{"nothing to do", opWork{Known: true}, floor{}, nil, Load{}, true, 0, BasisNone, false},
		{"recorded inputs of the same sizes", opWork{Known: true, M: 1, N: 3, K: 4}, compute(40), one, Load{}, true, 40,
			BasisGrids, false},
		{"of another N", opWork{Known: true, M: 1, N: 2, K: 4}, compute(40), one, Load{}, false, 0, BasisNone, false},
		{"of another K", opWork{Known: true, M: 1, N: 3, K: 5}, compute(40), one, Load{}, false, 0, BasisNone, false},
		{"of several products", opWork{Known: true, M: 1, N: 2, K: 4, several: true}, compute(40), one, Load{}, true, 40,
			BasisGrids, false},
		{"of two ops", opWork{Known: true, M: 1, N: 2, K: 4}, compute(40), &opSum{count: 2, work: one.work}, Load{}, true, 40,
			BasisGrids, false},
		{"of no product", opWork{Known: true, N: 2, K: 4}, compute(40), one, Load{}, true, 40, BasisGrids, false},
		{"tokens are a lower bound, and inputs are recorded", opWork{Known: true, M: 1, N: 3, K: 4}, compute(40), one,
			Load{AtLeast: true}, false, 0, BasisNone, false},
		{"tokens are a lower bound", opWork{Known: true}, compute(40), nil, Load{AtLeast: true}, true, 40, BasisGrids, false},
	} {
		gpu := &hardware.GPU{Bandwidth: hardware.Figure{Value: 1e9}, BusBandwidth: hardware.Figure{Value: 1e9}}
		r := &measured{walk: &walk{gpu: gpu, plan: &profile.Plan{}, device: &layer.Device{}}, load: &c.load,
			basis: BasisGrids}
		s := spent{raw: 100, booked: 100, ops: c.ops,
			cell: &cell{slot: &slot{key: key{0, "o"}}, counted: true, work: c.work, least: c.least, bound: c.least.bound}}
		got := r.planned(&s)
		if got != c.planned || s.planned != c.planned || s.floor != c.floor || s.basis != c.basis ||
			s.impossible != c.impossible {
			t.Errorf("%s: planned %t, floor %v, basis %v, impossible %t; want %t, %v, %v, %t", c.name, got, s.floor, s.basis,
				s.impossible, c.planned, c.floor, c.basis, c.impossible)
		}
		if contradicts := len(r.walk.contradictions) > 0; contradicts != strings.HasPrefix(c.name, "of another ") {
			t.Errorf("%s: contradictions %v", c.name, r.walk.contradictions)
		}
		if r.load = nil; r.planned(&s) {
			t.Errorf("%s: planned without tokens", c.name)
		}
	}
}

// TestCopiesByKernels: kernels that copy are named with the time in which nothing else runs; a copy that is no kernel
// is idle time's.
func TestCopiesByKernels(t *testing.T) {
	b := trace.NewBuilder(trace.Options{})
	add := func(kind event.Kind, name string, start, took, stream int64, id uint64) {
		b.Add(trace.EventData{Kind: kind, Name: name, Start: start, Duration: took, Stream: trace.StreamID(stream),
			Process: 1, Scope: "a", Thread: 1, Correlation: id})
	}
	for i := range int64(9) {
		at, id := i*2_000_000, uint64(10*i+1)
		add(event.Annotation, "execute_context_0(0)_generation_8(8)", at, 1_000_000, 7, 0)
		for k := range uint64(4) {
			add(event.Runtime, "cudaLaunchKernel", at+int64(k)*1000, 100, 7, id+k)
		}
		add(event.Kernel, "gemm", at+10_000, 100_000, 7, id)
		add(event.Kernel, "__amd_rocclr_copyBuffer", at+90_000, 40_000, 9, id+1) // 20 µs beside the product
		add(event.Kernel, "__amd_rocclr_copyBuffer", at+150_000, 30_000, 7, id+2)
		add(event.Memcpy, "Memcpy DtoH", at+200_000, 70_000, 7, id+3)
	}
	a, err := layer.Analyze(t.Context(), built.Trace(b), layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := Analyze(t.Context(), a, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings {
		if f.Code != CodeCopies {
			continue
		}
		if f.PerStep != 50*time.Microsecond || !strings.HasPrefix(f.Evidence, "2 of 3 launches under copies and fills.") {
			t.Errorf("%v: %q", f.PerStep, f.Evidence)
		}
		return
	}
	t.Errorf("no copies in %+v", r.Findings)
}

// TestTypesOfLayers: layers have the plan's type, what is outside none.
func TestTypesOfLayers(t *testing.T) {
	w := walk{plan: &profile.Plan{Kinds: make([]profile.PlanKind, 2), LayerKinds: []int{0, 1, 0}}}
	for l, want := range map[int]int{-1: -1, 0: 0, 1: 1, 2: 0, 3: -1} {
		got := w.kindOf(l)
		if w.kindIndex(l) != want || want < 0 && got != nil || want >= 0 && got != &w.plan.Kinds[want] {
			t.Errorf("layer %d: type %d, want %d", l, w.kindIndex(l), want)
		}
	}
}
