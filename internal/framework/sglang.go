package framework

import (
	"regexp"
)

// SGLang is the server of the sgl-project.
func SGLang() Framework {
	return Framework{
		Name:        "SGLang",
		Keys:        []string{"sglang"},
		Aliases:     []string{"sgl"},
		Roots:       []string{"python/sglang/", "sglang/"}, // the first is how its repository has it
		KernelRoots: []string{"sgl_kernel/"},
		Ops:         []string{"sglang::", "sgl_kernel::"},
		Step:        readSGLang,
		RankLabels:  []string{"rank", "tp"}, // …-TP-0-DECODE.trace.json.gz
		Launch: "an SGLang server has /start_profile without any flag (python -m sglang.launch_server; " +
			"an --api-key or --admin-api-key must be sent as a header; not with SGLANG_PROFILE_V2 set, whose " +
			"plain start and whose stop are not implemented)",
	}
}

// SGLang's scheduler writes step[EXTEND bs=15 toks=15360], step[DECODE bs=32],
// or, in other releases, decode[bs=117/128 …]. What it records while it
// captures graphs is marked capture_32_DECODE.
var (
	sglangStep    = regexp.MustCompile(`^(?:step\[(\w+)|(extend|decode|prefill|mixed|idle|verify|target_verify|draft_extend)\[)([^\]]*)\]?`)
	sglangBatch   = regexp.MustCompile(`\bbs=(\d+)`)
	sglangTokens  = regexp.MustCompile(`\b(?:toks|tokens|num_tokens)=(\d+)`)
	sglangCapture = regexp.MustCompile(`^capture_(\d+)_(\w+)$`)
)

func readSGLang(name string) (Step, bool) {
	if m := sglangCapture.FindStringSubmatch(name); m != nil {
		st := NewStep("capture")
		st.Stage, st.Batch = Capture, count(m[1])
		return st, true
	}
	m := sglangStep.FindStringSubmatch(name)
	if m == nil {
		return Step{}, false
	}
	st := NewStep("sglang")
	if b := sglangBatch.FindStringSubmatch(m[3]); b != nil {
		st.Batch = count(b[1])
	}
	if b := sglangTokens.FindStringSubmatch(m[3]); b != nil {
		st.Tokens = Count(b[1])
	}
	st.Stage = StageNamed(m[1] + m[2])
	switch st.Stage {
	case Decode:
		st.GenerationRequests, st.GenerationTokens = st.Batch, int64(st.Batch)
		st.ContextRequests, st.ContextTokens = 0, 0
		if st.Tokens < 0 && st.Batch >= 0 {
			st.Tokens = int64(st.Batch)
		}
	case Prefill:
		st.ContextRequests, st.ContextTokens = st.Batch, st.Tokens
		st.GenerationRequests, st.GenerationTokens = 0, 0
	}
	return st, true
}
