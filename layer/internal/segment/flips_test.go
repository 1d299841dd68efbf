package segment

// A flip is a case on either side of a number: a sequence of the corpus about which something else is decided with less of it,
// and one with more.
type flip struct {
	lessName string
	less     float64
	moreName string
	more     float64
}

var flips = map[string]flip{
	"HeadLeast":          {"", 0, "GLM-4.5-Air, vLLM, TP 4|decode|lossy", 12},
	"MaxStride":          {"BERT-base, transformers|decode|front", 3, "Command R, vLLM|prefill|tuned", 5},
	"MaxSurplus":         {"Llama-3.1-70B, vLLM, TP 8, eager|prefill|whole", 2, "Command R, vLLM|prefill|tuned", 4},
	"StrideCost":         {"BERT-base, transformers|decode|noisy", 0.0167, "Kimi-Linear-48B-A3B, vLLM|prefill|noisy", 0.024},
	"SurplusCost":        {"GLM-4.5-Air, vLLM, TP 4|prefill|tuned", 0.0095, "DeepSeek-R1 FP4, TensorRT-LLM, TP 8|decode|worn", 0.0105},
	"BaseCost":           {"BERT-base, transformers|decode|noisy", 0.001, "Nemotron-Nano-12B-v2, vLLM|decode|lossy", 0.015},
	"SpanCost":           {"GLM-4.5-Air, vLLM, TP 4|prefill|tuned", 0.238, "BERT-base, transformers|decode|noisy", 0.275},
	"MaxCombs":           {"Qwen3-32B, SGLang|decode|noisy", 3, "Gemma-3-27B, vLLM|prefill|noisy", 5},
	"FewLayers":          {"Llama-3.1-70B, vLLM, TP 4, compiled|decode|twice", 1, "Jamba-1.5-Mini, vLLM|decode|whole", 4},
	"FewSimilarity":      {"", 0, "Jamba-1.5-Mini, vLLM|decode|short", 0.798},
	"FewTried":           {"", 0, "BERT-base, transformers|decode|worn", 12},
	"GuessSimilarity":    {"DeepSeek-R1 FP4, TensorRT-LLM, TP 8|decode|worn", 0.31818, "Jamba-1.5-Mini, vLLM|prefill|lossy", 0.3675},
	"GuessSupport":       {"", 0, "Jamba-1.5-Mini, vLLM|decode|whole", 0.2625},
	"MarkGroups":         {"Mixtral-8x7B, transformers, eager|prefill|tower", 4, "", 0},
	"MarkUneven":         {"Nemotron-Nano-12B-v2, vLLM|prefill|tuned", 0.37594, "Kimi-Linear-48B-A3B, vLLM|decode|worn", 0.6},
	"MinCovered":         {"", 0, "GLM-4.5-Air, vLLM, TP 4|prefill|tuned", 0.6},
	"MinSupport":         {"GLM-4.5-Air, vLLM, TP 4|prefill|worn", 0.2381, "Nemotron-Nano-12B-v2, vLLM|decode|lossy", 0.2625},
	"NamelessLess":       {"", 0, "Llama-3.1-8B FP8, vLLM|prefill|hidden", 0.8},
	"NamelessSimilarity": {"Llama-4-Maverick, vLLM, TP 8|decode|hidden", 0.58333, "Llama-3.1-8B FP8, vLLM|prefill|hidden", 0.735},
	"NamelessSupport":    {"Llama-4-Maverick, vLLM, TP 8|decode|hidden", 0.53333, "", 0},
	"PassLayers":         {"Mixtral-8x7B, transformers, eager|prefill|lossy", 15, "DeepSeek-V3, SGLang, TP 8|prefill|hidden", 20},
	"StrongSimilarity":   {"", 0, "ERNIE-like: dense and expert layers in turns, vLLM|decode|noisy", 0.84},
	"StrongSupport":      {"Phi-4, SGLang, MI300X|prefill|lossy", 0.57143, "Mixtral-8x7B, vLLM, TP 2|decode|tower", 0.63},
	"Surplus":            {"Mixtral-8x7B, transformers, eager|decode|short", 0.42857, "DeepSeek-V2-Lite, SGLang|decode|few", 0.4725},
	"VoteCovers":         {"Qwen3-32B, SGLang|prefill|few", 0.72727, "BERT-base, transformers|decode|front", 0.84},
	"VoteSimilarity":     {"Llama-4-Maverick, vLLM, TP 8|decode|hidden", 0.90476, "Llama-3.3-70B, SGLang, TP 8, all-reduce fused with norms|prefill|twice", 0.9975},
	"VoteSupport":        {"DeepSeek-R1 FP4, TensorRT-LLM, TP 8|prefill|noisy", 0.57143, "Llama-3.2-1B, transformers, eager|prefill|noisy", 0.66},
	"VoteUneven":         {"Qwen3-32B, SGLang|decode|noisy", 0.037594, "", 0},
}
