package activity

import (
	"fmt"
	"testing"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// TestLinesByName: what a replay is aligned with under its own name says most, then launches of its name in the mapping trace,
// then what it is aligned with under another name, then launches of a similar name, then its own trace's.
func TestLinesByName(t *testing.T) {
	const line, aligned, eager = SiteFromPrefill + 1, SiteFromPrefill + 5, SiteFromPrefill + 7
	const exact, similar, own, product, short = 0, 1, 2, 3, 4
	p := NewPool()
	for _, name := range []string{"norm_of_some_model", "norm_of_some_model_v2", "lone_norm"} {
		p.Facts = append(p.Facts, *named(name, classify.CategoryNorm))
	}
	p.Facts = append(p.Facts, *named("gemm", classify.CategoryGEMM), *named("silu", classify.CategoryActivation))
	launched := func(kernel int, site, op int32) *Trace {
		return &Trace{Acts: []Activity{{Kernel: int32(kernel), Site: site, Op: op, Stage: StageMixed, End: 10}}}
	}
	mapping, none := newSiteIndex(p, []*Trace{launched(exact, line, 1), launched(short, line+1, 1)}, anyKernel), newSiteIndex(p, nil, anyKernel)
	alone := newSiteIndex(p, []*Trace{launched(own, eager, 0), launched(product, eager, 0)}, telling)
	for _, c := range []struct {
		what   string
		kernel int
		at     *twin // of the same place of a layer
		eager  bool  // launched by itself
		index  *siteIndex
		site   int32
		op     int32
		from   Origin
	}{
		{"the name", exact, nil, false, mapping, line, 1, FromMapping},
		{"a short name", short, nil, false, mapping, line + 1, 1, FromMapping},
		{"the name, launched without frames", exact, nil, true, mapping, line, 1, FromMapping},
		{"a similar name", similar, nil, false, mapping, line, 1, FromMapping},
		{"the trace's own launches", own, nil, false, mapping, eager, 9, FromMapping},
		{"own launches tell of replays alone", own, nil, true, mapping, SiteUnresolved, 9, fromNothing},
		{"a product is used all over", product, nil, false, mapping, siteReplay, 9, fromNothing},
		{"no mapping", exact, nil, false, none, siteReplay, 9, fromNothing},
		{"the place, of the same name", exact, &twin{aligned, 4, 0, true}, false, mapping, aligned, 4, FromAlignment},
		{"the name before the place of another", exact, &twin{aligned, 4, 0, false}, false, mapping, line, 1, FromMapping},
		{"the place before a similar name", similar, &twin{aligned, 4, 0, false}, false, mapping, aligned, 4, FromAlignment},
		{"the place alone", product, &twin{aligned, 4, 0, false}, false, mapping, aligned, 4, FromAlignment},
		{"a place of which nothing is known", product, &twin{SiteFromPrefill, 4, 0, true}, false, mapping, siteReplay, 9, fromNothing},
	} {
		act := Activity{Kernel: int32(c.kernel), Site: siteReplay, Op: 9, Stage: StageDecode, Replay: !c.eager}
		if c.eager {
			act.Site = SiteUnresolved
		}
		w := &Trace{Acts: []Activity{act}}
		var twins twinTable
		if c.at != nil {
			twins.byAct = []twin{*c.at}
		}
		(&attribution{pool: p}).attributeTrace(w, twins, c.index, alone)
		if a := w.Acts[0]; a.Site != c.site || a.Op != c.op || a.From != c.from {
			t.Errorf("%s: site %d, op %d, by %q; want %d, %d, %q", c.what, a.Site, a.Op, OriginNames[a.From], c.site, c.op, OriginNames[c.from])
		}
	}
}

// TestLaunchesWithALineKeepIt: only replays, and launches of which nothing is known, are looked up; a kernel with two lines is
// dealt out to both by their time.
func TestLaunchesWithALineKeepIt(t *testing.T) {
	const line = SiteFromPrefill + 1
	p := NewPool()
	p.Facts = append(p.Facts, *named("norm_of_some_model", classify.CategoryNorm))
	index := newSiteIndex(p, []*Trace{{Acts: []Activity{{Site: line, End: 10}, {Site: line + 1, End: 5}}}}, anyKernel)
	w := &Trace{Acts: []Activity{{Site: line + 9, From: FromOp}, {Replay: true, End: 10}, {Replay: true, Start: 10, End: 15}, {Replay: true, Start: 20, End: 25}}}
	(&attribution{pool: p}).attributeTrace(w, twinTable{}, index, newSiteIndex(p, nil, anyKernel))
	for i, want := range []int32{line + 9, line, line + 1, line} {
		if got := w.Acts[i].Site; got != want {
			t.Errorf("launch %d: site %d, want %d", i, got, want)
		}
	}
}

// TestModelLinesOfDecodes: the line that only prefills launched is marked in replays of a decode, and in these alone.
func TestModelLinesOfDecodes(t *testing.T) {
	for _, c := range []struct {
		launched, stage int8
		replay, marked  bool
	}{{StagePrefill, StageDecode, true, true}, {StageDecode, StageDecode, true, false}, {StagePrefill, StageMixed, true, false}, {StagePrefill, StageDecode, false, false}} {
		p := NewPool()
		p.Facts = append(p.Facts, *named("norm_of_some_model", classify.CategoryNorm))
		model := p.modelID(modelLine{line: "m.py:1 forward"})
		index := newSiteIndex(p, []*Trace{{Acts: []Activity{{Site: SiteFromPrefill + 1, Stage: c.launched, Model: model, End: 10}}}}, anyKernel)
		w := &Trace{Acts: []Activity{{Stage: c.stage, Replay: c.replay}}}
		(&attribution{pool: p}).attributeTrace(w, twinTable{}, index, newSiteIndex(p, nil, anyKernel))
		if got := p.Models[w.Acts[0].Model]; got.line == "" || got.prefill != c.marked {
			t.Errorf("launched in stage %d, run in %d, replayed %v: %q, marked %v; want %v", c.launched, c.stage, c.replay, got.line, got.prefill, c.marked)
		}
	}
}

// TestPrefillFunctionsAreTakenBack: a decode's replay has no line in a function that the server has for prefills.
func TestPrefillFunctionsAreTakenBack(t *testing.T) {
	p := NewPool()
	line, other := p.Sites.ID("a.py:1 forward_extend"), p.Sites.ID("a.py:2 forward")
	w := &Trace{Acts: []Activity{
		{Site: line, Stage: StageDecode, Replay: true}, {Site: other, Stage: StageDecode, Replay: true}, {Site: line, Stage: StageDecode}, {Site: line, Stage: StagePrefill, Replay: true},
	}}
	(&attribution{pool: p, formal: []*Trace{w}}).dropPrefillLines()
	for i, want := range []int32{SiteFromPrefill, other, line, line} {
		if got := w.Acts[i].Site; got != want {
			t.Errorf("activity %d: %q, want %q", i, p.Sites.Texts[got], p.Sites.Texts[want])
		}
	}
	m := p.modelForDecode(p.modelID(modelLine{line: "a.py:1 forward_extend", Module: "M"}))
	if got := p.Models[m].String(); got != FromPrefill {
		t.Errorf("a model's line in it: %q", got)
	}
	m = p.modelForDecode(p.modelID(modelLine{line: "a.py:2 forward"}))
	if got := p.Models[m].String(); got != "a.py:2 forward (from prefill)" {
		t.Errorf("another line: %q", got)
	}
	if got := p.modelForDecode(0); got != 0 {
		t.Errorf("no line became %q", p.Models[got].String())
	}
}

// TestStepsAreCounted: a step of several GPUs counts once, steps that do not say their size, or not the same, have none; what
// launched nothing, has no stage or stands for a trace without steps is none. The stage with most steps is the main one.
func TestStepsAreCounted(t *testing.T) {
	const decode, prefill = layer.StageDecode, layer.StagePrefill
	pass := func(step int, stage layer.Stage, batch int) layer.ForwardPass {
		return layer.ForwardPass{Step: step, Stage: stage, Batch: batch, Kernels: 1}
	}
	empty, whole := pass(9, decode, 8), pass(9, decode, 8)
	empty.Kernels, whole.PassEvidence = 0, WholeTrace
	for _, c := range []struct {
		what         string
		passes       []layer.ForwardPass
		steps, batch int
		main         int8
	}{
		{"none", nil, 0, 0, NoStage},
		{"one", []layer.ForwardPass{pass(0, decode, 8)}, 1, 8, StageDecode},
		{"equal ones", []layer.ForwardPass{pass(0, decode, 8), pass(1, decode, 8), pass(2, decode, 8)}, 3, 8, StageDecode},
		{"of unequal size", []layer.ForwardPass{pass(0, decode, 8), pass(1, decode, 4), pass(2, decode, 8)}, 3, 0, StageDecode},
		{"of a size not known", []layer.ForwardPass{pass(0, decode, -1), pass(1, decode, -1)}, 2, 0, StageDecode},
		{"the first not known", []layer.ForwardPass{pass(0, decode, -1), pass(1, decode, 1)}, 2, 0, StageDecode},
		{"of two GPUs", []layer.ForwardPass{pass(1, decode, 8), pass(1, decode, 8)}, 1, 8, StageDecode},
		{"without work", []layer.ForwardPass{pass(0, decode, 8), empty}, 1, 8, StageDecode},
		{"without steps", []layer.ForwardPass{whole}, 0, 0, NoStage},
		{"without a stage", []layer.ForwardPass{pass(0, layer.StageUnknown, 8)}, 0, 0, NoStage},
		{"more of a prefill", []layer.ForwardPass{pass(0, decode, 8), pass(1, prefill, 2), pass(2, prefill, 2)}, 1, 8, StagePrefill},
		{"the first of equals", []layer.ForwardPass{pass(0, decode, 8), pass(1, prefill, 2)}, 1, 8, StagePrefill},
		{"speculation is decode", []layer.ForwardPass{pass(0, layer.StageVerify, 8), pass(1, layer.StageDraft, 8)}, 2, 8, StageDecode},
	} {
		a := &layer.Analysis{Devices: []layer.Device{{Passes: c.passes}}}
		s := &Stages{Pass: map[trace.DeviceID][]int8{}}
		for i := range c.passes {
			s.Pass[0] = append(s.Pass[0], stageIndex(c.passes[i].Stage))
		}
		if got := s.countSteps(a)[StageDecode]; got.Steps != c.steps || got.Batch != c.batch {
			t.Errorf("%s: %+v, want %d steps of %d", c.what, got, c.steps, c.batch)
		}
		if c.main == NoStage {
			continue
		}
		if got := MainStage(a, "1-TP-0-EXTEND.trace.json.gz"); got != c.main {
			t.Errorf("%s: mainly stage %d, want %d", c.what, got, c.main)
		}
	}
	for path, want := range map[string]int8{"1-TP-0-DECODE.trace.json.gz": StageDecode, "x.json": NoStage} {
		if got := FileStage(path); got != want {
			t.Errorf("%s: stage %d, want %d", path, got, want)
		}
	}
	if got := MainStage(&layer.Analysis{}, "1-TP-0-DECODE.trace.json.gz"); got != StageDecode {
		t.Errorf("without steps: stage %d, want that of the file's name", got)
	}
}

// TestActivitiesOfQueues: those of the stage that is asked for, by stream.
func TestActivitiesOfQueues(t *testing.T) {
	w := &Trace{Queues: make([]Queue, 3), Acts: []Activity{{Queue: 0}, {Queue: 1}, {Queue: 1}, {Queue: 1, Stage: StageDecode}}}
	for stage, want := range map[int8][3]int{StagePrefill: {1, 2, 0}, StageDecode: {0, 1, 0}} {
		if got := [3]int(w.CountByQueue(int(stage))); got != want {
			t.Errorf("stage %d: %v, want %v", stage, got, want)
		}
	}
}

// TestSitesOfLaunches: each launch has the frames around itself, and of those the innermost that tells most; what was found for one launch holds for
// all kernels of its graph, and for no other launch.
func TestSitesOfLaunches(t *testing.T) {
	b := trace.NewBuilder(trace.Options{})
	at := int64(0)
	kernel := func(corr int, start int64, node uint64) {
		b.Add(trace.EventData{Kind: event.Kernel, Name: "k", Start: start, Duration: 1, Stream: 7, Correlation: uint64(corr), GraphNode: node})
	}
	for i, frames := range [][]string{
		{"threading.py(1): run", "vllm/a.py(2): outer", "torch/_ops.py(3): __call__"}, {"vllm/b.py(4): outer", "vllm/b.py(5): deep"}, {"threading.py(6): run"}, {"/srv/main.py(7): serve", "vllm/cuda_graph.py(8): replay"},
	} {
		for k, f := range frames {
			b.Add(trace.EventData{Kind: event.Frame, Name: f, Start: at + int64(k), Duration: 100 - 2*int64(k), Thread: 1, Device: trace.None, Stream: trace.None})
		}
		b.Add(trace.EventData{Kind: event.Runtime, Name: "cudaGraphLaunch", Start: at + 50, Duration: 5, Thread: 1, Correlation: uint64(i + 1), Device: trace.None, Stream: trace.None})
		at += 200
	}
	kernel(1, 1000, 0)
	kernel(2, 1010, 0)
	kernel(3, 1020, 0)
	kernel(3, 1030, 0)
	kernel(1, 1040, 0)
	kernel(4, 1050, 1)
	kernel(4, 1060, 2)
	kernel(2, 1070, 0)
	tr := built.Trace(b)
	p := NewPool()
	s := NewSites(p, tr)
	want := []string{"vllm/a.py:2 outer", "vllm/b.py:5 deep", Unresolved, Unresolved, "vllm/a.py:2 outer", "/srv/main.py:7 serve", "/srv/main.py:7 serve", "vllm/b.py:5 deep"}
	for range 2 {
		for e := range tr.Events(event.LaneGPU) {
			site, op, _ := s.Of(e)
			if got := p.Sites.Texts[site]; got != want[e.Index()] || p.Ops.Texts[op] != "cudaGraphLaunch" {
				t.Errorf("kernel %d: %s of %s, want %s", e.Index(), got, p.Ops.Texts[op], want[e.Index()])
			}
		}
	}
}

// TestCallStacksAsText: of older profilers the stack is a text, from the innermost frame on; the first of those that tell most counts.
func TestCallStacksAsText(t *testing.T) {
	for stack, want := range map[string]string{
		"threading.py(1): run": Unresolved, "torch/_ops.py(3): __call__;vllm/a.py(2): deep;vllm/a.py(1): outer": "vllm/a.py:2 deep", "train.py(1): main": "train.py:1 main", "": Unresolved,
	} {
		s := NewSites(NewPool(), built.Trace(trace.NewBuilder(trace.Options{})))
		for range 2 {
			if got := s.Pool.Sites.Texts[s.siteOfStack(stack)]; got != want {
				t.Errorf("%q: %s, want %s", stack, got, want)
			}
		}
	}
}

// TestSitesOfOpsOfOneLaunch: where the profiler names the op of each kernel, kernels of one launch have the frames around their own.
func TestSitesOfOpsOfOneLaunch(t *testing.T) {
	b := trace.NewBuilder(trace.Options{})
	host := func(kind event.Kind, name string, start, end int64, external uint64) {
		b.Add(trace.EventData{Kind: kind, Name: name, Start: start, Duration: end - start, Thread: 1, ExternalID: external, Device: trace.None, Stream: trace.None})
	}
	for i := range int64(2) {
		host(event.Frame, fmt.Sprintf("vllm/a.py(%d): forward", i+1), 100*i, 100*i+90, 0)
		host(event.Op, fmt.Sprint("op", i+1), 100*i+10, 100*i+80, uint64(i+1))
	}
	b.Add(trace.EventData{Kind: event.Runtime, Name: "cudaLaunchKernel", Start: 300, Duration: 5, Thread: 1, Correlation: 1, Device: trace.None, Stream: trace.None})
	for i, external := range []uint64{1, 2, 2, 1} {
		b.Add(trace.EventData{Kind: event.Kernel, Name: "k", Start: int64(1000 + 10*i), Duration: 5, Stream: 7, Correlation: 1, ExternalID: external})
	}
	tr := built.Trace(b)
	p := NewPool()
	s := NewSites(p, tr)
	for e := range tr.Events(event.LaneGPU) {
		n := e.Data().ExternalID
		site, op, from := s.Of(e)
		if got, want := p.Sites.Texts[site], fmt.Sprintf("vllm/a.py:%d forward", n); got != want || p.Ops.Texts[op] != fmt.Sprint("op", n) || from != FromOp {
			t.Errorf("kernel %d: %s of %s by %q, want %s of op%d", e.Index(), got, p.Ops.Texts[op], OriginNames[from], want, n)
		}
	}
}
