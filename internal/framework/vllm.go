package framework

import (
	"regexp"
	"strings"
)

// VLLM is vLLM, its ROCm fork included.
func VLLM() Framework {
	return Framework{
		Name:       "vLLM",
		Keys:       []string{"vllm"},
		Roots:      []string{"vllm/"},
		Ops:        []string{"vllm::", "_C_cache_ops::"},
		Step:       readVLLM,
		RankLabels: []string{"rank"}, // dp0_pp0_tp0_dcp0_ep0_rank0.…: the last one counts all
		Launch: `launch vLLM with --profiler-config '{"profiler": "torch", "torch_profiler_dir": "<output-dir>"}' ` +
			`(before 0.13: VLLM_TORCH_PROFILER_DIR=<output-dir>); --output-dir must be that folder`,
	}
}

// vLLM's model runner writes execute_context_1(888_788544)_generation_0(0),
// execute_32_context_0(sq0sk0…)_generation_32(sq32sk32785…), and plain
// execute_new_0_cached_12 in the first V1 releases. Names may be cut anywhere
// after the first count.
var (
	vllmContext    = regexp.MustCompile(`^execute(?:_(\d+))?_context_(\d+)(?:\(([^)]*)(\)?))?`)
	vllmGeneration = regexp.MustCompile(`_generation_(\d+)(?:\(([^)]*)(\)?))?`)
	vllmNewCached  = regexp.MustCompile(`^execute_new_(\d+)_cached_(\d+)$`)
	leadingTokens  = regexp.MustCompile(`^(?:sq)?(\d+)`)
	vllmSums       = regexp.MustCompile(`^sq(\d+)sk(\d+)sqsq(\d+)sqsk(\d+)$`)
	vllmOldSums    = regexp.MustCompile(`^(\d+)_(\d+)$`) // sq and sqsk
)

func readVLLM(name string) (Step, bool) {
	if !strings.HasPrefix(name, "execute_") {
		return Step{}, false
	}
	st := NewStep("vllm")
	if m := vllmNewCached.FindStringSubmatch(name); m != nil {
		st.ContextRequests, st.GenerationRequests = count(m[1]), count(m[2])
		st.Complete()
		return st, true
	}
	m := vllmContext.FindStringSubmatch(name)
	if m == nil {
		return Step{}, false
	}
	st.ContextRequests = count(m[2])
	if t := leadingTokens.FindStringSubmatch(m[3]); t != nil {
		st.ContextTokens = Count(t[1])
	}
	st.Context = readSums(m[3], m[4])
	if g := vllmGeneration.FindStringSubmatch(name); g != nil {
		st.GenerationRequests = count(g[1])
		if t := leadingTokens.FindStringSubmatch(g[2]); t != nil {
			st.GenerationTokens = Count(t[1])
		}
		st.Generation = readSums(g[2], g[3])
	}
	st.Complete()
	// The first number is the padded batch the graph was captured for, in
	// tokens; the sum of the parts is what was asked.
	if st.Tokens < 0 && m[1] != "" {
		st.Tokens = Count(m[1])
	}
	return st, true
}

// readSums reads what is in the parentheses of one phase. A name that was cut
// off has no sums: the last digits may be missing.
func readSums(text, closed string) Sums {
	if closed == "" {
		return noSums
	}
	if m := vllmSums.FindStringSubmatch(text); m != nil {
		return Sums{SQ: Count(m[1]), SK: Count(m[2]), SQSQ: Count(m[3]), SQSK: Count(m[4])}
	}
	sums := noSums
	if m := vllmOldSums.FindStringSubmatch(text); m != nil {
		sums.SQ, sums.SQSK = Count(m[1]), Count(m[2])
	}
	return sums
}
