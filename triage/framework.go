package triage

// Frameworks as reports name them.
const (
	FrameworkSGLang     = "SGLang"
	FrameworkVLLM       = "vLLM"
	FrameworkTRTLLM     = "TensorRT-LLM"
	FrameworkTokenSpeed = "TokenSpeed"
	FrameworkPyTorch    = "PyTorch" // no sign of a server
)

// frameworks lists the servers in report order with the words that name them
// in flags, paths and registries.
var frameworks = []struct {
	name string
	keys []string
}{
	{FrameworkSGLang, []string{"sglang", "sgl"}},
	{FrameworkVLLM, []string{"vllm"}},
	{FrameworkTRTLLM, []string{"trtllm", "tensorrt-llm", "tensorrt_llm", "trt-llm", "tensorrtllm"}},
	{FrameworkTokenSpeed, []string{"tokenspeed"}},
}
