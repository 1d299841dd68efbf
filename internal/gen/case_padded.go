package gen

import "math/bits"

// Padded is a model on vLLM whose decode steps run graphs of 4, 8, 16 … requests and so more rows than were asked
// for: the norms and rotary embeddings of a graph run all of its rows, the cache is written for real ones. Between
// the decode steps two prefills are mixed in, which makes steps twice and five times as long. Nothing is left to
// chance.
func Padded() Case {
	decode := func(n int) Pass { return Pass{Mode: FullGraph, Decodes: n, Context: 500} }
	mixed := func(tokens int) Pass { return Pass{Prefills: 1, Tokens: tokens, Decodes: 116, Context: 500} }
	return Case{
		Name: "padded-graphs", About: "graphs of more rows than tokens, and steps that mix prefills in",
		Layers: 8, Framework: "vllm", TP: 1, Dialect: VLLM, exact: true,
		Passes: []Pass{decode(3), decode(3), decode(117), decode(117), mixed(512), decode(117), mixed(2048),
			decode(117), decode(100)},
		head:  []step{named(embedding, 4000, 400_000)},
		layer: paddedLayer,
		tail: []step{named(step{name: norm70B, category: "norm"}, 4000, 1000), named(lmHead, 46_000, 1000),
			named(argMax, 9000, 1000)},
	}
}

// paddedLayer is one layer of [Padded].
func paddedLayer(_ int, p Pass) []step {
	rows, factor := p.tokens(), int64(1)
	switch {
	case p.Mode == FullGraph:
		rows = max(4, 1<<bits.Len(uint(rows-1)))
	case p.Tokens > 1000:
		factor = 5
	default:
		factor = 2
	}
	by := func(k step, dur int64, grid int) step {
		k.dur, k.gap, k.grid = dur*factor, 1000, grid
		return k
	}
	product := func(k step, dur int64) step { return by(k, dur, 132) }
	norm := step{name: norm70B, category: "norm"}
	rope := step{name: "void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long const*, c10::BFloat16*, c10::BFloat16*, c10::BFloat16 const*, int, long, long, long, int, int, int)", category: "rope"}
	return join([]step{
		by(norm, 4000, rows), product(qkv, 20_000), by(rope, 4000, rows), by(cacheFill, 4000, p.tokens()),
		product(attention, 30_000), product(outProj, 16_000),
	}, ffn(
		by(norm, 4000, rows), product(gateUp, 60_000),
		by(step{name: "void vllm::act_and_mul_kernel<c10::BFloat16, &(c10::BFloat16 vllm::silu_kernel<c10::BFloat16>(c10::BFloat16 const&)), true>(c10::BFloat16*, c10::BFloat16 const*, int)", category: "activation"}, 4000, rows),
		product(down, 30_000),
	))
}
