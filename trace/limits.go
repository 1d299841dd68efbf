package trace

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/llmstrata/strata/internal/decompress"
	"github.com/llmstrata/strata/internal/scan"
	"github.com/llmstrata/strata/trace/internal/column"
)

// Limits bounds what an input may make the reader do. A field that is
// zero or negative means its default.
//
// The first group says how much of one thing is read; what is beyond is left
// out, counted and reported as [LossLimit], or is an error under [Options.Strict].
// To exceed the second group is an error that wraps [ErrLimit]: an input that
// does is no recording of anything.
type Limits struct {
	EventBytes int // one event; default 64 MiB
	NameBytes  int // one name; the rest is cut off; default 64 KiB
	Depth      int // nesting of one value of an event; default 64, which is also the most (real values reach 3)
	MetaBytes  int // all top-level values beside the events, and 64 for each; default 16 MiB

	InputBytes int64 // decompressed bytes; default 1 TiB
	Ratio      int64 // decompressed to compressed bytes, once past 1 GiB; default 150 (real traces: 10 to 70)
	Events     int64 // stored events; default and at most 2^31 − 1
	Names      int64 // distinct texts: names, categories, shapes, kept args; default 2^25 (a real trace had 881,000)
	TextBytes  int64 // all distinct texts together; default 4 GiB
	Tracks     int64 // distinct threads, and streams, and categories, and process labels; default 2^20
	Devices    int64 // distinct GPUs; default 1024 (a rack has 72)
}

// defaultLimits returns the limits that apply when none are given.
func defaultLimits() Limits {
	return Limits{
		EventBytes: 64 << 20, NameBytes: 64 << 10, Depth: scan.MaxDepth, MetaBytes: 16 << 20,
		InputBytes: 1 << 40, Ratio: 150, Events: 1<<31 - 1, Names: 1 << 25, TextBytes: 4 << 30, Tracks: 1 << 20,
		Devices: 1024,
	}
}

// withDefaults returns l with the fields set that are not, and none above what
// the data structures can hold.
func (l Limits) withDefaults() Limits {
	def := defaultLimits()
	l.EventBytes, l.NameBytes = positive(l.EventBytes, def.EventBytes), positive(l.NameBytes, def.NameBytes)
	l.Depth, l.MetaBytes = min(positive(l.Depth, def.Depth), def.Depth), positive(l.MetaBytes, def.MetaBytes)
	l.InputBytes, l.Ratio = positive(l.InputBytes, def.InputBytes), positive(l.Ratio, def.Ratio)
	l.Events, l.Names = min(positive(l.Events, def.Events), def.Events), min(positive(l.Names, def.Names), 1<<32-2)
	l.Devices = positive(l.Devices, def.Devices)
	l.TextBytes, l.Tracks = positive(l.TextBytes, def.TextBytes), min(positive(l.Tracks, def.Tracks), 1<<31-2)
	return l
}

// positive returns v, or def where v is not set.
func positive[T cmp.Ordered](v, def T) T {
	var zero T
	if v <= zero {
		return def
	}
	return v
}

// textOverhead is what a distinct text costs beside its bytes: the string
// header, and its entry in the map from text to number.
const textOverhead = 64

// checkLimits is called after each piece of the input.
func (k *sink) checkLimits() error {
	l, b := &k.cfg.limits, k.b
	switch {
	case k.rows > l.Events:
		return tooMany("events", l.Events)
	case int64(len(b.t.names)) > l.Names || k.workerNames > l.Names:
		return tooMany("distinct names", l.Names)
	case b.textBytes > l.TextBytes || k.workerText > l.TextBytes:
		return tooMany("bytes of distinct names", l.TextBytes)
	case int64(len(b.devices)) > l.Devices:
		return tooMany("GPUs", l.Devices)
	case k.tracks() > l.Tracks:
		return tooMany("distinct threads, streams or categories", l.Tracks)
	}
	if k.cfg.budget <= 0 {
		return nil
	}
	need := b.loadBytes()
	if need <= k.cfg.budget {
		return nil
	}
	whole := ""
	if done, total := k.progress(); done > 0 && total > done {
		whole = fmt.Sprintf("; the whole file would need about %d MB", int64(float64(need)/float64(done)*float64(total))/1e6)
	}
	return &budgetError{k.cfg.budget, fmt.Errorf("trace: %w: %d events need more than the memory budget of %d MB%s "+
		"(keep fewer lanes, or read it as a stream)", ErrLimit, k.rows, k.cfg.budget/1e6, whole)}
}

// budgetError is a load that needs more than [Options.MemoryBudget]. A caller
// that derived the budget finds the error by its method, and says from what.
type budgetError struct {
	budget int64
	error
}

// MemoryBudget returns the budget in bytes.
func (e *budgetError) MemoryBudget() int64 { return e.budget }

// Unwrap returns what the error says, which wraps [ErrLimit].
func (e *budgetError) Unwrap() error { return e.error }

func tooMany(what string, limit int64) error {
	return fmt.Errorf("trace: %w: more than %d %s", ErrLimit, limit, what)
}

// tracks returns the largest of the tables that hostile input could grow.
func (k *sink) tracks() int64 {
	b := k.b
	return int64(max(k.workerTracks, len(b.t.threads), len(b.t.queues), len(b.counts), len(b.procs), len(b.threads)))
}

// loadBytes estimates the memory that the Builder needs to finish what it has.
func (b *Builder) loadBytes() int64 {
	sum := b.textBytes + textOverhead*int64(len(b.t.names))
	sorting := int64(0)
	for l := range b.t.lanes {
		c := &b.t.lanes[l]
		sum += c.Size()
		sorting = max(sorting, int64(c.Len())*column.SortBytes)
	}
	return sum + sorting
}

// limitError turns the decompressor's limit error into ours.
func limitError(err error) error {
	if errors.Is(err, decompress.ErrLimit) {
		return fmt.Errorf("trace: %w: %w", ErrLimit, err)
	}
	return err
}
