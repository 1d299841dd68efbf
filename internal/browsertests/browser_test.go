package browsertests

import (
	"context"
	"os/exec"
	"sync"
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

// shared is the one headless Chromium of all tests.
var shared struct {
	sync.Once
	ctx  context.Context
	err  error
	stop func()
}

// startBrowser opens a page in the browser that all tests share. It looks nothing up on the
// network by itself.
func startBrowser(t *testing.T) context.Context {
	t.Helper()
	path := chromium(t)
	shared.Do(func() {
		opts := append(chromedp.DefaultExecAllocatorOptions[:],
			chromedp.ExecPath(path),
			chromedp.NoSandbox,
			chromedp.Flag("disable-quic", true),
			chromedp.Flag("disable-component-update", true),
			chromedp.Flag("disable-background-networking", true),
		)
		allocator, cancel := chromedp.NewExecAllocator(context.Background(), opts...)
		shared.ctx, _ = chromedp.NewContext(allocator)
		shared.stop = func() {
			_ = chromedp.Cancel(shared.ctx) // waits for the browser's end: it takes its profile's directory with it
			cancel()
		}
		shared.err = chromedp.Run(shared.ctx)
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	ctx, cancel := chromedp.NewContext(shared.ctx)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, browserTimeout)
	t.Cleanup(cancel)
	return ctx
}
