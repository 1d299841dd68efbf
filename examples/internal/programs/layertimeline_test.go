package programs

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/llmstrata/strata/examples/internal/apptest"
	"github.com/llmstrata/strata/internal/testdata"
)

// figures are the cells of a printed table: numbers with their unit signs cut off, and words.
var figures = regexp.MustCompile(`[^\s]+`)

// tableLines returns the rows of text of that many cells whose first one matches first, cell by cell;
// the second one is a count, unlike in the table of passes.
func tableLines(text string, first *regexp.Regexp, width int) [][]string {
	var rows [][]string
	for _, line := range strings.Split(text, "\n") {
		cells := figures.FindAllString(line, -1)
		if len(cells) == width && first.MatchString(cells[0]) && !strings.Contains(cells[1], ".") {
			for i := range cells {
				cells[i] = strings.TrimSuffix(cells[i], "s") // the published table writes 0.007s
			}
			rows = append(rows, cells)
		}
	}
	return rows
}

// TestLayerTimelineAnchorOpensPrintsThePublishedFigures: every figure that layer_timeline_analyzer.py printed.
func TestLayerTimelineAnchorOpensPrintsThePublishedFigures(t *testing.T) {
	want, err := os.ReadFile(testdata.Shared(t, "golden/pipeline/dsv4.timeline.txt"))
	if err != nil {
		t.Fatal(err)
	}
	got := apptest.MustRun(t, LayerTimeline(), "--trace",
		testdata.Shared(t, "traces/torch/synthetic-deepseek-v4-flash-TP-0.trace.json.gz"),
		"--config", testdata.Shared(t, "configs/deepseek-v4-flash.json"), "--boundaries", "anchor-opens",
		"--hash-layers", "last", "--fwd-pass", "2").Stdout
	for _, c := range []struct {
		name  string
		first string
		rows  int
		width int
	}{{"layers", `^\d+$`, 43, 13}, {"clusters", `^[A-Z]+[A-Z0-9_]+$`, 5, 10}} {
		first := regexp.MustCompile(c.first)
		w, g := tableLines(string(want), first, c.width), tableLines(got, first, c.width)
		if len(w) < c.rows {
			t.Fatalf("%d rows of %s in the golden text, want at least %d", len(w), c.name, c.rows)
		}
		if len(g) != len(w) {
			t.Fatalf("%d rows of %s, published are %d", len(g), c.name, len(w))
		}
		for i := range w {
			apptest.SameFigures(t, c.name+" "+w[i][0], w[i], g[i])
		}
	}
	if !regexp.MustCompile(`(?m)^ *4 .* partial: cut at end$`).MatchString(got) {
		t.Error("what follows the four published passes is not a pass that is said to be cut")
	}
	// The table of passes has columns of our own between the published ones.
	pass := regexp.MustCompile(`(?m)^ *([0-3]) +([0-9.]+)s? +([0-9.]+)s? +([0-9.]+) +([0-9.]+) +([0-9.]+) .*?(cold-start|growing [0-9.]+x|steady-state)? *$`)
	w, g := pass.FindAllStringSubmatch(string(want), 4), pass.FindAllStringSubmatch(got, 4)
	if len(w) != 4 || len(g) != 4 {
		t.Fatalf("%d published passes, %d ours, want 4", len(w), len(g))
	}
	for i := range w {
		apptest.SameFigures(t, "pass "+w[i][1], w[i][1:], g[i][1:])
	}
}

// TestLayerTimelineJSONHasTheAgreedFields: other tools rely on these names.
func TestLayerTimelineJSONHasTheAgreedFields(t *testing.T) {
	var doc map[string]any
	if err := json.Unmarshal([]byte(apptest.MustRun(t, LayerTimeline(), "--format", "json").Stdout), &doc); err != nil {
		t.Fatal(err)
	}
	has := func(what string, v any, names string) {
		m, ok := v.(map[string]any)
		if !ok {
			t.Fatalf("%s is no object", what)
		}
		for _, n := range strings.Fields(names) {
			if _, ok := m[n]; !ok {
				t.Errorf("%s lacks %q", what, n)
			}
		}
	}
	has("the document", doc, "trace config profile anchor boundaries blocks_per_layer num_layers num_kernels "+
		"num_anchors evidence health passes steady_pass steady_reason layers clusters summary")
	has("a pass", doc["passes"].([]any)[0], "index start_s end_s duration_ms avg_layer_ms first_layer_ms stage batch "+
		"tokens partial note")
	has("a layer", doc["layers"].([]any)[0], "index compress_ratio type hash wall_ms sum_ms categories ar_count kernels")
	has("a cluster", doc["clusters"].([]any)[0], "type count avg_wall_ms avg_sum_ms share")
	if n := len(doc["layers"].([]any)); n != 8 {
		t.Errorf("%d layers of the demo, want 8", n)
	}
}

func TestLayerTimelineFlagsAndErrors(t *testing.T) {
	for _, c := range []struct {
		args   []string
		code   int
		says   string // on stderr where the code is not 0, else on stdout
		stdout bool
	}{
		{[]string{"--fwd-pass", "4"}, 0, "Forward pass #4", true},
		{[]string{"--fwd-pass", "5"}, 1, "the trace has passes 0 to 4", false},
		{[]string{"--fwd-pass", "-1"}, 2, "--fwd-pass -1", false},
		{[]string{"--num-layers", "5"}, 1, "5 layers were asked for", false},
		{[]string{"--tp", "-2"}, 2, "", false},
		{[]string{"--tp", "4", "--ep", "2", "--gpu-type", "my GPU", "--serving-mode", "decode"}, 0,
			"TP 4 (flag), EP 2 (flag)", true},
		{[]string{"--serving-mode", "decode"}, 0, "Serving mode: decode", true},
		{[]string{"--gpu-type", "my GPU"}, 0, "GPU type: my GPU", true},
		{[]string{"--boundaries", "anchor-closes", "--anchor-kernel", "nothing"}, 1, `"nothing"`, false},
		{[]string{"--trace", "absent.json"}, 1, "absent.json", false},
	} {
		got := apptest.Run(t, LayerTimeline(), c.args...)
		out := got.Stderr
		if c.stdout {
			out = got.Stdout
		}
		if got.Code != c.code || !strings.Contains(out, c.says) {
			t.Errorf("%v: exit code %d, stderr %q, want %d and %q", c.args, got.Code, got.Stderr, c.code, c.says)
		}
		if c.code != 0 && got.Stdout != "" {
			t.Errorf("%v: stdout %q after an error", c.args, got.Stdout)
		}
	}
}

// TestLayerTimelineRealTraces: every trace with GPU work gives a report whose lines fit a wide terminal, and says what
// it found.
func TestLayerTimelineRealTraces(t *testing.T) {
	for name, says := range map[string]string{
		"sglang-qwen3-8b-decode-graph-mi300.json.gz":    "Found: 36 layers (from repeats)",
		"vllm-gptoss20b-mixed-piecewise-mi300.json.gz":  "mixed",
		"hf-qwen1.5-0.5b-eager-h100.json.gz":            "partial: cut at start",
		"train-absolute-float-ts-v100.pt.trace.json.gz": "this is a training run",
		"multi-stream-event-sync-a100.json.gz":          "No layers were found",
	} {
		got := apptest.MustRun(t, LayerTimeline(), "--trace", testdata.Shared(t, "traces/torch/"+name)).Stdout
		if !strings.Contains(got, says) {
			t.Errorf("%s: output does not say %q:\n%s", name, says, got)
		}
		if regexp.MustCompile(`\b(NaN|Inf)\b`).MatchString(got) {
			t.Errorf("%s: a number is none:\n%s", name, got)
		}
	}
}

// TestLayerTimelineNsysExport: an export of another profiler goes through the same program.
func TestLayerTimelineNsysExport(t *testing.T) {
	got := apptest.MustRun(t, LayerTimeline(), "--trace",
		testdata.Shared(t, "traces/nsys/synthetic-trtllm-baseline.sqlite")).Stdout
	if !strings.Contains(got, "trtllm") || !strings.Contains(got, "decode") ||
		!strings.Contains(got, "8 layers (from repeats), 8 blocks per pass, 60 passes") {
		t.Errorf("steps of the executor, or the layers of orphaned replays, are not reported:\n%s", got)
	}
}
