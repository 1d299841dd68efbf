package trace

import (
	"math"

	"github.com/llmstrata/strata/internal/kind"
	"github.com/llmstrata/strata/internal/scan"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/trace/internal/column"
)

// Event implements scan.Shard.
func (s *shard) Event(ev *scan.Event) {
	var cat []byte
	if ev.Has.Any(scan.HasCat) {
		cat = ev.Cat
	}
	ci := s.category(cat)
	for int(ci) >= len(s.counts) {
		s.counts = append(s.counts, phaseCounts{})
	}
	if slot := phaseSlot[ev.Phase]; slot != 0 {
		s.counts[ci][slot]++
	} else {
		s.others[[2]string{string(rune(ev.Phase)), s.worker.cats[ci].text}]++
	}
	switch ev.Phase {
	case 'X':
		s.complete(ev, &s.worker.cats[ci])
	case 'M':
		s.metadata(ev)
	case 'B', 'E':
		s.see(ev)
		s.half(ev, &s.worker.cats[ci])
	case 'C':
		s.see(ev)
		s.counter(ev)
	case 's', 'f':
		s.see(ev)
		s.flow(ev)
	default:
		s.see(ev)
	}
}

func (s *shard) see(ev *scan.Event) {
	if ev.Has.Any(scan.HasTS) && ev.TS < s.minRaw && column.Plausible(ev.TS, 0) {
		s.minRaw = ev.TS
	}
}

// complete stores an event of phase X. One function: a column a line, once for
// each event of the file.
func (s *shard) complete(ev *scan.Event, cat *category) {
	w := s.worker
	k := cat.kind
	s.correlated = ev.Has.Any(scan.HasCorrelation)
	if !ev.Has.Any(scan.HasName) {
		ev.Name = nil
	}
	k = kind.OfName(k, ev.Name)
	lane := kind.Lane(k)
	if !ev.Has.Any(scan.HasTS) {
		s.losses.add(event.BadTime, ev.Offset)
		return
	}
	dur := ev.Dur
	if !ev.Has.Any(scan.HasDur) {
		dur = 0
		if !ev.Has.Any(scan.HasBadDur) { // which was counted when it was read
			s.losses.add(event.NoDuration, ev.Offset)
		}
	}
	switch {
	case dur < 0:
		s.losses.add(event.NegativeDuration, ev.Offset)
		return
	case lane == kind.GPULane && ev.TS == 0 && dur == 0:
		s.losses.add(event.NotCollected, ev.Offset)
		return
	case !column.Plausible(ev.TS, dur):
		s.losses.add(event.BadTime, ev.Offset)
		return
	}
	if ev.TS < s.minRaw {
		s.minRaw = ev.TS
	}
	if ev.Has.Any(scan.HasRank) && ev.Rank >= 0 && ev.Rank <= math.MaxInt32 {
		s.rank.see(int(ev.Rank))
	}
	if !w.cfg.wants[k] {
		return
	}
	c := &s.lanes[lane]
	i := len(c.Start)
	c.Start = append(c.Start, ev.TS)
	c.Dur = append(c.Dur, dur)
	c.Name = append(c.Name, s.name(ev.Name))
	c.Kind = append(c.Kind, k)
	if k == kind.Sync {
		foldSyncThread(ev)
	}
	switch lane {
	case kind.GPULane:
		c.Queue = append(c.Queue, s.queue(ev))
		if ev.Has.Any(scan.HasGrid) {
			c.Shape.Set(i, s.launchConfig(ev))
		}
		if ev.Has.Any(scan.HasExchange) {
			c.Inputs.Set(i, s.exchange(ev))
		}
	default:
		th := int32(None)
		if k != kind.GPUAnnotation {
			th = s.thread(ev)
		}
		c.Thread = append(c.Thread, th)
		if k == kind.GPUAnnotation || k == kind.Sync {
			c.AnnQueue.Set(i, s.queue(ev)+1)
		}
		if lane == kind.OpLane && ev.Has.Any(scan.HasDims) {
			c.Shape.Set(i, s.raw(ev.Dims))
			c.Inputs.Set(i, s.inputs(ev))
		}
		if lane == kind.OpLane && ev.Has.Any(scan.HasStack) {
			c.Domain.Set(i, s.name(ev.Stack))
		}
	}
	if cat.name != 0 {
		c.Cat.Set(i, cat.name)
	}
	if ev.Has.Any(scan.HasCorrelation | scan.HasExternalID | scan.HasBytes) {
		if ev.Has.Any(scan.HasCorrelation) {
			c.Corr.Set(i, uint64(ev.Correlation))
		}
		if ev.Has.Any(scan.HasExternalID) {
			c.Ext.Set(i, uint64(ev.ExternalID))
		}
		if ev.Has.Any(scan.HasBytes) {
			c.Bytes.Set(i, ev.Bytes)
		}
	}
	if lane == kind.GPULane && ev.Has.Any(scan.HasGraphID|scan.HasGraphNode|scan.HasUnfinished) {
		if ev.Has.Any(scan.HasUnfinished) {
			c.Unended.Set(i, 1)
		}
		if ev.Has.Any(scan.HasGraphID) {
			c.Graph.Set(i, uint64(ev.GraphID))
		}
		if ev.Has.Any(scan.HasGraphNode) {
			c.Node.Set(i, uint64(ev.GraphNode))
		}
	}
	if w.cfg.args[k] && ev.Has.Any(scan.HasArgs) {
		c.Args.Set(i, s.raw(ev.Args))
	}
	if ev.Has.Any(scan.HasPID) && ev.PID.Text != nil {
		c.Scope.Set(i, s.scope(ev.PID.Text))
	}
}

// exchange numbers what a collective says of itself.
func (s *shard) exchange(ev *scan.Event) uint32 {
	b := s.worker.scratch[:0]
	for i, part := range ev.Exchange {
		if i > 0 {
			b = append(b, column.InputSeparator)
		}
		b = append(b, part...)
	}
	s.worker.scratch = b
	return s.raw(b)
}

// inputs numbers what is recorded of an op's inputs beside their sizes, 0 for
// nothing.
func (s *shard) inputs(ev *scan.Event) uint32 {
	b := s.worker.scratch[:0]
	for i, part := range [...]struct {
		has scan.Has
		raw []byte
	}{{scan.HasTypes, ev.Types}, {scan.HasStrides, ev.Strides}, {scan.HasValues, ev.Values}} {
		if i > 0 {
			b = append(b, column.InputSeparator)
		}
		if ev.Has.Any(part.has) {
			b = append(b, part.raw...)
		}
	}
	s.worker.scratch = b
	if len(b) == 2 {
		return 0
	}
	return s.raw(b)
}

// syncThreadOffset is what Kineto adds to a stream to get the tid of the row
// that shows the stream's synchronisations.
const syncThreadOffset = 1_000_000

// foldSyncThread undoes that, where the stream in args, if there is one,
// confirms it: thread ids of the operating system can be larger than that too.
func foldSyncThread(ev *scan.Event) {
	n := ev.TID.Num - syncThreadOffset
	if ev.Has.Any(scan.HasTID) && ev.TID.Text == nil && n >= 0 && (!ev.Has.Any(scan.HasStream) || ev.Stream == n) {
		ev.TID.Num = n
	}
}
