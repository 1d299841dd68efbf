package families

// denoisers are diffusion transformers, written down from the source of diffusers: blocks of one stream, of two, and
// with attention to a prompt, whose scales and shifts are made in each block or once for all.
func denoisers() []Script {
	const (
		time      = "arange muls div exp mul sin cos cat cast g.t1 silu g.t2"
		modulate  = "ln adds mul add"
		precise   = "cast ln adds mul add cast" // of values that are cast to float32
		norms     = "rms rms"                   // of queries and keys
		own       = "silu g.ada " + modulate
		feed      = "g.fc1 gelu g.fc2"
		text      = "g.cf1 gelu g.cf2"
		out       = "silu g.ada2 " + modulate + " g.pr"
		scheduler = "sub muls add"
	)
	// Both streams attend together, each has a projection and a feed-forward part of its own.
	joint := func(rope string) string {
		return join("g.q g.k g.v", norms, "g.cq g.ck g.cv", norms, rope, "cat cat cat flash copy g.o g.co mul add mul add")
	}
	single := join("silu g.ads", modulate, "g.mlp gelu g.q g.k g.v", norms, "rot rot flash copy cat g.so mul add")
	fluxFeed := join(modulate, modulate, feed, text, "mul add mul add")
	return []Script{
		encoder("FLUX.1-dev, diffusers", join("g.x", time, time, "add g.t3 silu g.t4 add g.ctx cat mul cos sin cat cat"), 57,
			func(i int) string {
				if i >= 19 {
					return single
				}
				return join(own, "silu g.adc", modulate, joint("rot rot"), modulate, feed, "mul add", modulate, text, "mul add")
			}, join("copy", out, scheduler)),
		encoder("Qwen-Image, diffusers", join("g.x rms g.ctx", time, "cat cat"), 60, func(int) string {
			rope := repeated(4, "cast mul cast")
			return join("silu g.im silu g.tm", modulate, modulate, "g.q g.k g.v g.cq g.ck g.cv", norms, norms, rope,
				"cat cat cat flash copy g.o g.co mul add mul add", modulate, feed, "mul add", modulate, text, "mul add")
		}, join(out, scheduler)),
		encoder("Wan2.1-T2V-1.3B, diffusers", join("cat cat conv copy", time, "cast silu g.tp g.c1 gelu g.c2"), 30,
			func(int) string {
				return join("cast add", precise, "g.q g.k g.v", norms, repeated(2, "mul mul sub put mul mul add put cast"),
					"flash copy g.o mul add cast cast ln cast g.q", "g.ek g.ev", norms, "flash copy g.o add", precise, feed,
					"cast mul add cast")
			}, join("add", precise, "g.pr copy", scheduler)),
		encoder("HunyuanVideo, diffusers", join("conv copy", time, "g.t3 silu g.t4 add", repeated(2, join(
			"silu g.ra ln g.q g.k g.v flash copy g.o mul add ln", feed, "mul add")), "cat cos sin"), 60, func(i int) string {
			if i >= 20 {
				return join("cat", single)
			}
			return join(own, "silu g.adc", modulate, joint("rot rot"), fluxFeed)
		}, join(out, "copy", scheduler)),
		encoder("CogVideoX-5b, diffusers", join("g.ctx conv copy cat", time), 42, func(int) string {
			both := join(modulate, modulate)
			return join("silu g.ada", both, "cat g.q g.k g.v ln ln rot copy rot copy flash copy g.o mul add mul add silu g.ada3",
				both, "cat", feed, "mul add mul add")
		}, join("cat ln", out, "copy", scheduler)),
		encoder("LTX-Video, diffusers", join("pow mul mul sub mul cos sin cat cat g.x", time, "silu g.tp g.c1 gelu g.c2"), 28,
			func(int) string {
				const bare = "cast pow mean adds rsqrt mul cast" // without weights
				rope := repeated(2, "neg cat cast mul cast mul add cast")
				return join(bare, "add adds mul add g.q g.k g.v", norms, rope, "flash copy g.o mul add g.q g.ek g.ev", norms,
					"flash copy g.o add", bare, "adds mul add", feed, "mul add")
			}, join("add", modulate, "g.pr", scheduler)),
	}
}
