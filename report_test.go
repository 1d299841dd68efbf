package strata_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata"
	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/compare"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/layer/roofline"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
)

// reported opens a recording and reports on it.
func reported(t *testing.T, path string, o strata.ReportOptions) *strata.Report {
	t.Helper()
	rec, err := strata.Open(t.Context(), path, strata.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := strata.Analyze(t.Context(), rec, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestReportOfOnePassInAllForms: the eager pass of a model that is known. Its page
// leads from the pass to a line of the model's code, its text and its document
// name the operators with their floors.
func TestReportOfOnePassInAllForms(t *testing.T) {
	config, err := profile.LoadConfig(filepath.Join("testdata", "configs", "qwen3-8b.json"))
	if err != nil {
		t.Fatal(err)
	}
	var o strata.ReportOptions
	o.Layers.Config = config
	r := reported(t, testdata.Distilled(t, "sglang-qwen3-8b-extend-mi300.json.zst"), o)
	if len(r.Passes) != 1 || r.Passes[0].Layers != 36 || r.Passes[0].Tokens != 15360 || r.Passes[0].Floor <= 0 ||
		r.Passes[0].Floor >= r.Passes[0].Wall {
		t.Errorf("passes %+v, want one of 36 layers and 15 360 tokens, with a floor below its time", r.Passes)
	}
	for form, c := range map[string]struct {
		write func(*strings.Builder) error
		want  []string
	}{
		"page": {func(b *strings.Builder) error { return r.WriteHTML(b) }, []string{
			"What to do, largest first", "gate_up_proj", "down_proj", "floor: GEMMs (weights)",
			`class="timeline-data"`, `class="must"`, `class="win"`, `id="layers"`, `id="idle"`}},
		"text": {func(b *strings.Builder) error { return r.WriteText(b, strata.ReportText{All: true, Width: 140}) },
			[]string{"What matters", "gate_up_proj", "prefill"}},
		"colour": {func(b *strings.Builder) error { return r.WriteText(b, strata.ReportText{Color: true}) },
			[]string{"\x1b["}},
		"Markdown": {func(b *strings.Builder) error { return r.WriteText(b, strata.ReportText{Markdown: true}) },
			[]string{"## What matters", "| gate_up_proj |"}},
	} {
		var b strings.Builder
		if err := c.write(&b); err != nil {
			t.Fatal(err)
		}
		for _, want := range c.want {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s lacks %q", form, want)
			}
		}
	}
}

// TestReportAgainstAnOlderRun: which side is which, in the page, too; a run with
// itself has no difference.
func TestReportAgainstAnOlderRun(t *testing.T) {
	slow, fast := testdata.Distilled(t, "sglang-qwen3-30b-a3b-mi300-TP-0-DECODE.json.zst"),
		testdata.Distilled(t, "sglang-qwen3-30b-a3b-b300-TP-0-DECODE.json.zst")
	gate, err := compare.ParseGate("3%")
	if err != nil {
		t.Fatal(err)
	}
	against := func(now, before string) *strata.Report {
		old, err := strata.Open(t.Context(), before, strata.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return reported(t, now, strata.ReportOptions{Against: old, Gates: []compare.Gate{gate}})
	}
	for _, c := range []struct {
		now, before string
		outcome     compare.GateOutcome
	}{{slow, fast, compare.GateFailed}, {fast, slow, compare.GatePassed}, {fast, fast, compare.GatePassed}} {
		r := against(c.now, c.before)
		if r.Against == nil || len(r.Against.Gates) != 1 || r.Against.Gates[0].Outcome != c.outcome {
			t.Errorf("%s against %s: %+v, want %s", filepath.Base(c.now), filepath.Base(c.before), r.Against, c.outcome)
			continue
		}
		var page strings.Builder
		if err := r.WriteHTML(&page); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(page.String(), "Against "+filepath.Base(r.Against.A.Label)+": what changed") {
			t.Error("the page lacks the comparison")
		}
	}
}

// TestReportWithoutGPUWork: every form says so, and no list of the document is null.
func TestReportWithoutGPUWork(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cpu.json")
	writeFile(t, path, `{"schemaVersion":1,"traceEvents":[{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":1,"dur":5}]}`)
	r := reported(t, path, strata.ReportOptions{})
	const want = "No GPU activity was recorded."
	if r.Verdict != want {
		t.Errorf("%q, want %q", r.Verdict, want)
	}
	var text, page strings.Builder
	if err := r.WriteText(&text, strata.ReportText{Color: true}); err != nil || !strings.Contains(text.String(), want) {
		t.Errorf("the text is %q, %v", text.String(), err)
	}
	if err := r.WriteHTML(&page); err != nil || !strings.Contains(page.String(), want) {
		t.Errorf("the page lacks %q, %v", want, err)
	}
	doc, err := json.Marshal(r)
	if err != nil || strings.Contains(string(doc), "null") {
		t.Errorf("a null in %s, %v", doc, err)
	}
}

// TestReportSaysWhatIsLost: a trace without its last events is degraded, and that
// comes before all other findings.
func TestReportSaysWhatIsLost(t *testing.T) {
	var b bytes.Buffer
	if err := gen.Write(&b, gen.Demo()); err != nil {
		t.Fatal(err)
	}
	whole := b.Bytes()
	path := filepath.Join(t.TempDir(), "cut.json")
	writeFile(t, path, string(whole[:len(whole)*2/3]))
	r := reported(t, path, strata.ReportOptions{})
	if r.Health != trace.HealthDegraded || len(r.Findings) == 0 || r.Findings[0].Kind != finding.Health {
		t.Fatalf("health %v, findings %v; want a degraded trace, said first", r.Health, r.Findings)
	}
	var text strings.Builder
	if err := r.WriteText(&text, strata.ReportText{Color: true}); err != nil ||
		!strings.Contains(text.String(), fmt.Sprint(r.Health)) {
		t.Errorf("%v:\n%.500s", err, text.String())
	}
}

// TestReportOfAnotherModel: a config that contradicts the trace comes before what takes time, and no line says that none
// was found.
func TestReportOfAnotherModel(t *testing.T) {
	config, err := profile.ResolveConfig("llama-3.1-70b")
	if err != nil {
		t.Fatal(err)
	}
	r := reported(t, testdata.Shared(t, "traces/torch/sglang-qwen3-8b-decode-graph-mi300.json.gz"),
		strata.ReportOptions{Layers: layer.Options{Config: config}})
	if len(r.Findings) == 0 || r.Findings[0].Kind != finding.OtherModel {
		t.Fatalf("findings %v", r.Findings)
	}
	for i := range r.Findings {
		if f := &r.Findings[i]; strings.Contains(f.Evidence, "No model config was found") {
			t.Errorf("%s: %s", f.Text, f.Evidence)
		}
	}
	// Boundaries that the trace has no evidence of are a note, and the config of the model stays.
	if config, err = profile.ResolveConfig("qwen3-8b"); err != nil {
		t.Fatal(err)
	}
	r = reported(t, testdata.Shared(t, "traces/torch/sglang-qwen3-8b-decode-graph-mi300.json.gz"),
		strata.ReportOptions{Layers: layer.Options{Config: config, Boundaries: "modules"}})
	if !strings.Contains(strings.Join(r.Notes, ""), "needs module frames") {
		t.Errorf("notes %q", r.Notes)
	}
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Kind == finding.OtherModel || f.Kind == finding.NoFloor && f.Code != roofline.CodeCopies {
			t.Errorf("boundaries by modules: %s: %s", f.Text, f.Evidence)
		}
	}
}

// TestWhatDoubtsCausesOnly: work without launch calls is one finding, with one fix, and comes after what takes time;
// time outside of annotated steps is not mended by annotating them.
func TestWhatDoubtsCausesOnly(t *testing.T) {
	r := reported(t, testdata.Shared(t, "traces/torch/train-graphs-5streams-a100.json.gz"), strata.ReportOptions{})
	var about []string
	for i, f := range r.Findings {
		switch {
		case f.Kind == finding.Coverage:
			if !strings.HasPrefix(f.Do, "Record more steps") || !strings.Contains(f.Evidence, "before the first pass") {
				t.Errorf("%s, evidence %s", f.Do, f.Evidence)
			}
		case strings.Contains(f.Evidence, "launch call") && f.Measure == finding.NoMeasure:
			about = append(about, f.Code)
			if i == 0 || r.Findings[i-1].Kind == finding.Coverage {
				t.Errorf("finding %d is %s, before what takes time", i, f.Text)
			}
		}
	}
	if !slices.Equal(about, []string{string(trace.CodeOrphans)}) {
		t.Errorf("findings about launches: %v, want one", about)
	}
}

// TestReportOfSeveralModels: each model has its passes, its operators, and a step of its own that shares are of.
func TestReportOfSeveralModels(t *testing.T) {
	encoder := gen.Config{Seed: 3, Modules: true, Stacks: true,
		Arch:   gen.Arch{Family: "Bert", Layers: gen.Uniform(12, gen.Layer{}), Hidden: 512},
		Passes: []gen.Pass{{Prefills: 1, Tokens: 64}}}
	model := gen.Config{Seed: 4, Modules: true, Stacks: true,
		Arch:   gen.Arch{Family: "Llama", Layers: gen.Uniform(24, gen.Layer{}), Hidden: 4096},
		Passes: []gen.Pass{{Prefills: 1, Tokens: 2048}}}
	var b bytes.Buffer
	if err := gen.WriteInTurn(&b, time.Second, encoder, model, encoder, model); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "two.json")
	writeFile(t, path, b.String())
	r := reported(t, path, strata.ReportOptions{})
	if len(r.Passes) != 4 || r.Passes[0].Model == r.Passes[1].Model || r.Passes[0].Model != r.Passes[2].Model {
		t.Fatalf("passes %+v, want two models in turn", r.Passes)
	}
	told := map[int]bool{}
	for _, o := range r.Operators {
		told[o.Pass] = true
	}
	if len(told) != 2 {
		t.Errorf("operators of %d passes, want of one of each model", len(told))
	}
	largest := 0
	for _, f := range r.Found() {
		if f.Kind == finding.LargestOperator {
			largest++
			if want := float64(f.Total) / float64(r.Wall); f.Share < 0.999*want || f.Share > 1.001*want {
				t.Errorf("%s: %.3f of the steps, want %.3f", f.Text, f.Share, want)
			}
		}
	}
	if largest == 0 {
		t.Errorf("no operator is a finding: %+v", r.Findings)
	}
	one := map[int]time.Duration{} // of the listed operators, by pass
	for _, o := range r.Operators {
		one[o.Pass] += o.Time
	}
	light := r.Analyses().Light
	for _, f := range light.Findings {
		if f.Measure == finding.NoMeasure {
			continue
		}
		took, each := f.Each()
		if want := "per step of " + r.Passes[light.Steady].Model; !strings.HasPrefix(each, "per ") ||
			!strings.HasSuffix(each, strings.TrimPrefix(want, "per step")) || took > one[light.Steady] {
			t.Errorf("%s: %v %s, want %s", f.Text, took, each, want)
		}
		if want := float64(f.Total) / float64(r.Wall); f.Total != 2*took || f.Share < 0.999*want || f.Share > 1.001*want {
			t.Errorf("%s: %v, %.3f of the steps, want twice %v, %.3f", f.Text, f.Total, f.Share, took, want)
		}
	}
	var text strings.Builder
	if err := r.WriteText(&text, strata.ReportText{All: true}); err != nil {
		t.Fatal(err)
	}
	for _, row := range r.Analyses().Triage.Stages[0].Exposure.Rows[:3] { // the mean of unlike steps is that of none
		want := regexp.MustCompile(fmt.Sprintf(`%s +%.3f `, string(row.Category), float64(row.ExposedNS)/1e6))
		if !strings.Contains(text.String(), "Exposed (total ms)") || !want.MatchString(text.String()) {
			t.Errorf("no %s in:\n%s", want, text.String())
		}
	}
	var time, idle time.Duration // of the model that loses most
	host := r.Analyses().Host.Ranks[0]
	for _, p := range r.Passes {
		if p.Model == host.Mean.Model {
			time, idle = time+p.Wall, idle+p.Idle
		}
	}
	if m := host.Mean; m.Model == "" || m.WallNS != int64(time)/2 || m.HostNS == 0 {
		t.Errorf("mean step %+v, want one of %d ns, the mean of two of one model", m, time/2)
	}
	for _, f := range host.Findings {
		if f.Kind == finding.IdleTime && (f.Model == "" || f.PerStep > idle/2 || f.PerStep == 0) {
			t.Errorf("%s: %v per step of %q, want at most %v", f.Text, f.PerStep, f.Model, idle/2)
		}
	}
}

// TestDraftsAreInTheirTargetsSteps: means per step are over the target's passes in the report, triage and the host's
// verdict, and the time of a step has its drafts in it.
func TestDraftsAreInTheirTargetsSteps(t *testing.T) {
	run := func(layers int, passes ...gen.Pass) gen.Config {
		return gen.Config{Seed: 4, Arch: gen.Arch{Family: "Llama", Layers: gen.Uniform(layers, gen.Layer{}), Hidden: 4096},
			Passes: passes}
	}
	step := gen.Pass{Decodes: 8, Context: 500}
	target, draft := run(32, step), run(1, step)
	var b bytes.Buffer
	err := gen.WriteInTurn(&b, 20*time.Millisecond, target, draft, draft, target, draft, draft, target, draft, draft)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "drafts.json")
	writeFile(t, path, b.String())
	r := reported(t, path, strata.ReportOptions{})
	const steps = 3
	var time time.Duration
	for _, p := range r.Passes {
		time += p.Wall
	}
	if len(r.Passes) != 3*steps || r.Passes[1].Stage != layer.StageDraft || r.Passes[3].Stage == layer.StageDraft {
		t.Fatalf("passes %+v, want a target and two drafts in turn", r.Passes)
	}
	of := r.Analyses()
	if h := of.Host.Ranks[0]; h.Steps != steps || h.CompleteSteps != steps {
		t.Errorf("the host's verdict counts %d steps, %v complete ones", h.Steps, h.CompleteSteps)
	}
	if len(of.Triage.Stages) != 1 {
		t.Fatalf("%d stages, want the target's", len(of.Triage.Stages))
	}
	s := of.Triage.Stages[0]
	if x := s.Exposure; s.Steps != steps || x.Steps != steps || x.CompleteSteps != steps || s.StepNS != int64(time)/steps {
		t.Errorf("triage counts %d steps of %d ns, its exposure %d, %v complete ones; want %d of %d ns", s.Steps, s.StepNS,
			x.Steps, x.CompleteSteps, steps, int64(time)/steps)
	}
}

// TestReportWithoutDurations: where no GPU activity lasts, nothing is said of idle time; where one does, it is.
func TestReportWithoutDurations(t *testing.T) {
	for dur, want := range map[string]string{"0": "is unknown", "3": "The GPU "} {
		path := filepath.Join(t.TempDir(), "zero.json")
		writeFile(t, path, `{"traceEvents":[{"ph":"X","cat":"user_annotation","name":"step[DECODE bs=1]","pid":1,"tid":1,"ts":0,"dur":20},
			{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":1,"dur":2,"args":{"correlation":1}},
			{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":4,"dur":2,"args":{"correlation":2}},
			{"ph":"X","cat":"kernel","name":"gemm_kernel","pid":0,"tid":7,"ts":5,"dur":`+dur+`,"args":{"correlation":1,"device":0,"stream":7}},
			{"ph":"X","cat":"kernel","name":"gemm_kernel","pid":0,"tid":7,"ts":30,"dur":`+dur+`,"args":{"correlation":2,"device":0,"stream":7}}]}`)
		if got := reported(t, path, strata.ReportOptions{}).Verdict; !strings.Contains(got, want) {
			t.Errorf("dur %s: %q, want %q in it", dur, got, want)
		}
	}
}

// TestReportWithDoubtedIdleTime: where only copies were recorded, or times contradict themselves, nothing is said of
// what the GPU waits for, neither as the verdict nor for the host; where they do not, it is.
func TestReportWithDoubtedIdleTime(t *testing.T) {
	for _, c := range []struct {
		kind          string
		apart         int // from one kernel to the next
		verdict, host string
	}{
		{"kernel", 30, "The GPU ", "host overhead"},
		{"kernel", 1, "unknown: activities of the same stream overlap",
			"cannot be decided: activities of the same stream overlap"},
		{"gpu_memcpy", 30, "unknown: 4 copies and fills and no kernel", ""},
	} {
		path := filepath.Join(t.TempDir(), "doubted.json")
		var b strings.Builder
		for i := range 4 {
			fmt.Fprintf(&b, `{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":%d,"dur":2,"args":{"correlation":%d}},
				{"ph":"X","cat":"%s","name":"gemm_kernel","pid":0,"tid":7,"ts":%d,"dur":20,"args":{"correlation":%d,"device":0,"stream":7}},`, 1+c.apart*i, i, c.kind, 5+c.apart*i, i)
		}
		writeFile(t, path, `{"traceEvents":[`+b.String()+
			`{"ph":"X","cat":"user_annotation","name":"step[DECODE bs=1]","pid":1,"tid":1,"ts":0,"dur":60},
			{"ph":"X","cat":"user_annotation","name":"step[DECODE bs=1]","pid":1,"tid":1,"ts":60,"dur":60}]}`)
		r := reported(t, path, strata.ReportOptions{})
		if !strings.Contains(r.Verdict, c.verdict) || !strings.Contains(r.HostText, c.host) {
			t.Errorf("%s, %d µs apart: %q, host %q; want %q and %q in them", c.kind, c.apart, r.Verdict, r.HostText,
				c.verdict, c.host)
		}
	}
}

// TestReportOfACapture: where every step captures graphs, nothing is said of serving; and a host line that rests on a
// few kernels says so.
func TestReportOfACapture(t *testing.T) {
	for step, want := range map[string]string{"capture_16_DECODE": "captures graphs",
		"step[DECODE bs=16]": "The GPU "} {
		path := filepath.Join(t.TempDir(), "capture.json")
		event := `{"ph":"X","cat":"user_annotation","name":"%s","pid":1,"tid":1,"ts":%[2]d,"dur":40},
			{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":%[3]d,"dur":2,"args":{"correlation":%[3]d}},
			{"ph":"X","cat":"kernel","name":"gemm_kernel","pid":0,"tid":7,"ts":%[3]d,"dur":20,"args":{"correlation":%[3]d,"device":0,"stream":7}}`
		writeFile(t, path, `{"traceEvents":[`+fmt.Sprintf(event, step, 0, 5)+","+fmt.Sprintf(event, step, 50, 55)+"]}")
		r := reported(t, path, strata.ReportOptions{})
		if !strings.Contains(r.Verdict, want) || !strings.Contains(r.HostText,
			"low confidence: the window has only 2 kernels") {
			t.Errorf("%s: %q, want %q in it; host %q", step, r.Verdict, want, r.HostText)
		}
	}
}

// TestReportNamesTheGPU: of several GPUs the host line is about the one that loses most.
func TestReportNamesTheGPU(t *testing.T) {
	for gpus, want := range map[int]string{1: "", 2: "GPU 1 is affected most: "} {
		path := filepath.Join(t.TempDir(), "gpus.json")
		var b strings.Builder
		for gpu := range gpus {
			for i, at := range []int{0, 30 + 50*gpu} { // the second one waits longer
				fmt.Fprintf(&b, `{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":%[1]d,"ts":%[2]d,"dur":2,"args":{"correlation":%[3]d}},
					{"ph":"X","cat":"kernel","name":"gemm_kernel","pid":%[1]d,"tid":7,"ts":%[4]d,"dur":20,"args":{"correlation":%[3]d,"device":%[1]d,"stream":7}},`, gpu, at+1, 2*gpu+i, at+5)
			}
		}
		writeFile(t, path, `{"traceEvents":[`+strings.TrimSuffix(b.String(), ",")+"]}")
		if r := reported(t, path, strata.ReportOptions{}); strings.Contains(r.HostText, "affected most") != (want != "") ||
			!strings.HasPrefix(r.HostText, want) {
			t.Errorf("%d GPUs: host %q, want %q in front", gpus, r.HostText, want)
		}
	}
}

// TestReportOfAWindow: if passes cannot be separated, shares are of the window, and neither text nor page has steps.
func TestReportOfAWindow(t *testing.T) {
	for name, want := range map[string][2]string{
		"step[DECODE bs=1]": {"of step time", "per "},
		"my range":          {"of the window", "in the window"},
	} {
		path := filepath.Join(t.TempDir(), "window.json")
		writeFile(t, path, `{"traceEvents":[{"ph":"X","cat":"user_annotation","name":"`+name+
			`","pid":1,"tid":1,"ts":0,"dur":90},
			{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":1,"dur":2,"args":{"correlation":1}},
			{"ph":"X","cat":"kernel","name":"gemm_kernel","pid":0,"tid":7,"ts":5,"dur":9,"args":{"correlation":1,"device":0,"stream":7}},
			{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":70,"dur":2,"args":{"correlation":2}},
			{"ph":"X","cat":"kernel","name":"gemm_kernel","pid":0,"tid":7,"ts":75,"dur":9,"args":{"correlation":2,"device":0,"stream":7}}]}`)
		r := reported(t, path, strata.ReportOptions{})
		if got := r.Verdict; !strings.Contains(got, want[0]) {
			t.Errorf("%s: %q, want %q in it", name, got, want[0])
		}
		var text strings.Builder
		if err := r.WriteText(&text, strata.ReportText{All: true, Width: 200}); err != nil {
			t.Fatal(err)
		}
		var page strings.Builder
		if err := r.WriteHTML(&page); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(page.String(), want[1]) ||
			strings.Contains(page.String(), "per step") != (want[0] == "of step time") {
			t.Errorf("%s: the page does not say %q", name, want[1])
		}
		sizes := 0
		for line := range strings.Lines(text.String()) {
			if !strings.Contains(line, ": up to ") && !strings.Contains(line, ": takes ") {
				continue
			}
			if sizes++; !strings.Contains(line, want[1]) {
				t.Errorf("%s: %q, want %q in it", name, line, want[1])
			}
		}
		if sizes == 0 {
			t.Errorf("%s: no finding with a size:\n%s", name, text.String())
		}
	}
}

// TestSharesOfCutPasses: a pass that the window cuts runs a part of its operators; a finding's share is the table's
// all the same.
func TestSharesOfCutPasses(t *testing.T) {
	prefill := gen.Pass{Prefills: 1, Tokens: 2048}
	var b bytes.Buffer
	c := gen.Config{Seed: 4, Modules: true, Stacks: true,
		Arch:   gen.Arch{Family: "Llama", Layers: gen.Uniform(24, gen.Layer{}), Hidden: 4096},
		Passes: []gen.Pass{prefill, prefill}, CutAtEnd: 0.4}
	if err := gen.Write(&b, c); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "cut.json")
	writeFile(t, path, b.String())
	r := reported(t, path, strata.ReportOptions{})
	if len(r.Passes) != 2 || r.Passes[1].Layers >= r.Passes[0].Layers {
		t.Fatalf("passes %+v, want the second one shorter", r.Passes)
	}
	told := 0
	for _, f := range r.Found() {
		if f.Kind == finding.LargestOperator {
			told++
			if want := float64(f.Total) / float64(r.Wall); f.Share < 0.999*want || f.Share > 1.001*want {
				t.Errorf("%s: %.4f of the steps, want %.4f", f.Text, f.Share, want)
			}
		}
	}
	if told == 0 {
		t.Error("no operator is reported")
	}
}

// TestReportAndHostCountTheSameSteps: the report's time of the steps is the host verdict's, so that its findings are
// shares of the same time, and the largest cause of idle time is among them. Host work between short steps belongs to
// the steps, too.
func TestReportAndHostCountTheSameSteps(t *testing.T) {
	var paths []string
	for _, k := range testdata.DistilledTraces(t) {
		paths = append(paths, testdata.Distilled(t, k.Name))
	}
	slow := gen.Config{Seed: 5, Arch: gen.Arch{Layers: gen.Uniform(6, gen.Layer{}), Hidden: 2048}, Dialect: gen.SGLang,
		Passes: []gen.Pass{{Decodes: 4, Context: 100}}}
	var b bytes.Buffer
	if err := gen.WriteInTurn(&b, 20*time.Millisecond, slow, slow, slow, slow); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "slow.json")
	writeFile(t, path, b.String())
	for _, path := range append(paths, path) {
		rec, err := strata.Open(t.Context(), path, strata.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := strata.Analyze(t.Context(), rec, strata.ReportOptions{})
		if err != nil {
			t.Fatal(err)
		}
		a, err := layer.Analyze(t.Context(), rec.Parts[0].Trace, layer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		d, err := a.Device(nil)
		if err != nil {
			t.Fatal(err)
		}
		v, err := hostoverhead.Analyze(t.Context(), []*layer.Analysis{a}, hostoverhead.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, rank := range v.Ranks {
			if rank.Device != d.ID {
				continue
			}
			if share := float64(r.Wall) / float64(rank.Headroom.WallNS); share < 0.98 || share > 1.02 {
				t.Errorf("%s: steps of %v, the host verdict has %v", filepath.Base(path), r.Wall,
					time.Duration(rank.Headroom.WallNS))
			}
			told := 0
			for _, f := range r.Findings {
				if f.Kind == finding.IdleTime {
					told++
				}
			}
			large := 0
			for _, c := range rank.Idle {
				if float64(c.StepsNS) > 0.015*float64(rank.Headroom.WallNS) {
					large++
				}
			}
			if told < large {
				t.Errorf("%s: %d findings about idle time, and %d causes take more than 1.5%% of the steps",
					filepath.Base(path), told, large)
			}
		}
	}
}

// TestReportOfUnknownOperators: where no rule knows an operator the table has ops with their sizes, or kernels; what
// is large is no finding by itself.
func TestReportOfUnknownOperators(t *testing.T) {
	r := reported(t, testdata.Distilled(t, "train-graphs-a100.json.zst"), strata.ReportOptions{})
	for _, f := range r.Findings {
		if f.Kind == finding.LargestOperator {
			t.Errorf("%q is no advice", f.Text)
		}
	}
	var b strings.Builder
	if err := r.WriteText(&b, strata.ReportText{}); err != nil ||
		strings.Contains(b.String(), "Nothing tells what its ") || len(r.Operators) < 5 {
		t.Errorf("%v; want a table of kernels:\n%s", err, b.String())
	}
	lines := strings.Split(b.String(), "\n")
	for i, l := range lines {
		title := i == 0 || strings.HasPrefix(lines[i-1], "Operators of ") // the first line of a broken title
		if l = strings.TrimSpace(l); l == "%)" || !title && strings.HasPrefix(l, "% ") || strings.HasPrefix(l, "ms ") {
			t.Errorf("line %d begins with the unit of the number before it: %q", i, l)
		}
	}
}

// TestNoFindingAsksForAConfig: on no shared trace is it a finding that an operator is the largest and that a config
// would say more. Every evidence has short sentences, which a person has read: without its figures and names it is in
// testdata/evidence.golden (STRATA_LONG=1 go test . -run NoFindingAsks -update).
func TestNoFindingAsksForAConfig(t *testing.T) {
	testdata.ManyInputs(t)
	const path = "testdata/evidence.golden"
	golden, err := os.ReadFile(path)
	if err != nil && !*updateMessages {
		t.Fatal(err)
	}
	number, pause := regexp.MustCompile(`[0-9]+(?:[.,][0-9]+)*(?: (?:ms|µs|ns|kB|MB|GB|TB))?`),
		regexp.MustCompile(`[.;:] `)
	names := regexp.MustCompile(`(peak|part): .*(\(N%\)|N%(?:, N more)?)\.( |$)`)
	operators := regexp.MustCompile(`Operators: .*?\. ([A-Z])`)
	between := regexp.MustCompile(`N(?:–| to −)N`)
	word := regexp.MustCompile(`(?:^| )[A-Za-z]+\b`)
	reports, evidence := 0, map[string]bool{}
	for _, path := range testdata.Spread(t, testdata.SharedGlob(t, "traces/torch/*.json.gz")) {
		r := reported(t, path, strata.ReportOptions{})
		reports++
		for _, f := range r.Findings {
			if f.Kind == finding.LargestOperator || strings.Contains(f.Advice.Do, "config.json") ||
				strings.Contains(f.Text, "config.json") {
				t.Errorf("%s: %s: %s %s", filepath.Base(path), f.Kind, f.Text, f.Advice.Do)
			}
			if f.Evidence == "" {
				continue
			}
			line := between.ReplaceAllString(number.ReplaceAllString(f.Evidence, "N"), "N")
			line = f.Kind.String() + ": " + names.ReplaceAllString(operators.ReplaceAllString(line, "Operators: …. $1"),
				"$1: … N%.$3")
			if evidence[line] = true; !*updateMessages && !strings.Contains(string(golden), line+"\n") {
				t.Errorf("%s: nobody has read: %s", filepath.Base(path), line)
			}
			for _, part := range pause.Split(f.Evidence, -1) {
				if n := len(word.FindAllString(part, -1)); n > 25 {
					t.Errorf("%s: %d words without a pause: %s", f.Kind, n, part)
				}
			}
		}
	}
	if *updateMessages {
		lines := slices.Sorted(maps.Keys(evidence))
		if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if reports < 3 {
		t.Errorf("%d reports, want three and more", reports)
	}
}

// TestReportLeadsWithTheWaterfall: the rows of the speed of light come before the findings, as that program prints
// them.
func TestReportLeadsWithTheWaterfall(t *testing.T) {
	tr, err := trace.Open(t.Context(), testdata.Distilled(t, "sglang-qwen3-8b-decode-mi300.json.zst"), trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	a, err := layer.Analyze(t.Context(), tr, layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	light, err := roofline.Analyze(t.Context(), a, roofline.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var report, alone strings.Builder
	if err := reported(t, testdata.Distilled(t, "sglang-qwen3-8b-decode-mi300.json.zst"),
		strata.ReportOptions{}).WriteText(&report, strata.ReportText{Width: 200}); err != nil {
		t.Fatal(err)
	}
	if err := light.WriteWaterfall(&alone); err != nil {
		t.Fatal(err)
	}
	lead, _, _ := strings.Cut(report.String(), "What matters")
	for _, line := range strings.Split(strings.TrimSpace(alone.String()), "\n") {
		if name, _, _ := strings.Cut(line, "  "); !strings.Contains(lead, name) {
			t.Errorf("the report lacks %q before its findings:\n%s", name, lead)
		}
	}
	sum := time.Duration(0)
	for _, it := range light.Recoverable {
		sum += it.Time
	}
	for i := range light.Passes {
		if p := &light.Passes[i]; p.Index == light.Steady {
			for _, s := range p.Waterfall {
				if strings.HasPrefix(s.Name, "floor:") {
					sum += s.Time
				}
			}
			if sum != p.Wall {
				t.Errorf("floors and what is above them are %v of %v", sum, p.Wall)
			}
		}
	}
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestPlacesOfIdleTime: the longest gap of this trace, 463 ms, is between its only step and the calls before it. The
// 274 µs of its cause are lost elsewhere.
func TestPlacesOfIdleTime(t *testing.T) {
	r := reported(t, testdata.Distilled(t, "sglang-qwen3-8b-decode-mi300.json.zst"), strata.ReportOptions{})
	seen := 0
	for _, f := range r.Findings {
		if f.Kind != finding.IdleTime {
			continue
		}
		seen++
		if rest, ok := strings.CutPrefix(f.Where, "longest: "); ok {
			number, _, _ := strings.Cut(rest, " at ")
			number = strings.ReplaceAll(number, " ", "")
			if d, err := time.ParseDuration(number); err != nil || d > f.PerStep+time.Microsecond { // as printed
				t.Errorf("%q: %s, of %v in the only step (%v)", f.Text, f.Where, f.PerStep, err)
			}
		}
	}
	if seen == 0 {
		t.Error("no idle time was found")
	}
}
