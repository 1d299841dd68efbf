package capture

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/llmstrata/strata/capture"
	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/examples/internal/apptest"
	"github.com/llmstrata/strata/examples/internal/live"
)

// childVariable has the test binary be the program, so that signals reach a process of their own.
const childVariable = "STRATA_TEST_CAPTURE_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) != "" {
		p, args := Choose(os.Args[1:])
		os.Args = append(os.Args[:1:1], args...)
		app.Main(p)
		return
	}
	os.Exit(m.Run())
}

// counting is a server of any framework that counts windows and holds the request of one phase.
type counting struct {
	*httptest.Server
	f      capture.Framework
	dir    string // fixed at launch, where the request does not name one
	phase  string // whose request is held
	held   chan struct{}
	goesOn chan struct{}

	mu             sync.Mutex
	armed          bool
	opened, closed int
	stops, files   int
	out            string
}

func newCounting(t *testing.T, f capture.Framework, dir, phase string) *counting {
	s := &counting{f: f, dir: dir, phase: phase, held: make(chan struct{}, 100), goesOn: make(chan struct{})}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

// hold keeps a request of the phase until the test lets it go.
func (s *counting) hold(phase string) {
	s.mu.Lock()
	here := phase == s.phase
	s.mu.Unlock()
	if here {
		s.held <- struct{}{}
		<-s.goesOn
	}
}

func (s *counting) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	armed := s.armed
	s.mu.Unlock()
	switch r.URL.Path {
	case "/start_profile":
		var body map[string]any
		json.NewDecoder(r.Body).Decode(&body)
		s.mu.Lock()
		s.armed, s.out = true, s.dir
		if dir, ok := body["output_dir"].(string); ok && s.f != capture.FrameworkTensorRT {
			s.out = dir
		}
		s.opened++
		s.mu.Unlock()
		s.hold("start")
		s.mu.Lock()
		if s.phase == "wait" {
			s.held <- struct{}{}
		}
		s.mu.Unlock()
	case "/stop_profile":
		s.mu.Lock()
		s.stops++
		was := s.armed
		s.armed = false
		s.mu.Unlock()
		s.hold("stop")
		if !was {
			if s.f == capture.FrameworkSGLang {
				http.Error(w, "Profiling is not in progress", 500)
			}
			return
		}
		s.mu.Lock()
		s.closed++
		s.files++
		path, text := filepath.Join(s.out, fmt.Sprintf("%d-TP-0.trace.json", s.files)), []byte(`{"traceEvents": []}`)
		if s.phase == "traces" {
			text = text[:5] // it is still being written
		}
		os.MkdirAll(s.out, 0o777)
		os.WriteFile(path, text, 0o666)
		if s.phase == "traces" {
			s.held <- struct{}{}
		}
		s.mu.Unlock()
	case "/server_info":
		if s.f != capture.FrameworkSGLang {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, `{"tokenizer_path": "x", "tp_size": 1}`)
	case "/v1/models":
		fmt.Fprint(w, `{"data": [{"id": "m"}]}`)
	case "/readiness":
	case "/generate", "/v1/chat/completions":
		s.hold(map[bool]string{true: "requests", false: "warmup"}[armed])
		fmt.Fprint(w, `{"text": "x", "choices": [{"text": "x"}]}`)
	default:
		http.NotFound(w, r)
	}
}

// TestInterruptions interrupts a capture in each phase, on each framework, by each signal; the last one cannot be
// caught. Whatever was on is off in the end, after the next run and the one command that it names. No server gets a
// second stop if that is not allowed.
func TestInterruptions(t *testing.T) {
	room := make(chan struct{}, 8) // most of a run is waiting
	for _, f := range capture.Frameworks() {
		for _, phase := range []string{"warmup", "start", "wait", "requests", "stop", "traces"} {
			for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL} {
				t.Run(fmt.Sprintf("%s/%s/%v", f, phase, sig), func(t *testing.T) {
					t.Parallel()
					room <- struct{}{}
					defer func() { <-room }()
					interrupted(t, f, phase, sig)
				})
			}
		}
	}
}

func interrupted(t *testing.T, f capture.Framework, phase string, sig syscall.Signal) {
	dir := apptest.ProfileFolder(t)
	s := newCounting(t, f, dir, phase)
	args := []string{"--url", s.URL, "--framework", string(f), "--output-dir", dir, "--profile-workload", "decode",
		"--num-steps", "1", "--inspect=false", "--stable-for", "5ms", "--ranks", "1"}
	delay := "0"
	if phase == "wait" {
		delay = "60"
	}
	child := exec.CommandContext(t.Context(), os.Args[0], append(args, "--probe-delay", delay)...)
	child.Env = append(os.Environ(), childVariable+"=1")
	var said strings.Builder
	child.Stdout, child.Stderr = &said, &said
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-s.held:
	case <-time.After(60 * time.Second):
		t.Fatalf("the phase did not come: %s", said.String())
	}
	if err := child.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
	go func() {
		time.Sleep(50 * time.Millisecond) // the server goes on when nobody listens
		close(s.goesOn)
	}()
	child.Wait() // its exit status is the signal's
	<-s.goesOn
	time.Sleep(10 * time.Millisecond) // what was held is being carried out
	s.mu.Lock()
	s.phase = ""
	s.mu.Unlock()

	// The next run into the folder, and the command that its refusal names.
	next := func() apptest.Result { return apptest.Run(t, captureProgram(), append(args, "--probe-delay", "0")...) }
	r := next()
	if r.Code == live.ExitLeftOver {
		if !strings.Contains(r.Stderr, "capture stop --output-dir "+dir) {
			t.Errorf("the refusal names no command: %s", r.Stderr)
		}
		apptest.MustRun(t, stopProgram(), "--output-dir", dir)
		r = next()
	}
	if r.Code != 0 && r.Code != live.ExitUnchecked {
		t.Errorf("the next run: exit code %d, %s\nfirst: %s", r.Code, r.Stderr, said.String())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.armed || s.opened != s.closed {
		t.Errorf("%d windows opened, %d closed, armed %v\n%s", s.opened, s.closed, s.armed, said.String())
	}
	if once := f == capture.FrameworkVLLM || f == capture.FrameworkTensorRT; once && s.stops != s.opened {
		t.Errorf("%d windows, %d stop requests", s.opened, s.stops)
	}
}
