package programs

import (
	"strings"
	"testing"

	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/examples/internal/apptest"
)

func TestHelp(t *testing.T) {
	for _, p := range []app.Program{HostCompare(), HostDetect(), KernelExport(), LayerBreakdown(), LayerTimeline(), Report(),
		SpeedOfLight(), TriageBundle()} {
		t.Run(p.Name, func(t *testing.T) {
			apptest.Golden(t, "testdata/"+p.Name+"/help.golden", apptest.MustRun(t, p, "--help").Stdout)
		})
	}
}

// TestDemo: what a newcomer sees first, of the built-in trace, which is announced.
func TestDemo(t *testing.T) {
	for _, c := range []struct {
		program app.Program
		args    []string
	}{
		{HostCompare(), nil},
		{HostDetect(), nil},
		{LayerBreakdown(), []string{"--layer", "1", "--compare-layer", "0"}},
		{LayerTimeline(), nil},
	} {
		t.Run(c.program.Name, func(t *testing.T) {
			r := apptest.MustRun(t, c.program, c.args...)
			if !strings.Contains(r.Stderr, "demo") {
				t.Errorf("no announcement on stderr: %q", r.Stderr)
			}
			apptest.Golden(t, "testdata/"+c.program.Name+"/demo.golden", r.Stdout)
		})
	}
}
