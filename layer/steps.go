package layer

import (
	"github.com/llmstrata/strata/internal/framework"
	"github.com/llmstrata/strata/layer/internal/ladder"
)

// Step is what a step annotation says about its pass. Counts are −1 when it does not say.
type Step struct {
	// Dialect names who wrote the annotation: "vllm", "sglang", "trtllm", "profiler", "capture".
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

// ParseStep reads a step annotation of the frameworks that are known (vLLM, SGLang, TensorRT-LLM, torch.profiler). The
// second result is false if name is not one.
func ParseStep(name string) (Step, bool) {
	st, ok := readStep(name)
	return stepOf(&st), ok
}

// IsStep reports whether a name is a step's annotation. Names of graph captures are none.
func (a *Analysis) IsStep(name string) bool {
	s, found := readStep(name)
	return found && Stage(s.Stage) != StageCapture
}

// frameworks are those that are known. Nobody changes it.
var frameworks = framework.All()

func readStep(name string) (ladder.Step, bool) {
	_, st, ok := framework.ReadStep(frameworks, name)
	return ladder.Step{Step: st, Name: name}, ok
}
