package command_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/internal/demo"
	"github.com/llmstrata/strata/internal/testdata"
)

// TestFailOnInEveryCommand: each command's conditions are met, not met, and undecidable, and the output is complete. A
// condition of another command is refused as wrong usage.
func TestFailOnInEveryCommand(t *testing.T) {
	decode := testdata.Shared(t, "traces/torch/sglang-qwen3-8b-decode-graph-mi300.json.gz")
	config := testdata.Shared(t, "configs/qwen3-8b.json")
	none := testdata.Shared(t, "traces/torch/cpu-only-rank-34.pt.trace.json.gz")
	// degraded, 69.5% of GPU time in passes
	train := testdata.Shared(t, "traces/torch/train-graphs-5streams-a100.json.gz")
	sgl := testdata.Shared(t, "traces/torch/sglang-qwen3-30b-a3b-mi300-TP-0-DECODE.trace.json.gz")
	b300 := testdata.Shared(t, "traces/torch/sglang-qwen3-30b-a3b-b300-TP-0-DECODE.trace.json.gz")
	assumed := testdata.Shared(t, "traces/torch/vllm-gptoss20b-mixed-piecewise-mi300.json.gz") // no config, one model fits
	bare := filepath.Join(t.TempDir(), "demo.json.gz")                                         // without its config
	if err := os.WriteFile(bare, demo.Trace(), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		command string // with its input, by spaces
		failOn  string
		code    int
	}{
		{"layers", "coverage 90%", app.ExitOK}, {"layers " + train, "coverage 99%", app.ExitFailed},
		{"layers " + train, "coverage 10%", app.ExitOK},
		{"layers", "health degraded", app.ExitOK}, {"layers " + train, "health degraded", app.ExitFailed},
		{"layers " + train, "health unusable", app.ExitOK},
		{"breakdown", "coverage 100.1%", app.ExitFailed}, {"breakdown", "coverage 90%", app.ExitOK},
		{"export", "coverage 100.1%", app.ExitFailed}, {"export", "coverage=90%", app.ExitOK},
		{"export " + train, "health degraded", app.ExitFailed},
		{"perfetto", "coverage:100.1%", app.ExitFailed}, {"perfetto", "coverage 90%", app.ExitOK},
		{"host", "host-caused 5%", app.ExitFailed}, {"host", "host-caused 30%", app.ExitOK},
		{"host --comparable", "host-caused 30%", app.ExitInconclusive},
		{"host --comparable --allow-inconclusive", "host-caused 30%", app.ExitOK},
		{"triage", "exposed-comm 5%", app.ExitFailed}, {"triage", "exposed-comm 30%", app.ExitOK},
		{"triage " + none, "exposed-comm 5%", app.ExitError},
		{"triage", "regression 3%", app.ExitInconclusive},
		{"triage " + sgl + " --compare-input " + b300, "regression 3%", app.ExitFailed},
		{"triage " + b300 + " --compare-input " + sgl, "regression 3%", app.ExitOK},
		{"light " + decode + " --config " + config, "floor 30%", app.ExitOK},
		{"light " + decode + " --config " + config, "floor 40%", app.ExitFailed},
		{"light " + none, "floor 40%", app.ExitError}, {"report", "floor 40%", app.ExitFailed},
		{"report " + bare, "floor 40%", app.ExitInconclusive}, {"report " + assumed, "floor 1%", app.ExitInconclusive},
		{"light " + assumed, "floor 1%", app.ExitInconclusive},
		{"light --config gpt-oss-20b " + assumed, "floor 1%", app.ExitOK},
		{"report " + decode + " --config " + config, "floor 30%", app.ExitOK},
		{"report " + decode + " --config " + config, "floor 40%", app.ExitFailed},
		{"compare --a " + b300 + " --b " + sgl, "regression 3%", app.ExitFailed},
		{"compare --a " + sgl + " --b " + b300, "regression 3%", app.ExitOK},
		{"layers", "idle 5%", app.ExitUsage}, {"host", "coverage 90%", app.ExitUsage},
		{"triage", "expsed-comm 5%", app.ExitUsage}, {"export", "coverage", app.ExitUsage},
		{"export", "coverage many", app.ExitUsage}, {"light", "health fine", app.ExitUsage},
	} {
		out := filepath.Join(t.TempDir(), "out.txt")
		r := run(t, "", append(strings.Fields(c.command), "--fail-on", c.failOn, "--output", out)...)
		if r.Code != c.code {
			t.Errorf("%s --fail-on %q: exit code %d, want %d: %s", c.command, c.failOn, r.Code, c.code, r.Stderr)
		}
		info, err := os.Stat(out)
		if whole := err == nil && info.Size() > 0; whole != (c.code != app.ExitUsage && c.code != app.ExitError) {
			t.Errorf("%s --fail-on %q: exit code %d, output %v", c.command, c.failOn, r.Code, err)
		}
	}
}

// TestConditionsAreDocumented: the table of docs/exit-codes.md says of each condition which commands have it, and so
// do the commands.
func TestConditionsAreDocumented(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(testdata.Root(t), "docs", "exit-codes.md"))
	if err != nil {
		t.Fatal(err)
	}
	commands := []string{"layers", "breakdown", "light", "triage", "host", "compare", "host-compare", "export",
		"perfetto"}
	rows := 0
	conditions, _, _ := strings.Cut(string(text), "## Formats")
	for _, line := range strings.Split(conditions, "\n") {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || !strings.HasPrefix(cells[1], " `") {
			continue
		}
		rows++
		example := strings.Trim(cells[1], " `")
		for _, c := range append(commands, "report") {
			help := strings.Join(strings.Fields(run(t, "", c, "--help").Stdout), " ")
			want := c == "report" || strings.Contains(cells[3], "`"+c+"`")
			if all, except, ok := strings.Cut(cells[3], "all but"); ok && all == " " {
				want = !strings.Contains(except, "`"+c+"`")
			}
			if got := strings.Contains(help, "'"+example+"'"); got != want {
				t.Errorf("%s, %s: the help has it: %v, the table: %v", example, c, got, want)
			}
		}
	}
	known := map[string]bool{}
	help := strings.Join(strings.Fields(run(t, "", "report", "--help").Stdout), " ")
	for _, c := range regexp.MustCompile(`'[a-z-]+ [a-z0-9]+%?'`).FindAllString(help, -1) {
		known[c] = true
	}
	if rows != len(known) {
		t.Errorf("the table has %d conditions, report %d: %v", rows, len(known), known)
	}
}

// TestHostFailOnOfImpossibleTimes: no gate rests on idle time that a recording does not know, as in report.
func TestHostFailOnOfImpossibleTimes(t *testing.T) {
	var doc struct {
		Events []map[string]any `json:"traceEvents"`
	}
	r, err := gzip.NewReader(bytes.NewReader(demo.Trace()))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(r).Decode(&doc); err != nil {
		t.Fatal(err)
	}
	for _, e := range doc.Events {
		if d, ok := e["dur"].(float64); ok && e["cat"] == "kernel" {
			e["dur"] = 4 * d // one stream cannot run them at once
		}
	}
	data, err := json.Marshal(&doc)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "long.json")
	if err := os.WriteFile(file, data, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"host", "report"} {
		for _, limit := range []string{"0.1%", "90%"} {
			if r := run(t, "", command, file, "--fail-on", "host-caused "+limit); r.Code != app.ExitInconclusive {
				t.Errorf("%s --fail-on host-caused %s: exit code %d, want %d: %s", command, limit, r.Code,
					app.ExitInconclusive, r.Stderr)
			}
		}
	}
}
