package gen

// Large describes a trace for measuring: a dense model, a prefill and seven
// decode steps over and over, with that many extra Python frames around each
// launch; 0 frames records no Python at all. 80 gives the share of Python
// frames of real serving traces. The caller sets Size.
func Large(layers, frames int, graph bool) Config {
	decode := Pass{Decodes: 32, Context: 1024}
	if graph {
		decode.Mode = FullGraph
	}
	passes := []Pass{{Prefills: 4, Tokens: 4096}}
	for range 7 {
		passes = append(passes, decode)
	}
	return Config{
		Arch:        Arch{Family: "Qwen3", Layers: Uniform(layers, Layer{}), Hidden: 4096, Vocab: 151936, QKNorm: true},
		Passes:      passes,
		Dialect:     SGLang,
		Stacks:      frames > 0,
		Modules:     frames > 0,
		ExtraFrames: frames,
		TP:          2,
	}
}
