package idle

import (
	"cmp"
	"slices"
	"time"

	"github.com/llmstrata/strata/internal/gen/nsysgen"
)

// allReduce is the kernel of an exchange between GPUs.
const allReduce = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(args)"

// Exposed is a run in each of whose steps an all-reduce of that length runs alone.
func Exposed(length time.Duration) Case {
	return both("exposed all-reduce of "+length.String(), "", false, func(s *sim) {
		s.run(allReduce, s.call("cudaLaunchKernel", callTime), length.Nanoseconds(), 0, 0)
	})
}

// Slower is a run whose attention takes that many times as long; with 1 it is the run to compare with. The host is
// far ahead all the time.
func Slower(factor float64) Case {
	return Case{Name: "attention takes longer", Nsys: true, Torch: true, whole: func(s *sim) {
		start := s.host
		for range 2 * half {
			name, length := s.kernel(), int64(kernelTime)
			if name == attention {
				length = int64(factor * kernelTime)
			}
			s.run(name, s.call("cudaLaunchKernel", callTime), length, 0, 0)
		}
		s.add(nsysgen.RowRange, stepName, start, s.host)
	}}
}

// served are the kernels of a layer as a server runs them that fuses what can be fused and compiles the rest.
var served = []string{"triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_0", "nvjet_tst_128x64_64x5_2x1_v_bz_TNT",
	attention, "nvjet_tst_64x64_64x8_2x1_v_bz_TNT", "nvjet_tst_192x64_64x5_v_bz_TNT"}

// Served returns the case with the kernels of a server in which nothing is left to fuse: the planted thing is all
// that there is to find.
func (c Case) Served() Case {
	c.names = served
	return c
}

// Graphs is a run that replays a graph a step and in which nothing is wrong.
func Graphs() Case {
	return Case{Name: "graphs, one after the other", Nsys: true, Torch: true, whole: func(s *sim) {
		start := s.host
		s.replay(callTime, 0)
		s.add(nsysgen.RowRange, stepName, start, s.host)
	}}
}

// Late are two ranks; the host of the second is late by that much in each step, so that the first one waits in
// its all-reduce.
func Late(by time.Duration) [2]Case {
	const exchange = 20_000
	wait := both("waits for the other rank", "", false, func(s *sim) {
		s.run(allReduce, s.call("cudaLaunchKernel", callTime), exchange+by.Nanoseconds(), 0, 0)
	})
	late := both("is late", "host-code", true, func(s *sim) {
		s.host = s.gpu + by.Nanoseconds() - callTime - latency
		s.run(allReduce, s.call("cudaLaunchKernel", callTime), exchange, 0, 0)
	})
	return [2]Case{wait, late}
}

// attention is the kernel that [Slower] makes slower; a step has a fifth of its kernels of it.
const attention = "flash_attention_kernel"

// PerStep is how much longer a step is in [Slower] than with a factor of 1.
func PerStep(factor float64) time.Duration {
	const perLayer = 5
	return time.Duration((factor - 1) * kernelTime * 2 * half / perLayer)
}

// Idle is the mean time of a step in which no kernel runs, by the rows of the run themselves: what an analysis has to
// find.
func (c *Case) Idle() time.Duration {
	var list [][2]int64
	for _, r := range c.play(true) {
		if r.Kind == nsysgen.RowKernel {
			list = append(list, [2]int64{r.Start, r.End})
		}
	}
	slices.SortFunc(list, func(a, b [2]int64) int { return cmp.Compare(a[0], b[0]) })
	var idle int64
	for i := 1; i < len(list); i++ {
		idle += max(0, list[i][0]-list[i-1][1]) // one stream: kernels follow each other
	}
	return time.Duration(idle / steps)
}
