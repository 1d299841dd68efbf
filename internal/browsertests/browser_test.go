package browsertests

import (
	"context"
	"os/exec"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// browserTimeout bounds one browser test: starting Chromium on a loaded
// two-core machine takes seconds, not minutes.
const browserTimeout = 2 * time.Minute

// chromium returns the browser's path; without one the test is skipped.
func chromium(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("SKIPPED: no chromium on PATH; install Debian's package chromium to run the browser tests")
	}
	return path
}

// startBrowser starts a headless Chromium with an empty profile. It looks nothing
// up on the network by itself.
func startBrowser(t *testing.T) context.Context {
	t.Helper()
	opts := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(chromium(t)),
		chromedp.NoSandbox,
		chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-background-networking", true),
	)
	ctx, cancel := context.WithTimeout(context.Background(), browserTimeout)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, opts...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	// Wait for the browser's end: it takes its profile's directory with it.
	t.Cleanup(func() { _ = chromedp.Cancel(ctx) }) // best effort, after the test
	return ctx
}
