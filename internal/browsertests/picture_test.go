package browsertests

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

var (
	docs = flag.String("docs", "", "write the pictures of README and docs, which show the built-in demo, to this "+
		"folder")
	pictures = flag.String("pictures", "", "write pictures of all kinds of pages, light and dark, wide and narrow, to "+
		"this folder")
)

// screen is what the window shows.
func screen(ctx context.Context, t *testing.T) []byte {
	t.Helper()
	var b []byte
	if err := chromedp.Run(ctx, chromedp.Sleep(3e8), chromedp.CaptureScreenshot(&b)); err != nil {
		t.Fatal(err)
	}
	return b
}

// save writes a picture to a folder where one is named.
func save(t *testing.T, dir, name string, b []byte) {
	t.Helper()
	if dir == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(dir, name), b, 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestPictureOfTheDemo: verdict, timeline and cards of the demo's page are on one screen. With -docs it writes that
// picture, and one of three steps from a finding to its kernel:
// go test ./... -run PictureOfTheDemo -args -docs ../../docs
func TestPictureOfTheDemo(t *testing.T) {
	ctx, _, _ := openReport(t)
	first := screen(ctx, t)
	if top := evaluate[float64](ctx, t, `document.querySelector(".card").getBoundingClientRect().top`); top > 800 ||
		len(first) < 20_000 {
		t.Errorf("the first card begins at %v of 900 pixels, the picture has %d bytes", top, len(first))
	}
	save(t, *docs, "report.png", first)
	var steps []image.Image
	seen := map[string]bool{}
	for _, act := range []string{`t.showPin(1)`,
		`(() => { const n = t.rows.findIndex(r => r.kind === "pass"); t.select(n, t.first(t.rows[n], t.view.a)); t.frame(); })()`,
		`(() => { const n = t.rows.findIndex(r => r.kind === "operator"), r = t.rows[n], i = t.first(r, (t.view.a + t.view.b) / 2); t.select(n, i); t.show(r.s[i] - 15000, r.e[i] + 15000); })()`} {
		evaluate[bool](ctx, t, `(t => (`+act+`, true))(strataPage.timelines[0])`)
		seen[fmt.Sprint(view(ctx, t))] = true
		var b []byte
		if err := chromedp.Run(ctx, chromedp.Sleep(3e8), chromedp.Screenshot(".timeline", &b, chromedp.ByQuery)); err != nil {
			t.Fatal(err)
		}
		img, err := png.Decode(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		steps = append(steps, img)
	}
	if len(seen) != 3 {
		t.Errorf("finding, pass and kernel have %d views", len(seen))
	}
	const gap = 12
	height := -gap
	for _, s := range steps {
		height += s.Bounds().Dy() + gap
	}
	all := image.NewRGBA(image.Rect(0, 0, steps[0].Bounds().Dx(), height))
	draw.Draw(all, all.Bounds(), image.NewUniform(color.White), image.Point{}, draw.Src)
	y := 0
	for _, s := range steps {
		draw.Draw(all, s.Bounds().Sub(s.Bounds().Min).Add(image.Pt(0, y)), s, s.Bounds().Min, draw.Src)
		y += s.Bounds().Dy() + gap
	}
	var b bytes.Buffer
	if err := png.Encode(&b, all); err != nil {
		t.Fatal(err)
	}
	save(t, *docs, "steps.png", b.Bytes())
}

// TestPictures writes pictures of all kinds of pages and of real traces where they are there, whole pages at two widths
// in two themes: go test ./... -run Pictures$ -args -pictures DIR
func TestPictures(t *testing.T) {
	if *pictures == "" {
		t.Skip("SKIPPED: name a folder with -args -pictures DIR to write pictures of all pages")
	}
	if err := os.MkdirAll(*pictures, 0o755); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	_, pages := all(t)
	list := map[string]string{"demo": pages["report"], "compare": sides(t), "fleet": pages["fleet"],
		"trend": pages["trend"]}
	traces := "../../../shared/traces/torch/"
	for name, file := range map[string]string{"decode": "sglang-r1-distill-llama-8b-b300-TP-0-DECODE.trace.json.gz",
		"prefill": "sglang-qwen3-8b-extend-eager-mi300.json.gz", "diffusion": "xdit-flux1-mi300.json.gz"} {
		if _, err := os.Stat(traces + file); err != nil {
			t.Logf("SKIPPED: no picture of a %s: %v", name, err)
			continue
		}
		run(t, "report", traces+file, "--html", filepath.Join(dir, name+".html"))
		list[name] = address(filepath.Join(dir, name+".html"))
	}
	if a, b := traces+"sglang-qwen3-30b-a3b-b300-TP-0-DECODE.trace.json.gz", traces+
		"sglang-qwen3-30b-a3b-mi300-TP-0-DECODE.trace.json.gz"; list["decode"] != "" {
		run(t, "compare", a, b, "--html", filepath.Join(dir, "compare.html"))
		list["compare"] = address(filepath.Join(dir, "compare.html"))
	}
	for name, address := range list {
		ctx := startBrowser(t)
		for _, theme := range []string{"light", "dark"} {
			for _, width := range []int64{1400, 420} {
				if err := chromedp.Run(ctx, chromedp.EmulateViewport(width, 900), chromedp.Navigate(address)); err != nil {
					t.Fatal(err)
				}
				evaluate[bool](ctx, t, fmt.Sprintf(`(document.documentElement.setAttribute("data-theme", %q), strataPage.timelines.forEach(t => t.later()), true)`, theme))
				var b []byte
				if err := chromedp.Run(ctx, chromedp.Sleep(3e8), chromedp.ActionFunc(func(ctx context.Context) (err error) {
					b, err = page.CaptureScreenshot().WithCaptureBeyondViewport(true).WithClip(&page.Viewport{Width: float64(width),
						Height: evaluate[float64](ctx, t, `Math.min(document.documentElement.scrollHeight, 6000)`), Scale: 1}).Do(ctx)
					return err
				})); err != nil {
					t.Fatal(err)
				}
				save(t, *pictures, fmt.Sprintf("%s-%d-%s.png", name, width, theme), b)
			}
		}
	}
}
