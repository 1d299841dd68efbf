package command_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/examples/internal/apptest"
	"github.com/llmstrata/strata/internal/demo"
	"github.com/llmstrata/strata/internal/gen/nsysgen"
	"github.com/llmstrata/strata/internal/testdata"
)

// scripts are the published scripts and the commands that replace them.
var scripts = map[string][]string{
	"layer_timeline_analyzer.py": {"layer-timeline"}, "layer_kernel_breakdown.py": {"layer-breakdown"},
	"perfetto_time_mapper.py":      {"perfetto-map"},
	"analyze_llm_torch_profile.py": {"triage"}, "analyze_sglang_torch_profile.py": {"triage"},
	"render_triage_markdown_bundle.py": {"triage-bundle"},
	"detect_host_overhead.py":          {"host-detect"}, "analyze_host_overhead.py": {"host-compare"},
	"probe_llm_server.py": {"capture", "probe"},
}

// publishedLines are the command lines in the usage texts and guides of the published scripts, with what their result
// has to say.
var publishedLines = []struct{ line, says string }{
	{"layer_timeline_analyzer.py --trace /path/to/TP-0.trace.json.gz --config /path/to/config.json --show-all-passes",
		"Forward passes"},
	{"layer_timeline_analyzer.py --trace /path/to/TP-0.trace.json.gz --config /path/to/config.json --fwd-pass 4",
		"43 layers"},
	{"layer_timeline_analyzer.py --trace /path/to/TP-0.trace.json.gz --config /path/to/config.json", "steady"},
	{"layer_kernel_breakdown.py --trace /path/to/TP-0.trace.json.gz --config /path/to/config.json --fwd-pass 4 --layer 3",
		"mhc_"},
	{"layer_kernel_breakdown.py --trace /path/to/TP-0.trace.json.gz --config /path/to/config.json --fwd-pass 4 --layer " +
		"3 --format compute-flow", "mhc_"},
	{"layer_kernel_breakdown.py --trace /path/to/TP-0.trace.json.gz --config /path/to/config.json --fwd-pass 4 --layer " +
		"3 --format json", `"kernels"`},
	{"layer_kernel_breakdown.py --trace /path/to/TP-0.trace.json.gz --config /path/to/config.json --fwd-pass 4 --layer 2 --compare-layer 3", "mhc_"},
	{"perfetto_time_mapper.py --trace /path/to/TP-0.trace.json.gz --config /path/to/config.json", "Perfetto"},
	{"perfetto_time_mapper.py --trace /path/to/TP-0.trace.json.gz --config /path/to/config.json --fwd-pass 4 --layers 2,3,38,42", "42"},

	{"analyze_llm_torch_profile.py --input /path/to/profile_dir_or_trace.json.gz", "Kernel Table"},
	{"analyze_llm_torch_profile.py --framework sglang --input /path/to/TP-0-DECODE.trace.json.gz", "Framework: SGLang"},
	{"analyze_llm_torch_profile.py --framework sglang --input /path/to/on/decode --kernel-table-limit 15 " +
		"--overlap-table-limit 10", "Kernel Table"},
	{"analyze_llm_torch_profile.py --mapping-input /path/to/graph_off_profile_dir --formal-input /path/to/graph_on_profile_dir", "Kernel Table"},
	{"analyze_llm_torch_profile.py --framework vllm --mapping-input /path/to/eager-mapping --formal-input " +
		"/path/to/warmed-graph", "Framework: vLLM"},
	{"analyze_llm_torch_profile.py triage --input /path/to/profile_dir_or_trace.json.gz", "Kernel Table"},
	{"analyze_sglang_torch_profile.py --input /path/to/profile_dir_or_trace.json.gz", "Kernel Table"},
	{"analyze_llm_torch_profile.py --framework sglang --url http://127.0.0.1:30000 --output-dir " +
		"/path/to/sglang_profile_live --num-steps 5 --warmup-steps 10 --profile-by-stage --profile-workload both",
		"### decode"},
	{"analyze_llm_torch_profile.py --framework sglang --url http://127.0.0.1:30000 --output-dir " +
		"/path/to/sglang_profile_live --profile-workload decode --warmup-steps 10 --num-steps 5 --profile-by-stage",
		"### decode"},
	{"analyze_llm_torch_profile.py --framework vllm --url http://127.0.0.1:8000 --output-dir /path/to/vllm_profile " +
		"--num-steps 5 --warmup-steps 10 --no-profile-by-stage --profile-workload both", "### decode"},
	{"analyze_llm_torch_profile.py --framework sglang --mapping-url http://127.0.0.1:31025 --formal-url " +
		"http://127.0.0.1:31026 --num-steps 5 --profile-by-stage", "mapping"},
	{"analyze_llm_torch_profile.py --framework sglang --mapping-url http://127.0.0.1:31025 --formal-url " +
		"http://127.0.0.1:31026 --mapping-output-dir /path/to/mapping_live --formal-output-dir /path/to/formal_live " +
		"--mapping-profile-prefix linear_w1_decode --formal-profile-prefix tree_w7_b64_decode --profile-workload decode " +
		"--warmup-steps 10 --num-steps 5", "mapping"},

	{"analyze_llm_torch_profile.py --framework trtllm --url http://127.0.0.1:8000 --output-dir /shared/path " +
		"--num-steps 5 --no-profile-by-stage --profile-workload both", "### decode"},
	{"analyze_llm_torch_profile.py --framework trtllm --url http://127.0.0.1:8000 --output-dir /shared/path " +
		"--num-steps 5 --no-profile-by-stage", "Framework: TensorRT-LLM"},
	{"analyze_llm_torch_profile.py --framework trtllm --mapping-url http://127.0.0.1:8000 --formal-url " +
		"http://127.0.0.1:8001 --mapping-output-dir /shared/path --formal-output-dir /shared/formal --num-steps 5 --no-profile-by-stage", "mapping"},
	{"analyze_llm_torch_profile.py --input /shared/path/trace.json", "Kernel Table"},
	{"analyze_llm_torch_profile.py --framework tokenspeed --url http://127.0.0.1:8000 --output-dir " +
		"/path/to/tokenspeed_profile --num-steps 5 --warmup-steps 10 --no-profile-by-stage --profile-workload both",
		"Framework: TokenSpeed"},

	{"render_triage_markdown_bundle.py --analysis-root /path/to/runs --output /path/to/runs/bundle.md", ""},
	{"probe_llm_server.py --url http://127.0.0.1:30000 --requests 3 --max-tokens 8 --timeout 5 --prompt one",
		`"latency`},

	{"detect_host_overhead.py --trace /path/to/trace.sqlite --output /path/to/verdict.json", ""},
	{"analyze_host_overhead.py --baseline /path/to/baseline/trace.sqlite --target /path/to/target/trace.sqlite " +
		"--baseline-label v1.1 --target-label main --output /path/to/output/analysis.txt", ""},
	{"analyze_host_overhead.py --baseline baseline.sqlite --target target.sqlite --baseline-label v1.1 --target-label " +
		"main --output analysis.txt", ""},
	{"analyze_host_overhead.py --baseline /path/to/trace.sqlite --baseline-label current", "current"},
	{"analyze_host_overhead.py --mock", "run"},
}

// openAIServer answers as a server with OpenAI's routes does. At the end of each window it leaves the next of these
// traces, as its framework does: vLLM under a name of its own in the folder of its launch, TensorRT-LLM there under
// the same name each time, TokenSpeed in the folder of the request. The latter two leave as many ranks as their
// traces name.
func openAIServer(t *testing.T, framework, dir string, traces ...string) string {
	var mu sync.Mutex
	n := 0
	var told struct {
		Dir string `json:"output_dir"`
		ID  string `json:"profile_id"`
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		switch path := r.URL.Path; {
		case path == "/v1/models":
			fmt.Fprint(w, `{"object": "list", "data": [{"id": "Qwen/Qwen3-8B", "object": "model"}]}`)
		case path == "/version" && framework != "tokenspeed":
			fmt.Fprint(w, `{"version": "0.13.0"}`)
		case path == "/readiness" && framework == "tokenspeed":
			fmt.Fprint(w, `{"status": "ready"}`)
		case path == "/v1/chat/completions", path == "/v1/completions":
			fmt.Fprint(w, `{"choices": [{"message": {"content": "four"}, "text": "four", "finish_reason": "stop"}], "usage": {"prompt_tokens": 4, "completion_tokens": 4}}`)
		case path == "/start_profile":
			if err := json.NewDecoder(r.Body).Decode(&told); err != nil && framework == "tokenspeed" {
				t.Error(err)
			}
		case path == "/stop_profile":
			text, err := os.ReadFile(traces[n%len(traces)])
			if err == nil && framework == "trtllm" {
				text, err = unpacked(text)
			}
			for rank := range map[string]int{"vllm": 1, "trtllm": 2, "tokenspeed": 2}[framework] {
				name := map[string]string{"vllm": filepath.Join(dir,
					fmt.Sprintf("dp0_pp0_tp0_dcp0_ep0_rank%d.%d.pt.trace.json.gz", rank, 18+n)),
					"trtllm": filepath.Join(dir, fmt.Sprintf("trace-rank-%d.json", rank)),
					"tokenspeed": filepath.Join(told.Dir, fmt.Sprintf("%s-TP%d.trace.json.gz", told.ID,
						rank))}[framework]
				if err == nil {
					err = os.WriteFile(name, text, 0o666)
				}
			}
			if n++; err != nil {
				t.Error(err)
			}
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func unpacked(b []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// TestPublishedCommandLines runs them as they are written, but for the paths and addresses, which are this test's,
// and the waits of a capture, which are cut short.
func TestPublishedCommandLines(t *testing.T) {
	shared := func(p string) string { return testdata.Shared(t, p) }
	dir := t.TempDir()
	t.Setenv("TMPDIR", t.TempDir())
	write := func(name string, b []byte) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b, 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	trace := write("demo/demo-TP-0.trace.json.gz", demo.Trace())
	export := apptest.Export(t, nsysgen.Default(1))
	sgl := func() string { return apptest.NewLiveServer(t, trace, trace).URL }
	runs := filepath.Dir(write("runs/qwen/sglang/analysis.md",
		[]byte(run(t, "", "triage", "--format", "markdown").Stdout)))
	executor := write("py_executor.py", []byte("torch_profiler = torch.profiler.profile(\n    activities=activities)\nenable_torch_trace = bool(torch_trace_path and profile_start_stop)\n"))
	if err := os.MkdirAll(filepath.Join(dir, "output"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, p := range publishedLines {
		words := strings.Fields(p.line)
		// folders that servers were launched with
		vllm, formal := filepath.Dir(apptest.ProfileFolder(t)), filepath.Dir(apptest.ProfileFolder(t))
		args := append(slices.Clone(scripts[words[0]]), words[1:]...)
		live := strings.Contains(p.line, "url ") && args[0] == "triage"
		for i, a := range args {
			for _, r := range []struct{ published, ours string }{
				{"/path/to/TP-0.trace.json.gz", shared("traces/torch/synthetic-deepseek-v4-flash-TP-0.trace.json.gz")},
				{"/path/to/config.json", shared("configs/deepseek-v4-flash.json")},
				{"/path/to/profile_dir_or_trace.json.gz", trace},
				{"/path/to/TP-0-DECODE.trace.json.gz", shared("traces/torch/sglang-qwen3-30b-a3b-b300-TP-0-DECODE.trace.json.gz")},
				{"/path/to/on/decode", filepath.Dir(trace)},
				{"/path/to/graph_off_profile_dir", shared("traces/torch/sglang-qwen3-8b-graph-capture-mi300.json.gz")},
				{"/path/to/graph_on_profile_dir", shared("traces/torch/sglang-qwen3-8b-decode-graph-mi300.json.gz")},
				{"/path/to/eager-mapping", shared("traces/torch/vllm-gptoss20b-mixed-piecewise-mi300.json.gz")},
				{"/path/to/warmed-graph", shared("traces/torch/vllm-gptoss20b-decode-fullgraph-mi300.json.gz")},
				{"/path/to/original/py_executor.py", executor}, {"/path/to/baseline/trace.sqlite", export},
				{"/path/to/target/trace.sqlite", export}, {"/path/to/trace.sqlite", export},
				{"baseline.sqlite", export}, {"target.sqlite", export}, {"/path/to/vllm_profile", vllm},
				{"/shared/path/trace.json", trace}, {"/shared/path", vllm}, {"/shared/formal", formal},
				{"/path/to/tokenspeed_profile", apptest.ProfileFolder(t)}, {"/path/to/runs", runs},
				{"/path/to/sglang_profile_live", apptest.ProfileFolder(t)}, {"/path/to/mapping_live", apptest.ProfileFolder(t)},
				{"/path/to/formal_live", apptest.ProfileFolder(t)},
				{"/path/to", dir}, {"analysis.txt", filepath.Join(dir, "analysis.txt")},
			} {
				if a == r.published || strings.HasPrefix(a, r.published+"/") {
					args[i] = r.ours + strings.TrimPrefix(a, r.published)
					break
				}
			}
			if framework := words[min(2, len(words)-1)]; strings.HasPrefix(a, "http://127.0.0.1:8000") &&
				framework == "vllm" {
				args[i] = openAIServer(t, framework, vllm,
					shared("traces/torch/vllm-gptoss20b-mixed-piecewise-mi300.json.gz"),
					shared("traces/torch/vllm-gptoss20b-decode-fullgraph-mi300.json.gz"))
			} else if strings.HasPrefix(a, "http://127.0.0.1:8000") {
				args[i] = openAIServer(t, framework, vllm, trace)
			} else if strings.HasPrefix(a, "http://127.0.0.1:8001") {
				args[i] = openAIServer(t, framework, formal, trace)
			} else if strings.HasPrefix(a, "http://") {
				args[i] = sgl()
			}
		}
		if live {
			// what is replayed is not what was asked for
			args = append(append(args, apptest.FastLive...), "--trace-timeout", "60s", "--allow-invalid")
		}
		r := run(t, "", args...)
		if r.Code != app.ExitOK || !strings.Contains(r.Stdout, p.says) {
			t.Errorf("%s: exit code %d, want %q in\n%.300s\n%s", p.line, r.Code, p.says, r.Stdout, r.Stderr)
		}
		if i := slices.Index(args, "--output"); i >= 0 {
			if info, err := os.Stat(args[i+1]); err != nil || info.Size() == 0 {
				t.Errorf("%s: %s: %v", p.line, args[i+1], err)
			}
		}
	}
}
