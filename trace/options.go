package trace

import (
	"runtime"
	"slices"

	"github.com/llmstrata/strata/trace/event"
)

// Options say what of a trace is read, and how. The zero value reads everything
// of a torch.profiler trace.
type Options struct {
	// Formats are tried in this order. Nil: [Kineto] alone.
	Formats []Format
	// Lanes are stored; others are counted, not kept, and cost no memory: the
	// frames are nine tenths of a trace recorded with stacks. None: all.
	Lanes []event.Lane
	// Kinds of events are stored, of those in Lanes. None: all.
	Kinds []event.Kind
	// Args are the kinds whose raw args objects are kept for [Event.Data].
	// None: none; the args that links need are always read.
	Args []event.Kind
	// Limits bounds what a hostile input can cost.
	Limits Limits
	// MemoryBudget, in bytes, lets a load of JSON fail with [ErrLimit] before
	// it needs more than about that, instead of driving the process out of
	// memory. What is counted is the columns, the texts, and what sorting them
	// takes for a moment; the garbage collector may need up to as much again
	// (see debug.SetMemoryLimit), and the buffers some 20 MB. The error says
	// how much the whole trace would probably need. Such a trace can be loaded
	// in part, or read event by event with [Reader]. Zero: no budget.
	MemoryBudget int64
	// Strict turns everything that would be repaired, skipped or cut off into
	// an error that wraps [ErrDamaged], [ErrLimit] or io.ErrUnexpectedEOF and
	// says at which byte. Otherwise every whole event is kept and losses are
	// counted.
	Strict bool
	// RepairOrder joins the names of scrambled graph launches, in the order of
	// the file, with their times, in order of time. [Trace.Health] says where
	// records are scrambled, and that they were repaired; others are not touched.
	RepairOrder bool
	// Progress is called from time to time while the input is read, and when
	// all of it is read. The calls come one after the other, from different
	// goroutines, and the load waits for each. Nil: none.
	Progress func(Progress)
	// Concurrency is how many goroutines scan, and take turns at reading and
	// decompressing. The result does not depend on it. Zero: GOMAXPROCS, and
	// never more than 8.
	Concurrency int

	// Shown is what [Meta.Shown] calls the file. "": its path.
	Shown string

	input *Input // what is loaded, for who builds the trace
}

// wants reports whether events of kind k are to be stored.
func (o *Options) wants(k event.Kind) bool {
	return (len(o.Lanes) == 0 || slices.Contains(o.Lanes, k.Lane())) &&
		(len(o.Kinds) == 0 || slices.Contains(o.Kinds, k))
}

// config is Options made ready for a load.
type config struct {
	strict      bool
	wants, args [kindCount]bool // kinds to store, and those whose args are kept
	limits      Limits
	budget      int64 // bytes, 0 for none
	report      func(Progress)
	procs       int // goroutines that scan
	workers     []*worker
}

func newConfig(o *Options) config {
	c := config{strict: o.Strict, limits: o.Limits.withDefaults(), budget: o.MemoryBudget, report: o.Progress,
		procs: o.Concurrency}
	for k := range c.wants {
		c.wants[k], c.args[k] = o.wants(event.Kind(k)), slices.Contains(o.Args, event.Kind(k))
	}
	if c.procs <= 0 {
		c.procs = runtime.GOMAXPROCS(0)
	}
	c.procs = min(c.procs, maxProcs)
	c.workers = make([]*worker, c.procs+1)
	return c
}

// maxProcs bounds the goroutines: decompression feeds two or three at most, and
// each holds buffers.
const maxProcs = 8
