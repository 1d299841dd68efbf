package gen

// oneStepAhead is overlap scheduling: while the GPU runs a step the CPU launches
// the next one. Prefills keep the GPU busy, decode steps leave it idle between
// their kernels, and steps of both kinds take turns: who books GPU time on what
// the CPU does at that moment swaps them.
func oneStepAhead() Case {
	var passes []Pass
	for range 6 {
		passes = append(passes, Pass{Prefills: 2, Tokens: 2048}, Pass{Mode: FullGraph, Decodes: 32, Context: 2048})
	}
	// In a decode step the stream waits as long between two kernels as makes 40% of
	// idle time; prefills, eager and long, have none of it.
	waits := func(p Pass, list []step) []step {
		out := join(list)
		for i := range out {
			if p.Prefills == 0 {
				out[i].dur *= prefillFactor
				out[i].gap = out[i].dur * 2 / 3
			}
		}
		return out
	}
	return Case{
		Name: "cpu-one-step-ahead", About: "overlap scheduling: the GPU runs the step before the one that the CPU is in",
		Layers: 10, Passes: passes, Framework: "sglang", TP: 1, Dialect: SGLang, ahead: true,
		head: []step{embedding},
		layer: func(i int, p Pass) []step {
			opens := addNorm
			if i == 0 {
				opens = rmsNorm
			}
			return waits(p, join([]step{opens, qkv, ropeStep, decodeMHA, outProj}, ffn(addNorm, gateUp, siluMul, down)))
		},
		tail: []step{addNorm, lmHead, argMax},
	}
}

// twoGPUs is one process that serves with two GPUs, each running the whole model
// for requests of its own: one file, two devices.
func twoGPUs() Case {
	return Case{
		Name: "two-gpus-one-file", About: "two devices in one file, each with passes of its own",
		Layers: 8, Passes: decodes(4), Framework: "vllm", TP: 1, GPUs: 2, Dialect: VLLM,
		head: []step{embedding},
		layer: func(i int, _ Pass) []step {
			opens := addNorm
			if i == 0 {
				opens = rmsNorm
			}
			return join([]step{opens, qkv, ropeStep, cacheFill, attention, outProj},
				ffn(addNorm, gateUp, siluMul, down))
		},
		tail: []step{addNorm, lmHead, argMax},
	}
}
