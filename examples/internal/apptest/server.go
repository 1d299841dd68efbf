package apptest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/llmstrata/strata/internal/framework"
)

// FastLive are flags that cut every wait of a capture short, and keep what was
// replayed without looking whether it is what was asked for.
var FastLive = slices.Clip([]string{"--probe-delay", "0", "--stable-for", "5ms", "--no-retry"})

// LiveServer answers as an SGLang server does and leaves a trace per window. Its
// fields are set before, and read after, requests.
type LiveServer struct {
	*httptest.Server
	// Prefill and Decode are the files that a window of that stage leaves, as
	// .json.gz.
	Prefill, Decode string
	// Broken: stopping leaves no file.
	Broken bool
	// Armed: the profiler is running.
	Armed bool
	// Starts are the bodies of the start requests, Stops counts the others.
	Starts []map[string]any
	Stops  int

	mu  sync.Mutex
	dir string
}

// NewLiveServer starts a server that ends with the test.
func NewLiveServer(t *testing.T, prefill, decode string) *LiveServer {
	s := &LiveServer{Prefill: prefill, Decode: decode}
	var routes http.ServeMux
	routes.HandleFunc("/server_info", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"model_path": "Qwen/Qwen3-8B", "tokenizer_path": "x", "tp_size": 1, "internal_states": [{}]}`)
	})
	routes.HandleFunc("/generate", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"text": "four", "meta_info": {"completion_tokens": 4}}`)
	})
	routes.HandleFunc("/start_profile", func(_ http.ResponseWriter, r *http.Request) {
		var body map[string]any
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		s.Armed, s.Starts = true, append(s.Starts, body)
		s.dir, _ = body["output_dir"].(string)
	})
	routes.HandleFunc("/stop_profile", func(w http.ResponseWriter, _ *http.Request) {
		s.Stops++
		if !s.Armed {
			http.Error(w, "Profiling is not in progress", http.StatusInternalServerError)
			return
		}
		s.Armed = false
		if err := s.leave(); err != nil {
			t.Error(err)
		}
	})
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		routes.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// leave writes the trace of the window that was closed.
func (s *LiveServer) leave() error {
	src := s.Decode
	if filepath.Base(s.dir) == framework.Prefill {
		src = s.Prefill
	}
	b, err := os.ReadFile(src)
	if err != nil || s.Broken {
		return err
	}
	return os.WriteFile(filepath.Join(s.dir, fmt.Sprintf("17.%d-TP-0.trace.json.gz", s.Stops)), b, 0o666)
}

// ProfileFolder returns a folder for traces that does not exist yet and has no
// framework's name in its path, as a test's name may.
func ProfileFolder(t *testing.T) string {
	dir, err := os.MkdirTemp("", "capture-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "out")
}
