package browsertests

import (
	"context"
	"fmt"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// report writes the HTML report that a program makes of the built-in demo trace
// and returns its URL.
func report(t *testing.T, program string) string {
	t.Helper()
	chromium(t)
	path := filepath.Join(t.TempDir(), program+".html")
	cmd := exec.Command("go", "run", "./examples/"+program, "--html", path)
	cmd.Dir = "../.."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// watcher collects what a page asked for and complained about.
type watcher struct {
	mu       sync.Mutex
	requests []string
	problems []string
}

// watch starts to collect on a tab.
func watch(ctx context.Context, t *testing.T) *watcher {
	t.Helper()
	w := &watcher{}
	chromedp.ListenTarget(ctx, func(ev any) {
		w.mu.Lock()
		defer w.mu.Unlock()
		switch e := ev.(type) {
		case *network.EventRequestWillBeSent:
			w.requests = append(w.requests, e.Request.URL)
		case *network.EventWebSocketCreated:
			w.requests = append(w.requests, e.URL)
		case *runtime.EventExceptionThrown:
			w.problems = append(w.problems, e.ExceptionDetails.Error())
		case *log.EventEntryAdded: // refused by the page's policy, among others
			w.problems = append(w.problems, e.Entry.Text)
		}
	})
	if err := chromedp.Run(ctx, network.Enable(), log.Enable(), runtime.Enable()); err != nil {
		t.Fatal(err)
	}
	return w
}

// asked returns the requests and problems so far.
func (w *watcher) asked() (requests, problems []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.requests), slices.Clone(w.problems)
}

// evaluate runs a JavaScript expression and returns its value.
func evaluate[T any](ctx context.Context, t *testing.T, expression string) T {
	t.Helper()
	var v T
	if err := chromedp.Run(ctx, chromedp.Evaluate(expression, &v)); err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// column returns the texts that a column of a table shows, by the column's
// number; rows that a filter hides are left out.
func column(ctx context.Context, t *testing.T, table string, n int) []string {
	t.Helper()
	return evaluate[[]string](ctx, t, fmt.Sprintf(
		`[...document.getElementById(%q).tBodies[0].rows].filter(r => r.offsetParent !== null).map(r => r.cells[%d].textContent.trim())`, table, n))
}

// numbers parses what a column shows.
func numbers(t *testing.T, texts []string) []float64 {
	t.Helper()
	var out []float64
	for _, s := range texts {
		f, err := strconv.ParseFloat(strings.ReplaceAll(s, ",", ""), 64)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, f)
	}
	return out
}

// kernelTable finds the table with a search field and returns its id and the
// numbers of its columns by title.
func kernelTable(ctx context.Context, t *testing.T) (string, map[string]int) {
	t.Helper()
	id := evaluate[string](ctx, t, `document.querySelector("input[type=search]").getAttribute("aria-controls")`)
	titles := evaluate[[]string](ctx, t, fmt.Sprintf(`[...document.getElementById(%q).tHead.rows[0].cells].map(c => c.textContent)`, id))
	index := map[string]int{}
	for i, s := range titles {
		index[s] = i
	}
	return id, index
}

// TestReports opens the reports of the demo trace as their reader does: finds
// the tables, sorts, searches, chooses; and nothing leaves the machine.
func TestReports(t *testing.T) {
	for program, want := range map[string]struct {
		tables []string // captions begin with these, in this order
		time   string   // a column to sort
		word   string   // to search, in some names and not in others
	}{
		"layer-timeline": {[]string{"All forward passes", "Layers of pass", "Layer types", "GPU activities by name"}, "Time (ms)", "flashinfer"},
		"triage":         {[]string{"Kernels of stage", "Operators of stage", "Overlap of stage", "Fused paths of stage"}, "GPU time (ms)", "nvjet"},
	} {
		t.Run(program, func(t *testing.T) {
			address := report(t, program) // first: building it may take longer than a browser has
			ctx := startBrowser(t)
			w := watch(ctx, t)
			if err := chromedp.Run(ctx, chromedp.Navigate(address)); err != nil {
				t.Fatal(err)
			}

			captions := evaluate[[]string](ctx, t, `[...document.querySelectorAll("table caption")].map(c => c.textContent)`)
			for i, caption := range want.tables {
				if i >= len(captions) || !strings.HasPrefix(captions[i], caption) {
					t.Fatalf("tables are %q, want them to begin with %q", captions, want.tables)
				}
			}

			id, columns := kernelTable(ctx, t)
			col, ok := columns[want.time]
			if !ok {
				t.Fatalf("columns are %v, want one %q", columns, want.time)
			}
			rows := len(column(ctx, t, id, 0))
			heading := fmt.Sprintf("#%s thead th:nth-child(%d)", id, col+1)
			click(ctx, t, id, heading, "descending")
			if got := numbers(t, column(ctx, t, id, col)); len(got) != rows || !slices.IsSortedFunc(got, func(a, b float64) int { return int(b*1e3) - int(a*1e3) }) {
				t.Errorf("after one click %s shows %v, want %d rows, the largest first", want.time, got, rows)
			}
			click(ctx, t, id, heading, "ascending")
			if got := numbers(t, column(ctx, t, id, col)); len(got) != rows || !slices.IsSorted(got) {
				t.Errorf("after two clicks %s shows %v, want %d rows, the smallest first", want.time, got, rows)
			}

			if err := chromedp.Run(ctx, chromedp.SendKeys(`input[type=search]`, want.word, chromedp.ByQuery)); err != nil {
				t.Fatal(err)
			}
			found := column(ctx, t, id, 0)
			if len(found) == 0 || len(found) >= rows {
				t.Errorf("searching %q shows %d of %d rows, want some", want.word, len(found), rows)
			}
			for _, name := range found {
				if !strings.Contains(name, want.word) {
					t.Errorf("searching %q shows %q", want.word, name)
				}
			}
			// Sorting keeps what the filter hides.
			click(ctx, t, id, heading, "descending")
			if got := column(ctx, t, id, 0); len(got) != len(found) {
				t.Errorf("sorting changed the number of found rows from %d to %d", len(found), len(got))
			}
			status := evaluate[string](ctx, t, `document.querySelector("input[type=search]").closest(".tablebox").querySelector("output").textContent`)
			if want := fmt.Sprintf("%d of %d rows", len(found), rows); !strings.HasPrefix(status, want) {
				t.Errorf("status = %q, want %q", status, want)
			}
			evaluate[bool](ctx, t, `(() => { const f = document.querySelector("input[type=search]"); f.value = ""; return f.dispatchEvent(new Event("input")); })()`)
			choose := fmt.Sprintf(`(() => { const s = document.querySelector("select[aria-controls=%s]"); s.value = "gemm"; return s.dispatchEvent(new Event("input")); })()`, id)
			evaluate[bool](ctx, t, choose)
			if got := column(ctx, t, id, columns["Category"]); len(got) == 0 || len(got) >= rows || slices.ContainsFunc(got, func(s string) bool { return s != "gemm" }) {
				t.Errorf("choosing gemm shows the categories %q", got)
			}

			requests, problems := w.asked()
			if !slices.Equal(requests, []string{address}) {
				t.Errorf("the page asked for %q, want nothing but itself", requests)
			}
			if len(problems) > 0 {
				t.Errorf("the browser complained: %q", problems)
			}
		})
	}
}

// click clicks a heading and waits until its table is sorted.
func click(ctx context.Context, t *testing.T, table, heading, order string) {
	t.Helper()
	// The table is sorted a moment after the click; it says when.
	evaluate[bool](ctx, t, fmt.Sprintf(
		`(window.sorted = new Promise(done => document.getElementById(%q).addEventListener("sort-end", () => done(true), {once: true})), true)`, table))
	var done bool
	err := chromedp.Run(ctx, chromedp.Click(heading, chromedp.ByQuery),
		chromedp.Evaluate(`window.sorted`, &done, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
	if err != nil {
		t.Fatal(err)
	}
	if got := evaluate[string](ctx, t, fmt.Sprintf(`document.querySelector(%q).getAttribute("aria-sort")`, heading)); got != order {
		t.Errorf("the heading says it is sorted %q, want %q", got, order)
	}
}

// TestReportsPrint: on paper everything is open, nothing is wider than the page
// and nothing is there that only a screen can use.
func TestReportsPrint(t *testing.T) {
	// The width between the margins of a page in CSS pixels, as the report asks for it: A4, landscape, 297 mm less 2 × 10 mm at 96 dpi.
	const width = 1046
	for _, program := range []string{"report", "layer-timeline", "triage"} {
		t.Run(program, func(t *testing.T) {
			address := report(t, program)
			ctx := startBrowser(t)
			if err := chromedp.Run(ctx, chromedp.EmulateViewport(width, 1000), emulation.SetEmulatedMedia().WithMedia("print"),
				chromedp.Navigate(address)); err != nil {
				t.Fatal(err)
			}
			evaluate[bool](ctx, t, `window.dispatchEvent(new Event("beforeprint"))`)
			if n := evaluate[int](ctx, t, `document.querySelectorAll("details:not([open])").length`); n != 0 {
				t.Errorf("%d tables are folded on paper", n)
			}
			if n := evaluate[int](ctx, t, `[...document.querySelectorAll("nav, .controls")].filter(e => e.offsetParent !== null).length`); n != 0 {
				t.Errorf("%d controls are shown on paper", n)
			}
			if w := evaluate[float64](ctx, t, `document.documentElement.scrollWidth`); w > width {
				t.Errorf("the page is %v px wide on paper, want at most %d", w, width)
			}
			var pdf []byte
			if err := chromedp.Run(ctx, chromedp.ActionFunc(func(ctx context.Context) (err error) {
				pdf, _, err = page.PrintToPDF().WithPreferCSSPageSize(true).Do(ctx)
				return err
			})); err != nil || !strings.HasPrefix(string(pdf), "%PDF-") {
				t.Errorf("printing gave %d bytes, %v; want a PDF", len(pdf), err)
			}
		})
	}
}
