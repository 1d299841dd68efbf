package capture_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/capture"
)

// FuzzPlan reads any bytes as a plan of several runs.
func FuzzPlan(f *testing.F) {
	f.Add([]byte(`{"output_dir":"out","entries":[{"name":"a","url":"http://x:1","framework":"sglang"}]}`))
	f.Add([]byte(`{"output_dir":"/x","entries":[{"name":"../a"},{"name":"a","name":"a"}]}`))
	f.Add([]byte(`{"entries":[{}]} {}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "plan.json")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := capture.LoadPlan(path)
		if err != nil {
			if !strings.Contains(err.Error(), "plan") {
				t.Errorf("the error %q does not say what it is about", err)
			}
			return
		}
		if len(p.Entries) == 0 || p.OutputDir == "" {
			t.Errorf("an accepted plan has %d entries and the folder %q", len(p.Entries), p.OutputDir)
		}
		for _, e := range p.Entries {
			if e.Name == "" || strings.ContainsAny(e.Name, "/\\") {
				t.Errorf("an entry is called %q, which is to be a folder", e.Name)
			}
		}
	})
}

// FuzzAnswers has a server answer every request with the same bytes.
func FuzzAnswers(f *testing.F) {
	f.Add([]byte(`{"tp_size":2,"internal_states":[{}],"model_path":"a","data":[{"id":"m"}],"text":"t"}`), 200,
		"application/json")
	f.Add([]byte(`{"data":[],"choices":[null],"usage":{"completion_tokens":-1}}`), 200, "application/json")
	f.Add([]byte("[[[[[[[[null"), 503, "text/html")
	f.Fuzz(func(t *testing.T, answer []byte, code int, kind string) {
		if code < 200 || code > 599 {
			code = 200
		}
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(code)
			w.Write(answer) // the client may have gone: not this test's concern
		}))
		defer s.Close()
		o := capture.Options{URL: s.URL, OutputDir: t.TempDir(), ProbeRequests: 1,
			Timeouts: capture.Timeouts{Request: 2 * time.Second}}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		if d, err := capture.Detect(ctx, s.URL, o.OutputDir, o); err == nil && d == capture.FrameworkAuto {
			t.Errorf("Detect = %+v, want a framework or an error", d)
		}
		for _, fw := range capture.Frameworks() {
			o.Framework = fw
			r, err := capture.Probe(ctx, o)
			if err != nil && err.Error() == "" {
				t.Errorf("%s: an error without words", fw)
			}
			if err == nil && r == nil {
				t.Errorf("%s: neither a report nor an error", fw)
			}
		}
		if ctx.Err() != nil {
			t.Error("it took longer than every timeout")
		}
	})
}
