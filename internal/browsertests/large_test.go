package browsertests

import (
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// generated writes a recording of a size: 140 MB are 100,000 kernels.
func generated(t *testing.T, size string) string {
	t.Helper()
	chromium(t)
	trace := filepath.Join(t.TempDir(), "large.json.gz")
	cmd := exec.Command("go", "run", "./tracegen", "-size", size, "-frames", "0", "-o", trace)
	cmd.Dir = "../tools"
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	return trace
}

// openLarge opens the page of a recording and checks what bounds it: bytes, kernels one by one, requests, rectangles
// a frame.
func openLarge(t *testing.T, trace string, kernels int) context.Context {
	t.Helper()
	page := filepath.Join(t.TempDir(), "large.html")
	run(t, "report", trace, "--html", page, "--output", filepath.Join(t.TempDir(), "out.txt"))
	info, err := os.Stat(page)
	if err != nil || info.Size() > 3_000_000 {
		t.Errorf("the page: %v, %v; want at most 3 MB", info, err)
	}
	ctx := startBrowser(t)
	w := watch(ctx, t)
	if err := chromedp.Run(ctx, chromedp.EmulateViewport(1300, 900),
		chromedp.Navigate((&url.URL{Scheme: "file", Path: page}).String())); err != nil {
		t.Fatal(err)
	}
	kept := evaluate[[]int](ctx, t, `(() => { const t = strataPage.timelines[0]; return [t.n, t.data.kernels, t.levels.length, t.rects, t.rows.length * t.width + 2000]; })()`)
	if kept[0] > 20_000 || kept[1] < kernels || kept[2] != 3 || kept[3] < 100 || kept[3] > kept[4] {
		t.Errorf("the timeline keeps %d of %d kernels with %d levels and draws %d rectangles, at most %d", kept[0],
			kept[1], kept[2], kept[3], kept[4])
	}
	requests, problems := w.asked()
	if len(problems) > 0 || len(requests) > 0 && !strings.HasPrefix(requests[0], "file:") || len(requests) > 1 {
		t.Errorf("the page asked for %q, the browser says %q", requests, problems)
	}
	times := evaluate[[]float64](ctx, t, `(() => { const t = strataPage.timelines[0], out = [performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? -1];
		for (const part of [1, .1, .001]) { const w = t.data.span * part; t.show(0, w); const from = performance.now(); for (let i = 0; i < 100; i++) { t.view = { a: t.data.span * .3 * i / 100, b: t.data.span * .3 * i / 100 + w * .7 }; t.draw(); } out.push((performance.now() - from) / 100); }
		return out; })()`)
	t.Logf("%d kernels: page %d bytes, %d rectangles in the first frame, first paint after %.0f ms, a frame of all, a "+
		"tenth, a thousandth: %.1f, %.1f, %.1f ms", kept[1], info.Size(), kept[3], times[0], times[1], times[2], times[3])
	return ctx
}

// TestPageOf100000KernelsOpens: the page of a long recording leads to its places and finds names.
func TestPageOf100000KernelsOpens(t *testing.T) {
	trace := generated(t, "140MB")
	ctx := openLarge(t, trace, 50_000)
	if dead := evaluate[[]string](ctx, t, `[...document.querySelectorAll('a[href^="#"]')].map(a => a.getAttribute("href")).filter(h => !document.getElementById(h.slice(1)))`); len(dead) > 0 {
		t.Errorf("links that lead nowhere: %q", dead)
	}
	id := evaluate[string](ctx, t, `document.querySelector("#kernels table").id`)
	unfold(ctx, t)
	all := column(ctx, t, id, 0)
	if err := chromedp.Run(ctx, chromedp.SendKeys(`#kernels input[type=search]`, "norm",
		chromedp.ByQuery)); err != nil {
		t.Fatal(err)
	}
	if found := column(ctx, t, id, 0); len(found) == 0 || len(found) >= len(all) {
		t.Errorf("a search finds %d of %d names", len(found), len(all))
	}
	servedDetails(t, trace)
}

// servedDetails checks that a served page fetches the kernels of a view that it only summarises.
func servedDetails(t *testing.T, trace string) {
	path, err := strata()
	if err != nil {
		t.Fatal(err)
	}
	ctx := startBrowser(t)
	cmd := exec.CommandContext(ctx, path, "view", trace, "--serve", "--progress=false")
	cmd.Env = append(os.Environ(), "DISPLAY=", "WAYLAND_DISPLAY=")
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	var text []byte
	for !strings.Contains(string(text), " in a browser") {
		b := make([]byte, 4096)
		n, err := said.Read(b)
		if text = append(text, b[:n]...); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
	}
	address := string(text[strings.Index(string(text), "http://"):])
	w := watch(ctx, t)
	if err := chromedp.Run(ctx, chromedp.EmulateViewport(1300, 900),
		chromedp.Navigate(strings.Fields(address)[0])); err != nil {
		t.Fatal(err)
	}
	const drawn = `(() => { const t = strataPage.timelines[0], { a, b } = t.view; let n = 0; for (let i = 0; i < t.n; i++) if (t.start[i] >= a && t.start[i] < b) n++; return n; })()`
	evaluate[bool](ctx, t, `(() => { const t = strataPage.timelines[0]; t.show(t.data.span * .8, t.data.span * .81); return true; })()`)
	if n := evaluate[int](ctx, t, drawn); n != 0 {
		t.Fatalf("%d kernels of the view are in the page already: the test needs another view", n)
	}
	n := 0
	for end := time.Now().Add(20 * time.Second); n == 0 && time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		n = evaluate[int](ctx, t, drawn)
	}
	requests, problems := w.asked()
	if n < 200 || len(problems) > 0 || len(requests) != 2 || !strings.Contains(requests[1], "/details?from=") {
		t.Errorf("%d kernels were fetched; requests %q, problems %q", n, requests, problems)
	}
}

// TestPageOfAMillionKernels measures what docs/performance.md says of pages: STRATA_LONG=1 go test -run Million -v.
func TestPageOfAMillionKernels(t *testing.T) {
	if os.Getenv("STRATA_LONG") == "" {
		t.Skip("SKIPPED: set STRATA_LONG=1 for a recording of 1.4 GB")
	}
	openLarge(t, generated(t, "1.4GB"), 900_000)
}
