package serve_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/internal/serve"
	"github.com/llmstrata/strata/perfetto"
)

// start starts a server for a small file on a free loopback port.
func start(t *testing.T) (*serve.Server, string) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "run 1.json")
	if err := os.WriteFile(path, []byte("0123456789"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "secret"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := serve.Start(path, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, s.URL()
}

func request(t *testing.T, method, url string, header map[string]string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequest(method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range header {
		if k == "Host" {
			req.Host = v
			continue
		}
		req.Header.Set(k, v)
	}
	tr := &http.Transport{DisableKeepAlives: true}
	defer tr.CloseIdleConnections()
	resp, err := (&http.Client{Transport: tr}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

func TestServeAnswersOnlyTheUI(t *testing.T) {
	_, url := start(t)
	base := url[:strings.LastIndex(url, "/")]
	ui := perfetto.UIOrigin
	for _, tc := range []struct {
		name, method, url string
		header            map[string]string
		want              int
	}{
		{"no origin", "GET", url, nil, 403},
		{"other origin", "GET", url, map[string]string{"Origin": "https://evil.example"}, 403},
		{"origin as prefix", "GET", url, map[string]string{"Origin": ui + ".evil.example"}, 403},
		{"rebound host", "GET", url, map[string]string{"Origin": ui, "Host": "evil.example:9001"}, 403},
		{"other file", "GET", base + "/secret", map[string]string{"Origin": ui}, 404},
		{"traversal", "GET", base + "/run%201.json/../secret", map[string]string{"Origin": ui}, 404},
		{"encoded traversal", "GET", base + "/%2e%2e/secret", map[string]string{"Origin": ui}, 404},
		{"folder", "GET", base + "/", map[string]string{"Origin": ui}, 404},
		{"post", "POST", url, map[string]string{"Origin": ui}, 405},
		{"head", "HEAD", url, map[string]string{"Origin": ui}, 200},
	} {
		t.Run(tc.name, func(t *testing.T) {
			resp, body := request(t, tc.method, tc.url, tc.header)
			if resp.StatusCode != tc.want {
				t.Errorf("status = %d, want %d", resp.StatusCode, tc.want)
			}
			if strings.Contains(body, "secret") || strings.Contains(body, "01234") {
				t.Errorf("body gives away a file: %q", body)
			}
			if acao := resp.Header.Get("Access-Control-Allow-Origin"); tc.want == 403 && acao != "" {
				t.Errorf("refused request got Access-Control-Allow-Origin %q", acao)
			}
		})
	}
}

func TestServePreflightAllowsTheUIToReachLoopback(t *testing.T) {
	_, url := start(t)
	resp, _ := request(t, "OPTIONS", url, map[string]string{"Origin": perfetto.UIOrigin,
		"Access-Control-Request-Private-Network": "true"})
	if resp.StatusCode != 204 || resp.Header.Get("Access-Control-Allow-Origin") != perfetto.UIOrigin ||
		resp.Header.Get("Access-Control-Allow-Private-Network") != "true" {
		t.Errorf("preflight = %d %v", resp.StatusCode, resp.Header)
	}
}

func TestServeIsGoneAfterTheFetch(t *testing.T) {
	s, url := start(t)
	resp, body := request(t, "GET", url, map[string]string{"Origin": perfetto.UIOrigin})
	if resp.StatusCode != 200 || body != "0123456789" ||
		resp.Header.Get("Access-Control-Allow-Origin") != perfetto.UIOrigin {
		t.Fatalf("fetch = %d %q %v", resp.StatusCode, body, resp.Header)
	}
	if err := s.Wait(context.Background(), time.Minute); err != nil {
		t.Fatalf("Wait() = %v", err)
	}
	if c, err := net.Dial("tcp", strings.TrimPrefix(url[:strings.LastIndex(url, "/")], "http://")); err == nil {
		c.Close()
		t.Error("the server still accepts connections")
	}
}

func TestServeStopsWithoutAFetch(t *testing.T) {
	s, _ := start(t)
	if err := s.Wait(context.Background(), time.Millisecond); !errors.Is(err, serve.ErrNotFetched) {
		t.Errorf("Wait() = %v, want ErrNotFetched", err)
	}
	s, _ = start(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Wait(ctx, time.Minute); !errors.Is(err, context.Canceled) {
		t.Errorf("Wait() = %v, want context.Canceled", err)
	}
}

func TestServeRefusesAddressesBeyondThisMachine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.json")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, addr := range []string{"0.0.0.0:0", "[::]:0", ":0", "192.0.2.1:0", "example.com:80", "nonsense"} {
		if s, err := serve.Start(path, addr); err == nil {
			s.Close()
			t.Errorf("Serve on %q succeeded", addr)
		}
	}
	if _, err := serve.Start(filepath.Dir(path), "127.0.0.1:0"); err == nil {
		t.Error("Serve of a folder succeeded")
	}
}

// TestServeResumed: a range that reaches the end of the file is the rest of it,
// one that does not is not.
func TestServeResumed(t *testing.T) {
	s, url := start(t)
	for _, c := range []struct{ span, want string }{{"bytes=2-5", "2345"}, {"bytes=6-", "6789"}} {
		resp, body := request(t, "GET", url, map[string]string{"Origin": perfetto.UIOrigin, "Range": c.span})
		if resp.StatusCode != http.StatusPartialContent || body != c.want {
			t.Fatalf("%s: %d %q, want %q", c.span, resp.StatusCode, body, c.want)
		}
	}
	if err := s.Wait(t.Context(), time.Minute); err != nil {
		t.Errorf("Wait() = %v after the end was fetched", err)
	}
	s, url = start(t)
	request(t, "GET", url, map[string]string{"Origin": perfetto.UIOrigin, "Range": "bytes=2-5"})
	if err := s.Wait(t.Context(), 10*time.Millisecond); !errors.Is(err, serve.ErrNotFetched) {
		t.Errorf("Wait() = %v after a piece of the middle, want ErrNotFetched", err)
	}
}

// TestServeTellsWhatIsWrong: no such file, a port that is taken, a file that is
// gone, a server that was closed.
func TestServeTellsWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	if _, err := serve.Start(filepath.Join(dir, "none.json"), "127.0.0.1:0"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	path := filepath.Join(dir, "t.json")
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := serve.Start(path, "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := strings.TrimSuffix(strings.TrimPrefix(s.URL(), "http://"), "/t.json")
	if _, err := serve.Start(path, at); err == nil || !strings.Contains(err.Error(), "another trace") {
		t.Errorf("a port that is taken: %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if resp, _ := request(t, "GET", s.URL(), map[string]string{"Origin": perfetto.UIOrigin}); resp.StatusCode != http.StatusGone {
		t.Errorf("a file that is gone: %d", resp.StatusCode)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(t.Context(), time.Minute); !errors.Is(err, http.ErrServerClosed) {
		t.Errorf("Wait() of a closed server = %v", err)
	}
}

// TestPages: the page is given to who knows its address, under a loopback name, and until the context ends.
func TestPages(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	address, done := make(chan string, 1), make(chan error, 1)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.URL.Path) })
	go func() { done <- serve.Pages(ctx, h, func(url string) { address <- url }) }()
	url := <-address
	if res, body := request(t, http.MethodGet, url+"details", nil); res.StatusCode != http.StatusOK ||
		body != "/details" {
		t.Errorf("details: %s, %q", res.Status, body)
	}
	root := url[:strings.Index(url[len("http://"):], "/")+len("http://")]
	if res, _ := request(t, http.MethodGet, root+"/details", nil); res.StatusCode != http.StatusNotFound {
		t.Errorf("without the secret part: %s", res.Status)
	}
	if res, _ := request(t, http.MethodPost, url, nil); res.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("POST: %s", res.Status)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = "elsewhere.example"
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusForbidden {
		t.Errorf("under another name: %s", res.Status)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
