package live

import (
	"strings"
	"testing"

	"github.com/llmstrata/strata/capture"
	"github.com/llmstrata/strata/examples/internal/app"
)

// TestReporterWithoutTerminal: where stderr is no terminal, a phase that goes on is said, and nothing else.
func TestReporterWithoutTerminal(t *testing.T) {
	var said strings.Builder
	env := &app.Env{Stderr: &said, Progress: app.Auto}
	report := reporter(env)
	report(capture.Progress{Stage: capture.StageDecode, Phase: "requests", Message: "request 1 of 1"})
	if said.Len() != 0 {
		t.Errorf("stderr %q", said.String())
	}
	report(capture.Progress{Stage: capture.StageDecode, Phase: "requests", Message: "request 1 of 1", Elapsed: 30e9,
		Still: true})
	if !strings.Contains(said.String(), "decode: request 1 of 1 (30s)") {
		t.Errorf("stderr %q", said.String())
	}
	env.Progress = app.Off
	if reporter(env) != nil {
		t.Error("--progress=false reports")
	}
}
