package programs

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/examples/internal/apptest"
	"github.com/llmstrata/strata/internal/demo"
	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/internal/gen/nsysgen"
	"github.com/llmstrata/strata/layer/roofline"
)

// llama writes a config of the shape of Llama-3.1-70B.
func llama(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.json")
	text := `{"model_type":"llama","architectures":["LlamaForCausalLM"],"num_hidden_layers":80,"hidden_size":8192,"intermediate_size":28672,
"num_attention_heads":64,"num_key_value_heads":8,"vocab_size":128256,"torch_dtype":"bfloat16"}`
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSpeedOfLightPlanWithoutATrace(t *testing.T) {
	args := []string{"--config", llama(t), "--device", "H100", "--tokens", "1", "--kv-len", "1050", "--tp", "4"}
	r := apptest.MustRun(t, SpeedOfLight(), append(args, "--format", "json")...)
	var got roofline.Report
	if err := json.Unmarshal([]byte(r.Stdout), &got); err != nil {
		t.Fatal(err)
	}
	if got.Schema != "strata.light/2" || len(got.Passes) != 1 || got.Passes[0].Floor.Microseconds() != 10399 {
		t.Errorf("%s, floor %v; want 10.399 ms", got.Schema, got.Passes[0].Floor)
	}
	for _, name := range []string{"--gpu", "--device-name"} {
		if other := apptest.MustRun(t, SpeedOfLight(), "--config", args[1], name, "H100", "--tokens", "1", "--kv-len", "1050",
			"--tp", "4", "--format", "json"); other.Stdout != r.Stdout {
			t.Errorf("%s gives other floors than --device:\n%s", name, other.Stdout)
		}
	}
	text := apptest.MustRun(t, SpeedOfLight(), args...).Stdout
	for _, want := range []string{"floor: GEMMs (weights)", "gate_up_proj", "10.373"} {
		if !strings.Contains(text, want) {
			t.Errorf("the text lacks %q:\n%s", want, text)
		}
	}
}

// TestSpeedOfLightPeaks: half the bandwidth of the data sheet doubles what weights take, and a peak of arithmetic
// leaves that alone.
func TestSpeedOfLightPeaks(t *testing.T) {
	args := []string{"--config", llama(t), "--device", "H100", "--tokens", "1", "--tp", "4", "--format", "json"}
	products := func(more ...string) float64 {
		var got roofline.Report
		if err := json.Unmarshal([]byte(apptest.MustRun(t, SpeedOfLight(), append(args, more...)...).Stdout),
			&got); err != nil {
			t.Fatal(err)
		}
		return got.Passes[0].Waterfall[0].Time.Seconds() * 1e3
	}
	for peaks, want := range map[string]float64{"memory=3.35": 10.373, "memory=1.675": 20.746, "bf16=500": 10.373} {
		if got := products("--peak", peaks); math.Abs(got-want) > 0.001 {
			t.Errorf("--peak %s: %.3f ms, want %.3f", peaks, got, want)
		}
	}
	for _, name := range []string{"nvlink", "bf61", "", "Memory"} {
		if r := apptest.Run(t, SpeedOfLight(), append(args, "--peak", name+"=4")...); r.Code != app.ExitUsage ||
			!strings.Contains(r.Stderr, "want one of bf16, ") || strings.Count(r.Stderr, "\n") != 1 {
			t.Errorf("--peak %s: exit code %d: %s", name, r.Code, r.Stderr)
		}
	}
	if r := apptest.Run(t, SpeedOfLight(), append(args, "--peak", "bf16")...); r.Code != 2 ||
		!strings.Contains(r.Stderr, "--peak bf16") {
		t.Errorf("exit %d, %s", r.Code, r.Stderr)
	}
}

// TestSpeedOfLightOpRules: an op that the library does not know is counted like the one that a rules file names.
func TestSpeedOfLightOpRules(t *testing.T) {
	trace := filepath.Join(t.TempDir(), "trace.json")
	text := `{"deviceProperties":[{"id":0,"name":"NVIDIA H100 80GB HBM3","totalGlobalMem":85018279936}],"traceEvents":[
{"ph":"X","cat":"cpu_op","name":"mylib::gemm","pid":1,"tid":1,"ts":100,"dur":50,"args":{"External id":1,"Input Dims":[[4096,4096],[4096,4096]],"Input type":["c10::BFloat16","c10::BFloat16"]}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":110,"dur":5,"args":{"External id":1,"correlation":7}},
{"ph":"X","cat":"kernel","name":"my_gemm","pid":0,"tid":7,"ts":120,"dur":400,"args":{"External id":1,"correlation":7,"device":0,"stream":7}}]}`
	rules := filepath.Join(t.TempDir(), "rules.json")
	for path, data := range map[string]string{trace: text, rules: `[{"op": "mylib::gemm", "like": "aten::mm"}]`} {
		if err := os.WriteFile(path, []byte(data), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	floor := func(args ...string) float64 {
		var got roofline.Report
		if err := json.Unmarshal([]byte(apptest.MustRun(t, SpeedOfLight(),
			append(args, trace, "--format", "json")...).Stdout), &got); err != nil {
			t.Fatal(err)
		}
		return got.Passes[0].Floor.Seconds() * 1e6
	}
	if got := floor(); got != 0 {
		t.Errorf("without rules: a floor of %.1f µs", got)
	}
	if got, want := floor("--op-rules", rules), 2*4096.*4096*4096/989.4e6; math.Abs(got-want) > 0.1 {
		t.Errorf("with the rule: %.1f µs, want %.1f", got, want)
	}
}

func TestSpeedOfLightWrongUse(t *testing.T) {
	for name, args := range map[string][]string{
		"a plan without a GPU": {"--config", llama(t), "--tokens", "1"},
		"negative tokens":      {"--config", llama(t), "--device", "H100", "--tokens", "-1"},
		"more than can be":     {"--config", llama(t), "--device", "H100", "--tokens", "1", "--tp", "2000000000"},
	} {
		if r := apptest.Run(t, SpeedOfLight(), args...); r.Code != 2 {
			t.Errorf("%s: exit code %d, want 2: %s", name, r.Code, r.Stderr)
		}
	}
	bare := filepath.Join(t.TempDir(), "demo.json.gz")
	if err := os.WriteFile(bare, demo.Trace(), 0o666); err != nil {
		t.Fatal(err)
	}
	if r := apptest.MustRun(t, SpeedOfLight(), "--trace", bare); !strings.Contains(r.Stdout, "no model config") ||
		!strings.Contains(r.Stdout, "= start to next start") {
		t.Errorf("without a config:\n%s", r.Stdout)
	}
	for says, args := range map[string][]string{
		"H900": {"--config", llama(t), "--device", "H900", "--tokens", "1"},
	} {
		if r := apptest.Run(t, SpeedOfLight(), args...); r.Code != 1 ||
			strings.Count(strings.TrimSpace(r.Stderr), "\n") > 1 || !strings.Contains(r.Stderr, says) {
			t.Errorf("exit code %d: %s, want %q in it", r.Code, r.Stderr, says)
		}
	}
}

// TestSpeedOfLightDemoHasItsModel: without a file there is a floor for every pass, none above what the GPU took.
func TestSpeedOfLightDemoHasItsModel(t *testing.T) {
	var r roofline.Report
	if err := json.Unmarshal([]byte(apptest.MustRun(t, SpeedOfLight(), "--format", "json").Stdout), &r); err != nil {
		t.Fatal(err)
	}
	for i := range r.Passes {
		if p := &r.Passes[i]; p.Floor <= 0 || p.Floor > p.Wall {
			t.Errorf("pass %d takes %v, its floor is %v", i, p.Wall, p.Floor)
		}
	}
	if len(r.Passes) != 5 {
		t.Errorf("%d passes, want 5", len(r.Passes))
	}
}

// --all-ranks takes the other ranks of a directory: collectives are divided into transfer and waiting. --html writes
// the report of the first rank.
func TestSpeedOfLightAllRanksAndHTML(t *testing.T) {
	dir := t.TempDir()
	for rank := range 2 {
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("run-TP-%d-DECODE.trace.json", rank)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := gen.Llama70B(rank).Write(f); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	html := filepath.Join(dir, "out.html")
	args := []string{"--trace", dir, "--config", llama(t), "--tp", "4"}
	alone := apptest.MustRun(t, SpeedOfLight(), args...).Stdout
	read := apptest.MustRun(t, SpeedOfLight(), append(args, "--all-ranks", "--html", html)...)
	if strings.Contains(read.Stderr, "not read") {
		t.Errorf("both ranks were read: %s", read.Stderr)
	}
	both := read.Stdout
	for _, c := range []struct {
		out, want string
	}{{alone, "communication: transfer and waiting"}, {both, "what the shortest of 2 ranks takes"},
		{both, "communication: waiting for other ranks"}} {
		if !strings.Contains(c.out, c.want) {
			t.Errorf("no %q in:\n%s", c.want, c.out)
		}
	}
	page, err := os.ReadFile(html)
	if err != nil || !strings.Contains(string(page), "communication: waiting for other ranks") {
		t.Errorf("the page lacks the waiting (%v)", err)
	}
}

// nsysExport writes a run of padded graphs as Nsight Systems exports it, without any annotation.
func nsysExport(t *testing.T) string {
	t.Helper()
	truths, err := gen.Padded().Write(io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	var rows []nsysgen.Row
	for i, k := range truths {
		start := k.Start - truths[0].Start + 1_000_000
		c := int64(i + 1)
		rows = append(rows, nsysgen.Row{Kind: nsysgen.RowKernel, Name: k.Name, Start: start, End: start + k.Duration,
			Stream: 7, Correlation: c, Grid: int64(k.Grid)},
			nsysgen.Row{Kind: nsysgen.RowCall, Name: "cudaLaunchKernel_v7000", Start: start - 900, End: start - 400,
				Thread: 5, Correlation: c})
	}
	path := filepath.Join(t.TempDir(), "run.sqlite")
	if err := nsysgen.WriteRows(path, rows); err != nil {
		t.Fatal(err)
	}
	return path
}

// An export of Nsight Systems names the GPU, and grids give the tokens of passes without annotations; where they do
// not,
// --tokens does.
func TestSpeedOfLightNsysExport(t *testing.T) {
	config := filepath.Join(t.TempDir(), "config.json")
	text := `{"model_type":"llama","architectures":["LlamaForCausalLM"],"num_hidden_layers":8,"hidden_size":1024,"intermediate_size":2048,
"num_attention_heads":16,"num_key_value_heads":8,"vocab_size":32000,"torch_dtype":"bfloat16"}`
	if err := os.WriteFile(config, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	r := apptest.MustRun(t, SpeedOfLight(), "--trace", nsysExport(t), "--config", config, "--kv-len", "500", "--format",
		"json")
	var got roofline.Report
	if err := json.Unmarshal([]byte(r.Stdout), &got); err != nil {
		t.Fatal(err)
	}
	if got.GPU == nil || got.GPU.ID != "h200-sxm" {
		t.Errorf("GPU: %s", got.GPUWhy)
	}
	tokens := map[int64]int{}
	for _, p := range got.Passes {
		tokens[p.Tokens]++
		if p.Tokens > 0 && (p.TokensFrom == "annotation" || p.Floor == 0) {
			t.Errorf("pass %d: %d tokens from %s, floor %v", p.Index, p.Tokens, p.TokensFrom, p.Floor)
		}
	}
	// Graphs of 4 and 128 rows for 3 and for 100 to 117 requests; the mixed steps are not padded.
	if want := map[int64]int{3: 2, 100: 1, 117: 4, 628: 1, 2164: 1}; !maps.Equal(tokens, want) {
		t.Errorf("passes by tokens: %v, want %v", tokens, want)
	}
}
