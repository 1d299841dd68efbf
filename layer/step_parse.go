package layer

// ParseStep reads a step annotation: the user's patterns are asked first, then
// the dialects that are built in (vLLM, SGLang, TensorRT-LLM, torch.profiler).
// The second result is false if name is not one.
func ParseStep(name string, patterns ...StepPattern) (Step, bool) { return readStep(name, patterns) }
