package browsertests

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// comparePage writes the page of the demo trace compared with itself, its attention twice as fast, and returns its URL.
func comparePage(t *testing.T) string {
	t.Helper()
	chromium(t)
	dir := t.TempDir()
	demo, side, html := filepath.Join(dir, "demo.json.gz"), filepath.Join(dir, "side.json"),
		filepath.Join(dir, "compare.html")
	run(t, "perfetto", "--annotate", demo)
	run(t, "compare", "--b", demo, "--save", side)
	faster(t, side)
	run(t, "compare", "--baseline", side, "--b", demo, "--html", html)
	return (&url.URL{Scheme: "file", Path: html}).String()
}

// faster halves the attention of each pass of a saved side.
func faster(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var side map[string]any
	if err := json.Unmarshal(text, &side); err != nil {
		t.Fatal(err)
	}
	run := side["runs"].([]any)[0].(map[string]any)
	parts, found := run["parts"].([]any), false
	for _, p := range run["passes"].([]any) {
		pass := p.(map[string]any)
		saved := 0.0
		for _, k := range pass["parts"].([]any) {
			part := k.(map[string]any)
			if parts[int(part["part"].(float64))].(map[string]any)["operator"] != "attention" {
				continue
			}
			found = true
			half := float64(int64(part["ns"].(float64)) / 2)
			part["ns"], part["kernel_ns"] = part["ns"].(float64)-half, part["kernel_ns"].(float64)-half
			saved += half
		}
		pass["wall_ns"] = pass["wall_ns"].(float64) - saved
	}
	if !found {
		t.Fatalf("no attention: %v", parts)
	}
	if text, err = json.Marshal(side); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestComparePage opens the page of a comparison as its reader does: the waterfall leads from A to B, the table sorts
// and filters, the finding is there, and nothing leaves the machine; printed, the page is no wider than paper.
func TestComparePage(t *testing.T) {
	address := comparePage(t)
	ctx := startBrowser(t)
	w := watch(ctx, t)
	if err := chromedp.Run(ctx, chromedp.Navigate(address)); err != nil {
		t.Fatal(err)
	}
	if n := evaluate[int](ctx, t, `document.querySelectorAll("svg.fall g").length`); n < 3 {
		t.Errorf("the waterfall has %d steps, want at least three", n)
	}
	captions := evaluate[[]string](ctx, t, `[...document.querySelectorAll("table caption")].map(c => c.textContent)`)
	if len(captions) < 2 || !strings.HasPrefix(captions[0], "Parts of the step by difference") ||
		captions[1] != "Beyond noise" {
		t.Fatalf("tables are %q", captions)
	}
	id, columns := kernelTable(ctx, t)
	unfold(ctx, t)
	click(ctx, t, fmt.Sprintf("#%s thead th:nth-child(%d)", id, columns["B"]+1), "descending")
	if got := values(ctx, t, id, columns["B"]); len(got) < 5 ||
		!slices.IsSortedFunc(got, func(a, b float64) int { return cmp.Compare(b, a) }) {
		t.Errorf("sorted by B: %v, want the largest first", got)
	}
	requests, problems := w.asked()
	if !slices.Equal(requests, []string{address}) || len(problems) > 0 {
		t.Errorf("the page asked for %q, the browser complained %q", requests, problems)
	}
	const width = 1046 // as in TestReportsPrint
	if err := chromedp.Run(ctx, chromedp.EmulateViewport(width, 1000),
		emulation.SetEmulatedMedia().WithMedia("print")); err != nil {
		t.Fatal(err)
	}
	if w := evaluate[float64](ctx, t, `document.documentElement.scrollWidth`); w > width {
		t.Errorf("the page is %v px wide on paper, want at most %d", w, width)
	}
	if got := evaluate[string](ctx, t, `document.querySelector("h1").textContent`); !strings.Contains(got,
		"B is slower") {
		t.Errorf("the summary says %q", got)
	}
}
