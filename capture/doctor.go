package capture

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/llmstrata/strata/capture/internal/server"
)

// Diagnosis is what [Diagnose] has found out.
type Diagnosis struct {
	// Schema is "strata.capture-doctor/1".
	Schema string `json:"schema"`
	// Server is its address, Framework what it is, Evidence how that is known.
	Server    string     `json:"server"`
	Framework string     `json:"framework"`
	Evidence  string     `json:"evidence"`
	Info      ServerInfo `json:"server_info"`
	// Profiler says whether the server has the profiler's routes: yes, no or
	// unknown.
	Profiler string `json:"profiler"`
	// Findings are sentences on what this server can and cannot do.
	Findings []string `json:"findings"`
	// Formal is the launch line for traces whose times count, Mapping for
	// those that lead back to source: stacks, shapes, module frames.
	Formal  string `json:"formal_launch"`
	Mapping string `json:"mapping_launch"`
}

// Diagnose asks a server, by requests without effects, what it is and whether
// it can be profiled, and says how to launch it. OutputDir, if set, is the
// folder that the launch lines name. Stages and steps are those of the
// options.
func Diagnose(ctx context.Context, o Options) (d *Diagnosis, err error) {
	defer func() { err = export(err) }()
	dir := orText(o.OutputDir, "DIR")
	o = o.withDefaults()
	if o.OutputDir == "" {
		o.OutputDir = "." // for validate; nothing is written
	} else if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	if err := o.validate(); err != nil {
		return nil, err
	}
	r, err := open(ctx, o)
	if err != nil {
		return nil, err
	}
	defer r.c.Close()
	d = &Diagnosis{
		Schema: "strata.capture-doctor/1", Server: r.c.Base, Framework: r.res.Framework, Evidence: r.res.Evidence,
		Info: r.res.Info, Profiler: hasRoute(ctx, r.c, server.StartPath), Findings: append([]string{}, r.res.Notes...),
	}
	if d.Info.Version == "" {
		d.Info.Version = askVersion(ctx, r.c)
	}
	d.advise(len(r.info.Expected), r.d.Traits(), o, dir)
	return d, ctx.Err()
}

// hasRoute looks a POST route up in the server's own description of its
// routes. The route itself is not touched: a GET starts SGLang's profiler, and
// what a gateway does with other methods is not known.
func hasRoute(ctx context.Context, c *server.Client, path string) string {
	text, err := c.Get(ctx, "/openapi.json")
	var doc struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err != nil || json.Unmarshal(text, &doc) != nil || len(doc.Paths) == 0 {
		return unknown
	}
	if _, ok := doc.Paths[path]["post"]; ok {
		return "yes"
	}
	return "no"
}

// askVersion asks the route that vLLM and TensorRT-LLM have.
func askVersion(ctx context.Context, c *server.Client) string {
	text, err := c.Get(ctx, "/version")
	var doc map[string]any
	if err != nil || json.Unmarshal(text, &doc) != nil {
		return ""
	}
	return server.FirstString(doc, "version")
}

// release reads the first two numbers of a version.
func release(version string) (major, minor int, ok bool) {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(parts) < 2 {
		return 0, 0, false
	}
	major, err := strconv.Atoi(parts[0])
	if err != nil {
		return 0, 0, false
	}
	minor, err = strconv.Atoi(parts[1])
	return major, minor, err == nil
}

// advise says what the server can do and how it is launched.
func (d *Diagnosis) advise(expected int, tr server.Traits, o Options, dir string) {
	add := func(format string, args ...any) { d.Findings = append(d.Findings, fmt.Sprintf(format, args...)) }
	if d.Profiler == "no" {
		add("it has no %s: %s", server.StartPath, tr.Needs)
	}
	if expected > 0 {
		add("%d traces per window are expected", expected)
	} else {
		add("it does not say how many ranks it has: the traces' world_size does, or --ranks")
	}
	if n := d.Info.ChunkedPrefill; n > 0 && o.Prefill.InputLen >= n {
		add("a prompt of %d words is over its chunk of %d tokens and runs in several passes: --prefill-input-len", o.Prefill.InputLen, n)
	}
	if !tr.SelfStop {
		add("the window is as long as the requests: a decode asks for %d tokens and makes %d passes", o.NumSteps+1, o.NumSteps+1)
	}
	model := orText(d.Info.Model, "MODEL")
	switch d.Framework {
	case frameworkSGLang:
		add("it must not run with SGLANG_PROFILE_V2, whose plain start and whose stop are not implemented: either may end the scheduler")
		add("cached tokens are in its answers")
		d.Formal = "python -m sglang.launch_server --model-path " + model
		d.Mapping = d.Formal + " --disable-cuda-graph"
	case frameworkVLLM:
		d.adviseVLLM(add, model, dir, o.NumSteps)
	case frameworkTensorRT:
		add("stacks need the override of py_executor.py: capture override")
		add("without %s the window of TLLM_PROFILE_START_STOP opens once in the server's life: one stage per launch", server.StartPath)
		d.Formal = "TLLM_PROFILE_START_STOP=100-" + strconv.Itoa(100+o.NumSteps) + " TLLM_TORCH_PROFILE_TRACE=" + dir + "/trace.json trtllm-serve " + model
		d.Mapping = d.Formal + " # with cuda_graph_config: null in --extra_llm_api_options, and the override"
	case frameworkTokenSpeed:
		add("its gateway answers 206 when workers refuse, even when all do: that is an error here")
		d.Formal = "TOKENSPEED_PROFILER_DIR=" + dir + " TOKENSPEED_PROFILE_WITH_STACK=0, then as before"
		d.Mapping = "TOKENSPEED_PROFILER_DIR=" + dir + " TOKENSPEED_PROFILE_WITH_STACK=1, then as before"
	}
}

// adviseVLLM knows where the profiler's settings stand by release: a config
// since 0.13, the environment to 0.15.
func (d *Diagnosis) adviseVLLM(add func(string, ...any), model, dir string, steps int) {
	add("cached tokens are in its answers only with --enable-prompt-tokens-details")
	add("a second stop request may end it (vllm-project/vllm#51676): exactly one is sent")
	add("with wait_iterations or warmup_iterations in the profiler's config, only the first window of its life is written (vllm-project/vllm#45987)")
	major, minor, ok := release(d.Info.Version)
	if ok && major == 0 && minor < 13 {
		d.Formal = "VLLM_TORCH_PROFILER_DIR=" + dir + " vllm serve " + model
		d.Mapping = "VLLM_TORCH_PROFILER_DIR=" + dir + " VLLM_TORCH_PROFILER_RECORD_SHAPES=1 VLLM_TORCH_PROFILER_WITH_STACK=1 vllm serve " + model + " --enforce-eager"
		return
	}
	if !ok {
		add("its release is not known; before 0.13 the folder is VLLM_TORCH_PROFILER_DIR")
	}
	config := func(stacks bool) string {
		return fmt.Sprintf(`vllm serve %s --enable-prompt-tokens-details --profiler-config '{"profiler": "torch", "torch_profiler_dir": %q, "torch_profiler_with_stack": %t, "torch_profiler_record_shapes": %t, "max_iterations": %d}'`, model, dir, stacks, stacks, steps+1)
	}
	d.Formal, d.Mapping = config(false), config(true)+" --enforce-eager"
}
