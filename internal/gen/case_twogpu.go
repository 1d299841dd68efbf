package gen

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
			return join([]step{opens, qkv, ropeStep, cacheFill, attention, outProj}, ffn(addNorm, gateUp, siluMul, down))
		},
		tail: []step{addNorm, lmHead, argMax},
	}
}
