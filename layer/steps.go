package layer

import (
	"regexp"
	"strconv"
	"strings"
)

// Step is what a step annotation says about its pass. Counts are −1 when it does not say.
type Step struct {
	// Dialect names who wrote the annotation: "vllm", "sglang", "trtllm", "profiler", "capture", or a user pattern's name.
	Dialect string `json:"dialect"`
	// Name is the annotation as recorded; profilers cut long names.
	Name string `json:"name"`
	// Index is the step's own number, −1 when it has none.
	Index int64 `json:"index"`
	Stage Stage `json:"stage"`
	// Batch counts requests, Tokens the tokens processed.
	Batch  int   `json:"batch"`
	Tokens int64 `json:"tokens"`
	// Context (prefill) and generation (decode) requests and tokens.
	ContextRequests    int   `json:"context_requests"`
	ContextTokens      int64 `json:"context_tokens"`
	GenerationRequests int   `json:"generation_requests"`
	GenerationTokens   int64 `json:"generation_tokens"`
	// Also lists further annotations around the same kernels.
	Also []string `json:"also,omitempty"`

	// weak marks dialects that count profiler steps, not runs of the model: one may hold several passes, or none.
	weak bool
}

func unknownStep(dialect, name string) Step {
	return Step{Dialect: dialect, Name: name, Index: -1, Stage: StageUnknown, Batch: -1, Tokens: -1,
		ContextRequests: -1, ContextTokens: -1, GenerationRequests: -1, GenerationTokens: -1}
}

// A dialect reads the annotations of one framework.
type dialect struct {
	name string
	read func(name string) (Step, bool)
}

// builtinDialects, asked in order. Sources: vLLM's and its ROCm fork's gpu_model_runner, SGLang's scheduler, TensorRT-LLM's
// PyExecutor, torch.profiler; the spellings are those of the traces in shared (pipeline.md §5).
var builtinDialects = []dialect{
	{"vllm", readVLLM},
	{"sglang", readSGLang},
	{"trtllm", readTRTLLM},
	{"capture", readCapture},
	{"profiler", readProfilerStep},
}

// readStep asks the user's patterns, then the built-in dialects.
func readStep(name string, user []StepPattern) (Step, bool) {
	for _, p := range user {
		if st, ok := readPattern(name, p); ok {
			return st, true
		}
	}
	for _, d := range builtinDialects {
		if st, ok := d.read(name); ok {
			return st, true
		}
	}
	return Step{}, false
}

// vLLM: execute_context_1(888_788544)_generation_0(0), execute_32_context_0(sq0sk0…)_generation_32(sq32sk32785…), and plain
// execute_new_0_cached_12 of the first V1 releases. Names may be cut anywhere after the first count.
var (
	vllmContext    = regexp.MustCompile(`^execute(?:_(\d+))?_context_(\d+)(?:\(([^)]*)\)?)?`)
	vllmGeneration = regexp.MustCompile(`_generation_(\d+)(?:\(([^)]*)\)?)?`)
	vllmNewCached  = regexp.MustCompile(`^execute_new_(\d+)_cached_(\d+)$`)
	leadingTokens  = regexp.MustCompile(`^(?:sq)?(\d+)`)
)

func readVLLM(name string) (Step, bool) {
	if !strings.HasPrefix(name, "execute_") {
		return Step{}, false
	}
	st := unknownStep("vllm", name)
	if m := vllmNewCached.FindStringSubmatch(name); m != nil {
		st.ContextRequests, st.GenerationRequests = toInt(m[1]), toInt(m[2])
		st.finish()
		return st, true
	}
	m := vllmContext.FindStringSubmatch(name)
	if m == nil {
		return Step{}, false
	}
	st.ContextRequests = toInt(m[2])
	if t := leadingTokens.FindStringSubmatch(m[3]); t != nil {
		st.ContextTokens = toInt64(t[1])
	}
	if g := vllmGeneration.FindStringSubmatch(name); g != nil {
		st.GenerationRequests = toInt(g[1])
		if t := leadingTokens.FindStringSubmatch(g[2]); t != nil {
			st.GenerationTokens = toInt64(t[1])
		}
	}
	st.finish()
	// The first number is the padded batch the graph was captured for, in tokens; the sum of the parts is what was asked.
	if st.Tokens < 0 && m[1] != "" {
		st.Tokens = toInt64(m[1])
	}
	return st, true
}

// SGLang: step[EXTEND bs=15 toks=15360], step[DECODE bs=32], decode[bs=117/128 …].
var (
	sglangStep = regexp.MustCompile(`^(?:step\[(\w+)|(extend|decode|prefill|mixed|idle|verify|target_verify|draft_extend)\[)([^\]]*)\]?`)
	sglangBS   = regexp.MustCompile(`\bbs=(\d+)`)
	sglangToks = regexp.MustCompile(`\b(?:toks|tokens|num_tokens)=(\d+)`)
)

func readSGLang(name string) (Step, bool) {
	m := sglangStep.FindStringSubmatch(name)
	if m == nil {
		return Step{}, false
	}
	st := unknownStep("sglang", name)
	if b := sglangBS.FindStringSubmatch(m[3]); b != nil {
		st.Batch = toInt(b[1])
	}
	if b := sglangToks.FindStringSubmatch(m[3]); b != nil {
		st.Tokens = toInt64(b[1])
	}
	mode := strings.ToUpper(m[1] + m[2])
	switch {
	case strings.Contains(mode, "VERIFY"):
		st.Stage = StageVerify
	case strings.Contains(mode, "DRAFT"):
		st.Stage = StageDraft
	case strings.Contains(mode, "MIXED"):
		st.Stage = StageMixed
	case strings.Contains(mode, "DECODE"):
		st.Stage = StageDecode
	case strings.Contains(mode, "EXTEND"), strings.Contains(mode, "PREFILL"):
		st.Stage = StagePrefill
	case strings.Contains(mode, "IDLE"):
		st.Stage = StageIdle
	}
	switch st.Stage {
	case StageDecode:
		st.GenerationRequests, st.GenerationTokens = st.Batch, int64(st.Batch)
		st.ContextRequests, st.ContextTokens = 0, 0
		if st.Tokens < 0 && st.Batch >= 0 {
			st.Tokens = int64(st.Batch)
		}
	case StagePrefill:
		st.ContextRequests, st.ContextTokens = st.Batch, st.Tokens
		st.GenerationRequests, st.GenerationTokens = 0, 0
	}
	return st, true
}

// TensorRT-LLM: [Executor] _forward_step 12: 3 ctx reqs, 5 gen reqs.
var trtllmStep = regexp.MustCompile(`_forward_step (\d+)(?:: *(\d+) ctx reqs, *(\d+) gen reqs)?`)

func readTRTLLM(name string) (Step, bool) {
	m := trtllmStep.FindStringSubmatch(name)
	if m == nil {
		return Step{}, false
	}
	st := unknownStep("trtllm", name)
	st.Index = toInt64(m[1])
	if m[2] != "" {
		st.ContextRequests, st.GenerationRequests = toInt(m[2]), toInt(m[3])
		st.finish()
	}
	return st, true
}

// SGLang marks what it records while capturing graphs: capture_32_DECODE.
var captureStep = regexp.MustCompile(`^capture_(\d+)_(\w+)$`)

func readCapture(name string) (Step, bool) {
	m := captureStep.FindStringSubmatch(name)
	if m == nil {
		return Step{}, false
	}
	st := unknownStep("capture", name)
	st.Stage, st.Batch = StageCapture, toInt(m[1])
	return st, true
}

func readProfilerStep(name string) (Step, bool) {
	num, ok := strings.CutPrefix(name, "ProfilerStep#")
	if !ok {
		return Step{}, false
	}
	st := unknownStep("profiler", name)
	if n, err := strconv.ParseInt(num, 10, 64); err == nil {
		st.Index = n
	}
	st.weak = true
	return st, true
}

func readPattern(name string, p StepPattern) (Step, bool) {
	if p.Match == nil {
		return Step{}, false
	}
	m := p.Match.FindStringSubmatch(name)
	if m == nil {
		return Step{}, false
	}
	st := unknownStep(p.Name, name)
	for i, g := range p.Match.SubexpNames() {
		if g == "" || m[i] == "" {
			continue
		}
		switch g {
		case "stage":
			st.Stage = stageNamed(m[i])
		case "batch":
			st.Batch = toInt(m[i])
		case "tokens":
			st.Tokens = toInt64(m[i])
		case "index":
			st.Index = toInt64(m[i])
		case "context_requests":
			st.ContextRequests = toInt(m[i])
		case "context_tokens":
			st.ContextTokens = toInt64(m[i])
		case "generation_requests":
			st.GenerationRequests = toInt(m[i])
		case "generation_tokens":
			st.GenerationTokens = toInt64(m[i])
		}
	}
	st.finish()
	return st, true
}

func stageNamed(s string) Stage {
	switch l := strings.ToLower(s); {
	case strings.Contains(l, "verify"):
		return StageVerify
	case strings.Contains(l, "draft"):
		return StageDraft
	case strings.Contains(l, "mixed"):
		return StageMixed
	case strings.Contains(l, "decode"), strings.Contains(l, "generation"), l == "gen":
		return StageDecode
	case strings.Contains(l, "prefill"), strings.Contains(l, "extend"), strings.Contains(l, "context"), l == "ctx":
		return StagePrefill
	case strings.Contains(l, "idle"):
		return StageIdle
	}
	return StageUnknown
}

// finish derives stage, batch and tokens from request counts where the annotation did not give them. A step with both
// context and generation requests is mixed.
func (st *Step) finish() {
	c, g := st.ContextRequests, st.GenerationRequests
	if st.Stage == StageUnknown && (c >= 0 || g >= 0) {
		switch {
		case c > 0 && g > 0:
			st.Stage = StageMixed
		case c > 0:
			st.Stage = StagePrefill
		case g > 0:
			st.Stage = StageDecode
		case c == 0 && g == 0:
			st.Stage = StageIdle
		}
	}
	if st.Batch < 0 && (c >= 0 || g >= 0) {
		st.Batch = max(c, 0) + max(g, 0)
	}
	if st.Tokens < 0 && (st.ContextTokens >= 0 || st.GenerationTokens >= 0) {
		st.Tokens = max(st.ContextTokens, 0) + max(st.GenerationTokens, 0)
	}
}

func toInt(s string) int { return int(toInt64(s)) }

// toInt64 reads a decimal count, −1 when it does not fit.
func toInt64(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		return -1
	}
	return n
}
