package trace

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/trace/internal/column"
)

// Finish sorts and links what was added and returns the Trace. It gives up when
// ctx ends, with the error of ctx, and has no other. The Builder must not be used
// afterwards.
func (b *Builder) Finish(ctx context.Context) (*Trace, error) {
	t := &b.t
	t.meta = b.Meta
	b.closeLanes(ctx)
	b.dropFar(ctx)
	b.dropPersistent(ctx)
	if b.minRaw != math.MaxInt64 {
		t.origin = b.minRaw
	}
	b.scrambled.Judge(ctx, &t.lanes[event.LaneGPU], len(t.queues))
	b.noteScrambled()
	if twins := t.finishLanes(ctx); twins > 0 {
		b.LoseDetail(event.Twice, twins, "GPU activities that are there twice, with stream, launch, start and end")
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for i := range t.threads {
		th := &t.threads[i]
		p := procKey{th.Process, th.ProcessLabel}
		th.ProcessName = b.procs[p]
		th.Name = b.threads[threadKey{proc: p, tid: th.ID, label: th.Label}]
	}
	if err := t.linkLaunches(ctx, b.flows); err != nil {
		return nil, err
	}
	if t.foreign(b.losses.list) {
		t.meta.Source = ""
	}
	t.health = t.examine(b.losses, b.notes)
	for l := range t.lanes {
		t.lanes[l].Thread = nil // threadRow says it, in next to no memory
	}
	return t, nil
}

// foreign reports whether nothing in a file that is written as torch.profiler's are comes from a GPU profiler: Chrome's
// developer tools and other users of Perfetto write the same formats.
func (t *Trace) foreign(lost []Loss) bool {
	m := &t.meta
	named := m.Format != "" && m.Encoding == EncodingChrome || m.TraceName != "" || len(m.Devices) > 0
	if m.Source != SourceTorch || named || len(lost) > 0 {
		return false
	}
	for l := range t.lanes {
		if lane := event.Lane(l); lane != event.LaneOther && lane != event.LaneCounter && t.lanes[l].Len() > 0 {
			return false
		}
	}
	return true
}

// countsByPhase is what [Meta.Counts] says.
func (b *Builder) countsByPhase() map[string]map[string]int64 {
	out := map[string]map[string]int64{}
	for k, n := range b.counts {
		if out[k[0]] == nil {
			out[k[0]] = map[string]int64{}
		}
		out[k[0]][k[1]] += n
	}
	return out
}

// dropFar leaves out the events that are far from all others, and counts them as lost.
func (b *Builder) dropFar(ctx context.Context) {
	far, ok := column.DropFar(ctx, b.t.lanes[:])
	if !ok {
		return
	}
	if b.minRaw < far.First-column.FarAway {
		b.minRaw = far.First
	}
	b.LoseDetail(event.BadTime, far.Dropped, fmt.Sprintf("far from all other events, %q by %d s", b.t.names[far.Name],
		far.Gap/int64(time.Second)))
}

// noteScrambled says what is scrambled, or was.
func (b *Builder) noteScrambled() {
	s := &b.scrambled
	if s.Launches == 0 {
		return
	}
	f := Remark{Code: CodeScrambled, Severity: HealthDegraded, Count: s.Rows,
		Affects: []Area{AffectsGPUTime, AffectsLayers, AffectsAttribution},
		Message: s.String() + ". Do not use times of kernels, layers or operators (use --repair-order)"}
	if s.Repair {
		f.Code = CodeOrderRepaired
		f.Message = "REPAIRED, not as recorded: " + s.String() +
			"; names are taken in the order of the file and times in theirs, as asked for"
	}
	b.notes = append(b.notes, f)
}

// finishLanes makes the times of all lanes relative and sorts them, each lane
// on a goroutine of its own: they share nothing. It returns how many GPU activities were there twice.
func (t *Trace) finishLanes(ctx context.Context) (twins int64) {
	var bounds [laneCount]struct{ first, last int64 }
	ordered := make([]bool, len(t.queues)) // is a stream
	for i, q := range t.queues {
		ordered[i] = q.stream != None
	}
	var lanes sync.WaitGroup
	for i := range t.lanes {
		l, c := event.Lane(i), &t.lanes[i]
		lanes.Go(func() {
			c.Rebase(t.origin)
			if l != event.LaneGPU {
				t.threadRow[l] = column.ThreadRows(c.Thread, len(t.threads))
			}
			c.Sort(ctx, t.threadRow[l])
			if l == event.LaneGPU {
				twins = c.DropTwins(ctx, ordered)
				c.CapDurations(uint8(event.Graph), ordered)
			}
			bounds[l].first, bounds[l].last = c.Bounds()
		})
	}
	lanes.Wait()
	var id EventID
	for l := range t.lanes {
		t.base[l] = id
		id += EventID(t.lanes[l].Len())
	}
	t.base[laneCount] = id
	empty := true
	for l, b := range bounds {
		// counters are sampled before and after the work too
		if t.lanes[l].Len() == 0 || event.Lane(l) == event.LaneCounter {
			continue
		}
		if empty {
			t.first, t.last, empty = Time(b.first), Time(b.last), false
		}
		t.first, t.last = min(t.first, Time(b.first)), max(t.last, Time(b.last))
	}
	return twins
}

// minWidened is how many rows a lane must have until its end is predicted: the
// first few say nothing of the rest of the input.
const minWidened = 1 << 10

// widen makes room in a lane that is full for as many rows as it will have if it
// goes on to the end of the input as it began: writers may write lane after lane.
func (b *Builder) widen(l event.Lane) {
	if b.input == nil {
		return
	}
	n := b.t.lanes[l].Len()
	done, total := b.input.progress()
	if n == 0 {
		b.begun[l] = done
	}
	if rows := predicted(n+1, done-b.begun[l], total-b.begun[l]); n >= minWidened && rows > 0 {
		b.Grow(l, column.Room(n+1, rows)-n)
	}
}

// predicted returns how many rows a column that has n now will have at the end,
// judged by how much of its part of the input is consumed; 0 where that is not known.
func predicted(n int, done, total int64) int {
	if done <= 0 || done >= total {
		return 0
	}
	return int(min(float64(n)*float64(total)/float64(done), math.MaxInt32))
}

// openDuration is that of a row whose end is not known.
const openDuration = math.MinInt64

// End gives an event that was added as open the end that it has, a raw timestamp.
// It may be given another one later, and math.MinInt64 takes it back; events
// without one are left out, and not counted. at is what [Builder.Add] returned;
// nothing is done where it is −1.
func (b *Builder) End(at, raw int64) {
	if at < 0 {
		return
	}
	c := &b.t.lanes[at%int64(laneCount)]
	i := at / int64(laneCount)
	if i >= int64(c.Len()) {
		return
	}
	if raw == math.MinInt64 {
		c.Dur[i] = openDuration
		return
	}
	c.Dur[i] = raw - c.Start[i]
}

// AddLike adds an open event that is like the one at a place in all that repeats in traces: kind, category, name,
// thread or stream, shape, domain and scope. It costs a fraction of [Builder.Add], and returns the same.
func (b *Builder) AddLike(at, start int64, correlation uint64, external uint64) int64 {
	l, j := event.Lane(max(at, 0)%int64(laneCount)), int(at/int64(laneCount))
	c := &b.t.lanes[l]
	i := c.Len()
	if at < 0 || j >= i || !column.Plausible(start, 0) {
		b.losses.add(event.BadTime, -1)
		return -1
	}
	if i == cap(c.Start) {
		b.widen(l)
	}
	b.open[l] = true
	c.Start, c.Dur = append(c.Start, start), append(c.Dur, openDuration)
	c.Name, c.Kind = append(c.Name, c.Name[j]), append(c.Kind, c.Kind[j])
	if l == event.LaneGPU {
		c.Queue = append(c.Queue, c.Queue[j])
	} else {
		c.Thread = append(c.Thread, c.Thread[j])
	}
	room := cap(c.Start)
	if correlation|external != 0 {
		c.Corr.Fill(i, correlation, room)
		c.Ext.Fill(i, external, room)
	}
	if len(c.AnnQueue.V)|len(c.Cat.V)|len(c.Shape.V)|len(c.Domain.V)|len(c.Scope.V) != 0 { // frames have none of them
		c.AnnQueue.Set(i, c.AnnQueue.At(j))
		c.Cat.Set(i, c.Cat.At(j))
		c.Shape.Fill(i, c.Shape.At(j), room)
		c.Domain.Set(i, c.Domain.At(j))
		c.Scope.Fill(i, c.Scope.At(j), room)
	}
	return int64(i)*int64(laneCount) + int64(l)
}

// closeLanes leaves out what was added as open and has no end, or one that
// cannot be.
func (b *Builder) closeLanes(ctx context.Context) {
	for i, open := range b.open {
		if !open {
			continue
		}
		l, c := event.Lane(i), &b.t.lanes[i]
		var gone []int32 // rows
		first := b.minRaw
		for i, start := range c.Start {
			dur := c.Dur[i]
			if dur > 0 && column.Plausible(start, dur) { // as nearly all
				first = min(first, start)
				continue
			}
			r := event.Loss("")
			if dur != openDuration {
				r = refusal(l, start, dur, false)
			}
			switch {
			case r != "":
				b.losses.add(r, -1)
				fallthrough
			case dur == openDuration:
				gone = append(gone, int32(i))
			default:
				first = min(first, start)
			}
		}
		b.see(first)
		if len(gone) == 0 {
			continue
		}
		rows := make([]int32, 0, c.Len()-len(gone))
		for i := range int32(c.Len()) {
			if len(gone) > 0 && gone[0] == i {
				gone = gone[1:]
			} else {
				rows = append(rows, i)
			}
		}
		c.Take(ctx, rows)
		c.Cut(len(rows))
	}
}
