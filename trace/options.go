package trace

// Option changes how a trace is read.
type Option interface{ apply(*config) }

type optionFunc func(*config)

func (f optionFunc) apply(c *config) { f(c) }

type config struct {
	strict bool
	lanes  [laneCount]bool
	args   [kindCount]bool
	limits Limits
}

func newConfig(opts []Option) config {
	c := config{limits: DefaultLimits()}
	for l := range c.lanes {
		c.lanes[l] = true
	}
	for _, o := range opts {
		o.apply(&c)
	}
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

// Limits bounds what an input may make the reader do. A zero field means its
// default.
type Limits struct {
	InputBytes int64 // decompressed bytes; default 1 TiB
	EventBytes int   // one event; default 64 MiB
	Events     int64 // stored events; default 2^31 − 1
	Ratio      int64 // decompressed to compressed bytes, once past 64 MiB; default 1000
}

// DefaultLimits returns the limits that apply when none are given.
func DefaultLimits() Limits {
	return Limits{InputBytes: 1 << 40, EventBytes: 64 << 20, Events: 1<<31 - 1, Ratio: 1000}
}

// WithLimits replaces the limits.
func WithLimits(l Limits) Option { return optionFunc(func(c *config) { c.limits = l }) }
