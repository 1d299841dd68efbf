package command_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/llmstrata/strata/internal/testdata"
)

// TestTextFitsTheTerminal: whatever a command prints as text is no wider than was asked for, but words that cannot be
// broken, such as links and paths of a command to copy. Tables of torch and nsys traces, of one GPU and of two, are
// among it.
func TestTextFitsTheTerminal(t *testing.T) {
	traces := []string{"", testdata.Shared(t, "traces/torch/sglang-qwen3-30b-a3b-b300-TP-0-DECODE.trace.json.gz"),
		testdata.Shared(t, "traces/nsys/torchrun-2gpu-hopper.sqlite")}
	if !testdata.Long() {
		traces = traces[1:] // the demo's tables have fewer columns
	}
	const width = 80
	for i, command := range []string{"report --all", "layers --show-all-passes", "breakdown",
		"breakdown --format compute-flow", "light", "triage", "triage --overlap-mode published", "host",
		"host --comparable", "host-compare", "perfetto"} {
		for k, trace := range traces {
			if !testdata.Long() && i%len(traces) != k {
				continue
			}
			args := append(strings.Fields(command), "--width", "80")
			if trace != "" {
				args = append(args, trace)
			}
			for line := range strings.Lines(run(t, "", args...).Stdout) {
				line = strings.TrimRight(line, "\n")
				long := ""
				for _, word := range strings.Fields(line) {
					if utf8.RuneCountInString(word) > width/2 {
						long = word
					}
				}
				if n := utf8.RuneCountInString(line); n > width && !strings.Contains(long, "/") {
					t.Errorf("%s: a line of %d characters: %s", strings.Join(args, " "), n, line)
				}
			}
		}
	}
}
