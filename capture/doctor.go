package capture

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// Diagnosis is what [Diagnose] has found out.
type Diagnosis struct {
	// Schema is "strata.capture-doctor/2".
	Schema string `json:"schema"`
	// Server is its address, Framework what it is, Evidence how that is known.
	Server    string     `json:"server"`
	Framework Framework  `json:"framework"`
	Evidence  string     `json:"evidence"`
	Info      ServerInfo `json:"server_info"`
	// Profiler says whether the server has the profiler's routes: yes, no or unknown.
	Profiler string `json:"profiler"`
	// Contract is the row of the table that a capture would obey.
	Contract Contract `json:"contract"`
	// Workers are the engines that would be profiled where they are not Server alone.
	Workers []Worker `json:"workers,omitempty"`
	// Findings are sentences on what this server can and cannot do.
	Findings []string `json:"findings"`
	// Formal is the launch line for traces whose times count, Mapping for those that lead back to source: stacks,
	// shapes, module frames. Nsys is the one for a window of Nsight Systems.
	Formal  string `json:"formal_launch"`
	Mapping string `json:"mapping_launch"`
	Nsys    string `json:"nsys_launch"`
}

// Diagnose asks a server, by requests without effects, what it is and whether it can be profiled, and says how to
// launch it. OutputDir, if set, is the folder that the launch lines name. Stages and steps are those of the options.
func Diagnose(ctx context.Context, o Options) (*Diagnosis, error) {
	dir := cmp.Or(o.OutputDir, "DIR")
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
	defer r.close()
	t := r.d.targets[0]
	d := &Diagnosis{
		Schema: "strata.capture-doctor/2", Server: r.res.Server, Framework: t.f, Evidence: t.evidence, Info: t.info,
		Contract: *t.con, Workers: r.res.Workers,
		Profiler: map[Outcome]string{Pass: "yes", Fail: "no", Unknown: "unknown"}[t.listed.has(startPath)],
		Findings: append([]string{}, r.res.Notes...),
	}
	if err := r.d.check(&r.o); err != nil {
		d.Findings = append(d.Findings, strings.TrimPrefix(err.Error(), "capture: "))
	}
	d.advise(t, &o, dir)
	return d, ctx.Err()
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
func (d *Diagnosis) advise(t *target, o *Options, dir string) {
	add := func(format string, args ...any) { d.Findings = append(d.Findings, fmt.Sprintf(format, args...)) }
	if n := len(t.info.expected); n > 0 {
		add("%d traces per window are expected", n)
	} else {
		add("it does not say how many ranks it has: the traces' world_size does, or --ranks")
	}
	if n := d.Info.ChunkedPrefill; n > 0 && o.Prefill.InputLen >= n {
		add("a prompt of %d words is over its chunk of %d tokens and runs in several passes: --prefill-input-len",
			o.Prefill.InputLen, n)
	}
	if !t.con.SelfStop {
		add("the window is as long as the requests: a decode asks for %d tokens and makes %d passes", o.NumSteps+1,
			o.NumSteps+1)
	}
	d.Findings = append(d.Findings, t.con.words()...)
	model := cmp.Or(d.Info.Model, "MODEL")
	server := ""
	switch d.Framework {
	case FrameworkSGLang:
		d.Formal = "python -m sglang.launch_server --model-path " + model
		d.Mapping, server = d.Formal+" --disable-cuda-graph", d.Formal
	case FrameworkVLLM:
		d.launchVLLM(add, model, dir, o.NumSteps)
		server = `env VLLM_WORKER_MULTIPROC_METHOD=spawn vllm serve ` + model +
			` --profiler-config '{"profiler": "cuda"}'`
	case FrameworkTensorRT:
		server = "trtllm-serve " + model
		d.Formal = "TLLM_PROFILE_START_STOP=100-" + strconv.Itoa(100+o.NumSteps) + " TLLM_TORCH_PROFILE_TRACE=" + dir +
			"/trace.json " + server
		d.Mapping = d.Formal + " # with cuda_graph_config: null in --extra_llm_api_options; stacks need the two edits of docs/capture.md"
	case FrameworkTokenSpeed:
		d.Formal = "TOKENSPEED_PROFILER_DIR=" + dir + " TOKENSPEED_PROFILE_WITH_STACK=0, then as before"
		d.Mapping, server = "TOKENSPEED_PROFILER_DIR="+dir+" TOKENSPEED_PROFILE_WITH_STACK=1, then as before", "SERVER"
	}
	d.Nsys = "nsys profile -t cuda,nvtx --cuda-graph-trace=node --trace-fork-before-exec=true --capture-range=cudaProfilerApi --capture-range-end=stop --force-overwrite true -o " + dir + "/report " + server
}

// launchVLLM sets the profiler as the release reads it: in a config since 0.13, in the environment up to 0.15.
func (d *Diagnosis) launchVLLM(add func(string, ...any), model, dir string, steps int) {
	major, minor, ok := release(d.Info.Version)
	if ok && major == 0 && minor < 13 {
		d.Formal = "VLLM_TORCH_PROFILER_DIR=" + dir + " vllm serve " + model
		d.Mapping = "VLLM_TORCH_PROFILER_DIR=" + dir +
			" VLLM_TORCH_PROFILER_RECORD_SHAPES=1 VLLM_TORCH_PROFILER_WITH_STACK=1 vllm serve " + model +
			" --enforce-eager"
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
