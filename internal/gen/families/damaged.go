package families

import "strings"

// Damaged returns runs of scripts of their own, launched operation by operation: of quantised products, a draft, and
// with three records in a hundred lost.
func Damaged() (out []Case) {
	for _, c := range []struct {
		script Script
		drop   float64
	}{{quantisedJamba(), 0}, {quantisedLlama(), .03}, {gemmaScript(), .03}, {draftedScript(), 0}} {
		k := newMaker(1, eager)
		c.script.run(&stage{k, c.script.Name})
		one := Case{Group: "damaged", Name: c.script.Name, Kernels: k.out, Layers: c.script.Layers}
		one.drop(k.Rand, c.drop)
		out = append(out, one)
	}
	return out
}

// quantised makes each product of a layer one of integers: rows are quantised before it, and scaled after it.
func quantised(layer, most string) string {
	list := strings.Fields(layer)
	for k, w := range list {
		if strings.HasPrefix(w, "g.") {
			list[k] = join(most, "div clamp div round clamp cast", w, "cast mul mul")
		}
	}
	return strings.Join(list, " ")
}

func quantisedJamba() Script {
	return decoder("Jamba, quantised, transformers, eager", "emb arange", 16, func(_ *stage, i int, prefill bool) string {
		mix := jambaMixer(i, prefill, "mul sum")
		return quantised(join("rms", mix, "add rms", gatedFeed, "add"), "max min neg maxi")
	}, "rms g.lm cast step")
}

func quantisedLlama() Script {
	return decoder("Llama 3 8B, quantised, transformers, eager", "emb arange g.freq cat cos sin", 32,
		func(*stage, int, bool) string {
			return quantised(join("rms g.q g.k g.v rot rot cat cat flash g.o add rms", gatedFeed, "add"), "abs max")
		}, "rms g.lm step")
}

// Norms before and after the halves of layers.
func gemmaScript() Script {
	const norm = "cast pow mean adds rsqrt mul adds mul cast"
	return decoder("Gemma 2 2B, transformers, eager", "emb arange g.freq cat cos sin muls", 26,
		func(*stage, int, bool) string {
			return join(norm, "g.q g.k g.v rot rot cat cat copy copy g.qk muls div tanh muls add sm cast g.pv copy g.o", norm,
				"add", norm, "g.gate gelu g.up mul g.down", norm, "add")
		}, join(norm, "g.lm div tanh muls step"))
}

// An encoder, and a decoder for which one of three layers drafts four tokens a step.
func draftedScript() Script {
	return Script{"T5-base, drafted, transformers, eager", []int{12, 12, 3}, func(s *stage) {
		const feed, begin, end = "t5n g.wi relu g.wo add", "emb fill arange cmp where", "t5n muls g.lm step"
		attend := func(first, keys string, cached bool) string {
			return join("t5n g.q", keys, either(cached, "cat cat", ""), "g.qk", first, "add sm g.pv copy g.o add")
		}
		decode := func(again bool) func(i int) string {
			return func(i int) string {
				return join(attend(either(i == 0, "ids add", ""), "g.k g.v", true),
					attend(either(i == 0, "fill add", ""), either(again, "", "g.k g.v"), false), feed)
			}
		}
		for range 2 {
			s.pass(1, false, 2, "cmp cast emb", 12, func(i int) string {
				return join(attend(either(i == 0, "ids add", ""), "g.k g.v", false), feed)
			}, "t5n")
			for k := range 5 {
				for range 4 {
					s.pass(2, false, .5, begin, 3, decode(true), end)
				}
				s.pass(0, false, 1, begin, 12, decode(k > 0), end)
			}
		}
	}}
}
