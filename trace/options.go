package trace

import "runtime"

// Option changes how a trace is read.
type Option interface{ apply(*config) }

type optionFunc func(*config)

func (f optionFunc) apply(c *config) { f(c) }

type config struct {
	strict   bool
	lanes    [laneCount]bool
	kinds    [kindCount]bool
	args     [kindCount]bool
	window   bool
	from, to int64 // raw ns
	limits   Limits
	budget   int64 // bytes, 0 for none
	report   func(Progress)
	procs    int // goroutines that scan
	files    int // that OpenFiles has in flight
	workers  []*worker
}

// wants reports whether events of kind k are stored.
func (c *config) wants(k Kind) bool { return c.kinds[k] && c.lanes[laneOfKind[k]] }

func newConfig(opts []Option) config {
	c := config{limits: DefaultLimits()}
	for l := range c.lanes {
		c.lanes[l] = true
	}
	for k := range c.kinds {
		c.kinds[k] = true
	}
	for _, o := range opts {
		o.apply(&c)
	}
	c.limits = c.limits.withDefaults()
	if c.procs <= 0 {
		c.procs = runtime.GOMAXPROCS(0)
	}
	c.procs = min(c.procs, maxProcs)
	if c.files <= 0 {
		c.files = min(runtime.GOMAXPROCS(0), maxProcs)
	}
	c.workers = make([]*worker, c.procs+1)
	return c
}

// WithStrict turns everything that would be repaired, skipped or cut off into
// a [*SyntaxError]. Default: every whole event is kept and losses are counted.
func WithStrict() Option { return optionFunc(func(c *config) { c.strict = true }) }

// WithLanes stores only the given lanes; others are counted, not kept, and
// cost no memory. Default: all.
func WithLanes(lanes ...Lane) Option {
	return optionFunc(func(c *config) {
		c.lanes = [laneCount]bool{}
		for _, l := range lanes {
			if l < laneCount {
				c.lanes[l] = true
			}
		}
	})
}

// WithoutPython does not store Python and module frames, which are nine tenths
// of a trace recorded with stacks.
func WithoutPython() Option {
	return optionFunc(func(c *config) { c.lanes[LanePython] = false })
}

// WithKinds stores only events of the given kinds; others are counted, not
// kept, and cost no memory. It narrows [WithLanes] further. Default: all.
func WithKinds(kinds ...Kind) Option {
	return optionFunc(func(c *config) {
		c.kinds = [kindCount]bool{}
		for _, k := range kinds {
			if k < kindCount {
				c.kinds[k] = true
			}
		}
	})
}

// WithWindow stores only events that touch [from, to), in raw nanoseconds as in
// the file ([Trace.Raw] converts). The origin remains that of the whole file, so
// that times agree with those of an unnarrowed load. Default: everything.
func WithWindow(from, to int64) Option {
	return optionFunc(func(c *config) { c.window, c.from, c.to = true, from, to })
}

// WithConcurrency sets how many goroutines scan; one more reads and
// decompresses. The result does not depend on it. Default: GOMAXPROCS, at most 8.
func WithConcurrency(n int) Option { return optionFunc(func(c *config) { c.procs = n }) }

// maxProcs bounds the goroutines: decompression feeds two or three at most, and
// each holds buffers.
const maxProcs = 8

// WithArgs keeps the raw args objects of events of the given kinds for
// [Event.Args]. Default: none; the args that links need are always read.
func WithArgs(kinds ...Kind) Option {
	return optionFunc(func(c *config) {
		for _, k := range kinds {
			if k < kindCount {
				c.args[k] = true
			}
		}
	})
}
