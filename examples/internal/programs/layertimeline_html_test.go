package programs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmstrata/strata/examples/internal/apptest"
	"github.com/llmstrata/strata/internal/testdata"
)

func TestLayerTimelineHTML(t *testing.T) { apptest.HTML(t, LayerTimeline) }

// The report holds what passes should take where the model is known.
func TestLayerTimelineHTMLHasTheSpeedOfLight(t *testing.T) {
	trace := testdata.Shared(t, "traces/torch/sglang-qwen3-8b-decode-graph-mi300.json.gz")
	config := testdata.Shared(t, "configs/qwen3-8b.json")
	for given, want := range map[bool]bool{true: true, false: false} {
		path := filepath.Join(t.TempDir(), "report.html")
		args := []string{"--trace", trace, "--html", path}
		if given {
			args = append(args, "--config", config)
		}
		apptest.MustRun(t, LayerTimeline(), args...)
		page, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(page), "floor: GEMMs (weights)"); got != want {
			t.Errorf("config given: %t; the report has a waterfall: %t", given, got)
		}
	}
}

// TestLayerTimelineFullPaths: folders that name users and machines are on a page only where they are asked for.
func TestLayerTimelineFullPaths(t *testing.T) {
	data, err := os.ReadFile(testdata.Distilled(t, "sglang-qwen3-8b-decode-mi300.json.zst"))
	if err != nil {
		t.Fatal(err)
	}
	trace := filepath.Join(t.TempDir(), "decode.json.zst")
	if err := os.WriteFile(trace, data, 0o600); err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(t.TempDir(), "page.html")
	for _, flags := range [][]string{nil, {"--full-paths"}} {
		apptest.MustRun(t, LayerTimeline(), append([]string{"--trace", trace, "--html", page}, flags...)...)
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "decode.json.zst") ||
			strings.Contains(string(text), filepath.Dir(trace)) != (flags != nil) {
			t.Errorf("%v: the page has the folder: %v", flags, flags == nil)
		}
	}
}
