package browsertests

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
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

// strata is the program, built once for all tests.
var strata = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "strata-browser")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "strata")
	cmd := exec.Command("go", "build", "-o", path, "./examples/strata")
	cmd.Dir = "../.."
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%v: %w\n%s", cmd.Args, err, out)
	}
	return path, nil
})

// run runs the program.
func run(t *testing.T, args ...string) {
	t.Helper()
	path, err := strata()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(path, args...).CombinedOutput(); err != nil {
		t.Fatalf("strata %v: %v\n%s", args, err, out)
	}
}

// report writes the page that a command makes of the built-in demo trace and returns its URL.
func report(t *testing.T, command string) string {
	t.Helper()
	chromium(t)
	path := filepath.Join(t.TempDir(), command+".html")
	run(t, command, "--html", path)
	return address(path)
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
func evaluate[T any](ctx context.Context, t *testing.T, expression string, options ...chromedp.EvaluateOption) T {
	t.Helper()
	var v T
	if err := chromedp.Run(ctx, chromedp.Evaluate(expression, &v, options...)); err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// column returns the texts that a column of a table shows, by the column's
// number; rows that a filter hides are left out.
func column(ctx context.Context, t *testing.T, table string, n int) []string {
	t.Helper()
	return evaluate[[]string](ctx, t, fmt.Sprintf(
		`[...document.querySelectorAll("#%s tbody tr")].filter(r => r.offsetParent !== null).map(r => r.cells[%d].textContent.trim())`, table, n))
}

// values returns the numbers by which a column sorts, in the order of its rows.
func values(ctx context.Context, t *testing.T, table string, n int) []float64 {
	t.Helper()
	return evaluate[[]float64](ctx, t, fmt.Sprintf(`[...document.querySelectorAll("#%s tbody tr")].map(r => +r.cells[%d].dataset.sort)`, table, n))
}

// awaited waits for a promise.
func awaited(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }

// kernelTable finds the table with a search field and returns its id and the
// numbers of its columns by title.
func kernelTable(ctx context.Context, t *testing.T) (string, map[string]int) {
	t.Helper()
	id := evaluate[string](ctx, t, `document.querySelector(".tablebox input[type=search]").getAttribute("aria-controls")`)
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
		"layers": {[]string{"Layers and operators in numbers", "Layers of pass",
			"Operators of the steady pass against the GPU", "Cost per token"}, "Time", "norm"},
		"triage": {[]string{"Stage extend: kernels", "Stage extend: operators", "Stage extend: exposure",
			"Stage extend: overlap", "Stage extend: fused paths"}, "GPU time", "nvjet"},
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
			unfold(ctx, t)
			rows := len(column(ctx, t, id, 0))
			heading := fmt.Sprintf("#%s thead th:nth-child(%d)", id, col+1)
			click(ctx, t, heading, "descending")
			if got := values(ctx, t, id, col); len(got) != rows ||
				!slices.IsSortedFunc(got, func(a, b float64) int { return cmp.Compare(b, a) }) {
				t.Errorf("after one click %s shows %v, want %d rows, the largest first", want.time, got, rows)
			}
			click(ctx, t, heading, "ascending")
			if got := values(ctx, t, id, col); len(got) != rows || !slices.IsSorted(got) {
				t.Errorf("after two clicks %s shows %v, want %d rows, the smallest first", want.time, got, rows)
			}

			if err := chromedp.Run(ctx, chromedp.SendKeys("#"+id+"-search", want.word, chromedp.ByQuery)); err != nil {
				t.Fatal(err)
			}
			found := column(ctx, t, id, 0)
			if len(found) == 0 || len(found) >= rows {
				t.Errorf("searching %q shows %d of %d rows, want some", want.word, len(found), rows)
			}
			if stray := evaluate[[]string](ctx, t, fmt.Sprintf(`[...document.querySelectorAll("#%s tbody tr")].filter(r => r.offsetParent !== null && !r.textContent.toLowerCase().includes(%q)).map(r => r.textContent)`, id, want.word)); len(stray) > 0 {
				t.Errorf("searching %q shows %q", want.word, stray)
			}
			// Sorting keeps what the filter hides.
			click(ctx, t, heading, "descending")
			if got := column(ctx, t, id, 0); len(got) != len(found) {
				t.Errorf("sorting changed the number of found rows from %d to %d", len(found), len(got))
			}
			status := evaluate[string](ctx, t, `document.querySelector(".tablebox input[type=search]").closest(".tablebox").querySelector("output").textContent`)
			if want := fmt.Sprintf("%d of %d rows", len(found), rows); !strings.HasPrefix(status, want) {
				t.Errorf("status = %q, want %q", status, want)
			}
			evaluate[bool](ctx, t, `(() => { const f = document.querySelector(".tablebox input[type=search]"); f.value = ""; return f.dispatchEvent(new Event("input")); })()`)
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

// unfold shows the rows below the fold of each table.
func unfold(ctx context.Context, t *testing.T) {
	t.Helper()
	evaluate[bool](ctx, t, `(document.querySelectorAll("button.unfold").forEach(b => b.click()), true)`)
}

// click clicks a heading, which sorts its table at once.
func click(ctx context.Context, t *testing.T, heading, order string) {
	t.Helper()
	if err := chromedp.Run(ctx, chromedp.Click(heading, chromedp.ByQuery)); err != nil {
		t.Fatal(err)
	}
	if got := evaluate[string](ctx, t, fmt.Sprintf(`document.querySelector(%q).getAttribute("aria-sort")`,
		heading)); got != order {
		t.Errorf("the heading says it is sorted %q, want %q", got, order)
	}
}

// TestReportsPrint: on paper nothing is wider than the page, nothing is there that only a screen can use, and each page
// takes at most four sheets.
func TestReportsPrint(t *testing.T) {
	// The width between the margins of a page in CSS pixels, as the page asks for it: A4, landscape, 297 mm less 2 ×
	// 10 mm at 96 dpi.
	const width, most = 1046, 4
	names, pages := all(t)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			ctx, address := startBrowser(t), pages[name]
			if err := chromedp.Run(ctx, chromedp.EmulateViewport(width, 1000),
				emulation.SetEmulatedMedia().WithMedia("print"), chromedp.Navigate(address)); err != nil {
				t.Fatal(err)
			}
			if n := evaluate[int](ctx, t, `[...document.querySelectorAll(".tools, .controls, .unfold, .act")].filter(e => e.offsetParent !== null).length`); n != 0 {
				t.Errorf("%d controls are shown on paper", n)
			}
			if w := evaluate[float64](ctx, t, `document.documentElement.scrollWidth`); w > width {
				t.Errorf("the page is %v px wide on paper, want at most %d", w, width)
			}
			var pdf []byte
			if err := chromedp.Run(ctx, chromedp.ActionFunc(func(ctx context.Context) (err error) {
				pdf, _, err = page.PrintToPDF().WithPreferCSSPageSize(true).WithPrintBackground(true).Do(ctx)
				return err
			})); err != nil || !strings.HasPrefix(string(pdf), "%PDF-") {
				t.Fatalf("printing gave %d bytes, %v; want a PDF", len(pdf), err)
			}
			if n := len(regexp.MustCompile(`/Type\s*/Page\b`).FindAll(pdf, -1)); n > most {
				t.Errorf("%d pages of paper, want at most %d", n, most)
			}
		})
	}
}
