package nsys

import (
	"slices"

	"github.com/llmstrata/strata/trace"
)

// Option changes how an export is read.
type Option interface{ apply(*config) }

type optionFunc func(*config)

func (f optionFunc) apply(c *config) { f(c) }

type config struct {
	lanes  []trace.Lane // nil is all
	tool   string
	report func(trace.Progress) // nil is none
}

func (c *config) wants(l trace.Lane) bool { return c.lanes == nil || slices.Contains(c.lanes, l) }

// wantsRanges reports whether anything is asked for that NVTX ranges become.
func (c *config) wantsRanges() bool { return c.wants(trace.LaneAnnotation) || c.wants(trace.LaneOp) }

// WithLanes reads only the tables that fill the given lanes. Default: all.
func WithLanes(lanes ...trace.Lane) Option {
	return optionFunc(func(c *config) { c.lanes = append([]trace.Lane{}, lanes...) })
}

// WithProgress calls f from time to time while the tables are read, and when all
// of them are read. The bytes read are estimated from the rows. The calls come
// one after the other and the load waits for each. Default: none.
func WithProgress(f func(trace.Progress)) Option {
	return optionFunc(func(c *config) { c.report = f })
}

// WithTool names the nsys program that exports .nsys-rep reports. Default:
// "nsys", looked up on PATH.
func WithTool(path string) Option { return optionFunc(func(c *config) { c.tool = path }) }
