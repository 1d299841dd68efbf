package programs

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/llmstrata/strata"
	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/examples/internal/apptest"
	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer/finding"
)

// TestReportScreens: the demo at the widths that people have. No line is wider but
// those of one word that cannot be broken.
func TestReportScreens(t *testing.T) {
	for _, width := range []int{80, 120, 200} {
		text := apptest.MustRun(t, Report(), "--width", fmt.Sprint(width)).Stdout
		apptest.Golden(t, fmt.Sprintf("testdata/report/demo-%d.golden", width), text)
		for _, line := range strings.Split(text, "\n") {
			if n := utf8.RuneCountInString(line); n > width && len(strings.Fields(line)) > 1 {
				t.Errorf("width %d: a line has %d characters: %s", width, n, line)
			}
		}
	}
	apptest.Golden(t, "testdata/report/demo.md", apptest.MustRun(t, Report(), "--format", "markdown").Stdout)
}

// TestReportColourOnlyOnATerminal: what goes to a file or a pipe has no escapes.
func TestReportColourOnlyOnATerminal(t *testing.T) {
	if text := apptest.MustRun(t, Report()).Stdout; strings.Contains(text, "\x1b") {
		t.Error("a pipe gets colours")
	}
}

func reportDocument(t *testing.T, args ...string) strata.Report {
	t.Helper()
	var r strata.Report
	text := apptest.MustRun(t, Report(), append(args, "--format", "json")...).Stdout
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text, ": null") {
		t.Errorf("%q: the document has a null", args)
	}
	return r
}

// TestReportFindingsOfADecode: the numbers of a pass whose work was reckoned by hand,
// ranked by size, each with place and next command.
func TestReportFindingsOfADecode(t *testing.T) {
	path := testdata.Shared(t, "traces/torch/sglang-qwen3-8b-decode-graph-mi300.json.gz")
	r := reportDocument(t, path, "--config", testdata.Shared(t, "configs/qwen3-8b.json"))
	if r.Schema != "strata.report/2" || r.Framework != "SGLang" || len(r.Passes) != 1 ||
		r.Passes[0].Wall.Microseconds() != 10450 || r.Passes[0].Floor.Microseconds() != 3768 {
		t.Errorf("schema %q, framework %q, passes %+v", r.Schema, r.Framework, r.Passes)
	}
	if len(r.Findings) < 5 {
		t.Fatalf("%d findings, want at least five", len(r.Findings))
	}
	kinds := map[finding.Kind]bool{}
	for i, f := range r.Findings {
		kinds[f.Kind] = true
		if f.Measure == finding.NoMeasure { // a doubt is about the whole window
			continue
		}
		if f.Where == "" || !strings.HasPrefix(f.Next, "strata ") || !strings.Contains(f.Next, path) ||
			f.PerStep <= 0 || f.Share <= 0 || f.Share > 1 {
			t.Errorf("finding %d lacks something: %+v", i, f)
		}
		// there is one pass; what only takes time follows what can be won
		if i > 0 && f.Measure == r.Findings[i-1].Measure && f.PerStep > r.Findings[i-1].PerStep {
			t.Errorf("finding %d is larger than the one before", i)
		}
	}
	for _, want := range []finding.Kind{finding.SmallKernels, finding.AboveFloor, finding.IdleTime} {
		if !kinds[want] {
			t.Errorf("no finding of kind %s", want)
		}
	}
}

// TestReportHostIsNotBlamed: only idle time that the host costs points at the pass that waits most for the host.
func TestReportHostIsNotBlamed(t *testing.T) {
	seen := map[bool]int{}
	for _, args := range [][]string{nil, {testdata.Shared(t, "traces/torch/train-graphs-5streams-a100.json.gz")}} {
		r := reportDocument(t, args...)
		for _, f := range r.Findings {
			if f.Kind != finding.IdleTime {
				continue
			}
			host := f.Cause.Group().Host()
			if points := strings.Contains(f.Where, "most host time in pass"); points && !host {
				t.Errorf("%q: %q", f.Text, f.Where)
			}
			seen[host]++
		}
	}
	if seen[true] == 0 || seen[false] < 2 {
		t.Errorf("findings of the host and of others: %v", seen)
	}
}

// TestReportFailOn: each condition is met, not met, and undecidable; the output is there whatever the code.
func TestReportFailOn(t *testing.T) {
	// 6.5% idle, 100% in passes, healthy
	decode := testdata.Shared(t, "traces/torch/sglang-qwen3-8b-decode-graph-mi300.json.gz")
	none := testdata.Shared(t, "traces/torch/cpu-only-rank-34.pt.trace.json.gz")
	slow, fast := testdata.Shared(t, "traces/torch/sglang-qwen3-30b-a3b-mi300-TP-0-DECODE.trace.json.gz"),
		testdata.Shared(t, "traces/torch/sglang-qwen3-30b-a3b-b300-TP-0-DECODE.trace.json.gz")
	for _, c := range []struct {
		args []string
		code int
	}{
		{[]string{decode, "--fail-on", "idle 6%"}, app.ExitFailed},
		{[]string{decode, "--fail-on", "idle 7%"}, app.ExitOK},
		// the demo
		{[]string{"--fail-on", "host-caused 15%"}, app.ExitFailed},
		{[]string{"--fail-on", "host-caused=30%"}, app.ExitOK},
		{[]string{decode, "--fail-on", "coverage 99%"}, app.ExitOK},
		{[]string{decode, "--fail-on", "coverage 100.1"}, app.ExitFailed},
		{[]string{decode, "--fail-on", "health degraded"}, app.ExitOK},
		{[]string{decode, "--fail-on", "exposed-comm 1%"}, app.ExitOK},
		// the demo
		{[]string{"--fail-on", "exposed-comm 5%"}, app.ExitFailed},
		{[]string{"--fail-on", "exposed-comm 30%"}, app.ExitOK},
		{[]string{none, "--fail-on", "idle 5%"}, app.ExitInconclusive},
		{[]string{none, "--fail-on", "idle 5%", "--allow-inconclusive"}, app.ExitOK},
		{[]string{none, "--fail-on", "host-caused 5%"}, app.ExitInconclusive},
		{[]string{none, "--fail-on", "exposed-comm 5%"}, app.ExitInconclusive},
		{[]string{decode, "--fail-on", "regression 3%"}, app.ExitInconclusive},
		{[]string{slow, "--against", fast, "--fail-on", "regression 3%"}, app.ExitFailed},
		{[]string{fast, "--against", slow, "--fail-on", "regression 3%"}, app.ExitOK},
		{[]string{decode, "--fail-on", "idle 6%", "--fail-on", "health degraded"}, app.ExitFailed},
		{[]string{decode, "--fail-on", "idel 6%"}, app.ExitUsage},
		{[]string{decode, "--fail-on", "idle"}, app.ExitUsage},
		{[]string{decode, "--fail-on", "idle -1%"}, app.ExitUsage},
		{[]string{decode, "--fail-on", "health fine"}, app.ExitUsage},
		{[]string{decode, "--format", "junit"}, app.ExitUsage},
	} {
		out := filepath.Join(t.TempDir(), "out.txt")
		r := apptest.Run(t, Report(), append(c.args, "--output", out)...)
		if r.Code != c.code {
			t.Errorf("%q: exit code %d, want %d: %s", c.args, r.Code, c.code, r.Stderr)
		}
		if _, err := os.Stat(out); (err == nil) != (c.code != app.ExitUsage) {
			t.Errorf("%q: output: %v", c.args, err)
		}
	}
}

// TestReportFormatsOfGates: what continuous integration reads.
func TestReportFormatsOfGates(t *testing.T) {
	for format, want := range map[string]string{"junit": "<testsuite", "sarif": `"version": "2.1.0"`,
		"prometheus": "strata_", "benchfmt": "BenchmarkStep/stage=decode", "markdown": "idle 1%",
		"text": "Conditions"} {
		r := apptest.Run(t, Report(), "--fail-on", "idle 1%", "--format", format)
		if r.Code != app.ExitFailed || !strings.Contains(r.Stdout, want) {
			t.Errorf("%s: exit code %d, want %q in\n%.600s", format, r.Code, want, r.Stdout)
		}
	}
}

// TestReportPageOf100000Kernels: a long recording is a page that can be sent.
func TestReportPageOf100000Kernels(t *testing.T) {
	if !testdata.Long() {
		t.Skip("needs some seconds")
	}
	dir := t.TempDir()
	path, page := filepath.Join(dir, "large.json.gz"), filepath.Join(dir, "large.html")
	var text bytes.Buffer
	cfg := gen.Large(36, 0, false)
	cfg.Size = 140_000_000
	z := gzip.NewWriter(&text)
	if err := errors.Join(gen.Write(z, cfg), z.Close(), os.WriteFile(path, text.Bytes(), 0o666)); err != nil {
		t.Fatal(err)
	}
	r := reportDocument(t, path, "--html", page)
	kernels := 0
	for _, p := range r.Passes {
		kernels += p.Kernels
	}
	info, err := os.Stat(page)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d kernels in %d passes, %d bytes", kernels, len(r.Passes), info.Size())
	if kernels < 100_000 || info.Size() >= 1_000_000 {
		t.Errorf("%d kernels make a page of %d bytes, want less than 1 MB for at least 100 000", kernels, info.Size())
	}
}

// TestReportEmptyRecordingAsksForGPUActivities: an export without the tables of the GPU has no events at all.
func TestReportEmptyRecordingAsksForGPUActivities(t *testing.T) {
	for _, path := range testdata.SharedGlob(t, "traces/nsys/no-cupti-tables.sqlite") {
		if r := apptest.Run(t, Report(), path); !strings.Contains(r.Stdout, "fix: Record GPU activities while the server works: nsys") {
			t.Errorf("no such advice:\n%s", r.Stdout)
		}
	}
}

// TestAdviceWithoutGPUTime: what to do about a trace without GPU work depends on why it has none.
func TestAdviceWithoutGPUTime(t *testing.T) {
	const op = `{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":1,"dur":5}`
	for name, c := range map[string]struct{ text, want string }{
		"torch":     {`{"schemaVersion":1,"traceEvents":[` + op + `]}`, "torch.profiler with the activities CPU and CUDA"},
		"truncated": {`{"schemaVersion":1,"traceEvents":[` + op + `,{"ph":"X","cat":"cpu`, "copy the file when it is complete"},
		"Chrome's": {`{"traceEvents":[{"ph":"X","cat":"devtools.timeline","name":"RunTask","pid":1,"tid":1,"ts":1,` +
			`"dur":5}]}`, "pass a trace of torch.profiler, Nsight Systems"},
		"nothing": {`{"traceEvents":[]}`, "pass a trace of torch.profiler, Nsight Systems"},
	} {
		path := filepath.Join(t.TempDir(), "x.json")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, p := range []app.Program{Report(), LayerTimeline(), HostDetect(), WhatIf(), HostCompare()} {
			r := apptest.Run(t, p, path)
			if r.Code != app.ExitError || !strings.Contains(r.Stderr, c.want) ||
				!strings.Contains(r.Stderr, path) {
				t.Errorf("%s: %s ends with %d and no %q, or without the file:\n%s", name, p.Name, r.Code,
					c.want, r.Stderr)
			}
		}
	}
}

// TestReportAllTraces: every trace that is there has a report, as text, document and
// viewPage, and none of them contradicts itself.
func TestReportAllTraces(t *testing.T) {
	paths := append(testdata.SharedGlob(t, "traces/torch/*"), testdata.SharedGlob(t, "traces/nsys/*")...)
	if !testdata.Long() {
		paths = paths[:4]
	}
	for _, path := range paths {
		page := filepath.Join(t.TempDir(), "x.html")
		r := apptest.Run(t, Report(), path, "--html", page, "--format", "json")
		if r.Code != app.ExitOK {
			// no trace of a GPU at all
			if filepath.Base(path) == "no-cupti-tables.sqlite" || strings.Contains(r.Stderr, "no GPU time") {
				continue
			}
			t.Errorf("%s: exit code %d: %s", filepath.Base(path), r.Code, r.Stderr)
			continue
		}
		var doc strata.Report
		if err := json.Unmarshal([]byte(r.Stdout), &doc); err != nil {
			t.Fatal(err)
		}
		if doc.InPasses > doc.GPUTime || doc.InLayers > doc.InPasses || doc.WithOperator > doc.GPUTime ||
			doc.IdleTime > doc.Wall || doc.Verdict == "" {
			t.Errorf("%s: of %v %v in passes, %v in layers, %v with an operator; verdict %q", filepath.Base(path),
				doc.GPUTime, doc.InPasses, doc.InLayers, doc.WithOperator, doc.Verdict)
		}
		for _, f := range doc.Findings {
			if f.Share > 1.0001 || f.Text == "" || f.Next == "" {
				t.Errorf("%s: finding %+v", filepath.Base(path), f)
			}
		}
		if info, err := os.Stat(page); err != nil || info.Size() > 1_000_000 {
			t.Errorf("%s: page of %v bytes (%v), want less than 1 MB", filepath.Base(path), info.Size(), err)
		}
	}
}
