package browsertests

import (
	"encoding/json"
	"net/url"
	"os"
	"os/exec"
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
	demo, side, html := filepath.Join(dir, "demo.json.gz"), filepath.Join(dir, "side.json"), filepath.Join(dir, "compare.html")
	program := func(name string, args ...string) {
		t.Helper()
		cmd := exec.Command("go", append([]string{"run", "./examples/" + name}, args...)...)
		cmd.Dir = "../.."
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
		}
	}
	program("perfetto-map", "--annotate", demo)
	program("compare", "--b", demo, "--save", side)
	faster(t, side)
	program("compare", "--baseline", side, "--b", demo, "--html", html)
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
	row := slices.IndexFunc(run["rows"].([]any), func(r any) bool { return r.(map[string]any)["operator"] == "attention" })
	if row < 0 {
		t.Fatalf("no attention: %v", run["rows"])
	}
	for _, p := range run["passes"].([]any) {
		pass := p.(map[string]any)
		rows := pass["row_ns"].([]any)
		half := float64(int64(rows[row].(float64)) / 2)
		rows[row] = rows[row].(float64) - half
		pass["wall_ns"] = pass["wall_ns"].(float64) - half
	}
	if text, err = json.Marshal(side); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestComparePage opens the page of a comparison as its reader does: the waterfall leads from A to B, the table sorts and
// filters, the finding is there, and nothing leaves the machine; printed, the page is no wider than paper.
func TestComparePage(t *testing.T) {
	address := comparePage(t)
	ctx := startBrowser(t)
	w := watch(ctx, t)
	if err := chromedp.Run(ctx, chromedp.Navigate(address)); err != nil {
		t.Fatal(err)
	}
	if n := evaluate[int](ctx, t, `document.querySelectorAll("svg.chart path").length`); n < 3 {
		t.Errorf("the charts have %d paths, want those of the waterfall and of the layers", n)
	}
	captions := evaluate[[]string](ctx, t, `[...document.querySelectorAll("table caption")].map(c => c.textContent)`)
	if len(captions) < 2 || captions[0] != "Parts of the pass by difference" || captions[1] != "What is beyond noise" {
		t.Fatalf("tables are %q", captions)
	}
	id, columns := kernelTable(ctx, t)
	rows := len(column(ctx, t, id, 0))
	heading := "#" + id + " thead th:nth-child(4)"
	click(ctx, t, id, heading, "descending")
	if got := numbers(t, column(ctx, t, id, columns["B (µs)"])); len(got) != rows || !slices.IsSortedFunc(got, func(a, b float64) int { return int(b*1e3) - int(a*1e3) }) {
		t.Errorf("sorted by B: %v, want %d rows, the largest first", got, rows)
	}
	choose := `(() => { const s = document.querySelector("select[aria-controls=` + id + `]"); s.value = "yes"; return s.dispatchEvent(new Event("input")); })()`
	evaluate[bool](ctx, t, choose)
	if got := column(ctx, t, id, columns["Found"]); len(got) != 1 || got[0] != "yes" {
		t.Errorf("choosing what was found shows %q, want the one row that changed", got)
	}
	requests, problems := w.asked()
	if !slices.Equal(requests, []string{address}) || len(problems) > 0 {
		t.Errorf("the page asked for %q, the browser complained %q", requests, problems)
	}
	const width = 1046 // as in TestReportsPrint
	if err := chromedp.Run(ctx, chromedp.EmulateViewport(width, 1000), emulation.SetEmulatedMedia().WithMedia("print")); err != nil {
		t.Fatal(err)
	}
	if w := evaluate[float64](ctx, t, `document.documentElement.scrollWidth`); w > width {
		t.Errorf("the page is %v px wide on paper, want at most %d", w, width)
	}
	if got := evaluate[string](ctx, t, `document.querySelector("p.summary").textContent`); !strings.Contains(got, "B is slower") {
		t.Errorf("the summary says %q", got)
	}
}
