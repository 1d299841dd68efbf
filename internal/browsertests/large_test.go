package browsertests

import (
	"net/url"
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
	for _, args := range [][]string{{"./internal/gen/cmd/tracegen", "-size", "140MB", "-frames", "0", "-o", trace}, {"./examples/report", trace, "--html", page, "--output", filepath.Join(dir, "out.txt")}} {
		cmd := exec.Command("go", append([]string{"run"}, args...)...)
		cmd.Dir = "../.."
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
		}
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
	id := evaluate[string](ctx, t, `document.querySelector("#kernels table").id`)
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
