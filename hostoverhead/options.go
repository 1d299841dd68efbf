package hostoverhead

import (
	"slices"
	"time"

	"github.com/llmstrata/strata/layer"
)

// Option changes a comparison.
type Option interface{ apply(*config) }

type optionFunc func(*config)

func (f optionFunc) apply(c *config) { f(c) }

type config struct {
	steps          []layer.StepPattern
	tp             int // divisor of times summed over ranks; 0: number of devices with work
	sizeA, sizeB   int // tensor-parallel sizes to report; 0: not told
	change         float64
	labelA, labelB string
}

func newConfig(opts []Option) config {
	c := config{
		change: 0.03,
		labelA: "baseline", labelB: "target",
	}
	for _, o := range opts {
		o.apply(&c)
	}
	return c
}

// WithStepPatterns adds ways to tell that a range is a step's and names no host
// work, asked before the built-in ones (see [layer.ParseStep]); which steps there
// are the analysis says.
func WithStepPatterns(patterns ...layer.StepPattern) Option {
	return optionFunc(func(c *config) { c.steps = append(slices.Clone(c.steps), patterns...) })
}

// WithTPSize sets the tensor-parallel size by which times summed over ranks
// are divided, where it is another than the number of devices with work.
func WithTPSize(n int) Option { return optionFunc(func(c *config) { c.tp = n }) }

// WithKnownTP tells the tensor-parallel sizes of the two runs of a
// comparison, of which one run alone takes the first. They may be larger than the
// number of ranks in a trace, by which times are divided; 0 is not known.
// Default: what [WithTPSize] says, else the number of devices with work, and
// unknown for one device.
func WithKnownTP(baseline, target int) Option {
	return optionFunc(func(c *config) { c.sizeA, c.sizeB = baseline, target })
}

// WithLabels names the two runs of a comparison. Default "baseline" and
// "target".
func WithLabels(baseline, target string) Option {
	return optionFunc(func(c *config) { c.labelA, c.labelB = baseline, target })
}

// WithMinChange sets the share of the baseline's wall time per step below which
// a difference is not called a regression even if it is significant. Default
// 0.03.
func WithMinChange(share float64) Option { return optionFunc(func(c *config) { c.change = share }) }

// Constants of the root-cause analysis, all from hostoverhead.md §3.
const (
	iterationGap = time.Millisecond       // between all-reduces: a new iteration
	phaseGap     = 100 * time.Millisecond // between iterations: a new phase
	minPhase     = 5                      // iterations of a benchmark phase, and steady steps
)
