package layertimeline

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmstrata/strata/examples/internal/apptest"
	"github.com/llmstrata/strata/internal/testdata"
)

func TestHTML(t *testing.T) { apptest.HTML(t, program) }

// The report holds what passes should take where the model is known.
func TestHTMLHasTheSpeedOfLight(t *testing.T) {
	trace := testdata.Shared(t, "traces/torch/sglang-qwen3-8b-decode-graph-mi300.json.gz")
	config := testdata.Shared(t, "configs/qwen3-8b.json")
	for given, want := range map[bool]bool{true: true, false: false} {
		path := filepath.Join(t.TempDir(), "report.html")
		args := []string{"--trace", trace, "--html", path}
		if given {
			args = append(args, "--config", config)
		}
		apptest.MustRun(t, program(), args...)
		page, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(page), "floor: products (weights)"); got != want {
			t.Errorf("config given: %t; the report has a waterfall: %t", given, got)
		}
	}
}
