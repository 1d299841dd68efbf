package browsertests

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// comparePage writes the page of the demo trace compared with itself, its attention twice as fast, and returns its URL.
func comparePage(t *testing.T, dir string) string {
	t.Helper()
	demo, side, html := filepath.Join(dir, "demo.json.gz"), filepath.Join(dir, "side.json"),
		filepath.Join(dir, "compare.html")
	run(t, "perfetto", "--annotate", demo)
	run(t, "compare", "--b", demo, "--save", side)
	faster(t, side)
	run(t, "compare", "--baseline", side, "--b", demo, "--html", html)
	return address(html)
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
// and unfolds, the finding is there, and nothing leaves the machine.
func TestComparePage(t *testing.T) {
	_, pages := all(t)
	address := pages["compare"]
	ctx := startBrowser(t)
	w := watch(ctx, t)
	if err := chromedp.Run(ctx, chromedp.Navigate(address)); err != nil {
		t.Fatal(err)
	}
	if n := evaluate[int](ctx, t, `document.querySelectorAll(".fall li").length`); n < 3 {
		t.Errorf("the waterfall has %d steps, want at least three", n)
	}
	// Its parts lead from A to B, each where the one above ends; rows unfold to their kernels.
	if gaps := evaluate[[]string](ctx, t, `(() => { const at = [...document.querySelectorAll(".fall rect")].map(r => [parseFloat(r.getAttribute("x")), parseFloat(r.getAttribute("x")) + parseFloat(r.getAttribute("width")), r.classList.contains("win")]);
		let x = at[0][1]; const out = []; for (const [a, b, up] of at.slice(1, -1)) { if (Math.abs((up ? a : b) - x) > .21) out.push(x + " then " + a + "-" + b); x = up ? b : a; } if (Math.abs(x - at[at.length - 1][1]) > .21) out.push("ends at " + x); return out; })()`); len(gaps) > 0 {
		t.Errorf("the waterfall has holes: %q", gaps)
	}
	lines := evaluate[[]string](ctx, t, `(() => { const d = [...document.querySelectorAll("#difference td details")].find(d => d.closest("tr").cells[0].textContent === "attention"); d.querySelector("summary").click(); return [...d.querySelectorAll("div")].filter(e => e.offsetParent !== null).map(e => e.textContent); })()`)
	if len(lines) == 0 || !strings.Contains(lines[0], " launches") || !strings.Contains(lines[0], " → ") {
		t.Errorf("the row of attention unfolds to %q", lines)
	}
	captions := evaluate[[]string](ctx, t, `[...document.querySelectorAll("table caption")].map(c => c.textContent)`)
	want := []string{"Where a step's time changed", "Parts of the step by difference", "Beyond noise"}
	if !slices.Equal(captions, want) {
		t.Fatalf("tables are %q, want %q", captions, want)
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
	if got := evaluate[string](ctx, t, `document.querySelector("h1").textContent`); !strings.Contains(got,
		"B is slower") {
		t.Errorf("the summary says %q", got)
	}
}
