package browsertests

import (
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// TestPageOf100000KernelsOpens: the page of a long recording is there at once, leads to its places, finds names and asks for nothing.
func TestPageOf100000KernelsOpens(t *testing.T) {
	chromium(t)
	dir := t.TempDir()
	trace, page := filepath.Join(dir, "large.json.gz"), filepath.Join(dir, "large.html")
	cmd := exec.Command("go", "run", "./tracegen", "-size", "140MB", "-frames", "0", "-o", trace)
	cmd.Dir = "../tools"
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	run(t, "report", trace, "--html", page, "--output", filepath.Join(dir, "out.txt"))
	if info, err := os.Stat(page); err != nil || info.Size() > 3_000_000 {
		t.Errorf("the page: %v, %v; want at most 3 MB", info, err)
	}
	ctx := startBrowser(t)
	w := watch(ctx, t)
	start := time.Now()
	if err := chromedp.Run(ctx, chromedp.EmulateViewport(1300, 900), chromedp.Navigate((&url.URL{Scheme: "file", Path: page}).String())); err != nil {
		t.Fatal(err)
	}
	const patience = 5 * time.Second // on a busy machine; it takes a fraction of one
	if d := time.Since(start); d > patience {
		t.Errorf("the page took %v to open", d)
	}
	if dead := evaluate[[]string](ctx, t, `[...document.querySelectorAll('a[href^="#"]')].map(a => a.getAttribute("href")).filter(h => !document.getElementById(h.slice(1)))`); len(dead) > 0 {
		t.Errorf("links that lead nowhere: %q", dead)
	}
	if kept := evaluate[[]int](ctx, t, `(() => { const t = strataPage.timelines[0]; return [t.n, t.data.kernels, t.levels.length, t.rects]; })()`); kept[0] > 20_000 || kept[1] < 50_000 || kept[2] != 3 || kept[3] < 100 {
		t.Errorf("the timeline keeps %d of %d kernels with %d levels and draws %d rectangles", kept[0], kept[1], kept[2], kept[3])
	}
	id := evaluate[string](ctx, t, `document.querySelector("#kernels table").id`)
	unfold(ctx, t)
	all := column(ctx, t, id, 0)
	if err := chromedp.Run(ctx, chromedp.SendKeys(`#kernels input[type=search]`, "norm", chromedp.ByQuery)); err != nil {
		t.Fatal(err)
	}
	if found := column(ctx, t, id, 0); len(found) == 0 || len(found) >= len(all) {
		t.Errorf("a search finds %d of %d names", len(found), len(all))
	}
	requests, problems := w.asked()
	if len(problems) > 0 || len(requests) > 0 && !strings.HasPrefix(requests[0], "file:") || len(requests) > 1 {
		t.Errorf("the page asked for %q, the browser says %q", requests, problems)
	}
}
