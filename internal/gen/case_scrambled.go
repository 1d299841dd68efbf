package gen

// ScrambledReplay is a decode by one graph whose records the profiler mixed up, as
// a real MI300X trace has it: within the launch some records of the second layer
// carry the times of kernels that run much later, and all between carry the times
// of kernels earlier. It is no member of [Cases], whose times can be
// trusted.
func ScrambledReplay() Case {
	return Case{
		Name: "scrambled-replay", About: "records of a graph launch carry the times of other kernels",
		Layers: 24, Passes: decodes(1), Framework: "sglang", TP: 1, Dialect: SGLang, scrambled: true,
		head: []step{embedding},
		layer: func(i int, _ Pass) []step {
			opens := addNorm
			if i == 0 {
				opens = rmsNorm
			}
			return join([]step{opens, qkv, ropeStep, decodeMHA, outProj}, ffn(addNorm, gateUp, siluMul, down))
		},
		tail: []step{addNorm, lmHead, argMax},
	}
}

// scramble gives kernels of the second layer of each launch the times of one kernel
// of every second layer after it.
func (b *block) scramble() {
	const front, period, moved = 12, 20, 8
	launches := map[uint64][]int{}
	var order []uint64
	for i, e := range b.gpu {
		if e.class == classKernel && e.node != 0 {
			if launches[e.correlation] == nil {
				order = append(order, e.correlation)
			}
			launches[e.correlation] = append(launches[e.correlation], i)
		}
	}
	type time struct{ ts, dur int64 }
	for _, c := range order {
		rows := launches[c]
		var late, rest []time
		for k, i := range rows {
			t := time{b.gpu[i].ts, b.gpu[i].dur}
			if k > front && k%period == 0 && len(late) < moved {
				late = append(late, t)
			} else {
				rest = append(rest, t)
			}
		}
		times := append(append(append([]time(nil), rest[:front]...), late...), rest[front:]...)
		for k, i := range rows {
			b.gpu[i].ts, b.gpu[i].dur = times[k].ts, times[k].dur
		}
	}
}
