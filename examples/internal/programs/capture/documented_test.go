package capture

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/llmstrata/strata/capture"
	"github.com/llmstrata/strata/examples/internal/apptest"
	"github.com/llmstrata/strata/examples/internal/live"
)

// TestDocumented runs every command of docs/capture.md against a server of the framework of its section.
func TestDocumented(t *testing.T) {
	text, err := os.ReadFile("../../../../docs/capture.md")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", tool(t)+string(os.PathListSeparator)+os.Getenv("PATH"))
	pages := map[string]capture.Framework{"SGLang": capture.FrameworkSGLang, "vLLM": capture.FrameworkVLLM,
		"TensorRT-LLM": capture.FrameworkTensorRT, "TokenSpeed": capture.FrameworkTokenSpeed,
		"Gateways": capture.FrameworkSGLang, "Nsight Systems": capture.FrameworkSGLang,
		"Commands around it": capture.FrameworkSGLang}
	page, ran := "", map[string]int{}
	for _, line := range strings.Split(string(text), "\n") {
		if title, ok := strings.CutPrefix(line, "## "); ok {
			page = title
		}
		command, ok := strings.CutPrefix(line, "    strata capture")
		if !ok {
			continue
		}
		f, known := pages[page]
		if !known {
			t.Errorf("a command on a page without a server: %s", line)
			continue
		}
		ran[page]++
		t.Run(strings.TrimSpace(command), func(t *testing.T) { documented(t, f, page, strings.Fields(command)) })
	}
	for p := range pages {
		if ran[p] == 0 {
			t.Errorf("no command on the page of %s", p)
		}
	}
}

// TestDocumentedEdits runs the edits of docs/capture.md for older releases of TensorRT-LLM, and reads its plan.
func TestDocumentedEdits(t *testing.T) {
	text, err := os.ReadFile("../../../../docs/capture.md")
	if err != nil {
		t.Fatal(err)
	}
	_, plan, _ := strings.Cut(string(text), "```json\n")
	plan, _, _ = strings.Cut(plan, "```")
	p, err := capture.LoadPlan(write(t, filepath.Join(t.TempDir(), "plan.json"), plan))
	if err != nil || len(p.Entries) != 2 || p.Entries[0].MappingURL == "" {
		t.Errorf("the plan of the page: %v, %+v", err, p)
	}
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED, NOT CHECKED: the edits are for the sed of Linux, this is " + runtime.GOOS)
	}
	edits := regexp.MustCompile(`(?m)^    (sed .*)$`).FindAllStringSubmatch(string(text), -1)
	if len(edits) != 2 {
		t.Fatalf("%d edits, want 2", len(edits))
	}
	// Lines of tensorrt_llm/_torch/pyexecutor/py_executor.py of before #13536.
	file := write(t, filepath.Join(t.TempDir(), "py_executor.py"),
		"enable_torch_trace = bool(torch_trace_path and profile_start_stop)\n"+
			"torch_profiler = torch.profiler.profile(activities=activities)\n")
	for _, e := range edits {
		sed := exec.CommandContext(t.Context(), "sh", "-c", e[1])
		sed.Dir = filepath.Dir(file)
		if out, err := sed.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", e[1], err, out)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := "enable_torch_trace = bool(torch_trace_path and profile_start_stop and self.dist.rank == 0)\n" +
		"torch_profiler = torch.profiler.profile(with_stack=True, activities=activities)\n"
	if string(got) != want {
		t.Errorf("the edited file is\n%swant\n%s", got, want)
	}
}

// tool is a folder with an nsys that exports as the real one does.
func tool(t *testing.T) string {
	dir := t.TempDir()
	script := "#!/bin/sh\nwhile [ $# -gt 1 ]; do [ \"$1\" = --output ] && out=$2; shift; done\ncp \"$1\" \"$out\"\n"
	if err := os.WriteFile(filepath.Join(dir, "nsys"), []byte(script), 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

var address = regexp.MustCompile(`^http://127\.0\.0\.1:\d+$`)

func documented(t *testing.T, f capture.Framework, page string, words []string) {
	dir := apptest.ProfileFolder(t)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	routes := !strings.Contains(strings.Join(words, " "), "/data/trt") // where the window is fixed at launch
	var engines []*counting
	engine := func() *counting {
		s := newCounting(t, f, dir, "")
		var warm atomic.Bool
		if inner := s.Config.Handler; !routes {
			s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "_profile") {
					http.NotFound(w, r)
					return
				}
				if r.URL.Path == "/v1/chat/completions" && warm.Swap(true) { // the window opens after the warm-up
					os.WriteFile(filepath.Join(dir, "trace.json"), []byte(`{"traceEvents": []}`), 0o666)
				}
				inner.ServeHTTP(w, r)
			})
		}
		engines = append(engines, s)
		return s
	}
	nsys := strings.Contains(strings.Join(words, " "), "--nsys")
	urls := 0
	for i, w := range words {
		switch {
		case address.MatchString(w):
			urls++
			s := engine()
			words[i] = s.URL
			if urls == 1 && (page == "Gateways" || strings.Contains(strings.Join(words, " "), "runs/split")) {
				words[i] = gateway(t, page != "Gateways", engine(), engine())
			}
			if nsys {
				inner := s.Config.Handler
				s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					inner.ServeHTTP(w, r)
					if r.URL.Path == "/stop_profile" {
						os.WriteFile(filepath.Join(s.out, "report.nsys-rep"), []byte("report"), 0o666)
					}
				})
			}
		case i > 0 && words[i-1] == "--output-dir":
			words[i] = dir
		case i > 0 && words[i-1] == "--ranks":
			words[i] = "1" // that the server here has
		case i > 0 && words[i-1] == "--attach":
			words[i] = "10ms"
		case w == "plan.json":
			words[i] = write(t, filepath.Join(dir, w), fmt.Sprintf(`{"output_dir": "out", "entries": [{"name": "one", "framework": "sglang", "url": %q}]}`, engine().URL))
		}
	}
	p, args := Choose(words)
	switch p.Name {
	case "capture", "capture matrix":
		args = append(args, "--probe-delay", "0", "--stable-for", "5ms", "--no-retry", "--trace-timeout", "20s",
			"--warmup-steps", "1", "--prefill-input-len", "20")
		if p.Name == "capture" {
			args = append(args, "--inspect=false")
		}
	}
	r := apptest.Run(t, p, args...)
	want := 0
	if p.Name == "capture matrix" {
		want = live.ExitInvalid // the traces here are empty
	}
	if r.Code != want || r.Stdout == "" {
		t.Errorf("exit code %d, want %d; stdout %s, stderr %s", r.Code, want, r.Stdout, r.Stderr)
	}
	for _, s := range engines {
		s.mu.Lock()
		if s.armed || s.opened != s.closed {
			t.Errorf("%d windows opened, %d closed", s.opened, s.closed)
		}
		s.mu.Unlock()
	}
}

// gateway is a router before two engines; lists says whether it names them.
func gateway(t *testing.T, lists bool, a, b *counting) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case lists && r.URL.Path == "/workers":
			fmt.Fprintf(w, `{"workers": [{"url": %q, "worker_type": "prefill"}, {"url": %q, "worker_type": "decode"}]}`,
				a.URL, b.URL)
		case !lists && r.URL.Path == "/health":
			fmt.Fprint(w, `{"endpoints": [], "instances": []}`)
		case r.Method == http.MethodPost && !strings.HasSuffix(r.URL.Path, "_profile"):
			a.serve(w, r)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func write(t *testing.T, path, text string) string {
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}
