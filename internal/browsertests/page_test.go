package browsertests

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// openReport opens the page of strata report of the demo trace.
func openReport(t *testing.T) (ctx context.Context, w *watcher, address string) {
	t.Helper()
	address = report(t, "report")
	ctx = startBrowser(t)
	w = watch(ctx, t)
	if err := chromedp.Run(ctx, chromedp.EmulateViewport(1300, 900), chromedp.Navigate(address)); err != nil {
		t.Fatal(err)
	}
	return ctx, w, address
}

// TestPageDrillsDown: from a finding to its place, from the strip to a pass, and
// there to layers, operators, kernels and the kernel's whole name.
func TestPageDrillsDown(t *testing.T) {
	ctx, w, address := openReport(t)
	if n := evaluate[int](ctx, t, `document.querySelectorAll("#findings ol.items > li").length`); n < 5 {
		t.Errorf("%d findings, want at least five", n)
	}
	if dead := evaluate[[]string](ctx, t, `[...document.querySelectorAll('a[href^="#"]')].map(a => a.getAttribute("href")).filter(h => !document.getElementById(h.slice(1)))`); len(dead) > 0 {
		t.Errorf("links that lead nowhere: %q", dead)
	}
	// Close all, then follow the strip: the pass opens.
	evaluate[bool](ctx, t, `(document.querySelectorAll("details").forEach(d => d.open = false), true)`)
	if err := chromedp.Run(ctx, chromedp.Click(`#passes svg a rect`, chromedp.ByQuery), chromedp.Sleep(100e6)); err != nil {
		t.Fatal(err)
	}
	hash := evaluate[string](ctx, t, `location.hash`)
	if !strings.HasPrefix(hash, "#pass-0-") || !evaluate[bool](ctx, t, `document.querySelector(location.hash).matches("details") && document.querySelector(location.hash).checkVisibility()`) {
		t.Errorf("the strip leads to %q", hash)
	}
	// Down to a kernel: pass, type of layer, operator, kernel, source line.
	depth := evaluate[int](ctx, t, `(() => { let d = document.querySelector(location.hash), n = 0; while (d) { d.open = true; n++; d = [...d.children].filter(c => c.matches("details")).at(-1); } return n; })()`)
	if depth < 4 {
		t.Errorf("the tree has %d levels that open, want at least four", depth)
	}
	if err := chromedp.Run(ctx, chromedp.Evaluate(`document.querySelector('.tree a[href^="#k"]').click()`, nil), chromedp.Sleep(100e6)); err != nil {
		t.Fatal(err)
	}
	if !evaluate[bool](ctx, t, `document.querySelector(location.hash).matches("tr") && document.querySelector(location.hash).cells[0].textContent.length > 10`) {
		t.Error("a kernel of the tree does not lead to its row")
	}
	if n := evaluate[int](ctx, t, `document.querySelectorAll(".flame rect").length`); n < 10 {
		t.Errorf("the flame graph has %d parts", n)
	}
	if bad := evaluate[[]string](ctx, t, `[...document.querySelectorAll("a[href]")].map(a => a.getAttribute("href")).filter(h => !h.startsWith("#") && !h.startsWith("https://ui.perfetto.dev/#!/"))`); len(bad) > 0 {
		t.Errorf("links to elsewhere: %q", bad)
	}
	requests, problems := w.asked()
	if asked := slices.Compact(requests); len(asked) > 0 && !strings.HasPrefix(asked[0], address) || len(asked) > 1 {
		t.Errorf("the page asked for %q, want nothing but itself", asked)
	}
	if len(problems) > 0 {
		t.Errorf("the browser complained: %q", problems)
	}
}

// TestPageSearchesAndSorts: names are found by any word of them, texts sort from
// A, numbers from the largest, by keyboard, too.
func TestPageSearchesAndSorts(t *testing.T) {
	ctx, _, _ := openReport(t)
	id := evaluate[string](ctx, t, `document.querySelector("#kernels table").id`)
	all := column(ctx, t, id, 0)
	if err := chromedp.Run(ctx, chromedp.SendKeys(`#kernels input[type=search]`, "flashinfer", chromedp.ByQuery)); err != nil {
		t.Fatal(err)
	}
	found := column(ctx, t, id, 0)
	if len(found) == 0 || len(found) >= len(all) || slices.ContainsFunc(found, func(s string) bool { return !strings.Contains(s, "flashinfer") }) {
		t.Errorf("searching shows %q", found)
	}
	evaluate[bool](ctx, t, `(() => { const f = document.querySelector("#kernels input[type=search]"); f.value = ""; return f.dispatchEvent(new Event("input")); })()`)
	click(ctx, t, id, "#"+id+" thead th:nth-child(1)", "ascending")
	if got := evaluate[bool](ctx, t, `(() => { const v = [...document.querySelectorAll("#kernels tbody tr")].map(r => r.cells[0].textContent.trim()); return v.every((x, i) => i === 0 || v[i-1].localeCompare(x) <= 0); })()`); !got {
		t.Error("names are not sorted from A after one click")
	}
	evaluate[bool](ctx, t, `document.querySelector("#kernels th:nth-child(3)").dispatchEvent(new KeyboardEvent("keydown", {key: "Enter", bubbles: true}))`)
	if got := evaluate[bool](ctx, t, `(() => { const v = [...document.querySelectorAll("#kernels tbody tr")].map(r => +r.cells[2].dataset.sort); return v.every((x, i) => i === 0 || v[i-1] >= x); })()`); !got {
		t.Error("times are not sorted from the largest after Enter")
	}
}

// TestPageFitsPhones: at 420 pixels nothing but tables scrolls sideways, in dark
// colours, too.
func TestPageFitsPhones(t *testing.T) {
	for _, program := range []string{"report", "layer-timeline", "triage"} {
		address := report(t, program)
		ctx := startBrowser(t)
		if err := chromedp.Run(ctx, chromedp.EmulateViewport(420, 800), chromedp.Navigate(address)); err != nil {
			t.Fatal(err)
		}
		if w := evaluate[float64](ctx, t, `document.documentElement.scrollWidth`); w > 420 {
			wide := evaluate[[]string](ctx, t, `[...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > 421 && !e.closest(".scroll")).slice(0, 8).map(e => e.tagName + "." + e.getAttribute("class") + " " + Math.round(e.getBoundingClientRect().right) + " " + e.textContent.slice(0, 40))`)
			t.Errorf("%s: the page is %v px wide at 420: %q", program, w, wide)
		}
		light := evaluate[string](ctx, t, `getComputedStyle(document.body).backgroundColor`)
		if err := chromedp.Run(ctx, emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}})); err != nil {
			t.Fatal(err)
		}
		if dark := evaluate[string](ctx, t, `getComputedStyle(document.body).backgroundColor`); dark == light {
			t.Errorf("%s: the background is %s in light and dark", program, dark)
		}
	}
}

// TestPageWithoutScripts: all figures are there, the controls are not.
func TestPageWithoutScripts(t *testing.T) {
	address := report(t, "report")
	ctx := startBrowser(t)
	if err := chromedp.Run(ctx, emulation.SetScriptExecutionDisabled(true), chromedp.Navigate(address)); err != nil {
		t.Fatal(err)
	}
	var text string
	if err := chromedp.Run(ctx, chromedp.OuterHTML("html", &text, chromedp.ByQuery)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"What matters", `id="pass-0-`, "<details", "Kernels by name"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(text, `<html lang="en" class="js"`) {
		t.Error("scripts ran")
	}
}
