package capture_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/llmstrata/strata/capture"
)

// call is one request as the server saw it.
type call struct {
	Method, Path string
	Body         map[string]any // nil for no body
}

// fake imitates one framework's server, to the requests this package sends:
// routes, payload keys, when the window closes, where the traces land and what
// a late stop is answered with. A fault replaces one route.
type fake struct {
	t         testing.TB
	framework capture.Framework
	// dir is where vLLM and TensorRT-LLM write, fixed at launch.
	dir   string
	ranks int
	// write replaces the writing of the traces, called under the lock with
	// the folder and the name of rank 0's file with %d in the rank's place.
	write func(dir, pattern string)
	// fault, when it answers true, has dealt with the request. n counts the
	// requests to the same path from 1.
	fault func(w http.ResponseWriter, r *http.Request, path string, n int) bool

	// rich traces say which passes ran in the window; see inspectRich. world is
	// the size of the job that they name, ranks where it is 0.
	rich  bool
	world int
	// later SGLang closes the window after num_steps passes and not before.
	later bool
	// noCount leaves cached tokens out of the answers.
	noCount bool
	// eos is the number of tokens after which the model stops by itself.
	eos int

	mu      sync.Mutex
	calls   []call
	seen    map[string]bool // prompts that the prefix cache has
	passes  map[string]int  // run while armed, by stage
	fresh   int             // tokens computed by the prefill passes among them
	starts  int             // windows opened
	stops   int             // stop requests that came in
	count   map[string]int
	armed   bool
	steps   int // run while armed
	limit   int // the window closes before this step, 0 for never
	out     string
	id      string
	windows int
	*httptest.Server
}

// newFake starts a server on loopback.
func newFake(t testing.TB, f capture.Framework, dir string) *fake {
	s := &fake{t: t, framework: f, dir: dir, ranks: 1, count: map[string]int{}, seen: map[string]bool{},
		passes: map[string]int{}}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Server.Close)
	return s
}

func (s *fake) serve(w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(r.Body)
	c := call{Method: r.Method, Path: r.URL.Path}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &c.Body); err != nil {
			s.t.Errorf("%s %s: body is not JSON: %v", r.Method, r.URL.Path, err)
		}
	}
	s.mu.Lock()
	s.calls = append(s.calls, c)
	s.count[r.URL.Path]++
	n := s.count[r.URL.Path]
	if r.URL.Path == "/stop_profile" {
		s.stops++
	}
	s.mu.Unlock()
	if s.fault != nil && s.fault(w, r, r.URL.Path, n) {
		return
	}
	s.answer(w, c)
}

// answer is the server without faults.
func (s *fake) answer(w http.ResponseWriter, c call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sg := s.framework == capture.FrameworkSGLang
	switch {
	case c.Path == "/server_info" && sg:
		reply(w, map[string]any{"model_path": "org/model", "tokenizer_path": "org/model", "tp_size": s.ranks,
			"dp_size": 1, "pp_size": 1, "version": "0.5.4", "api_key": "sk-secret",
			"internal_states": []any{map[string]any{}}})
	case c.Path == "/readiness" && s.framework == capture.FrameworkTokenSpeed:
		reply(w, map[string]any{"status": "ready"})
	case c.Path == "/v1/models" && !sg:
		reply(w, map[string]any{"object": "list", "data": []any{map[string]any{"id": "org/model", "object": "model"}}})
	case c.Path == "/generate" && sg && c.Method == http.MethodPost:
		p, _ := c.Body["sampling_params"].(map[string]any)
		n, _ := p["max_new_tokens"].(float64)
		text, _ := c.Body["text"].(string)
		prompt, cached, made := s.generate(text, int(n), p["ignore_eos"] == true)
		meta := map[string]any{"completion_tokens": made, "prompt_tokens": prompt}
		if !s.noCount {
			meta["cached_tokens"] = cached
		}
		reply(w, map[string]any{"text": "an answer", "meta_info": meta})
	case c.Path == "/v1/chat/completions" && !sg && c.Method == http.MethodPost:
		reply(w, map[string]any{"choices": []any{map[string]any{"message": map[string]any{"role": "assistant",
			"content": "an answer"}}}, "usage": s.usage(c)})
	case c.Path == "/v1/completions" && !sg && c.Method == http.MethodPost:
		reply(w, map[string]any{"choices": []any{map[string]any{"text": "an answer"}}, "usage": s.usage(c)})
	case c.Path == "/start_profile" && c.Method == http.MethodPost:
		s.arm(w, c)
	case c.Path == "/stop_profile" && c.Method == http.MethodPost:
		if !s.armed {
			if sg {
				http.Error(w, "Internal Server Error: Profiling is not in progress. Call /start_profile first.",
					http.StatusInternalServerError)
			}
			return
		}
		s.closeWindow()
	default:
		http.Error(w, `{"detail":"Not Found"}`, http.StatusNotFound)
	}
}

func (s *fake) arm(w http.ResponseWriter, c call) {
	if s.armed {
		http.Error(w, "Profiling is already in progress. Call /stop_profile first.", http.StatusInternalServerError)
		return
	}
	s.armed, s.steps, s.limit, s.out = true, 0, 0, s.dir
	s.passes, s.fresh = map[string]int{}, 0
	s.starts++
	switch s.framework {
	case capture.FrameworkSGLang:
		n, _ := c.Body["num_steps"].(float64)
		s.limit = int(n)
		s.out, _ = c.Body["output_dir"].(string)
		fmt.Fprint(w, "Start profiling.\n")
	case capture.FrameworkTokenSpeed:
		s.out, _ = c.Body["output_dir"].(string)
		s.id, _ = c.Body["profile_id"].(string)
	}
}

// usage answers an OpenAI request. Cached tokens are null where the server was
// launched without their count.
func (s *fake) usage(c call) map[string]any {
	n, _ := c.Body["max_tokens"].(float64)
	text, _ := c.Body["prompt"].(string)
	if list, ok := c.Body["messages"].([]any); ok && len(list) > 0 {
		m, _ := list[0].(map[string]any)
		text, _ = m["content"].(string)
	}
	prompt, cached, made := s.generate(text, int(n), c.Body["ignore_eos"] == true)
	u := map[string]any{"completion_tokens": made, "prompt_tokens": prompt, "prompt_tokens_details": nil}
	if !s.noCount {
		u["prompt_tokens_details"] = map[string]any{"cached_tokens": cached}
	}
	return u
}

// generate runs a request: a pass over the prompt and a pass for each further
// token. The prefix cache may hold all but the last word of the prompt.
func (s *fake) generate(text string, tokens int, ignoreEOS bool) (prompt, cached, made int) {
	prompt = len(strings.Fields(text))
	if s.seen[text] {
		cached = prompt - 1
	}
	s.seen[text] = true
	if s.eos > 0 && !ignoreEOS {
		tokens = min(tokens, s.eos)
	}
	for i := range tokens {
		stage := "decode"
		if i == 0 {
			stage = "prefill"
		}
		s.pass(stage, prompt-cached)
	}
	return prompt, cached, tokens
}

// pass runs one pass. An SGLang window closes before pass limit, or, in later
// releases, before the one after it.
func (s *fake) pass(stage string, tokens int) {
	s.steps++
	limit := s.limit
	if s.later {
		limit++
	}
	if s.armed && s.limit > 0 && s.steps >= limit {
		s.closeWindow()
	}
	if s.armed {
		s.passes[stage]++
		if stage == "prefill" {
			s.fresh += tokens
		}
	}
}

// closeWindow writes the traces the way the framework names them.
func (s *fake) closeWindow() {
	s.armed = false
	if s.out == "" {
		return // armed by a fault, not by a request
	}
	s.windows++
	pattern := ""
	switch s.framework {
	case capture.FrameworkSGLang:
		pattern = fmt.Sprintf("17591%d.25-TP-%%d.trace.json.gz", s.windows)
	case capture.FrameworkVLLM:
		pattern = fmt.Sprintf("dp0_pp0_tp%%[1]d_dcp0_ep0_rank%%[1]d.17591%d.pt.trace.json.gz", s.windows)
	case capture.FrameworkTensorRT:
		pattern = "trace-rank-%d.json"
		if s.ranks == 1 {
			pattern = "trace.json"
		}
	case capture.FrameworkTokenSpeed:
		pattern = s.id + "-TP-%d.trace.json.gz"
	}
	if s.write != nil {
		s.write(s.out, pattern)
		return
	}
	for r := range s.ranks {
		text := traceText(s.windows, r)
		if s.rich {
			text = s.richText(r)
		}
		writeTrace(s.t, filepath.Join(s.out, rankName(pattern, r)), text)
	}
}

// richText is a trace that says what ran.
func (s *fake) richText(rank int) []byte {
	world := s.world
	if world == 0 {
		world = s.ranks
	}
	steps := 0
	for _, n := range s.passes {
		steps += n
	}
	text, err := json.Marshal(map[string]any{"found": capture.Found{
		Steps: steps, Stages: s.passes, PrefillTokens: int64(s.fresh), GPUEvents: int64(100 * steps), CPUEvents: 10,
		Coverage: 1,
		Ranked:   true, Rank: rank, WorldSize: world, Start: time.Now().Add(-time.Millisecond), End: time.Now(),
	}})
	if err != nil {
		s.t.Error(err)
	}
	return text
}

// inspectRich reads it.
func inspectRich(_ context.Context, path string) (capture.Found, error) {
	var doc struct{ Found capture.Found }
	f, err := os.Open(path)
	if err != nil {
		return doc.Found, err
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			return doc.Found, err
		}
	}
	return doc.Found, json.NewDecoder(r).Decode(&doc)
}

// rankName fills in the rank where the pattern has a place for it.
func rankName(pattern string, rank int) string {
	if !strings.Contains(pattern, "%") {
		return pattern
	}
	return fmt.Sprintf(pattern, rank)
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(v)
}

// traceText is a small trace whose content depends on the window and the rank.
func traceText(window, rank int) []byte {
	return fmt.Appendf(nil, `{"schemaVersion": 1, "distributedInfo": {"rank": %d}, "traceEvents": [
 {"ph": "X", "cat": "kernel", "name": "window %d } not the end", "pid": 0, "tid": 7, "ts": 100.5, "dur": 3.25, "args": {"device": 0, "stream": 7, "correlation": 1}}
]}
`, rank, window)
}

// packed gzips where the name asks for it.
func packed(name string, text []byte) []byte {
	if !strings.HasSuffix(name, ".gz") {
		return text
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write(text)
	z.Close()
	return b.Bytes()
}

func writeTrace(t testing.TB, path string, text []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Error(err)
		return
	}
	if err := os.WriteFile(path, packed(path, text), 0o666); err != nil {
		t.Error(err)
	}
}

// saw are the requests to path.
func (s *fake) saw(path string) []call {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []call
	for _, c := range s.calls {
		if c.Path == path {
			list = append(list, c)
		}
	}
	return list
}

// paths are all requests in order.
func (s *fake) paths() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []string
	for _, c := range s.calls {
		list = append(list, c.Path)
	}
	return list
}

func (s *fake) isArmed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.armed
}

// quick are options with every wait cut short. The timeouts stay long enough
// for a loaded machine: only tests of a timeout make one short.
func quick(s *fake, dir string) capture.Options {
	return capture.Options{
		URL: s.URL, Framework: s.framework, OutputDir: dir, FirstIndex: 10,
		Prefill:  capture.Shape{InputLen: 40},
		Decode:   capture.Shape{OutputLen: 20},
		ArmDelay: -1,
		Timeouts: capture.Timeouts{Info: 10 * time.Second, Start: 10 * time.Second, Stop: 10 * time.Second,
			Request: 10 * time.Second, Traces: 20 * time.Second, Cleanup: 10 * time.Second,
			Detach: 20 * time.Millisecond, Quiet: 10 * time.Second,
			Poll: time.Millisecond, Stable: 5 * time.Millisecond, Settle: 10 * time.Millisecond},
	}
}

// run is capture.Run with the checks every outcome must pass: the profiler is
// not left running, no goroutine of the package is left, and nothing
// beside the output folder has changed.
func run(t *testing.T, ctx context.Context, s *fake, o capture.Options) (*capture.Result, error) {
	t.Helper()
	before := tree(t, filepath.Dir(o.OutputDir), o.OutputDir)
	res, err := capture.Run(ctx, o)
	if s.isArmed() {
		t.Errorf("the profiler is still armed after Run; requests: %v", s.paths())
	}
	noLeaks(t)
	if after := tree(t, filepath.Dir(o.OutputDir), o.OutputDir); after != before {
		t.Errorf("outside the output folder, was:\n%s\nis:\n%s", before, after)
	}
	return res, err
}

// noLeaks waits for the package's goroutines to end.
func noLeaks(t *testing.T) {
	t.Helper()
	deadline := time.Now().Add(5 * time.Second)
	for {
		buf := make([]byte, 1<<20)
		buf = buf[:runtime.Stack(buf, true)]
		var left []string
		for _, g := range strings.Split(string(buf), "\n\n") {
			ours := strings.Contains(g, "strata/capture.") && !strings.Contains(g, "testing.tRunner")
			if ours || strings.Contains(g, "net/http.(*persistConn)") { // no connection is kept
				left = append(left, g)
			}
		}
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("goroutines left behind:\n%s", strings.Join(left, "\n\n"))
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// tree lists a folder, without the one at except.
func tree(t testing.TB, dir, except string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if p == except {
			return filepath.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if d.IsDir() {
			fmt.Fprintln(&b, p)
		} else {
			fmt.Fprintln(&b, p, info.Size(), info.ModTime().UnixNano())
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// outDir is an output folder with a neighbour, named without any framework.
func outDir(t testing.TB) string {
	t.Helper()
	base, err := os.MkdirTemp("", "capture-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	if err := os.WriteFile(filepath.Join(base, "neighbour.trace.json"), traceText(0, 0), 0o666); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(base, "out")
}

// contains looks for text in all files below dir.
func contains(t testing.TB, dir, text string) bool {
	t.Helper()
	found := false
	filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			b, _ := os.ReadFile(p)
			found = found || bytes.Contains(b, []byte(text))
		}
		return nil
	})
	return found
}
