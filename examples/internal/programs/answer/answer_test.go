package answer_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/examples/internal/apptest"
	"github.com/llmstrata/strata/examples/internal/programs/answer"
	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
)

// ask runs the program and reads its document.
func ask(t *testing.T, code int, args ...string) *answer.Answer {
	t.Helper()
	r := apptest.Run(t, answer.Program(), append(args, "--format", "json")...)
	if r.Code != code {
		t.Fatalf("%v: exit code %d, want %d: %s", args, r.Code, code, r.Stderr)
	}
	var a answer.Answer
	if err := json.Unmarshal([]byte(r.Stdout), &a); err != nil {
		t.Fatalf("%v in %.300s", err, r.Stdout)
	}
	return &a
}

const (
	decode = "traces/torch/sglang-qwen3-8b-decode-graph-mi300.json.gz"
	mixed  = "traces/torch/vllm-gptoss20b-mixed-piecewise-mi300.json.gz"
)

// TestChecklistOfTheDemo: every item of the checklist that the trace can answer is filled in, and the figures agree.
func TestChecklistOfTheDemo(t *testing.T) {
	a := ask(t, app.ExitOK)
	t.Run("model", func(t *testing.T) {
		if !a.Model.Known || a.Model.Name.Value == "" || a.Model.Layers.Value != "8" || a.Model.Architecture == nil ||
			a.Model.Config.Value == "" {
			t.Errorf("%+v", a.Model)
		}
	})
	t.Run("environment", func(t *testing.T) {
		e := a.Environment
		if !e.Known || e.Framework.Value != "SGLang" || !strings.Contains(e.GPU.Value, "H100") || e.GPUs != 1 ||
			e.TP.Value != "2" || e.EP.From == "" {
			t.Errorf("%+v", e)
		}
	})
	t.Run("validity", func(t *testing.T) {
		v := a.Validity
		if v.Health != trace.HealthOK || v.InPasses < 0.99 || v.InLayers <= 0.9 || v.InLayers > 1 ||
			v.WithOperator <= 0.9 || v.Capture.Value != "" || v.Capture.From == "" {
			t.Errorf("%+v", v)
		}
	})
	t.Run("passes", func(t *testing.T) {
		if !a.Passes.Known || len(a.Passes.Stages) != 2 {
			t.Fatalf("%+v", a.Passes)
		}
		d := a.Passes.Stages[0]
		if d.Stage != layer.StageDecode || d.Count != 4 || d.Whole != 4 || d.Steady < 0 || d.SteadyWhy == "" ||
			d.SteadyWall <= 0 || d.Batch != 8 || d.Tokens != 8 || d.Idle <= 0 ||
			d.Least == nil || !(*d.Least <= *d.Median && *d.Median <= *d.Most) || *d.Least <= 0 {
			t.Errorf("%+v", d)
		}
		if p := a.Passes.Stages[1]; p.Stage != layer.StagePrefill || p.Count != 1 || p.Tokens != 640 {
			t.Errorf("%+v", p)
		}
	})
	t.Run("representative layers", func(t *testing.T) {
		if !a.Layers.Known || len(a.Layers.Rows) < 2 {
			t.Fatalf("%+v", a.Layers)
		}
		for _, l := range a.Layers.Rows {
			if l.Bottleneck == "" || l.BottleneckShare <= 0 || l.BottleneckShare > 1 || l.Wall <= 0 || l.Count == 0 ||
				l.Type == "" || !slices.Contains(a.Next, l.Command) {
				t.Errorf("%+v", l)
			}
		}
	})
	t.Run("kernel table", func(t *testing.T) {
		k := a.Kernels
		if !k.Known || len(k.Rows) == 0 || k.Total != len(k.Rows)+k.Omitted || (k.Omitted > 0) != (k.OmittedNS > 0) {
			t.Fatalf("%+v", k.Cut)
		}
		if !slices.IsSortedFunc(k.Rows, func(x, y answer.KernelRow) int { return int(y.Time - x.Time) }) {
			t.Error("the rows are not in order of time")
		}
		for _, r := range k.Rows {
			if r.Kernel == "" || r.Category == "" || r.Launches == 0 || r.Share <= 0 || r.Share > 1 || r.Source == "" {
				t.Errorf("%+v", r)
			}
		}
	})
	t.Run("overlap table", func(t *testing.T) {
		if !a.Overlap.Known || len(a.Overlap.Rows) == 0 {
			t.Fatalf("%+v", a.Overlap)
		}
		for _, r := range a.Overlap.Rows {
			if r.Kernel == "" || r.Gain > r.Time || r.Hidden < 0 || r.Hidden > 1 {
				t.Errorf("%+v", r)
			}
		}
	})
	t.Run("fuse table", func(t *testing.T) {
		if !a.Fuse.Known || len(a.Fuse.Rows) == 0 || a.Fuse.Rows[0].Gain == 0 || a.Fuse.Rows[0].Do == "" {
			t.Fatalf("%+v", a.Fuse)
		}
	})
	t.Run("host", func(t *testing.T) {
		h := a.Host
		if !h.Known || h.Verdict != hostoverhead.Yes || h.Text == "" || h.Share <= 0 || h.Idle <= 0 ||
			h.Idle >= h.Wall || len(h.Causes) == 0 {
			t.Errorf("%+v", h)
		}
	})
	t.Run("speed of light", func(t *testing.T) {
		if !a.Light.Known || len(a.Light.Passes) != 2 || len(a.Light.Operators) == 0 {
			t.Fatalf("%+v", a.Light)
		}
		for _, p := range a.Light.Passes {
			if p.Floor <= 0 || p.Floor > p.Wall || p.Share <= 0 || p.Basis == "" {
				t.Errorf("%+v", p)
			}
		}
	})
	t.Run("findings and next commands", func(t *testing.T) {
		if a.Conclusion != answer.Found || len(a.Findings) < 3 || len(a.Other) != 0 || a.Why != "" || len(a.Next) < 3 {
			t.Errorf("%s %q %d findings, %d others, %v", a.Conclusion, a.Why, len(a.Findings), len(a.Other), a.Next)
		}
		var last time.Duration
		for i, f := range a.Findings {
			if i > 0 && f.Total > last {
				t.Errorf("finding %d is larger than the one before", i)
			}
			last = f.Total
		}
	})
	t.Run("unknown items", func(t *testing.T) {
		for name, why := range map[string]string{"ranks": a.Ranks.Why, "compared": a.Compared.Why} {
			if why == "" {
				t.Errorf("%s: no reason", name)
			}
		}
	})
}

// TestColdPass: the first pass of a trace that takes longer than the others is named, and is not in their median.
func TestColdPass(t *testing.T) {
	a := ask(t, app.ExitOK)
	var cold []answer.ColdPass
	for _, s := range a.Passes.Stages {
		for _, c := range s.Cold {
			if s.Median == nil || c.Wall <= *s.Median || c.Note == "" || c.Pass == s.Steady {
				t.Errorf("%+v against %v", c, s.Median)
			}
			cold = append(cold, c)
		}
	}
	for _, path := range testdata.Smallest(testdata.SharedGlob(t, "traces/torch/*.json.gz"), 12) {
		for _, s := range askAny(t, path).Passes.Stages {
			cold = append(cold, s.Cold...)
		}
	}
	t.Logf("%d cold passes", len(cold))
}

// askAny is ask for a trace that may answer nothing.
func askAny(t *testing.T, args ...string) *answer.Answer {
	t.Helper()
	r := apptest.Run(t, answer.Program(), append(args, "--format", "json")...)
	if r.Code != app.ExitOK && r.Code != app.ExitInconclusive {
		t.Fatalf("%v: exit code %d: %s", args, r.Code, r.Stderr)
	}
	var a answer.Answer
	if err := json.Unmarshal([]byte(r.Stdout), &a); err != nil {
		t.Fatalf("%v in %.300s", err, r.Stdout)
	}
	if (a.Conclusion == answer.CannotTell) != (r.Code == app.ExitInconclusive) ||
		(a.Why != "") != (a.Conclusion == answer.CannotTell) {
		t.Errorf("%v: %s %q, exit code %d", args, a.Conclusion, a.Why, r.Code)
	}
	return &a
}

// TestEveryQuestionOnRealTraces: each question has an answer or a reason, its findings are about it, and every
// unknown item has a reason.
func TestEveryQuestionOnRealTraces(t *testing.T) {
	traces := []string{testdata.Shared(t, decode), testdata.Shared(t, mixed),
		testdata.Shared(t, "traces/torch/no-rank-no-gpu.json.gz")}
	if testdata.Long() {
		traces = append(testdata.SharedGlob(t, "traces/torch/*.json.gz"),
			testdata.SharedGlob(t, "traces/nsys/*.sqlite")...)
	}
	allowed := map[answer.Question][]finding.Kind{answer.Host: {finding.IdleTime}, answer.Fusion: {finding.Fusion},
		answer.Roofline: {finding.AboveFloor, finding.SmallKernels, finding.NoFloor}}
	for _, path := range traces {
		for _, q := range answer.Questions() {
			args := []string{path, "--question", string(q)}
			if q == answer.Regress {
				args = append(args, "--against", path)
			}
			a := askAny(t, args...)
			for name, i := range map[string]answer.Item{"model": a.Model.Item, "environment": a.Environment.Item,
				"passes": a.Passes.Item, "layers": a.Layers.Item, "kernels": a.Kernels.Item,
				"overlap": a.Overlap.Item, "fuse": a.Fuse.Item, "host": a.Host.Item, "light": a.Light.Item,
				"ranks": a.Ranks.Item, "compared": a.Compared.Item} {
				if !i.Known && i.Why == "" {
					t.Errorf("%s %s: %s is unknown without a reason", path, q, name)
				}
			}
			for _, f := range a.Findings {
				if k := allowed[q]; k != nil && !slices.Contains(k, f.Kind) && f.Kind.Info().Doubt == 0 {
					t.Errorf("%s: a finding %s", q, f.Kind)
				}
			}
			if k := allowed[q]; k != nil && q != answer.Host { // the answer is of the question's own findings, largest first
				biggest, none := strings.Index(a.Text, "Biggest opportunity"), strings.Index(a.Text, "of step time")
				i := slices.IndexFunc(a.Findings, func(f finding.Finding) bool { return slices.Contains(k, f.Kind) })
				if a.Conclusion == answer.Found && (biggest >= 0 || i < 0 || !strings.HasPrefix(a.Text, a.Findings[i].Text)) ||
					a.Conclusion == answer.Healthy && biggest >= 0 && none > biggest {
					t.Errorf("%s %s: %s, %q", path, q, a.Conclusion, a.Text)
				}
			}
			if q == answer.Regress && slices.ContainsFunc(a.Findings,
				func(f finding.Finding) bool { return f.Measure == finding.Changed }) {
				t.Errorf("%s against itself changed: %+v", path, a.Findings)
			}
		}
	}
}

// TestRegressNeedsAnotherRun: without one the question cannot be answered, and the reason names the flag.
func TestRegressNeedsAnotherRun(t *testing.T) {
	a := ask(t, app.ExitInconclusive, "--question", "regress")
	if a.Conclusion != answer.CannotTell || !strings.Contains(a.Why, "--against") ||
		!strings.HasPrefix(a.Text, "Undecided") {
		t.Errorf("%s %q %q", a.Conclusion, a.Why, a.Text)
	}
	if ask(t, app.ExitOK, "--question", "regress", "--allow-inconclusive").Conclusion != answer.CannotTell {
		t.Error("the flag changes the answer")
	}
}

// TestCaptureIsPartOfTheValidity: the answer has what capture.json says of the window; an INVALID window is no answer.
func TestCaptureIsPartOfTheValidity(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "decode")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "1-TP-0.trace.json.gz")
	if err := os.WriteFile(path, testdata.ReadFile(t, testdata.Shared(t, decode)), 0o666); err != nil {
		t.Fatal(err)
	}
	for verdict, code := range map[string]int{"VALID": app.ExitOK, "UNCHECKED": app.ExitOK,
		"INVALID": app.ExitInconclusive} {
		manifest := `{"schema": "strata.capture/1", "stages": [{"stage": "decode", "verdict": "` + verdict +
			`", "dir": "/moved/decode", "traces": [{"path": "/moved/decode/1-TP-0.trace.json.gz"}],
			"checks": [{"name": "stages", "outcome": "fail", "detail": "the passes are prefills", "fix": "send shorter prompts"}]}]}`
		if err := os.WriteFile(filepath.Join(dir, "..", "capture.json"), []byte(manifest), 0o666); err != nil {
			t.Fatal(err)
		}
		a := ask(t, code, path)
		if a.Validity.Capture.Value != verdict || len(a.Validity.Problems) != 1 ||
			!strings.Contains(a.Validity.Problems[0], "send shorter prompts") {
			t.Errorf("%+v", a.Validity)
		}
		if verdict == "INVALID" && !strings.Contains(a.Why, "INVALID") {
			t.Errorf("%q", a.Why)
		}
	}
	for _, other := range []string{"", "{", `[]`, `{"stages": [{"traces": [{"path": "other.json"}]}]}`} {
		if err := os.WriteFile(filepath.Join(dir, "..", "capture.json"), []byte(other), 0o666); err != nil {
			t.Fatal(err)
		}
		if a := ask(t, app.ExitOK, path); a.Validity.Capture.Value != "" {
			t.Errorf("%q: %+v", other, a.Validity.Capture)
		}
	}
}

// TestMarkdown: the same answer for people, within a budget, too.
func TestMarkdown(t *testing.T) {
	r := apptest.MustRun(t, answer.Program())
	for _, want := range []string{"# Why is it slow?\n\nThe GPU is ", "## Validity\n\n- **Health**: ",
		"## Findings\n\n1. ",
		"\n    - fix: ", "## Model", "## Environment", "## Passes\n\n| Stage |", "## Representative layers\n\n| Type |",
		"## Kernels\n\n| Stage | Kernel |", "## Communication that compute could hide\n\n|", "## Known fusions\n\n|",
		"## Host\n\nYES: ", "## Speed of light\n\n|", "## Ranks\n\nOne rank was read", "## Next commands\n\n- `strata "} {
		if !strings.Contains(r.Stdout, want) {
			t.Errorf("no %q", want)
		}
	}
	for _, format := range []string{"md", "json"} {
		r = apptest.MustRun(t, answer.Program(), "--budget", "8k", "--format", format)
		left := map[string]string{"md": "## Left out\n\n| List |", "json": `"truncated"`}[format]
		if n := len([]rune(r.Stdout)); n > 8000 || n < 4000 || !strings.Contains(r.Stdout, left) ||
			!strings.Contains(r.Stdout, "Kernel launch latency") {
			t.Errorf("%s: %d characters:\n%.300s", format, n, r.Stdout)
		}
	}
}

// TestTerminal: a terminal gets text, which has no markup.
func TestTerminal(t *testing.T) {
	r := apptest.MustRun(t, answer.Program(), "--width", "100")
	if !strings.HasPrefix(r.Stdout, "Why is it slow?\nThe GPU is ") || strings.Contains(r.Stdout, "| ---") ||
		strings.Contains(r.Stdout, "&lt;") || strings.Contains(r.Stdout, "## ") {
		t.Errorf("%.500s", r.Stdout)
	}
}

// TestConfigOfAnotherModel: a config that was given and contradicts the trace is not said to be missing.
func TestConfigOfAnotherModel(t *testing.T) {
	a := ask(t, app.ExitInconclusive, "--question", "roofline", "--config", "llama-2-7b", testdata.Shared(t, decode))
	for _, from := range []string{a.Model.Config.From, a.Light.Why} {
		if !strings.HasPrefix(from, "the config or number of layers that was given contradicts the trace") {
			t.Error(from)
		}
	}
	if len(a.Findings) == 0 || a.Findings[0].Kind != finding.OtherModel {
		t.Errorf("%+v", a.Findings)
	}
	for _, f := range a.Findings {
		if f.Kind == finding.NoFloor && strings.Contains(f.Evidence, "No model config was found") {
			t.Error(f.Evidence)
		}
	}
}
