package browsertests

import (
	"flag"
	"os"
	"testing"

	"github.com/chromedp/chromedp"
)

var picture = flag.String("picture", "", "write the README's picture, the page of the built-in demo, to this file")

// TestPictureOfTheDemo shows the verdict, the timeline and the cards of the demo's page on one screen, and writes
// them where
// -picture names a file: go test ./... -run Picture -args -picture ../../docs/report.png
func TestPictureOfTheDemo(t *testing.T) {
	ctx, _, _ := openReport(t)
	var png []byte
	if err := chromedp.Run(ctx, chromedp.EmulateViewport(1400, 900), chromedp.Sleep(3e8),
		chromedp.CaptureScreenshot(&png)); err != nil {
		t.Fatal(err)
	}
	if top := evaluate[float64](ctx, t, `document.querySelector(".card").getBoundingClientRect().top`); top > 800 ||
		len(png) < 20_000 {
		t.Errorf("the first card begins at %v of 900 pixels, the picture has %d bytes", top, len(png))
	}
	if *picture != "" {
		if err := os.WriteFile(*picture, png, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}
