package browsertests

import (
	"context"
	"encoding/base64"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/llmstrata/strata/internal/serve"
	"github.com/llmstrata/strata/perfetto"
)

// fetchText fetches a URL from inside the open page and returns status and
// text, or "refused: …" with the answer that the page got.
func fetchText(ctx context.Context, t *testing.T, url string) string {
	t.Helper()
	var got string
	err := chromedp.Run(ctx, chromedp.Evaluate(
		`fetch("`+url+`").then(r => r.text().then(b => r.status + " " + b), e => "refused: " + e)`, &got,
		func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// openUI shows an empty page whose origin is the UI's. Requests to the UI are
// answered here and never leave the machine.
func openUI(ctx context.Context, t *testing.T) {
	t.Helper()
	chromedp.ListenTarget(ctx, func(ev any) {
		paused, ok := ev.(*fetch.EventRequestPaused)
		if !ok {
			return
		}
		go func() {
			target := cdp.WithExecutor(ctx, chromedp.FromContext(ctx).Target)
			// An error here shows as a navigation that does not end: the test's timeout reports it.
			_ = fetch.FulfillRequest(paused.RequestID, http.StatusOK).
				WithResponseHeaders([]*fetch.HeaderEntry{{Name: "Content-Type", Value: "text/html"}}).
				WithBody(base64.StdEncoding.EncodeToString([]byte("<title>ui</title>"))).Do(target)
		}()
	})
	// Chromium asks the user before a public page may reach this machine; here
	// the user says yes. The permission was renamed on the way, so both are given.
	for _, name := range []string{"local-network-access", "loopback-network"} {
		allow := browser.SetPermission(&browser.PermissionDescriptor{Name: name},
			browser.PermissionSettingGranted).WithOrigin(perfetto.UIOrigin)
		if err := chromedp.Run(ctx, chromedp.ActionFunc(func(ctx context.Context) error {
			return allow.Do(cdp.WithExecutor(ctx, chromedp.FromContext(ctx).Browser))
		})); err != nil {
			t.Logf("permission %s: %v", name, err)
		}
	}
	var origin string
	if err := chromedp.Run(ctx,
		fetch.Enable().WithPatterns([]*fetch.RequestPattern{{URLPattern: perfetto.UIOrigin + "/*"}}),
		chromedp.Navigate(perfetto.UIOrigin+"/"),
		chromedp.Evaluate(`window.origin`, &origin),
	); err != nil {
		t.Fatal(err)
	}
	if origin != perfetto.UIOrigin {
		t.Fatalf("page's origin = %q, want the UI's", origin)
	}
}

func TestUIPageFetchesTheTraceOnceAndTheServerIsGone(t *testing.T) {
	ctx := startBrowser(t)
	path := filepath.Join(t.TempDir(), "t.json")
	const content = `{"traceEvents":[]}`
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := serve.Start(path, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	waited := make(chan error, 1)
	go func() { waited <- s.Wait(ctx, time.Minute) }()

	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
	}))
	defer other.Close()
	if err := chromedp.Run(ctx, chromedp.Navigate(other.URL)); err != nil {
		t.Fatal(err)
	}
	if got := fetchText(ctx, t, s.URL()); !strings.HasPrefix(got, "refused: ") {
		t.Errorf("a page of another origin got %q", got)
	}

	openUI(ctx, t)
	if got := fetchText(ctx, t, s.URL()+"/../secret"); !strings.HasPrefix(got, "404 ") {
		t.Errorf("another path got %q, want 404", got)
	}
	if got := fetchText(ctx, t, s.URL()); got != "200 "+content {
		t.Errorf("the UI's page got %q, want the trace", got)
	}
	if err := <-waited; err != nil {
		t.Errorf("Wait() = %v", err)
	}
	addr := strings.TrimPrefix(s.URL(), "http://")
	addr = addr[:strings.Index(addr, "/")]
	if c, err := net.Dial("tcp", addr); err == nil {
		c.Close()
		t.Error("the server still accepts connections")
	}
}
