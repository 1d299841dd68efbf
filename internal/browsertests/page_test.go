package browsertests

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
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

// pointer moves the mouse over the canvas with a button or keys held: from one point to another.
func pointer(ctx context.Context, t *testing.T, x0, y0, x1, y1 float64, held input.Modifier) {
	t.Helper()
	box := evaluate[[]float64](ctx, t, `(() => { const c = document.querySelector(".canvas canvas"); c.scrollIntoView({block: "center"}); const b = c.getBoundingClientRect(); return [b.left, b.top]; })()`)
	for _, e := range []*input.DispatchMouseEventParams{
		input.DispatchMouseEvent(input.MousePressed, box[0]+x0, box[1]+
			y0).WithButton(input.Left).WithButtons(1).WithClickCount(1),
		input.DispatchMouseEvent(input.MouseMoved, box[0]+(x0+x1)/2, box[1]+y1).WithButton(input.Left).WithButtons(1),
		input.DispatchMouseEvent(input.MouseMoved, box[0]+x1, box[1]+y1).WithButton(input.Left).WithButtons(1),
		input.DispatchMouseEvent(input.MouseReleased, box[0]+x1, box[1]+y1).WithButton(input.Left).WithClickCount(1)} {
		if err := chromedp.Run(ctx, e.WithModifiers(held)); err != nil {
			t.Fatal(err)
		}
	}
}

// wheel turns the wheel over a point of the canvas.
func wheel(ctx context.Context, t *testing.T, x, y, dx, dy float64, held input.Modifier) {
	t.Helper()
	box := evaluate[[]float64](ctx, t, `(() => { const c = document.querySelector(".canvas canvas"); c.scrollIntoView({block: "center"}); const b = c.getBoundingClientRect(); return [b.left, b.top]; })()`)
	if err := chromedp.Run(ctx, input.DispatchMouseEvent(input.MouseWheel, box[0]+x, box[1]+y).WithDeltaX(dx).
		WithDeltaY(dy).WithModifiers(held)); err != nil {
		t.Fatal(err)
	}
}

// TestTimelineByWheelDragAndPinch: what is drawn follows the wheel, the mouse and two fingers, and keeps what is under
// them in its place.
func TestTimelineByWheelDragAndPinch(t *testing.T) {
	ctx, w, address := openReport(t)
	span := evaluate[float64](ctx, t, `strataPage.timelines[0].data.span`)
	at := func(x float64) float64 {
		return evaluate[float64](ctx, t, fmt.Sprintf(`strataPage.timelines[0].time(%v)`, x))
	}
	near := func(a, b float64) bool { return math.Abs(a-b) < span/2000 }

	// The wheel scrolls the page until the timeline was clicked; with Ctrl it zooms always.
	wheel(ctx, t, 500, 150, 0, -100, 0)
	if v := view(ctx, t); v != [2]float64{0, span} {
		t.Errorf("the wheel zoomed to %v before the timeline was clicked", v)
	}
	under := at(500)
	wheel(ctx, t, 500, 150, 0, -200, input.ModifierCtrl)
	v := view(ctx, t)
	if got := (v[1] - v[0]) / span; got < .5 || got > .6 || !near(at(500), under) {
		t.Errorf("Ctrl and the wheel show %v of the window, %v under the pointer, want e^−0.6 and %v", got, at(500), under)
	}
	pointer(ctx, t, 500, 150, 500, 150, 0)
	wheel(ctx, t, 500, 150, 0, 200, 0)
	if v := view(ctx, t); !near(v[1]-v[0], span) {
		t.Errorf("the wheel did not zoom out after a click: %v", v)
	}

	// Dragging moves what is under the pointer with it; so does the sideways wheel.
	press(ctx, t, "w", "w", "w")
	under = at(700)
	pointer(ctx, t, 700, 150, 500, 150, 0)
	if !near(at(500), under) {
		t.Errorf("after a drag by 200 pixels %v is at 500, want %v", at(500), under)
	}
	under = at(600)
	wheel(ctx, t, 500, 150, -100, 0, 0)
	if !near(at(700), under) {
		t.Errorf("after 100 pixels of a sideways wheel %v is at 700, want %v", at(700), under)
	}

	// Shift and dragging measures and moves nothing.
	before := view(ctx, t)
	pointer(ctx, t, 300, 150, 600, 150, input.ModifierShift)
	m := evaluate[[]float64](ctx, t, `[strataPage.timelines[0].measure.a, strataPage.timelines[0].measure.b]`)
	if !near(m[0], at(300)) || !near(m[1], at(600)) || view(ctx, t) != before {
		t.Errorf("measured %v, want from %v to %v; the view went from %v to %v", m, at(300), at(600), before, view(ctx, t))
	}
	press(ctx, t, kb.Escape)

	// The overview: its window goes where the pointer goes.
	pointer(ctx, t, 300, 15, 800, 15, 0)
	v = view(ctx, t)
	if want := evaluate[float64](ctx, t, `(t => (800 - (t.x(t.view.a))) / (t.width - t.x(t.view.a)) * t.data.span)(strataPage.timelines[0])`); math.Abs((v[0]+v[1])/2-want) > span/100 {
		t.Errorf("dragging in the overview shows %v, want %v in the middle", v, want)
	}

	// Two fingers: twice as far apart shows half.
	press(ctx, t, "0")
	box := evaluate[[]float64](ctx, t, `(() => { const b = document.querySelector(".canvas canvas").getBoundingClientRect(); return [b.left, b.top]; })()`)
	touch := func(kind input.TouchType, x ...float64) {
		var points []*input.TouchPoint
		for i, v := range x {
			points = append(points, &input.TouchPoint{X: box[0] + v, Y: box[1] + 150, ID: float64(i + 1)})
		}
		if err := chromedp.Run(ctx, input.DispatchTouchEvent(kind, points)); err != nil {
			t.Fatal(err)
		}
	}
	touch(input.TouchStart, 500)
	touch(input.TouchStart, 500, 600)
	touch(input.TouchMove, 480, 620)
	touch(input.TouchMove, 450, 650)
	touch(input.TouchEnd)
	if v := view(ctx, t); (v[1]-v[0])/span < .4 || (v[1]-v[0])/span > .6 {
		t.Errorf("a pinch to twice the distance shows %v of the window, want half", (v[1]-v[0])/span)
	}
	quiet(t, w, address)
}

// sides writes the page of two traces, which are one, and returns its address.
func sides(t *testing.T) string {
	t.Helper()
	path, trace := filepath.Join(t.TempDir(), "sides.html"), filepath.Join(t.TempDir(), "demo.json.gz")
	run(t, "perfetto", "--annotate", trace)
	run(t, "compare", trace, trace, "--html", path)
	return address(path)
}

// TestTimelineLeadsOn: layers, search, copying, Perfetto, names in tables and sides of a comparison.
func TestTimelineLeadsOn(t *testing.T) {
	ctx, w, address := openReport(t)
	press(ctx, t, "l")
	layer := evaluate[bar](ctx, t, `(t => t.describe(t.selected.row, t.selected.i))(strataPage.timelines[0])`)
	if v := view(ctx, t); layer.Kind != "layer" || v[0] > layer.Start || v[1] < layer.End ||
		v[1]-v[0] > 1.2*(layer.End-layer.Start) {
		t.Errorf("L shows %v of %+v", v, layer)
	}
	press(ctx, t, "0", "f")
	if v := view(ctx, t); v[0] > layer.Start || v[1] < layer.End || v[1]-v[0] > 1.4*(layer.End-layer.Start) {
		t.Errorf("F shows %v of %+v", v, layer)
	}
	press(ctx, t, "0", "/")
	if got := evaluate[string](ctx, t, `document.activeElement.placeholder`); !strings.HasPrefix(got, "Find") {
		t.Errorf("/ leads to %q", got)
	}

	// A bar under the pointer says what it is; a click offers its name and a pass its place in Perfetto.
	x, y, pass := firstBar(ctx, t, "pass")
	box := evaluate[[]float64](ctx, t, `(() => { const c = document.querySelector(".canvas canvas"); c.scrollIntoView({block: "center"}); const b = c.getBoundingClientRect(); return [b.left, b.top]; })()`)
	if err := chromedp.Run(ctx, input.DispatchMouseEvent(input.MouseMoved, box[0]+x, box[1]+y)); err != nil {
		t.Fatal(err)
	}
	if got := evaluate[string](ctx, t, `document.querySelector(".tip.shown")?.textContent ?? ""`); !strings.HasPrefix(got,
		pass.Text+" · ") {
		t.Errorf("over %q stands %q", pass.Text, got)
	}
	mouse(ctx, t, x, y, 1)
	if got := evaluate[string](ctx, t, `document.querySelector(".panel a")?.href ?? ""`); !strings.HasPrefix(got,
		"https://ui.perfetto.dev/#!/") || !strings.Contains(got, "visStart") {
		t.Errorf("a pass leads to %q", got)
	}
	x, y, kernel := firstBar(ctx, t, "kernel")
	mouse(ctx, t, x, y, 1)
	copied := evaluate[string](ctx, t, `(() => { let text = "nothing"; Object.defineProperty(navigator, "clipboard", { value: { writeText: s => { text = s; return Promise.resolve(); } } }); document.querySelector(".panel button").click(); return text; })()`)
	if whole := evaluate[string](ctx, t, `(t => { const r = t.rows[t.selected.row]; return t.data.names[t.name[r.ref[t.selected.i]]][1]; })(strataPage.timelines[0])`); copied != whole || copied == "" {
		t.Errorf("Copy of %q gives %q, want %q", kernel.Text, copied, whole)
	}

	// What ranks exchange has a row of its own, and what is not known is hatched.
	rows := evaluate[[]string](ctx, t, `strataPage.timelines[0].rows.map(r => r.name)`)
	if !slices.Contains(rows, "Collectives") || !slices.Contains(rows, "GPU idle") {
		t.Errorf("rows are %q", rows)
	}
	if got := evaluate[[]bool](ctx, t, `(t => t.data.palette.map((p, i) => (p[1] === "--unknown") === (t.colours[i] instanceof CanvasPattern)))(strataPage.timelines[0])`); slices.Contains(got, false) || len(got) == 0 {
		t.Errorf("hatched colours are those that are not known: %v", got)
	}

	// A name of a table is searched in the timeline.
	if err := chromedp.Run(ctx, chromedp.Click("#operators td button.find", chromedp.ByQuery)); err != nil {
		t.Fatal(err)
	}
	name := evaluate[string](ctx, t, `document.querySelector("#operators td button.find").textContent`)
	if got := evaluate[[]string](ctx, t, `[strataPage.timelines[0].find.value, strataPage.timelines[0].hits.textContent]`); got[0] != name || !strings.Contains(got[1], " kernel") {
		t.Errorf("a click on %q searches %q", name, got)
	}
	quiet(t, w, address)

	if err := chromedp.Run(ctx, chromedp.Navigate(sides(t))); err != nil {
		t.Fatal(err)
	}
	press(ctx, t, "w", "d")
	if got := evaluate[[]string](ctx, t, `strataPage.timelines.map(t => t.view.a.toFixed(3) + "-" + t.view.b.toFixed(3) + " of " + t.data.span)`); len(got) != 2 || got[0] != got[1] {
		t.Errorf("two sides show %q, want one view of one scale", got)
	}
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

// TestFiguresOfTimelineAndTableAgree: kernels and their time are those that the table has.
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
	names, pages := all(t)
	for _, command := range names {
		ctx, address := startBrowser(t), pages[command]
		w := watch(ctx, t)
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
		quiet(t, w, address)
	}
}

// TestTextHasContrast: each text has at least 4.5 times the luminance of what follows it, or the other way round,
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
