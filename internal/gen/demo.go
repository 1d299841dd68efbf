package gen

// Demo describes the trace that the example programs show when none is given:
// a small mixture-of-experts model on two H100 (rank 0 is recorded), a prefill
// and three decode steps with Python stacks, and the same decode step as a
// replay of a CUDA graph. The first layer is dense, the shared experts run on a
// stream of their own, and all-reduce follows every half of a layer.
func Demo() Config {
	decode := Pass{Decodes: 8, Context: 640}
	graph := decode
	graph.Mode = FullGraph
	return Config{
		Seed: 1,
		Arch: Arch{
			Family: "Qwen2Moe", Layers: LeadingDense(8, 1), Hidden: 2048, Vocab: 64000, Experts: 60,
			SharedExperts: true,
		},
		Passes:   []Pass{{Prefills: 1, Tokens: 640}, decode, decode, decode, graph},
		Dialect:  SGLang,
		Stacks:   true,
		Modules:  true,
		GraphIDs: true,
		TP:       2,
		OneBlock: true,
	}
}
