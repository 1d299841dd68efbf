package app_test

import (
	"bytes"
	"context"
	"flag"
	"io"
	"strings"
	"testing"

	"github.com/llmstrata/strata/examples/internal/app"
)

// TestThresholdsAreFinite: every comparison with NaN has the same answer.
func TestThresholdsAreFinite(t *testing.T) {
	for value, want := range map[string]int{"NaN": app.ExitUsage, "inf": app.ExitUsage, "-Inf": app.ExitUsage,
		"0.5": app.ExitOK, "1e300": app.ExitOK} {
		var threshold float64
		p := app.Program{Name: "p", Flags: func(fs *flag.FlagSet) {
			fs.Float64Var(&threshold, "threshold", 1,
				"`VALUE`")
		},
			Run: func(context.Context, *app.Env) error { return nil }}
		var stderr bytes.Buffer
		if code := p.Exec(context.Background(), []string{"--threshold", value}, nil, io.Discard,
			&stderr); code != want || (want == app.ExitUsage) != strings.Contains(stderr.String(), "--threshold") {
			t.Errorf("--threshold %s: exit code %d (%s), want %d", value, code, &stderr, want)
		}
	}
}
