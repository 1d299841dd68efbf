package framework

import (
	"regexp"
)

// TensorRTLLM is TensorRT-LLM with its PyTorch backend.
func TensorRTLLM() Framework {
	return Framework{
		Name:       "TensorRT-LLM",
		Keys:       []string{"trtllm", "tensorrt-llm", "tensorrt_llm", "trt-llm", "trt_llm", "tensorrtllm"},
		Aliases:    []string{"tllm", "trt", "tensorrt"},
		Roots:      []string{"tensorrt_llm/"},
		Ops:        []string{"trtllm::", "auto_deploy::"},
		Step:       readTensorRTLLM,
		RankLabels: []string{"rank"},
		Launch: "launch trtllm-serve with TLLM_PROFILE_START_STOP=<a>-<b> and " +
			"TLLM_TORCH_PROFILE_TRACE=<output-dir>/trace.json " +
			"(the folder shared with this machine; not .json.gz, which becomes trace.json-rank-0.gz), in a release that has " +
			"/start_profile",
	}
}

// Its executor writes [Executor] _forward_step 12: 3 ctx reqs, 5 gen reqs.
var trtllmStep = regexp.MustCompile(`_forward_step (\d+)(?:: *(\d+) ctx reqs, *(\d+) gen reqs)?`)

func readTensorRTLLM(name string) (Step, bool) {
	m := trtllmStep.FindStringSubmatch(name)
	if m == nil {
		return Step{}, false
	}
	st := NewStep("trtllm")
	st.Index = Count(m[1])
	if m[2] != "" {
		st.ContextRequests, st.GenerationRequests = count(m[2]), count(m[3])
		st.Complete()
	}
	return st, true
}
