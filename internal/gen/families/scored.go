package families

import (
	"slices"
	"strings"
)

// Scored are scripts, written down from the source of transformers, diffusers, timm and vLLM, that are only scored: no
// number is read from them, and of rules two, whose faults PixArt and Stable Diffusion 3 showed.
func Scored() []Script {
	const norm = "cast pow mean adds rsqrt mul adds mul cast" // a weight around zero
	const block = "ln g.q g.k g.v flash copy g.o add ln g.fc1 gelu g.fc2 add"
	plain := func(layer string) func(*stage, int, bool) string {
		return func(*stage, int, bool) string { return layer }
	}
	return append(denoisers(), []Script{
		encoder("ModernBERT-base, transformers", "emb ln arange", 22, func(i int) string {
			return join(either(i > 0, "ln", ""), "g.qkv g.freq cat cos sin rot rot g.qk muls add sm cast g.pv copy g.o add",
				"ln g.wi gelu mul g.wo add")
		}, "ln g.dense gelu ln g.dec waits:dtoh"),
		decoder("RecurrentGemma-2B, transformers", "emb arange muls", 26, func(_ *stage, i int, prefill bool) string {
			mix := join("g.y gelu g.x", either(prefill, "fill convd", "cat mul sum add"),
				"cmp g.gate sigmoid g.gate sigmoid muls softplus mul exp muls exp mul sub sqrt clamp neg mul add mul cast mul",
				"neg mul", either(prefill, "fill fill "+repeated(6, "cast mul cast add cast copy"), "cast mul cast add cast"),
				"mul g.out")
			if i%3 == 2 {
				mix = join("g.q g.k g.v g.freq cat cos sin cast cast rot rot cat cat fill scan clamp cmp cast add sub idx idx",
					"put put copy copy copy flash copy g.o")
			}
			return join(norm, mix, "add", norm, "g.gate2 gelu g.up mul g.down add")
		}, join(norm, "g.lm div tanh muls step")),
		decoder("DBRX, transformers", "emb arange", 16, func(s *stage, _ int, prefill bool) string {
			out := "ln g.qkv clamp g.freq cat cos sin rot rot cat cat flash copy g.o add ln g.router sm topk abs sum div " +
				"fill fill scat"
			for range 16 {
				out = join(out, "nz", either(s.Intn(3) == 0 || prefill, "idx g.w1 g.v1 silu mul g.w2 idx mul iadd", ""))
			}
			return join(out, "add")
		}, "ln g.lm step"),
		decoder("MiniMax-Text-01, transformers", "emb arange g.freq cat cos sin", 24,
			func(s *stage, i int, prefill bool) string {
				core := "neg exp g.kv mul add g.qs"
				if prefill {
					core = join("fill", repeated(3, "neg muls exp g.qk mul g.pv mul g.qs add mul g.kv mul add"))
				}
				mix := join("g.qkv silu", core, "cat copy rms g.gate sigmoid mul g.out")
				if i%8 == 7 {
					mix = "g.q g.k g.v rot rot cat cat flash g.o"
				}
				return join("rms", mix, "muls muls add rms", s.experts(prefill), "muls muls add")
			}, "rms g.lm step"),
		decoder("Bamba-9B, transformers", "emb arange g.freq cat cos sin", 32,
			func(_ *stage, i int, prefill bool) string {
				mix := mambaSteps(prefill)
				if i%9 == 0 && i > 0 {
					mix = "g.q g.k g.v rot rot cat cat cat cat flash g.o"
				}
				return join("rms", mix, "add rms", gatedFeed, "add")
			}, "rms g.lm cast step"),
		encoder("DiT-XL/2, diffusers", "cat cat conv copy add", 28, func(int) string {
			return join("arange muls div exp mul sin cos cat cat cast g.t1 silu g.t2 emb add silu g.ada ln adds mul add",
				"g.q g.k g.v flash copy g.o mul add ln adds mul add g.fc1 gelu g.fc2 mul add")
		}, "arange muls div exp mul sin cos cat cat cast g.t1 silu g.t2 emb add silu g.ada2 ln adds mul add g.pr copy "+
			"copy copy cat muls sub add"),
		encoder("PixArt-alpha, diffusers", "cat conv copy add arange muls div exp mul sin cos cat cast g.t1 silu g.t2 silu "+
			"g.ada g.c1 gelu g.c2", 28, func(int) string {
			return join("add ln adds mul add g.q g.k g.v flash copy g.o mul add g.q g.ek g.ev flash copy g.o add",
				"ln adds mul add g.fc1 gelu g.fc2 mul add")
		}, "add ln adds mul add g.pr copy copy sub muls add muls sub div add"),
		encoder("EVA02-large, timm", "conv copy cat add", 24, func(int) string {
			return join("ln g.q g.k g.v", repeated(2, "mul neg copy mul add cat cast"), "flash copy ln g.o add",
				"ln g.w1 silu g.w2 mul ln g.w3 add")
		}, "mean ln g.head waits:dtoh"),
		decoder("Phi-4-mini-flash, vLLM, eager", "emb", 32, func(_ *stage, i int, _ bool) string {
			mix := "g.in conv1 g.x g.dt scan copy g.out"
			switch {
			case i >= 18 && i%2 == 0:
				mix = "g.gmu silu mul g.out"
			case i >= 18:
				mix = "g.q copy copy flash flash flash flash cat cat mul sum exp sub mul cast pow mean adds rsqrt mul mul muls g.o"
			case i%2 == 1:
				mix = "g.qkv copy copy put flash flash flash flash cat cat mul sum exp sub mul cast pow mean adds rsqrt mul mul " +
					"muls g.o"
			}
			return join("ln", mix, either(i%2 == 0, "cast", ""), "add ln g.gu silu mul g.down add")
		}, "ln g.lm step"),
		decoder("GPT-NeoX, transformers", "emb arange g.freq cat cos sin", 24,
			plain("ln g.qkv copy rot rot cat cat cat cat flash copy g.o ln g.fc1 gelu g.fc2 add add"), "ln g.lm step"),
		{"BART-large, transformers", []int{12, 12}, func(s *stage) {
			own, feed := "g.q muls g.k g.v flash copy g.o add ln", "g.fc1 gelu g.fc2 add ln"
			for range 2 {
				s.pass(1, false, 2, "emb muls arange adds emb add ln", 12, func(int) string { return join(own, feed) }, "")
				for k := range 6 {
					s.pass(0, k == 0, 1, "emb muls arange add adds emb add ln", 12, func(int) string {
						return join("g.q muls g.k g.v cat cat flash copy g.o add ln", "g.q muls",
							either(k == 0, "g.ek g.ev", ""), "flash copy g.o add ln", feed)
					}, "g.lm add step")
				}
			}
		}},
		decoder("DeepSeek-V2-Lite, transformers", "emb arange g.freq cat cos sin", 27,
			func(s *stage, i int, prefill bool) string {
				return join("rms g.q2 g.kva rms g.kvb rot rot copy copy copy cat cat flash copy g.o add rms",
					either(i == 0, gatedFeed, join(s.experts(prefill), gatedFeed, "add")), "add")
			}, "rms g.lm step"),
		encoder("Stable Diffusion 3 medium, diffusers", "cat conv copy add arange muls div exp mul sin cos cat cast g.t1 "+
			"silu g.t2 g.p1 silu g.p2 add g.ctx", 24, func(i int) string {
			two := func(a string) string { return join("silu", a, "ln adds mul add") }
			context := "mul add ln adds mul add g.cf1 gelu g.cf2 mul add"
			return join(two("g.ada"), two(either(i < 23, "g.adc", "g.ad2")), "g.q g.k g.v g.cq g.ck g.cv cat cat cat flash copy",
				"g.o", either(i < 23, "g.co", ""), "mul add ln adds mul add g.fc1 gelu g.fc2 mul add", either(i < 23, context, ""))
		}, "silu g.ad2 ln adds mul add g.pr copy copy sub muls add muls sub add"),
		{"CLIP-ViT-L, transformers", []int{12, 24}, func(s *stage) {
			quick := "ln g.q g.k g.v flash copy g.o add ln g.fc1 muls sigmoid mul g.fc2 add"
			for range 4 {
				s.pass(0, false, 1, "emb arange emb add", 12, func(int) string { return quick }, "ln argmax idx g.tp")
				s.pass(1, true, 2, "conv copy cat arange emb add ln", 24, func(int) string { return quick },
					"ln g.vp pow sum sqrt div pow sum sqrt div g.sim exp mul waits:dtoh")
			}
		}},
		encoder("HuBERT-large, transformers", join(repeated(7, "conv1 copy ln copy gelu"),
			"copy ln g.fp copy conv1 gelu add"), 24, func(int) string {
			return strings.Replace(block, "g.q", "g.q muls", 1)
		}, "ln g.lm waits:dtoh"),
		decoder("OLMoE-7B, transformers", "emb arange g.freq cat cos sin", 16, func(s *stage, _ int, prefill bool) string {
			return join("rms g.q rms g.k rms g.v rot rot cat cat flash copy g.o add rms", s.experts(prefill), "add")
		}, "rms g.lm step"),
		decoder("Mamba-130m, transformers", "emb", 24, func(_ *stage, _ int, prefill bool) string {
			tokens := 1
			if prefill {
				tokens = 6
			}
			return join("rms g.in", either(prefill, "fill copy convd copy silu", "copy copy mul sum add silu"),
				"copy g.x g.dt softplus copy exp neg mul exp cast mul mul cast", repeated(tokens, "mul add cast g.ro copy"),
				either(prefill, "cat", ""), "mul add silu mul copy g.out add")
		}, "rms g.lm cast step"),
		decoder("Falcon-7B, transformers", "emb arange g.freq cat cos sin", 32,
			plain("ln g.qkv rot rot cat cat flash copy g.o g.fc1 gelu g.fc2 add add"), "ln g.lm step"),
		encoder("Sana-1.6B, diffusers", "conv copy arange muls div exp mul sin cos cat cast g.t1 silu g.t2 silu g.ada g.c1 "+
			"gelu g.c2 rms", 20, func(int) string {
			return join("add ln adds mul add cast g.q g.k g.v relu relu copy cast cast cast fill copy g.kv g.qs adds div cast",
				"copy g.o mul add g.q g.ek g.ev flash copy g.o add ln adds mul add copy conv silu convd silu mul conv copy mul add")
		}, "add ln adds mul add g.pr copy copy sub muls add muls sub add"),
		encoder("ESM-2 650M, transformers", "emb mfill cmp sum div mul div mul", 33, func(int) string {
			return "ln g.q g.k g.v muls rot rot g.qk add sm g.pv copy g.o add ln g.fc1 div tanh adds mul muls g.fc2 add"
		}, "ln g.dense gelu ln g.dec add waits:dtoh"),
		decoder("BitNet b1.58, transformers", "emb arange g.freq cat cos sin", 30, func(*stage, int, bool) string {
			const most = "abs max clamp recip muls"
			return join("rms", quantised("g.q g.k g.v", most), "rot rot cat cat flash copy rms", quantised("g.o", most),
				"add rms", quantised("g.gate", most), "relu pow", quantised("g.up", most), "mul rms",
				quantised("g.down", most), "add")
		}, "rms g.lm step"),
		decoder("StableLM-2, transformers", "emb arange g.freq cat cos sin", 24,
			plain(join("ln g.q g.k g.v rot rot cat cat cat cat flash copy g.o add ln", gatedFeed, "add")), "ln g.lm step"),
	}...)
}

// encoder lays four runs of a model of n layers that is done after one pass, or a denoising loop.
func encoder(name, before string, n int, layer func(i int) string, after string) Script {
	return Script{name, []int{n}, func(s *stage) {
		for range 4 {
			s.pass(0, false, 1, before, n, layer, after)
		}
	}}
}

// BoundaryLost is the group of cases whose records are lost around a place where a pass ends and the next one begins.
const BoundaryLost = "a boundary is lost"

// Harmed returns scripts as they are and with each damage that a record may have.
func Harmed(all []Script) (out []Case) {
	for _, s := range all {
		harm := func(group string, m mode, damage func(k *maker, c *Case)) {
			k := newMaker(int64(len(s.Name))*11+int64(m), m)
			s.run(&stage{k, s.Name})
			c := Case{Group: group, Name: s.Name, Kernels: k.out, Layers: slices.Clone(s.Layers)}
			damage(k, &c)
			out = append(out, c)
		}
		none := func(*maker, *Case) {}
		harm("as it is", eager, none)
		harm("GPU rows only", gpuOnly, none)
		harm("one pass", eager, func(_ *maker, c *Case) {
			last := c.Kernels[len(c.Kernels)-1]
			for i := range c.Layers {
				if i != last.Instance {
					c.Layers[i] = 0
				}
			}
			c.Kernels = slices.DeleteFunc(c.Kernels, func(x Kernel) bool { return x.Pass != last.Pass })
		})
		harm("3% lost", eager, func(k *maker, c *Case) { c.drop(k.Rand, .03) })
		harm("hole", gpuOnly, func(k *maker, c *Case) { c.lose(c.within(k.Rand, .3, .97), 10+k.Intn(51)) })
		harm(BoundaryLost, gpuOnly, func(k *maker, c *Case) {
			n := 10 + k.Intn(51)
			c.lose(max(0, c.between(k.Rand)-k.Intn(n)), n)
		})
		harm("names hidden", eager, func(_ *maker, c *Case) { c.hide() })
	}
	return out
}
