package triage_test

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/llmstrata/strata/triage"
)

// realReports are reports of real traces, eager and replayed, of three servers.
var realReports = []string{
	"traces/torch/sglang-qwen3-8b-extend-eager-mi300.json.gz",
	"traces/torch/vllm-gptoss20b-mixed-piecewise-mi300.json.gz",
	"traces/torch/sglang-r1-distill-llama-8b-b300-TP-0-DECODE.trace.json.gz",
	"traces/torch/hf-qwen1.5-0.5b-eager-h100.json.gz",
}

// TestTextFitsTheTerminal: no line is longer than the terminal is wide, but for source lines of the head that name
// files; nothing is escaped, and no time has no digits.
func TestTextFitsTheTerminal(t *testing.T) {
	const columns = 130
	empty := regexp.MustCompile(`\b0\.0+ (ms|us|µs|s)\b|\d{5,}\.\d+ (us|µs|ms)\b`)
	for _, rel := range realReports {
		var b, md strings.Builder
		r := analyze(t, rel, "", triage.Options{})
		if err := r.WriteText(&b, columns); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			line = strings.TrimSuffix(line, "\n")
			if n := utf8.RuneCountInString(line); n > columns && !strings.Contains(line, "traces: ") {
				t.Errorf("%s: a line of %d characters: %s", rel, n, line)
			}
			if strings.Contains(line, "&lt;") || strings.Contains(line, `\_`) || strings.Contains(line, "_ZN") ||
				strings.Contains(line, "`") {
				t.Errorf("%s: escaped or mangled: %s", rel, line)
			}
		}
		if err := r.WriteMarkdown(&md); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{"text": b.String(), "Markdown": md.String()} {
			if s := empty.FindString(text); s != "" {
				t.Errorf("%s: %s has a time without digits, or with too many: %s", rel, name, s)
			}
		}
		if strings.Contains(md.String(), "&lt;") || strings.Contains(md.String(), `\_`) {
			t.Errorf("%s: Markdown escapes names instead of showing them as code", rel)
		}
	}
}

// TestLabelsAreUnique: in one report a label is of one kernel, and the full name is beside it.
func TestLabelsAreUnique(t *testing.T) {
	for _, rel := range realReports {
		of := map[string]string{}
		for _, s := range analyze(t, rel, "", triage.Options{MinSharePct: -1}).Stages {
			for _, k := range s.Kernels {
				if k.Label == "" || of[k.Label] != "" && of[k.Label] != k.Kernel {
					t.Errorf("%s: label %q of %.80q and of %.80q", rel, k.Label, k.Kernel, of[k.Label])
				}
				of[k.Label] = k.Kernel
			}
		}
	}
}

// TestRowsAreSplitByOperator: the parts of a row add up to it, those of all rows to the stage's operators, and one
// kernel of an eager prefill that module frames explain works for two products, which the table shows as two rows.
func TestRowsAreSplitByOperator(t *testing.T) {
	for _, rel := range realReports {
		for _, s := range analyze(t, rel, "", triage.Options{MinSharePct: -1}).Stages {
			sum := map[string]int64{}
			for _, k := range s.Kernels {
				var ns int64
				launches := 0
				for _, o := range k.Operators {
					ns, launches = ns+o.GPUTimeNS, launches+o.Launches
					sum[o.Operator] += o.GPUTimeNS
				}
				if ns != k.GPUTimeNS || launches != k.Launches {
					t.Errorf("%s: %s: operators take %d ns in %d launches, the row %d in %d", rel, k.Label, ns,
						launches, k.GPUTimeNS, k.Launches)
				}
			}
			var all int64
			for _, o := range s.Operators {
				if sum[o.Operator] != o.GPUTimeNS {
					t.Errorf("%s: %s: %d ns in rows, %d in the total", rel, o.Operator, sum[o.Operator], o.GPUTimeNS)
				}
				all += o.GPUTimeNS
			}
			if want := int64(s.GPUTimeUS * 1e3); len(s.Operators) > 0 && (all < want-1 || all > want+1) {
				t.Errorf("%s: operators add up to %d ns, the stage to %d", rel, all, want)
			}
		}
	}
	r := analyze(t, realReports[0], "", triage.Options{})
	var down, out *triage.OperatorRow
	for _, k := range r.Stages[0].Kernels {
		for i, o := range k.Operators {
			switch o.Operator {
			case "down_proj":
				down = &k.Operators[i]
			case "o_proj":
				out = &k.Operators[i]
			}
		}
	}
	if down == nil || out == nil || down.SharePct < 19.3 || down.SharePct > 19.5 || out.SharePct < 5.9 ||
		out.SharePct > 6.1 {
		t.Errorf("down_proj %+v, o_proj %+v, want 19.4%% and 6.0%%", down, out)
	}
}
