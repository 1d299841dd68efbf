package layer

import (
	"github.com/llmstrata/strata/internal/framework"
	"github.com/llmstrata/strata/layer/internal/ladder"
)

// Step is what a step annotation says about its pass. Counts are −1 when it does not say.
type Step struct {
	// Dialect names who wrote the annotation: "vllm", "sglang", "trtllm", "profiler", "capture", or a user pattern's
	// name.
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
}

// stepOf is what reports say of an annotation.
func stepOf(st *ladder.Step) Step {
	return Step{Dialect: st.Dialect, Name: st.Name, Also: st.Also, Index: st.Index, Stage: Stage(st.Stage),
		Batch: st.Batch, Tokens: st.Tokens,
		ContextRequests: st.ContextRequests, ContextTokens: st.ContextTokens,
		GenerationRequests: st.GenerationRequests, GenerationTokens: st.GenerationTokens}
}

// ParseStep reads a step annotation: the user's patterns are asked first, then the frameworks that are known (vLLM,
// SGLang, TensorRT-LLM, torch.profiler). The second result is false if name is not one.
func ParseStep(name string, patterns ...StepPattern) (Step, bool) {
	st, ok := readStep(name, patterns)
	if !ok {
		return Step{}, false
	}
	return stepOf(&st), true
}

// IsStep reports whether a name is a step's annotation, by the patterns of the analysis, too. Names of graph captures
// are none.
func (a *Analysis) IsStep(name string) bool {
	s, found := readStep(name, a.opts.StepPatterns)
	return found && Stage(s.Stage) != StageCapture
}

// frameworks are those that are known. Nobody changes it.
var frameworks = framework.All()

// readStep reads an annotation by the user's patterns, then by what is known of frameworks.
func readStep(name string, patterns []StepPattern) (ladder.Step, bool) {
	for _, p := range patterns {
		if st, ok := readPattern(name, p); ok {
			return ladder.Step{Step: st, Name: name}, true
		}
	}
	_, st, ok := framework.ReadStep(frameworks, name)
	return ladder.Step{Step: st, Name: name}, ok
}

func readPattern(name string, p StepPattern) (framework.Step, bool) {
	if p.Match == nil {
		return framework.Step{}, false
	}
	m := p.Match.FindStringSubmatch(name)
	if m == nil {
		return framework.Step{}, false
	}
	st := framework.NewStep(p.Name)
	for i, g := range p.Match.SubexpNames() {
		if g == "" || m[i] == "" {
			continue
		}
		switch g {
		case "stage":
			st.Stage = framework.StageNamed(m[i])
		case "batch":
			st.Batch = int(framework.Count(m[i]))
		case "tokens":
			st.Tokens = framework.Count(m[i])
		case "index":
			st.Index = framework.Count(m[i])
		case "context_requests":
			st.ContextRequests = int(framework.Count(m[i]))
		case "context_tokens":
			st.ContextTokens = framework.Count(m[i])
		case "generation_requests":
			st.GenerationRequests = int(framework.Count(m[i]))
		case "generation_tokens":
			st.GenerationTokens = framework.Count(m[i])
		}
	}
	st.Complete()
	return st, true
}
