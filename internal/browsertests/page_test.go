package browsertests

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// openReport opens the page of strata report of the demo trace.
func openReport(t *testing.T) (ctx context.Context, w *watcher, address string) {
	t.Helper()
	address = report(t, "report")
	ctx = startBrowser(t)
	w = watch(ctx, t)
	if err := chromedp.Run(ctx, chromedp.EmulateViewport(1400, 900), chromedp.Navigate(address)); err != nil {
		t.Fatal(err)
	}
	return ctx, w, address
}

// quiet fails where the page asked for more than itself, or the browser complained.
func quiet(t *testing.T, w *watcher, address string) {
	t.Helper()
	requests, problems := w.asked()
	if asked := slices.Compact(requests); len(asked) > 1 || len(asked) > 0 &&
		!strings.HasPrefix(asked[0], strings.SplitN(address, "#", 2)[0]) {
		t.Errorf("the page asked for %q, want nothing but itself", asked)
	}
	if len(problems) > 0 {
		t.Errorf("the browser complained: %q", problems)
	}
}

// view is the part of the window that a timeline shows, in ns.
func view(ctx context.Context, t *testing.T) [2]float64 {
	t.Helper()
	return evaluate[[2]float64](ctx, t, `[strataPage.timelines[0].view.a, strataPage.timelines[0].view.b]`)
}

// press presses keys with the timeline in focus.
func press(ctx context.Context, t *testing.T, keys ...string) {
	t.Helper()
	for _, k := range keys {
		if err := chromedp.Run(ctx, chromedp.Focus(".canvas", chromedp.ByQuery), chromedp.KeyEvent(k)); err != nil {
			t.Fatal(err)
		}
	}
}

// bar is what the timeline draws at a place.
type bar struct {
	Row, Kind, Text string
	Start, End      float64
}

// firstBar returns the middle of the first bar of a kind as a point of the canvas, and what the timeline says is there.
func firstBar(ctx context.Context, t *testing.T, kind string) (x, y float64, b bar) {
	t.Helper()
	at := evaluate[[]float64](ctx, t, fmt.Sprintf(`(() => { const t = strataPage.timelines[0], r = t.rows.find(r => r.kind === %q); let i = t.first(r, t.view.a);
		for (let k = i; k < r.s.length && r.s[k] < t.view.b; k++) if (r.e[k] - r.s[k] > r.e[i] - r.s[i]) i = k;
		return [(t.x(Math.max(r.s[i], t.view.a)) + t.x(Math.min(r.e[i], t.view.b))) / 2, r.y + r.h / 2]; })()`, kind))
	b = evaluate[bar](ctx, t, fmt.Sprintf(`(() => { const t = strataPage.timelines[0], h = t.hit(%v, %v); return t.describe(h.row, h.i); })()`, at[0], at[1]))
	if b.Kind != kind {
		t.Errorf("at the middle of a %s the timeline has %+v", kind, b)
	}
	return at[0], at[1], b
}

// mouse clicks a point of the canvas.
func mouse(ctx context.Context, t *testing.T, x, y float64, clicks int) {
	t.Helper()
	box := evaluate[[]float64](ctx, t, `(() => { const c = document.querySelector(".canvas canvas"); c.scrollIntoView({block: "center"}); const b = c.getBoundingClientRect(); return [b.left, b.top]; })()`)
	if err := chromedp.Run(ctx, chromedp.MouseClickXY(box[0]+x, box[1]+y, chromedp.ClickCount(clicks))); err != nil {
		t.Fatal(err)
	}
}

// TestTimelineByKeysAndMouse: each interaction changes what is drawn as it says.
func TestTimelineByKeysAndMouse(t *testing.T) {
	ctx, w, address := openReport(t)
	span := evaluate[float64](ctx, t, `strataPage.timelines[0].data.span`)
	if v := view(ctx, t); v != [2]float64{0, span} {
		t.Errorf("the timeline opens at %v, want all %v ns", v, span)
	}
	press(ctx, t, "w", "w")
	in := view(ctx, t)
	if got := (in[1] - in[0]) / span; got < .4 || got > .5 {
		t.Errorf("W twice shows %v of the window, want 1/1.5²", got)
	}
	press(ctx, t, "d")
	if v := view(ctx, t); !(v[0] > in[0]) || v[1]-v[0] < (in[1]-in[0])*.999 {
		t.Errorf("D moved from %v to %v", in, v)
	}
	press(ctx, t, "a", "a")
	if v := view(ctx, t); !(v[0] < in[0]) {
		t.Errorf("A moved from %v to %v", in, v)
	}
	for range 60 {
		press(ctx, t, "w")
	}
	if v := view(ctx, t); v[1]-v[0] < 399 || v[1]-v[0] > 401 {
		t.Errorf("zooming in ends at %v ns, want 400", v[1]-v[0])
	}
	press(ctx, t, "0")
	if v := view(ctx, t); v != [2]float64{0, span} {
		t.Errorf("0 shows %v", v)
	}

	// A click says what a bar is; a double click frames it; arrows go on; Escape forgets it.
	x, y, b := firstBar(ctx, t, "operator")
	mouse(ctx, t, x, y, 1)
	if got := evaluate[string](ctx, t, `document.querySelector(".panel h2").textContent`); got != b.Text {
		t.Errorf("a click on %q shows details of %q", b.Text, got)
	}
	mouse(ctx, t, x, y, 2)
	if v := view(ctx, t); v[1]-v[0] > (b.End-b.Start)*1.5+400 || v[0] > b.Start || v[1] < b.End {
		t.Errorf("a double click on %+v shows %v", b, v)
	}
	before := evaluate[int](ctx, t, `strataPage.timelines[0].selected.i`)
	press(ctx, t, kb.ArrowRight)
	if got := evaluate[int](ctx, t, `strataPage.timelines[0].selected.i`); got != before+1 {
		t.Errorf("the right arrow went from bar %d to %d", before, got)
	}
	press(ctx, t, kb.ArrowDown)
	if got := evaluate[[]string](ctx, t, fmt.Sprintf(`(() => { const t = strataPage.timelines[0], s = t.selected, r = t.rows[s.row]; return [t.text(r, s.i), t.text(r, %d)]; })()`, before+1)); got[0] != got[1] {
		t.Errorf("the down arrow went to another operator: %q", got)
	}
	press(ctx, t, kb.Escape)
	if got := evaluate[string](ctx, t, `document.querySelector(".panel h2").textContent`); got != "GPU works on" {
		t.Errorf("after Escape the panel shows %q, want the legend", got)
	}

	// Findings: N goes to each, and marks its card.
	press(ctx, t, "0", "n")
	if got := evaluate[int](ctx, t, `document.querySelectorAll(".card.current").length`); got != 1 {
		t.Errorf("N marks %d cards, want 1", got)
	}
	if v := view(ctx, t); v[1]-v[0] >= span {
		t.Error("N did not go to a finding's place")
	}
	press(ctx, t, "0")
	if err := chromedp.Run(ctx, chromedp.Click(".card button", chromedp.ByQuery)); err != nil {
		t.Fatal(err)
	}
	if v := view(ctx, t); v[1]-v[0] >= span {
		t.Error("a card's button did not go to its place")
	}

	// Search: what is found stays bright, its number and time are said, Enter goes to it.
	if err := chromedp.Run(ctx, chromedp.SendKeys(".tools input", "norm"+kb.Enter, chromedp.ByQuery)); err != nil {
		t.Fatal(err)
	}
	if got := evaluate[string](ctx, t, `document.querySelector(".hits").textContent`); !strings.Contains(got,
		" kernels, ") {
		t.Errorf("the search says %q", got)
	}
	if got := evaluate[string](ctx, t, `document.querySelector(".panel dl").textContent`); !strings.Contains(strings.ToLower(got), "norm") {
		t.Errorf("Enter goes to %q", got)
	}

	// The address reopens the view; the overview moves it.
	if err := chromedp.Run(ctx, chromedp.Navigate(address+"#t0/0.1-0.3")); err != nil {
		t.Fatal(err)
	}
	if v := view(ctx, t); v[0] < 99_000 || v[0] > 101_000 || v[1] < 299_000 || v[1] > 301_000 {
		t.Errorf("the address #t0/0.1-0.3 shows %v", v)
	}
	mouse(ctx, t, evaluate[float64](ctx, t, `strataPage.timelines[0].width - 5`), 15, 1)
	if v := view(ctx, t); v[1] < span*.95 {
		t.Errorf("a click at the overview's end shows %v of %v", v, span)
	}
	quiet(t, w, address)
}

// TestTimelineDrawsOnlyWhatShows: the rectangles of a frame are bounded by what the canvas has room for.
func TestTimelineDrawsOnlyWhatShows(t *testing.T) {
	ctx, _, _ := openReport(t)
	counts := evaluate[[]int](ctx, t, `(() => { const t = strataPage.timelines[0], out = []; for (const s of [1, .1, .01]) { t.show(0, t.data.span * s); t.draw(); out.push(t.rects); } out.push(t.rows.length * t.width + 2000); return out; })()`)
	for i, n := range counts[:3] {
		if n < 5 || n > counts[3] {
			t.Errorf("view %d draws %d rectangles, want at most one a row and pixel (%d)", i, n, counts[3])
		}
	}
	if draws := evaluate[[]int](ctx, t, `new Promise(done => { const t = strataPage.timelines[0], n = t.draws; for (let i = 0; i < 50; i++) t.zoom(.99); requestAnimationFrame(() => requestAnimationFrame(() => done([t.draws - n]))); })`, awaited); len(draws) != 1 || draws[0] > 3 {
		t.Errorf("fifty changes in one frame drew %v times", draws)
	}
}

// TestFigureOfTheTimelineIsTheReports: kernels and their time are those that the table has.
func TestFiguresOfTimelineAndTableAgree(t *testing.T) {
	ctx, _, _ := openReport(t)
	sums := evaluate[[]float64](ctx, t, `(() => { const t = strataPage.timelines[0]; let ns = 0; for (let i = 0; i < t.n; i++) ns += t.end[i] - t.start[i];
		let tab = 0, n = 0; for (const r of document.querySelectorAll("#kernels tbody tr")) { tab += +r.cells[3].dataset.sort; n += +r.cells[5].dataset.sort; } return [ns, tab, t.n, n]; })()`)
	if sums[0] != sums[1] || sums[2] != sums[3] || sums[0] == 0 {
		t.Errorf("the timeline has %v ns in %v kernels, the table %v ns in %v", sums[0], sums[2], sums[1], sums[3])
	}
}

// TestPageLinks: links lead into the page or to the Perfetto UI, and none is dead.
func TestPageLinks(t *testing.T) {
	ctx, w, address := openReport(t)
	if dead := evaluate[[]string](ctx, t, `[...document.querySelectorAll('a[href^="#"]')].map(a => a.getAttribute("href")).filter(h => !document.getElementById(h.slice(1)))`); len(dead) > 0 {
		t.Errorf("links that lead nowhere: %q", dead)
	}
	if bad := evaluate[[]string](ctx, t, `[...document.querySelectorAll("a[href]")].map(a => a.getAttribute("href")).filter(h => !h.startsWith("#") && !h.startsWith("https://ui.perfetto.dev/#!/"))`); len(bad) > 0 {
		t.Errorf("links to elsewhere: %q", bad)
	}
	if n := evaluate[int](ctx, t, `document.querySelectorAll(".card").length`); n < 5 {
		t.Errorf("%d findings, want at least five", n)
	}
	if bad := evaluate[[]string](ctx, t, `[...document.querySelectorAll("button, input, select, [tabindex]")].filter(e => !(e.getAttribute("aria-label") || e.textContent.trim() || e.title || e.labels?.length)).map(e => e.outerHTML.slice(0, 80))`); len(bad) > 0 {
		t.Errorf("controls without a name: %q", bad)
	}
	quiet(t, w, address)
}

// TestPageFits: nothing but tables and figures scrolls sideways, from phones to large screens, in dark colours, too.
func TestPageFits(t *testing.T) {
	for _, command := range []string{"report", "layers", "triage", "host"} {
		address := report(t, command)
		ctx := startBrowser(t)
		for _, width := range []int64{360, 420, 768, 1400, 2560} {
			if err := chromedp.Run(ctx, chromedp.EmulateViewport(width, 900), chromedp.Navigate(address)); err != nil {
				t.Fatal(err)
			}
			if w := evaluate[float64](ctx, t, `document.documentElement.scrollWidth`); w > float64(width) {
				wide := evaluate[[]string](ctx, t, fmt.Sprintf(`[...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > %d && !e.closest(".scroll, figure")).slice(0, 8).map(e => e.tagName + "." + e.getAttribute("class") + " " + Math.round(e.getBoundingClientRect().right) + " " + e.textContent.slice(0, 40))`, width+1))
				t.Errorf("%s: the page is %v px wide at %d: %q", command, w, width, wide)
			}
		}
		light := evaluate[string](ctx, t, `getComputedStyle(document.body).backgroundColor`)
		if err := chromedp.Run(ctx, emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}})); err != nil {
			t.Fatal(err)
		}
		if dark := evaluate[string](ctx, t, `getComputedStyle(document.body).backgroundColor`); dark == light {
			t.Errorf("%s: the background is %s in light and dark", command, dark)
		}
	}
}

// TestTextHasContrast: each text has at least 4.5 times the luminance of what is behind it, or the other way round,
// in both themes.
func TestTextHasContrast(t *testing.T) {
	ctx, _, _ := openReport(t)
	for _, theme := range []string{"light", "dark"} {
		bad := evaluate[[]string](ctx, t, fmt.Sprintf(`(() => {
			document.documentElement.setAttribute("data-theme", %q);
			const rgb = c => c.match(/[\d.]+/g).map(Number), lum = c => { const f = v => (v /= 255) <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; return .2126 * f(c[0]) + .7152 * f(c[1]) + .0722 * f(c[2]); };
			const behind = e => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] > 0) return c; } return [255, 255, 255]; };
			const out = [];
			for (const e of document.querySelectorAll("body *")) {
				if (![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()) || e.closest("svg, script") || !e.getClientRects().length || e.closest(".skip, .tip")) continue;
				const a = lum(rgb(getComputedStyle(e).color)), b = lum(behind(e)), ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
				if (ratio < 4.5) out.push(ratio.toFixed(2) + " " + e.tagName + "." + e.className + " " + e.textContent.slice(0, 30));
			}
			return out; })()`, theme))
		if len(bad) > 0 {
			t.Errorf("%s: too little contrast: %q", theme, bad)
		}
	}
}

// TestPageWithoutScripts: all tables, cards and a still picture are there, the controls are not.
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
	for _, want := range []string{`class="still"`, `class="card"`, "Kernels by name", "Operators of one typical pass"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(text, `<html lang="en" class="on"`) {
		t.Error("scripts ran")
	}
}
