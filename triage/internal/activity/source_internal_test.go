package activity

import (
	"fmt"
	"testing"

	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// TestLinesByName: what has no twin has the line that alone launches its name in the mapping trace; what has a line
// keeps it, and no decode is given a prefill's.
func TestLinesByName(t *testing.T) {
	const line = SiteFromPrefill + 1
	const alone, twice, prefill, both, none = 0, 1, 2, 3, 4
	launched := func(kernel, site int32, stage int8) Activity {
		return Activity{Kernel: kernel, Site: site, Op: 1, Stage: stage, End: 10}
	}
	names := byName([]*Trace{{Acts: []Activity{launched(alone, line, StageMixed), launched(alone, line, StageMixed),
		launched(twice, line, StageMixed), launched(twice, line+1, StageMixed),
		launched(twice, line, StageMixed), launched(prefill, line, StagePrefill), launched(both, line, StagePrefill),
		launched(both, line, StageDecode), {Kernel: none, Site: line, Replay: true}, {Kernel: none}}}})
	for _, c := range []struct {
		what   string
		kernel int32
		stage  int8
		site   int32 // of the launch
		want   int32
	}{
		{"one line", alone, StageDecode, SiteUnresolved, line},
		{"two lines", twice, StageDecode, SiteUnresolved, SiteUnresolved},
		{"a line of its own", alone, StageDecode, line + 7, line + 7},
		{"a prefill's", prefill, StageDecode, SiteUnresolved, SiteUnresolved},
		{"a prefill's for a prefill", prefill, StagePrefill, SiteUnresolved, line},
		{"a line of both", both, StageDecode, SiteUnresolved, line},
		{"no launch of the name", none, StageDecode, SiteUnresolved, SiteUnresolved},
	} {
		p := NewPool()
		p.Sites.ID("a.py:1 forward")
		p.Sites.ID("a.py:2 forward")
		act := Activity{Kernel: c.kernel, Stage: c.stage, Site: c.site}
		(&attribution{pool: p}).attribute(nil, &act, names)
		if act.Site != c.want || (act.From == FromMapping) != (c.want == line) {
			t.Errorf("%s: site %d, found by %q; want %d", c.what, act.Site, OriginNames[act.From], c.want)
		}
	}
}

func TestInternedTexts(t *testing.T) {
	var p Interned
	if a, b, c := p.ID("x"), p.ID("y"), p.ID("x"); a != 0 || b != 1 || c != 0 || len(p.Texts) != 2 {
		t.Errorf("%d, %d and %d of %q", a, b, c, p.Texts)
	}
	if q := NewPool(); q.Sites.Texts[SiteUnresolved] != Unresolved || q.Sites.Texts[SiteReplay] != GraphReplay ||
		q.Sites.Texts[SiteFromPrefill] != FromPrefill || len(q.Models) != 1 {
		t.Errorf("sites %q, %d models", q.Sites.Texts, len(q.Models))
	}
}

// TestStepsAreCounted: a step of several GPUs counts once, steps that do not say their size, or not the same, have
// none; what launched nothing, has no stage or represents a trace without steps is none. The stage with most steps is
// the main one.
func TestStepsAreCounted(t *testing.T) {
	const decode, prefill = layer.StageDecode, layer.StagePrefill
	pass := func(step int, stage layer.Stage, batch int) layer.ForwardPass {
		return layer.ForwardPass{Step: step, Stage: stage, Batch: batch, Kernels: 1}
	}
	empty, whole := pass(9, decode, 8), pass(9, decode, 8)
	empty.Kernels, whole.PassEvidence = 0, layer.RungWhole
	for _, c := range []struct {
		what         string
		passes       []layer.ForwardPass
		steps, batch int
		main         int8
	}{
		{"none", nil, 0, 0, NoStage},
		{"one", []layer.ForwardPass{pass(0, decode, 8)}, 1, 8, StageDecode},
		{"equal ones", []layer.ForwardPass{pass(0, decode, 8), pass(1, decode, 8), pass(2, decode, 8)}, 3, 8,
			StageDecode},
		{"of unequal size", []layer.ForwardPass{pass(0, decode, 8), pass(1, decode, 4), pass(2, decode, 8)}, 3, 0,
			StageDecode},
		{"of a size not known", []layer.ForwardPass{pass(0, decode, -1), pass(1, decode, -1)}, 2, 0, StageDecode},
		{"the first not known", []layer.ForwardPass{pass(0, decode, -1), pass(1, decode, 1)}, 2, 0, StageDecode},
		{"of two GPUs", []layer.ForwardPass{pass(1, decode, 8), pass(1, decode, 8)}, 1, 8, StageDecode},
		{"without work", []layer.ForwardPass{pass(0, decode, 8), empty}, 1, 8, StageDecode},
		{"without steps", []layer.ForwardPass{whole}, 0, 0, NoStage},
		{"without a stage", []layer.ForwardPass{pass(0, layer.StageUnknown, 8)}, 0, 0, NoStage},
		{"more of a prefill", []layer.ForwardPass{pass(0, decode, 8), pass(1, prefill, 2), pass(2, prefill, 2)}, 1, 8,
			StagePrefill},
		{"the first of equals", []layer.ForwardPass{pass(0, decode, 8), pass(1, prefill, 2)}, 1, 8, StagePrefill},
		{"speculation is decode", []layer.ForwardPass{pass(0, layer.StageVerify, 8), pass(1, layer.StageDraft, 8)}, 2,
			8, StageDecode},
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

func analyzed(t *testing.T, tr *trace.Trace) *layer.Analysis {
	t.Helper()
	an, err := layer.Analyze(t.Context(), tr, layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return an
}

// TestSitesOfLaunches: each launch has the frames around itself, and of those the innermost specific one; what was
// found for one launch holds for all kernels of its graph, and for no other launch.
func TestSitesOfLaunches(t *testing.T) {
	b := trace.NewBuilder(trace.Options{})
	at := int64(0)
	kernel := func(corr int, start int64, node uint64) {
		b.Add(trace.EventData{Kind: event.Kernel, Name: "k", Start: start, Duration: 1, Stream: 7,
			Correlation: uint64(corr), GraphNode: node})
	}
	for i, frames := range [][]string{
		{"threading.py(1): run", "vllm/a.py(2): outer", "torch/_ops.py(3): __call__"},
		{"vllm/b.py(4): outer", "vllm/b.py(5): deep"}, {"threading.py(6): run"},
		{"/srv/main.py(7): serve", "vllm/cuda_graph.py(8): replay"},
	} {
		for k, f := range frames {
			b.Add(trace.EventData{Kind: event.Frame, Name: f, Start: at + int64(k), Duration: 100 - 2*int64(k),
				Thread: 1, Device: trace.None, Stream: trace.None})
		}
		b.Add(trace.EventData{Kind: event.Runtime, Name: "cudaGraphLaunch", Start: at + 50, Duration: 5, Thread: 1,
			Correlation: uint64(i + 1), Device: trace.None, Stream: trace.None})
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
	s := NewSites(p, analyzed(t, tr))
	want := []string{"vllm/a.py:2 outer", "vllm/b.py:5 deep", Unresolved, Unresolved, "vllm/a.py:2 outer",
		"/srv/main.py:7 serve", "/srv/main.py:7 serve", "vllm/b.py:5 deep"}
	for range 2 {
		for e := range tr.Events(event.LaneGPU) {
			site, op, _ := s.Of(e)
			if got := p.Sites.Texts[site]; got != want[e.Index()] || p.Ops.Texts[op] != "cudaGraphLaunch" {
				t.Errorf("kernel %d: %s of %s, want %s", e.Index(), got, p.Ops.Texts[op], want[e.Index()])
			}
		}
	}
}

// TestCallStacksAsText: of older profilers the stack is a text, from the innermost frame on; the first of the most
// specific counts.
func TestCallStacksAsText(t *testing.T) {
	for stack, want := range map[string]string{
		"threading.py(1): run": Unresolved, "torch/_ops.py(3): __call__;vllm/a.py(2): deep;vllm/a.py(1): outer": "vllm/a.py:2 deep", "train.py(1): main": "train.py:1 main", "": Unresolved,
	} {
		s := NewSites(NewPool(), analyzed(t, built.Trace(trace.NewBuilder(trace.Options{}))))
		for range 2 {
			if got := s.Pool.Sites.Texts[s.siteOfStack(stack)]; got != want {
				t.Errorf("%q: %s, want %s", stack, got, want)
			}
		}
	}
}

// TestSitesOfOpsOfOneLaunch: where the profiler names the op of each kernel, kernels of one launch have the frames
// around their own.
func TestSitesOfOpsOfOneLaunch(t *testing.T) {
	b := trace.NewBuilder(trace.Options{})
	host := func(kind event.Kind, name string, start, end int64, external uint64) {
		b.Add(trace.EventData{Kind: kind, Name: name, Start: start, Duration: end - start, Thread: 1,
			ExternalID: external, Device: trace.None, Stream: trace.None})
	}
	for i := range int64(2) {
		host(event.Frame, fmt.Sprintf("vllm/a.py(%d): forward", i+1), 100*i, 100*i+90, 0)
		host(event.Op, fmt.Sprint("op", i+1), 100*i+10, 100*i+80, uint64(i+1))
	}
	b.Add(trace.EventData{Kind: event.Runtime, Name: "cudaLaunchKernel", Start: 300, Duration: 5, Thread: 1,
		Correlation: 1, Device: trace.None, Stream: trace.None})
	for i, external := range []uint64{1, 2, 2, 1} {
		b.Add(trace.EventData{Kind: event.Kernel, Name: "k", Start: int64(1000 + 10*i), Duration: 5, Stream: 7,
			Correlation: 1, ExternalID: external})
	}
	tr := built.Trace(b)
	p := NewPool()
	s := NewSites(p, analyzed(t, tr))
	for e := range tr.Events(event.LaneGPU) {
		n := e.ExternalID()
		site, op, from := s.Of(e)
		if got, want := p.Sites.Texts[site], fmt.Sprintf("vllm/a.py:%d forward", n); got != want ||
			p.Ops.Texts[op] != fmt.Sprint("op", n) || from != FromOp {
			t.Errorf("kernel %d: %s of %s by %q, want %s of op%d", e.Index(), got, p.Ops.Texts[op], OriginNames[from],
				want, n)
		}
	}
}

// TestOperatorsOfCompiledCode: without a line the operator is named in the module that was compiled; a prefill's lines
// and what has a line are not.
func TestOperatorsOfCompiledCode(t *testing.T) {
	p := NewPool()
	operator := p.Operators.ID("gate_up_proj")
	for _, c := range []struct {
		line     layer.ModelLine
		operator int32
		want     string
	}{
		{layer.ModelLine{Module: "LlamaForCausalLM_0/LlamaMLP_3/GraphModule_1"}, operator,
			"LlamaForCausalLM/LlamaMLP.gate_up_proj"},
		{layer.ModelLine{Module: "GraphModule_1"}, operator, "gate_up_proj"},
		{layer.ModelLine{Module: "LlamaMLP_3"}, 0, "LlamaMLP"}, {layer.ModelLine{}, operator, ""},
		{layer.ModelLine{Line: "a.py:1 f", Module: "LlamaMLP_3"}, operator, "LlamaMLP"},
		{layer.ModelLine{From: layer.StagePrefill, Module: "LlamaMLP_3"}, operator, "LlamaMLP"},
	} {
		if got := p.Models[p.model(c.line, c.operator)].Module; got != c.want {
			t.Errorf("%+v: %q, want %q", c.line, got, c.want)
		}
	}
}
