package capture

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-json"

	"github.com/llmstrata/strata/internal/vocabulary"
)

// Field is a key in the body of a start request.
type Field string

// The keys that the servers know.
const (
	FieldOutputDir       Field = "output_dir"
	FieldNumSteps        Field = "num_steps"
	FieldActivities      Field = "activities"
	FieldByStage         Field = "profile_by_stage"
	FieldMerge           Field = "merge_profiles"
	FieldPrefix          Field = "profile_prefix"
	FieldStartStep       Field = "start_step"
	FieldWithStack       Field = "with_stack"
	FieldRecordShapes    Field = "record_shapes"
	FieldProfileID       Field = "profile_id"
	FieldStages          Field = "profile_stages"
	FieldShapeDiscovery  Field = "shape_discovery"
	FieldRoofline        Field = "roofline_annotations"
	FieldDelayIterations Field = "delay_iterations"
	FieldMaxIterations   Field = "max_iterations"
)

// Kind is what a server's profiler records.
type Kind string

// The kinds.
const (
	KindTorch  Kind = "torch"
	KindCUDA   Kind = "cuda" // cudaProfilerApi ranges, which Nsight Systems records; no file of the server's own
	KindProton Kind = "proton"
	KindOther  Kind = "other" // RPD, memory snapshots, VizTracer
)

// UnmarshalText reads a kind as a server's settings have it; one that is not known is [KindOther].
func (k *Kind) UnmarshalText(text []byte) error {
	if vocabulary.Set(k, "kind", text, KindTorch, KindCUDA, KindProton) != nil {
		*k = KindOther
	}
	return nil
}

// Front is what takes the profiler's requests.
type Front string

// The front ends.
const (
	FrontPython  Front = "python"
	FrontRust    Front = "rust"
	FrontGateway Front = "gateway"
	FrontEnv     Front = "env" // none: the environment of the launch fixes the window
)

// Contract is what one build of a server, or a gateway before it, does when it is profiled. A version number never
// decides alone, since most servers ignore unknown fields with 200: a contract's key is server, front end and a
// feature that the server shows ([Contract.Probe]).
type Contract struct {
	Name      string    `json:"name"`      // name of the contract
	Framework Framework `json:"framework"` // serving framework
	Front     Front     `json:"front"`     // what answers: the server itself, a router or a proxy
	Versions  string    `json:"versions"`  // releases that the contract is for
	// Probe says what shows this contract.
	Probe string `json:"probe"`
	// Start and Stop are POST routes, "" for none. Enabled says what opens them.
	Start   string `json:"start"`
	Stop    string `json:"stop"`
	Enabled string `json:"enabled"`
	// Fields are sent always, Listed where the server's own schema lists them. A schema that lacks a field of
	// Fields keeps it from being sent.
	Fields []Field `json:"fields"`
	Listed []Field `json:"listed"`
	// Unknown says what becomes of other fields. Ignores: they do no harm, so that those of Listed are sent to a
	// server without a schema, too.
	Unknown string `json:"unknown_fields"`
	Ignores bool   `json:"ignores_unknown"`
	// Answers says what statuses mean.
	Answers string `json:"answers"`
	// Ends says when a window closes by itself.
	Ends string `json:"ends"`
	// SelfStop: the window closes after the steps that were sent, which are Extra more than the passes wanted.
	SelfStop bool `json:"self_stop"`
	Extra    int  `json:"extra_steps"`
	// Exact: the server counts the passes itself, also where the requests would make more.
	Exact bool `json:"exact"`
	// OwnDir: traces land in the folder that the request names; else in one fixed at launch, from which they are
	// moved. Rewrites: the name is fixed, so a second run replaces the first one's file.
	OwnDir   bool `json:"own_dir"`
	Rewrites bool `json:"rewrites"`
	// StopAgain: a second stop request does no harm. Flushed: a stop is answered once the traces are written.
	StopAgain bool `json:"stop_again"`
	Flushed   bool `json:"flushed"`
	// Files is the form of the names, Kinds what can be recorded.
	Files string `json:"files"`
	Kinds []Kind `json:"kinds"`
	// Generate are the routes that requests go to, the next where one is refused.
	Generate []string `json:"generate"`
	// Traps are limits and bugs worth a line of doctor's.
	Traps []string `json:"traps"`
	// Source is file and commit, or pull request, of these facts; Unverified what was concluded only.
	Source     string `json:"source"`
	Unverified string `json:"unverified,omitempty"`

	// id and prefix are what profile_id and, where nobody gave one, profile_prefix are made of: {id} is the window's own,
	// {dashes} the same without dots, {prefix} what was given, {stage} the stage.
	id, prefix string
	// stacks and shapes are asked for where nobody says.
	stacks, shapes bool

	launch string // what the server must be launched with, "" for what its framework says
	lines  launchLines
}

// launchLines are commands, in which {model}, {dir}, {passes} and {last} stand for what is asked for: for traces whose
// times count, for those that lead back to source, and for a server under Nsight Systems, behind [nsysLine].
type launchLines struct{ formal, mapping, nsys string }

// nsysLine begins the command of a server under Nsight Systems.
const nsysLine = "nsys profile -t cuda,nvtx --cuda-graph-trace=node --trace-fork-before-exec=true --capture-range=cudaProfilerApi --capture-range-end=stop --force-overwrite true -o {dir}/report "

var (
	sglangLines = launchLines{
		formal:  "python -m sglang.launch_server --model-path {model}",
		mapping: "python -m sglang.launch_server --model-path {model} --disable-cuda-graph",
		nsys:    "python -m sglang.launch_server --model-path {model}",
	}
	vllmLines = launchLines{
		formal:  `vllm serve {model} --enable-prompt-tokens-details --profiler-config '{"profiler": "torch", "torch_profiler_dir": "{dir}", "torch_profiler_with_stack": false, "torch_profiler_record_shapes": false, "max_iterations": {passes}}'`,
		mapping: `vllm serve {model} --enable-prompt-tokens-details --profiler-config '{"profiler": "torch", "torch_profiler_dir": "{dir}", "torch_profiler_with_stack": true, "torch_profiler_record_shapes": true, "max_iterations": {passes}}' --enforce-eager`,
		nsys:    `env VLLM_WORKER_MULTIPROC_METHOD=spawn vllm serve {model} --profiler-config '{"profiler": "cuda"}'`,
	}
	tensorRTLines = launchLines{
		formal:  "TLLM_PROFILE_START_STOP=100-{last} TLLM_TORCH_PROFILE_TRACE={dir}/trace.json trtllm-serve {model}",
		mapping: "TLLM_PROFILE_START_STOP=100-{last} TLLM_TORCH_PROFILE_TRACE={dir}/trace.json trtllm-serve {model} # with cuda_graph_config: null in --extra_llm_api_options; stacks need the two edits of docs/capture.md",
		nsys:    "trtllm-serve {model}",
	}
	tokenSpeedLines = launchLines{
		formal:  "TOKENSPEED_PROFILER_DIR={dir} TOKENSPEED_PROFILE_WITH_STACK=0, then as before",
		mapping: "TOKENSPEED_PROFILER_DIR={dir} TOKENSPEED_PROFILE_WITH_STACK=1, then as before",
		nsys:    "SERVER",
	}
)

// howToLaunch says what the server must be launched with.
func (c *Contract) howToLaunch() string { return cmp.Or(c.launch, c.Framework.known().Launch) }

// The routes that all servers with a profiler share.
const (
	startPath   = "/start_profile"
	stopPath    = "/stop_profile"
	routeModels = "/v1/models"
)

var (
	nativeRoutes = []string{routeNative}
	openAIRoutes = []string{routeChat, routeCompletions}
)

// factsRead is when the sources of the table were read.
const factsRead = "2026-10"

// contracts is the table. The first row of a framework is its default.
var contracts = []Contract{
	{
		Name: "sglang", Framework: FrameworkSGLang, Front: FrontPython, Versions: "0.4 to main",
		Generate: nativeRoutes, lines: sglangLines,
		Probe: "/server_info has tokenizer_path, internal_states or tp_size", Enabled: "always",
		Start: startPath, Stop: stopPath,
		Fields: []Field{FieldOutputDir, FieldNumSteps, FieldActivities, FieldByStage, FieldMerge, FieldPrefix,
			FieldStartStep,
			FieldWithStack, FieldRecordShapes},
		Listed:  []Field{FieldProfileID, FieldStages, FieldShapeDiscovery, FieldRoofline},
		Unknown: "ignored", Ignores: true, Answers: "200 text; a refusal is 500",
		Ends: "after num_steps-1 passes, from sgl-project/sglang#30215 (2026-07-06) after num_steps; when the next batch is about to run",
		id:   "{id}", shapes: true, SelfStop: true, Extra: 1, OwnDir: true, StopAgain: true, Flushed: true,
		Files: "[prefix-]ID-TP-t[-DP-d][-PP-p][-EP-e][-EXTEND|-DECODE].trace.json.gz",
		Kinds: []Kind{KindTorch, KindCUDA, KindOther},
		Traps: []string{
			"it must not run with SGLANG_PROFILE_V2, whose plain start and whose stop are not implemented: either may end the scheduler",
			"a second plain start while a window is open ends the scheduler or loses the first window: a start is sent once",
			"with speculative decoding profile_by_stage counts verify passes as prefill (sgl-project/sglang#34942)",
		},
		Source: "srt/managers/scheduler_components/profiler_manager.py@699ee234, srt/managers/io_struct.py, srt/entrypoints/http_server.py@9c0549b7",
	},
	{
		Name: "sglang-rust", Framework: FrameworkSGLang, Front: FrontRust,
		Generate: nativeRoutes, lines: sglangLines,
		Versions: "SGLANG_RUST_SERVER=1, from #29799 (2026-07)",
		Probe:    "/server_info has max_context_length and no tp_size", Enabled: "never", Answers: "404",
		Traps:  []string{"this front end has no profiler routes: launch the server without SGLANG_RUST_SERVER"},
		Source: "sgl-project/sglang#29799 #33103, read at b1bbd74f", Unverified: "the 404",
		launch: "launch it without SGLANG_RUST_SERVER=1: that front end has no profiler routes",
	},
	{
		Name: "vllm", Framework: FrameworkVLLM, Front: FrontPython,
		Generate: openAIRoutes, lines: vllmLines,
		Versions: "0.6 to main 0c16eee3, Python and Rust front ends",
		Probe:    "/v1/models answers; /start_profile has no schema",
		Enabled:  "--profiler-config (from 0.13), VLLM_TORCH_PROFILER_DIR (to 0.15)",
		Start:    startPath, Stop: stopPath, Unknown: "no body is read",
		Answers: "200 empty, also for a second start and for a window without files; 404 without a profiler",
		Ends:    "after max_iterations of the launch; else as long as the requests are", Flushed: true,
		Files: "dpD_ppP_tpT_dcpC_epE_rankG.TIME.pt.trace.json.gz, HOST_PID.async_llm.* of the front end",
		Kinds: []Kind{KindTorch, KindCUDA, KindProton},
		Traps: []string{
			"a second stop request may end it before #51678 (vllm-project/vllm#51676): exactly one is sent",
			"with wait_iterations or warmup_iterations in the profiler's config, only the first window of its life is written (vllm-project/vllm#45987)",
			"profiler cuda and proton answer 200 and leave no torch trace",
			"cached tokens are in its answers only with --enable-prompt-tokens-details",
		},
		Source: "vllm/profiler/wrapper.py@02773ee0, vllm/config/profiler.py@aedcda89, entrypoints/serve/profile/api_router.py@055e47c2, #46306",
	},
	{
		Name: "vllm-session", Framework: FrameworkVLLM, Front: FrontPython, Versions: "#57875 (open 2026-09-21)",
		Generate: openAIRoutes, lines: vllmLines,
		Probe: "the schema of /start_profile lists max_iterations", Enabled: "as vllm", Start: startPath,
		Stop:    stopPath,
		Listed:  []Field{FieldPrefix, FieldDelayIterations, FieldMaxIterations},
		Unknown: "ignored, or refused with 422 (draft #56542); types are strict",
		Answers: "as vllm; a second start 409",
		prefix:  "strata-{dashes}-", Ends: "after max_iterations passes", Exact: true, Flushed: true,
		Files: "[prefix]dpD_…_rankG.TIME.pt.trace.json.gz", Kinds: []Kind{KindTorch, KindCUDA, KindProton},
		Source: "vllm-project/vllm#57875, two drafts of api_router.py", Unverified: "not merged when read",
	},
	{
		Name: "trtllm-http", Framework: FrameworkTensorRT, Front: FrontPython,
		Generate: openAIRoutes, lines: tensorRTLines,
		Versions: "from NVIDIA/TensorRT-LLM#13872, PyTorch backend",
		Probe:    "/start_profile is listed, or answers", Enabled: "always", Start: startPath, Stop: stopPath,
		Fields: []Field{FieldOutputDir, FieldActivities}, Listed: []Field{FieldStartStep},
		Unknown: "not known", Answers: "200 {message}; running or pending 409; else 500",
		Ends: "with the requests; num_steps is not sent, and a stop before the first pass cancels", Rewrites: true,
		Files: "trtllm-trace-UNIX-HEX-rank-GLOBAL.json", Kinds: []Kind{KindTorch, KindCUDA},
		Traps: []string{
			"a stop is answered after 30 s at most, also while a file still grows",
			"traces have no stacks: profiling moved to profiling.py, which has no setting for them",
		},
		Source: "tensorrt_llm/_torch/pyexecutor/profiling.py@070b8549, its tests of the endpoints",
	},
	{
		Name: "trtllm-env", Framework: FrameworkTensorRT, Front: FrontEnv,
		Generate: openAIRoutes, lines: tensorRTLines,
		Versions: "before #13872, and other backends",
		Probe:    "/start_profile is not listed, or 404",
		Enabled:  "TLLM_PROFILE_START_STOP=A-B and TLLM_TORCH_PROFILE_TRACE=FILE",
		Ends:     "passes A to B-1, once in the server's life", Rewrites: true,
		Files: "trace.json, from #13536 trace-rank-GLOBAL.json", Kinds: []Kind{KindTorch},
		Traps:  []string{"its window opens once in the server's life: one stage per launch"},
		Source: "py_executor.py of releases before #13872, #13536",
	},
	{
		Name: "tokenspeed", Framework: FrameworkTokenSpeed, Front: FrontGateway,
		Generate: openAIRoutes, lines: tokenSpeedLines,
		Versions: "from #308 (2026-06-01), its gateway smg or the control server on the port above",
		Probe:    "/readiness answers", Enabled: "gateway: admin authorization; control server: always",
		Start:   startPath,
		Stop:    stopPath,
		Fields:  []Field{FieldOutputDir, FieldActivities, FieldWithStack, FieldRecordShapes, FieldProfileID},
		Unknown: "dropped by the gateway: profile_id, profile_prefix, merge_profiles, profile_stages",
		Answers: "200 all; 206 when any worker refused, also when all did; 404 no worker",
		id:      "{prefix}-{stage}", stacks: true, Ends: "with the requests", OwnDir: true, Rewrites: true, StopAgain: true, Flushed: true,
		Files: "ID-[DPd-][CPc-]TPt[-STAGE].trace.json.gz", Kinds: []Kind{KindTorch, KindCUDA, KindProton, KindOther},
		Traps: []string{
			"its gateway answers 206 when workers refuse, even when all do: that is an error here",
			"with --dp-aware the gateway sends one start per DP rank to one engine: give the engine's own address",
		},
		Source:     "control_server.py, request_handler.py@f4d8ec6e; smg worker.rs, manager.rs@f8daa883",
		Unverified: "404 of an unknown url",
	},
}

// sign is an answer that shows who is there: an engine, or a gateway, which passes requests on and has no profiler.
type sign struct {
	path      string
	keys      []string // the answer, or the first of a list, has one of them; nil: any answer will do
	framework Framework
	// gateway is its name, what to do where it lists no workers; source is where its answer is from.
	gateway, what, source string
}

// signs are looked for in this order, those of gateways first, which may answer for an engine.
var signs = []sign{
	{
		gateway: "SGLang router or smg", path: "/workers", keys: []string{"workers", "url"},
		what:   "it lists no worker; start the workers, or name each with --url",
		source: "sgl-router server.rs: GET /workers, lightseekorg/smg manager.rs@f8daa883, sglang #25851",
	},
	{
		gateway: "SGLang mini load balancer", path: "/get_server_info", keys: []string{"prefill"},
		what:   "name each worker too: --url GATEWAY --url PREFILL --url DECODE",
		source: "sglang mini_lb.py",
	},
	{
		gateway: "Dynamo frontend", path: "/health", keys: []string{"instances"},
		what:   "it has no profiler route, and its workers' system ports (DYN_SYSTEM_PORT) are not listed: name each engine with --url",
		source: "dynamo docs 1.5.0, #10347",
	},
	{
		gateway: "vLLM production-stack router", path: "/engines", keys: []string{"engine_id"},
		what:   "it lists engines without addresses: name each with --url",
		source: "vllm production-stack routers/main_router.py@a6c01db0",
	},
	{framework: FrameworkSGLang, path: "/server_info", keys: []string{"internal_states", "tokenizer_path",
		"max_context_length"}},
	{framework: FrameworkSGLang, path: "/get_server_info", keys: []string{"internal_states", "tokenizer_path"}},
	{framework: FrameworkTokenSpeed, path: "/readiness"},
	{framework: FrameworkVLLM, path: "/v1/models"},
}

// facts are where an answer says what, as paths for [dig].
type facts struct {
	model, version, tp, pp, dp, ep, nodes, chunk, role, kind, seed, rust, attention string

	ranks bool // tp, pp and dp are those of the processes that write a trace each
}

// question is a request before anything is sent to a profiler or model.
type question struct {
	path string
	old  string // its name in older releases
	says facts
	lack string // the note where it is not answered, "" where that is usual
	// model: who does not say it cannot be sent requests. document: the answer is kept beside the traces.
	model, document bool
}

var (
	openAIModels = question{path: routeModels, lack: "no model list", model: true, document: true,
		says: facts{model: "data id|data root"}}
	openAIVersion = question{path: "/version", says: facts{version: "version"}}
)

// questions are put to engines of a framework.
var questions = map[Framework][]question{
	FrameworkSGLang: {{path: "/server_info", old: "/get_server_info", lack: "no server information", document: true,
		says: facts{model: "model_path|served_model_name|model", version: "version", tp: "tp_size", pp: "pp_size",
			dp: "dp_size", ep: "ep_size", nodes: "nnodes", chunk: "chunked_prefill_size", role: "disaggregation_mode",
			seed: "random_seed", rust: "max_context_length", attention: "enable_dp_attention", ranks: true}}},
	FrameworkVLLM: {openAIModels, openAIVersion, {path: "/server_info?config_format=json", // in development mode
		says: facts{kind: "vllm_config profiler_config profiler", tp: "vllm_config parallel_config tensor_parallel_size",
			pp:    "vllm_config parallel_config pipeline_parallel_size",
			dp:    "vllm_config parallel_config data_parallel_size",
			nodes: "vllm_config parallel_config nnodes",
			chunk: "vllm_config scheduler_config max_num_batched_tokens"}}},
	FrameworkTensorRT:   {openAIModels, openAIVersion},
	FrameworkTokenSpeed: {{path: "/readiness", lack: "not ready"}, openAIModels, openAIVersion},
}

// listedWorkers reads {"workers": [{"url", "worker_type"}]} and [{"url", "mode"}].
func listedWorkers(text []byte) []Worker {
	type worker struct {
		URL  string `json:"url"`
		Type Role   `json:"worker_type"`
		Mode Role   `json:"mode"`
	}
	var doc struct{ Workers []worker }
	if json.Unmarshal(text, &doc) != nil && json.Unmarshal(text, &doc.Workers) != nil {
		return nil
	}
	var out []Worker
	for _, w := range doc.Workers {
		if base, _, ok := strings.Cut(w.URL, "@"); ok && !strings.Contains(base, "/@") {
			w.URL = base // BASE@RANK: one engine, registered once per DP rank
		}
		if w.URL != "" && !slices.ContainsFunc(out, func(o Worker) bool { return o.URL == w.URL }) {
			out = append(out, Worker{URL: w.URL, Role: cmp.Or(w.Type, w.Mode)})
		}
	}
	return out
}

// contractOf picks the row of a framework. listed is nil where the server does not describe its routes.
func contractOf(f Framework, front Front, listed *routes) *Contract {
	var first *Contract
	for i := range contracts {
		c := &contracts[i]
		if c.Framework != f {
			continue
		}
		switch {
		case front != "" && c.Front == front:
			return c
		case listed.has(startPath) == Fail && c.Front == FrontEnv:
			return c
		case slices.ContainsFunc(c.Listed, listed.field) && len(c.Fields) == 0:
			return c
		}
		if first == nil {
			first = c
		}
	}
	return first
}

// takes reports whether a start request to the engine may have one of the fields: what its own description lists, else
// what its contract knows.
func (t *target) takes(fields ...Field) bool {
	return slices.ContainsFunc(fields, func(f Field) bool {
		if t.listed.knows() && !t.listed.field(f) {
			return false
		}
		return slices.Contains(t.con.Fields, f) || slices.Contains(t.con.Listed, f) &&
			(t.listed.knows() || t.con.Ignores)
	})
}

// windowID looks like the one that SGLang makes, and is not likely to be anybody else's.
func windowID(now time.Time) string {
	return fmt.Sprintf("%d.%06d", now.Unix(), now.Nanosecond()/1000)
}

// value of a field in a start request to an engine, nil to leave it out.
func (s *stageRun) value(f Field, t *target) any {
	optional := func(set bool, v any) any {
		if !set {
			return nil
		}
		return v
	}
	o, c, stage := &s.o, t.con, s.plan.stage
	name := func(template string) string {
		return strings.NewReplacer("{id}", s.ID, "{dashes}", strings.ReplaceAll(s.ID, ".", "-"), "{prefix}",
			cmp.Or(o.ProfilePrefix, "profile"), "{stage}", string(stage)).Replace(template)
	}
	shapes := c.shapes
	if o.RecordShapes != nil {
		shapes = *o.RecordShapes
	}
	switch f {
	case FieldOutputDir:
		return s.serverDir(t)
	case FieldNumSteps:
		return s.plan.steps + c.Extra
	case FieldActivities:
		return o.Activities
	case FieldByStage:
		return s.ByStage
	case FieldMerge:
		return o.MergeProfiles
	case FieldPrefix:
		prefix := cmp.Or(o.ProfilePrefix, name(c.prefix))
		return optional(prefix != "", prefix)
	case FieldStartStep, FieldDelayIterations:
		return optional(o.StartStep > 0, o.StartStep)
	case FieldMaxIterations:
		return s.plan.passes()
	case FieldWithStack:
		return optional(o.WithStack != nil || c.stacks, o.WithStack == nil || *o.WithStack)
	case FieldRecordShapes: // releases of SGLang differ in what its absence means
		return shapes
	case FieldProfileID:
		return name(c.id)
	case FieldStages: // SGLang's V2 profiler records no other stage; the others ignore it
		return optional(stage != StageLegacy, []string{string(stage)})
	case FieldShapeDiscovery, FieldRoofline: // both name the shapes of a launch, at the cost of a string each
		return optional(shapes, true)
	}
	return nil
}

// body is a start request to an engine in the order of the fields; nil where it reads none.
func (s *stageRun) body(t *target, fields []Field) []byte {
	var b []byte
	for _, f := range fields {
		if v := s.value(f, t); v != nil && t.takes(f) {
			text, _ := json.Marshal(v) // no value above fails
			b = fmt.Appendf(b, ",%q:%s", f, text)
		}
	}
	if len(b) == 0 {
		return nil
	}
	b[0] = '{'
	return append(b, '}')
}

// foreignKinds are files that a profiler of another kind leaves.
var foreignKinds = []struct {
	ending string
	kind   Kind
}{
	{".hatchet", KindProton}, {".hatchet_msgpack", KindProton}, {".chrome_trace", KindProton},
	{".proton.json", KindProton},
	{".rpd", KindOther}, {".pickle", KindOther}, {".viztracer.json", KindOther},
	{".nsys-rep", KindCUDA}, {".qdrep", KindCUDA},
}

// kindOf is the kind of profiler that leaves a file of this name, "" for none of them.
func kindOf(name string) Kind {
	b := strings.ToLower(path.Base(name))
	for _, k := range foreignKinds {
		if strings.HasSuffix(b, k.ending) {
			return k.kind
		}
	}
	return ""
}

// words is a contract for people.
func (c *Contract) words() []string {
	out := []string{fmt.Sprintf("contract %s (%s, %s): %s", c.Name, c.Front, c.Versions, c.Probe)}
	fields, extra := strings.Trim(fmt.Sprint(slices.Concat(c.Fields, c.Listed)), "[]"), ""
	if c.Extra > 0 {
		extra = strconv.Itoa(c.Extra) + " more than asked"
	}
	for _, l := range [][2]string{{"routes enabled by", c.Enabled}, {"fields", fields}, {"other fields", c.Unknown},
		{"answers", c.Answers}, {"window ends", c.Ends}, {"steps sent", extra}, {"files", c.Files},
		{"sources read " + factsRead, c.Source}, {"not verified", c.Unverified}} {
		if l[1] != "" {
			out = append(out, l[0]+": "+l[1])
		}
	}
	return append(out, c.Traps...)
}
