package trace

import (
	"time"

	"github.com/llmstrata/strata/trace/internal/column"
)

const (
	// leastKernels is how many kernels must last something, and leastNames how many names they must have, for their
	// durations to show that a clock runs in another unit than the file says: a benchmark runs one long kernel a
	// thousand times, a model runs small ones beside large ones.
	leastKernels, leastNames = 100, 8
	// shortKernel: no kernel lasts less, in nanoseconds, as starting and draining one takes longer; the shortest in
	// the real traces at hand lasts
	// 896. One in shortShare may be damaged.
	shortKernel, shortShare = 100, 20
	// longCall: of kernels and of the calls that launch them at least one lasts less, in nanoseconds. The shortest
	// kernels of the real traces at hand last 1 to 4 microseconds, and the shortest calls 2 to 7.
	longCall = 500_000
	// Copies of largeCopy bytes and more do not move more than fastest bytes in a nanosecond, which is 20 TB/s: the
	// memory of no GPU does. Half of them must, and fewCopies at least.
	largeCopy, fastest, fewCopies = 1 << 16, 20_000, 8
)

// scale compares durations with what a GPU can do: a trace whose milliseconds were written as microseconds, or whose
// nanoseconds were, looks like any other. See [findSuspicions].
func scale(g, launches *column.Columns, launchOf []int32, kernel func(i int) bool,
	plain func(call int32) bool, add suspect) {
	kernels, short, large, fast := 0, 0, 0, 0
	least := int64(longCall)
	names := map[uint32]bool{}
	for i, d := range g.Dur {
		switch {
		case d <= 0:
		case kernel(i):
			kernels++
			if d < shortKernel {
				short++
			}
			if least = min(least, d); len(names) < leastNames {
				names[g.Name[i]] = true
			}
			if l := launchOf[i]; l >= 0 && plain(l) && launches.Dur[l] > 0 {
				least = min(least, launches.Dur[l])
			}
		case g.Bytes.At(i) >= largeCopy:
			if large++; g.Bytes.At(i)/d >= fastest {
				fast++
			}
		}
	}
	switch {
	case kernels >= leastKernels && short*shortShare > kernels:
		add(CodeTimeScale, short, "%d of %d kernels last less than %d ns, which no kernel does: times were written in "+
			"another unit than the file's, a thousand times too short", short, kernels, shortKernel)
	case kernels >= leastKernels && len(names) == leastNames && least == longCall:
		add(CodeTimeScale, kernels, "none of %d kernels, and no call that launches one, lasts less than %v: times were "+
			"written in another unit than the file's, a thousand times too long", kernels, time.Duration(longCall))
	case fast >= fewCopies && 2*fast > large:
		add(CodeTimeScale, fast, "%d of %d large copies move more than %d TB/s, which no memory does: times were written "+
			"in another unit than the file's, a thousand times too short", fast, large, fastest/1000)
	}
}
