package triage

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/internal/fusion"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/triage/internal/activity"
	"github.com/llmstrata/strata/triage/internal/chain"
)

// TestTimePerStep: the mean of complete passes of the stage, and per token where all of them say how many they process.
func TestTimePerStep(t *testing.T) {
	pass := func(ns trace.Time, tokens int64) layer.ForwardPass {
		return layer.ForwardPass{Kernels: 1, Start: 100, End: 100 + ns, Tokens: tokens}
	}
	cut, whole, empty := pass(1000, 1), pass(1000, 1), pass(1000, 1)
	cut.Partial, whole.PassEvidence, empty.Kernels = "start", layer.RungWhole, 0
	for _, c := range []struct {
		what        string
		passes      []layer.ForwardPass
		step, token int64
	}{
		{"none", nil, 0, 0}, {"one", []layer.ForwardPass{pass(80, 8)}, 80, 10},
		{"one token", []layer.ForwardPass{pass(80, 1)}, 80, 80},
		{"two", []layer.ForwardPass{pass(80, 8), pass(100, 1)}, 90, 20},
		{"tokens of one not known", []layer.ForwardPass{pass(80, 8), pass(100, -1)}, 90, 0},
		{"no tokens", []layer.ForwardPass{pass(80, 0)}, 80, 0},
		{"what is no step", []layer.ForwardPass{cut, whole, empty, pass(80, 8)}, 80, 10},
	} {
		a := &layer.Analysis{Devices: []layer.Device{{Passes: c.passes}}}
		stages := make([]int8, len(c.passes))
		s := &stageWork{parts: []*activity.Trace{{Analysis: a,
			Stages: &activity.Stages{Pass: map[trace.DeviceID][]int8{0: stages}}}}}
		if step, token := s.perStep(); step != c.step || token != c.token {
			t.Errorf("%s: %d ns a step, %d a token; want %d and %d", c.what, step, token, c.step, c.token)
		}
		if s.index = 1; len(c.passes) > 0 {
			if step, _ := s.perStep(); step != 0 {
				t.Errorf("%s: %d ns a step of another stage", c.what, step)
			}
		}
	}
}

// TestNoMeanOfSeveralModels: passes of a text encoder and of a denoiser have no mean; a draft is part of its model's
// step.
func TestNoMeanOfSeveralModels(t *testing.T) {
	for _, c := range []struct {
		models []layer.Model
		of     [2]int
		step   int64
	}{{[]layer.Model{{Name: "T5"}, {Name: "Flux"}}, [2]int{0, 1}, 0},
		{[]layer.Model{{Name: "T5"}, {Name: "Flux"}}, [2]int{1, 1}, 90},
		{[]layer.Model{{Name: "Qwen"}, {Name: "Eagle", Draft: true}}, [2]int{0, 1}, 90},
		{[]layer.Model{{Name: "Qwen"}}, [2]int{0, 0}, 90}} {
		passes := []layer.ForwardPass{{Kernels: 1, End: 80, Model: c.of[0]}, {Kernels: 1, End: 100, Model: c.of[1]}}
		a := &layer.Analysis{Devices: []layer.Device{{Passes: passes, Models: c.models}}}
		s := &stageWork{parts: []*activity.Trace{{Analysis: a,
			Stages: &activity.Stages{Pass: map[trace.DeviceID][]int8{0: {0, 0}}}}}}
		if step, _ := s.perStep(); step != c.step {
			t.Errorf("%v: %d ns a step, want %d", c, step, c.step)
		}
	}
	for second, step := range map[layer.Model]int64{{Name: "Flux"}: 0, {Name: "T5"}: 80, {Role: layer.RoleEncoder}: 80} {
		one := func(id trace.DeviceID, m layer.Model) layer.Device {
			return layer.Device{ID: id, Passes: []layer.ForwardPass{{Kernels: 1, End: 80}}, Models: []layer.Model{m}}
		}
		first := layer.Model{Name: "T5", Role: layer.RoleEncoder}
		a := &layer.Analysis{Devices: []layer.Device{one(0, first), one(1, second)}}
		s := &stageWork{parts: []*activity.Trace{{Analysis: a,
			Stages: &activity.Stages{Pass: map[trace.DeviceID][]int8{0: {0}, 1: {0}}}}}}
		if got, _ := s.perStep(); got != step {
			t.Errorf("a GPU of T5 and one of %v: %d ns a step, want %d", second, got, step)
		}
	}
}

// TestCategoriesOfAStage: by time, then name, with their launches.
func TestCategoriesOfAStage(t *testing.T) {
	p := activity.NewPool()
	for _, c := range []string{"norm", "gemm", "copy"} {
		p.Facts = append(p.Facts, activity.Kernel{Shown: activity.Class{Category: classify.Category(c)}})
	}
	s := &stageWork{ns: 100, rows: []row{{kernel: 0, ns: 20, launches: 1}, {kernel: 1, ns: 30, launches: 2},
		{kernel: 0, ns: 10, launches: 4}, {kernel: 2, ns: 40, launches: 1}}}
	var got []string
	for _, c := range s.categories(p) {
		got = append(got, fmt.Sprint(c.Category, " ", c.GPUTimeUS, " ", c.SharePct, " ", c.Launches))
	}
	if text, want := strings.Join(got, ", "), "copy 0.04 40 1, gemm 0.03 30 2, norm 0.03 30 5"; text != want {
		t.Errorf("%s, want %s", text, want)
	}
}

// TestActivitiesOfAStage: rows by time, those outside of passes counted apart with the first of them, and the call
// that replays most of a row's time.
func TestActivitiesOfAStage(t *testing.T) {
	p := activity.NewPool()
	p.Facts, p.Labels = []activity.Kernel{{Canonical: "a"}, {Canonical: "b"}, {Canonical: "c"}}, []string{"a", "b", "c"}
	x, y := p.Sites.ID("x"), p.Sites.ID("y")
	act := func(kernel int32, length int64, at int32) activity.Activity {
		return activity.Activity{Kernel: kernel, End: length, Replay: at != activity.SiteUnresolved, ReplayedAt: at}
	}
	w := &activity.Trace{Acts: []activity.Activity{act(0, 10, x), act(1, 30, activity.SiteUnresolved), act(0, 5, y),
		act(0, 5, y), act(2, 30, activity.SiteUnresolved), act(0, 7, activity.SiteUnresolved)}}
	w.Acts[1].Pass, w.Acts[4].Pass = trace.None, trace.None
	w.Acts = append(w.Acts, activity.Activity{Kernel: 0, End: 1, Stage: 1})
	list := splitStages(p, []*activity.Trace{w})
	if len(list) != 2 || list[0].index != 0 || list[1].index != 1 || list[1].acts != 1 {
		t.Fatalf("%d stages: %+v", len(list), list)
	}
	s := list[0]
	if s.acts != 6 || s.ns != 87 || s.outside != 2 || s.outsideNS != 60 || p.Name(s.stray) != "b" ||
		s.replays[0] != 20 {
		t.Errorf("%d launches of %d ns, %d of %d ns outside, the first is %s; %d ns are replayed", s.acts, s.ns,
			s.outside, s.outsideNS, p.Name(s.stray), s.replays[0])
	}
	var got []string
	for i := range s.rows {
		r := s.kernelRow(p, &s.rows[i])
		got = append(got, fmt.Sprint(r.Kernel, " ", r.GPUTimeNS, " ", r.Launches, " ", r.Replayed, " ", r.ReplayedAt))
		if s.rowOf[s.rows[i].kernel] != int32(i) {
			t.Errorf("row %d is said to be %d", i, s.rowOf[s.rows[i].kernel])
		}
	}
	if text, want := strings.Join(got, ", "), "b 30 1 0 , c 30 1 0 , a 27 4 3 x"; text != want {
		t.Errorf("%s, want %s", text, want)
	}
}

// TestPartsOfARow: launches of one site, op, operator and line of the model are one part, the lowest confidence counts.
func TestPartsOfARow(t *testing.T) {
	p := activity.NewPool()
	p.Facts = kernels(1)
	site, op, operator := p.Sites.ID("x"), p.Ops.ID("o"), p.Operators.ID("q")
	p.Models = append(p.Models, p.Models[0])
	w := &activity.Trace{}
	for range 2 {
		w.Acts = append(w.Acts, activity.Activity{End: 50, Sure: 0.9}, activity.Activity{End: 40, Site: site, Sure: 1},
			activity.Activity{End: 30, Op: op}, activity.Activity{End: 20, Operator: operator},
			activity.Activity{End: 10, Model: 1})
	}
	w.Acts[0].Sure = 0.5
	var got []string
	for _, st := range splitStages(p, []*activity.Trace{w})[0].rows[0].sites {
		got = append(got, fmt.Sprint(st.Site, st.Op, st.Operator, st.Model, " ", st.Ns, " ", st.Launches, " ", st.Sure))
	}
	if s, want := strings.Join(got, ", "), fmt.Sprintf("0 0 0 0 100 2 0.5, %d 0 0 0 80 2 1, 0 1 0 0 60 2 0, 0 0 1 0 40 2 0, 0 0 0 1 20 2 0", site); s != want {
		t.Errorf("%s, want %s", s, want)
	}
}

// TestFilesOfModels: those of servers and libraries among the frames, each once.
func TestFilesOfModels(t *testing.T) {
	for frames, want := range map[string]string{
		"": "", "models/llama.py(1): f": "llama", "vllm/models/qwen3.py(1): f|vllm/models/qwen3.py(9): g|vllm/models/llama.py(1): f": "llama qwen3", "vllm/models/utils.py(1): f": "", "vllm/layers/qwen3.py(1): f": "",
	} {
		b := trace.NewBuilder(trace.Options{})
		for i, f := range strings.Split(frames, "|") {
			b.Add(trace.EventData{Kind: event.Frame, Name: f, Start: int64(10 * i), Duration: 5, Thread: 1,
				Device: trace.None, Stream: trace.None})
		}
		a := &analysis{formal: []*activity.Trace{{Trace: built.Trace(b)}}}
		if a.findModelFiles(); a.modelFiles != want {
			t.Errorf("%s: %q, want %q", frames, a.modelFiles, want)
		}
	}
}

// TestModelLinesOfARow: two at most, a second one from one percent on, what has none left out but counted.
func TestModelLinesOfARow(t *testing.T) {
	for _, c := range []struct {
		ns   []int64 // of the models 0, which is none, 1, 2, 3
		want string
	}{
		{[]int64{0, 0, 0, 0}, "m1 0"}, {[]int64{50, 50}, "m1 50"}, {[]int64{0, 20, 50, 30}, "m2 50, m3 30"},
		{[]int64{0, 99, 1}, "m1 99, m2 1"}, {[]int64{0, 991, 9}, "m1 99.1"}, {[]int64{995, 5}, "m1 0.5"},
		{[]int64{9}, ""},
	} {
		p := activity.NewPool()
		r := &row{}
		for i, ns := range c.ns {
			m := p.Models[0]
			if i > 0 {
				m.Module = fmt.Sprint("m", i)
				p.Models = append(p.Models, m)
			}
			r.sites = append(r.sites, activity.SiteTime{Model: int32(i), Ns: ns})
		}
		var got []string
		for _, l := range r.modelLines(p, anyOperator) {
			got = append(got, fmt.Sprint(l.Module, " ", l.SharePct))
		}
		if s := strings.Join(got, ", "); s != c.want {
			t.Errorf("%d ns: %q, want %q", c.ns, s, c.want)
		}
	}
	p, r := sites(activity.SiteTime{Operator: 1, Model: 1, Ns: 10}, activity.SiteTime{Operator: 2, Model: 1, Ns: 30})
	p.Models = append(p.Models, p.Models[0])
	if l := r.modelLines(p, 2); len(l) != 1 || l[0].SharePct != 100 {
		t.Errorf("of one operator: %+v", l)
	}
}

// TestCellsOfModelLines: the innermost two modules, the file's name alone where there is little room, and the modules
// where there is no line.
func TestCellsOfModelLines(t *testing.T) {
	const line, prefill = "a/b/qwen2.py:91 forward", "a/b/qwen2.py:91 forward (from prefill)"
	for _, c := range []struct {
		full             bool
		location, module string
		want             string
	}{
		{true, line, "A/B/C", line + " in B/C"}, {true, line, "C", line + " in C"}, {true, line, "", line},
		{true, "", "A/B/C", "B/C"}, {false, "", "A/B/C", "B/C"}, {true, prefill, "", prefill},
		{false, line, "A/B/C", "qwen2.py:91 forward"}, {false, prefill, "", "*qwen2.py:91 forward"},
		{false, "x.py:1 f", "", "x.py:1 f"}, {false, "from prefill", "", "from prefill"},
	} {
		list := []Location{{Location: c.location, Module: c.module, SharePct: 100}}
		if got := modelLines(list, c.full); got != c.want {
			t.Errorf("%v, %q in %q: %q, want %q", c.full, c.location, c.module, got, c.want)
		}
	}
	if got := modelLines(nil, true); got != "" {
		t.Errorf("%q of no line", got)
	}
}

// TestHeadingsOfAReport: one title, its parts below it, stages below those, and none that Markdown does not know.
func TestHeadingsOfAReport(t *testing.T) {
	var b strings.Builder
	if err := (&Report{Stages: []StageReport{{PassStage: layer.StageDecode}}}).WriteMarkdown(&b); err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(b.String()) {
		if strings.HasPrefix(line, "#") {
			got = append(got, strings.TrimSpace(line))
		}
	}
	want := []string{"# Triage View"}
	for _, part := range []string{"Kernel Table", "Operators", "Exposure", "Overlap Opportunity Table",
		"Fuse Opportunity Table"} {
		want = append(want, "## "+part, "### decode")
	}
	if want = append(want, "## Summary"); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestPlatforms: that of the launches of any part.
func TestPlatforms(t *testing.T) {
	for _, c := range []struct {
		hip, cuda []bool
		want      string
	}{{nil, nil, ""}, {[]bool{false}, []bool{false}, ""}, {[]bool{true}, []bool{true}, "rocm"},
		{[]bool{false, true}, []bool{true, false}, "rocm"}, {[]bool{false, false}, []bool{false, true}, "cuda"}} {
		s := &stageWork{}
		for i := range c.hip {
			s.parts = append(s.parts, &activity.Trace{Hip: c.hip[i], Cuda: c.cuda[i]})
		}
		if got := s.platform(); got != c.want {
			t.Errorf("HIP %v, CUDA %v: %q, want %q", c.hip, c.cuda, got, c.want)
		}
	}
}

// TestPathsOfModels: the code of a model that is known has a path or not; of one that is not known it cannot be said.
func TestPathsOfModels(t *testing.T) {
	for model, want := range map[string]FuseState{"org/Qwen3-8B": StateAvailable, "org/Llama": StateModel,
		"": StateUnknown} {
		a := &analysis{pool: activity.NewPool(), report: &Report{Model: model, Framework: "vLLM"}}
		if got, _, _ := a.state(&fusion.Pattern{Switch: "--x",
			Requires: fusion.Requirements{Models: []string{"qwen3"}}}, a.setting(fusion.Setting{}, 0)); got != want {
			t.Errorf("model %q: %s, want %s", model, got, want)
		}
	}
}

// TestActiveRows: one of a kernel that is in use, from the bar on; one kernel that two patterns name is one row.
func TestActiveRows(t *testing.T) {
	const rest = `, "origin": "mainline", "frameworks": ["vllm"], "candidate_paths": ["p"], "rationale": "r"`
	for _, c := range []struct {
		patterns string
		launches int
		bar      float64
		want     string
	}{
		{`{"pattern": "one", "active": ["fused_norm"]` + rest + `}`, 5, 0, "one 5 [2]"},
		{`{"pattern": "one", "active": ["fused_norm"]` + rest + `}`, 1, 0, "one 1 [0]"},
		{`{"pattern": "one", "active": ["fused_norm"]` + rest + `}`, 5, 50, "one 5 [2]"},
		{`{"pattern": "one", "active": ["fused_norm"]` + rest + `}`, 5, 50.1, ""},
		{`{"pattern": "one", "active": ["other"]` + rest + `}`, 5, 0, ""},
		{`{"pattern": "one", "active_steps": ["norm"]` + rest + `}`, 5, 0, "one 5 [2]"},
		{`{"pattern": "one", "active": ["fused_norm"]` + rest + `}, {"pattern": "two", "active": ["fused_norm"]` +
			rest + `}`, 5, 0, "one 5 [2]"},
		{`{"pattern": "one", "active": ["fused_norm"], "requires": {"platforms": ["rocm"]}` + rest + `}`, 5, 0, ""},
		{`{"pattern": "one"` + rest + `}`, 5, 0, ""},
	} {
		reg, err := fusion.Read([]byte(`{"as_of": "2026-01-01", "steps": [{"step": "norm", "names": ["fused_norm"]}], "patterns": [` + c.patterns + `]}`))
		if err != nil {
			t.Fatal(err)
		}
		p := activity.NewPool()
		n := classify.Parse("fused_norm")
		p.Facts, p.Labels = []activity.Kernel{{Canonical: "fused_norm", Parsed: &n, Words: n.Words(),
			Facts: &classify.Facts{}}},
			[]string{"fused_norm"}
		w := &activity.Trace{Queues: make([]activity.Queue, 1)}
		for i := range c.launches {
			w.Acts = append(w.Acts, activity.Activity{Event: int32(i), Start: int64(20 * i), End: int64(20*i + 10)})
		}
		a := &analysis{pool: p, registry: reg, formal: []*activity.Trace{w}, report: &Report{},
			steps: chain.NewRecogniser(reg, p)}
		a.MinSharePct = c.bar
		s := &stageWork{ns: 100, parts: a.formal}
		var got []string
		for _, r := range a.activeRows(s, chain.SequencesOf(a.steps, s.parts, 0), fusion.Setting{Platform: "cuda"}) {
			got = append(got, fmt.Sprint(r.Pattern, " ", r.Occurrences, " ", r.ExampleKernels))
		}
		if text := strings.Join(got, ", "); text != c.want {
			t.Errorf("%s, %d launches, bar %v: %q, want %q", c.patterns, c.launches, c.bar, text, c.want)
		}
	}
}

// TestEvidenceOfAFuseRow: launches of each kernel, those of a path in use by time, those of a chain in its order.
func TestEvidenceOfAFuseRow(t *testing.T) {
	for kind, want := range map[FuseKind]string{InUse: "b 0.02 1, a 0.01 2", Split: "a 0.01 2, b 0.02 1"} {
		p := activity.NewPool()
		p.Facts, p.Labels = []activity.Kernel{{Canonical: "a"}, {Canonical: "b"}}, []string{"a", "b"}
		a := &analysis{pool: p, formal: []*activity.Trace{{Acts: []activity.Activity{{End: 5}, {Kernel: 1, End: 20},
			{End: 5}}}}}
		refs := []chain.Ref{{Act: 0}, {Act: 1}, {Act: 2}}
		var got []string
		for _, e := range a.fuseRow(&stageWork{ns: 100}, &fusion.Pattern{}, kind, refs, refs, 1, 30).Evidence {
			got = append(got, fmt.Sprint(e.Kernel, " ", e.GPUTimeUS, " ", e.Launches))
		}
		if s := strings.Join(got, ", "); s != want {
			t.Errorf("%s: %s, want %s", kind, s, want)
		}
	}
}

// TestEvidenceOfManyNames: a row of as many names as launches has each of them. Comparing each with each took 20 s;
// [groups] looks them up, so a name costs less than one allocation, and of many names no more than of few.
func TestEvidenceOfManyNames(t *testing.T) {
	testdata.ManyInputs(t)
	work := func(n int) float64 {
		p := activity.NewPool()
		p.Facts, p.Labels = kernels(n), make([]string, n)
		w := &activity.Trace{Acts: make([]activity.Activity, n)}
		refs := make([]chain.Ref, n)
		for i := range n {
			w.Acts[i], refs[i].Act = activity.Activity{Kernel: int32(i), End: 1}, int32(i)
		}
		a := &analysis{pool: p, formal: []*activity.Trace{w}}
		return testing.AllocsPerRun(1, func() {
			row := a.fuseRow(&stageWork{ns: int64(n)}, &fusion.Pattern{}, Split, refs, refs, 1, int64(n))
			if got := len(row.Evidence); got != n {
				t.Errorf("%d kernels, want %d", got, n)
			}
		})
	}
	for _, n := range []int{25_000, 100_000} {
		if got := work(n); got > float64(n)/10 {
			t.Errorf("%.0f allocations for %d names", got, n)
		}
	}
}

// TestBarOfOverlapRows: a bound of one percent of the steps is a row; more is not exposed than runs; a stream on
// which compute runs, in whatever stage, makes it serial.
func TestBarOfOverlapRows(t *testing.T) {
	for _, c := range []struct {
		bound, exposed int64
		queue          int32 // of compute; the exchange is on 1
		want           string
	}{
		{10, 40, 0, "P1 0.8 0.2"}, {9, 40, 0, ""}, {10, 60, 0, "P1 1 0"}, {10, 40, 1, "P2 0.8 0.2"},
		{10, 50, 0, "P1 1 0"},
	} {
		p, r := sites(activity.SiteTime{Site: activity.SiteFromPrefill + 1, Ns: 50})
		none := &classify.Facts{}
		p.Facts, p.Labels = []activity.Kernel{
			{Shown: activity.Class{Category: classify.CategoryCommunication}, Facts: none},
			{Shown: activity.Class{Category: classify.CategoryGEMM}, Facts: none}}, []string{"a", "b"}
		r.ns = 50
		w := &activity.Trace{Analysis: &layer.Analysis{}, Queues: make([]activity.Queue, 2),
			Acts: []activity.Activity{{Kernel: 1, Queue: c.queue, Stage: 1}, {Kernel: 0, Queue: 1},
				{Kernel: 0, Queue: 0, Stage: 1}}}
		s := &stageWork{ns: 90, rows: []row{*r}, rowOf: []int32{0, -1}, parts: []*activity.Trace{w},
			exposure: &Exposure{WallNS: 1000}, exchanges: map[int32]*exchange{0: {exposed: c.exposed, bound: c.bound}}}
		a := &analysis{pool: p, report: &Report{}, registry: &fusion.Registry{}}
		rows, _ := a.overlap(s)
		got := ""
		for _, o := range rows {
			got += fmt.Sprintf("%s %.4g %.4g", o.Priority, o.ExclusiveRatio, o.HiddenRatio)
		}
		if got != c.want {
			t.Errorf("%d of %d ns: %q, want %q", c.bound, c.exposed, got, c.want)
		}
	}
}

// TestBundlesOfFewReports: of one missing report the error names it; an entry called like a part of the bundle has an
// anchor of its own.
func TestBundlesOfFewReports(t *testing.T) {
	dir := t.TempDir()
	b := Bundle{Title: "x", Entries: []BundleEntry{{Path: filepath.Join(dir, "none.md")}}}
	if err := b.WriteMarkdown(io.Discard); err == nil || !strings.Contains(err.Error(), "none.md") {
		t.Errorf("one missing report: %v", err)
	}
	path := filepath.Join(dir, "a.md")
	text := "# Triage View\nModel: first\nModel: second\nFramework: vLLM\nFramework: SGLang\nStep (all): 10 ms\n| a |\nModel: third\n```\n# code\n```\n# after\n"
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	b.Entries = []BundleEntry{{Path: path, Label: "Contents"},
		{Path: path, Label: "Contents", Name: "Summary of all reports"}, {Path: path, Name: "other"}}
	b.TOC = true
	var out strings.Builder
	if err := b.WriteMarkdown(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"- [Contents](#contents-1)\n  - [vLLM](#vllm)\n  - [Summary of all reports](#summary-of-all-reports)\n- [first](#first)\n  - [other](#other)\n", "\n```\n# code\n```\n#### after\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if n := strings.Count(out.String(), "\n## Contents\n"); n != 2 {
		t.Errorf("%d headings of a contents, want that of the table and one of both reports", n)
	}
	if strings.Contains(out.String(), "Generated") {
		t.Error("a bundle of no time says when it was made")
	}
	b = Bundle{Title: "x", Entries: []BundleEntry{{Path: path}}}
	out.Reset()
	if err := b.WriteMarkdown(&out); err != nil || strings.Contains(out.String(), "Contents") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// TestLaunchesOfAReport: the activities of the stage that is asked for; none of a stage that there is not, or of a
// report that was read.
func TestLaunchesOfAReport(t *testing.T) {
	b := trace.NewBuilder(trace.Options{})
	b.Add(trace.EventData{Kind: event.Frame, Name: "/srv/main.py(5): serve", Start: 0, Duration: 100, Thread: 1,
		Device: trace.None, Stream: trace.None})
	b.Add(trace.EventData{Kind: event.Runtime, Name: "cudaLaunchKernel", Start: 10, Duration: 5, Thread: 1,
		Correlation: 1, Device: trace.None, Stream: trace.None})
	b.Add(trace.EventData{Kind: event.Kernel, Name: "gemm", Start: 200, Duration: 10, Stream: 7, Correlation: 1})
	b.Add(trace.EventData{Kind: event.Kernel, Name: "copy", Start: 300, Duration: 10, Stream: 7})
	in, err := NewInput(context.Background(), []Source{{Trace: built.Trace(b), Path: "x"}}, nil, layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := Analyze(context.Background(), in, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := -1; i < 3; i++ {
		for l := range r.Launches(i) {
			got = append(got, fmt.Sprint(i, " ", l.Kernel, " ", l.Located, " ", l.Location))
			break
		}
	}
	for l := range r.Launches(0) {
		got = append(got, fmt.Sprint(l.Kernel, " ", l.Located))
	}
	if text, want := strings.Join(got, ", "), "0 gemm true /srv/main.py:5 serve, gemm true, copy false"; text != want {
		t.Errorf("%s, want %s", text, want)
	}
	for range (&Report{Stages: make([]StageReport, 1)}).Launches(0) {
		t.Error("a launch of a report that was not made here")
	}
	if fix := r.Stages[0].UnresolvedFix; !strings.Contains(fix, "launches or stacks") {
		t.Errorf("one frame is none: %s", fix)
	}
}

// TestHowLinesAreGot: a trace with one Python frame, or with call stacks in its ops, was recorded with stacks.
func TestHowLinesAreGot(t *testing.T) {
	const record = "record with call stacks"
	for _, c := range []struct {
		e    trace.EventData
		want bool
	}{
		{trace.EventData{Kind: event.Frame, Name: "/srv/main.py(5): serve", Duration: 100, Thread: 1,
			Device: trace.None, Stream: trace.None}, false},
		{trace.EventData{Kind: event.Op, Name: "aten::mm", CallStack: "a.py(1): f", Duration: 100, Thread: 1,
			Device: trace.None, Stream: trace.None}, false},
		{trace.EventData{Kind: event.Op, Name: "aten::mm", Duration: 100, Thread: 1, Device: trace.None,
			Stream: trace.None}, true},
	} {
		b := trace.NewBuilder(trace.Options{})
		b.Add(c.e)
		s := &stageWork{parts: []*activity.Trace{{Trace: built.Trace(b)}}}
		if _, got := (&analysis{report: &Report{}}).unresolved(s); strings.Contains(got, record) != c.want {
			t.Errorf("%s %q: %s", c.e.Name, c.e.CallStack, got)
		}
	}
}

// TestServerArgsOfBothNames: the newer names win where both are given.
func TestServerArgsOfBothNames(t *testing.T) {
	for text, want := range map[string]Server{
		`{"model_path": "a", "model": "b", "tp_size": 1, "tensor_parallel_size": 4}`: {Model: "a", TPSize: 1},
		`{"model": "b", "tensor_parallel_size": 4}`:                                  {Model: "b", TPSize: 4}, `{}`: {},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "server_args.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := ReadBeside(filepath.Join(dir, "x.json")); err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", text, got, err, want)
		}
	}
	for size, want := range map[int]int{0: 0, 1: 1, 8: 8, -1: 0} {
		a := &analysis{formal: []*activity.Trace{{Analysis: &layer.Analysis{},
			Trace: built.Trace(trace.NewBuilder(trace.Options{}))}}}
		a.TPSize = size
		if got := a.tensorParallel(); got != want {
			t.Errorf("%d ranks given: %d, want %d", size, got, want)
		}
	}
}

// TestExposedWithoutBound: the exposed communication that no compute of its layer could hide.
func TestExposedWithoutBound(t *testing.T) {
	x := &Exposure{Rows: []ExposureRow{{Category: "gemm", ExposedNS: 9},
		{Category: classify.CategoryCommunication, ExposedNS: 7, BoundNS: 3}}}
	if got := outsideLayers(x); got != 4 {
		t.Errorf("%d ns, want 4", got)
	}
}

// TestRowsByOperator: a kernel that works for two operators is two rows, one that works for one or none is one, by
// time.
func TestRowsByOperator(t *testing.T) {
	op := func(name string, ns int64) OperatorRow {
		return OperatorRow{Operator: name, GPUTimeNS: ns, Launches: 1}
	}
	s := StageReport{Kernels: []KernelRow{
		{Kernel: "two", GPUTimeUS: 0.05, GPUTimeNS: 50,
			Operators: []OperatorRow{op("p", 30), op(activity.NoOperator, 20)}},
		{Kernel: "one", GPUTimeUS: 0.04, GPUTimeNS: 40, Operators: []OperatorRow{op("q", 40)}},
		{Kernel: "none", GPUTimeUS: 0.01, GPUTimeNS: 10},
	}}
	var got []string
	for _, k := range s.ByOperator() {
		got = append(got, fmt.Sprint(k.Kernel, " ", k.Operator(), " ", k.GPUTimeNS))
	}
	if text, want := strings.Join(got, ", "), "one q 40, two p 30, two - 20, none - 10"; text != want {
		t.Errorf("%s, want %s", text, want)
	}
	if got := (&KernelRow{Operators: s.Kernels[0].Operators}).Operator(); got != "p" {
		t.Errorf("a row of an operator and none: %q", got)
	}
}

// TestStacksWithoutPrefill: functions that the server has for prefills are left out, what is around and inside of
// them stays.
func TestStacksWithoutPrefill(t *testing.T) {
	b := &profileBuilder{own: activity.NewPool()}
	for frames, want := range map[string]string{
		"": "", "main": "main", "main forward_extend kernel": "main kernel", "forward_extend": "",
		"main forward kernel": "main forward kernel", "forward_extend forward_extend kernel": "kernel",
	} {
		id := noStack
		for _, f := range strings.Fields(frames) {
			id = b.stack(id, b.own.Sites.ID("a.py:1 "+f))
		}
		var got []string
		for id = b.withoutPrefill(id); id != noStack; id = b.stacks.Key(int(id)).outer {
			got = append(got, strings.TrimPrefix(b.own.Sites.Texts[b.stacks.Key(int(id)).site], "a.py:1 "))
		}
		slices.Reverse(got)
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%q: %q, want %q", frames, s, want)
		}
	}
}

// kernels are so many kernels without any facts.
func kernels(n int) []activity.Kernel {
	out := make([]activity.Kernel, n)
	for i := range out {
		out[i].Facts = &classify.Facts{}
	}
	return out
}
