package programs

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/examples/internal/apptest"
)

// viewBrowser puts a browser on the PATH that writes down what it is to open, in the file that is returned.
func viewBrowser(t *testing.T) string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED: xdg-open is Linux's")
	}
	dir := t.TempDir()
	opened := filepath.Join(dir, "opened")
	if err := os.WriteFile(filepath.Join(dir, "xdg-open"), []byte("#!/bin/sh\necho \"$1\" > "+opened+"\n"),
		0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Setenv("DISPLAY", ":0")
	t.Setenv("TMPDIR", dir)
	return opened
}

// viewPage returns the URL that the browser opened.
func viewPage(t *testing.T, opened string) *url.URL {
	t.Helper()
	text, err := os.ReadFile(opened)
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// TestReportOpen: --open and view write a page and start a browser on it; --html keeps it where it says.
func TestReportOpen(t *testing.T) {
	opened := viewBrowser(t)
	kept := filepath.Join(t.TempDir(), "kept page.html")
	apptest.MustRun(t, Report(), "--html", kept, "--open")
	if u := viewPage(t, opened); u.Scheme != "file" || u.Path != kept {
		t.Errorf("--html --open: %s", u)
	}
	if r := apptest.Run(t, Report(), "--full-paths"); r.Code != app.ExitUsage || !strings.Contains(r.Stderr, "--html") {
		t.Errorf("paths of no page: exit code %d, %q, want 2 and the flag that is missing", r.Code, r.Stderr)
	}
	for name, run := range map[string]func() apptest.Result{
		"--open": func() apptest.Result { return apptest.MustRun(t, Report(), "--open") },
		"view":   func() apptest.Result { return apptest.MustRun(t, ReportView()) },
	} {
		r := run()
		if html, err := os.ReadFile(viewPage(t, opened).Path); err != nil ||
			!bytes.Contains(html, []byte("<!DOCTYPE html>")) {
			t.Errorf("%s: %v", name, err)
		}
		if (name == "view") != (r.Stdout == "") {
			t.Errorf("%s printed %q", name, r.Stdout)
		}
	}
	t.Setenv("DISPLAY", "")
	t.Setenv("WAYLAND_DISPLAY", "")
	if r := apptest.MustRun(t, ReportView()); !strings.Contains(r.Stderr, "open it in any browser") {
		t.Errorf("without a display: %q", r.Stderr)
	}
}

// reportLines sends each line that is written.
type reportLines chan string

func (l reportLines) Write(b []byte) (int, error) {
	s := bufio.NewScanner(bytes.NewReader(b))
	for s.Scan() {
		l <- s.Text()
	}
	return len(b), nil
}

// TestReportServe: the server has the page, which may ask it for details, and answers with kernels of a time.
func TestReportServe(t *testing.T) {
	t.Setenv("DISPLAY", "")
	t.Setenv("WAYLAND_DISPLAY", "")
	ctx, cancel := context.WithCancel(t.Context())
	said, done := make(reportLines, 20), make(chan int, 1)
	go func() { done <- ReportView().Exec(ctx, []string{"--serve"}, strings.NewReader(""), io.Discard, said) }()
	var address string
	for address == "" {
		line := <-said
		if at := strings.Index(line, "http://127.0.0.1:"); at >= 0 {
			address = strings.Fields(line[at:])[0]
		}
	}
	get := func(path string) (int, string) {
		res, err := http.Get(address + path)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(body)
	}
	if code, body := get(""); code != http.StatusOK || !strings.Contains(body, "connect-src &#39;self&#39;") &&
		!strings.Contains(body, "connect-src 'self'") || !strings.Contains(body, "fetch(") {
		t.Errorf("the page: %d, %d bytes", code, len(body))
	}
	if code, body := get("details?from=0&to=1000"); code != http.StatusOK || !strings.HasPrefix(body, `{"id":"t0"`) {
		t.Errorf("details: %d, %.80s", code, body)
	}
	if code, _ := get("details?from=x"); code != http.StatusBadRequest {
		t.Errorf("details of no time: %d", code)
	}
	cancel()
	<-done
}
